//! [`LivePlugins`]: the sources that come and go with Claude Code's plugins.
//!
//! The records are a handful of files, looked at before each answer as a source's `config.yaml` is; they and the plugins'
//! folders are watched besides, so that clients hear of a change that no call asked for. Not here: what the records say,
//! and what the folders hold.

use std::path::PathBuf;

use skills_core::diagnostic::Diagnostic;

use crate::source::{Changes, Directory, Plugin, PluginRecords, Watch};

/// What watches of records and plugins' folders are numbered with: no source has this number.
const NUMBER: usize = usize::MAX;

/// So often records are read again because meanwhile there were other folders to watch; then, a second later.
const MAX_TRIES: usize = 4;

/// The plugins' records, and what they came to when they were last read.
#[derive(Debug)]
pub(super) struct LivePlugins {
    records: PluginRecords,
    /// What is wrong with them.
    standing: Vec<Diagnostic>,
    /// Folders of plugins in which a change may change what there is.
    folders: Vec<PathBuf>,
    /// Whether all of them are watched.
    watched: bool,
}

impl LivePlugins {
    pub(super) fn new(records: PluginRecords) -> Self {
        Self { records, standing: Vec::new(), folders: Vec::new(), watched: false }
    }

    /// Whether the records look as they did.
    pub(super) fn are_same(&self) -> bool {
        self.records.are_same()
    }

    /// Whether every change in the plugins' folders is reported.
    pub(super) fn is_watched(&self) -> bool {
        self.watched
    }

    /// Nothing is watched any more.
    pub(super) fn unwatched(&mut self) {
        self.watched = false;
    }

    /// What is wrong with the records.
    pub(super) fn standing(&self) -> &[Diagnostic] {
        &self.standing
    }

    /// Whether these changes concern the records or the plugins' folders.
    pub(super) fn are_among(changes: &Changes) -> bool {
        changes.paths.last().is_some_and(|(number, _)| *number == NUMBER)
    }

    /// The sources, with those of the plugins that the records tell of now after them.
    pub(super) fn read(&mut self, sources: &[Directory]) -> Vec<Directory> {
        let plugins = self.records.read();
        let name = "claude-plugins".into();
        let diagnostic = |(file, finding): (PathBuf, skills_core::diagnostic::Finding)| {
            finding.in_file(&name, &file.to_string_lossy())
        };
        self.standing = plugins.diagnostics.into_iter().map(diagnostic).collect();
        self.folders = plugins.watched;
        let plugins = plugins.enabled.into_iter().flat_map(Plugin::directories);
        sources.iter().cloned().chain(plugins.map(Directory::agents)).collect()
    }

    /// The same, with everything that was read being watched since before it was read.
    pub(super) fn renew(
        &mut self,
        sources: &[Directory],
        mut watch: Option<&mut Watch>,
    ) -> Vec<Directory> {
        let mut tries = 0;
        loop {
            let folders = std::mem::take(&mut self.folders);
            let places = self.records.files().chain(&folders);
            let watched = watch.as_deref_mut().map(|watch| watch.watch_only(NUMBER, places));
            let directories = self.read(sources);
            tries += 1;
            if self.folders == folders || tries == MAX_TRIES {
                self.watched = watched == Some(true) && self.folders == folders;
                return directories;
            }
        }
    }
}
