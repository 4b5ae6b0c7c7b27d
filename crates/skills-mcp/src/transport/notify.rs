//! [`Notifier`]: notifies clients that a list they can ask for has changed.
//!
//! One for a server. It waits for another snapshot, then until changes stop, and compares what the lists say before and
//! after; only a difference is worth a notification. Clients with a handshake get it once they are initialized, later ones
//! on their `subscriptions/listen` streams. Where no client listens nothing is compared. Not here: what brings changes
//! about (the store).

use std::{
    collections::BTreeMap,
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
use skills_core::catalog::Delta;
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

/// How often each list has changed, and why the last time. A stream that missed one of two changes still learns which
/// lists are not what they were.
#[derive(Debug, Clone, Default)]
struct Changes {
    times: BTreeMap<List, u64>,
    reason: Arc<str>,
}

/// What each list says over a snapshot.
#[derive(Debug)]
struct ListDigests {
    over: Weak<Snapshot>,
    digests: BTreeMap<List, [u8; 32]>,
}

impl ListDigests {
    fn new(dispatcher: &Dispatcher, snapshot: &Arc<Snapshot>) -> Self {
        let digest = |list: List| (list, list.digest(dispatcher, snapshot));
        let digests = List::ALL.into_iter().map(digest).collect();
        Self { over: Arc::downgrade(snapshot), digests }
    }

    fn is_over(&self, snapshot: &Arc<Snapshot>) -> bool {
        std::ptr::eq(self.over.as_ptr(), Arc::as_ptr(snapshot))
    }
}

/// Notifies the clients of one server. Clones share everything.
#[derive(Debug, Clone)]
pub(super) struct Notifier(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dispatcher: Arc<Dispatcher>,
    /// What the lists said when they were compared last.
    compared: Mutex<Option<ListDigests>>,
    /// Clients with a handshake that are initialized.
    peers: Mutex<Vec<Peer<RoleServer>>>,
    /// Every open stream holds a receiver.
    changes: watch::Sender<Changes>,
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
    pub(super) fn initialized(&self, peer: Peer<RoleServer>) {
        // A stray notification from a client without a handshake, which listens on streams or not at all.
        let Some(info) = peer.peer_info() else { return };
        let mut peers = self.peers();
        // A client that says it twice is notified once.
        peers.retain(|other| other.peer_info().is_none_or(|known| !Arc::ptr_eq(&known, &info)));
        peers.push(peer);
    }

    /// Serves one stream until its client cancels it, or the server closes.
    pub(super) async fn stream(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let changes = self.0.changes.subscribe();
        if self.0.changes.receiver_count() > MAX_STREAMS {
            let message = format!("{MAX_STREAMS} streams are open already; close one first");
            return Err(ErrorData::invalid_request(message, None));
        }
        // Ends though a notification is on its way: the SDK sends none any more once the connection closes.
        tokio::select! {
            () = context.cancelled() => {}
            () = self.0.closing.cancelled() => {}
            () = self.forward(changes, &context) => {}
        }
        Ok(())
    }

    async fn forward(&self, mut changes: watch::Receiver<Changes>, context: &SubscriptionContext) {
        let mut sent = changes.borrow_and_update().times.clone();
        let request = context.request_context();
        while changes.changed().await.is_ok() {
            let Changes { times, reason } = changes.borrow_and_update().clone();
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
        let inner = Arc::clone(&self.0);
        let compared = spawn_blocking(move || inner.compare(&before, &now)).await;
        let Ok((lists, reason)) = compared else {
            tracing::error!("comparing what clients see failed");
            return;
        };
        if lists.is_empty() {
            tracing::debug!(reason, "nothing a list shows has changed");
            return;
        }
        self.notify(&lists, reason).await;
    }

    async fn notify(&self, lists: &[List], reason: String) {
        let peers = std::mem::take(&mut *self.peers());
        let streams = self.0.changes.receiver_count();
        let names: Vec<&str> = lists.iter().map(|list| list.method()).collect();
        tracing::info!(reason, clients = peers.len(), streams, "sent {}", names.join(", "));
        let mut sending = JoinSet::new();
        for peer in peers {
            let notifications: Vec<ServerNotification> =
                lists.iter().map(|list| list.notification(self.shown(&reason), None)).collect();
            sending.spawn(async move { send(&peer, notifications).await.then_some(peer) });
        }
        self.0.changes.send_modify(|changes| {
            for list in lists {
                *changes.times.entry(*list).or_default() += 1;
            }
            changes.reason = reason.into();
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
        peers.retain(|peer| !peer.is_transport_closed());
        !peers.is_empty() || self.0.changes.receiver_count() > 0
    }

    fn peers(&self) -> std::sync::MutexGuard<'_, Vec<Peer<RoleServer>>> {
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
    /// The lists that are not what they were, and why.
    fn compare(&self, before: &Arc<Snapshot>, now: &Arc<Snapshot>) -> (Vec<List>, String) {
        let dispatcher = &*self.dispatcher;
        let delta = Delta::between(&before.catalog, &now.catalog);
        let mut compared = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        let was = compared.take().filter(|compared| compared.is_over(before));
        let was = was.unwrap_or_else(|| ListDigests::new(dispatcher, before));
        let is = compared.insert(ListDigests::new(dispatcher, now));
        let files = before.changes() != now.changes();
        let by_file =
            dispatcher.profile().notify_on == NotifyOn::Files && (files || !delta.is_empty());
        let differs = |list: &List| was.digests.get(list) != is.digests.get(list) || by_file;
        (List::ALL.into_iter().filter(differs).collect(), reason(&delta, files))
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
