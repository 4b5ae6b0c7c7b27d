//! [`Bodies`]: what skills say, from reading their files until the ranked index is made.
//!
//! Files are read to parse them, and the index takes their bodies: so that no file is read and hashed twice, bodies are kept
//! until then, up to a limit. They are kept in large slabs, which the allocator gives back to the system when they are
//! dropped; ten thousand small texts between what stays would leave holes.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use skills_core::document::ContentDigest;

/// So many bytes of bodies are kept; the rest is read again for the index.
const MAX_KEPT_BYTES: usize = 64 * 1024 * 1024;
/// A slab holds about so many bytes.
const SLAB_BYTES: usize = 1024 * 1024;

/// The bodies of skills that were read, by the digests of their files.
#[derive(Debug, Default)]
pub struct Bodies {
    slabs: Mutex<Vec<Slab>>,
    bytes: AtomicUsize,
}

/// Some bodies.
#[derive(Debug, Default)]
pub struct Slab {
    text: String,
    /// The digest of each file, and where its body ends.
    ends: Vec<(ContentDigest, usize)>,
}

impl Slab {
    /// The bodies, each with the digest of its file.
    pub fn bodies(&self) -> impl Iterator<Item = (&ContentDigest, &str)> {
        let mut start = 0;
        self.ends.iter().map(move |(digest, end)| {
            let body = self.text.get(start..*end).unwrap_or_default();
            start = *end;
            (digest, body)
        })
    }
}

impl Bodies {
    /// All slabs.
    pub fn into_slabs(self) -> Vec<Slab> {
        self.slabs.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the bodies that one thread reads.
    pub(super) fn writer(&self) -> BodyWriter<'_> {
        BodyWriter { bodies: self, slab: Slab::default() }
    }
}

/// One thread's slab.
pub(super) struct BodyWriter<'a> {
    bodies: &'a Bodies,
    slab: Slab,
}

impl BodyWriter<'_> {
    pub(super) fn keep(&mut self, digest: &ContentDigest, body: &str) {
        if self.bodies.bytes.fetch_add(body.len(), Ordering::Relaxed) > MAX_KEPT_BYTES {
            return;
        }
        if self.slab.text.len() + body.len() > SLAB_BYTES {
            self.finish();
            self.slab.text.reserve(SLAB_BYTES);
        }
        self.slab.text.push_str(body);
        self.slab.ends.push((*digest, self.slab.text.len()));
    }

    fn finish(&mut self) {
        let full = std::mem::take(&mut self.slab);
        if !full.ends.is_empty() {
            self.bodies.slabs.lock().unwrap_or_else(PoisonError::into_inner).push(full);
        }
    }
}

impl Drop for BodyWriter<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}
