//! MCP over HTTP against a bare handler that returns the same bytes, with the same client (`wrk`) in the same run.
//!
//! `cargo bench -p skills-mcp-server --bench http [-- SKILLS] [--seconds N]` prints requests per second and percentiles of `skill`, once
//! more against a handler that reads the skill's file for each request, of `skills_search` with 200 queries in turn, and with
//! queries that are all different; then what 200 busy connections beside 1,000 idle ones get, and the memory before and after
//! 100,000 requests.
//! `SERVER=PATH` measures another build.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a benchmark prints its figures, touches files and processes, and fails loudly"
)]

#[expect(dead_code, reason = "other benchmarks use more of it")]
#[path = "scale/corpus.rs"]
mod corpus;

use std::{
    fs,
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Bytes, http::header, response::IntoResponse as _, routing::post};
use corpus::Corpus;
use serde_json::{Value, json};
use skills_testkit::{Listening, http_request};

/// Different requests, sent in turn.
const REQUESTS: usize = 200;
/// So many that none is sent twice while its answer is remembered.
const DIFFERENT_REQUESTS: usize = 20_000;
const CONNECTIONS: usize = 32;
const IDLE_CONNECTIONS: usize = 1_000;
const BUSY_CONNECTIONS: usize = 200;
const MEMORY_REQUESTS: f64 = 100_000.0;

/// What a run of wrk says.
struct Load {
    per_second: f64,
    p50: String,
    p99: String,
    total: f64,
    errors: String,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let after = |flag: &str| words.iter().skip_while(|word| *word != flag).nth(1)?.parse().ok();
    let seconds = after("--seconds").unwrap_or(10);
    let skills = words.first().and_then(|word| word.parse().ok()).unwrap_or(1_000);
    let corpus = Corpus::write(skills);
    // As on a real machine: a file that was written a moment ago is read again at every call.
    std::thread::sleep(Duration::from_millis(1_500));
    let program = std::env::var("SERVER").unwrap_or(env!("CARGO_BIN_EXE_skills-mcp").to_owned());
    let mut command = corpus.home.command(program);
    command.env("SKILLS_DIR", corpus.home.skills());
    command.args(["--tools", "all", "serve", "--http", "127.0.0.1:0", "--rate-limit", "0"]);
    let server = Listening::start(command);
    println!("{skills} skills, {CONNECTIONS} connections, {seconds} s each, wrk with one thread\n");
    println!(
        "{:<16}{:>12}{:>12}{:>8}{:>10}{:>10}{:>10}",
        "requests/s", "bare", "ours", "ratio", "p50", "p99", "bare p99"
    );
    let numbers = || (0..REQUESTS).map(|n| n * 7 % skills);
    let skill: Vec<Value> = numbers().map(|n| json!({"name": corpus::name(n)})).collect();
    let search: Vec<Value> = numbers().map(|n| json!({"query": corpus::request(n)})).collect();
    let all_files = corpus.files();
    let files: Vec<PathBuf> = numbers().map(|n| all_files[n].clone()).collect();
    let different: Vec<Value> = (0..DIFFERENT_REQUESTS)
        .map(|n| json!({"query": format!("{} {n}", corpus::request(n % skills))}))
        .collect();
    let script = compare(&corpus, &server, ["skill", "skill"], &skill, &[], seconds);
    compare(&corpus, &server, ["skill", "… and a file"], &skill, &files, seconds);
    compare(&corpus, &server, ["skills_search", "skills_search"], &search, &[], seconds);
    compare(&corpus, &server, ["skills_search", "… different"], &different, &[], seconds);
    crowd(&server, &script, seconds);
    memory(&server, &script, seconds);
}

/// Measures calls of a tool against a bare handler with the same answers, which reads one of these files for each, if there are
/// any; the script that sends them.
fn compare(
    corpus: &Corpus,
    server: &Listening,
    [tool, row]: [&str; 2],
    arguments: &[Value],
    files: &[PathBuf],
    seconds: u64,
) -> String {
    let script = corpus.home.path().join(format!("{tool}.lua"));
    fs::write(&script, lua(tool, arguments)).unwrap();
    let script = script.to_string_lossy().into_owned();
    let asked = arguments.iter().take(REQUESTS);
    let bare = bare(asked.map(|one| ask(server, tool, one)).collect(), files.to_vec());
    // In turns, so that whatever else the machine does meets both.
    let run = |address| load(address, &script, CONNECTIONS, seconds);
    let (first, ours) = (run(bare), run(server.address()));
    let (second, again) = (run(bare), run(server.address()));
    let bare = f64::midpoint(first.per_second, second.per_second);
    let own = f64::midpoint(ours.per_second, again.per_second);
    println!(
        "{row:<16}{bare:>12.0}{own:>12.0}{:>8.2}{:>10}{:>10}{:>10}{}{}",
        own / bare,
        again.p50,
        again.p99,
        second.p99,
        ours.errors,
        again.errors
    );
    script
}

/// What busy connections get beside many idle ones.
fn crowd(server: &Listening, script: &str, seconds: u64) {
    let idle: Vec<TcpStream> =
        (0..IDLE_CONNECTIONS).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let busy = load(server.address(), script, BUSY_CONNECTIONS, seconds);
    println!(
        "\n{} idle and {BUSY_CONNECTIONS} busy connections: {:.0} requests/s, p99 {}, errors:{}",
        idle.len(),
        busy.per_second,
        busy.p99,
        if busy.errors.is_empty() { " none" } else { &busy.errors }
    );
}

/// The memory before and after many requests.
fn memory(server: &Listening, script: &str, seconds: u64) {
    let before = resident(server.pid());
    let mut sent = 0.0;
    while sent < MEMORY_REQUESTS {
        sent += load(server.address(), script, CONNECTIONS, seconds).total;
    }
    println!("memory: {before} KiB, after {sent:.0} more requests {} KiB", resident(server.pid()));
}

fn message(tool: &str, arguments: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": meta}})
        .to_string()
}

/// The answer to one call.
fn ask(server: &Listening, tool: &str, arguments: &Value) -> Bytes {
    let host = server.address().to_string();
    let headers = [
        ("Host", &*host),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
    ];
    let body = message(tool, arguments);
    let answer = http_request(server.address(), "POST", "/mcp", &headers, body.as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    Bytes::from(answer.body)
}

/// A server that returns these answers in turn, reads one of the files for each, if there are any, and does nothing else.
fn bare(answers: Vec<Bytes>, files: Vec<PathBuf>) -> SocketAddr {
    let (answers, next) = (Arc::new(answers), Arc::new(AtomicUsize::new(0)));
    let handler = move |_: Bytes| {
        let number = next.fetch_add(1, Ordering::Relaxed) % answers.len();
        if let Some(file) = files.get(number) {
            std::hint::black_box(fs::read(file).unwrap());
        }
        let body = answers[number].clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], body).into_response() }
    };
    let (sender, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            let routes = Router::new().route("/mcp", post(handler));
            axum::serve(listener, routes).await.unwrap();
        });
    });
    address.recv().unwrap()
}

/// A script for wrk that sends these calls in turn.
fn lua(tool: &str, arguments: &[Value]) -> String {
    let bodies: Vec<String> =
        arguments.iter().map(|one| format!("[==[{}]==]", message(tool, one))).collect();
    format!(
        "local bodies = {{{}}}\nlocal headers = {{[\"Content-Type\"] = \"application/json\", [\"Accept\"] = \"application/json, text/event-stream\", [\"MCP-Protocol-Version\"] = \"2026-07-28\", [\"Mcp-Method\"] = \"tools/call\", [\"Mcp-Name\"] = \"{tool}\"}}\nlocal requests, next = {{}}, 0\ninit = function() for i, body in ipairs(bodies) do requests[i] = wrk.format(\"POST\", \"/mcp\", headers, body) end end\nrequest = function() next = next % #requests + 1 return requests[next] end\n",
        bodies.join(",")
    )
}

fn load(address: SocketAddr, script: &str, connections: usize, seconds: u64) -> Load {
    let mut wrk = Command::new("wrk");
    wrk.args(["-t1", "--latency", "-s", script, "-c"]).arg(connections.to_string());
    wrk.arg(format!("-d{}s", Duration::from_secs(seconds).as_secs()));
    let output = wrk.arg(format!("http://{address}")).output().expect("wrk is installed");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let behind = |word: &str| said.lines().find_map(|line| line.trim().strip_prefix(word));
    let figure = |word: &str| behind(word).map(|rest| rest.trim().to_owned()).unwrap_or_default();
    let total = said.lines().find_map(|line| line.trim().split_once(" requests in "));
    Load {
        per_second: figure("Requests/sec:").parse().unwrap_or_else(|_| panic!("{said}")),
        p50: figure("50%"),
        p99: figure("99%"),
        total: total.and_then(|(count, _)| count.parse().ok()).unwrap_or_default(),
        errors: [behind("Socket errors:"), behind("Non-2xx or 3xx responses:")]
            .into_iter()
            .flatten()
            .collect(),
    }
}

fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
