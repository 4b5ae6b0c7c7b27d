//! [`LinkTargets`]: what the links of a source lead to.
//!
//! The watch does not report a target that appears, nor a link or folder on the way to a target that is replaced; so these
//! are compared before each answer. Immutable, so that a call can compare them without a lock.

use std::sync::Arc;

use skills_core::relpath::RelPath;

use super::disk::{FileIdentity, Root};

/// The links of a source that are compared before each answer; the others are compared when everything is scanned.
const MAX_COMPARED_LINKS: usize = 256;

/// The links of one source, and what each led to.
#[derive(Debug, Clone, Default)]
pub struct LinkTargets {
    /// None where there is no link.
    root: Option<Arc<Root>>,
    links: Arc<[(RelPath, Option<FileIdentity>)]>,
}

impl LinkTargets {
    /// Links that lead nowhere come first: they are the most likely to change.
    pub(super) fn new(root: &Arc<Root>, links: &[(RelPath, Option<FileIdentity>)]) -> Self {
        let nowhere = links.iter().filter(|(_, target)| target.is_none());
        let somewhere = links.iter().filter(|(_, target)| target.is_some());
        let links = nowhere.chain(somewhere).take(MAX_COMPARED_LINKS).cloned().collect();
        Self { root: Some(Arc::clone(root)), links }
    }

    /// Whether each link leads where it did.
    pub fn are_same(&self) -> bool {
        let same = |root: &Root| {
            self.links.iter().all(|(path, target)| root.target_identity(path) == *target)
        };
        self.root.as_deref().is_none_or(same)
    }
}
