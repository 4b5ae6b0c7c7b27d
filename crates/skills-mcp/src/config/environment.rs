//! Every environment variable, one documented entry each, and the only place that reads them.
//!
//! An empty variable counts as unset. Secrets are read by the one room that needs them and are never kept here.

#![expect(clippy::disallowed_methods, reason = "this is the door to the environment")]

use std::{collections::HashMap, ffi::OsString, path::PathBuf};

/// An environment variable we look at.
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
    Variable {
        name: "SKILLS_DIR",
        sets: &[],
        secret: false,
        about: "the skills directory to serve",
    },
    Variable {
        name: "SKILLS_REPO",
        sets: &[],
        secret: false,
        about: "git URL of the skills repository to serve, with `#branch` or `@commit` if need be",
    },
    Variable {
        name: "SKILLS_BRANCH",
        sets: &[("git.branch", None)],
        secret: false,
        about: "the branch to follow",
    },
    Variable {
        name: "GITHUB_TOKEN",
        sets: &[],
        secret: true,
        about: "token for private repositories over https, sent to the host of the URL only",
    },
    Variable {
        name: "ANALYTICS_ENDPOINT",
        sets: &[("analytics.enabled", Some("true")), ("analytics.endpoint", None)],
        secret: false,
        about: "where usage events are sent; turns analytics on",
    },
    Variable {
        name: "ANALYTICS_TOKEN",
        sets: &[],
        secret: true,
        about: "token for the endpoint, sent to it over https or on this machine only",
    },
    Variable {
        name: "COLLECT_TOKEN",
        sets: &[],
        secret: true,
        about: "token that clients of `collect` and `dashboard` must send; several, separated by commas, while one replaces another",
    },
    Variable {
        name: "DATABASE_URL",
        sets: &[],
        secret: true,
        about: "address of the PostgreSQL database, for `--store postgres`",
    },
    Variable {
        name: "REFRESH_INTERVAL_MINUTES",
        sets: &[("refresh.enabled", Some("true")), ("refresh.interval_minutes", None)],
        secret: false,
        about: "how often a git source is fetched",
    },
    Variable {
        name: "SKILLS_TOOLS",
        sets: &[],
        secret: false,
        about: "which tools: tree, skill, flat (comma-separated) or all",
    },
    Variable {
        name: "CLAUDE_CONFIG_DIR",
        sets: &[],
        secret: false,
        about: "where Claude Code keeps its settings, skills and plugins",
    },
    Variable {
        name: "CLAUDE_CODE_PLUGIN_CACHE_DIR",
        sets: &[],
        secret: false,
        about: "where Claude Code keeps its plugins",
    },
    Variable {
        name: "SKILLS_TRUST",
        sets: &[],
        secret: false,
        about: "`strict`: content may only tighten settings, and links must stay inside",
    },
    Variable {
        name: "SKILLS_LOG",
        sets: &[],
        secret: false,
        about: "error, warn, info, debug or trace; logs go to stderr",
    },
    standard(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "where spans and metrics go, over OTLP/HTTP; without one none are made (this and what follows: where built with the feature `otel`)",
    ),
    standard("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "where spans go, as it stands"),
    standard("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "where metrics go, as it stands"),
    hidden("OTEL_EXPORTER_OTLP_HEADERS", "headers that go with both, such as a token"),
    hidden("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "headers that go with spans"),
    hidden("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "headers that go with metrics"),
    standard("OTEL_EXPORTER_OTLP_PROTOCOL", "`http/protobuf`; with another nothing is sent"),
    standard("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "the same for spans"),
    standard("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "the same for metrics"),
    standard("OTEL_EXPORTER_OTLP_TIMEOUT", "how many milliseconds sending may take"),
    standard("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "the same for spans"),
    standard("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "the same for metrics"),
    standard("OTEL_TRACES_EXPORTER", "`otlp` or `none`: whether spans are sent"),
    standard("OTEL_METRICS_EXPORTER", "`otlp` or `none`: whether metrics are sent"),
    standard("OTEL_SDK_DISABLED", "`true`: no spans and no metrics, wherever they would go"),
];

/// A variable that is not of our making: <https://opentelemetry.io/docs/specs/otel/configuration/>.
const fn standard(name: &'static str, about: &'static str) -> Variable {
    Variable { name, sets: &[], secret: false, about }
}

/// The same, never shown.
const fn hidden(name: &'static str, about: &'static str) -> Variable {
    Variable { name, sets: &[], secret: true, about }
}

/// A secret of the table, for the one room that needs it, at the moment it does.
pub fn secret(name: &str) -> Option<String> {
    let is_secret = VARIABLES.iter().any(|variable| variable.name == name && variable.secret);
    let value = std::env::var(name).ok()?;
    (is_secret && !value.is_empty()).then_some(value)
}

/// Those of these variables that are set, for a program that needs them and nothing else.
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
    /// Where user configuration lies: `XDG_CONFIG_HOME`, else `~/.config`.
    pub config_home: Option<PathBuf>,
    /// The start directory.
    pub directory: PathBuf,
    /// The login name.
    pub user: Option<String>,
    /// Where Claude Code keeps its own, if not in `~/.claude`: `CLAUDE_CONFIG_DIR`.
    pub claude_config: Option<PathBuf>,
    /// Where Claude Code keeps its plugins, if not in `plugins` there: `CLAUDE_CODE_PLUGIN_CACHE_DIR`, which
    /// despite its name is the folder above the cache.
    pub plugin_dir: Option<PathBuf>,
    /// Where programs are looked for: `PATH`.
    pub search: Vec<PathBuf>,
}

impl Environment {
    /// Reads it.
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
            search: set("PATH")
                .map(|path| std::env::split_paths(&path).collect())
                .unwrap_or_default(),
        }
    }

    /// A variable of the machine that the operator lets scripts have, read now and kept nowhere.
    pub fn handed_on(name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    /// A variable's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// What events call this machine.
    pub fn server_id(&self) -> String {
        format!("dev-{}", self.user.as_deref().unwrap_or("unknown"))
    }
}
