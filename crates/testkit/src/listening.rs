//! A program that serves HTTP on a port of its choice, and a request to it, byte for byte.

use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::{Child, ChildStderr, Command, ExitStatus, Stdio},
    thread::{self, JoinHandle},
};

use crate::{TEST_TIMEOUT, patient::patient};

/// A program that has printed `listening on http://ADDRESS`, or the address alone. Dropping this value kills it.
#[derive(Debug)]
pub struct Listening {
    child: Child,
    address: SocketAddr,
    log: Option<JoinHandle<String>>,
}

/// An HTTP response.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// Status line and headers, as received.
    pub head: String,
    /// The body.
    pub body: String,
}

#[expect(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test whose server does not start, or breaks off, has failed; `kill` is how one is asked to end"
)]
impl Listening {
    /// Starts a program and waits until it listens.
    pub fn start(command: Command) -> Self {
        let mut command = patient(command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stderr = child.stderr.take().expect("its log");
        let log = thread::spawn(move || read(stderr));
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut line).expect("its first line");
        let said = line.trim().trim_start_matches("listening on ").trim_end_matches('/');
        let address = said.strip_prefix("http://").map(str::parse);
        let Some(Ok(address)) = address else {
            let _ = child.kill();
            let _ = child.wait();
            panic!("it said {line:?} and {}", log.join().unwrap_or_default());
        };
        Self { child, address, log: Some(log) }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a GET request for a path.
    pub fn get(&self, path: &str) -> HttpAnswer {
        let host = self.address.to_string();
        http_request(self.address, "GET", path, &[("Host", &host)], b"").expect("an answer")
    }

    /// Posts JSON to a path.
    pub fn post(&self, path: &str, body: &str) -> HttpAnswer {
        self.try_post(path, body).expect("an answer")
    }

    /// Posts JSON to a server that may have ended.
    pub fn try_post(&self, path: &str, body: &str) -> std::io::Result<HttpAnswer> {
        let host = self.address.to_string();
        let headers = [("Host", &*host), ("Content-Type", "application/json")];
        http_request(self.address, "POST", path, &headers, body.as_bytes())
    }

    /// Ends it at once, as `kill -9` does.
    pub fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// Asks it to end, as `kill` does, and waits: how it ended, and its log.
    pub fn stop(mut self) -> (ExitStatus, String) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").arg(&pid).status().expect("kill runs");
        assert!(asked.success(), "kill {pid}");
        let status = self.child.wait().expect("it ends");
        let log = self.log.take().and_then(|log| log.join().ok()).unwrap_or_default();
        (status, log)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(mut stderr: ChildStderr) -> String {
    let mut text = Vec::new();
    let _ = stderr.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Sends one request, its headers as they are given, and reads the answer to its end.
pub fn http_request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> std::io::Result<HttpAnswer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(TEST_TIMEOUT))?;
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    let _ = write!(head, "Content-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    // A server that refuses a body may not read it.
    let sent = stream.write_all(body);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if answer.is_empty() => return Err(error),
        _ => {}
    }
    let text = String::from_utf8_lossy(&answer);
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    let (Some(status), Some((head, body))) = (status, text.split_once("\r\n\r\n")) else {
        sent?;
        return Err(std::io::Error::other("no answer"));
    };
    Ok(HttpAnswer { status, head: head.to_owned(), body: body.to_owned() })
}
