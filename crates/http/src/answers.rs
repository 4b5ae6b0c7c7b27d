//! [`AnswerBudget`]: large answers share a limited amount of memory until their clients have read them.
//!
//! An answer stays in memory for as long as its client takes to read it. Small ones are bounded by the number of connections and
//! pass as they are. The share of a large one belongs to its bytes: it is given back when the last of them is written. One sender
//! has a quarter of all at most. Not here: how long a client may take (`slow`).

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    response::Response,
};
use hyper::body::{Frame, SizeHint};
use tokio::{sync::Semaphore, time::timeout};

use crate::shares::{MemoryShare, RequestSender, SharedMemory};

/// An answer, or a part of a stream, of at most so many bytes is small.
const SMALL_ANSWER_BYTES: u64 = 64 * 1024;
/// Large answers share this much memory, in units of this size.
const ANSWER_UNIT_BYTES: u64 = 64 * 1024;
const MAX_ANSWER_UNITS: usize = 2_048;
/// So many large answers wait for others to be read; each of them is in memory too.
const MAX_WAITING_ANSWERS: usize = 8;
/// A large answer waits no longer.
const ANSWER_TURN_TIMEOUT: Duration = Duration::from_secs(5);

/// The memory of large answers.
pub(crate) struct AnswerBudget {
    memory: Arc<SharedMemory>,
    waiting: Semaphore,
    /// How long a large answer waits.
    patience: Duration,
}

/// There is no memory for one more large answer now.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many large answers are being sent; try again")]
pub(crate) struct AnswersUnread;

impl Default for AnswerBudget {
    fn default() -> Self {
        Self::of(MAX_ANSWER_UNITS, ANSWER_TURN_TIMEOUT)
    }
}

/// How many units so many bytes take. What is larger than all that its sender may have takes all of that.
fn units(bytes: u64, memory: &SharedMemory, sender: &RequestSender) -> u32 {
    let units = u32::try_from(bytes.div_ceil(ANSWER_UNIT_BYTES)).unwrap_or(u32::MAX);
    units.min(u32::try_from(memory.most(sender)).unwrap_or(u32::MAX))
}

impl AnswerBudget {
    fn of(units: usize, patience: Duration) -> Self {
        let memory = Arc::new(SharedMemory::new(units));
        Self { memory, waiting: Semaphore::new(MAX_WAITING_ANSWERS), patience }
    }

    /// The answer to this sender with its share of the memory, if it needs one and can have it.
    pub(crate) async fn admit(
        &self,
        response: Response,
        sender: RequestSender,
    ) -> Result<Response, AnswersUnread> {
        let held = match response.body().size_hint().exact() {
            Some(bytes) if bytes <= SMALL_ANSWER_BYTES => return Ok(response),
            Some(bytes) => Some(Arc::new(self.take(bytes, &sender).await.ok_or(AnswersUnread)?)),
            // A stream: each part takes its own.
            None => None,
        };
        let memory = Arc::clone(&self.memory);
        Ok(response.map(|inner| Body::new(BudgetedBody { inner, held, memory, sender })))
    }

    async fn take(&self, bytes: u64, sender: &RequestSender) -> Option<MemoryShare> {
        let wanted = units(bytes, &self.memory, sender);
        if let Some(held) = self.memory.try_take(wanted, sender) {
            return Some(held);
        }
        let _place = self.waiting.try_acquire().ok()?;
        timeout(self.patience, self.memory.take(wanted, sender)).await.ok()?
    }
}

struct BudgetedBody {
    inner: Body,
    /// The share of the whole answer, where its size is known.
    held: Option<Arc<MemoryShare>>,
    memory: Arc<SharedMemory>,
    sender: RequestSender,
}

/// Bytes with their share, which is given back when they are dropped: once they are written.
struct BudgetedBytes {
    bytes: Bytes,
    _held: Arc<MemoryShare>,
}

impl AsRef<[u8]> for BudgetedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl BudgetedBody {
    fn with_share(&self, bytes: Bytes) -> Result<Bytes, axum::Error> {
        let held = match &self.held {
            Some(held) => Arc::clone(held),
            None if bytes.len() as u64 <= SMALL_ANSWER_BYTES => return Ok(bytes),
            None => {
                // A stream cannot say 503 any more, and whatever waited here would be in memory: it ends.
                let wanted = units(bytes.len() as u64, &self.memory, &self.sender);
                let held = self.memory.try_take(wanted, &self.sender);
                Arc::new(held.ok_or_else(|| axum::Error::new(AnswersUnread))?)
            }
        };
        Ok(Bytes::from_owner(BudgetedBytes { bytes, _held: held }))
    }
}

impl HttpBody for BudgetedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        polled.map(|next| {
            next.map(|frame| match frame?.into_data() {
                Ok(bytes) => self.with_share(bytes).map(Frame::data),
                Err(trailers) => Ok(trailers),
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// No test takes so long.
    const LONG: Duration = Duration::from_hours(1);

    fn answer(bytes: usize) -> Response {
        Response::new(Body::from(vec![b'x'; bytes]))
    }

    async fn next(body: &mut Body) -> Result<Bytes, axum::Error> {
        let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await.unwrap();
        frame.map(|frame| frame.into_data().unwrap())
    }

    /// Whether a future has to wait, asked once.
    async fn waits<F: Future>(mut one: Pin<&mut F>) -> bool {
        poll_fn(|cx| Poll::Ready(one.as_mut().poll(cx).is_pending())).await
    }

    // HTTP-5
    #[tokio::test]
    async fn a_large_answer_waits_until_others_are_written_and_a_small_one_does_not() {
        let budget = AnswerBudget::of(16, LONG);
        let mut first =
            budget.admit(answer(1_000_000), RequestSender::Any).await.unwrap().into_body();
        assert_eq!(budget.memory.free(), 0);
        assert!(budget.admit(answer(60_000), RequestSender::Any).await.is_ok());
        // The body is over before its bytes are written, and they still count.
        let written = next(&mut first).await.unwrap();
        drop(first);
        assert_eq!((written.len(), budget.memory.free()), (1_000_000, 0));
        let mut waiting = Box::pin(budget.admit(answer(70_000), RequestSender::Any));
        assert!(waits(waiting.as_mut()).await);
        drop(written);
        let sent = waiting.await.unwrap();
        assert_eq!(budget.memory.free(), 14);
        drop(sent);
        assert_eq!(budget.memory.free(), 16);
    }

    // HTTP-5
    #[tokio::test]
    async fn h07_one_client_that_does_not_read_has_a_quarter_and_keeps_out_no_others() {
        let budget = AnswerBudget::of(16, Duration::from_millis(1));
        let (ada, eve) = (RequestSender::Named("ada".into()), RequestSender::Named("eve".into()));
        let admit =
            |bytes: usize, sender: &RequestSender| budget.admit(answer(bytes), sender.clone());
        // It has more than a quarter, so it takes a quarter.
        let unread = admit(1_000_000, &eve).await.unwrap();
        assert_eq!(budget.memory.free(), 12);
        assert_eq!(admit(70_000, &eve).await.err(), Some(AnswersUnread));
        assert!(admit(200_000, &ada).await.is_ok());
        drop(unread);
        assert!(admit(70_000, &eve).await.is_ok());
    }

    #[tokio::test]
    async fn few_large_answers_wait_and_none_for_long() {
        let budget = AnswerBudget::of(2, LONG);
        let _unread = budget.admit(answer(100_000), RequestSender::Any).await.unwrap();
        let mut waiting: Vec<_> = (0..MAX_WAITING_ANSWERS)
            .map(|_| Box::pin(budget.admit(answer(70_000), RequestSender::Any)))
            .collect();
        for one in &mut waiting {
            assert!(waits(one.as_mut()).await);
        }
        assert_eq!(
            budget.admit(answer(70_000), RequestSender::Any).await.err(),
            Some(AnswersUnread)
        );
        let impatient = AnswerBudget::of(2, Duration::from_millis(1));
        let _unread = impatient.admit(answer(100_000), RequestSender::Any).await.unwrap();
        assert_eq!(
            impatient.admit(answer(70_000), RequestSender::Any).await.err(),
            Some(AnswersUnread)
        );
    }

    #[tokio::test]
    async fn a_stream_takes_what_its_large_parts_need() {
        struct Parts(Vec<usize>);
        impl HttpBody for Parts {
            type Data = Bytes;
            type Error = axum::Error;
            fn poll_frame(
                mut self: Pin<&mut Self>,
                _: &mut Context<'_>,
            ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
                let part = self.0.pop();
                Poll::Ready(part.map(|bytes| Ok(Frame::data(vec![b'x'; bytes].into()))))
            }
        }
        let budget = AnswerBudget::of(3, LONG);
        let stream = Response::new(Body::new(Parts(vec![70_000, 70_000, 10])));
        let mut body = budget.admit(stream, RequestSender::Any).await.unwrap().into_body();
        let small = next(&mut body).await.unwrap();
        assert_eq!((small.len(), budget.memory.free()), (10, 3));
        let _large = next(&mut body).await.unwrap();
        assert_eq!(budget.memory.free(), 1);
        assert!(next(&mut body).await.is_err(), "no memory for one more, and so the stream ends");
    }
}
