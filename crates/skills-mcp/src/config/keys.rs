//! The table of keys: name, type, default, and what content may do with each ([`ContentPolicy`]).
//!
//! Help, `skills-mcp config`, validation, `docs/reference.md` and `docs/trust.md` derive from it. Not here: how a policy is
//! applied (`stack`), and where consent is recorded (`consent`).

use skills_core::yaml::{self, Node};

use super::{kind::Kind, trust::ContentPolicy, value::Value};

/// One configuration key.
#[derive(Debug)]
pub struct Key {
    /// Dotted name, as in `config.yaml`.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Its default, as YAML.
    pub default: &'static str,
    /// What content may do with it.
    pub content: ContentPolicy,
    /// What it is for.
    pub about: &'static str,
}

const MIB: u64 = 1024 * 1024;

/// Every key there is.
pub const KEYS: &[Key] = &[
    key(
        "matching.min_score",
        Kind::Share,
        "0.2",
        ContentPolicy::Free,
        "a skill must match this share of its keywords",
    ),
    key(
        "matching.max_results",
        Kind::Count(1, 50),
        "3",
        ContentPolicy::Free,
        "how many candidates an ambiguous answer lists; two at least",
    ),
    key(
        "matching.ambiguity_threshold",
        Kind::Share,
        "0.1",
        ContentPolicy::Free,
        "a smaller gap between the first two is ambiguous",
    ),
    key(
        "content.max_tokens",
        Kind::Count(200, 1_000_000),
        "8000",
        ContentPolicy::Limited,
        "estimated tokens a composed skill may have",
    ),
    key(
        "assets.max_size_bytes",
        Kind::Count(1, 256 * MIB),
        "1048576",
        ContentPolicy::Limited,
        "larger files are refused by get_asset",
    ),
    key(
        "assets.inline_text_max_bytes",
        Kind::Count(0, MIB),
        "10240",
        ContentPolicy::Limited,
        "larger text assets are not inlined by get_skill",
    ),
    key(
        "scripts.enabled",
        Kind::Flag,
        "true",
        ContentPolicy::Pinned,
        "whether run_script may run anything",
    ),
    key(
        "scripts.timeout_seconds",
        Kind::Count(1, 3600),
        "60",
        ContentPolicy::Limited,
        "a script is killed after this long",
    ),
    key(
        "scripts.max_output_bytes",
        Kind::Count(1, 64 * MIB),
        "1048576",
        ContentPolicy::Limited,
        "how much of stdout and stderr is kept",
    ),
    key(
        "scripts.allowed_extensions",
        Kind::Extensions,
        "[.sh, .ts, .js, .py]",
        ContentPolicy::Pinned,
        "which scripts the server runs",
    ),
    key(
        "scripts.runners",
        Kind::Commands,
        "{.sh: bash, .ts: npx tsx, .js: node, .py: python3}",
        ContentPolicy::Pinned,
        "extension to command; content may name programs of your PATH only, by name and not by path",
    ),
    key(
        "scripts.max_concurrent",
        Kind::Count(1, 64),
        "4",
        ContentPolicy::Limited,
        "how many scripts run at once; further calls are refused as busy",
    ),
    key(
        "scripts.grace_seconds",
        Kind::Count(0, 60),
        "5",
        ContentPolicy::Limited,
        "how long a script may take to end once it was asked to",
    ),
    key(
        "scripts.sandbox",
        Kind::Word(&["auto", "required", "off"]),
        "auto",
        ContentPolicy::Operator,
        "`auto`: the best this machine has; `required`: the whole sandbox or no run; `off`: none",
    ),
    key(
        "scripts.network",
        Kind::Word(&["declared", "off"]),
        "declared",
        ContentPolicy::Operator,
        "`declared`: a script that declares `network: true` has a network; `off`: none has; `off` under `SKILLS_TRUST=strict` unless you set it",
    ),
    key(
        "scripts.roots",
        Kind::Folders,
        "[]",
        ContentPolicy::Operator,
        "folders a script may work in, besides the server's start directory",
    ),
    key(
        "scripts.env",
        Kind::Variables,
        "[]",
        ContentPolicy::Operator,
        "variables a script receives where it declares them in its own `env`",
    ),
    key(
        "links.allow",
        Kind::Folders,
        "[]",
        ContentPolicy::Operator,
        "folders that links in directories of yours may lead to; elsewhere they lead to whole skills and folders of skills only",
    ),
    key(
        "refresh.enabled",
        Kind::Flag,
        "true",
        ContentPolicy::Fixed,
        "whether a git source is fetched periodically",
    ),
    key(
        "refresh.watch",
        Kind::Flag,
        "true",
        ContentPolicy::Free,
        "whether the system reports changes; if not, calls scan directories again",
    ),
    key(
        "refresh.patience_ms",
        Kind::Count(1, 60_000),
        "50",
        ContentPolicy::Free,
        "how long a call waits for a refresh before it is answered without it",
    ),
    key(
        "refresh.scan_seconds",
        Kind::Count(1, 3_600),
        "30",
        ContentPolicy::Free,
        "how often all directories are scanned",
    ),
    key(
        "refresh.interval_minutes",
        Kind::Count(1, 10_080),
        "15",
        ContentPolicy::Fixed,
        "how often a git source is fetched",
    ),
    key("git.branch", Kind::Text, "main", ContentPolicy::Fixed, "the branch to follow"),
    key(
        "git.sparse_checkout",
        Kind::Flag,
        "false",
        ContentPolicy::Free,
        "fetch only the skills folder of a larger repository",
    ),
    key(
        "git.timeout_seconds",
        Kind::Count(1, 3_600),
        "120",
        ContentPolicy::Fixed,
        "a fetch is given up after this long",
    ),
    key(
        "git.max_total_bytes",
        Kind::Count(MIB, 1024 * 1024 * MIB),
        "2147483648",
        ContentPolicy::Operator,
        "how much of the disk all commits of all repositories may take; the oldest that are not in use go first",
    ),
    key(
        "analytics.enabled",
        Kind::Flag,
        "false",
        ContentPolicy::Pinned,
        "whether usage events are recorded",
    ),
    key("analytics.endpoint", Kind::Url, "''", ContentPolicy::Pinned, "where events are sent"),
    key(
        "analytics.file",
        Kind::History,
        "~/.skills-mcp/analytics.jsonl",
        ContentPolicy::Fixed,
        "where events are kept: a file whose name ends in `.jsonl`, from the root, the home folder or `~/.skills-mcp`",
    ),
    key(
        "analytics.interval_seconds",
        Kind::Count(1, 3_600),
        "30",
        ContentPolicy::Operator,
        "how often unsent events are sent",
    ),
    key(
        "analytics.context",
        Kind::Word(&["full", "tokens", "off"]),
        "full",
        ContentPolicy::Pinned,
        "how much of a request's text events have: `full`, its words (`tokens`), or nothing (`off`)",
    ),
    key(
        "analytics.server_id",
        Kind::Name,
        "''",
        ContentPolicy::Operator,
        "what events call this machine; else `dev-` and your login name",
    ),
    key(
        "analytics.tool",
        Kind::Flag,
        "false",
        ContentPolicy::Operator,
        "whether agents are offered skill_stats, which reports usage statistics",
    ),
];

const fn key(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    content: ContentPolicy,
    about: &'static str,
) -> Key {
    Key { name, kind, default, content, about }
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
        new == old || self.kind.narrows(new, old)
    }

    /// Its default, read.
    pub fn default_value(&self) -> Option<Value> {
        self.kind.read(&yaml::parse(self.default).ok()?)
    }
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
    fn config_8_promised_keys_keep_their_names() {
        let promised = [
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
        for name in promised {
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
