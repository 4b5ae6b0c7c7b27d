//! An endpoint for events on this machine, which takes them as well or as badly as a test wants.

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
pub enum Behaviour {
    /// It takes everything.
    Take,
    /// It answers with this status.
    Status(u16),
    /// It answers with this status and when to come again.
    RetryAfter(u16, String),
    /// It finds more events than this too many.
    AtMost(usize),
    /// It refuses for good whatever has this in it.
    Refuse(&'static str),
    /// It sends everybody on to this address.
    Redirect(String),
    /// It takes a request, and says nothing for as long as it lives.
    Hang,
    /// It gives a byte of its answer now and then.
    Drip,
    /// It answers something that is no HTTP.
    Garbage,
    /// It closes the connection once it has read the request.
    Close,
}

/// One request that came.
#[derive(Debug, Clone)]
pub struct Posted {
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

impl Posted {
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
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    behaviour: Mutex<Behaviour>,
    posted: Mutex<Vec<Posted>>,
    ended: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::expect_used, reason = "a test that cannot start its endpoint has failed")]
impl Endpoint {
    /// Starts one that takes everything.
    pub fn start() -> Self {
        Self::at("127.0.0.1:0")
    }

    /// The same, at this address.
    pub fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
        let address = listener.local_addr().expect("its number");
        let shared = Arc::new(Shared {
            behaviour: Mutex::new(Behaviour::Take),
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

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}/v1/events", self.address)
    }

    /// Behaves so from now on.
    pub fn behave(&self, behaviour: Behaviour) {
        *lock(&self.shared.behaviour) = behaviour;
    }

    /// Every request so far.
    pub fn posted(&self) -> Vec<Posted> {
        lock(&self.shared.posted).clone()
    }

    /// Every event it took, copies too.
    pub fn events(&self) -> Vec<Value> {
        let taken = |posted: &Posted| posted.status.is_some_and(|status| status < 300);
        lock(&self.shared.posted)
            .iter()
            .filter(|posted| taken(posted))
            .flat_map(Posted::events)
            .collect()
    }

    /// The numbers of the events it took.
    pub fn ids(&self) -> BTreeSet<String> {
        let id = |event: &Value| event.get("event_id").and_then(Value::as_str).map(str::to_owned);
        self.events().iter().filter_map(id).collect()
    }

    /// Whether events of the same number are the same.
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
        // Whoever waits for a connection gets one, and sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn answer(&self, stream: TcpStream) {
        let Ok(mut out) = stream.try_clone() else { return };
        let mut reader = BufReader::new(stream);
        while let Some(mut posted) = request(&mut reader) {
            let behaviour = lock(&self.behaviour).clone();
            let answer = |status: u16, more: &str| {
                format!("HTTP/1.1 {status} X\r\nContent-Length: 2\r\n{more}\r\n{{}}")
            };
            let (status, said) = match &behaviour {
                Behaviour::Status(status) => (Some(*status), answer(*status, "")),
                Behaviour::RetryAfter(status, when) => {
                    (Some(*status), answer(*status, &format!("Retry-After: {when}\r\n")))
                }
                Behaviour::AtMost(most) if posted.events().len() > *most => {
                    (Some(413), answer(413, ""))
                }
                Behaviour::Refuse(word) if posted.body.contains(word) => {
                    (Some(422), answer(422, ""))
                }
                Behaviour::Take | Behaviour::AtMost(_) | Behaviour::Refuse(_) => {
                    (Some(200), answer(200, ""))
                }
                Behaviour::Redirect(to) => (Some(307), answer(307, &format!("Location: {to}\r\n"))),
                Behaviour::Garbage => (None, "\u{0}\u{1}no such thing\r\n\r\n".to_owned()),
                Behaviour::Hang | Behaviour::Drip | Behaviour::Close => (None, String::new()),
            };
            posted.status = status;
            lock(&self.posted).push(posted);
            if behaviour == Behaviour::Hang {
                self.stall(&mut out, b"");
            } else if behaviour == Behaviour::Drip {
                self.stall(&mut out, b"HTTP/1.1 200 OK\r\n");
            }
            if out.write_all(said.as_bytes()).is_err() || status.is_none() {
                return;
            }
        }
    }

    /// Says a byte now and then, then nothing.
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

fn request(reader: &mut BufReader<TcpStream>) -> Option<Posted> {
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
    Some(Posted { at: Instant::now(), line, headers, body, status: None })
}
