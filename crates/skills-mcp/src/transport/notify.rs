//! [`Notifier`]: notifies clients that a list they can ask for has changed.
//!
//! One for a server. It waits for another snapshot, then until changes stop, and compares what the lists say before and
//! after; only a difference is worth a notification. Clients with a handshake get it once they are initialized, later ones
//! on their `subscriptions/listen` streams. Where no client listens nothing is compared. Not here: what brings changes
//! about (the store).

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use rmcp::{
    ErrorData, Peer, RoleServer,
    model::{
        CustomNotification, GetMeta as _, RequestId, ServerNotification, SubscriptionFilter,
        ToolListChangedNotification,
    },
    service::SubscriptionContext,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use skills_core::catalog::{Access, Delta};
use tokio::{
    sync::watch,
    task::{JoinSet, spawn_blocking},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::{
    store::{Debouncer, Snapshot},
    surface::{Dispatcher, NotifyOn},
};

/// Clients are notified once changes have stopped.
const NOTIFY_DEBOUNCE: Debouncer =
    Debouncer { delay: Duration::from_millis(500), max_delay: Duration::from_secs(5) };
/// A client that reads this slowly is not waited for. What it was sent stays on its way.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);
/// So many streams may be open at once.
const MAX_STREAMS: usize = 1_024;

/// A list that clients can ask for and be notified of. What is served beside tools joins here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum List {
    Tools,
}

impl List {
    const ALL: [Self; 1] = [Self::Tools];

    fn method(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
        }
    }

    fn wanted(self, filter: &SubscriptionFilter) -> bool {
        match self {
            Self::Tools => filter.tools_list_changed == Some(true),
        }
    }

    /// The same for two snapshots only where clients that ask read the same.
    fn digest(self, dispatcher: &Dispatcher, snapshot: &Arc<Snapshot>) -> [u8; 32] {
        match self {
            Self::Tools => {
                let mut all = Sha256::new();
                dispatcher.tool_lists(snapshot).iter().for_each(|list| all.update(list.digest()));
                all.finalize().into()
            }
        }
    }

    fn notification(self, reason: Option<&str>, stream: Option<&RequestId>) -> ServerNotification {
        let mut notification = match (self, reason) {
            (Self::Tools, None) => ServerNotification::ToolListChangedNotification(
                ToolListChangedNotification::default(),
            ),
            // The SDK's own have no place for a reason.
            (_, Some(reason)) => ServerNotification::CustomNotification(CustomNotification::new(
                self.method(),
                Some(json!({"reason": reason})),
            )),
        };
        if let Some(id) = stream {
            notification.get_meta_mut().set_subscription_id(id.clone());
        }
        notification
    }
}

/// How often each list has changed for the clients of an access, and why the last time. A stream that missed one of two
/// changes still learns which lists are not what they were.
#[derive(Debug, Clone, Default)]
struct Changes {
    times: BTreeMap<List, u64>,
    reason: Arc<str>,
}

/// The changes for each access that a stream was opened with: a client is not notified of what it may not see.
type ChangesByAccess = HashMap<Access, Changes>;

/// What each list says over a snapshot.
#[derive(Debug)]
struct ListDigests {
    over: Weak<Snapshot>,
    digests: BTreeMap<List, [u8; 32]>,
}

impl ListDigests {
    /// What the lists say over what is seen of a snapshot.
    fn new(dispatcher: &Dispatcher, snapshot: &Arc<Snapshot>, seen: &Arc<Snapshot>) -> Self {
        let digest = |list: List| (list, list.digest(dispatcher, seen));
        let digests = List::ALL.into_iter().map(digest).collect();
        Self { over: Arc::downgrade(snapshot), digests }
    }

    fn is_over(&self, snapshot: &Arc<Snapshot>) -> bool {
        std::ptr::eq(self.over.as_ptr(), Arc::as_ptr(snapshot))
    }
}

/// A client with a handshake, and what it may see.
#[derive(Debug, Clone)]
struct InitializedPeer {
    access: Access,
    peer: Peer<RoleServer>,
}

/// Notifies the clients of one server. Clones share everything.
#[derive(Debug, Clone)]
pub(super) struct Notifier(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dispatcher: Arc<Dispatcher>,
    /// What the lists said when they were compared last.
    compared: Mutex<HashMap<Access, ListDigests>>,
    /// Clients with a handshake that are initialized.
    peers: Mutex<Vec<InitializedPeer>>,
    /// Every open stream holds a receiver.
    changes: watch::Sender<ChangesByAccess>,
    closing: CancellationToken,
}

impl Notifier {
    pub(super) fn new(dispatcher: Arc<Dispatcher>) -> Self {
        Self(Arc::new(Inner {
            dispatcher,
            compared: Mutex::default(),
            peers: Mutex::default(),
            changes: watch::Sender::default(),
            closing: CancellationToken::new(),
        }))
    }

    /// Adds a client whose handshake is over. Only now may it be notified.
    pub(super) fn initialized(&self, peer: Peer<RoleServer>, access: Access) {
        // A stray notification from a client without a handshake, which listens on streams or not at all.
        let Some(info) = peer.peer_info() else { return };
        let mut peers = self.peers();
        // A client that says it twice is notified once.
        let is_same = |other: &Peer<RoleServer>| {
            other.peer_info().is_some_and(|known| Arc::ptr_eq(&known, &info))
        };
        peers.retain(|other| !is_same(&other.peer));
        peers.push(InitializedPeer { access, peer });
    }

    /// Serves one stream until its client cancels it, or the server closes.
    pub(super) async fn stream(
        &self,
        context: SubscriptionContext,
        access: &Access,
    ) -> Result<(), ErrorData> {
        self.0.changes.send_if_modified(|changes| {
            changes.entry(access.clone()).or_default();
            false
        });
        let changes = self.0.changes.subscribe();
        if self.0.changes.receiver_count() > MAX_STREAMS {
            let message = format!("{MAX_STREAMS} streams are open already; close one first");
            return Err(ErrorData::invalid_request(message, None));
        }
        // Ends though a notification is on its way: the SDK sends none any more once the connection closes.
        tokio::select! {
            () = context.cancelled() => {}
            () = self.0.closing.cancelled() => {}
            () = self.forward(changes, access, &context) => {}
        }
        Ok(())
    }

    async fn forward(
        &self,
        mut changes: watch::Receiver<ChangesByAccess>,
        access: &Access,
        context: &SubscriptionContext,
    ) {
        let of_access =
            |changes: &ChangesByAccess| changes.get(access).cloned().unwrap_or_default();
        let mut sent = of_access(&changes.borrow_and_update()).times;
        let request = context.request_context();
        while changes.changed().await.is_ok() {
            let Changes { times, reason } = of_access(&changes.borrow_and_update());
            let wanted =
                |list: &List| times.get(list) != sent.get(list) && list.wanted(context.accepted());
            for list in List::ALL.into_iter().filter(wanted) {
                let notification = list.notification(self.shown(&reason), Some(&request.id));
                if request.peer.send_notification(notification).await.is_err() {
                    return;
                }
            }
            sent = times;
        }
    }

    /// Ends every stream; their clients get the final result.
    pub(super) fn close(&self) {
        self.0.closing.cancel();
    }

    /// Notifies for as long as it is polled.
    pub(super) async fn run(&self) -> Infallible {
        let Inner { dispatcher, .. } = &*self.0;
        let mut generations = dispatcher.store().generations();
        // The first snapshot is new to no client, but whatever follows it is. (The store is ours too and holds the sender,
        // so that waiting ends only with another snapshot.)
        let _ = generations.wait_for(|generation| *generation > 0).await;
        dispatcher.mark_seen(&dispatcher.store().snapshot().await);
        loop {
            let _ = generations.changed().await;
            let another = || {
                generations.mark_unchanged();
                let mut next = generations.clone();
                async move { next.changed().await.is_ok() }
            };
            NOTIFY_DEBOUNCE.wait(another).await;
            self.notify_of_changes().await;
        }
    }

    /// Compares what clients have seen with what is there now, and notifies those that listen of a difference.
    async fn notify_of_changes(&self) {
        let Inner { dispatcher, .. } = &*self.0;
        let now = dispatcher.store().snapshot().await;
        let before = dispatcher.replace_seen(&now);
        let another = before.filter(|before| !Arc::ptr_eq(before, &now));
        let Some(before) = another.filter(|_| self.has_listeners()) else { return };
        for access in self.accesses() {
            let (inner, compared) = (Arc::clone(&self.0), access.clone());
            let (before, now) = (Arc::clone(&before), Arc::clone(&now));
            let compared = spawn_blocking(move || inner.compare(&before, &now, &compared)).await;
            let Ok((lists, reason)) = compared else {
                tracing::error!("comparing what clients see failed");
                return;
            };
            if lists.is_empty() {
                tracing::debug!(reason, "nothing a list shows has changed");
                continue;
            }
            self.notify(&access, &lists, reason).await;
        }
    }

    /// What the clients that listen may see, each once.
    fn accesses(&self) -> HashSet<Access> {
        if self.0.changes.receiver_count() == 0 {
            self.0.changes.send_if_modified(|changes| {
                changes.clear();
                false
            });
        }
        let peers: HashSet<Access> = self.peers().iter().map(|one| one.access.clone()).collect();
        self.0.changes.borrow().keys().cloned().chain(peers).collect()
    }

    async fn notify(&self, access: &Access, lists: &[List], reason: String) {
        let is_meant = |one: &mut InitializedPeer| one.access == *access;
        let peers: Vec<InitializedPeer> = self.peers().extract_if(.., is_meant).collect();
        let streams = self.0.changes.receiver_count();
        let names: Vec<&str> = lists.iter().map(|list| list.method()).collect();
        tracing::info!(reason, clients = peers.len(), streams, "sent {}", names.join(", "));
        let mut sending = JoinSet::new();
        for listener in peers {
            let notifications: Vec<ServerNotification> =
                lists.iter().map(|list| list.notification(self.shown(&reason), None)).collect();
            sending.spawn(
                async move { send(&listener.peer, notifications).await.then_some(listener) },
            );
        }
        self.0.changes.send_if_modified(|changes| {
            let Some(changes) = changes.get_mut(access) else { return false };
            for list in lists {
                *changes.times.entry(*list).or_default() += 1;
            }
            changes.reason = reason.into();
            true
        });
        while let Some(sent) = sending.join_next().await {
            // A client that cannot be reached has gone.
            self.peers().extend(sent.ok().flatten());
        }
    }

    /// The reason as clients see it: only where their contract has one.
    fn shown<'a>(&self, reason: &'a str) -> Option<&'a str> {
        (self.0.dispatcher.profile().notify_on == NotifyOn::Files).then_some(reason)
    }

    fn has_listeners(&self) -> bool {
        let mut peers = self.peers();
        peers.retain(|listener| !listener.peer.is_transport_closed());
        !peers.is_empty() || self.0.changes.receiver_count() > 0
    }

    fn peers(&self) -> std::sync::MutexGuard<'_, Vec<InitializedPeer>> {
        self.0.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends these one after the other; whether the client can still be reached.
async fn send(peer: &Peer<RoleServer>, notifications: Vec<ServerNotification>) -> bool {
    for notification in notifications {
        if matches!(timeout(SEND_TIMEOUT, peer.send_notification(notification)).await, Ok(Err(_))) {
            return false;
        }
    }
    true
}

impl Inner {
    /// The lists that are not what they were for clients with this access, and why.
    fn compare(
        &self,
        before: &Arc<Snapshot>,
        now: &Arc<Snapshot>,
        access: &Access,
    ) -> (Vec<List>, String) {
        let dispatcher = &*self.dispatcher;
        let (seen_before, seen_now) =
            (before.limited_once(access), dispatcher.store().limited(now, access));
        let delta = Delta::between(&seen_before.catalog, &seen_now.catalog);
        let mut compared = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        compared.retain(|_, digests| digests.is_over(before) || digests.is_over(now));
        let was = compared.remove(access).filter(|compared| compared.is_over(before));
        let was = was.unwrap_or_else(|| ListDigests::new(dispatcher, before, &seen_before));
        let is = ListDigests::new(dispatcher, now, &seen_now);
        let files = before.changes() != now.changes() && !access.is_limited();
        let by_file =
            dispatcher.profile().notify_on == NotifyOn::Files && (files || !delta.is_empty());
        let differs = |list: &List| was.digests.get(list) != is.digests.get(list) || by_file;
        let lists = List::ALL.into_iter().filter(differs).collect();
        compared.insert(access.clone(), is);
        (lists, reason(&delta, files))
    }
}

/// How many skills were added, removed and changed. Their names are not ours to repeat.
fn reason(delta: &Delta, files: bool) -> String {
    let kinds = [
        (delta.added.len(), "added"),
        (delta.removed.len(), "removed"),
        (delta.changed.len(), "changed"),
    ];
    let some = kinds.into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = some.map(|(count, kind)| format!("{count} {kind}")).collect();
    if !words.is_empty() {
        return format!("skills: {}", words.join(", "));
    }
    let other = if files {
        "files beside the skills"
    } else {
        "the configuration or the order of the skills"
    };
    format!("{other} changed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_counts_and_names_nobody() {
        let some = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect();
        let (added, changed) = (some(&["a", "b"]), some(&["c"]));
        let delta = Delta { added, changed, ..Delta::default() };
        assert_eq!(reason(&delta, true), "skills: 2 added, 1 changed");
        assert_eq!(reason(&Delta::default(), true), "files beside the skills changed");
        assert!(reason(&Delta::default(), false).starts_with("the configuration"));
    }
}
