//! [`Debouncer`]: waits until changes stop.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// Waits until there was no change for a while, or changes have gone on for too long.
#[derive(Debug, Clone, Copy)]
pub struct Debouncer {
    /// Without a change for so long, changes have stopped.
    pub delay: Duration,
    /// However long changes go on, the wait is over after this.
    pub max_delay: Duration,
}

impl Debouncer {
    /// Waits. `change` ends with each further change, and says whether to go on waiting.
    pub async fn wait<F: Future<Output = bool>>(self, mut change: impl FnMut() -> F) {
        let latest = Instant::now() + self.max_delay;
        while Instant::now() < latest {
            let until = latest.min(Instant::now() + self.delay);
            if timeout_at(until, change()).await != Ok(true) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        sync::watch,
        time::{sleep, timeout},
    };

    use super::*;

    const LONG: Duration = Duration::from_mins(10);

    /// Waits out changes that come all the time: how many came meanwhile.
    async fn waited_through_a_storm() -> u64 {
        let changes = watch::Sender::new(0_u64);
        let mut generations = changes.subscribe();
        let storm = async {
            loop {
                changes.send_modify(|generation| *generation += 1);
                sleep(Duration::from_millis(1)).await;
            }
        };
        let debouncer = Debouncer { delay: LONG, max_delay: Duration::from_millis(50) };
        let waited = debouncer.wait(|| {
            generations.mark_unchanged();
            let mut next = generations.clone();
            async move { next.changed().await.is_ok() }
        });
        let waited = timeout(skills_testkit::TEST_TIMEOUT, waited);
        tokio::select! {
            waited = waited => assert!(waited.is_ok(), "the storm is waited out"),
            () = storm => {}
        }
        *generations.borrow()
    }

    #[tokio::test]
    async fn changes_that_never_end_are_waited_for_only_so_long() {
        // On a busy machine the time may pass before the second change.
        while waited_through_a_storm().await < 2 {}
    }

    #[tokio::test]
    async fn the_wait_ends_after_a_quiet_delay_or_when_it_is_said_to() {
        let quiet = Debouncer { delay: Duration::from_millis(1), max_delay: LONG };
        let forever = quiet.wait(std::future::pending);
        assert!(timeout(skills_testkit::TEST_TIMEOUT, forever).await.is_ok());
        let patient = Debouncer { delay: LONG, max_delay: LONG };
        let enough = patient.wait(|| std::future::ready(false));
        assert!(timeout(skills_testkit::TEST_TIMEOUT, enough).await.is_ok());
    }
}
