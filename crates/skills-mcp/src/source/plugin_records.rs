//! [`PluginRecords`]: the files in which Claude Code records which plugins are installed and enabled.
//!
//! Not here: what the files mean ([`Plugins`]), and when they are read.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};
use skills_core::catalog::Stamp;

use super::{Plugins, agent_directories::real, disk::stamp_of};
use crate::{config::Environment, paths::project_levels};

/// The settings of the machine's administrator.
const MANAGED_SETTINGS: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode/managed-settings.json"
} else if cfg!(windows) {
    r"C:\Program Files\ClaudeCode\managed-settings.json"
} else {
    "/etc/claude-code/managed-settings.json"
};

/// Claude Code's records about plugins, and their last valid contents.
#[derive(Debug)]
pub struct PluginRecords {
    /// The list of installed plugins.
    record: Option<PathBuf>,
    /// The settings that enable plugins, highest first.
    settings: Vec<PluginSettings>,
    /// The start directory, links resolved.
    here: PathBuf,
    /// What each record looked like before it was read.
    stamps: RecordStamps,
    /// What each file said when it could be read.
    last: HashMap<PathBuf, Map<String, Value>>,
}

/// A file of settings that enables plugins.
#[derive(Debug)]
pub(super) struct PluginSettings {
    pub(super) path: PathBuf,
    /// The project that brought the file, links resolved: it is read only there. None for the user's and the administrator's.
    pub(super) project: Option<PathBuf>,
}

/// The records, and what each looked like when it was last read.
#[derive(Debug, Clone, Default)]
pub struct RecordStamps(Arc<[(PathBuf, Option<Stamp>)]>);

impl RecordStamps {
    /// Whether the records were read, and every one looks as it did then.
    pub fn are_same(&self) -> bool {
        let same = |(file, before): &(PathBuf, Option<Stamp>)| match (before, stamp_of(file)) {
            (Some(before), Some(now)) => before.is_same(now),
            (before, now) => before.is_none() && now.is_none(),
        };
        !self.0.is_empty() && self.0.iter().all(same)
    }
}

impl PluginRecords {
    /// The records that concern the start directory; none is read yet.
    pub fn new(environment: &Environment) -> Self {
        Self::managed_by(environment, Path::new(MANAGED_SETTINGS))
    }

    pub(super) fn managed_by(environment: &Environment, managed: &Path) -> Self {
        let claude = environment.claude_config.clone();
        let claude = claude.or_else(|| Some(environment.home.as_ref()?.join(".claude")));
        let own = claude.as_ref().map(|claude| claude.join("plugins"));
        let folder = environment.plugin_dir.clone().or(own);
        let mut settings = vec![PluginSettings { path: managed.to_path_buf(), project: None }];
        settings.extend(project_settings(environment, claude.as_deref()));
        settings.extend(
            claude
                .map(|claude| PluginSettings { path: claude.join("settings.json"), project: None }),
        );
        Self {
            record: folder.map(|folder| folder.join("installed_plugins.json")),
            settings,
            here: real(&environment.directory),
            stamps: RecordStamps::default(),
            last: HashMap::new(),
        }
    }

    /// Every file of the records, whether it exists or not.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.record.iter().chain(self.settings.iter().map(|settings| &settings.path))
    }

    /// What each record looked like when it was last read.
    pub fn stamps(&self) -> &RecordStamps {
        &self.stamps
    }

    /// The plugins that are installed and enabled now.
    pub fn read(&mut self) -> Plugins {
        // Before they are read: what is written meanwhile is found to be different the next time.
        self.stamps =
            RecordStamps(self.files().map(|file| (file.clone(), stamp_of(file))).collect());
        let mut plugins = Plugins { last: std::mem::take(&mut self.last), ..Plugins::default() };
        if let Some(record) = &self.record {
            plugins.read_records(record, &self.settings, &self.here);
        }
        self.last = std::mem::take(&mut plugins.last);
        plugins
    }
}

/// The settings of the start directory: none where another user can make files in it. Where it is the home folder, they are
/// the user's.
fn project_settings(
    environment: &Environment,
    users: Option<&Path>,
) -> impl Iterator<Item = PluginSettings> {
    let levels = project_levels(&environment.directory, environment.home.as_deref());
    let folder = levels.first().map(|start| start.join(".claude"));
    let is_users = |folder: &Path| users.is_some_and(|users| real(users) == real(folder));
    let root = levels.last().map(|root| real(root));
    let project = root.filter(|_| !folder.as_deref().is_some_and(is_users));
    folder.into_iter().flat_map(move |folder| {
        ["settings.local.json", "settings.json"]
            .map(|name| PluginSettings { path: folder.join(name), project: project.clone() })
    })
}
