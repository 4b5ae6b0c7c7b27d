//! A plain MCP client over a child's standard streams: it sends lines and reads lines, and knows no SDK, so
//! that what goes over the wire is what the test says.

use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{TEST_TIMEOUT, patient::patient};

/// A running server and the pipe to it. Dropping it kills the server.
#[derive(Debug)]
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    log: Arc<Mutex<Vec<u8>>>,
    log_ended: Receiver<()>,
    /// Messages that were read before they were asked for.
    early: VecDeque<Value>,
    next_id: u64,
    meta: Option<Value>,
    timeout: Duration,
    /// The text of the last answer to a `tools/call`.
    last_text: String,
}

/// The answer to a `tools/call`.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Whether the tool says it failed.
    pub is_error: bool,
    /// The first text block.
    pub text: String,
    /// The text as JSON, null where it is none.
    pub json: Value,
}

#[expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot talk to its server has failed"
)]
impl Client {
    /// Starts the server; nothing is sent yet.
    pub fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut errors = child.stderr.take().expect("stderr is piped");
        let (line, lines) = mpsc::channel();
        thread::spawn(move || {
            for read in BufReader::new(stdout).lines() {
                if read.is_ok_and(|read| line.send(read).is_ok()) {
                    continue;
                }
                break;
            }
        });
        let (end, log_ended) = mpsc::channel();
        let log = Arc::new(Mutex::new(Vec::new()));
        let logged = Arc::clone(&log);
        thread::spawn(move || {
            let mut some = [0; 4096];
            while let Ok(read @ 1..) = errors.read(&mut some) {
                let mut logged = logged.lock().unwrap_or_else(PoisonError::into_inner);
                logged.extend_from_slice(some.get(..read).unwrap_or_default());
            }
            let _ = end.send(());
        });
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            lines,
            log,
            log_ended,
            early: VecDeque::new(),
            next_id: 1,
            meta: None,
            timeout: TEST_TIMEOUT,
            last_text: String::new(),
        }
    }

    /// Starts the server with the handshake of clients before 2026.
    pub fn legacy(command: Command, version: &str) -> Self {
        Self::named(command, version, "testkit").0
    }

    /// The same as a client that calls itself so; also what the server answers to the handshake.
    pub fn named(command: Command, version: &str, name: &str) -> (Self, Value) {
        let mut client = Self::spawn(patient(command));
        let answer = client.request(
            "initialize",
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}),
        );
        let welcome = answer.get("result").cloned();
        let welcome = welcome.unwrap_or_else(|| panic!("initialize: {answer}"));
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        (client, welcome)
    }

    /// Starts the server and speaks 2026-07-28: no handshake, metadata on every request.
    pub fn modern(command: Command) -> Self {
        Self::modern_named(command, "testkit")
    }

    /// The same as a client that calls itself so.
    pub fn modern_named(command: Command, name: &str) -> Self {
        let mut client = Self::spawn(patient(command));
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
        }));
        client
    }

    /// Waits this long for each line from now on, where the server is known to take longer than [`TEST_TIMEOUT`].
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Sends one message.
    pub fn send(&mut self, message: &Value) {
        self.send_raw(message.to_string().as_bytes());
    }

    /// Sends any bytes as a line.
    pub fn send_raw(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        // The read that follows notices a server that has ended.
        let _ = stdin
            .write_all(line)
            .and_then(|()| stdin.write_all(b"\n"))
            .and_then(|()| stdin.flush());
    }

    /// The next message of any kind.
    pub fn message(&mut self) -> Value {
        if let Some(message) = self.early.pop_front() {
            return message;
        }
        self.next_line()
    }

    /// The next notification of this method, if it comes within this time.
    pub fn notified(&mut self, method: &str, timeout: Duration) -> Option<Value> {
        let named = |message: &Value| message.get("method") == Some(&json!(method));
        if let Some(at) = self.early.iter().position(named) {
            return self.early.remove(at);
        }
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = self.line_within(left)?;
            if named(&message) {
                return Some(message);
            }
            self.early.push_back(message);
        }
    }

    fn next_line(&mut self) -> Value {
        let timeout = self.timeout;
        self.line_within(timeout).unwrap_or_else(|| panic!("no line within {timeout:?}"))
    }

    /// The next line, unless none comes in time; a server that has ended fails the test.
    fn line_within(&mut self, timeout: Duration) -> Option<Value> {
        let line = match self.lines.recv_timeout(timeout) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return None,
            Err(RecvTimeoutError::Disconnected) => panic!("the server has closed its output"),
        };
        let read = serde_json::from_str(&line);
        Some(read.unwrap_or_else(|error| panic!("not JSON on stdout: {error}: {line}")))
    }

    /// Sends a request and returns its number; the answer comes by [`Client::answer`].
    pub fn ask(&mut self, method: &str, mut params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if let (Some(meta), Some(params)) = (&self.meta, params.as_object_mut()) {
            params.insert("_meta".to_owned(), meta.clone());
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The answer to a request, whatever else arrives before it.
    pub fn answer(&mut self, id: u64) -> Value {
        self.next_where(|message| message.get("id") == Some(&json!(id)))
    }

    /// The next notification of this method, whatever else arrives before it.
    pub fn notification(&mut self, method: &str) -> Value {
        self.next_where(|message| message.get("method") == Some(&json!(method)))
    }

    fn next_where(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.early.iter().position(&is_it) {
            return self.early.remove(at).unwrap_or_default();
        }
        loop {
            let message = self.next_line();
            if is_it(&message) {
                return message;
            }
            self.early.push_back(message);
        }
    }

    /// All messages that were not asked for yet, and all that arrive until the server closes its output.
    pub fn rest(&mut self) -> Vec<Value> {
        self.arrivals(TEST_TIMEOUT)
    }

    /// All messages that were not asked for yet, and all that arrive within this time.
    pub fn arrivals(&mut self, within: Duration) -> Vec<Value> {
        let until = Instant::now() + within;
        while let Ok(line) =
            self.lines.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            let message = serde_json::from_str(&line);
            self.early.push_back(message.unwrap_or_else(|error| panic!("{error}: {line}")));
        }
        self.early.drain(..).collect()
    }

    /// Sends a request and waits for its answer.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Calls a tool; a protocol error fails the test.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Reply {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = answer.get("result").unwrap_or_else(|| panic!("{tool}: {answer}"));
        let text = result
            .pointer("/content/0/text")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
        self.last_text.clone_from(&text);
        Reply { is_error, json: serde_json::from_str(&text).unwrap_or_default(), text }
    }

    /// The text of the last answer to a tool call, for the message of a failed test.
    pub fn last_text(&self) -> &str {
        &self.last_text
    }

    /// Calls a tool wrongly: the code and message of the protocol's error, or of the result that stands for it since 2025-11-25.
    pub fn refused(&mut self, tool: &str, arguments: &Value) -> (i64, String) {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        if answer.pointer("/result/isError") == Some(&Value::Bool(true)) {
            let text = answer.pointer("/result/content/0/text").and_then(Value::as_str);
            let text = text.unwrap_or_default();
            let json: Value = serde_json::from_str(text).unwrap_or_default();
            let message = json.get("message").and_then(Value::as_str);
            return (-32602, message.unwrap_or(text).to_owned());
        }
        let error =
            answer.get("error").unwrap_or_else(|| panic!("{tool} was not refused: {answer}"));
        let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
        (code, error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    /// The child's process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Closes the server's input; its output can still be read.
    pub fn end_input(&mut self) {
        drop(self.stdin.take());
    }

    /// Closes the server's input and waits for it to exit: its status, how long it took, its log.
    pub fn close(mut self) -> (ExitStatus, Duration, String) {
        self.end_input();
        self.wait()
    }

    /// Waits for the server to exit by itself.
    pub fn wait(&mut self) -> (ExitStatus, Duration, String) {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("the child can be waited for") {
                let took = started.elapsed();
                let _ = self.log_ended.recv_timeout(TEST_TIMEOUT);
                return (status, took, self.log());
            }
            assert!(started.elapsed() < TEST_TIMEOUT, "the server does not exit");
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Home;

    #[test]
    fn a_notification_is_found_among_answers_and_missed_in_time() {
        let mut command = Home::new().command("/bin/sh");
        let script = r#"echo '{"id":1}'; echo '{"method":"told"}'; echo '{"id":2}'; read end"#;
        command.args(["-c", script]).current_dir("/");
        let mut client = Client::spawn(command);
        assert_eq!(client.notified("told", TEST_TIMEOUT), Some(json!({"method": "told"})));
        assert_eq!(client.notified("told", Duration::from_millis(1)), None);
        assert_eq!(client.answer(2), json!({"id": 2}));
        assert_eq!(client.answer(1), json!({"id": 1}), "what came earlier is kept");
    }
}
