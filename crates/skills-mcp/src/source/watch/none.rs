//! No queue: these systems do not say what changed in an order that could be relied on, so sources are scanned again.

use std::{io, path::Path};

use super::{Descriptor, WatchEvent};

/// A queue that cannot be opened.
#[derive(Debug)]
pub enum Queue {}

impl Queue {
    pub(super) fn open() -> io::Result<Self> {
        Err(io::Error::other("this system has no queue of changes that keeps their order"))
    }

    /// How many bytes of events wait.
    pub fn waiting(&self) -> usize {
        match *self {}
    }

    /// Whether an error means that the user has no watches or queues left.
    pub fn is_exhausted(_: &io::Error) -> bool {
        false
    }

    pub(super) fn add_path(&self, _: &Path) -> Option<io::Result<Descriptor>> {
        match *self {}
    }

    pub(super) fn remove(&self, _: Descriptor) {
        match *self {}
    }

    pub(super) fn drain(&self) -> Vec<WatchEvent> {
        match *self {}
    }
}
