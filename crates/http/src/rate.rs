//! [`RateLimit`]: how many requests each client may send in a second.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use crate::connections::network;

/// More clients than this are not remembered; those that have been quiet are forgotten first.
const MAX_RATED_CLIENTS: usize = 10_000;
/// A client that was quiet may send what it may send in so many seconds at once.
const BURST_SECONDS: f64 = 2.0;

/// Who is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RatedClient {
    /// By its address, or what counts as one.
    Address(IpAddr),
    /// By the name it is known by.
    Name(Arc<str>),
}

impl RatedClient {
    /// A client of which only the address is known.
    pub fn at(address: IpAddr) -> Self {
        Self::Address(network(address))
    }
}

/// The limit and what each client has left of it.
#[derive(Debug)]
pub struct RateLimit {
    /// None is no limit.
    per_second: Option<f64>,
    left: Mutex<HashMap<RatedClient, Left>>,
}

#[derive(Debug, Clone, Copy)]
struct Left {
    requests: f64,
    at: Instant,
}

impl RateLimit {
    /// So many requests each second; zero is no limit.
    pub fn new(per_second: u32) -> Self {
        Self { per_second: (per_second > 0).then(|| f64::from(per_second)), left: Mutex::default() }
    }

    /// Whether a client may send one more request now.
    pub fn admits(&self, client: &RatedClient) -> bool {
        self.admits_at(client, Instant::now())
    }

    fn admits_at(&self, client: &RatedClient, now: Instant) -> bool {
        let Some(per_second) = self.per_second else { return true };
        let most = per_second * BURST_SECONDS;
        let refilled = |left: &Left| {
            let since = now.saturating_duration_since(left.at).as_secs_f64();
            (left.requests + since * per_second).min(most)
        };
        let mut clients = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(left) = clients.get_mut(client) {
            let requests = refilled(left);
            let admitted = requests >= 1.0;
            *left = Left { requests: if admitted { requests - 1.0 } else { requests }, at: now };
            return admitted;
        }
        if clients.len() >= MAX_RATED_CLIENTS {
            // Those that have all of it left again are as good as new.
            clients.retain(|_, left| refilled(left) < most);
            if clients.len() >= MAX_RATED_CLIENTS {
                clients.clear();
            }
        }
        clients.insert(client.clone(), Left { requests: most - 1.0, at: now });
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn p12_a_client_that_sends_too_much_waits_and_others_do_not() {
        let limit = RateLimit::new(10);
        let (flooder, other) =
            (RatedClient::Name("flooder".into()), RatedClient::at([10, 0, 0, 1].into()));
        let start = Instant::now();
        let admitted = (0..100).filter(|_| limit.admits_at(&flooder, start)).count();
        assert_eq!(admitted, 20, "two seconds' worth at once");
        assert!(limit.admits_at(&other, start));
        let later = start + Duration::from_millis(500);
        assert_eq!((0..100).filter(|_| limit.admits_at(&flooder, later)).count(), 5);
        assert!(RateLimit::new(0).admits(&flooder));
    }

    #[test]
    fn clients_without_end_take_no_memory_without_end() {
        let limit = RateLimit::new(1);
        for number in 0..3 * MAX_RATED_CLIENTS {
            assert!(limit.admits(&RatedClient::Name(number.to_string().into())));
        }
        assert!(limit.left.lock().unwrap().len() <= MAX_RATED_CLIENTS);
    }
}
