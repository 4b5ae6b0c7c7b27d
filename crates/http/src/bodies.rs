//! [`BodyBudget`]: the bodies of requests are read within limits on their size, their time, and the memory that they share.
//!
//! A request takes its share as its bytes come, so that those who announce much and send little keep out no others. Small
//! bodies take none: the number of connections bounds these. Not here: what a body says.

use std::{future::poll_fn, pin::Pin, sync::Arc, time::Duration};

use axum::{
    body::{Body, HttpBody as _},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::serving::{error, unavailable};

/// What takes at most so many bytes is small.
const SMALL_BODY_BYTES: usize = 16 * 1024;
/// Shares are in units of this size.
const BODY_UNIT_BYTES: usize = 64 * 1024;
/// A body that takes longer to come is not waited for.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);
/// A request waits so long for others' bodies to be done with.
const BODY_TURN_TIMEOUT: Duration = Duration::from_secs(5);

/// The memory that large bodies share.
#[derive(Debug)]
pub struct BodyBudget {
    units: Arc<Semaphore>,
    /// How many there are in all.
    total: usize,
    /// How long a request waits for its share.
    patience: Duration,
}

/// The share of one body, until it is dropped.
#[derive(Debug)]
pub struct BodyShare(Option<OwnedSemaphorePermit>);

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyRefusal {
    /// It has more bytes than these.
    TooLarge(usize),
    /// It took too long to come.
    TooSlow,
    /// Its client broke it off.
    BrokenOff,
    /// Other bodies have all the memory.
    Crowded,
}

impl IntoResponse for BodyRefusal {
    fn into_response(self) -> Response {
        match self {
            Self::TooLarge(most) => {
                error(StatusCode::PAYLOAD_TOO_LARGE, &format!("the body is over {most} bytes"))
            }
            Self::TooSlow => error(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
            Self::BrokenOff => error(StatusCode::BAD_REQUEST, "the body broke off"),
            Self::Crowded => unavailable("too many large requests at once"),
        }
    }
}

impl BodyBudget {
    /// So much memory.
    pub fn new(bytes: usize) -> Self {
        Self::of(bytes / BODY_UNIT_BYTES, BODY_TURN_TIMEOUT)
    }

    fn of(total: usize, patience: Duration) -> Self {
        Self { units: Arc::new(Semaphore::new(total)), total, patience }
    }

    /// Reads a whole body, and gives it with its share.
    pub async fn read(
        &self,
        body: Body,
        max_bytes: usize,
    ) -> Result<(Vec<u8>, BodyShare), BodyRefusal> {
        let read = timeout(BODY_TIMEOUT, self.read_all(body, max_bytes)).await;
        read.unwrap_or(Err(BodyRefusal::TooSlow))
    }

    async fn read_all(
        &self,
        mut body: Body,
        max_bytes: usize,
    ) -> Result<(Vec<u8>, BodyShare), BodyRefusal> {
        let is_too_large = |bytes: u64| usize::try_from(bytes).is_ok_and(|bytes| bytes > max_bytes);
        if is_too_large(body.size_hint().lower()) {
            return Err(BodyRefusal::TooLarge(max_bytes));
        }
        let (mut whole, mut share) = (Vec::new(), BodyShare(None));
        while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            let frame = frame.map_err(|_| BodyRefusal::BrokenOff)?;
            let bytes = frame.into_data().unwrap_or_default();
            if whole.len() + bytes.len() > max_bytes {
                return Err(BodyRefusal::TooLarge(max_bytes));
            }
            whole.extend_from_slice(&bytes);
            self.extend(&mut share, whole.len()).await?;
        }
        Ok((whole, share))
    }

    /// Waits for the memory of so many bytes.
    pub async fn take(&self, bytes: usize) -> Result<BodyShare, BodyRefusal> {
        let mut share = BodyShare(None);
        self.extend(&mut share, bytes).await?;
        Ok(share)
    }

    /// Brings a share to so many bytes. What is larger than all takes all.
    async fn extend(&self, share: &mut BodyShare, bytes: usize) -> Result<(), BodyRefusal> {
        let units = bytes.saturating_sub(SMALL_BODY_BYTES).div_ceil(BODY_UNIT_BYTES);
        let held = share.0.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = u32::try_from(units.min(self.total).saturating_sub(held));
        let missing = missing.map_err(|_| BodyRefusal::Crowded)?;
        if missing == 0 {
            return Ok(());
        }
        let turn = Arc::clone(&self.units).acquire_many_owned(missing);
        let Ok(Ok(more)) = timeout(self.patience, turn).await else {
            return Err(BodyRefusal::Crowded);
        };
        match &mut share.0 {
            Some(held) => held.merge(more),
            None => share.0 = Some(more),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than any test takes.
    const LONG: Duration = Duration::from_hours(1);

    #[tokio::test]
    async fn h05_large_bodies_share_memory_and_small_ones_need_none() {
        let budget = BodyBudget::of(2, Duration::from_millis(1));
        let body = |bytes: usize| Body::from(vec![b'x'; bytes]);
        let (read, held) = budget.read(body(100_000), 200_000).await.unwrap();
        assert_eq!((read.len(), budget.units.available_permits()), (100_000, 0));
        let crowded = budget.read(body(20_000), 200_000).await.err();
        assert_eq!(crowded, Some(BodyRefusal::Crowded));
        assert!(budget.read(body(SMALL_BODY_BYTES), 200_000).await.is_ok());
        drop(held);
        assert_eq!(budget.units.available_permits(), 2);
        // More than there is takes what there is.
        let all = budget.take(1 << 30).await.unwrap();
        assert_eq!(budget.units.available_permits(), 0);
        drop(all);
        let refused = budget.read(body(1_001), 1_000).await.err();
        assert_eq!(refused, Some(BodyRefusal::TooLarge(1_000)));
    }

    #[tokio::test]
    async fn h05_a_body_waits_until_others_are_done_with() {
        let budget = BodyBudget::of(1, LONG);
        let held = budget.take(20_000).await.unwrap();
        let mut waiting = Box::pin(budget.take(20_000));
        let is_pending =
            poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx).is_pending()));
        assert!(is_pending.await);
        drop(held);
        assert!(waiting.await.is_ok());
    }
}
