//! [`Connections`]: the open connections, limited in all and by address.
//!
//! No new connection waits for an old one. An address that has reached its limit and opens another connection loses the one
//! that has been idle for longest; where the limit in all is reached, any address may lose one. Not here: what is
//! said on a connection, and for how long.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio_util::sync::CancellationToken;

/// Connections in all, where no other limit is given.
pub const MAX_CONNECTIONS: usize = 1_024;
/// A proxy in front of the server is one address, and has far fewer requests that are not answered yet.
const MAX_CONNECTIONS_OF_ADDRESS: usize = 256;

/// How many connections may be open.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// In all.
    pub total: usize,
    /// Of one address.
    pub of_address: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { total: MAX_CONNECTIONS, of_address: MAX_CONNECTIONS_OF_ADDRESS }
    }
}

/// Every open connection, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: Mutex<OpenConnections>,
    limits: ConnectionLimits,
}

#[derive(Debug, Default)]
struct OpenConnections {
    all: BTreeMap<u64, Arc<ConnectionStatus>>,
    next: u64,
}

/// What is known of one connection.
#[derive(Debug)]
struct ConnectionStatus {
    network: IpAddr,
    /// How many requests on it are being answered.
    answering: AtomicUsize,
    /// Whether a whole request ever came.
    has_sent_request: AtomicBool,
    /// Cancelled when another connection needs its slot.
    displaced: CancellationToken,
}

/// The slot of one connection, free again when this is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
    status: Arc<ConnectionStatus>,
}

/// A request that is being answered. Its connection keeps its slot meanwhile.
#[derive(Debug)]
pub(crate) struct RequestInProgress(Arc<ConnectionStatus>);

impl Connections {
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        Self { open: Mutex::default(), limits }
    }

    /// A slot for a connection from this address. None where all the others, of that address or in all, are being answered.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<ConnectionSlot> {
        let network = network(address);
        let mut open = self.open();
        let of_network = |status: &ConnectionStatus| status.network == network;
        let of_address = open.all.values().filter(|status| of_network(status)).count();
        if of_address >= self.limits.of_address {
            open.displace(of_network)?;
        } else if open.all.len() >= self.limits.total {
            open.displace(|_| true)?;
        }
        let status = Arc::new(ConnectionStatus {
            network,
            answering: AtomicUsize::new(0),
            has_sent_request: AtomicBool::new(false),
            displaced: CancellationToken::new(),
        });
        let number = open.next;
        open.next += 1;
        open.all.insert(number, Arc::clone(&status));
        Some(ConnectionSlot { connections: Arc::clone(self), number, status })
    }

    /// Ends a connection that is not being answered, if there is one: the system is out of descriptors.
    pub(crate) fn make_room(&self) {
        let _ = self.open().displace(|_| true);
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    /// Ends one of these: the oldest that never sent a request, else the oldest that is not being answered.
    fn displace(&mut self, among: impl Fn(&ConnectionStatus) -> bool) -> Option<()> {
        let idle = |status: &ConnectionStatus| status.answering.load(Ordering::Acquire) == 0;
        let mut idle = self.all.iter().filter(|(_, status)| among(status) && idle(status));
        let oldest = idle.clone().next();
        let silent = idle.find(|(_, status)| !status.has_sent_request.load(Ordering::Acquire));
        let number = *silent.or(oldest)?.0;
        self.all.remove(&number)?.displaced.cancel();
        Some(())
    }
}

impl ConnectionSlot {
    /// Done when another connection has got this slot.
    pub(crate) async fn displaced(&self) {
        self.status.displaced.cancelled().await;
    }

    /// A whole request has come, and is being answered until the returned value is dropped.
    pub(crate) fn start_request(&self) -> RequestInProgress {
        self.status.has_sent_request.store(true, Ordering::Release);
        self.status.answering.fetch_add(1, Ordering::AcqRel);
        RequestInProgress(Arc::clone(&self.status))
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.open().all.remove(&self.number);
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        self.0.answering.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What counts as one address: of IPv6 the first half, since a machine has all of the other half.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: usize) -> IpAddr {
        format!("10.0.{}.{}", number / 256, number % 256).parse().unwrap()
    }

    fn is_displaced(slot: &ConnectionSlot) -> bool {
        slot.status.displaced.is_cancelled()
    }

    #[test]
    fn e13_one_address_has_its_share_and_loses_what_it_keeps_waiting() {
        let connections = Arc::new(Connections::new(ConnectionLimits::default()));
        let mut slots: Vec<ConnectionSlot> = (0..MAX_CONNECTIONS_OF_ADDRESS)
            .map(|_| connections.admit(address(1)).unwrap())
            .collect();
        // The oldest is being answered, the next has been, and so the third is the first to go.
        let answering = slots[0].start_request();
        drop(slots[1].start_request());
        slots.push(connections.admit(address(1)).unwrap());
        let displaced: Vec<usize> =
            (0..slots.len()).filter(|at| is_displaced(&slots[*at])).collect();
        assert_eq!(displaced, [2]);
        let others = connections.admit(address(2)).unwrap();
        assert!(!is_displaced(&others), "other addresses have slots");
        assert_eq!(slots.iter().filter(|slot| is_displaced(slot)).count(), 1);
        // Where all are being answered there is no slot, until one is not.
        let all: Vec<RequestInProgress> = slots.iter().map(ConnectionSlot::start_request).collect();
        assert!(connections.admit(address(1)).is_none());
        drop((all, answering));
        assert!(connections.admit(address(1)).is_some());
        assert!(is_displaced(&slots[0]), "all have sent a request by now, so the oldest goes");
        drop((slots, others));
        assert!(connections.open().all.is_empty());
    }

    #[test]
    fn e13_all_addresses_together_have_a_bound_and_half_an_address_counts_for_ipv6() {
        let connections = Arc::new(Connections::new(ConnectionLimits::default()));
        let slots: Vec<ConnectionSlot> = (0..2 * MAX_CONNECTIONS)
            .map(|number| connections.admit(address(number)).unwrap())
            .collect();
        assert_eq!(connections.open().all.len(), MAX_CONNECTIONS);
        assert!(
            is_displaced(&slots[MAX_CONNECTIONS - 1]) && !is_displaced(&slots[MAX_CONNECTIONS])
        );
        let same = |one: &str, other: &str| {
            network(one.parse().unwrap()) == network(other.parse().unwrap())
        };
        assert!(same("2001:db8::1", "2001:db8::ffff:2") && same("::ffff:10.0.0.1", "10.0.0.1"));
        assert!(!same("2001:db8::1", "2001:db8:0:1::1") && !same("10.0.0.1", "10.0.0.2"));
    }
}
