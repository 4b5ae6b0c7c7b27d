//! The table of keys: name, type, default, and what content may do with each ([`ContentPolicy`]).
//!
//! Help, `skills-mcp config`, validation, `docs/reference.md` and `docs/trust.md` derive from it. Not here: how a policy is
//! applied (`content`), and where consent is recorded (`consent`).

use skills_core::yaml::{self, YamlNode};

use super::{kind::ValueKind, trust::ContentPolicy, value::ConfigValue};

/// One configuration key.
#[derive(Debug)]
pub struct ConfigKey {
    /// Dotted name, as in `config.yaml`.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: ValueKind,
    /// Its default, as YAML.
    pub default: &'static str,
    /// What content may do with it.
    pub content: ContentPolicy,
    /// The highest number that content may set, where an operator may set more.
    pub content_max: Option<u64>,
    /// What it is for.
    pub about: &'static str,
}

const MIB: u64 = 1024 * 1024;

/// Every key there is.
pub const KEYS: &[ConfigKey] = &[
    key(
        "matching.min_score",
        ValueKind::Share,
        "0.2",
        ContentPolicy::Free,
        "a skill must match this share of its keywords",
    ),
    key(
        "matching.max_results",
        ValueKind::Count(1, 50),
        "5",
        ContentPolicy::Free,
        "how many candidates are offered, two at least; 3 by default where `matching.decide` is `keywords`",
    ),
    key(
        "matching.ambiguity_threshold",
        ValueKind::Share,
        "0.1",
        ContentPolicy::Free,
        "a smaller gap between the first two is ambiguous",
    ),
    key(
        "matching.decide",
        ValueKind::Word(&["both", "keywords"]),
        "both",
        ContentPolicy::Free,
        "what decides which skill `get_skill` loads: the keyword formula and the ranked search together (`both`), or the formula alone (`keywords`)",
    ),
    key(
        "matching.learn",
        ValueKind::Flag,
        "true",
        ContentPolicy::Free,
        "whether the ranked search of this machine learns from requests that skills were loaded for; needs `analytics.enabled` and `analytics.context: full`",
    ),
    key(
        "content.max_tokens",
        ValueKind::Count(200, 1_000_000),
        "8000",
        ContentPolicy::Limited,
        "estimated tokens a composed skill may have",
    )
    .with_content_max(100_000),
    key(
        "assets.max_size_bytes",
        ValueKind::Count(1, 256 * MIB),
        "1048576",
        ContentPolicy::Limited,
        "larger files are refused by get_asset",
    )
    .with_content_max(8 * MIB),
    key(
        "assets.inline_text_max_bytes",
        ValueKind::Count(0, MIB),
        "10240",
        ContentPolicy::Limited,
        "larger text assets are not inlined by get_skill",
    )
    .with_content_max(MIB / 16),
    key(
        "scripts.enabled",
        ValueKind::Flag,
        "true",
        ContentPolicy::Pinned,
        "whether run_script may run anything",
    ),
    key(
        "scripts.timeout_seconds",
        ValueKind::Count(1, 3600),
        "60",
        ContentPolicy::Limited,
        "a script is killed after this long",
    ),
    key(
        "scripts.max_output_bytes",
        ValueKind::Count(1, 64 * MIB),
        "1048576",
        ContentPolicy::Limited,
        "how much of stdout and stderr is kept",
    )
    .with_content_max(4 * MIB),
    key(
        "scripts.allowed_extensions",
        ValueKind::Extensions,
        "[.sh, .ts, .js, .py]",
        ContentPolicy::Pinned,
        "which scripts the server runs",
    ),
    key(
        "scripts.runners",
        ValueKind::Commands,
        "{.sh: bash, .ts: npx tsx, .js: node, .py: python3}",
        ContentPolicy::Pinned,
        "extension to command; content may name programs of your PATH only, not paths",
    ),
    key(
        "scripts.max_concurrent",
        ValueKind::Count(1, 64),
        "4",
        ContentPolicy::Limited,
        "how many scripts run at once; more are refused while the server is busy",
    )
    .with_content_max(8),
    key(
        "scripts.grace_seconds",
        ValueKind::Count(0, 60),
        "5",
        ContentPolicy::Limited,
        "how long a script may take to end once it was asked to",
    ),
    key(
        "scripts.sandbox",
        ValueKind::Word(&["auto", "required", "off"]),
        "auto",
        ContentPolicy::Operator,
        "`auto`: the best this machine has; `required`: the whole sandbox or no run; `off`: none",
    ),
    key(
        "scripts.network",
        ValueKind::Word(&["declared", "off"]),
        "declared",
        ContentPolicy::Operator,
        "`declared`: a script that declares `network: true` has a network; `off`: none has; `off` under `SKILLS_TRUST=strict` unless you set it",
    ),
    key(
        "scripts.roots",
        ValueKind::Folders,
        "[]",
        ContentPolicy::Operator,
        "folders a script may work in, besides the server's start directory",
    ),
    key(
        "scripts.env",
        ValueKind::Variables,
        "[]",
        ContentPolicy::Operator,
        "variables a script receives where it declares them in its own `env`",
    ),
    key(
        "links.allow",
        ValueKind::Folders,
        "[]",
        ContentPolicy::Operator,
        "folders that links in directories of yours may lead to; elsewhere they lead to whole skills and folders of skills only",
    ),
    key(
        "refresh.enabled",
        ValueKind::Flag,
        "true",
        ContentPolicy::Fixed,
        "whether a git source is fetched periodically",
    ),
    key(
        "refresh.watch",
        ValueKind::Flag,
        "true",
        ContentPolicy::Free,
        "whether directories are watched for changes; without, each call scans them again",
    ),
    key(
        "refresh.patience_ms",
        ValueKind::Count(1, 60_000),
        "50",
        ContentPolicy::Free,
        "how long a call waits for a refresh before it is answered without it",
    ),
    key(
        "refresh.scan_seconds",
        ValueKind::Count(1, 3_600),
        "30",
        ContentPolicy::Free,
        "how often directories are scanned again",
    ),
    key(
        "refresh.interval_minutes",
        ValueKind::Count(1, 10_080),
        "15",
        ContentPolicy::Fixed,
        "how often a git source is fetched",
    ),
    key("git.branch", ValueKind::Text, "main", ContentPolicy::Fixed, "the branch to follow"),
    key(
        "git.sparse_checkout",
        ValueKind::Flag,
        "false",
        ContentPolicy::Free,
        "fetch only the skills folder of a larger repository",
    ),
    key(
        "git.timeout_seconds",
        ValueKind::Count(1, 3_600),
        "120",
        ContentPolicy::Fixed,
        "a fetch is given up after this long",
    ),
    key(
        "git.max_total_bytes",
        ValueKind::Count(MIB, 1024 * 1024 * MIB),
        "2147483648",
        ContentPolicy::Operator,
        "how much of the disk all commits of all repositories may take; the oldest that are not in use go first",
    ),
    key(
        "analytics.enabled",
        ValueKind::Flag,
        "false",
        ContentPolicy::Pinned,
        "whether usage events are recorded",
    ),
    key("analytics.endpoint", ValueKind::Url, "''", ContentPolicy::Pinned, "where events are sent"),
    key(
        "analytics.file",
        ValueKind::History,
        "~/.skills-mcp/analytics.jsonl",
        ContentPolicy::Fixed,
        "where events are kept: a file whose name ends in `.jsonl`, from the root, the home folder or `~/.skills-mcp`",
    ),
    key(
        "analytics.interval_seconds",
        ValueKind::Count(1, 3_600),
        "30",
        ContentPolicy::Operator,
        "how often unsent events are sent",
    ),
    key(
        "analytics.context",
        ValueKind::Word(&["full", "tokens", "off"]),
        "full",
        ContentPolicy::Pinned,
        "how much of a request's text events have: `full`, its words (`tokens`), or nothing (`off`)",
    ),
    key(
        "analytics.server_id",
        ValueKind::Name,
        "''",
        ContentPolicy::Operator,
        "what events call this machine; else `dev-` and your login name",
    ),
    key(
        "analytics.tool",
        ValueKind::Flag,
        "false",
        ContentPolicy::Operator,
        "whether agents are offered skill_stats, which reports from the history",
    ),
    key(
        "check.rules",
        ValueKind::Rules,
        "{}",
        ContentPolicy::Free,
        "what `skills-mcp check` makes of a diagnostic: a map of codes to `off`, `note`, `warning` or `error`",
    ),
];

const fn key(
    name: &'static str,
    kind: ValueKind,
    default: &'static str,
    content: ContentPolicy,
    about: &'static str,
) -> ConfigKey {
    ConfigKey { name, kind, default, content, content_max: None, about }
}

impl ConfigKey {
    /// The same key, which content may set to so much at most: a commit must not be able to exhaust a server's memory.
    const fn with_content_max(mut self, most: u64) -> Self {
        self.content_max = Some(most);
        self
    }

    /// The key of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The nearest key to a name that does not exist.
    pub fn near(name: &str) -> Option<&'static str> {
        let group = |key: &ConfigKey| key.name.split('.').next().unwrap_or_default();
        // A word alone is the name of a group.
        let names = KEYS.iter().map(|key| if name.contains('.') { key.name } else { group(key) });
        let distance = |known: &&str| strsim::osa_distance(name, known);
        let near = names.min_by_key(distance).filter(|known| *known != name);
        near.filter(|known| distance(known) <= known.len().min(8) / 2)
    }

    /// Reads a value, or says what is expected.
    pub fn read(&self, node: &YamlNode) -> Result<ConfigValue, String> {
        self.kind.read(node).ok_or_else(|| self.kind.expected_for(node))
    }

    /// Reads a value written in a variable or a flag, where text needs no quotes.
    pub fn read_text(&self, text: &str) -> Result<ConfigValue, String> {
        let expected = || {
            yaml::parse(text)
                .map_or_else(|_| self.kind.expected(), |node| self.kind.expected_for(&node))
        };
        self.kind.read_text(text).ok_or_else(expected)
    }

    /// Whether one value only narrows what another allows.
    pub(super) fn narrows(&self, new: &ConfigValue, old: &ConfigValue) -> bool {
        new == old || self.kind.narrows(new, old)
    }

    /// Its default, read.
    pub fn default_value(&self) -> Option<ConfigValue> {
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
    fn content_may_set_every_default_and_never_more_than_the_operator() {
        for key in KEYS {
            let Some(most) = key.content_max else { continue };
            let ValueKind::Count(_, max) = key.kind else { panic!("{} is no number", key.name) };
            let default = key.default_value().unwrap();
            assert!(default.is_within(&ConfigValue::Count(most)) && most < max, "{}", key.name);
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
            assert!(ConfigKey::named(name).is_some(), "{name}");
        }
    }

    #[test]
    fn types_and_ranges_are_checked() {
        let read = |name: &str, text: &str| ConfigKey::named(name).unwrap().read_text(text);
        assert_eq!(read("matching.min_score", "0.35"), Ok(ConfigValue::Share(0.35)));
        assert_eq!(read("scripts.sandbox", "required"), Ok(ConfigValue::Text("required".into())));
        assert_eq!(
            read("scripts.roots", "[~/work]"),
            Ok(ConfigValue::Words(vec!["~/work".into()]))
        );
        let near = read("check.rules", "{keyword-few: off}").unwrap_err();
        assert!(near.contains("did you mean `keywords-few`?"), "{near}");
        assert_eq!(
            read("scripts.env", "[API_TOKEN]"),
            Ok(ConfigValue::Words(vec!["API_TOKEN".into()]))
        );
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
            ("check.rules", "{keywords-few: never}"),
            ("check.rules", "[keywords-few]"),
            ("analytics.server_id", "a\nb"),
            ("analytics.server_id", &"x".repeat(65)),
        ] {
            assert!(read(name, text).is_err(), "{name}={text}");
        }
    }
}
