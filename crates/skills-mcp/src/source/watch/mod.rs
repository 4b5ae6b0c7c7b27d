//! [`Watch`]: the kernel's notices of changes in the folders of the sources.
//!
//! The kernel queues an event before the call that makes the change returns; so if the queue is empty, every change made
//! before is known. Nothing is written to a disk to find that out. An event says which names to scan again, never what they
//! hold. Not here: scanning (`scanned`, `walk`), and what is done without a watch (store).

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod none;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry},
    ffi::OsString,
    io,
    path::PathBuf,
    sync::Arc,
};

#[cfg(target_os = "linux")]
pub use linux::Queue;
#[cfg(not(target_os = "linux"))]
pub use none::Queue;
use skills_core::relpath::RelPath;

/// The number of one watch.
pub(super) type Descriptor = i32;

/// One event, as the kernel reports it.
#[derive(Debug)]
struct WatchEvent {
    watch: Descriptor,
    what: WatchEventKind,
}

#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are no events there"))]
enum WatchEventKind {
    /// Something happened to what has this name in the watched folder.
    Named(OsString),
    /// Something happened to what is watched itself.
    Itself,
    /// It is not watched any more.
    Unwatched,
    /// Events were lost.
    Overflow,
}

/// Which folder or file a watch is for: a source, by number, and the path below its root.
type WatchedPath = (usize, RelPath);

/// Everything that is watched.
#[derive(Debug)]
pub struct Watch {
    queue: Arc<Queue>,
    places: HashMap<Descriptor, WatchedPath>,
    by_place: BTreeMap<WatchedPath, Descriptor>,
    /// Links may lead to one folder from several places; the further ones are here.
    further: HashMap<Descriptor, BTreeSet<WatchedPath>>,
}

/// What the queue held.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct QueuedChanges {
    /// Paths to scan again, by source.
    pub paths: BTreeSet<WatchedPath>,
    /// Events were lost, so that anything may have changed.
    pub lost: bool,
}

impl Watch {
    /// Starts to watch nothing yet; fails where the system has no queue left, or none at all.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            queue: Arc::new(Queue::open()?),
            places: HashMap::new(),
            by_place: BTreeMap::new(),
            further: HashMap::new(),
        })
    }

    /// The queue, to ask whether it is empty, and to add to.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// How many folders are watched.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Watches these files and folders, and none that were watched under this number before; whether all that exist
    /// are watched now.
    pub fn watch_only<'a>(
        &mut self,
        source: usize,
        places: impl Iterator<Item = &'a PathBuf>,
    ) -> bool {
        self.forget(source, &RelPath::root());
        let mut all = true;
        for (number, place) in places.enumerate() {
            let added = self.queue.add_path(place);
            all &= !matches!(added, Some(Err(_)));
            if let (Some(Ok(watch)), Ok(path)) = (added, RelPath::root().child(&number.to_string()))
            {
                self.remember(watch, source, path);
            }
        }
        all
    }

    /// Remembers what a watch is for.
    pub(super) fn remember(&mut self, watch: Descriptor, source: usize, path: RelPath) {
        let place = (source, path);
        match self.by_place.insert(place.clone(), watch) {
            Some(known) if known == watch => return,
            // Something else is there now.
            Some(known) => self.release(known, &place),
            None => {}
        }
        match self.places.entry(watch) {
            Entry::Vacant(free) => drop(free.insert(place)),
            Entry::Occupied(_) => drop(self.further.entry(watch).or_default().insert(place)),
        }
    }

    /// A watch is not for this place any more; where it was for no other, there is none.
    fn release(&mut self, watch: Descriptor, place: &WatchedPath) {
        let is_first = self.places.get(&watch) == Some(place);
        let Entry::Occupied(mut further) = self.further.entry(watch) else {
            if is_first {
                self.places.remove(&watch);
                self.queue.remove(watch);
            }
            return;
        };
        if !is_first {
            further.get_mut().remove(place);
        } else if let Some(heir) = further.get_mut().pop_first() {
            self.places.insert(watch, heir);
        }
        if further.get().is_empty() {
            further.remove();
        }
    }

    /// Stops watching what is at a path and below it.
    pub fn forget(&mut self, source: usize, path: &RelPath) {
        let inside = |other: &RelPath| is_at_or_below(other, path);
        let from = (source, path.clone());
        let gone: Vec<(WatchedPath, Descriptor)> = self
            .by_place
            .range(from..)
            .take_while(|((other, below), _)| {
                // Names that only start alike lie between a folder and what is in it.
                *other == source && (path.is_root() || below.as_str().starts_with(path.as_str()))
            })
            .filter(|((_, below), _)| inside(below))
            .map(|(place, watch)| (place.clone(), *watch))
            .collect();
        for (place, watch) in gone {
            self.by_place.remove(&place);
            self.release(watch, &place);
        }
    }

    /// Takes everything out of the queue.
    pub fn drain(&mut self) -> QueuedChanges {
        let mut changes = QueuedChanges::default();
        for WatchEvent { watch, what } in self.queue.drain() {
            if matches!(what, WatchEventKind::Overflow) {
                changes.lost = true;
                continue;
            }
            let further = self.further.get(&watch).into_iter().flatten();
            let places = self.places.get(&watch).into_iter().chain(further);
            for (source, path) in places {
                let reported = match &what {
                    // A name that cannot be used is a finding of its folder.
                    WatchEventKind::Named(name) => name
                        .to_str()
                        .and_then(|name| path.child(name).ok())
                        .unwrap_or_else(|| path.clone()),
                    WatchEventKind::Itself
                    | WatchEventKind::Unwatched
                    | WatchEventKind::Overflow => path.clone(),
                };
                changes.paths.insert((*source, reported));
            }
            if matches!(what, WatchEventKind::Unwatched) {
                let further = self.further.remove(&watch).unwrap_or_default();
                for place in self.places.remove(&watch).into_iter().chain(further) {
                    // Another watch may be there by now.
                    if self.by_place.get(&place) == Some(&watch) {
                        self.by_place.remove(&place);
                    }
                }
            }
        }
        changes
    }
}

/// Whether a path is another one, or below it.
pub(super) fn is_at_or_below(path: &RelPath, above: &RelPath) -> bool {
    match path.as_str().strip_prefix(above.as_str()) {
        Some(rest) => above.is_root() || rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}
