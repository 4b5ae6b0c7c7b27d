//! [`Directory`]: one folder of skills that somebody named.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use skills_core::{
    catalog::Intake,
    diagnostic::{Code, Finding},
    document::Parsed,
    relpath::RelPath,
};
use thiserror::Error;

use super::{
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
    links: Links,
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
            Ok(_) => Ok(Self { name: named.name.as_str().into(), path, links }),
            Err(DiskError::NotFound) => Err(SourceError::Missing { origin: named.origin, path }),
            Err(error) => Err(SourceError::Closed { path, error }),
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

    /// Walks the folder and reads what may be a skill. The root comes along, to read files of this very moment's
    /// folder later.
    pub fn read(&self) -> Result<(Arc<Root>, Intake), SourceError> {
        let closed = |error| SourceError::Closed { path: self.path.clone(), error };
        let root = Root::open(&self.path, self.links).map_err(closed)?;
        let walked = walk(&root).map_err(closed)?;
        let read = |files: Vec<RelPath>| -> BTreeMap<RelPath, Arc<Parsed>> {
            files
                .into_iter()
                .map(|file| (file.clone(), Arc::new(read_skill(&root, &file))))
                .collect()
        };
        let intake = Intake::new(Arc::clone(&self.name), walked.folder, walked.findings, read);
        Ok((Arc::new(root), intake))
    }

    /// Its `config.yaml`: in the folder, or beside it where the folder is called `skills`.
    pub fn config(&self) -> Option<ContentConfig> {
        let beside = self.path.parent().filter(|_| self.path.ends_with("skills"));
        let places = [Some(self.path.as_path()), beside];
        for file in places.into_iter().flatten().map(|folder| folder.join("config.yaml")) {
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

fn read_skill(root: &Root, file: &RelPath) -> Parsed {
    match root.read(file, MAX_SKILL_BYTES) {
        Ok(bytes) => Parsed::tree(bytes),
        Err(error @ DiskError::TooLarge { .. }) => Parsed::unread(
            Finding::whole(Code::FileTooLarge, error.to_string())
                .hint("split it into smaller skills, or move data to assets"),
        ),
        Err(error @ DiskError::Link(_)) => {
            Parsed::unread(Finding::whole(Code::LinkRefused, error.to_string()))
        }
        Err(error @ DiskError::NotRegular) => {
            Parsed::unread(Finding::whole(Code::NotRegular, error.to_string()))
        }
        Err(error @ (DiskError::NotFound | DiskError::Io(_))) => {
            Parsed::unread(Finding::whole(Code::Unreadable, error.to_string()))
        }
    }
}
