//! [`SourceUpdate`]: which files have to be read for the next catalog.
//!
//! The core reads no files: it says which ones it needs, and takes what they say ([`Catalog::with`]).

use super::{
    Catalog, SourceScan,
    layout::{ListingDiff, RoleAssignment},
};
use crate::{document::Dialect, relpath::RelPath};

/// What a scan of one source changes in a catalog.
#[derive(Debug)]
pub struct SourceUpdate<'a> {
    pub(super) number: usize,
    pub(super) scan: &'a SourceScan,
    pub(super) diff: ListingDiff,
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
    pub fn update<'a>(&self, number: usize, scan: &'a SourceScan) -> SourceUpdate<'a> {
        let old = self.sources.get(number).map(|source| &source.root);
        let diff = ListingDiff::between(old, &scan.root, scan.scope);
        let wanted = |(file, assignment): &(RelPath, RoleAssignment)| {
            Some((file.clone(), assignment.role?.dialect()))
        };
        let files = diff.files.iter().filter_map(wanted).collect();
        SourceUpdate { number, scan, diff, files }
    }
}
