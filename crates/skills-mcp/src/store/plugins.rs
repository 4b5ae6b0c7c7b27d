//! [`LivePlugins`]: the sources that come and go with Claude Code's plugins.
//!
//! The records are a handful of files, compared before each answer as a source's `config.yaml` is; they and the plugins'
//! folders are watched besides, so that clients are notified of a change without a call. Not here: what the records say,
//! and what the folders hold.

use std::path::PathBuf;

use skills_core::diagnostic::Diagnostic;

use crate::source::{Directory, Plugin, PluginRecords, QueuedChanges, RecordStamps, Watch};

/// What watches of records and plugins' folders are numbered with: no source has this number.
const PLUGINS_NUMBER: usize = usize::MAX;

/// So often records are read again because meanwhile there were other folders to watch; the next refresh goes on.
const MAX_READS: usize = 4;

/// The plugins' records, and what they came to when they were last read.
#[derive(Debug)]
pub(super) struct LivePlugins {
    records: PluginRecords,
    /// What is wrong with them.
    diagnostics: Vec<Diagnostic>,
    /// Folders of plugins in which a change may change what there is.
    folders: Vec<PathBuf>,
    /// Whether all of them are watched.
    watched: bool,
}

impl LivePlugins {
    pub(super) fn new(records: PluginRecords) -> Self {
        Self { records, diagnostics: Vec::new(), folders: Vec::new(), watched: false }
    }

    /// What the records looked like when they were last read.
    pub(super) fn stamps(&self) -> &RecordStamps {
        self.records.stamps()
    }

    /// Whether every change in the plugins' folders is reported.
    pub(super) fn is_watched(&self) -> bool {
        self.watched
    }

    /// The watch has ended.
    pub(super) fn stop_watching(&mut self) {
        self.watched = false;
    }

    /// What is wrong with the records.
    pub(super) fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Whether these changes concern the records or the plugins' folders.
    pub(super) fn are_among(changes: &QueuedChanges) -> bool {
        changes.paths.last().is_some_and(|(number, _)| *number == PLUGINS_NUMBER)
    }

    /// The sources, and after them those of the plugins that are installed and enabled now.
    pub(super) fn read(&mut self, sources: &[Directory]) -> Vec<Directory> {
        let plugins = self.records.read();
        let name = "claude-plugins".into();
        let diagnostic = |(file, finding): (PathBuf, skills_core::diagnostic::Finding)| {
            finding.in_file(&name, &file.to_string_lossy())
        };
        self.diagnostics = plugins.diagnostics.into_iter().map(diagnostic).collect();
        self.folders = plugins.watched;
        let plugins = plugins.enabled.into_iter().flat_map(Plugin::directories);
        sources.iter().cloned().chain(plugins.filter_map(Directory::agents)).collect()
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
            let watched =
                watch.as_deref_mut().map(|watch| watch.watch_only(PLUGINS_NUMBER, places));
            let directories = self.read(sources);
            tries += 1;
            if self.folders == folders || tries == MAX_READS {
                self.watched = watched == Some(true) && self.folders == folders;
                return directories;
            }
        }
    }
}
