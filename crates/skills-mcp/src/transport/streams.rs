//! [`OpenStreams`]: whose `subscriptions/listen` streams are open, and what their clients may see. A principal has a share of all.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rmcp::ErrorData;
use skills_core::catalog::Access;

/// So many streams may be open at once. A principal with a token has a quarter of all at most.
const MAX_STREAMS: usize = 1_024;

/// The name of the principal that opens streams.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct StreamOwner(pub(super) Arc<str>);

type StreamCounts = HashMap<(Option<StreamOwner>, Access), usize>;

/// The open streams. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenStreams(Arc<Mutex<StreamCounts>>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct OpenStream {
    key: (Option<StreamOwner>, Access),
    streams: OpenStreams,
}

impl OpenStreams {
    /// Opens one more, where its owner may.
    pub(super) fn open(
        &self,
        owner: Option<StreamOwner>,
        access: Access,
    ) -> Result<OpenStream, ErrorData> {
        let mut counts = self.counts();
        let count = |is_meant: &dyn Fn(&Option<StreamOwner>) -> bool| -> usize {
            counts.iter().filter(|((owner, _), _)| is_meant(owner)).map(|(_, count)| count).sum()
        };
        let most = if owner.is_some() { MAX_STREAMS / 4 } else { MAX_STREAMS };
        if count(&|_| true) >= MAX_STREAMS || count(&|other| *other == owner) >= most {
            let message = format!("{most} streams are open already; close one first");
            return Err(ErrorData::invalid_request(message, None));
        }
        let key = (owner, access);
        *counts.entry(key.clone()).or_default() += 1;
        Ok(OpenStream { key, streams: self.clone() })
    }

    /// What the clients of streams may see, each once.
    pub(super) fn accesses(&self) -> HashSet<Access> {
        self.counts().keys().map(|(_, access)| access.clone()).collect()
    }

    fn counts(&self) -> MutexGuard<'_, StreamCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut counts = self.streams.counts();
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_has_a_quarter_of_all_streams_and_what_it_sees_goes_with_its_last_one() {
        let (streams, ui) = (OpenStreams::default(), Access::only(["ui"]));
        let open = |name: &str| streams.open(Some(StreamOwner(name.into())), ui.clone());
        let mut held: Vec<OpenStream> =
            (0..MAX_STREAMS / 4).map(|_| open("ada").unwrap()).collect();
        assert!(open("ada").unwrap_err().message.starts_with("256 streams are open already"));
        let bob = open("bob").unwrap();
        held.pop();
        held.push(open("ada").unwrap());
        for name in ["eve", "joe"] {
            held.extend((0..MAX_STREAMS / 4).map(|_| open(name).unwrap()));
        }
        held.extend(std::iter::from_fn(|| open("bob").ok()));
        assert_eq!(held.len() + 1, MAX_STREAMS);
        assert!(open("kim").is_err() && streams.open(None, Access::All).is_err());
        drop((held, bob));
        assert!(streams.accesses().is_empty());
        let _all: Vec<OpenStream> =
            (0..MAX_STREAMS).map(|_| streams.open(None, Access::All).unwrap()).collect();
        assert_eq!(streams.accesses(), HashSet::from([Access::All]));
    }
}
