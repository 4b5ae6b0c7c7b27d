//! A local HTTP endpoint for events, which behaves as well or as badly as a test wants.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// How an endpoint behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointBehaviour {
    /// It accepts everything.
    Take,
    /// It answers with this status.
    Status(u16),
    /// It answers with this status and a `Retry-After` header.
    RetryAfter(u16, String),
    /// It refuses more events than this at once with status 413.
    AtMost(usize),
    /// It refuses bodies that contain this word with status 422.
    Refuse(&'static str),
    /// It redirects to this address.
    Redirect(String),
    /// It reads a request and never answers.
    Hang,
    /// It sends its answer byte by byte, with pauses.
    Drip,
    /// It answers with bytes that are not HTTP.
    Garbage,
    /// It closes the connection once it has read the request.
    Close,
}

/// One received request.
#[derive(Debug, Clone)]
pub struct PostedRequest {
    /// When.
    pub at: Instant,
    /// Its first line.
    pub line: String,
    /// Its headers, their names in small letters.
    pub headers: BTreeMap<String, String>,
    /// Its body.
    pub body: String,
    /// The status it was answered with; none if it was not.
    pub status: Option<u16>,
}

impl PostedRequest {
    /// The events in it.
    pub fn events(&self) -> Vec<Value> {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        body.get("events").and_then(Value::as_array).cloned().unwrap_or_default()
    }
}

/// An endpoint. Dropping it ends it.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    shared: Arc<EndpointState>,
}

#[derive(Debug)]
struct EndpointState {
    behaviour: Mutex<EndpointBehaviour>,
    posted: Mutex<Vec<PostedRequest>>,
    ended: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::expect_used, reason = "a test that cannot start its endpoint has failed")]
impl Endpoint {
    /// Starts one that accepts everything.
    pub fn start() -> Self {
        Self::at("127.0.0.1:0")
    }

    /// The same, at this address.
    pub fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
        let address = listener.local_addr().expect("its number");
        let shared = Arc::new(EndpointState {
            behaviour: Mutex::new(EndpointBehaviour::Take),
            posted: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.ended.load(Ordering::Relaxed) {
                    break;
                }
                let serving = Arc::clone(&serving);
                thread::spawn(move || serving.answer(stream));
            }
        });
        Self { address, shared }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}/v1/events", self.address)
    }

    /// Sets its behaviour from now on.
    pub fn behave(&self, behaviour: EndpointBehaviour) {
        *lock(&self.shared.behaviour) = behaviour;
    }

    /// Every request so far.
    pub fn posted(&self) -> Vec<PostedRequest> {
        lock(&self.shared.posted).clone()
    }

    /// Every event it accepted, copies included.
    pub fn events(&self) -> Vec<Value> {
        let taken = |posted: &PostedRequest| posted.status.is_some_and(|status| status < 300);
        lock(&self.shared.posted)
            .iter()
            .filter(|posted| taken(posted))
            .flat_map(PostedRequest::events)
            .collect()
    }

    /// The ids of the events it accepted.
    pub fn ids(&self) -> BTreeSet<String> {
        let id = |event: &Value| event.get("event_id").and_then(Value::as_str).map(str::to_owned);
        self.events().iter().filter_map(id).collect()
    }

    /// Whether events of the same id are equal.
    pub fn copies_agree(&self) -> bool {
        let events = self.events();
        let mut known: BTreeMap<String, &Value> = BTreeMap::new();
        events.iter().all(|event| {
            let id = event.get("event_id").map(ToString::to_string).unwrap_or_default();
            *known.entry(id).or_insert(event) == event
        })
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // A last connection wakes the listener, which sees that it has ended.
        let _ = TcpStream::connect(self.address);
    }
}

impl EndpointState {
    fn answer(&self, stream: TcpStream) {
        let Ok(mut out) = stream.try_clone() else { return };
        let mut reader = BufReader::new(stream);
        while let Some(mut posted) = request(&mut reader) {
            let behaviour = lock(&self.behaviour).clone();
            let answer = |status: u16, more: &str| {
                format!("HTTP/1.1 {status} X\r\nContent-Length: 2\r\n{more}\r\n{{}}")
            };
            let (status, response) = match &behaviour {
                EndpointBehaviour::Status(status) => (Some(*status), answer(*status, "")),
                EndpointBehaviour::RetryAfter(status, when) => {
                    (Some(*status), answer(*status, &format!("Retry-After: {when}\r\n")))
                }
                EndpointBehaviour::AtMost(most) if posted.events().len() > *most => {
                    (Some(413), answer(413, ""))
                }
                EndpointBehaviour::Refuse(word) if posted.body.contains(word) => {
                    (Some(422), answer(422, ""))
                }
                EndpointBehaviour::Take
                | EndpointBehaviour::AtMost(_)
                | EndpointBehaviour::Refuse(_) => (Some(200), answer(200, "")),
                EndpointBehaviour::Redirect(to) => {
                    (Some(307), answer(307, &format!("Location: {to}\r\n")))
                }
                EndpointBehaviour::Garbage => (None, "\u{0}\u{1}no such thing\r\n\r\n".to_owned()),
                EndpointBehaviour::Hang | EndpointBehaviour::Drip | EndpointBehaviour::Close => {
                    (None, String::new())
                }
            };
            posted.status = status;
            lock(&self.posted).push(posted);
            if behaviour == EndpointBehaviour::Hang {
                self.stall(&mut out, b"");
            } else if behaviour == EndpointBehaviour::Drip {
                self.stall(&mut out, b"HTTP/1.1 200 OK\r\n");
            }
            if out.write_all(response.as_bytes()).is_err() || status.is_none() {
                return;
            }
        }
    }

    /// Sends one byte at a time with pauses, then nothing until the end.
    fn stall(&self, out: &mut TcpStream, bytes: &[u8]) {
        let mut bytes = bytes.iter();
        while !self.ended.load(Ordering::Relaxed) {
            if bytes.next().is_some_and(|byte| out.write_all(&[*byte]).is_err()) {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<PostedRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body).ok()?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let line = line.trim_end().to_owned();
    Some(PostedRequest { at: Instant::now(), line, headers, body, status: None })
}
