//! [`BodyBudget`]: the bodies of requests are read within limits on their size, their time, and the memory that they share.
//!
//! A request takes its share as its bytes come, so that those who announce much and send little keep out no others, and one
//! sender has a quarter of all at most. Small bodies take none: the number of connections bounds these. Not here: what a body says.

use std::{future::poll_fn, pin::Pin, time::Duration};

use axum::{
    body::{Body, HttpBody as _},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use tokio::time::timeout;

use crate::{
    serving::{error, unavailable},
    shares::{MemoryShare, RequestSender, SharedMemory},
};

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
    memory: SharedMemory,
    /// How long a request waits for its share.
    patience: Duration,
}

/// The share of one body, until it is dropped.
#[derive(Debug)]
pub struct BodyShare(Option<MemoryShare>);

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
        Self { memory: SharedMemory::new(total), patience }
    }

    /// Reads a whole body, and gives it with its share.
    pub async fn read(
        &self,
        body: Body,
        max_bytes: usize,
        sender: &RequestSender,
    ) -> Result<(Vec<u8>, BodyShare), BodyRefusal> {
        let read = timeout(BODY_TIMEOUT, self.read_all(body, max_bytes, sender)).await;
        read.unwrap_or(Err(BodyRefusal::TooSlow))
    }

    async fn read_all(
        &self,
        mut body: Body,
        max_bytes: usize,
        sender: &RequestSender,
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
            self.extend(&mut share, whole.len(), sender).await?;
        }
        Ok((whole, share))
    }

    /// Waits for the memory of so many bytes.
    pub async fn take(
        &self,
        bytes: usize,
        sender: &RequestSender,
    ) -> Result<BodyShare, BodyRefusal> {
        let mut share = BodyShare(None);
        self.extend(&mut share, bytes, sender).await?;
        Ok(share)
    }

    /// Brings a share to so many bytes. What is larger than all that its sender may have takes all of that.
    async fn extend(
        &self,
        share: &mut BodyShare,
        bytes: usize,
        sender: &RequestSender,
    ) -> Result<(), BodyRefusal> {
        let units = bytes.saturating_sub(SMALL_BODY_BYTES).div_ceil(BODY_UNIT_BYTES);
        let held = share.0.as_ref().map_or(0, MemoryShare::units);
        let missing = u32::try_from(units.min(self.memory.most(sender)).saturating_sub(held));
        let missing = missing.map_err(|_| BodyRefusal::Crowded)?;
        if missing == 0 {
            return Ok(());
        }
        let more = timeout(self.patience, self.memory.take(missing, sender)).await;
        let more = more.ok().flatten().ok_or(BodyRefusal::Crowded)?;
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
        let (read, held) = budget.read(body(100_000), 200_000, &RequestSender::Any).await.unwrap();
        assert_eq!((read.len(), budget.memory.free()), (100_000, 0));
        let crowded = budget.read(body(20_000), 200_000, &RequestSender::Any).await.err();
        assert_eq!(crowded, Some(BodyRefusal::Crowded));
        assert!(budget.read(body(SMALL_BODY_BYTES), 200_000, &RequestSender::Any).await.is_ok());
        drop(held);
        assert_eq!(budget.memory.free(), 2);
        // More than there is takes what there is.
        let all = budget.take(1 << 30, &RequestSender::Any).await.unwrap();
        assert_eq!(budget.memory.free(), 0);
        drop(all);
        let refused = budget.read(body(1_001), 1_000, &RequestSender::Any).await.err();
        assert_eq!(refused, Some(BodyRefusal::TooLarge(1_000)));
    }

    #[tokio::test]
    async fn h05_one_sender_has_a_quarter_and_keeps_out_no_others() {
        let budget = BodyBudget::of(8, Duration::from_millis(1));
        let ada = RequestSender::Named("ada".into());
        let near = RequestSender::at("192.0.2.7".parse().unwrap());
        let _held = budget.take(100_000, &ada).await.unwrap();
        assert_eq!(budget.take(20_000, &ada).await.err(), Some(BodyRefusal::Crowded));
        let body = Body::from(vec![b'x'; 100_000]);
        let (_, _also_held) = budget.read(body, 200_000, &near).await.unwrap();
        assert_eq!(budget.memory.free(), 4, "what was refused holds nothing");
    }

    #[tokio::test]
    async fn h05_a_body_waits_until_others_are_done_with() {
        let budget = BodyBudget::of(1, LONG);
        let held = budget.take(20_000, &RequestSender::Any).await.unwrap();
        let mut waiting = Box::pin(budget.take(20_000, &RequestSender::Any));
        let is_pending =
            poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx).is_pending()));
        assert!(is_pending.await);
        drop(held);
        assert!(waiting.await.is_ok());
    }
}
