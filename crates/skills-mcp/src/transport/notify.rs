//! [`Notifier`]: notifies clients that a list which they asked for, or a resource that they subscribed to, has changed.
//!
//! One for a server. It waits for another snapshot, then until changes stop, and compares what the lists say before and
//! after; only a difference is worth a notification. Clients with a handshake get it once they are initialized, later ones
//! on their `subscriptions/listen` streams. Where no client listens nothing is compared. Not here: what a list says (`list`),
//! which resources are subscribed to (`subscription`), what brings changes about (the store).

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use rmcp::{ErrorData, Peer, RoleServer, model::ServerNotification, service::SubscriptionContext};
use skills_core::catalog::{Access, Delta};
use tokio::{
    sync::watch,
    task::{JoinSet, spawn_blocking},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    list::{List, updated},
    streams::{OpenStreams, StreamOwner},
    subscription::{Subscriptions, WatchedResource},
};
use crate::{
    store::{Debouncer, Snapshot},
    surface::{Dispatcher, NotifyOn},
};

/// Clients are notified once changes have stopped.
const NOTIFY_DEBOUNCE: Debouncer =
    Debouncer { delay: Duration::from_millis(500), max_delay: Duration::from_secs(5) };
/// A client that reads this slowly is not waited for. What it was sent stays on its way.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// How often each list and each resource has changed for the clients of an access, and why the last time. A stream that missed
/// one of two changes still learns what is not as it was.
#[derive(Debug, Clone, Default)]
struct Changes {
    times: BTreeMap<List, u64>,
    updates: BTreeMap<Arc<str>, u64>,
    reason: Arc<str>,
}

/// What is not as it was for the clients of an access.
#[derive(Debug, Default)]
struct Differences {
    lists: Vec<List>,
    updated: Vec<Arc<str>>,
    reason: String,
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
    /// What these lists say over what is seen of a snapshot.
    fn new(
        dispatcher: &Dispatcher,
        snapshot: &Arc<Snapshot>,
        seen: &Arc<Snapshot>,
        lists: &BTreeSet<List>,
    ) -> Self {
        let digest = |list: &List| (*list, list.digest(dispatcher, seen));
        let digests = lists.iter().map(digest).collect();
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
    /// The lists that a client has asked for, or for whose changes a stream is open. No client has any other one.
    listed: Mutex<BTreeSet<List>>,
    subscriptions: Subscriptions,
    /// What the lists said when they were compared last.
    compared: Mutex<HashMap<Access, ListDigests>>,
    /// Clients with a handshake that are initialized.
    peers: Mutex<Vec<InitializedPeer>>,
    streams: OpenStreams,
    /// Every open stream holds a receiver.
    changes: watch::Sender<ChangesByAccess>,
    closing: CancellationToken,
}

impl Notifier {
    pub(super) fn new(dispatcher: Arc<Dispatcher>) -> Self {
        Self(Arc::new(Inner {
            dispatcher,
            listed: Mutex::new(BTreeSet::from([List::Tools])),
            subscriptions: Subscriptions::default(),
            compared: Mutex::default(),
            peers: Mutex::default(),
            streams: OpenStreams::default(),
            changes: watch::Sender::default(),
            closing: CancellationToken::new(),
        }))
    }

    /// Adds a client whose handshake is over. Only now may it be notified. Those that have gone are forgotten, so that clients that
    /// come and go take no memory while nothing changes.
    pub(super) fn initialized(&self, peer: Peer<RoleServer>, access: Access) {
        self.0.subscriptions.forget_closed();
        // A stray notification from a client without a handshake, which listens on streams or not at all.
        let Some(info) = peer.peer_info() else { return };
        let mut peers = self.peers();
        // A client that says it twice is notified once.
        let is_same = |other: &Peer<RoleServer>| {
            other.peer_info().is_some_and(|known| Arc::ptr_eq(&known, &info))
        };
        peers.retain(|other| !other.peer.is_transport_closed() && !is_same(&other.peer));
        peers.push(InitializedPeer { access, peer });
    }

    /// Notes that a client has this list, and is to be notified once it changes.
    pub(super) fn was_listed(&self, list: List) {
        self.0.listed.lock().unwrap_or_else(PoisonError::into_inner).insert(list);
    }

    /// Which resources clients subscribed to.
    pub(super) fn subscriptions(&self) -> &Subscriptions {
        &self.0.subscriptions
    }

    /// Serves one stream until its client cancels it, or the server closes.
    pub(super) async fn stream(
        &self,
        context: SubscriptionContext,
        access: Access,
        owner: Option<StreamOwner>,
    ) -> Result<(), ErrorData> {
        let _open = self.0.streams.open(owner, access.clone())?;
        self.0.changes.send_if_modified(|changes| {
            changes.entry(access.clone()).or_default();
            false
        });
        let changes = self.0.changes.subscribe();
        let accepted = context.accepted();
        List::ALL
            .into_iter()
            .filter(|list| *list != List::Skills && list.wanted(accepted))
            .for_each(|list| self.was_listed(list));
        let uris = accepted.resource_subscriptions.iter().flatten();
        let _watched: Vec<WatchedResource> =
            uris.map(|uri| self.0.subscriptions.watch(uri)).collect();
        // Ends though a notification is on its way: the SDK sends none any more once the connection closes.
        tokio::select! {
            () = context.cancelled() => {}
            () = self.0.closing.cancelled() => {}
            () = self.forward(changes, &access, &context) => {}
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
        let mut sent = of_access(&changes.borrow_and_update());
        let request = context.request_context();
        let accepted = context.accepted();
        while changes.changed().await.is_ok() {
            let now = of_access(&changes.borrow_and_update());
            let is_due =
                |list: &List| now.times.get(list) != sent.times.get(list) && list.wanted(accepted);
            let lists = List::ALL.into_iter().filter(is_due);
            let lists =
                lists.map(|list| list.notification(self.shown(&now.reason), Some(&request.id)));
            let uris = accepted.resource_subscriptions.iter().flatten();
            let uris = uris.filter(|uri| now.updates.get(&***uri) != sent.updates.get(&***uri));
            let uris = uris.map(|uri| updated(uri, Some(&request.id)));
            for notification in lists.chain(uris) {
                if request.peer.send_notification(notification).await.is_err() {
                    return;
                }
            }
            sent = now;
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
            let Ok(differences) = compared else {
                tracing::error!("comparing what clients see failed");
                return;
            };
            if differences.lists.is_empty() && differences.updated.is_empty() {
                let reason = differences.reason;
                tracing::debug!(reason, "nothing a list shows has changed");
                continue;
            }
            self.notify(&access, differences).await;
        }
    }

    /// What the clients that listen may see, each once.
    fn accesses(&self) -> HashSet<Access> {
        // What is kept for streams goes with the last of an access.
        self.0.changes.send_if_modified(|changes| {
            let open = self.0.streams.accesses();
            changes.retain(|access, _| open.contains(access));
            false
        });
        let peers: HashSet<Access> = self.peers().iter().map(|one| one.access.clone()).collect();
        self.0.changes.borrow().keys().cloned().chain(peers).collect()
    }

    async fn notify(&self, access: &Access, differences: Differences) {
        let Differences { lists, updated: uris, reason } = differences;
        let is_meant = |one: &mut InitializedPeer| one.access == *access;
        let peers: Vec<InitializedPeer> = self.peers().extract_if(.., is_meant).collect();
        let streams = self.0.changes.receiver_count();
        let mut names: Vec<&str> = lists.iter().map(|list| list.method()).collect();
        names.extend((!uris.is_empty()).then_some("notifications/resources/updated"));
        tracing::info!(reason, clients = peers.len(), streams, "sent {}", names.join(", "));
        let mut sending = JoinSet::new();
        for listener in peers {
            let lists = lists.iter().map(|list| list.notification(self.shown(&reason), None));
            let own = self.0.subscriptions.of(&listener.peer);
            let own = uris.iter().filter(|uri| own.contains(*uri)).map(|uri| updated(uri, None));
            let notifications: Vec<ServerNotification> = lists.chain(own).collect();
            sending.spawn(
                async move { send(&listener.peer, notifications).await.then_some(listener) },
            );
        }
        self.0.changes.send_if_modified(|changes| {
            let Some(changes) = changes.get_mut(access) else { return false };
            for list in lists {
                *changes.times.entry(list).or_default() += 1;
            }
            let watched = self.0.subscriptions.watched();
            changes.updates.retain(|uri, _| watched.contains(uri));
            for uri in uris {
                *changes.updates.entry(uri).or_default() += 1;
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
    /// What is not as it was for clients with this access, and why.
    fn compare(&self, before: &Arc<Snapshot>, now: &Arc<Snapshot>, access: &Access) -> Differences {
        let dispatcher = &*self.dispatcher;
        let (seen_before, seen_now) =
            (before.limited_once(access), dispatcher.store().limited(now, access));
        let delta = Delta::between(&seen_before.catalog, &seen_now.catalog);
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut compared = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        compared.retain(|_, digests| digests.is_over(before) || digests.is_over(now));
        let was = compared.remove(access).filter(|compared| compared.is_over(before));
        let was =
            was.filter(|compared| listed.iter().all(|list| compared.digests.contains_key(list)));
        let was =
            was.unwrap_or_else(|| ListDigests::new(dispatcher, before, &seen_before, &listed));
        let is = ListDigests::new(dispatcher, now, &seen_now, &listed);
        let files = before.changes() != now.changes() && !access.is_limited();
        let by_file =
            dispatcher.profile().notify_on == NotifyOn::Files && (files || !delta.is_empty());
        let differs = |list: &List| was.digests.get(list) != is.digests.get(list) || by_file;
        let mut lists: Vec<List> = listed.iter().copied().filter(differs).collect();
        compared.insert(access.clone(), is);
        // Both have the same notification.
        if lists.contains(&List::Resources) {
            lists.retain(|list| *list != List::Skills);
        }
        let watched = self.subscriptions.watched();
        let updated = if watched.is_empty() {
            Vec::new()
        } else {
            let before = dispatcher.published_over(&seen_before);
            let now = dispatcher.published_over(&seen_now);
            watched.into_iter().filter(|uri| now.is_updated(&before, uri)).collect()
        };
        Differences { lists, updated, reason: reason(&delta, files) }
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
    use rmcp::ServiceExt as _;
    use tokio::io::AsyncWriteExt as _;

    use super::*;
    use crate::transport::{Handler, Lines};

    const HELLO: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"skill://a/SKILL.md"}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#;

    // HTTP-5
    #[tokio::test(flavor = "multi_thread")]
    async fn a_client_that_has_gone_is_forgotten_when_another_comes() {
        let handler = Handler::new(Dispatcher::without_sources());
        let notifier = handler.notifier.clone();
        let subscribed = || notifier.subscriptions().watched().len();
        for _ in 0..3 {
            let (mut client, server) = tokio::io::duplex(64 * 1024);
            let (input, output) = tokio::io::split(server);
            client.write_all(HELLO).await.unwrap();
            let serving = handler.clone().serve(Lines::new(input, output)).await.unwrap();
            let is_open = |one: &InitializedPeer| !one.peer.is_transport_closed();
            while !notifier.peers().iter().any(is_open) || subscribed() == 0 {
                tokio::task::yield_now().await;
            }
            assert_eq!(notifier.peers().len(), 1);
            drop(client);
            serving.waiting().await.unwrap();
        }
        notifier.subscriptions().forget_closed();
        assert_eq!(subscribed(), 0);
    }

    #[test]
    fn a_reason_counts_and_names_no_skill() {
        let some = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect();
        let (added, changed) = (some(&["a", "b"]), some(&["c"]));
        let delta = Delta { added, changed, ..Delta::default() };
        assert_eq!(reason(&delta, true), "skills: 2 added, 1 changed");
        assert_eq!(reason(&Delta::default(), true), "files beside the skills changed");
        assert!(reason(&Delta::default(), false).starts_with("the configuration"));
    }
}
