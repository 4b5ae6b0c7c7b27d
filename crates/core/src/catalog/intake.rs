//! [`Intake`]: the ground facts one source hands over. Which files there are, and what was read from them.

use std::{collections::BTreeMap, sync::Arc};

use super::{Layout, Scope};
use crate::{
    diagnostic::{Diagnostic, Finding},
    document::{Dialect, Parsed},
    relpath::RelPath,
};

/// What one source found at one moment.
#[derive(Debug)]
pub struct Intake {
    /// The source's name, unique among the sources.
    pub source: Arc<str>,
    /// Where it comes from.
    pub origin: Origin,
    /// Everything that lies below the root.
    pub root: Arc<Folder>,
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
        origin: Origin,
        root: Folder,
        walked: Vec<(String, Finding)>,
        read: impl FnOnce(Vec<(RelPath, Dialect)>) -> BTreeMap<RelPath, Arc<Parsed>>,
    ) -> Self {
        // Agents' directories and plugins hold bundles only; whatever else lies there is not ours to judge.
        let scope = if origin == Origin::Named { Scope::All } else { Scope::Bundles };
        Self::scoped(source, origin, scope, root, walked, read)
    }

    /// The same with only bundles, or everything, looked for.
    pub fn scoped(
        source: Arc<str>,
        origin: Origin,
        scope: Scope,
        root: Folder,
        walked: Vec<(String, Finding)>,
        read: impl FnOnce(Vec<(RelPath, Dialect)>) -> BTreeMap<RelPath, Arc<Parsed>>,
    ) -> Self {
        let layout = Layout::of(&root, scope);
        let documents = read(layout.markdown());
        let diagnostics =
            walked.into_iter().map(|(file, finding)| finding.in_file(&source, &file)).collect();
        Self { source, origin, root: Arc::new(root), layout, documents, diagnostics }
    }
}

impl Intake {
    /// Whether a catalog would look the same with the other one.
    pub fn is_same(&self, other: &Self) -> bool {
        self.root == other.root
            && self.diagnostics == other.diagnostics
            && self.documents.len() == other.documents.len()
            && self.documents.iter().all(|(file, parsed)| {
                other.documents.get(file).is_some_and(|other| parsed.is_same(other))
            })
    }
}

/// Where a source comes from; decides what its skills are called and how far they are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A directory or repository that somebody named.
    Named,
    /// A directory of the project that the server was started in.
    Project,
    /// A directory of the user's.
    User,
    /// An installed plugin of this name; its skills are called `plugin:skill`.
    Plugin(Arc<str>),
}

impl Origin {
    /// One word for listings.
    pub fn location(&self) -> &'static str {
        match self {
            Self::Named => "source",
            Self::Project => "project",
            Self::User => "global",
            Self::Plugin(_) => "plugin",
        }
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

    /// Every file at or below this folder, by path.
    pub fn paths(&self) -> Vec<RelPath> {
        let mut paths = Vec::new();
        self.collect(&RelPath::root(), &mut paths);
        paths
    }

    fn collect(&self, path: &RelPath, paths: &mut Vec<RelPath>) {
        paths.extend(self.files.keys().filter_map(|name| path.child(name).ok()));
        for (name, below) in &self.folders {
            if let Ok(below_path) = path.child(name) {
                below.collect(&below_path, paths);
            }
        }
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
