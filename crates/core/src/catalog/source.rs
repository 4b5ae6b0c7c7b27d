//! [`Source`]: what the catalog remembers of where skills come from.

use std::sync::Arc;

use super::{Folder, Origin};

/// One source of a catalog.
#[derive(Debug)]
pub struct Source {
    /// Its name, unique among the sources.
    pub name: Arc<str>,
    /// Where it comes from.
    pub origin: Origin,
    /// Its files, as they were listed.
    pub root: Arc<Folder>,
}
