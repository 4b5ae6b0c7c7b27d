//! The prompt hook: how often it is right, and how long a prompt waits for it.
//!
//! `cargo bench --bench hook` measures the time of the whole process over generated skills, beside the time that looking at
//! every file takes. With `-- --corpus DIR --requests FILE [--negatives FILE]` it prints the curve over real skills: DIR has a
//! folder with a `SKILL.md` for each; a line of the first file is JSON with `query` and `gold` (names of folders), of the second
//! with `query` and `must_not_be_first`.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench prints, and fails where something is wrong"
)]

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use serde::Deserialize;
use skills_core::{
    document::{Dialect, Parsed},
    route::ranked::{RankedIndex, SUGGESTION_LIMIT, SearchEntry, SearchText},
};
use skills_testkit::Home;

const EVERYDAY: &str = include_str!("../tests/data/everyday_prompts.txt");

#[derive(Deserialize)]
struct Request {
    query: String,
    #[serde(default)]
    gold: Vec<String>,
    #[serde(default)]
    must_not_be_first: Vec<String>,
}

fn main() {
    let option = |name: &str| std::env::args().skip_while(|word| word != name).nth(1);
    match (option("--corpus"), option("--requests")) {
        (Some(corpus), Some(requests)) => curve(&corpus, &requests, option("--negatives")),
        _ => times(),
    }
}

fn read(path: &str) -> Vec<Request> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Over all skills, and over random parts of them that hold some of the right ones.
fn curve(corpus: &str, requests: &str, negatives: Option<String>) {
    let entry = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        let bytes = fs::read(entry.path().join("SKILL.md")).ok()?;
        let (parsed, text) = Parsed::with_text(bytes, Dialect::Bundle);
        let (skill, text) = (parsed.skill?, text?);
        let fields = &skill.fields;
        let clauses: Vec<String> = fields.phrases.iter().chain(&fields.keywords).cloned().collect();
        let entry = SearchEntry::new(&SearchText {
            name: fields.name.as_deref().unwrap_or(&name),
            description: &fields.description,
            body: text.body(),
            clauses: &clauses,
        });
        Some((name, Arc::new(entry)))
    };
    let mut skills: Vec<(String, Arc<SearchEntry>)> =
        fs::read_dir(corpus).unwrap().flatten().filter_map(entry).collect();
    skills.sort_by(|a, b| a.0.cmp(&b.0));
    let requests = read(requests);
    let negatives = negatives.map(|path| read(&path)).unwrap_or_default();
    println!(
        "| skills | names one | right | names several | right among them | silent when it is not there | silent on 100 everyday prompts | names a forbidden one |\n|---|---|---|---|---|---|---|---|"
    );
    for size in [skills.len(), 1_000, 200, 50, 20] {
        let rounds = if size == skills.len() { 1 } else { 5 };
        let mut total = Outcome::default();
        for round in 0..rounds {
            total.add(&part(&skills, &requests, size, round), &requests, &negatives);
        }
        total.print(size, rounds, negatives.len());
    }
}

/// So many skills, a fifth of them right for some request, chosen by a number that looks random.
fn part(
    skills: &[(String, Arc<SearchEntry>)],
    requests: &[Request],
    size: usize,
    round: u64,
) -> Vec<(String, Arc<SearchEntry>)> {
    if size == skills.len() {
        return skills.to_vec();
    }
    let gold: BTreeSet<&str> =
        requests.iter().flat_map(|one| &one.gold).map(String::as_str).collect();
    let order = |name: &str| {
        let mut hash = round.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash ^ hash >> 29
    };
    let mut chosen = skills.to_vec();
    chosen.sort_by_key(|(name, _)| order(name));
    let (mut right, mut others): (Vec<_>, Vec<_>) =
        chosen.into_iter().partition(|(name, _)| gold.contains(name.as_str()));
    right.truncate((size / 5).max(4));
    others.truncate(size - right.len().min(size));
    right.append(&mut others);
    right.sort_by(|a, b| a.0.cmp(&b.0));
    right
}

#[derive(Default)]
struct Outcome {
    asked: usize,
    one: usize,
    one_right: usize,
    several: usize,
    several_right: usize,
    absent: usize,
    absent_silent: usize,
    everyday_silent: usize,
    forbidden: usize,
}

impl Outcome {
    fn add(
        &mut self,
        skills: &[(String, Arc<SearchEntry>)],
        requests: &[Request],
        negatives: &[Request],
    ) {
        let index = RankedIndex::new(skills.iter().map(|(_, entry)| Some(Arc::clone(entry))));
        let suggested = |query: &str| -> Vec<&str> {
            let ranking = index.search(query, SUGGESTION_LIMIT);
            let hits = ranking.hits.iter().take(ranking.suggested());
            hits.map(|hit| skills[hit.entry].0.as_str()).collect()
        };
        let there: BTreeSet<&str> = skills.iter().map(|(name, _)| name.as_str()).collect();
        for request in requests {
            let named = suggested(&request.query);
            let has = |names: &[&str]| {
                names.iter().any(|name| request.gold.iter().any(|gold| gold == name))
            };
            if !request.gold.iter().any(|gold| there.contains(gold.as_str())) {
                self.absent += 1;
                self.absent_silent += usize::from(named.is_empty());
                continue;
            }
            self.asked += 1;
            match named.len() {
                0 => {}
                1 => {
                    self.one += 1;
                    self.one_right += usize::from(has(&named));
                }
                _ => {
                    self.several += 1;
                    self.several_right += usize::from(has(&named));
                }
            }
        }
        self.everyday_silent +=
            EVERYDAY.lines().filter(|prompt| suggested(prompt).is_empty()).count();
        let forbidden = |request: &&Request| match suggested(&request.query).as_slice() {
            [only] => request.must_not_be_first.iter().any(|name| name == only),
            _ => false,
        };
        self.forbidden += negatives.iter().filter(forbidden).count();
    }

    fn print(&self, size: usize, rounds: u64, negatives: usize) {
        let percent = |part: usize, of: usize| match (part * 1_000).checked_div(of) {
            Some(thousandths) => format!("{}.{} %", thousandths / 10, thousandths % 10),
            None => "-".to_owned(),
        };
        let rounds = usize::try_from(rounds).unwrap();
        println!(
            "| {size} | {} | {} | {} | {} | {} | {:.1} | {} of {} |",
            percent(self.one, self.asked),
            percent(self.one_right, self.one),
            percent(self.several, self.asked),
            percent(self.several_right, self.several),
            percent(self.absent_silent, self.absent),
            f64::from(u32::try_from(self.everyday_silent).unwrap())
                / f64::from(u32::try_from(rounds).unwrap()),
            self.forbidden,
            negatives * rounds,
        );
    }
}

/// The time of the whole process, without a cache, with one, and of looking at every file.
fn times() {
    println!(
        "| skills | first prompt | later prompts, median of 15 | a look at every file (`find -size`) |\n|---|---|---|---|"
    );
    for count in [100, 1_000, 10_000] {
        let home = Home::new();
        for number in 0..count {
            let (deed, subject) = (number % 97, number / 97);
            let text = format!(
                "---\nname: deed{deed}-subject{subject}\ndescription: Use to deed{deed} the subject{subject}, with checks before and after.\n---\n\n{}",
                format!("Step about deed{deed} and subject{subject} number{number}.\n").repeat(30)
            );
            home.write(&format!("skills/s{number}/SKILL.md"), text);
        }
        // A file that has just changed is not trusted.
        std::thread::sleep(Duration::from_millis(1_200));
        let first = hook(&home);
        let mut later: Vec<Duration> = (0..15).map(|_| hook(&home)).collect();
        later.sort();
        let mut looks: Vec<Duration> = (0..5).map(|_| look(&home.skills())).collect();
        looks.sort();
        println!("| {count} | {first:.0?} | {:.1?} | {:.1?} |", later[7], looks[2]);
    }
}

fn hook(home: &Home) -> Duration {
    let started = Instant::now();
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.arg("--dir").arg(home.skills()).args(["hook", "claude-code"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"{\"prompt\": \"deed7 the subject3 with checks\"}")
        .unwrap();
    assert!(child.wait().unwrap().success());
    started.elapsed()
}

fn look(folder: &Path) -> Duration {
    let started = Instant::now();
    let status = Command::new("find").arg(folder).args(["-size", "+1000000k"]).status();
    assert!(status.unwrap().success());
    started.elapsed()
}
