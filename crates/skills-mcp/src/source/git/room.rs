//! How much of the disk all repositories of a user may take together, and what goes first when there is no room for a new commit:
//! the oldest generation that is neither current nor in use. A commit for which no room can be made is refused, and what is
//! there stays. How large one commit may be is not here (generation).

use std::{path::Path, sync::PoisonError, time::Duration};

use super::{
    Generation, GitError, Repository,
    generation::mib,
    keep,
    lock::Lock,
    place::{self, Place},
};

/// A generation on disk.
struct Kept {
    place: Place,
    commit: String,
    bytes: u64,
    age: Duration,
    pointed: bool,
}

impl Repository {
    /// Makes room for so many bytes more. Only while this repository's lock is held.
    pub(super) fn make_room(&self, commit: &str, bytes: u64, most: u64) -> Result<(), GitError> {
        let before = kept(&self.place);
        let fits = |kept: &[Kept]| total(kept).saturating_add(bytes) <= most;
        if fits(&before) {
            return Ok(());
        }
        let left = self.evicted(before, &fits);
        if fits(&left) {
            return Ok(());
        }
        // An update matters more than a folder that this process gave out before the one it serves now.
        if self.release_old() {
            let left = self.evicted(left, &fits);
            if fits(&left) {
                return Ok(());
            }
        }
        Err(GitError::NoRoom {
            commit: commit.to_owned(),
            bytes: mib(bytes),
            kept: mib(total(&kept(&self.place))),
            most: mib(most),
            folder: self.place.content().to_owned(),
        })
    }

    /// Removes the oldest first until there is room; nothing, where all of them would not be enough.
    fn evicted(&self, mut kept: Vec<Kept>, fits: &dyn Fn(&[Kept]) -> bool) -> Vec<Kept> {
        let (pointed, mut others): (Vec<Kept>, Vec<Kept>) =
            kept.drain(..).partition(|kept| kept.pointed);
        if !fits(&pointed) {
            return pointed.into_iter().chain(others).collect();
        }
        others.sort_by_key(|kept| std::cmp::Reverse(kept.age));
        let mut left = pointed;
        left.extend(others);
        let mut at = 0;
        while !fits(&left) && at < left.len() {
            let gone = left.get(at).is_some_and(|kept| self.is_removed(kept));
            if gone {
                left.remove(at);
            } else {
                at += 1;
            }
        }
        left
    }

    /// Removes a generation, if it is not in use. Of another repository only while no process syncs that one.
    fn is_removed(&self, kept: &Kept) -> bool {
        let own = kept.place.folder() == self.place.folder();
        let lock = if own { None } else { Lock::take(&kept.place.lock()).ok().flatten() };
        if !own && lock.is_none() {
            return false;
        }
        // It may have become current since it was looked at.
        !keep::pointed(&kept.place).contains(&kept.commit)
            && keep::remove_unused(&kept.place, &kept.commit)
    }

    /// Gives up the generations that this process served before the one it serves now: whether there were any.
    fn release_old(&self) -> bool {
        let serving = self.serving();
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        let before = leases.len();
        leases.retain(|commit, _| serving.as_ref().is_some_and(|one| one.commit() == commit));
        leases.len() < before
    }
}

/// Every generation of every repository of this home.
fn kept(own: &Place) -> Vec<Kept> {
    let mut found = Vec::new();
    for place in own.all() {
        let pointed = keep::pointed(&place);
        for commit in keep::commits(&place) {
            let opened = Generation::open(&place, &commit);
            found.push(Kept {
                bytes: opened.map_or(0, |generation| generation.manifest().disk_bytes()),
                age: place::age(&place.lease(&commit)).unwrap_or(Duration::MAX),
                pointed: pointed.contains(&commit),
                commit,
                place: place.clone(),
            });
        }
    }
    found
}

fn total(kept: &[Kept]) -> u64 {
    kept.iter().map(|kept| kept.bytes).fold(0, u64::saturating_add)
}

/// Whether what was fetched over time outweighs what one fetch brings, so that a new copy is worth its price.
pub(super) fn is_bulky(mirror: &Path) -> bool {
    let packs = place::sizes(&mirror.join(place::PACKS));
    let (all, largest) = (packs.iter().sum::<u64>(), packs.iter().copied().max().unwrap_or(0));
    all > BULKY && largest < all / 2
}

/// A copy that is smaller is left alone.
const BULKY: u64 = 1024 * 1024 * 1024;
