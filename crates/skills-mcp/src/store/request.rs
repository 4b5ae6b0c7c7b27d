//! What the refresher is asked for, and how requests that wait for the same are answered together.

use std::sync::{Arc, mpsc::Receiver};

use super::{Cause, Refreshed, Snapshot};

/// Sends the answer of a request. Dropped unanswered if the refresh panics.
pub(super) type Respond<T> = Box<dyn FnOnce(T) + Send>;

/// How much to refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefreshScope {
    /// What the watch has reported, and what it does not report.
    Changes,
    /// Everything.
    All,
}

/// A request to the refresher.
pub(super) enum RefreshRequest {
    /// Watch the sources from now on.
    Watch,
    /// Bring the snapshot up to date.
    Refresh { scope: RefreshScope, cause: Cause, reply: Respond<Refreshed> },
    /// Publish a snapshot with another index in the place of one that is the same otherwise; answers whether that one was
    /// still current.
    Replace { old: Arc<Snapshot>, new: Arc<Snapshot>, reply: Respond<bool> },
    /// How many folders are watched, or why not all are.
    WatchState(Respond<Result<usize, String>>),
}

/// All requests that were waiting at one moment.
#[derive(Default)]
pub(super) struct Batch {
    /// In the order they came.
    pub(super) others: Vec<RefreshRequest>,
    pub(super) changes: Option<Group>,
    pub(super) all: Option<Group>,
}

/// Requests for the same refresh.
pub(super) struct Group {
    pub(super) cause: Cause,
    replies: Vec<Respond<Refreshed>>,
}

impl Batch {
    /// Waits for a request, and takes all that wait by then. None if there can be no more.
    pub(super) fn receive(requests: &Receiver<RefreshRequest>) -> Option<Self> {
        let mut batch = Self::default();
        batch.add(requests.recv().ok()?);
        for request in requests.try_iter() {
            batch.add(request);
        }
        Some(batch)
    }

    fn add(&mut self, request: RefreshRequest) {
        let (group, cause, reply) = match request {
            RefreshRequest::Refresh { scope: RefreshScope::Changes, cause, reply } => {
                (&mut self.changes, cause, reply)
            }
            RefreshRequest::Refresh { scope: RefreshScope::All, cause, reply } => {
                (&mut self.all, cause, reply)
            }
            other @ (RefreshRequest::Watch
            | RefreshRequest::Replace { .. }
            | RefreshRequest::WatchState(_)) => return self.others.push(other),
        };
        let group = group.get_or_insert(Group { cause, replies: Vec::new() });
        group.cause = group.cause.max(cause);
        group.replies.push(reply);
    }
}

impl Group {
    pub(super) fn answer(self, refreshed: &Refreshed) {
        self.replies.into_iter().for_each(|reply| reply(refreshed.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn requests_that_wait_for_the_same_are_answered_together() {
        let (send, requests) = channel();
        let refresh =
            |scope, cause| RefreshRequest::Refresh { scope, cause, reply: Box::new(drop) };
        send.send(refresh(RefreshScope::Changes, Cause::Change)).unwrap();
        send.send(refresh(RefreshScope::All, Cause::Periodic)).unwrap();
        send.send(RefreshRequest::Watch).unwrap();
        send.send(refresh(RefreshScope::Changes, Cause::Call)).unwrap();
        send.send(refresh(RefreshScope::All, Cause::Asked)).unwrap();
        let Batch { others, changes, all } = Batch::receive(&requests).unwrap();
        let group = |group: Option<Group>| group.map(|group| (group.cause, group.replies.len()));
        assert_eq!(others.len(), 1);
        assert_eq!(group(changes), Some((Cause::Call, 2)));
        assert_eq!(group(all), Some((Cause::Asked, 2)));
        drop(send);
        assert!(Batch::receive(&requests).is_none(), "without a store there are no requests");
    }
}
