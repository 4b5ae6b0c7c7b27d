//! [`InFlight`]: how much a client may have asked for that it has not taken yet.
//!
//! A client that sends requests and reads no answers would otherwise fill the memory of the server. Two limits stop the
//! reading of its input, and so the client: the requests that are waiting or running, counted by their size, and the
//! answers that are not written yet. A request holds its place in its extensions, so that the place is free again
//! however the request ends.

use std::sync::Arc;

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetExtensions as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// A request takes one place for each so many bytes of its line.
const PLACE_BYTES: usize = 64 * 1024;
/// Places of all requests together: 64 small requests, or one of the largest.
const MAX_PLACES: u32 = 64;
/// While so many answers are not written, no further request is read.
const MAX_UNWRITTEN_ANSWERS: usize = 16;

/// The two limits of one connection. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct InFlight {
    places: Arc<Semaphore>,
    unwritten: Arc<watch::Sender<usize>>,
}

/// The places of one request.
#[derive(Debug, Clone)]
pub(super) struct Admitted(
    #[expect(dead_code, reason = "held, not read")] Arc<OwnedSemaphorePermit>,
);

/// An answer that is being written. Dropping it says that it was.
#[derive(Debug)]
pub(super) struct Unwritten(Arc<watch::Sender<usize>>);

impl Drop for Unwritten {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl InFlight {
    pub(super) fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(MAX_PLACES as usize)), unwritten: Arc::default() }
    }

    /// Waits until a line of this size may be read as a request. Safe to abandon.
    pub(super) async fn admit(&self, bytes: usize) -> Option<Admitted> {
        // The sender lives as long as this does, so that waiting ends with a count.
        let _ = self.unwritten.subscribe().wait_for(|count| *count < MAX_UNWRITTEN_ANSWERS).await;
        let places = u32::try_from(bytes.div_ceil(PLACE_BYTES)).unwrap_or(MAX_PLACES);
        let places = places.clamp(1, MAX_PLACES);
        let permit = Arc::clone(&self.places).acquire_many_owned(places).await.ok()?;
        Some(Admitted(Arc::new(permit)))
    }

    /// Counts an answer until what this gives is dropped.
    pub(super) fn unwritten(&self) -> Unwritten {
        self.unwritten.send_modify(|count| *count += 1);
        Unwritten(Arc::clone(&self.unwritten))
    }
}

impl Admitted {
    /// Lets a request hold its places until it has been handled. A stream would hold them for as long as it is open; the
    /// number of streams has a limit of its own.
    pub(super) fn go_with(self, message: &mut ClientJsonRpcMessage) {
        if let ClientJsonRpcMessage::Request(message) = message
            && !matches!(message.request, ClientRequest::SubscriptionsListenRequest(_))
        {
            message.request.extensions_mut().insert(self);
        }
    }
}
