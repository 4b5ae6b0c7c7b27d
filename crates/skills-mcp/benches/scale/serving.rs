//! One server over one corpus: from its start to its answers, and what it keeps in memory.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use skills_testkit::{Client, Home};

use super::{
    corpus::{Corpus, name, request},
    figures::{Figures, by_turns, megabytes, ratio, sample, shown},
    machine,
};

const ROUNDS: usize = 2_000;
const SEARCHES: usize = 1_000;
const PAGES: usize = 300;
/// A server among many, or one with many skills, may take its time.
const PATIENCE: Duration = Duration::from_mins(5);
/// How long a server may be busy with what it does ahead of being asked.
const BUSY: Duration = Duration::from_mins(1);

/// A server and how long it took to answer.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) client: Client,
    /// Until `initialize` was answered.
    pub(super) initialized: Duration,
    /// Until `tools/list` was.
    pub(super) listed: Duration,
}

/// Starts a server with these doors open and greets it; the answer is not waited for.
pub(super) fn greet(home: &Home, doors: &str) -> (Client, u64) {
    let mut command = home.command(machine::server());
    command.arg("--dir").arg(home.skills()).args(["--tools", doors]);
    let mut client = Client::spawn(command);
    client.set_timeout(PATIENCE);
    let hello = client.ask(
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "scale", "version": "1"}}),
    );
    (client, hello)
}

/// Waits for the answer to the greeting and asks for the list of tools, which is not waited for.
pub(super) fn ask_for_tools(client: &mut Client, hello: u64) -> u64 {
    let answer = client.answer(hello);
    assert!(answer.get("result").is_some(), "initialize: {answer}");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.ask("tools/list", json!({}))
}

/// Starts a server and waits until it has answered `initialize` and listed its tools, with this many skills.
pub(super) fn start(home: &Home, doors: &str, skills: usize) -> Started {
    let started = Instant::now();
    let (mut client, hello) = greet(home, doors);
    let tools = ask_for_tools(&mut client, hello);
    let initialized = started.elapsed();
    let answer = client.answer(tools);
    let listed = started.elapsed();
    if doors.contains("skill") {
        assert_eq!(count_listed(&answer), Some(skills), "the whole listing: {answer}");
    }
    Started { client, initialized, listed }
}

/// How many skills the listing speaks of: those it names, or those it says there are.
pub(super) fn count_listed(answer: &Value) -> Option<usize> {
    let tools = answer.pointer("/result/tools")?.as_array()?;
    let tool = tools.iter().find(|tool| tool.get("name").is_some_and(|name| name == "skill"))?;
    let listing = tool.get("description")?.as_str()?;
    match listing.lines().find(|line| line.contains(" skills are shown")) {
        Some(note) => note.split(" of ").nth(1)?.split(' ').next()?.parse().ok(),
        None => Some(listing.matches("<name>").count()),
    }
}

/// The columns of [`measure`].
pub(super) const COLUMNS: [(&str, &str); 18] = [
    ("skills", ""),
    ("start to", "initialize"),
    ("start to", "tools/list"),
    ("read all", "loop"),
    ("read all", "cat"),
    ("tools/list ÷", "loop"),
    ("tools/list ÷", "cat"),
    ("ping", "p50"),
    ("load", "p50"),
    ("load", "p99"),
    ("load", "÷ ping"),
    ("search", "p50"),
    ("search", "p99"),
    ("rg -l -i", "p50"),
    ("search ÷", "rg"),
    ("list 50", "p50"),
    ("memory", "now"),
    ("memory", "peak"),
];

/// Start, answers and memory at the size of this corpus.
pub(super) fn measure(corpus: &Corpus) -> Vec<String> {
    let skills = corpus.folders.len();
    let mut cells = vec![skills.to_string()];
    cells.extend(starting(corpus));
    let mut client = start(&corpus.home, "skill,flat", skills).client;
    // The index may be made after the first answer; a search waits for it.
    client.call("skills_search", &json!({"query": request(0), "match": "ranked"}));
    machine::settled(&[client.pid()], BUSY);
    let memory = [machine::resident(client.pid()), machine::peak(client.pid())];
    cells.extend(answers(corpus, &mut client));
    cells.extend(memory.map(megabytes));
    cells
}

/// The start, and reading every file in the same minute: one after the other, so that a busy moment hits both.
fn starting(corpus: &Corpus) -> [String; 6] {
    let skills = corpus.folders.len();
    let files = corpus.files();
    machine::read_all(&files);
    let rounds = if skills >= 100_000 { 3 } else { 9 };
    let [mut initialized, mut listed, mut read, mut cat] = [const { Vec::new() }; 4];
    for _ in 0..rounds {
        let started = start(&corpus.home, "skill,flat", skills);
        initialized.push(started.initialized);
        listed.push(started.listed);
        drop(started);
        read.push(machine::read_all(&files));
        cat.push(machine::cat_all(&corpus.home.skills()));
    }
    let [initialized, listed, read, cat] =
        [initialized, listed, read, cat].map(|taken| Figures::of(taken).p50());
    [
        shown(initialized),
        shown(listed),
        shown(read),
        shown(cat),
        ratio(listed, read),
        ratio(listed, cat),
    ]
}

/// What a client waits for, each held against the simplest that does the same.
fn answers(corpus: &Corpus, client: &mut Client) -> [String; 9] {
    let skills = corpus.folders.len();
    let [ping, load] = by_turns(ROUNDS, |turn, round| {
        if turn == 0 {
            client.request("ping", json!({}));
        } else {
            let reply = client.call("skill", &json!({"name": name(round * 7 % skills)}));
            assert!(!reply.is_error, "{}", reply.text);
        }
    });
    let search = sample(SEARCHES, |round| {
        let query = json!({"query": request(round * 7 % skills), "match": "ranked"});
        assert!(!client.call("skills_search", &query).is_error, "{query}");
    });
    let folder = corpus.home.skills();
    machine::search_all(&folder);
    let grep = Figures::of((0..5).map(|_| machine::search_all(&folder)).collect());
    let list =
        sample(PAGES, |_| assert!(!client.call("skills_list", &json!({"limit": 50})).is_error));
    [
        shown(ping.p50()),
        shown(load.p50()),
        shown(load.p99()),
        ratio(load.p50(), ping.p50()),
        shown(search.p50()),
        shown(search.p99()),
        shown(grep.p50()),
        ratio(search.p50(), grep.p50()),
        shown(list.p50()),
    ]
}
