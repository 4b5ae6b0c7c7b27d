//! [`SourceScan`]: what a scan of one source found, before any file is read.

use std::sync::Arc;

use super::{Folder, Scope};
use crate::diagnostic::Finding;

/// What a scan of one source found.
#[derive(Debug, Clone)]
pub struct SourceScan {
    /// The source's name, unique among the sources.
    pub source: Arc<str>,
    /// Where it comes from.
    pub origin: Origin,
    /// Which skills are looked for in it.
    pub scope: Scope,
    /// Everything below the root.
    pub root: Arc<Folder>,
    /// Problems of the scan itself: file, as text, and finding.
    pub scan_findings: Arc<[(String, Finding)]>,
}

impl SourceScan {
    /// A scan without problems. In agents' directories and plugins only bundles are looked for.
    pub fn new(source: Arc<str>, origin: Origin, root: Arc<Folder>) -> Self {
        let scope = if origin == Origin::Named { Scope::All } else { Scope::Bundles };
        Self { source, origin, scope, root, scan_findings: Arc::default() }
    }
}

/// Where a source comes from; decides what its skills are called and how far they are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A directory or repository that the operator named.
    Named,
    /// A directory of the project that the server was started in.
    Project,
    /// A directory of the user.
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
