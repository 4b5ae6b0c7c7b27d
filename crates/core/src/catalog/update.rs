//! [`SourceUpdate`]: which files have to be read for the next catalog.
//!
//! The core reads no files: it says which ones it needs, and takes what they say ([`Catalog::with`]).

use super::{
    Catalog, Intake,
    layout::{Assigned, Differences},
};
use crate::{document::Dialect, relpath::RelPath};

/// What a scan of one source changes in a catalog.
#[derive(Debug)]
pub struct SourceUpdate<'a> {
    pub(super) number: usize,
    pub(super) intake: &'a Intake,
    pub(super) differences: Differences,
    files: Vec<(RelPath, Dialect)>,
}

impl SourceUpdate<'_> {
    /// The files that have to be read.
    pub fn files(&self) -> &[(RelPath, Dialect)] {
        &self.files
    }
}

impl Catalog {
    /// What the scan of a source changes. `number` is the source's place among the sources; one behind the last is a new
    /// one.
    pub fn update<'a>(&self, number: usize, intake: &'a Intake) -> SourceUpdate<'a> {
        let old = self.sources.get(number).map(|source| &source.root);
        let differences = Differences::between(old, &intake.root, intake.scope);
        let wanted =
            |(file, assigned): &(RelPath, Assigned)| Some((file.clone(), assigned.role?.dialect()));
        let files = differences.files.iter().filter_map(wanted).collect();
        SourceUpdate { number, intake, differences, files }
    }
}
