//! Every environment variable, one documented entry each, and the only place that reads them.
//!
//! An empty variable counts as unset. Secrets are read by the one module that needs them and are never kept here.

#![expect(clippy::disallowed_methods, reason = "the only module that reads the environment")]

use std::{collections::HashMap, ffi::OsString, path::PathBuf};

use skills_usage::settings::Analytics;

use crate::clients::FOLDER_VARIABLES;

/// An environment variable that the server reads.
#[derive(Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// The keys it sets, and to what: `None` means the variable's own value.
    pub sets: &'static [(&'static str, Option<&'static str>)],
    /// Whether its value must never be shown.
    pub secret: bool,
    /// What it is for.
    pub about: &'static str,
}

/// Every variable there is.
pub const VARIABLES: &[Variable] = &[
    variable("SKILLS_DIR", "the skills directory to serve"),
    variable(
        "SKILLS_REPO",
        "git URL of the skills repository to serve, with `#branch` or `@commit` if need be",
    ),
    Variable { sets: &[("git.branch", None)], ..variable("SKILLS_BRANCH", "the branch to follow") },
    secret_variable(
        "GITHUB_TOKEN",
        "token for private repositories over https, sent to the host of the URL only",
    ),
    Variable {
        sets: &[("analytics.enabled", Some("true")), ("analytics.endpoint", None)],
        ..variable("ANALYTICS_ENDPOINT", "where usage events are sent; turns analytics on")
    },
    secret_variable(
        "ANALYTICS_TOKEN",
        "token for the endpoint, sent to it over https or on this machine only",
    ),
    secret_variable(
        "COLLECT_TOKEN",
        "token that `collect` and `dashboard` require of their clients; several, separated by commas, while one replaces another",
    ),
    secret_variable(
        "SKILLS_HTTP_TOKENS",
        "tokens that `serve --http` requires of its clients: `NAME = TOKEN [LIMIT …]`, several separated by semicolons",
    ),
    secret_variable(
        "SKILLS_WEBHOOK_SECRET",
        "secret of the webhook of `serve --http`, as the git host has it",
    ),
    secret_variable("DATABASE_URL", "address of the PostgreSQL database, for `--store postgres`"),
    Variable {
        sets: &[("refresh.enabled", Some("true")), ("refresh.interval_minutes", None)],
        ..variable("REFRESH_INTERVAL_MINUTES", "how often a git source is fetched")
    },
    variable("SKILLS_TOOLS", "which tools: tree, skill, flat (comma-separated) or all"),
    variable(
        "SKILLS_WITH_OWN_SKILLS",
        "`true`: also serve the skills about skills-mcp itself, after all others",
    ),
    variable("CLAUDE_CONFIG_DIR", "where Claude Code keeps its settings, skills and plugins"),
    variable("CLAUDE_CODE_PLUGIN_CACHE_DIR", "where Claude Code keeps its plugins"),
    variable(
        "SKILLS_TRUST",
        "`strict`: content may only tighten settings, and links must stay inside; `named`: as without it",
    ),
    variable("SKILLS_LOG", "error, warn, info, debug or trace; logs go to stderr"),
    variable(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "where spans and metrics go, over OTLP/HTTP; without one none are made (this and what follows: where built with the feature `otel`)",
    ),
    variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "where spans go, as it stands"),
    variable("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "where metrics go, as it stands"),
    secret_variable("OTEL_EXPORTER_OTLP_HEADERS", "headers that go with both, such as a token"),
    secret_variable("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "headers that go with spans"),
    secret_variable("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "headers that go with metrics"),
    variable("OTEL_EXPORTER_OTLP_PROTOCOL", "`http/protobuf`; with another nothing is sent"),
    variable("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "the same for spans"),
    variable("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "the same for metrics"),
    variable("OTEL_EXPORTER_OTLP_TIMEOUT", "how many milliseconds sending may take"),
    variable("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "the same for spans"),
    variable("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "the same for metrics"),
    variable("OTEL_TRACES_EXPORTER", "`otlp` or `none`: whether spans are sent"),
    variable("OTEL_METRICS_EXPORTER", "`otlp` or `none`: whether metrics are sent"),
    variable("OTEL_SDK_DISABLED", "`true`: no spans and no metrics, wherever they would go"),
];

/// A variable that sets no key, such as those of OpenTelemetry:
/// <https://opentelemetry.io/docs/specs/otel/configuration/>.
const fn variable(name: &'static str, about: &'static str) -> Variable {
    Variable { name, sets: &[], secret: false, about }
}

/// The same, never shown.
const fn secret_variable(name: &'static str, about: &'static str) -> Variable {
    Variable { secret: true, ..variable(name, about) }
}

/// A secret of the table, read when it is needed.
pub fn secret(name: &str) -> Option<String> {
    let is_secret = VARIABLES.iter().any(|variable| variable.name == name && variable.secret);
    let value = std::env::var(name).ok()?;
    (is_secret && !value.is_empty()).then_some(value)
}

/// Those of these variables that are set, for a program that is started with them alone.
pub fn inherited(names: &[&'static str]) -> Vec<(&'static str, OsString)> {
    names.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))).collect()
}

/// The environment as it was at the start.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// The variables of the table that are set and not empty; secrets hold no value.
    pub variables: HashMap<&'static str, String>,
    /// The home folder.
    pub home: Option<PathBuf>,
    /// The folder of user configuration: `XDG_CONFIG_HOME`, else `~/.config`.
    pub config_home: Option<PathBuf>,
    /// The start directory.
    pub directory: PathBuf,
    /// The login name.
    pub user: Option<String>,
    /// Claude Code's folder, if not `~/.claude`: `CLAUDE_CONFIG_DIR`.
    pub claude_config: Option<PathBuf>,
    /// Claude Code's folder of plugins, if not `plugins` there: `CLAUDE_CODE_PLUGIN_CACHE_DIR`, which
    /// despite its name is the folder above the cache.
    pub plugin_dir: Option<PathBuf>,
    /// Whether GitHub Copilot's CLI started this process: `COPILOT_CLI`.
    pub of_copilot: bool,
    /// The folders of other clients that a variable moves, by its name: `CODEX_HOME`, …
    pub client_folders: HashMap<&'static str, PathBuf>,
    /// Where programs are looked for: `PATH`.
    pub search: Vec<PathBuf>,
}

impl Environment {
    /// Reads the environment.
    pub fn read() -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let text = |name: &str| set(name).map(|value| value.to_string_lossy().into_owned());
        let variables = VARIABLES.iter().filter_map(|variable| {
            let value = text(variable.name)?;
            Some((variable.name, if variable.secret { String::new() } else { value }))
        });
        let home = set("HOME").or_else(|| set("USERPROFILE")).map(PathBuf::from);
        let folder = |name: &str| set(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let config_home = folder("XDG_CONFIG_HOME");
        Self {
            variables: variables.collect(),
            config_home: config_home.or_else(|| home.as_ref().map(|home| home.join(".config"))),
            home,
            directory: std::env::current_dir().unwrap_or_default(),
            user: text("USER").or_else(|| text("USERNAME")),
            claude_config: folder("CLAUDE_CONFIG_DIR"),
            plugin_dir: folder("CLAUDE_CODE_PLUGIN_CACHE_DIR"),
            of_copilot: set("COPILOT_CLI").is_some(),
            client_folders: FOLDER_VARIABLES
                .iter()
                .filter_map(|variable| Some((variable.name, folder(variable.name)?)))
                .collect(),
            search: set("PATH")
                .map(|path| std::env::split_paths(&path).collect())
                .unwrap_or_default(),
        }
    }

    /// The user's configuration files, the one that is overridden first.
    pub fn user_files(&self) -> Vec<PathBuf> {
        let home = self.home.as_ref().map(|home| home.join(".skills-mcp/config.yaml"));
        let config = self.config_home.as_ref().map(|at| at.join("skills-mcp/config.yaml"));
        home.into_iter().chain(config).collect()
    }

    /// A variable of the machine that the operator lets scripts receive; it is not kept.
    pub fn handed_on(name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    /// A variable's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// What events call this machine: what the operator says, else `dev-` and the login name.
    pub fn server_id(&self, settings: &Analytics) -> String {
        let user = || format!("dev-{}", self.user.as_deref().unwrap_or("unknown"));
        settings.server_id.clone().unwrap_or_else(user)
    }
}
