//! [`Snapshot`]: everything one call needs, from one moment.

use std::sync::Arc;

use skills_core::{
    catalog::{Catalog, Skill},
    relpath::RelPath,
    route::Router,
};
use thiserror::Error;

use crate::{
    config::{Settings, Settled},
    source::{DiskError, Root},
};

/// A catalog, its index, the settings that go with it, and the roots its files are read from.
#[derive(Debug)]
pub struct Snapshot {
    /// The skills.
    pub catalog: Catalog,
    /// The index over them.
    pub router: Router,
    /// The settings, with where each came from.
    pub settled: Settled,
    pub(super) roots: Vec<Option<Arc<Root>>>,
}

/// Why a file of a skill could not be served.
#[derive(Debug, Error)]
pub enum ContentError {
    /// It was declared, or even there, and is not now.
    #[error("is missing on disk")]
    Missing,
    /// It is over the limit.
    #[error("is {bytes} bytes, over the limit of {limit} bytes")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: usize,
    },
    /// Everything else.
    #[error("{0}")]
    Refused(DiskError),
}

impl Snapshot {
    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settled.settings
    }

    /// The bytes of a file in a skill's resource folder.
    pub fn read(
        &self,
        skill: &Skill,
        file: &RelPath,
        limit: usize,
    ) -> Result<Vec<u8>, ContentError> {
        let root =
            self.roots.get(skill.source).and_then(Option::as_ref).ok_or(ContentError::Missing)?;
        let path = skill.resource(file).ok_or(ContentError::Missing)?;
        root.read(&path, limit).map_err(|error| match error {
            DiskError::NotFound => ContentError::Missing,
            DiskError::TooLarge { bytes, limit } => ContentError::TooLarge { bytes, limit },
            error @ (DiskError::NotRegular | DiskError::Link(_) | DiskError::Io(_)) => {
                ContentError::Refused(error)
            }
        })
    }
}
