//! Which resources clients want to be notified of: `resources/subscribe` of clients with a handshake, and the filters of streams.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rmcp::{ErrorData, Peer, RoleServer, model::InitializeRequestParams, service::RequestContext};

use super::handler::{Handler, not_offered};

/// A client, or a stream, may subscribe to so many resources.
const MAX_SUBSCRIPTIONS: usize = 256;
/// No published address is longer.
const MAX_SUBSCRIBED_URI_BYTES: usize = 16 * 1024;
/// The addresses that a client, or a stream, subscribes to have so many bytes in all.
const MAX_SUBSCRIBED_BYTES: usize = 64 * 1024;

/// Leaves of the addresses that a stream asks for those that it may subscribe to: the first ones, within the limits.
pub(super) fn limit_subscriptions(uris: &mut Vec<String>) {
    let mut bytes = 0;
    uris.retain(|uri| {
        let fits =
            uri.len() <= MAX_SUBSCRIBED_URI_BYTES && bytes + uri.len() <= MAX_SUBSCRIBED_BYTES;
        bytes += if fits { uri.len() } else { 0 };
        fits
    });
    uris.truncate(MAX_SUBSCRIPTIONS);
    uris.shrink_to_fit();
}

/// Every subscription of a server's clients.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// How many subscriptions each resource has.
    watched: Arc<Mutex<BTreeMap<Arc<str>, usize>>>,
    clients: Mutex<Vec<Subscriber>>,
}

/// A client with a handshake.
#[derive(Debug)]
struct Subscriber {
    /// Its handshake, which no other client shares.
    handshake: Arc<InitializeRequestParams>,
    peer: Peer<RoleServer>,
    resources: Vec<WatchedResource>,
}

/// One subscription. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct WatchedResource {
    uri: Arc<str>,
    watched: Arc<Mutex<BTreeMap<Arc<str>, usize>>>,
}

impl Drop for WatchedResource {
    fn drop(&mut self) {
        let mut watched = open(&self.watched);
        if let Some(count) = watched.get_mut(&self.uri) {
            *count -= 1;
            if *count == 0 {
                watched.remove(&self.uri);
            }
        }
    }
}

fn open<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Subscriptions {
    /// Subscribes to a resource for as long as the result is kept.
    pub(super) fn watch(&self, uri: &str) -> WatchedResource {
        let uri: Arc<str> = uri.into();
        *open(&self.watched).entry(Arc::clone(&uri)).or_default() += 1;
        WatchedResource { uri, watched: Arc::clone(&self.watched) }
    }

    /// Every resource with a subscription.
    pub(super) fn watched(&self) -> BTreeSet<Arc<str>> {
        open(&self.watched).keys().cloned().collect()
    }

    /// What a client with a handshake subscribed to.
    pub(super) fn of(&self, peer: &Peer<RoleServer>) -> BTreeSet<Arc<str>> {
        let Some(handshake) = peer.peer_info() else { return BTreeSet::new() };
        let clients = open(&self.clients);
        let own = clients.iter().find(|client| Arc::ptr_eq(&client.handshake, &handshake));
        own.into_iter()
            .flat_map(|client| &client.resources)
            .map(|one| Arc::clone(&one.uri))
            .collect()
    }

    /// Ends the subscriptions of clients that have gone.
    pub(super) fn forget_closed(&self) {
        open(&self.clients).retain(|client| !client.peer.is_transport_closed());
    }

    fn subscribe(&self, peer: &Peer<RoleServer>, uri: &str) -> Result<(), ErrorData> {
        let handshake = peer.peer_info().ok_or_else(|| not_offered("resources/subscribe"))?;
        self.forget_closed();
        let mut clients = open(&self.clients);
        let own = clients.iter().position(|client| Arc::ptr_eq(&client.handshake, &handshake));
        let own = own.unwrap_or_else(|| {
            clients.push(Subscriber { handshake, peer: peer.clone(), resources: Vec::new() });
            clients.len() - 1
        });
        let Some(client) = clients.get_mut(own) else { return Ok(()) };
        if client.resources.iter().any(|one| *one.uri == *uri) {
            return Ok(());
        }
        let bytes: usize = client.resources.iter().map(|one| one.uri.len()).sum();
        if client.resources.len() >= MAX_SUBSCRIPTIONS || bytes + uri.len() > MAX_SUBSCRIBED_BYTES {
            let message = format!(
                "{} resources are subscribed to already; unsubscribe from one first",
                client.resources.len()
            );
            return Err(ErrorData::invalid_request(message, None));
        }
        client.resources.push(self.watch(uri));
        Ok(())
    }

    fn unsubscribe(&self, peer: &Peer<RoleServer>, uri: &str) {
        let Some(handshake) = peer.peer_info() else { return };
        let mut clients = open(&self.clients);
        let own = clients.iter_mut().find(|client| Arc::ptr_eq(&client.handshake, &handshake));
        if let Some(client) = own {
            client.resources.retain(|one| *one.uri != *uri);
        }
    }
}

impl Handler {
    /// Subscribes a client with a handshake to a resource, which need not be there yet.
    pub(super) fn subscribe_to(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !self.publishes() {
            return Err(not_offered("resources/subscribe"));
        }
        if uri.len() > MAX_SUBSCRIBED_URI_BYTES {
            let message = format!("an address has at most {MAX_SUBSCRIBED_URI_BYTES} bytes");
            return Err(ErrorData::invalid_params(message, None));
        }
        self.notifier.subscriptions().subscribe(&context.peer, uri)
    }

    /// Ends a subscription; one that there is not has ended already.
    pub(super) fn unsubscribe_from(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !self.publishes() {
            return Err(not_offered("resources/unsubscribe"));
        }
        self.notifier.subscriptions().unsubscribe(&context.peer, uri);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_subscribes_to_so_many_addresses_of_so_many_bytes() {
        let kept = |mut uris: Vec<String>| {
            limit_subscriptions(&mut uris);
            uris.len()
        };
        let long = |bytes: usize| "x".repeat(bytes);
        assert_eq!(kept(vec![long(100); 1_000]), MAX_SUBSCRIPTIONS);
        assert_eq!(kept(vec![long(16 * 1024); 10]), 4, "64 KiB in all");
        let mut uris = vec![long(16 * 1024 + 1), "skill://a".to_owned()];
        limit_subscriptions(&mut uris);
        assert_eq!(uris, ["skill://a"], "no address is that long");
    }
}
