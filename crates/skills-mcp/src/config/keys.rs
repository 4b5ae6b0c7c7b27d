//! The table of keys: name, type, default, what content may do with it under `SKILLS_TRUST=strict`.
//!
//! Help, `skills-mcp config`, validation and the README's reference derive from it.

use skills_core::yaml::{self, Node};

use super::{kind::Kind, value::Value};

/// One configuration key.
#[derive(Debug)]
pub struct Key {
    /// Dotted name, as in `config.yaml`.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Its default, as YAML.
    pub default: &'static str,
    /// What content may do with it where it is not trusted.
    pub strict: Strict,
    /// What it is for.
    pub about: &'static str,
}

/// What content may do with a key under `SKILLS_TRUST=strict`: it may tighten, never loosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strict {
    /// Harmless: content may set it.
    Free,
    /// Only to something smaller: a lower number, `false`, fewer words, a word further on in its list.
    Smaller,
    /// Not at all.
    Never,
    /// Not even where content is trusted: only the operator sets it.
    Operator,
}

const MIB: u64 = 1024 * 1024;

/// Every key there is.
pub const KEYS: &[Key] = &[
    key(
        "matching.min_score",
        Kind::Share,
        "0.2",
        Strict::Free,
        "a skill must match this share of its keywords",
    ),
    key(
        "matching.max_results",
        Kind::Count(1, 50),
        "3",
        Strict::Free,
        "how many candidates an ambiguous answer lists; two at least",
    ),
    key(
        "matching.ambiguity_threshold",
        Kind::Share,
        "0.1",
        Strict::Free,
        "a smaller gap between the first two is ambiguous",
    ),
    key(
        "content.max_tokens",
        Kind::Count(200, 1_000_000),
        "8000",
        Strict::Smaller,
        "estimated tokens a composed skill may have",
    ),
    key(
        "assets.max_size_bytes",
        Kind::Count(1, 256 * MIB),
        "1048576",
        Strict::Smaller,
        "larger files are refused by get_asset",
    ),
    key(
        "assets.inline_text_max_bytes",
        Kind::Count(0, MIB),
        "10240",
        Strict::Smaller,
        "larger text assets are not inlined by get_skill",
    ),
    key(
        "scripts.enabled",
        Kind::Flag,
        "true",
        Strict::Smaller,
        "whether run_script may run anything",
    ),
    key(
        "scripts.timeout_seconds",
        Kind::Count(1, 3600),
        "60",
        Strict::Smaller,
        "a script is killed after this long",
    ),
    key(
        "scripts.max_output_bytes",
        Kind::Count(1, 64 * MIB),
        "1048576",
        Strict::Smaller,
        "how much of stdout and stderr is kept",
    ),
    key(
        "scripts.allowed_extensions",
        Kind::Extensions,
        "[.sh, .ts, .js, .py]",
        Strict::Smaller,
        "which scripts the server runs",
    ),
    key(
        "scripts.runners",
        Kind::Commands,
        "{.sh: bash, .ts: npx tsx, .js: node, .py: python3}",
        Strict::Never,
        "extension to command; content may name programs of your PATH only, not where one lies",
    ),
    key(
        "scripts.max_concurrent",
        Kind::Count(1, 64),
        "4",
        Strict::Smaller,
        "how many scripts run at once; more are told that the server is busy",
    ),
    key(
        "scripts.grace_seconds",
        Kind::Count(0, 60),
        "5",
        Strict::Smaller,
        "how long a script may take to end once it was asked to",
    ),
    key(
        "scripts.sandbox",
        Kind::Word(&["auto", "required", "off"]),
        "auto",
        Strict::Operator,
        "`auto`: the best this machine has; `required`: the whole sandbox or no run; `off`: none",
    ),
    key(
        "scripts.roots",
        Kind::Folders,
        "[]",
        Strict::Operator,
        "folders a script may work in, besides the server's start directory",
    ),
    key(
        "scripts.env",
        Kind::Variables,
        "[]",
        Strict::Operator,
        "variables a script receives where it declares them in its own `env`",
    ),
    key(
        "links.allow",
        Kind::Folders,
        "[]",
        Strict::Operator,
        "folders that links in directories of yours may lead to; elsewhere they lead to whole skills and folders of skills only",
    ),
    key(
        "refresh.enabled",
        Kind::Flag,
        "true",
        Strict::Free,
        "whether a git source is fetched periodically",
    ),
    key(
        "refresh.watch",
        Kind::Flag,
        "true",
        Strict::Free,
        "whether the system is asked to tell of changes; without, a call looks at directories again",
    ),
    key(
        "refresh.patience_ms",
        Kind::Count(1, 60_000),
        "50",
        Strict::Free,
        "how long a call waits for changes to be taken in before it is answered without",
    ),
    key(
        "refresh.scan_seconds",
        Kind::Count(1, 3_600),
        "30",
        Strict::Free,
        "how often directories are looked at again",
    ),
    key(
        "refresh.interval_minutes",
        Kind::Count(1, 10_080),
        "15",
        Strict::Free,
        "how often a git source is fetched",
    ),
    key("git.branch", Kind::Text, "main", Strict::Free, "the branch to follow"),
    key(
        "git.sparse_checkout",
        Kind::Flag,
        "false",
        Strict::Free,
        "fetch only the skills folder of a larger repository",
    ),
    key(
        "git.timeout_seconds",
        Kind::Count(1, 3_600),
        "120",
        Strict::Free,
        "a fetch is given up after this long",
    ),
    key(
        "git.max_total_bytes",
        Kind::Count(MIB, 1024 * 1024 * MIB),
        "2147483648",
        Strict::Operator,
        "how much of the disk all commits of all repositories may take; the oldest that are not in use go first",
    ),
    key(
        "analytics.enabled",
        Kind::Flag,
        "false",
        Strict::Smaller,
        "whether usage events are recorded",
    ),
    key("analytics.endpoint", Kind::Url, "''", Strict::Never, "where events are sent"),
    key(
        "analytics.file",
        Kind::Text,
        "~/.skills-mcp/analytics.jsonl",
        Strict::Never,
        "where events are kept: a file whose name ends in `.jsonl`, from the root, the home folder or `~/.skills-mcp`",
    ),
    key(
        "analytics.interval_seconds",
        Kind::Count(1, 3_600),
        "30",
        Strict::Operator,
        "how often unsent events are sent",
    ),
    key(
        "analytics.context",
        Kind::Word(&["full", "tokens", "off"]),
        "full",
        Strict::Smaller,
        "how much of a request's text events have: `full`, its words (`tokens`), or nothing (`off`)",
    ),
    key(
        "analytics.server_id",
        Kind::Name,
        "''",
        Strict::Operator,
        "what events call this machine; else `dev-` and your login name",
    ),
    key(
        "analytics.tool",
        Kind::Flag,
        "false",
        Strict::Operator,
        "whether agents are offered skill_stats, which tells what the history says",
    ),
];

const fn key(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    strict: Strict,
    about: &'static str,
) -> Key {
    Key { name, kind, default, strict, about }
}

impl Key {
    /// The key of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The nearest key to a name that does not exist.
    pub fn near(name: &str) -> Option<&'static str> {
        let distance = |key: &&Key| strsim::osa_distance(name, key.name);
        KEYS.iter().min_by_key(distance).filter(|key| distance(key) <= 4).map(|key| key.name)
    }

    /// Reads a value, or says what is expected.
    pub fn read(&self, node: &Node) -> Result<Value, String> {
        self.kind.read(node).ok_or_else(|| self.kind.expected())
    }

    /// Reads a value written in a variable or a flag, where text needs no quotes.
    pub fn read_text(&self, text: &str) -> Result<Value, String> {
        self.kind.read_text(text).ok_or_else(|| self.kind.expected())
    }

    /// Whether one value only narrows what another allows.
    pub(super) fn narrows(&self, new: &Value, old: &Value) -> bool {
        match (self.kind, new, old) {
            (Kind::Word(known), Value::Text(new), Value::Text(old)) => {
                let place = |word: &String| known.iter().position(|known| known == word);
                place(new) >= place(old)
            }
            _ => new.is_within(old),
        }
    }

    /// Whether content would choose with it which program runs, or into which file an agent's words are written.
    pub(super) fn leads_elsewhere(&self, value: &Value) -> bool {
        value.names_a_place() || (self.name == "analytics.file" && !is_own_history(value))
    }

    /// Its default, read.
    pub fn default_value(&self) -> Option<Value> {
        self.kind.read(&yaml::parse(self.default).ok()?)
    }
}

/// Whether it is a file of its own in our folder.
fn is_own_history(value: &Value) -> bool {
    let Value::Text(text) = value else { return false };
    let name = text.strip_prefix("~/.skills-mcp/").unwrap_or(text);
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    // What begins with `analytics-` is the sender's.
    plain
        && name.strip_suffix(".jsonl").is_some()
        && !name.starts_with(['.', '~'])
        && !name.starts_with("analytics-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_valid_value_of_its_own_key() {
        for key in KEYS {
            assert!(key.default_value().is_some(), "{}", key.name);
        }
    }

    #[test]
    fn every_key_of_the_seeds_is_there() {
        let seeds = [
            "matching.min_score",
            "matching.max_results",
            "matching.ambiguity_threshold",
            "refresh.enabled",
            "refresh.interval_minutes",
            "scripts.enabled",
            "scripts.timeout_seconds",
            "scripts.max_output_bytes",
            "scripts.allowed_extensions",
            "scripts.runners",
            "assets.max_size_bytes",
            "assets.inline_text_max_bytes",
            "analytics.enabled",
            "analytics.endpoint",
            "analytics.file",
            "git.branch",
            "git.sparse_checkout",
        ];
        for name in seeds {
            assert!(Key::named(name).is_some(), "{name}");
        }
    }

    #[test]
    fn types_and_ranges_are_checked() {
        let read = |name: &str, text: &str| Key::named(name).unwrap().read_text(text);
        assert_eq!(read("matching.min_score", "0.35"), Ok(Value::Share(0.35)));
        assert_eq!(read("scripts.sandbox", "required"), Ok(Value::Text("required".into())));
        assert_eq!(read("scripts.roots", "[~/work]"), Ok(Value::Words(vec!["~/work".into()])));
        assert_eq!(read("scripts.env", "[API_TOKEN]"), Ok(Value::Words(vec!["API_TOKEN".into()])));
        for (name, text) in [
            ("matching.min_score", "1.5"),
            ("matching.min_score", "high"),
            ("matching.max_results", "0"),
            ("matching.max_results", "2.5"),
            ("matching.max_results", "-1"),
            ("scripts.enabled", "yes"),
            ("scripts.allowed_extensions", "[sh]"),
            ("scripts.runners", "{.sh: ''}"),
            ("analytics.endpoint", "ftp://x"),
            ("scripts.sandbox", "none"),
            ("scripts.roots", "[work]"),
            ("scripts.roots", "/srv"),
            ("scripts.env", "[GITHUB_TOKEN]"),
            ("scripts.env", "[ANALYTICS_TOKEN]"),
            ("scripts.env", "[SKILLS_DIR]"),
            ("scripts.env", "[LD_PRELOAD]"),
            ("scripts.env", "[PATH]"),
            ("scripts.env", "[A=B]"),
            ("analytics.context", "some"),
            ("analytics.server_id", "a\nb"),
            ("analytics.server_id", &"x".repeat(65)),
        ] {
            assert!(read(name, text).is_err(), "{name}={text}");
        }
    }
}
