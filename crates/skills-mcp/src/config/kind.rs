//! [`ValueKind`]: which values a key accepts, and how they are read from YAML, a variable or a flag.

use std::collections::BTreeMap;

use skills_core::{
    diagnostic::{Code, Position},
    document::is_variable_name,
    yaml::{self, YamlEntry, YamlNode},
};

use skills_http::public::public_https;

use super::{environment::VARIABLES, value::ConfigValue};

/// A longer name is refused.
const MAX_NAME_CHARS: usize = 64;

/// Which values a key accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// `true` or `false`.
    Flag,
    /// A number from 0 to 1.
    Share,
    /// A whole number in a range.
    Count(u64, u64),
    /// Any text.
    Text,
    /// The file that events are kept in.
    History,
    /// An `http` or `https` URL, or nothing.
    Url,
    /// A short name, or nothing.
    Name,
    /// A list of file extensions.
    Extensions,
    /// Extension → command line.
    Commands,
    /// One of these words; where a key may only become smaller, the one that allows most comes first.
    Word(&'static [&'static str]),
    /// A list of folders, absolute or in the home folder.
    Folders,
    /// A list of names of environment variables that a script may be given.
    Variables,
    /// Code of a diagnostic → level.
    Rules,
}

impl ValueKind {
    /// Reads a value written in a variable or a flag, where text needs no quotes.
    pub(super) fn read_text(self, text: &str) -> Option<ConfigValue> {
        match self {
            Self::Text | Self::History => Some(ConfigValue::Text(text.to_owned())),
            Self::Url => url(text).map(ConfigValue::Text),
            Self::Name => name(text).map(ConfigValue::Text),
            Self::Flag
            | Self::Share
            | Self::Count(..)
            | Self::Extensions
            | Self::Commands
            | Self::Word(_)
            | Self::Folders
            | Self::Variables
            | Self::Rules => yaml::parse(text).ok().and_then(|node| self.read(&node)),
        }
    }

    /// Reads a value.
    pub(super) fn read(self, node: &YamlNode) -> Option<ConfigValue> {
        match self {
            Self::Flag => node.boolean().map(ConfigValue::Flag),
            Self::Share => {
                node.number().filter(|share| (0.0..=1.0).contains(share)).map(ConfigValue::Share)
            }
            Self::Count(min, max) => {
                let count = node.text()?.parse().ok().filter(|_| node.number().is_some())?;
                (min..=max).contains(&count).then_some(ConfigValue::Count(count))
            }
            Self::Text | Self::History => node
                .text()
                .filter(|text| !text.trim().is_empty())
                .map(|text| ConfigValue::Text(text.to_owned())),
            Self::Name | Self::Url if node.is_null() => Some(ConfigValue::Text(String::new())),
            Self::Name => node.text().and_then(name).map(ConfigValue::Text),
            Self::Url => node.text().and_then(url).map(ConfigValue::Text),
            Self::Extensions => words(node, extension),
            Self::Folders => words(node, folder),
            Self::Variables => words(node, variable),
            Self::Rules => rules(node).map(ConfigValue::Rules),
            Self::Word(known) => node
                .text()
                .filter(|word| known.contains(word))
                .map(|word| ConfigValue::Text(word.to_owned())),
            Self::Commands => {
                let command = |entry: &YamlEntry| {
                    let command =
                        entry.value.text().map(str::trim).filter(|command| !command.is_empty())?;
                    Some((extension(&entry.key)?, command.to_owned()))
                };
                node.entries()?
                    .iter()
                    .map(command)
                    .collect::<Option<_>>()
                    .map(ConfigValue::Commands)
            }
        }
    }

    /// Whether one value allows less than another: a lower number, `false`, fewer words, a later word of its list, no URL,
    /// fewer commands. Other texts cannot be compared.
    pub(super) fn narrows(self, new: &ConfigValue, old: &ConfigValue) -> bool {
        match (self, new, old) {
            (Self::Word(known), ConfigValue::Text(new), ConfigValue::Text(old)) => {
                let place = |word: &String| known.iter().position(|known| known == word);
                place(new) >= place(old)
            }
            (Self::Url, ConfigValue::Text(new), ConfigValue::Text(_)) => new.is_empty(),
            _ => new.is_within(old),
        }
    }

    /// Why content may not set this value, though an operator may.
    pub(super) fn refused_from_content(self, value: &ConfigValue) -> Option<String> {
        match (self, value) {
            (Self::Commands, value) if value.has_program_path() => {
                Some("content names programs of the PATH, not where one is".to_owned())
            }
            (Self::History, ConfigValue::Text(text)) if !is_own_history(text) => {
                Some("content names a file of its own in ~/.skills-mcp".to_owned())
            }
            (Self::Url, ConfigValue::Text(url)) if !url.is_empty() => public_https(url)
                .err()
                .map(|why| format!("content names a public https address: {why}")),
            _ => None,
        }
    }

    /// The accepted values, in words.
    pub(super) fn expected(self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Share => "a number from 0 to 1".to_owned(),
            Self::Count(min, max) => format!("a whole number from {min} to {max}"),
            Self::Text => "text".to_owned(),
            Self::History => "a file whose name ends in .jsonl".to_owned(),
            Self::Url => "an http or https URL".to_owned(),
            Self::Name => format!("a name of at most {MAX_NAME_CHARS} characters"),
            Self::Extensions => "a list of extensions such as [.sh, .py]".to_owned(),
            Self::Commands => "a map of extensions to commands such as {.sh: bash}".to_owned(),
            Self::Word(known) => format!("one of {}", known.join(", ")),
            Self::Folders => "a list of folders such as [/srv/work, ~/projects]".to_owned(),
            Self::Variables => "a list of variables such as [API_TOKEN], without those of this server and of the loader".to_owned(),
            Self::Rules => format!("a map of codes to {}", RULE_LEVELS.join(", ")),
        }
    }

    /// The same, with what is wrong in this value where that can be said.
    pub(super) fn expected_for(self, node: &YamlNode) -> String {
        let entries = node.entries().filter(|_| matches!(self, Self::Rules)).unwrap_or_default();
        match entries.iter().find_map(|entry| rule(entry).err()) {
            Some((_, why)) => format!("{}; {why}", self.expected()),
            None => self.expected(),
        }
    }
}

/// Whether it names a plain file in `~/.skills-mcp` that is not the sender's.
fn is_own_history(text: &str) -> bool {
    let name = text.strip_prefix("~/.skills-mcp/").unwrap_or(text);
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    // Files whose names begin with `analytics-` are the sender's.
    plain
        && name.strip_suffix(".jsonl").is_some()
        && !name.starts_with(['.', '~'])
        && !name.starts_with("analytics-")
}

/// The levels of a rule.
const RULE_LEVELS: &[&str] = &["off", "note", "warning", "error"];

fn rules(node: &YamlNode) -> Option<BTreeMap<String, String>> {
    node.entries()?.iter().map(|entry| rule(entry).ok()).collect()
}

/// One rule: its code and its level; else where it is wrong, and how.
pub(super) fn rule(entry: &YamlEntry) -> Result<(String, String), (Position, String)> {
    let Some(code) = Code::named(&entry.key) else {
        let near = Code::near(&entry.key).map(|near| format!(", did you mean `{near}`?"));
        let near = near.unwrap_or_default();
        return Err((entry.at, format!("there is no code `{}`{near}", entry.key)));
    };
    let level = entry.value.text();
    if let Some(level) = level.filter(|level| RULE_LEVELS.contains(level)) {
        return Ok((code.name().to_owned(), level.to_owned()));
    }
    let written = level.unwrap_or(entry.value.kind());
    let message = format!(
        "the level of `{}` is `{written}`, but must be one of {}",
        code.name(),
        RULE_LEVELS.join(", ")
    );
    Err((entry.value.at, message))
}

fn words(node: &YamlNode, read: impl Fn(&str) -> Option<String>) -> Option<ConfigValue> {
    let words = node.items()?.iter().map(|item| item.text().and_then(&read));
    words.collect::<Option<_>>().map(ConfigValue::Words)
}

fn folder(text: &str) -> Option<String> {
    let known = text.starts_with('/') || text == "~" || text.starts_with("~/");
    (known && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

/// Variables that the server sets for a script, and variables that would change how its runner starts.
const RESERVED: &[&str] =
    &["PATH", "HOME", "TMPDIR", "LANG", "BASH_ENV", "ENV", "SHELLOPTS", "IFS", "NODE_OPTIONS"];
const RESERVED_PREFIXES: &[&str] =
    &["SKILL_ARG_", "SKILLS_", "OTEL_", "LD_", "DYLD_", "PYTHON", "BASH_FUNC"];

/// A variable that scripts may receive: never one of the server's own, which hold its tokens.
fn variable(text: &str) -> Option<String> {
    let ours = VARIABLES.iter().any(|variable| variable.name == text);
    let reserved =
        RESERVED.contains(&text) || RESERVED_PREFIXES.iter().any(|prefix| text.starts_with(prefix));
    (is_variable_name(text) && !ours && !reserved).then(|| text.to_owned())
}

fn extension(text: &str) -> Option<String> {
    let valid = text
        .strip_prefix('.')
        .is_some_and(|rest| !rest.is_empty() && rest.chars().all(char::is_alphanumeric));
    valid.then(|| text.to_lowercase())
}

fn url(text: &str) -> Option<String> {
    let known = text.is_empty() || text.starts_with("https://") || text.starts_with("http://");
    (known && !text.contains(char::is_whitespace)).then(|| text.to_owned())
}

fn name(text: &str) -> Option<String> {
    let name = text.trim();
    let fits = name.chars().nth(MAX_NAME_CHARS).is_none() && !name.chars().any(char::is_control);
    fits.then(|| name.to_owned())
}
