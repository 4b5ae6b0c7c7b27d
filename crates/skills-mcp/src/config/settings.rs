//! [`Settings`]: the resolved configuration, typed.

use std::collections::BTreeMap;

use skills_core::{
    diagnostic::{Code, Severity},
    route::{Deciders, Matching},
};
use skills_usage::{event::KeptContext, settings::Analytics};

use super::{layer::SettingOrigin, layers::ResolvedValue, value::ConfigValue};

/// Every setting, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `matching.*`, but for `matching.learn`
    pub matching: Matching,
    /// `matching.learn`: whether past requests count in the ranked search.
    pub learns: bool,
    /// `content.*`
    pub content: ContentSettings,
    /// `assets.*`
    pub assets: AssetSettings,
    /// `scripts.*`
    pub scripts: ScriptSettings,
    /// `links.*`
    pub links: LinkSettings,
    /// `refresh.*`
    pub refresh: RefreshSettings,
    /// `git.*`
    pub git: GitSettings,
    /// `analytics.*`
    pub analytics: Analytics,
    /// `check.*`
    pub check: CheckSettings,
}

/// `check.*`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSettings {
    /// What a check makes of a code, where that is not its own severity; none where it is left out.
    pub rules: BTreeMap<Code, Option<Severity>>,
}

/// `content.*`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentSettings {
    /// Estimated tokens a composed skill may have.
    pub max_tokens: usize,
}

/// `assets.*`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetSettings {
    /// Larger files are refused.
    pub max_size_bytes: usize,
    /// Larger text assets are not inlined.
    pub inline_text_max_bytes: usize,
}

/// `scripts.*`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptSettings {
    /// Whether the server runs any.
    pub enabled: bool,
    /// A script is killed after this long.
    pub timeout_seconds: u64,
    /// How much output is kept.
    pub max_output_bytes: usize,
    /// Which the server runs.
    pub allowed_extensions: Vec<String>,
    /// Extension → command.
    pub runners: BTreeMap<String, String>,
    /// How many run at once.
    pub max_concurrent: usize,
    /// How long one may take to end once it was asked to.
    pub grace_seconds: u64,
    /// How much of a sandbox there must be.
    pub sandbox: SandboxMode,
    /// Whether a script that declares a network has one.
    pub network: bool,
    /// Folders a script may work in.
    pub roots: Vec<String>,
    /// Variables a script may be given.
    pub environment: Vec<String>,
}

/// `scripts.sandbox`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxMode {
    /// The best this machine has.
    Auto,
    /// The whole of it, or no run.
    Required,
    /// None.
    Off,
}

impl SandboxMode {
    fn of(word: &str) -> Self {
        match word {
            "off" => Self::Off,
            "auto" => Self::Auto,
            _ => Self::Required,
        }
    }

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Required => "required",
            Self::Off => "off",
        }
    }
}

/// `links.*`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSettings {
    /// Folders that links may lead to, whatever is there.
    pub allow: Vec<String>,
}

/// `refresh.*`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshSettings {
    /// Whether git sources are fetched periodically.
    pub enabled: bool,
    /// Whether directories are watched for changes.
    pub watch: bool,
    /// How long a call waits for a refresh.
    pub patience_ms: u64,
    /// How often directories are scanned.
    pub scan_seconds: u64,
    /// How often git sources are fetched.
    pub interval_minutes: u64,
}

/// `git.*`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSettings {
    /// The branch to follow.
    pub branch: String,
    /// Whether nobody named it.
    pub is_default_branch: bool,
    /// Fetch only the skills folder.
    pub sparse_checkout: bool,
    /// A fetch is given up after this long.
    pub timeout_seconds: u64,
    /// How many bytes all commits of all repositories may take on disk.
    pub max_total_bytes: u64,
}

/// How many candidates the keyword formula alone offers by default.
const KEYWORDS_MAX_RESULTS: usize = 3;

impl Settings {
    pub(super) fn of(values: &[ResolvedValue]) -> Self {
        let values = Values(values);
        Self {
            matching: values.matching(),
            learns: values.flag("matching.learn"),
            content: ContentSettings { max_tokens: values.size("content.max_tokens") },
            assets: AssetSettings {
                max_size_bytes: values.size("assets.max_size_bytes"),
                inline_text_max_bytes: values.size("assets.inline_text_max_bytes"),
            },
            scripts: ScriptSettings {
                enabled: values.flag("scripts.enabled"),
                timeout_seconds: values.count("scripts.timeout_seconds"),
                max_output_bytes: values.size("scripts.max_output_bytes"),
                allowed_extensions: values.words("scripts.allowed_extensions"),
                runners: values.commands("scripts.runners"),
                max_concurrent: values.size("scripts.max_concurrent"),
                grace_seconds: values.count("scripts.grace_seconds"),
                sandbox: SandboxMode::of(&values.text("scripts.sandbox")),
                network: values.text("scripts.network") == "declared",
                roots: values.words("scripts.roots"),
                environment: values.words("scripts.env"),
            },
            links: LinkSettings { allow: values.words("links.allow") },
            refresh: RefreshSettings {
                enabled: values.flag("refresh.enabled"),
                watch: values.flag("refresh.watch"),
                patience_ms: values.count("refresh.patience_ms"),
                scan_seconds: values.count("refresh.scan_seconds"),
                interval_minutes: values.count("refresh.interval_minutes"),
            },
            git: GitSettings {
                branch: values.text("git.branch"),
                is_default_branch: values.is_unset("git.branch"),
                sparse_checkout: values.flag("git.sparse_checkout"),
                timeout_seconds: values.count("git.timeout_seconds"),
                max_total_bytes: values.count("git.max_total_bytes"),
            },
            analytics: Analytics {
                enabled: values.flag("analytics.enabled"),
                endpoint: Some(values.text("analytics.endpoint"))
                    .filter(|endpoint| !endpoint.is_empty()),
                endpoint_by_content: values.is_of_content("analytics.endpoint"),
                file: values.text("analytics.file"),
                context: KeptContext::of(&values.text("analytics.context")),
                server_id: Some(values.text("analytics.server_id")).filter(|id| !id.is_empty()),
                interval_seconds: values.count("analytics.interval_seconds"),
                tool: values.flag("analytics.tool"),
            },
            check: CheckSettings { rules: values.rules("check.rules") },
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        super::ConfigLayers::default().resolve(None).settings
    }
}

/// Reads the resolved values by name. Every key has a valid default (a test checks it), so the fallbacks below are never
/// used.
struct Values<'a>(&'a [ResolvedValue]);

impl Values<'_> {
    fn matching(&self) -> Matching {
        let deciders = Deciders::from_word(&self.text("matching.decide"));
        let set = self.size("matching.max_results");
        let is_unset = self.is_unset("matching.max_results");
        let max_results = match deciders {
            Deciders::Keywords if is_unset => KEYWORDS_MAX_RESULTS,
            Deciders::Keywords | Deciders::Both => set,
        };
        Matching {
            min_score: self.share("matching.min_score"),
            deciders,
            max_results,
            ambiguity_threshold: self.share("matching.ambiguity_threshold"),
        }
    }

    fn find(&self, name: &str) -> Option<&ResolvedValue> {
        self.0.iter().find(|(key, ..)| key.name == name)
    }

    fn is_unset(&self, name: &str) -> bool {
        matches!(self.find(name), Some((.., SettingOrigin::Default)))
    }

    fn is_of_content(&self, name: &str) -> bool {
        let found = self.find(name);
        matches!(found, Some((.., SettingOrigin::Content(_) | SettingOrigin::Pinned(_))))
    }

    fn get(&self, name: &str) -> Option<&ConfigValue> {
        self.find(name).map(|(_, value, _)| value)
    }

    fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(ConfigValue::Flag(true)))
    }

    fn share(&self, name: &str) -> f64 {
        if let Some(ConfigValue::Share(share)) = self.get(name) { *share } else { 0.0 }
    }

    fn count(&self, name: &str) -> u64 {
        if let Some(ConfigValue::Count(count)) = self.get(name) { *count } else { 0 }
    }

    fn size(&self, name: &str) -> usize {
        usize::try_from(self.count(name)).unwrap_or(usize::MAX)
    }

    fn text(&self, name: &str) -> String {
        if let Some(ConfigValue::Text(text)) = self.get(name) {
            text.clone()
        } else {
            String::new()
        }
    }

    fn words(&self, name: &str) -> Vec<String> {
        if let Some(ConfigValue::Words(words)) = self.get(name) {
            words.clone()
        } else {
            Vec::new()
        }
    }

    fn rules(&self, name: &str) -> BTreeMap<Code, Option<Severity>> {
        let Some(ConfigValue::Rules(rules)) = self.get(name) else { return BTreeMap::new() };
        let level = |word: &str| match word {
            "off" => None,
            "note" => Some(Severity::Info),
            "warning" => Some(Severity::Warning),
            _ => Some(Severity::Error),
        };
        let rules = rules.iter();
        rules.filter_map(|(code, word)| Some((Code::named(code)?, level(word)))).collect()
    }

    fn commands(&self, name: &str) -> BTreeMap<String, String> {
        if let Some(ConfigValue::Commands(commands)) = self.get(name) {
            commands.clone()
        } else {
            BTreeMap::new()
        }
    }
}
