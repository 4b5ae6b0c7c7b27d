//! Many servers on one home and one corpus, as on a machine where every editor and agent starts its own.

use std::{
    iter, thread,
    time::{Duration, Instant},
};

use serde_json::json;
use skills_testkit::Client;

use super::{
    corpus::{Corpus, name},
    edits,
    figures::{Figures, NONE, megabytes, shown, time},
    machine, serving,
    table::progress,
};

/// The columns of [`measure`].
pub(super) const COLUMNS: [(&str, &str); 14] = [
    ("skills", ""),
    ("servers", ""),
    ("last one", "ready"),
    ("last one", "settled"),
    ("processor", "% of one"),
    ("processor", "worst 5 s"),
    ("resident", "all"),
    ("resident", "each"),
    ("shared out", "all"),
    ("edit, call", "show it"),
    ("edit, call", "p50"),
    ("edit, call", "max"),
    ("log", "errors"),
    ("log", "warnings"),
];

/// Servers that are busy for longer than this are not starting, but busy.
const BUSY: Duration = Duration::from_mins(2);
/// A storm is shorter than a minute: the busiest of these shows it.
const SLICE: Duration = Duration::from_secs(5);

/// Starts so many servers at once, looks at them for a while, edits a skill and asks each of them for it.
pub(super) fn measure(skills: usize, servers: usize, seconds: u64) -> Vec<String> {
    progress(&format!("{servers} servers on {skills} skills"));
    let corpus = Corpus::write(skills);
    let (mut clients, ready) = start(&corpus, servers);
    let pids: Vec<u32> = clients.iter().map(Client::pid).collect();
    let settled = ready + machine::settled(&pids, BUSY);
    let (share, worst) = watch(&pids, seconds);
    let sum = |figure: fn(u32) -> Option<u64>| pids.iter().map(|pid| figure(*pid)).sum();
    let (resident, proportional): (Option<u64>, Option<u64>) =
        (sum(machine::resident), sum(machine::proportional));
    let (showing, taken) = edited(&corpus, &mut clients);
    let [errors, warnings] = complaints(clients);
    vec![
        skills.to_string(),
        servers.to_string(),
        shown(ready),
        shown(settled),
        share,
        worst,
        megabytes(resident),
        megabytes(resident.map(|all| all / servers as u64)),
        megabytes(proportional),
        format!("{showing}/{servers}"),
        shown(taken.p50()),
        shown(taken.max()),
        errors.to_string(),
        warnings.to_string(),
    ]
}

/// All servers, and how long it took until the last had listed its tools.
fn start(corpus: &Corpus, servers: usize) -> (Vec<Client>, Duration) {
    let started = Instant::now();
    let greeted: Vec<_> =
        iter::repeat_with(|| serving::greet(&corpus.home, "skill,flat")).take(servers).collect();
    let asked: Vec<_> = greeted
        .into_iter()
        .map(|(mut client, hello)| {
            let tools = serving::ask_for_tools(&mut client, hello);
            (client, tools)
        })
        .collect();
    let listed = |(mut client, tools): (Client, u64)| {
        let answer = client.answer(tools);
        assert_eq!(serving::count_listed(&answer), Some(corpus.folders.len()), "{answer}");
        client
    };
    let clients = asked.into_iter().map(listed).collect();
    (clients, started.elapsed())
}

/// The processor time they use together, over all seconds and in the busiest slice, in percent of one processor.
fn watch(pids: &[u32], seconds: u64) -> (String, String) {
    let percent = |used: Option<Duration>, of: Duration| {
        used.map(|used| used.as_secs_f64() / of.as_secs_f64() * 100.0)
    };
    let used_since =
        |before: Option<Duration>| Some(machine::processor_time(pids)?.saturating_sub(before?));
    let (started, at_first) = (Instant::now(), machine::processor_time(pids));
    let end = started + Duration::from_secs(seconds);
    let mut worst: Option<f64> = None;
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    {
        let (slice, before) = (Instant::now(), machine::processor_time(pids));
        thread::sleep(SLICE.min(left));
        let used = percent(used_since(before), slice.elapsed());
        worst = used.map(|used| worst.unwrap_or_default().max(used));
    }
    let share = percent(used_since(at_first), started.elapsed());
    let said = |percent: Option<f64>| {
        percent.map_or_else(|| NONE.to_owned(), |percent| format!("{percent:.1} %"))
    };
    (said(share), said(worst))
}

/// Edits one skill and asks every server for it: how many show the edit, and how long each took.
fn edited(corpus: &Corpus, clients: &mut [Client]) -> (usize, Figures) {
    let says = "This is what round 1 says.";
    edits::edit(corpus, 0, says, true);
    let mut showing = 0;
    let ask = |client: &mut Client| {
        time(|| {
            let reply = client.call("skill", &json!({"name": name(0)}));
            showing += usize::from(reply.text.contains(says));
        })
    };
    let taken = clients.iter_mut().map(ask).collect();
    (showing, Figures::of(taken))
}

/// Ends each server by closing its input: how many lines of their logs are errors, and warnings.
fn complaints(clients: Vec<Client>) -> [usize; 2] {
    let mut counts = [0, 0];
    for client in clients {
        let (status, _, log) = client.close();
        let count = |words: &[&str]| {
            log.lines().filter(|line| words.iter().any(|word| line.contains(word))).count()
        };
        let [errors, warnings] = &mut counts;
        *errors += count(&["ERROR", "panicked"]) + usize::from(!status.success());
        *warnings += count(&["WARN"]);
    }
    counts
}
