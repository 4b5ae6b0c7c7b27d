//! [`Intake`]: the ground facts one source hands over. Which files there are, and what was read from them.

use std::{collections::BTreeMap, sync::Arc};

use super::Layout;
use crate::{
    diagnostic::{Diagnostic, Finding},
    document::Parsed,
    relpath::RelPath,
};

/// What one source found at one moment.
#[derive(Debug)]
pub struct Intake {
    /// The source's name, unique among the sources.
    pub source: Arc<str>,
    /// Everything that lies below the root.
    pub root: Folder,
    /// Which file plays which role.
    pub layout: Layout,
    /// Every Markdown file the layout wants read.
    pub documents: BTreeMap<RelPath, Arc<Parsed>>,
    /// What the walk itself ran into.
    pub diagnostics: Vec<Diagnostic>,
}

impl Intake {
    /// Takes a walked folder, and reads what its layout wants read through `read`.
    pub fn new(
        source: Arc<str>,
        root: Folder,
        walked: Vec<(String, Finding)>,
        read: impl FnOnce(Vec<RelPath>) -> BTreeMap<RelPath, Arc<Parsed>>,
    ) -> Self {
        let layout = Layout::of(&root);
        let documents = read(layout.markdown());
        let diagnostics =
            walked.into_iter().map(|(file, finding)| finding.in_file(&source, &file)).collect();
        Self { source, root, layout, documents, diagnostics }
    }
}

/// A folder as it was listed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Its files by name.
    pub files: BTreeMap<Box<str>, Entry>,
    /// Its folders by name.
    pub folders: BTreeMap<Box<str>, Folder>,
}

/// What stands under a file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A regular file of this many bytes.
    Regular {
        /// Its size when it was listed.
        bytes: u64,
    },
    /// A FIFO, socket or device: never opened.
    Special,
}

impl Folder {
    /// The folder at this path below this one.
    pub fn folder(&self, path: &RelPath) -> Option<&Self> {
        path.segments().try_fold(self, |folder, name| folder.folders.get(name))
    }

    /// The file at this path below this one.
    pub fn file(&self, path: &RelPath) -> Option<Entry> {
        self.folder(&path.folder())?.files.get(path.name()).copied()
    }

    /// Adds a file, and the folders it needs. For sources that know files by path.
    pub fn insert(&mut self, path: &RelPath, entry: Entry) {
        let mut folder = self;
        for name in path.folder().segments() {
            folder = folder.folders.entry(name.into()).or_default();
        }
        folder.files.insert(path.name().into(), entry);
    }
}
