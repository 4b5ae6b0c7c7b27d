//! [`Kind`]: what a key takes, and how it is read from YAML, a variable or a flag.

use skills_core::yaml::{self, Node};

use skills_http::public::public_https;

use super::{environment::VARIABLES, value::Value};

/// No name is longer.
const MAX_NAME_CHARS: usize = 64;

/// What a key takes.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
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
}

impl Kind {
    /// Reads a value written in a variable or a flag, where text needs no quotes.
    pub(super) fn read_text(self, text: &str) -> Option<Value> {
        match self {
            Self::Text | Self::History => Some(Value::Text(text.to_owned())),
            Self::Url => url(text).map(Value::Text),
            Self::Name => name(text).map(Value::Text),
            Self::Flag
            | Self::Share
            | Self::Count(..)
            | Self::Extensions
            | Self::Commands
            | Self::Word(_)
            | Self::Folders
            | Self::Variables => yaml::parse(text).ok().and_then(|node| self.read(&node)),
        }
    }

    /// Reads a value.
    pub(super) fn read(self, node: &Node) -> Option<Value> {
        match self {
            Self::Flag => node.boolean().map(Value::Flag),
            Self::Share => {
                node.number().filter(|share| (0.0..=1.0).contains(share)).map(Value::Share)
            }
            Self::Count(min, max) => {
                let count = node.text()?.parse().ok().filter(|_| node.number().is_some())?;
                (min..=max).contains(&count).then_some(Value::Count(count))
            }
            Self::Text | Self::History => node
                .text()
                .filter(|text| !text.trim().is_empty())
                .map(|text| Value::Text(text.to_owned())),
            Self::Name | Self::Url if node.is_null() => Some(Value::Text(String::new())),
            Self::Name => node.text().and_then(name).map(Value::Text),
            Self::Url => node.text().and_then(url).map(Value::Text),
            Self::Extensions => words(node, extension),
            Self::Folders => words(node, folder),
            Self::Variables => words(node, variable),
            Self::Word(known) => node
                .text()
                .filter(|word| known.contains(word))
                .map(|word| Value::Text(word.to_owned())),
            Self::Commands => {
                let command = |entry: &yaml::Entry| {
                    let command =
                        entry.value.text().map(str::trim).filter(|command| !command.is_empty())?;
                    Some((extension(&entry.key)?, command.to_owned()))
                };
                node.entries()?.iter().map(command).collect::<Option<_>>().map(Value::Commands)
            }
        }
    }

    /// Whether one value allows less than another: a lower number, `false`, fewer words, a word further on in its list,
    /// no URL, fewer commands. Of other texts none is less than another.
    pub(super) fn narrows(self, new: &Value, old: &Value) -> bool {
        match (self, new, old) {
            (Self::Word(known), Value::Text(new), Value::Text(old)) => {
                let place = |word: &String| known.iter().position(|known| known == word);
                place(new) >= place(old)
            }
            (Self::Url, Value::Text(new), Value::Text(_)) => new.is_empty(),
            _ => new.is_within(old),
        }
    }

    /// What content may not write here though an operator may, and why.
    pub(super) fn refused_from_content(self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::Commands, value) if value.names_a_place() => {
                Some("content names programs of the PATH, not where one is".to_owned())
            }
            (Self::History, Value::Text(text)) if !is_own_history(text) => {
                Some("content names a file of its own in ~/.skills-mcp".to_owned())
            }
            (Self::Url, Value::Text(url)) if !url.is_empty() => public_https(url)
                .err()
                .map(|why| format!("content names a public https address: {why}")),
            _ => None,
        }
    }

    /// What it takes, in words.
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
        }
    }
}

/// Whether it is a file of its own in our folder.
fn is_own_history(text: &str) -> bool {
    let name = text.strip_prefix("~/.skills-mcp/").unwrap_or(text);
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    // What begins with `analytics-` is the sender's.
    plain
        && name.strip_suffix(".jsonl").is_some()
        && !name.starts_with(['.', '~'])
        && !name.starts_with("analytics-")
}

fn words(node: &Node, read: impl Fn(&str) -> Option<String>) -> Option<Value> {
    let words = node.items()?.iter().map(|item| item.text().and_then(&read));
    words.collect::<Option<_>>().map(Value::Words)
}

fn folder(text: &str) -> Option<String> {
    let known = text.starts_with('/') || text == "~" || text.starts_with("~/");
    (known && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

/// What a script's environment is made of by us, and what would change how its runner starts.
const RESERVED: &[&str] =
    &["PATH", "HOME", "TMPDIR", "LANG", "BASH_ENV", "ENV", "SHELLOPTS", "IFS", "NODE_OPTIONS"];
const RESERVED_PREFIXES: &[&str] =
    &["SKILL_ARG_", "SKILLS_", "OTEL_", "LD_", "DYLD_", "PYTHON", "BASH_FUNC"];

/// A variable that may be handed on: never one of our own, which hold our tokens.
fn variable(text: &str) -> Option<String> {
    let name = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.starts_with(|c: char| !c.is_ascii_digit());
    let ours = VARIABLES.iter().any(|variable| variable.name == text);
    let reserved =
        RESERVED.contains(&text) || RESERVED_PREFIXES.iter().any(|prefix| text.starts_with(prefix));
    (name && !ours && !reserved).then(|| text.to_owned())
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
