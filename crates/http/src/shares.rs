//! Memory that requests and answers share, in units. One sender has a quarter of all at most.
//!
//! Not here: what takes how much, and how long it waits (`bodies`, `answers`).

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connections::network;

/// Whose request it is, and whose answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RequestSender {
    /// A principal's.
    Named(Arc<str>),
    /// Sent from this network, by whatever name.
    At(IpAddr),
    /// Any client's: all have the same rights, and may have all the memory.
    Any,
}

impl RequestSender {
    /// A sender at this address.
    pub fn at(address: IpAddr) -> Self {
        Self::At(network(address))
    }
}

/// The memory.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    units: Arc<Semaphore>,
    /// How many there are in all.
    total: usize,
    /// What each sender has of its quarter, for as long as it holds something of it.
    quarters: Mutex<HashMap<RequestSender, Weak<Semaphore>>>,
}

/// A share, of all units and of its sender's, until it is dropped.
#[derive(Debug)]
pub(crate) struct MemoryShare {
    of_all: OwnedSemaphorePermit,
    of_quarter: Option<OwnedSemaphorePermit>,
}

impl SharedMemory {
    /// So many units.
    pub(crate) fn new(total: usize) -> Self {
        Self { units: Arc::new(Semaphore::new(total)), total, quarters: Mutex::default() }
    }

    /// How many units a sender may have.
    pub(crate) fn most(&self, sender: &RequestSender) -> usize {
        if *sender == RequestSender::Any { self.total } else { self.total / 4 }
    }

    /// Waits for so many units: for the sender's first, so that one who waits for those keeps none of the others'.
    pub(crate) async fn take(&self, count: u32, sender: &RequestSender) -> Option<MemoryShare> {
        let of_quarter = match self.quarter(sender) {
            Some(quarter) => Some(quarter.acquire_many_owned(count).await.ok()?),
            None => None,
        };
        let of_all = Arc::clone(&self.units).acquire_many_owned(count).await.ok()?;
        Some(MemoryShare { of_all, of_quarter })
    }

    /// So many units, if they can be had now.
    pub(crate) fn try_take(&self, count: u32, sender: &RequestSender) -> Option<MemoryShare> {
        let of_quarter = match self.quarter(sender) {
            Some(quarter) => Some(quarter.try_acquire_many_owned(count).ok()?),
            None => None,
        };
        let of_all = Arc::clone(&self.units).try_acquire_many_owned(count).ok()?;
        Some(MemoryShare { of_all, of_quarter })
    }

    /// How many units are free.
    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.units.available_permits()
    }

    /// A sender's quarter; none where it may have all.
    fn quarter(&self, sender: &RequestSender) -> Option<Arc<Semaphore>> {
        if *sender == RequestSender::Any {
            return None;
        }
        let mut quarters = self.quarters.lock().unwrap_or_else(PoisonError::into_inner);
        let known = quarters.get(sender).and_then(Weak::upgrade);
        Some(known.unwrap_or_else(|| {
            quarters.retain(|_, quarter| quarter.strong_count() > 0);
            let quarter = Arc::new(Semaphore::new(self.total / 4));
            quarters.insert(sender.clone(), Arc::downgrade(&quarter));
            quarter
        }))
    }
}

impl MemoryShare {
    /// How many units it has.
    pub(crate) fn units(&self) -> usize {
        self.of_all.num_permits()
    }

    /// Adds another share of the same sender.
    pub(crate) fn merge(&mut self, more: Self) {
        self.of_all.merge(more.of_all);
        if let (Some(held), Some(more)) = (&mut self.of_quarter, more.of_quarter) {
            held.merge(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // HTTP-5
    #[tokio::test]
    async fn one_sender_has_a_quarter_and_what_it_cannot_have_it_takes_from_no_other() {
        let memory = SharedMemory::new(8);
        let (ada, near) =
            (RequestSender::Named("ada".into()), RequestSender::at("192.0.2.7".parse().unwrap()));
        assert_eq!((memory.most(&ada), memory.most(&RequestSender::Any)), (2, 8));
        let mut held = memory.take(1, &ada).await.unwrap();
        held.merge(memory.try_take(1, &ada).unwrap());
        assert!(memory.try_take(1, &ada).is_none());
        let also_held = memory.try_take(2, &near).unwrap();
        assert_eq!((held.units(), memory.free()), (2, 4));
        drop((held, also_held));
        assert!(memory.try_take(2, &ada).is_some());
        assert_eq!(memory.free(), 8);
        let kept = memory.quarters.lock().unwrap().len();
        assert!(kept <= 2, "{kept}");
    }
}
