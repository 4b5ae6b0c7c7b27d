//! [`Lines`]: one JSON-RPC message a line, over any pair of streams.
//!
//! The SDK's own line transport drops what it cannot parse without a word; here everything malformed is
//! answered. Clones share the streams, so that serving can start again after a message that the SDK does not
//! expect before the handshake.

use std::{borrow::Cow, collections::HashSet, io, sync::Arc};

use rmcp::{
    ErrorData, RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcNotification,
        JsonRpcRequest, RequestId, ServerJsonRpcMessage,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::{Mutex, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{
    in_flight::{Admitted, InFlight},
    overlong::RequestScan,
};

/// No request of ours needs more.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// A server's end of a pair of streams.
#[derive(Debug)]
pub struct Lines<R, W> {
    input: Arc<Mutex<Input<R>>>,
    output: Arc<Mutex<W>>,
    ended: CancellationToken,
    in_flight: InFlight,
    /// Requests that are answered only when the client or the server ends them.
    streams: Arc<watch::Sender<HashSet<RequestId>>>,
    /// The answer to a malformed line, on its way. A task of its own, because the SDK may abandon
    /// [`Transport::receive`] at any moment, and half a line must not be left behind.
    answering: Option<JoinHandle<io::Result<()>>>,
}

impl<R, W> Clone for Lines<R, W> {
    fn clone(&self) -> Self {
        Self {
            input: Arc::clone(&self.input),
            output: Arc::clone(&self.output),
            ended: self.ended.clone(),
            in_flight: self.in_flight.clone(),
            streams: Arc::clone(&self.streams),
            answering: None,
        }
    }
}

/// What was read of the current line stays here when a read is abandoned half-way.
#[derive(Debug)]
struct Input<R> {
    stream: BufReader<R>,
    line: Vec<u8>,
    /// The current line has been read to its end.
    complete: bool,
    /// The current line is over the cap; what is left of it is skipped, but for the request's `id`.
    skipped: Option<RequestScan>,
}

enum Line {
    Whole(Vec<u8>, Option<Admitted>),
    /// Over the cap, with the `id` of the request that it is.
    TooLong(Option<RequestId>),
    End,
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    /// Takes the two streams.
    pub fn new(input: R, output: W) -> Self {
        let stream = BufReader::new(input);
        let input = Input { stream, line: Vec::new(), complete: false, skipped: None };
        Self {
            input: Arc::new(Mutex::new(input)),
            output: Arc::new(Mutex::new(output)),
            ended: CancellationToken::new(),
            in_flight: InFlight::new(),
            streams: Arc::default(),
            answering: None,
        }
    }

    /// Cancelled when the client has gone: its end of either stream is closed.
    pub fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }
}

impl<R, W> Lines<R, W> {
    /// Notes which streams a client opens and cancels; those it cancels get no answer.
    fn follow(&self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(JsonRpcRequest { id, request, .. }) => {
                if matches!(request, ClientRequest::SubscriptionsListenRequest(_)) {
                    self.streams.send_if_modified(|streams| streams.insert(id.clone()));
                }
            }
            ClientJsonRpcMessage::Notification(JsonRpcNotification {
                notification: ClientNotification::CancelledNotification(cancelled),
                ..
            }) => close(&self.streams, cancelled.params.request_id.as_ref()),
            ClientJsonRpcMessage::Notification(_)
            | ClientJsonRpcMessage::Response(_)
            | ClientJsonRpcMessage::Error(_) => {}
        }
    }
}

fn close(streams: &watch::Sender<HashSet<RequestId>>, id: Option<&RequestId>) {
    if let Some(id) = id {
        streams.send_if_modified(|streams| streams.remove(id));
    }
}

impl<R: AsyncRead + Unpin> Input<R> {
    /// The next line, once the client has taken enough of what it asked for before. Safe to abandon: only bytes already
    /// in `line`, or scanned, have been taken from the stream.
    async fn next(&mut self, in_flight: &InFlight) -> io::Result<Line> {
        loop {
            if self.complete {
                let admitted = in_flight.admit(self.line.len()).await;
                self.complete = false;
                return Ok(Line::Whole(std::mem::take(&mut self.line), admitted));
            }
            let available = self.stream.fill_buf().await?;
            if available.is_empty() {
                if let Some(skipped) = self.skipped.take() {
                    return Ok(Line::TooLong(skipped.id()));
                }
                if self.line.is_empty() {
                    return Ok(Line::End);
                }
                self.complete = true;
                continue;
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let taken = newline.map_or(available.len(), |at| at + 1);
            let part = available.get(..taken).unwrap_or(available);
            match &mut self.skipped {
                Some(skipped) => skipped.take(part),
                None => self.line.extend_from_slice(part),
            }
            self.stream.consume(taken);
            if self.line.len() > MAX_LINE_BYTES {
                let mut skipped = RequestScan::default();
                skipped.take(&std::mem::take(&mut self.line));
                self.skipped = Some(skipped);
            }
            if newline.is_some() {
                if let Some(skipped) = self.skipped.take() {
                    return Ok(Line::TooLong(skipped.id()));
                }
                self.complete = true;
            }
        }
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn name() -> Cow<'static, str> {
        "lines".into()
    }

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (output, ended) = (Arc::clone(&self.output), self.ended.clone());
        let streams = Arc::clone(&self.streams);
        let unwritten = self.in_flight.unwritten();
        async move {
            let answered = match &message {
                ServerJsonRpcMessage::Response(answer) => Some(answer.id.clone()),
                ServerJsonRpcMessage::Error(error) => error.id.clone(),
                ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
            };
            let sent = write(output, message).await;
            drop(unwritten);
            close(&streams, answered.as_ref());
            if sent.is_err() {
                ended.cancel();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answering) = &mut self.answering {
                let _ = answering.await;
                self.answering = None;
            }
            // Once an answer could not be written no client is left to answer, though the input may stay open.
            let line = tokio::select! {
                line = async { self.input.lock().await.next(&self.in_flight).await } => line,
                () = self.ended.cancelled() => break,
            };
            let problem = match line {
                Ok(Line::Whole(line, admitted)) => match read(&line) {
                    Ok(Some(mut message)) => {
                        self.follow(&message);
                        if let Some(admitted) = admitted {
                            admitted.go_with(&mut message);
                        }
                        return Some(message);
                    }
                    Ok(None) => continue,
                    Err(problem) => *problem,
                },
                Ok(Line::TooLong(id)) => (
                    ErrorData::invalid_request(
                        format!("the message is over {MAX_LINE_BYTES} bytes"),
                        None,
                    ),
                    id,
                ),
                Ok(Line::End) => break,
                Err(error) => {
                    tracing::error!("reading from the client failed: {error}");
                    break;
                }
            };
            tracing::debug!("malformed message: {}", problem.0.message);
            let answer = ServerJsonRpcMessage::error(problem.0, problem.1);
            self.answering = Some(tokio::spawn(self.send(answer)));
        }
        self.ended.cancel();
        // This ends the streams. The SDK must not know yet: once it does it sends nothing but answers, and a stream
        // opened just before would wait for its first word in vain.
        let _ = self.streams.subscribe().wait_for(HashSet::is_empty).await;
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.output.lock().await.flush().await
    }
}

async fn write<W: AsyncWrite + Unpin>(
    output: Arc<Mutex<W>>,
    message: ServerJsonRpcMessage,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(&message)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

pub(super) type Problem = Box<(ErrorData, Option<RequestId>)>;

/// Reads one line: a message, nothing worth answering, or what to answer.
pub(super) fn read(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Problem> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let parse_error = |error: serde_json::Error| {
        Box::new((ErrorData::parse_error(format!("not JSON: {error}"), None), None))
    };
    let value: Value = serde_json::from_slice(line).map_err(parse_error)?;
    let Value::Object(object) = &value else {
        let message = "a message is one JSON object a line; batches are not supported";
        return Err(Box::new((ErrorData::invalid_request(message, None), None)));
    };
    let has = |key: &str| object.contains_key(key);
    let is_notification = has("method") && !has("id");
    let is_response = !has("method") && (has("result") || has("error"));
    let id = object.get("id").cloned();
    match serde_json::from_value(value) {
        Ok(message) => Ok(Some(message)),
        // A notification we do not know, or a stray response: neither has an answer.
        Err(_) if is_notification || is_response => Ok(None),
        Err(error) => {
            let id = id.and_then(|id| serde_json::from_value::<RequestId>(id).ok());
            Err(Box::new((
                ErrorData::invalid_request(format!("not a JSON-RPC request: {error}"), None),
                id,
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &[u8]) -> Option<i32> {
        read(line).err().map(|problem| problem.0.code.0)
    }

    #[test]
    fn p01_p03_malformed_lines_have_their_code() {
        assert_eq!(code(b"garbage"), Some(-32700));
        assert_eq!(code(b"{\"jsonrpc\":"), Some(-32700));
        assert_eq!(code(b"\xff\xfe"), Some(-32700));
        assert_eq!(code("[".repeat(100_000).as_bytes()), Some(-32700));
        assert_eq!(code(b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]"), Some(-32600));
        assert_eq!(code(b"42"), Some(-32600));
        for id in ["null", "1.5", "18446744073709551616", "{}", "true"] {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}");
            assert_eq!(code(line.as_bytes()), Some(-32600), "{id}");
        }
        for line in ["{}", "{\"a\":1}", "{\"jsonrpc\":\"2.0\"}"] {
            assert_eq!(code(line.as_bytes()), Some(-32600), "{line}");
        }
        let (_, id) = *read(b"{\"jsonrpc\":\"2.0\",\"id\":1}").unwrap_err();
        assert_eq!(id, Some(RequestId::Number(1)), "its sender waits for an answer");
    }

    #[test]
    fn blank_lines_and_unknown_notifications_are_passed_over() {
        for line in [&b""[..], b"  \r\n", b"{\"jsonrpc\":\"2.0\",\"result\":{}}"] {
            assert!(matches!(read(line), Ok(None)), "{}", String::from_utf8_lossy(line));
        }
    }

    #[tokio::test]
    async fn p01_a_line_over_the_cap_is_answered_and_the_next_one_is_read() {
        let mut input = vec![b'x'; MAX_LINE_BYTES + 10];
        input.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}");
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let mut lines = Lines::new(io::Cursor::new(input), ours);
        let message = lines.receive().await.expect("the ping behind the long line");
        assert!(
            matches!(message, ClientJsonRpcMessage::Request(request) if request.id == RequestId::Number(7))
        );
        let mut answer = String::new();
        BufReader::new(theirs).read_line(&mut answer).await.unwrap();
        assert!(answer.contains("-32600"), "{answer}");
        assert!(lines.receive().await.is_none());
    }

    #[tokio::test]
    async fn e13_overlong_a_request_over_the_cap_is_refused_with_its_id() {
        let long = "x".repeat(MAX_LINE_BYTES);
        let first = format!("{{\"id\":7,\"method\":\"x\",\"params\":\"{long}\"}}\n");
        // Its end is the end of the input.
        let last = format!("{{\"method\":\"x\",\"params\":\"{long}{long}\",\"id\":\"eight\"}}");
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let mut lines = Lines::new(io::Cursor::new(first + &last), ours);
        assert!(lines.receive().await.is_none());
        let mut answers = BufReader::new(theirs).lines();
        for id in ["\"id\":7", "\"id\":\"eight\""] {
            let answer = answers.next_line().await.unwrap().unwrap();
            assert!(answer.contains("-32600") && answer.contains(id), "{answer}");
        }
    }
}
