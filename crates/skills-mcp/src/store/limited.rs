//! [`LimitedSnapshots`]: what callers see that may see some of the skills.
//!
//! A limited snapshot has a catalog and indexes of its own, so that nothing that is answered from it depends on a skill that is
//! hidden. It is made when it is first asked for, and again when the catalog has changed; what did not change is taken over.
//! Not here: who may see what.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use skills_core::{
    catalog::{Access, Catalog, SkillId},
    route::{Router, ranked::RankedIndex},
};

use super::{
    Snapshot, Store,
    index::{Index, Unindexed},
};
use crate::source::Bodies;

/// So many different limits are remembered, those that were used last.
const MAX_LIMITED_SNAPSHOTS: usize = 64;

/// The limited snapshots of the current snapshot.
#[derive(Debug, Default)]
pub(super) struct LimitedSnapshots(Mutex<LimitedCache>);

#[derive(Debug, Default)]
struct LimitedCache {
    /// The snapshot that they are limits of.
    over: Weak<Snapshot>,
    /// The one that was used last is the last.
    kept: Vec<Kept>,
}

#[derive(Debug)]
struct Kept {
    access: Access,
    state: KeptState,
}

#[derive(Debug)]
enum KeptState {
    Current(Arc<Snapshot>),
    /// Of an earlier snapshot: what the next one is made from. Its open folders are closed.
    Earlier(Box<Earlier>),
}

/// What an earlier limited snapshot leaves to the next.
#[derive(Debug, Clone)]
struct Earlier {
    catalog: Catalog,
    router: Router,
    ranked: Option<RankedIndex>,
}

impl Earlier {
    fn of(snapshot: &Snapshot) -> Self {
        Self {
            catalog: snapshot.catalog.clone(),
            router: snapshot.router.clone(),
            ranked: snapshot.ready_index().cloned(),
        }
    }
}

impl LimitedCache {
    /// Turns to this snapshot; what was made of another is closed.
    fn turn_to(&mut self, snapshot: &Arc<Snapshot>) {
        if std::ptr::eq(self.over.as_ptr(), Arc::as_ptr(snapshot)) {
            return;
        }
        self.over = Arc::downgrade(snapshot);
        for kept in &mut self.kept {
            if let KeptState::Current(earlier) = &kept.state {
                kept.state = KeptState::Earlier(Box::new(Earlier::of(earlier)));
            }
        }
    }

    fn take(&mut self, access: &Access) -> Option<Kept> {
        let place = self.kept.iter().position(|kept| kept.access == *access)?;
        Some(self.kept.remove(place))
    }
}

impl Store {
    /// What a caller with this access sees of a snapshot, if it is made already.
    pub fn known_limited(
        &self,
        snapshot: &Arc<Snapshot>,
        access: &Access,
    ) -> Option<Arc<Snapshot>> {
        if !access.is_limited() {
            return Some(Arc::clone(snapshot));
        }
        let mut cache = self.limited.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.turn_to(snapshot);
        let found = cache.take(access)?;
        let known = match &found.state {
            KeptState::Current(known) => Some(Arc::clone(known)),
            KeptState::Earlier(_) => None,
        };
        cache.kept.push(found);
        known
    }

    /// What a caller with this access sees of a snapshot. Takes time in the number of skills where it is not made yet.
    pub fn limited(&self, snapshot: &Arc<Snapshot>, access: &Access) -> Arc<Snapshot> {
        if !access.is_limited() {
            return Arc::clone(snapshot);
        }
        // Others wait meanwhile, so that no snapshot is made twice.
        let mut cache = self.limited.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.turn_to(snapshot);
        let earlier = match cache.take(access) {
            Some(Kept { state: KeptState::Current(known), access }) => {
                cache.kept.push(Kept { access, state: KeptState::Current(Arc::clone(&known)) });
                return known;
            }
            Some(Kept { state: KeptState::Earlier(earlier), .. }) => Some(*earlier),
            None => None,
        };
        let made = Arc::new(snapshot.limited_to(access, earlier));
        if cache.kept.len() >= MAX_LIMITED_SNAPSHOTS {
            cache.kept.remove(0);
        }
        let state = KeptState::Current(Arc::clone(&made));
        cache.kept.push(Kept { access: access.clone(), state });
        made
    }
}

impl Snapshot {
    /// Whether skills may be hidden from its caller.
    pub fn is_limited(&self) -> bool {
        self.access.is_limited()
    }

    /// What a caller with this access sees of it, made for this once.
    pub fn limited_once(self: &Arc<Self>, access: &Access) -> Arc<Self> {
        if access.is_limited() { Arc::new(self.limited_to(access, None)) } else { Arc::clone(self) }
    }

    /// What a caller with this access sees of it.
    fn limited_to(&self, access: &Access, earlier: Option<Earlier>) -> Self {
        let catalog = self.catalog.limited_to(access);
        let (router, unindexed) = match earlier {
            None => (Router::new(&catalog), Unindexed::all(&catalog)),
            Some(Earlier { catalog: before, router, ranked }) => {
                let changed: Vec<SkillId> = catalog.changed_since(&before).into_iter().collect();
                let unindexed = match ranked {
                    None => Unindexed::all(&catalog),
                    Some(base) => Unindexed {
                        base,
                        changed: changed.clone(),
                        bodies: Bodies::default(),
                        exact: true,
                    },
                };
                (router.with(&catalog, &changed), unindexed)
            }
        };
        Self {
            catalog,
            router,
            config: Arc::clone(&self.config),
            roots: self.roots.clone(),
            consent: self.consent,
            // What others asked for is not for those who see some of the skills.
            index: Index::new(unindexed, None),
            access: access.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::ConfigLayers, store::Cause};

    #[test]
    fn limits_that_are_used_are_remembered_and_others_are_forgotten() {
        let store = Store::new(Vec::new(), ConfigLayers::default());
        let snapshot = store.refresh(Cause::Start).snapshot;
        let access = |number: usize| Access::only([number.to_string()]);
        for number in 0..MAX_LIMITED_SNAPSHOTS {
            store.limited(&snapshot, &access(number));
        }
        assert!(store.known_limited(&snapshot, &access(0)).is_some());
        store.limited(&snapshot, &access(MAX_LIMITED_SNAPSHOTS));
        assert!(store.known_limited(&snapshot, &access(0)).is_some(), "it was just used");
        assert!(store.known_limited(&snapshot, &access(1)).is_none());
    }
}
