//! How fast the release binary answers over its standard streams, at 10 to 10,000 skills.
//!
//! Prints a table: spawn to the first `tools/list`, `ping`, `get_skill` by request and by path, resident memory. The
//! `ping` of the same connection is what the other figures are to be read against: it is the cost of a round trip.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints its figures, and fails loudly"
)]

use std::time::{Duration, Instant};

use serde_json::json;
use skills_testkit::{Client, Home};

const ROUNDS: usize = 2_000;

fn main() {
    println!(
        "| skills | spawn to tools/list | first get_skill | ping p50 | get_skill p50 | p99 | by path p50 | p99 | memory |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for skills in [10, 100, 1_000, 10_000] {
        measure(skills);
    }
}

fn measure(skills: usize) {
    let home = Home::new();
    write_tree(&home, skills);
    let mut starts: Vec<Duration> = (0..10).map(|_| start(&home).1).collect();
    let (mut client, _) = start(&home);
    let first = Instant::now();
    client.call("get_skill", &json!({"context": "start"}));
    let first = first.elapsed();
    let ping = sample(&mut client, |client, _| drop(client.request("ping", json!({}))));
    let by_request = sample(&mut client, |client, round| {
        let context = format!(
            "please update the topic{} part of the area{} module",
            round % skills,
            round % 20
        );
        client.call("get_skill", &json!({"context": context}));
    });
    let by_path = sample(&mut client, |client, round| {
        client.call("get_skill", &json!({"skill_path": path(round * 7 % skills)}));
    });
    println!(
        "| {skills} | {:.1} ms | {:.1} ms | {} | {} | {} | {} | {} | {:.1} MB |",
        millis(at(&mut starts, 50)),
        millis(first),
        micros(&ping, 50),
        micros(&by_request, 50),
        micros(&by_request, 99),
        micros(&by_path, 50),
        micros(&by_path, 99),
        memory_mb(client.pid()),
    );
}

fn start(home: &Home) -> (Client, Duration) {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.env("SKILLS_DIR", home.skills());
    let started = Instant::now();
    let mut client = Client::legacy(command, "2025-11-25");
    client.request("tools/list", json!({}));
    (client, started.elapsed())
}

fn sample(client: &mut Client, mut call: impl FnMut(&mut Client, usize)) -> Vec<Duration> {
    let mut taken: Vec<Duration> = (0..ROUNDS)
        .map(|round| {
            let started = Instant::now();
            call(client, round);
            started.elapsed()
        })
        .collect();
    taken.sort();
    taken
}

fn at(sorted: &mut [Duration], percent: usize) -> Duration {
    sorted.sort();
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default()
}

fn micros(sorted: &[Duration], percent: usize) -> String {
    let duration = sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default();
    format!("{} µs", duration.as_micros())
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Where skill number `n` lies: twenty areas, each with folders of ten.
fn path(n: usize) -> String {
    format!("area{}/group{}/skill{n}", n % 20, n / 200)
}

/// A tree of skills with six keywords, three ancestors and two kilobytes each; the same every time.
fn write_tree(home: &Home, skills: usize) {
    let body = "Prefer the simple thing that can be explained in one sentence to a colleague.\n"
        .repeat(26);
    let file = |keywords: &str, what: &str| {
        format!("---\nkeywords: [{keywords}]\ndescription: About {what}\n---\n# {what}\n\n{body}")
    };
    home.write("skills/_root.md", file("conventions, house", "everything"));
    for n in 0..skills {
        let skill = path(n);
        let mut folders = skill.rsplit('/').skip(1).collect::<Vec<_>>();
        folders.reverse();
        let group = folders.join("/");
        let area = folders.first().copied().unwrap_or_default();
        if n < 20 {
            home.write(
                &format!("skills/{area}/_index.md"),
                file(&format!("{area}, overview, start"), area),
            );
        }
        let keywords = format!(
            "topic{n}, word{}, term{}, {area}, detail{}, kind{}",
            n % 97,
            n % 389,
            n % 1013,
            n % 7
        );
        home.write(&format!("skills/{group}/skill{n}.md"), file(&keywords, &format!("topic{n}")));
    }
}

/// Resident memory in megabytes, where the system tells.
fn memory_mb(pid: u32) -> f64 {
    let mut ps = std::process::Command::new("ps");
    let output = ps.args(["-o", "rss=", "-p", &pid.to_string()]).output().expect("ps runs");
    let kilobytes: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or_default();
    kilobytes / 1024.0
}
