//! [`Connections`]: those that are open, bounded in all and by address.
//!
//! No new connection waits for an old one. A client that has its share of them, and opens another, loses the one that it has
//! kept waiting for longest; so does everybody together where there are too many in all. Not here: what is said on a
//! connection, and for how long.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio_util::sync::CancellationToken;

/// So many are open at once,
const MAX_OPEN: usize = 1_024;
/// and so many of one address. A proxy in front of us is one address, and has far fewer that are not answered yet.
const MAX_OF_ADDRESS: usize = 256;

/// Every open connection, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Connections(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    all: BTreeMap<u64, Arc<Status>>,
    next: u64,
}

/// What is known of one connection.
#[derive(Debug)]
struct Status {
    network: IpAddr,
    /// How many requests on it are being answered.
    answering: AtomicUsize,
    /// Whether a whole request ever came.
    has_asked: AtomicBool,
    /// It is to end, since another needs its place.
    displaced: CancellationToken,
}

/// The place of one connection, which is free again when this goes.
#[derive(Debug)]
pub(super) struct Place {
    connections: Arc<Connections>,
    number: u64,
    status: Arc<Status>,
}

/// A request that is being answered. Its connection keeps its place meanwhile.
#[derive(Debug)]
pub(super) struct Answering(Arc<Status>);

impl Connections {
    /// A place for a connection from this address. None where all the others, of that address or in all, are being answered.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let network = network(address);
        let mut open = self.open();
        let of_network = |status: &Status| status.network == network;
        if open.all.values().filter(|status| of_network(status)).count() >= MAX_OF_ADDRESS {
            open.displace(of_network)?;
        } else if open.all.len() >= MAX_OPEN {
            open.displace(|_| true)?;
        }
        let status = Arc::new(Status {
            network,
            answering: AtomicUsize::new(0),
            has_asked: AtomicBool::new(false),
            displaced: CancellationToken::new(),
        });
        let number = open.next;
        open.next += 1;
        open.all.insert(number, Arc::clone(&status));
        Some(Place { connections: Arc::clone(self), number, status })
    }

    /// Ends a connection that is not being answered, if there is one: the system has no room for another.
    pub(super) fn make_room(&self) {
        let _ = self.open().displace(|_| true);
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Ends one of these: the oldest that never asked for anything, else the oldest that is not being answered.
    fn displace(&mut self, among: impl Fn(&Status) -> bool) -> Option<()> {
        let idle = |status: &Status| status.answering.load(Ordering::Acquire) == 0;
        let mut idle = self.all.iter().filter(|(_, status)| among(status) && idle(status));
        let oldest = idle.clone().next();
        let silent = idle.find(|(_, status)| !status.has_asked.load(Ordering::Acquire));
        let number = *silent.or(oldest)?.0;
        self.all.remove(&number)?.displaced.cancel();
        Some(())
    }
}

impl Place {
    /// Done when another connection has got this place.
    pub(super) async fn displaced(&self) {
        self.status.displaced.cancelled().await;
    }

    /// A whole request has come, and is being answered for as long as this is kept.
    pub(super) fn answering(&self) -> Answering {
        self.status.has_asked.store(true, Ordering::Release);
        self.status.answering.fetch_add(1, Ordering::AcqRel);
        Answering(Arc::clone(&self.status))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.open().all.remove(&self.number);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answering.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What counts as one address: of IPv6 the first half, since a machine has all of the other half.
fn network(address: IpAddr) -> IpAddr {
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

    fn is_displaced(place: &Place) -> bool {
        place.status.displaced.is_cancelled()
    }

    #[test]
    fn e13_one_address_has_its_share_and_loses_what_it_keeps_waiting() {
        let connections = Arc::new(Connections::default());
        let mut places: Vec<Place> =
            (0..MAX_OF_ADDRESS).map(|_| connections.admit(address(1)).unwrap()).collect();
        // The oldest is being answered, the next has been, and so the third is the first to go.
        let answering = places[0].answering();
        drop(places[1].answering());
        places.push(connections.admit(address(1)).unwrap());
        let displaced: Vec<usize> =
            (0..places.len()).filter(|at| is_displaced(&places[*at])).collect();
        assert_eq!(displaced, [2]);
        let others = connections.admit(address(2)).unwrap();
        assert!(!is_displaced(&others), "other addresses have room");
        assert_eq!(places.iter().filter(|place| is_displaced(place)).count(), 1);
        // Where all are being answered there is no place, until one is not.
        let all: Vec<Answering> = places.iter().map(Place::answering).collect();
        assert!(connections.admit(address(1)).is_none());
        drop((all, answering));
        assert!(connections.admit(address(1)).is_some());
        assert!(is_displaced(&places[0]), "all have asked by now, so the oldest goes");
        drop((places, others));
        assert!(connections.open().all.is_empty());
    }

    #[test]
    fn e13_all_addresses_together_have_a_bound_and_half_an_address_counts_for_ipv6() {
        let connections = Arc::new(Connections::default());
        let places: Vec<Place> =
            (0..2 * MAX_OPEN).map(|number| connections.admit(address(number)).unwrap()).collect();
        assert_eq!(connections.open().all.len(), MAX_OPEN);
        assert!(is_displaced(&places[MAX_OPEN - 1]) && !is_displaced(&places[MAX_OPEN]));
        let same = |one: &str, other: &str| {
            network(one.parse().unwrap()) == network(other.parse().unwrap())
        };
        assert!(same("2001:db8::1", "2001:db8::ffff:2") && same("::ffff:10.0.0.1", "10.0.0.1"));
        assert!(!same("2001:db8::1", "2001:db8:0:1::1") && !same("10.0.0.1", "10.0.0.2"));
    }
}
