//! [`TimedStream`]: a connection that ends when its client takes too little for too long.
//!
//! A client that asks and does not read would hold what it was sent, and its connection, for ever; one that takes a little now and
//! then, for hours.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// How slowly a client may take what it is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlowestReader {
    /// While it is waited for, it takes so many bytes, or all there are,
    pub(crate) bytes: usize,
    /// in this time.
    pub(crate) within: Duration,
}

/// A stream whose writes have a time limit.
pub(crate) struct TimedStream<S> {
    inner: S,
    slowest: SlowestReader,
    /// Runs from a write that has to wait until the client has taken enough.
    waiting: Option<Pin<Box<Sleep>>>,
    /// How much the client has taken meanwhile.
    taken: usize,
}

impl<S> TimedStream<S> {
    pub(crate) fn new(inner: S, slowest: SlowestReader) -> Self {
        Self { inner, slowest, waiting: None, taken: 0 }
    }

    /// Counts what a write has written.
    fn counted(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let Poll::Ready(written) = written else { return self.wait(cx) };
        self.taken += *written.as_ref().unwrap_or(&0);
        if self.taken >= self.slowest.bytes {
            self.stop_waiting();
        }
        Poll::Ready(written)
    }

    fn stop_waiting(&mut self) {
        self.waiting = None;
        self.taken = 0;
    }

    /// Lets a write go on waiting for as long as it may.
    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if self.waiting.is_none() {
            self.taken = 0;
        }
        let within = self.slowest.within;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(within)));
        if waiting.deadline() <= Instant::now() || waiting.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.counted(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, parts);
        self.counted(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Poll::Ready(flushed) = Pin::new(&mut self.inner).poll_flush(cx) else {
            return self.wait(cx);
        };
        // Whatever there was is written.
        self.stop_waiting();
        Poll::Ready(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    /// A client with room for 8 bytes, and what is sent to it.
    fn connected(within: Duration) -> (DuplexStream, TimedStream<DuplexStream>) {
        let (client, server) = duplex(8);
        (client, TimedStream::new(server, SlowestReader { bytes: 32, within }))
    }

    /// Tries to write a byte to a client without room: whether that waits.
    async fn has_to_wait(server: &mut TimedStream<DuplexStream>) -> bool {
        let is_pending =
            poll_fn(|cx| Poll::Ready(Pin::new(&mut *server).poll_write(cx, &[1]).is_pending()));
        is_pending.await && server.waiting.is_some()
    }

    // HTTP-5
    #[tokio::test]
    async fn h07_a_client_that_takes_nothing_or_too_little_is_cut_off() {
        let (_client, mut server) = connected(Duration::from_millis(10));
        let cut_off = server.write_all(&[1; 64]).await.unwrap_err();
        assert_eq!(cut_off.kind(), io::ErrorKind::TimedOut);
        let (mut client, mut server) = connected(Duration::from_millis(50));
        let writing = tokio::spawn(async move { server.write_all(&[1; 4096]).await });
        while !writing.is_finished() {
            // At most ten bytes in the time in which it has to take 32.
            sleep(Duration::from_millis(5)).await;
            let _ = client.read_u8().await;
        }
        assert_eq!(writing.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn the_time_begins_anew_when_a_client_has_taken_enough_or_all_there_is() {
        let (mut client, mut server) = connected(Duration::from_hours(1));
        let mut read = [0; 8];
        server.write_all(&[1; 8]).await.unwrap();
        assert!(server.waiting.is_none(), "it had room");
        for taken in [0, 8, 16, 24] {
            assert!(has_to_wait(&mut server).await);
            assert_eq!(server.taken, taken);
            client.read_exact(&mut read).await.unwrap();
            server.write_all(&[1; 8]).await.unwrap();
        }
        assert!(server.waiting.is_none(), "it took 32 bytes");
        assert!(has_to_wait(&mut server).await);
        client.read_exact(&mut read).await.unwrap();
        server.write_all(&[1]).await.unwrap();
        assert!(server.waiting.is_some(), "it took one byte, and there may be more");
        server.flush().await.unwrap();
        assert!(server.waiting.is_none(), "there is no more");
    }
}
