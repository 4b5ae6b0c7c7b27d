//! [`Directory`]: one folder of skills that somebody named.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use skills_core::{
    catalog::{Folder, Intake, Origin, Scope},
    diagnostic::{Code, Finding},
    document::{Dialect, Parsed},
    relpath::RelPath,
};
use thiserror::Error;

use super::{
    clients::AgentDirectory,
    disk::{DiskError, Links, Root},
    walk::walk,
};
use crate::config::{ContentConfig, NamedSource, Trust, read_optional};

/// A skill's file may be this large.
const MAX_SKILL_BYTES: usize = 1024 * 1024;

/// A folder of skills.
#[derive(Debug)]
pub struct Directory {
    name: Arc<str>,
    path: PathBuf,
    /// The folder that links may not leave, and the source's place below it.
    boundary: PathBuf,
    inside: RelPath,
    links: Links,
    origin: Origin,
    scope: Scope,
    /// Nobody is surprised if it is not there.
    optional: bool,
}

/// A source that cannot be read at all.
#[derive(Debug, Error)]
pub enum SourceError {
    /// It is not there, or is no folder.
    #[error("{origin}: there is no directory {}", path.display())]
    Missing {
        /// The variable or flag that names it.
        origin: &'static str,
        /// Where it should be.
        path: PathBuf,
    },
    /// It is there, but closed to us.
    #[error("{}: {error}", path.display())]
    Closed {
        /// Where it is.
        path: PathBuf,
        /// Why.
        error: DiskError,
    },
}

impl SourceError {
    /// The way out.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Missing { .. } => {
                "create it, or name another one; `skills-mcp demo` shows an example"
            }
            Self::Closed { .. } => "mend its permissions, or name another directory",
        }
    }
}

impl Directory {
    /// Checks that the folder is there. A repository (`config.yaml` beside `skills/`) stands for its `skills/`.
    pub fn open(named: &NamedSource, trust: Trust) -> Result<Self, SourceError> {
        let links = if trust == Trust::Strict { Links::Inside } else { Links::Follow };
        let path = content_of(&named.path);
        match Root::open(&path, links) {
            Ok(_) => Ok(Self::named(&named.name, path, links)),
            Err(DiskError::NotFound) => Err(SourceError::Missing { origin: named.origin, path }),
            Err(error) => Err(SourceError::Closed { path, error }),
        }
    }

    fn named(name: &str, path: PathBuf, links: Links) -> Self {
        Self {
            name: name.into(),
            boundary: path.clone(),
            inside: RelPath::root(),
            path,
            links,
            origin: Origin::Named,
            scope: Scope::All,
            optional: false,
        }
    }

    /// A project's folder of bundles, which may appear later.
    pub fn bundles(name: &str, path: PathBuf) -> Self {
        Self { scope: Scope::Bundles, optional: true, ..Self::named(name, path, Links::Follow) }
    }

    /// A directory that agents keep skills in. It may come and go.
    pub fn agents(directory: AgentDirectory) -> Self {
        let AgentDirectory { name, path, boundary, origin, links } = directory;
        let inside = path
            .strip_prefix(&boundary)
            .ok()
            .and_then(Path::to_str)
            .and_then(|inside| RelPath::parse(inside).ok());
        let (boundary, inside) =
            inside.map_or_else(|| (path.clone(), RelPath::root()), |inside| (boundary, inside));
        Self {
            boundary,
            inside,
            origin,
            scope: Scope::Bundles,
            optional: true,
            ..Self::named(&name, path, links)
        }
    }

    /// Its name among the sources.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is anything to look at.
    pub fn is_there(&self) -> bool {
        self.path.is_dir() || self.path.is_symlink()
    }

    /// Walks the folder and reads what may be a skill. The root comes along, to read files of this very moment's
    /// folder later; there is none where an optional folder is not there.
    pub fn read(&self) -> Result<(Option<Arc<Root>>, Intake), SourceError> {
        let closed = |error| SourceError::Closed { path: self.path.clone(), error };
        let opened =
            Root::within(&self.boundary, self.inside.clone(), self.links).and_then(|root| {
                let walked = walk(&root)?;
                Ok((root, walked))
            });
        let (root, walked) = match opened {
            Ok(opened) => opened,
            // A link to nowhere is a disk that is not mounted, or a checkout that moved: somebody should hear of it.
            Err(DiskError::NotFound) if self.optional && !self.path.is_symlink() => {
                return Ok((None, self.empty()));
            }
            Err(error) => return Err(closed(error)),
        };
        let read = |files: Vec<(RelPath, Dialect)>| -> BTreeMap<RelPath, Arc<Parsed>> {
            let read = |(file, dialect)| {
                let parsed = read_skill(&root, &file, dialect);
                (file, Arc::new(parsed))
            };
            files.into_iter().map(read).collect()
        };
        let intake = self.intake(walked.folder, walked.findings, read);
        Ok((Some(Arc::new(root)), intake))
    }

    /// What it gives when there is nothing to read.
    pub fn empty(&self) -> Intake {
        self.intake(Folder::default(), Vec::new(), |_| BTreeMap::new())
    }

    fn intake(
        &self,
        folder: Folder,
        findings: Vec<(String, Finding)>,
        read: impl FnOnce(Vec<(RelPath, Dialect)>) -> BTreeMap<RelPath, Arc<Parsed>>,
    ) -> Intake {
        Intake::scoped(
            Arc::clone(&self.name),
            self.origin.clone(),
            self.scope,
            folder,
            findings,
            read,
        )
    }

    /// Its `config.yaml`: in the folder, or beside it where the folder is called `skills`.
    pub fn config(&self) -> Option<ContentConfig> {
        // Only somebody's own choice is trusted with settings.
        if self.scope == Scope::Bundles {
            return None;
        }
        let beside = self.path.parent().filter(|_| self.path.ends_with("skills"));
        let places = [Some(self.path.as_path()), beside];
        for file in places.into_iter().flatten().map(|folder| folder.join("config.yaml")) {
            // A link could make any file's text a message of ours.
            if self.links != Links::Follow && file.is_symlink() {
                let text =
                    Err("a symbolic link is not followed under SKILLS_TRUST=strict".to_owned());
                return Some(ContentConfig { source: Arc::clone(&self.name), file, text });
            }
            let text = match read_optional(&file) {
                Ok(None) => continue,
                Ok(Some(text)) => Ok(text),
                Err(error) => Err(error.to_string()),
            };
            return Some(ContentConfig { source: Arc::clone(&self.name), file, text });
        }
        None
    }
}

/// People name the repository as often as the folder in it.
fn content_of(path: &Path) -> PathBuf {
    let skills = path.join("skills");
    let is_repository = path.join("config.yaml").is_file() && skills.is_dir();
    let is_tree = path.join("_root.md").exists() || path.join("_index.md").exists();
    if is_repository && !is_tree { skills } else { path.to_path_buf() }
}

fn read_skill(root: &Root, file: &RelPath, dialect: Dialect) -> Parsed {
    match root.read(file, MAX_SKILL_BYTES) {
        Ok(bytes) => Parsed::read(bytes, dialect),
        Err(error @ DiskError::TooLarge { .. }) => Parsed::unread(
            Finding::whole(Code::FileTooLarge, error.to_string())
                .hint("split it into smaller skills, or move data to assets"),
        ),
        Err(error @ DiskError::Link(_)) => Parsed::unread(
            Finding::whole(Code::LinkRefused, error.to_string())
                .hint("replace the link by the file, or link to a place this source may go to"),
        ),
        Err(error @ DiskError::NotRegular) => {
            Parsed::unread(Finding::whole(Code::NotRegular, error.to_string()))
        }
        Err(error @ (DiskError::NotFound | DiskError::Io(_))) => Parsed::unread(
            Finding::whole(Code::Unreadable, error.to_string())
                .hint("mend its permissions, or move it away"),
        ),
    }
}
