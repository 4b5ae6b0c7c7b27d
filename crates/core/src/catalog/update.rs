//! [`SourceUpdate`]: which files have to be read for the next catalog, and which skills are built anew.
//!
//! The core reads no files: it says which ones it needs, and takes what they say ([`Catalog::with`]).

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Catalog, SourceScan,
    layout::{BUNDLE_FILE, ListingDiff, Role, RoleAssignment},
    source::SourceFile,
};
use crate::{document::Dialect, relpath::RelPath, sorted::Sorted};

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

/// The skills to which these folders belong: the presence of their files may have changed, or how much a bundle holds.
pub(super) fn owners(held: &Sorted<Arc<SourceFile>>, folders: &[RelPath]) -> BTreeSet<RelPath> {
    let mut owners = BTreeSet::new();
    let has_role = |file: &RelPath, role: Role| {
        held.find(|held| held.file.cmp(file)).is_some_and(|held| held.role == Some(role))
    };
    for folder in folders {
        let mut above = folder.clone();
        let bundle = folder.child(BUNDLE_FILE).ok();
        owners.extend(bundle.filter(|file| has_role(file, Role::Bundle)));
        while !above.is_root() {
            let owner = above.folder().child(&format!("{}.md", above.name()));
            owners.extend(owner.ok().filter(|file| has_role(file, Role::Tree)));
            above = above.folder();
        }
    }
    owners
}
