//! Two replicas behind the proxy of `deploy/`: both answer, and where one is killed no call fails but those in flight.

use std::{
    fs,
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use serde_json::{Value, json};
use skills_testkit::{Home, HttpAnswer, Listening, http_request, wait_until};

const CLIENTS: usize = 8;
const CALLS_OF_A_CLIENT: usize = 200;
/// One replica is killed once so many calls were answered.
const CALLS_BEFORE_KILL: usize = CLIENTS * CALLS_OF_A_CLIENT / 4;

/// nginx on a port of loopback.
pub(crate) struct Proxy {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Proxy {
    /// With the configuration of `deploy/` before these replicas.
    fn start(home: &Home, replicas: [SocketAddr; 2]) -> Self {
        // Another program may be faster to take a port that was free; then there is another.
        let start = |_| {
            let address = free_address();
            Self::try_start(home, address, &configuration(home.path(), address, replicas))
        };
        (0..10).find_map(start).expect("nginx starts")
    }

    /// With this configuration, which listens here and keeps its own files in this home; nothing if it ends at once.
    pub(crate) fn try_start(home: &Home, address: SocketAddr, text: &str) -> Option<Self> {
        let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let folder = home.path().display();
        let temporary = kinds.map(|kind| format!("  {kind}_temp_path {folder}/{kind};\n"));
        let file = home.path().join("nginx.conf");
        fs::write(&file, text.replacen("http {\n", &format!("http {{\n{}", temporary.concat()), 1))
            .unwrap();
        let mut command = Command::new("nginx");
        command.arg("-p").arg(home.path()).arg("-c").arg(&file);
        command.args(["-g", &format!("daemon off; pid {folder}/nginx.pid;")]);
        let mut process =
            command.stderr(Stdio::null()).spawn().expect("apt-get install nginx-light");
        let mut has_ended = false;
        wait_until("nginx listens", || {
            has_ended = process.try_wait().unwrap().is_some();
            has_ended || TcpStream::connect(address).is_ok()
        });
        (!has_ended).then_some(Self { process, address })
    }
}

/// An address of loopback that is free now.
pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // The first process ends the others; killed, it could not.
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

/// The file of `deploy/` with other addresses and without TLS.
fn configuration(folder: &Path, listen: SocketAddr, replicas: [SocketAddr; 2]) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/nginx.conf");
    let text = fs::read_to_string(file).unwrap();
    let [first, second] = replicas.map(|address| address.to_string());
    let changed = [
        ("skills-1:8080", first),
        ("skills-2:8080", second),
        (
            "listen 443 ssl;\n    server_name ${SKILLS_HOST}",
            format!("listen {listen};\n    server_name _"),
        ),
        ("listen 443 ssl", format!("listen unix:{}/stats.socket", folder.display())),
        ("server_name ${STATS_HOST}", "server_name stats.example.org".to_owned()),
        ("collector:8787", "127.0.0.1:8787".to_owned()),
    ];
    let text = changed.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "deploy/nginx.conf has no `{from}`");
        text.replace(from, to)
    });
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("ssl_certificate"));
    lines.collect::<Vec<_>>().join("\n")
}

fn replica(home: &Home) -> Listening {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.arg("--dir").arg(home.skills()).args([
        "--tools",
        "skill",
        "serve",
        "--http",
        "127.0.0.1:0",
    ]);
    command.args(["--rate-limit", "0"]);
    Listening::start(command)
}

/// Calls `skill` as a client of MCP 2026-07-28 does.
fn call(address: SocketAddr) -> std::io::Result<HttpAnswer> {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "skill", "arguments": {"name": "heron"},
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}},
    }});
    let host = address.to_string();
    let headers = [
        ("Host", &*host),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "skill"),
    ];
    http_request(address, "POST", "/mcp", &headers, request.to_string().as_bytes())
}

fn is_answered(answer: std::io::Result<HttpAnswer>) -> bool {
    answer.is_ok_and(|answer| answer.status == 200 && answer.body.contains("Begin with the beak."))
}

/// Whether a replica has answered a call.
fn has_answered(replica: &Listening) -> bool {
    let metrics = replica.get("/metrics").body;
    metrics.lines().any(|line| {
        line.contains("calls_total{") && line.contains("skill") && !line.ends_with(" 0")
    })
}

// DEPLOY-1
#[test]
fn a_replica_that_is_killed_under_load_costs_no_call_but_those_in_flight() {
    let home = Home::new();
    home.write(
        "skills/heron/SKILL.md",
        "---\nname: heron\ndescription: Draw a heron\n---\nBegin with the beak.\n",
    );
    let (first, second) = (replica(&home), replica(&home));
    let proxy = Proxy::start(&home, [first.address(), second.address()]);
    let answered = AtomicUsize::new(0);
    let client = || {
        let mut failed = Vec::new();
        for _ in 0..CALLS_OF_A_CLIENT {
            let begun = Instant::now();
            if is_answered(call(proxy.address)) {
                answered.fetch_add(1, Ordering::SeqCst);
            } else {
                failed.push(begun);
            }
        }
        failed
    };
    let (killed, failed) = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        wait_until("some calls were answered", || {
            answered.load(Ordering::SeqCst) >= CALLS_BEFORE_KILL
        });
        assert!(has_answered(&first) && has_answered(&second), "both replicas answer");
        first.kill();
        let killed = Instant::now();
        let failed: Vec<Instant> =
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        (killed, failed)
    });
    // On a busy machine the end of a process takes a while, and a client that lost a call in it may lose the next one, too.
    assert!(failed.iter().all(|begun| *begun <= killed), "a call that began later failed");
    assert_eq!(answered.into_inner() + failed.len(), CLIENTS * CALLS_OF_A_CLIENT);
}

// DEPLOY-1
#[test]
fn a_session_of_an_older_client_stays_with_one_replica() {
    let home = Home::new();
    home.write(
        "skills/heron/SKILL.md",
        "---\nname: heron\ndescription: Draw a heron\n---\nBegin with the beak.\n",
    );
    let (first, second) = (replica(&home), replica(&home));
    let proxy = Proxy::start(&home, [first.address(), second.address()]);
    let host = proxy.address.to_string();
    let post = |session: &str, message: &Value| {
        let mut headers = vec![
            ("Host", &*host),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        if !session.is_empty() {
            headers.push(("Mcp-Session-Id", session));
        }
        http_request(proxy.address, "POST", "/mcp", &headers, message.to_string().as_bytes())
            .unwrap()
    };
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "older", "version": "1"}}});
    let welcome = post("", &hello);
    let session = welcome.head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
    });
    let session = session.unwrap_or_else(|| panic!("no session: {}", welcome.head));
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&session, &initialized).status, 202);
    for id in 1..=20 {
        let load = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "skill", "arguments": {"name": "heron"}}});
        let answer = post(&session, &load);
        assert!(answer.body.contains("Begin with the beak."), "{} {}", answer.head, answer.body);
    }
}
