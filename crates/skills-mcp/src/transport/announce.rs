//! [`Announcer`]: tells clients that what they were shown has changed.
//!
//! One for a server. It waits for another snapshot, then for quiet, and compares what clients could ask for before and
//! after; only a difference they could see is worth a word. Clients with a handshake are told once they are
//! initialized, later ones on their `subscriptions/listen` streams. Where nobody listens nothing is compared. Not here: what
//! brings changes about (the store).

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use rmcp::{
    ErrorData, Peer, RoleServer,
    model::{
        CustomNotification, GetMeta as _, RequestId, ServerNotification, SubscriptionFilter,
        ToolListChangedNotification,
    },
    service::SubscriptionContext,
};
use serde_json::json;
use skills_core::catalog::Delta;
use tokio::{
    sync::watch,
    task::{JoinSet, spawn_blocking},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    store::{Snapshot, Store},
    surface::{Face, Menu, Tells},
};

/// So long nothing more must change before a change is told.
const QUIET: Duration = Duration::from_millis(500);
/// Where changes never end, they are told all the same after this.
const LONGEST: Duration = Duration::from_secs(5);
/// A client that reads this slowly is not waited for. What it was sent stays on its way.
const PATIENCE: Duration = Duration::from_secs(1);
/// So many streams may be open at once.
const MAX_STREAMS: usize = 1_024;

/// A list clients can ask for and be told of. What is served beside tools joins here.
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
    fn digest(self, menu: &Menu, snapshot: &Arc<Snapshot>) -> [u8; 32] {
        match self {
            Self::Tools => menu.listed(snapshot).digest(),
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

/// What clients have seen, or have been told to look at.
#[derive(Debug)]
struct Seen {
    snapshot: Arc<Snapshot>,
    /// What each list said, once somebody had to know.
    digests: OnceLock<BTreeMap<List, [u8; 32]>>,
}

impl Seen {
    fn new(snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot, digests: OnceLock::new() }
    }

    fn digests(&self, menu: &Menu) -> &BTreeMap<List, [u8; 32]> {
        self.digests.get_or_init(|| {
            List::ALL.into_iter().map(|list| (list, list.digest(menu, &self.snapshot))).collect()
        })
    }
}

/// How often each list has changed, and why the last time. A stream that missed one of two changes still learns which
/// lists are not what they were.
#[derive(Debug, Clone, Default)]
struct Changes {
    times: BTreeMap<List, u64>,
    reason: Arc<str>,
}

/// Tells clients what has changed. Clones share everything.
#[derive(Debug, Clone)]
pub(super) struct Announcer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<Store>,
    face: Arc<Face>,
    menu: Arc<Menu>,
    seen: ArcSwapOption<Seen>,
    /// Clients with a handshake that are initialized.
    peers: Mutex<Vec<Peer<RoleServer>>>,
    /// Every open stream holds a receiver.
    changes: watch::Sender<Changes>,
    closing: CancellationToken,
}

impl Announcer {
    pub(super) fn new(store: Arc<Store>, face: Arc<Face>, menu: Arc<Menu>) -> Self {
        Self(Arc::new(Inner {
            store,
            face,
            menu,
            seen: ArcSwapOption::empty(),
            peers: Mutex::default(),
            changes: watch::Sender::default(),
            closing: CancellationToken::new(),
        }))
    }

    /// A client is about to be answered from this snapshot. If it is the first, the next is compared with it, however
    /// soon that comes.
    pub(super) fn saw(&self, snapshot: &Arc<Snapshot>) {
        let Inner { seen, .. } = &*self.0;
        if seen.load().is_none() {
            let none: Option<Arc<Seen>> = None;
            seen.compare_and_swap(&none, Some(Arc::new(Seen::new(Arc::clone(snapshot)))));
        }
    }

    /// A client says that its handshake is over. Only now may it be told anything.
    pub(super) fn initialized(&self, peer: Peer<RoleServer>) {
        // A stray word from a client without a handshake, which listens on streams or not at all.
        let Some(info) = peer.peer_info() else { return };
        let mut peers = self.peers();
        // Whoever says it twice is told once.
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
        let mut told = changes.borrow_and_update().times.clone();
        let request = context.request_context();
        while changes.changed().await.is_ok() {
            let Changes { times, reason } = changes.borrow_and_update().clone();
            let wanted =
                |list: &List| times.get(list) != told.get(list) && list.wanted(context.accepted());
            for list in List::ALL.into_iter().filter(wanted) {
                let notification = list.notification(self.said(&reason), Some(&request.id));
                if request.peer.send_notification(notification).await.is_err() {
                    return;
                }
            }
            told = times;
        }
    }

    /// Ends every stream; their clients get the final result.
    pub(super) fn close(&self) {
        self.0.closing.cancel();
    }

    /// Announces for as long as it is polled.
    pub(super) async fn run(&self) -> Infallible {
        let mut generations = self.0.store.generations();
        // The first snapshot is nothing new to anybody, but whatever follows it is. (The store is ours too and holds
        // the sender, so that waiting ends only with another snapshot.)
        let _ = generations.wait_for(|generation| *generation > 0).await;
        self.saw(&self.0.store.snapshot().await);
        loop {
            let _ = generations.changed().await;
            quiet(&mut generations, QUIET, LONGEST).await;
            self.announce().await;
        }
    }

    /// Compares, and tells whoever listens.
    async fn announce(&self) {
        let Inner { store, menu, face, seen, .. } = &*self.0;
        let now = Arc::new(Seen::new(store.snapshot().await));
        let before = seen.swap(Some(Arc::clone(&now)));
        let another = |before: &Arc<Seen>| !Arc::ptr_eq(&before.snapshot, &now.snapshot);
        let Some(before) = before.filter(another).filter(|_| self.is_heard()) else { return };
        let (menu, tells) = (Arc::clone(menu), face.tells);
        let compared = spawn_blocking(move || compare(&before, &now, &menu, tells)).await;
        let Ok((lists, reason)) = compared else {
            tracing::error!("comparing what clients see failed");
            return;
        };
        if lists.is_empty() {
            tracing::debug!(reason, "nothing a list shows has changed");
            return;
        }
        self.tell(&lists, reason).await;
    }

    async fn tell(&self, lists: &[List], reason: String) {
        let peers = std::mem::take(&mut *self.peers());
        let streams = self.0.changes.receiver_count();
        let names: Vec<&str> = lists.iter().map(|list| list.method()).collect();
        tracing::info!(reason, clients = peers.len(), streams, "sent {}", names.join(", "));
        let mut sending = JoinSet::new();
        for peer in peers {
            let said: Vec<ServerNotification> =
                lists.iter().map(|list| list.notification(self.said(&reason), None)).collect();
            sending.spawn(async move { send(&peer, said).await.then_some(peer) });
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

    /// The reason as clients are told it: not at all, but where a contract says so.
    fn said<'a>(&self, reason: &'a str) -> Option<&'a str> {
        (self.0.face.tells == Tells::Files).then_some(reason)
    }

    fn is_heard(&self) -> bool {
        let mut peers = self.peers();
        peers.retain(|peer| !peer.is_transport_closed());
        !peers.is_empty() || self.0.changes.receiver_count() > 0
    }

    fn peers(&self) -> std::sync::MutexGuard<'_, Vec<Peer<RoleServer>>> {
        self.0.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends these one after the other; whether the client can still be reached.
async fn send(peer: &Peer<RoleServer>, said: Vec<ServerNotification>) -> bool {
    for notification in said {
        if matches!(timeout(PATIENCE, peer.send_notification(notification)).await, Ok(Err(_))) {
            return false;
        }
    }
    true
}

/// Waits until nothing has changed for a while, or changes have gone on for too long.
async fn quiet(generations: &mut watch::Receiver<u64>, quiet: Duration, longest: Duration) {
    let latest = Instant::now() + longest;
    loop {
        let until = latest.min(Instant::now() + quiet);
        tokio::select! {
            () = sleep_until(until) => return,
            _ = generations.changed() => {}
        }
    }
}

/// The lists that are not what they were, and why.
fn compare(before: &Seen, now: &Seen, menu: &Menu, tells: Tells) -> (Vec<List>, String) {
    let delta = Delta::between(&before.snapshot.catalog, &now.snapshot.catalog);
    let (was, is) = (before.digests(menu), now.digests(menu));
    let files = before.snapshot.changes() != now.snapshot.changes();
    let differs = |list: &List| {
        was.get(list) != is.get(list) || (tells == Tells::Files && (files || !delta.is_empty()))
    };
    (List::ALL.into_iter().filter(differs).collect(), reason(&delta, files))
}

/// How many skills came, went and changed. Their names are somebody else's words.
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

    #[tokio::test]
    async fn changes_that_never_end_are_told_all_the_same() {
        let changes = watch::Sender::new(0_u64);
        let mut generations = changes.subscribe();
        let storm = async {
            loop {
                changes.send_modify(|generation| *generation += 1);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = quiet(&mut generations, Duration::from_mins(1), Duration::from_millis(50));
        let waited = timeout(skills_testkit::TEST_TIMEOUT, waited);
        tokio::select! {
            waited = waited => assert!(waited.is_ok(), "the storm is waited out"),
            () = storm => {}
        }
        assert!(*generations.borrow() > 1, "there was a storm");
    }

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
