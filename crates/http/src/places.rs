//! [`WorkPlaces`]: places for answers that take long to make. Few are made at once, also where clients hang up.
//!
//! What runs on other threads does not end with the request that wants it. So its place is kept until it is done. Not here: what
//! is made.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Semaphore, time::timeout};

/// The places.
#[derive(Debug)]
pub struct WorkPlaces {
    places: Arc<Semaphore>,
    /// How long one is waited for.
    patience: Duration,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnfinishedWork {
    /// Others had all places.
    NoPlace,
    /// It panicked.
    Panicked,
}

impl WorkPlaces {
    /// So many places; one is waited for no longer than this.
    pub fn new(count: usize, patience: Duration) -> Self {
        Self { places: Arc::new(Semaphore::new(count)), patience }
    }

    /// Waits for a place, and works. Where the client hangs up meanwhile, the work goes on and keeps its place.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, UnfinishedWork> {
        let place = timeout(self.patience, Arc::clone(&self.places).acquire_owned()).await;
        let Ok(Ok(place)) = place else { return Err(UnfinishedWork::NoPlace) };
        let working = tokio::spawn(async move {
            let _place = place;
            work.await
        });
        working.await.map_err(|error| {
            tracing::error!(%error, "an answer could not be made");
            UnfinishedWork::Panicked
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio::{sync::oneshot, task::yield_now};

    use super::*;

    // HTTP-5
    #[tokio::test]
    async fn work_keeps_its_place_though_its_client_hangs_up() {
        let places = Arc::new(WorkPlaces::new(1, Duration::from_millis(1)));
        let (finish, finished) = oneshot::channel::<()>();
        let client = {
            let places = Arc::clone(&places);
            tokio::spawn(async move { places.run(finished).await.map(drop) })
        };
        while places.places.available_permits() > 0 {
            yield_now().await;
        }
        client.abort();
        assert!(client.await.unwrap_err().is_cancelled());
        assert_eq!(places.run(async {}).await, Err(UnfinishedWork::NoPlace));
        finish.send(()).unwrap();
        while places.places.available_permits() == 0 {
            yield_now().await;
        }
        assert_eq!(places.run(async { 1 }).await, Ok(1));
        let panicked: Result<(), _> = places.run(async { panic!("on purpose") }).await;
        assert_eq!(panicked, Err(UnfinishedWork::Panicked));
        assert_eq!(places.places.available_permits(), 1);
    }
}
