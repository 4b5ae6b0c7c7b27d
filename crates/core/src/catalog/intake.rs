//! [`Intake`]: what one source found at one moment, before any file is read.

use std::sync::Arc;

use super::{Folder, Scope};
use crate::diagnostic::Finding;

/// What one source found at one moment.
#[derive(Debug, Clone)]
pub struct Intake {
    /// The source's name, unique among the sources.
    pub source: Arc<str>,
    /// Where it comes from.
    pub origin: Origin,
    /// What is looked for in it.
    pub scope: Scope,
    /// Everything that lies below the root.
    pub root: Arc<Folder>,
    /// What the walk itself ran into: file, as text, and finding.
    pub walked: Arc<[(String, Finding)]>,
}

impl Intake {
    /// A walked folder. Agents' directories and plugins hold bundles only; whatever else lies there is not ours to
    /// judge.
    pub fn new(source: Arc<str>, origin: Origin, root: Arc<Folder>) -> Self {
        let scope = if origin == Origin::Named { Scope::All } else { Scope::Bundles };
        Self { source, origin, scope, root, walked: Arc::default() }
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
