//! What a run costs and what it leaves behind, with the release binary: a table of what `run_script` adds to a plain spawn,
//! of the memory that gigabytes of output take, and of the worst script, a thousand times.
//!
//! `cargo bench --bench scripts` takes five minutes; `cargo bench --bench scripts -- --runs 20` is a look.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a benchmark prints its figures, and fails loudly"
)]

use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skills_testkit::{Client, Home};

/// Ignores what it is asked, forks twice, leaves its session, holds its pipes.
const WORST: &str = "trap '' TERM INT HUP
( setsid bash -c \"trap '' TERM; (setsid sleep $SKILL_ARG_MARK &) ; sleep $SKILL_ARG_MARK\" & )
( ( sleep $SKILL_ARG_MARK & ) & )
echo begun
sleep $SKILL_ARG_MARK
sleep $SKILL_ARG_MARK
";

const SKILL: &str = "---\nkeywords: [tool]\ndescription: d\nscripts:\n\
    \x20 - {file: scripts/nothing.sh, description: d, execution: server}\n\
    \x20 - {file: scripts/much.sh, description: d, execution: server}\n\
    \x20 - {file: scripts/worst.sh, description: d, execution: server, args: [{name: mark, description: d}]}\n---\n";

/// Timeout, grace and what a reply may take more.
const ALLOWED: Duration = Duration::from_millis(1000 + 500);

fn main() {
    let runs = std::env::args().skip_while(|word| word != "--runs").nth(1);
    let runs: usize = runs.and_then(|runs| runs.parse().ok()).unwrap_or(1000);
    let home = Home::new();
    home.write("skills/tool.md", SKILL);
    home.write("skills/tool/scripts/nothing.sh", "exit 0\n");
    home.write(
        "skills/tool/scripts/much.sh",
        "yes abcdefghijklmnopqrstuvwxyz0123456789 | head -c 4294967296\n",
    );
    home.write("skills/tool/scripts/worst.sh", WORST);
    home.write("project/x", "");
    cost(&home);
    memory(&home);
    worst(&home, runs);
}

fn server(home: &Home, settings: &[&str]) -> Client {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.current_dir(home.path().join("project")).arg("--dir").arg(home.skills());
    for setting in settings {
        command.args(["--set", setting]);
    }
    Client::legacy(command, "2025-11-25")
}

fn request(file: &str, args: &Value) -> Value {
    json!({"skill_path": "tool", "file": file, "args": args})
}

/// What a run adds to starting the same script by hand, round by round so that both see the same machine.
fn cost(home: &Home) {
    let mut client = server(home, &[]);
    let script = home.skills().join("tool/scripts/nothing.sh");
    let (mut plain, mut run) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        let started = Instant::now();
        let status = Command::new("bash").arg(&script).stdin(Stdio::null()).status();
        assert!(status.expect("bash runs").success());
        plain.push(started.elapsed());
        let started = Instant::now();
        let reply = client.call("run_script", &request("scripts/nothing.sh", &json!({})));
        assert_eq!(reply.json["exit_code"], 0, "{}", reply.text);
        run.push(started.elapsed());
    }
    let (plain, run) = (median(&mut plain), median(&mut run));
    println!("| plain spawn p50 | run_script p50 | added |\n|---|---|---|");
    println!("| {plain:.1?} | {run:.1?} | {:.1?} |\n", run.saturating_sub(plain));
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Four gigabytes of output, of which one megabyte is kept.
fn memory(home: &Home) {
    let mut client = server(home, &[]);
    client.call("run_script", &request("scripts/nothing.sh", &json!({})));
    let before = peak(client.pid());
    let call = json!({"name": "run_script", "arguments": request("scripts/much.sh", &json!({}))});
    let started = Instant::now();
    let id = client.ask("tools/call", call);
    let mut supervisor = 0;
    while started.elapsed() < Duration::from_secs(1) {
        supervisor =
            children(client.pid()).into_iter().map(peak).max().unwrap_or(0).max(supervisor);
        std::thread::sleep(Duration::from_millis(20));
    }
    let answer = client.answer(id).to_string();
    assert!(answer.contains("stdout_truncated"), "the output was cut");
    println!(
        "| 4 GB of output in | server before | server after | supervisor |\n|---|---|---|---|"
    );
    let after = peak(client.pid());
    println!("| {:.1?} | {before} kB | {after} kB | {supervisor} kB |\n", started.elapsed());
}

/// The most memory a process has had, in kilobytes.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn children(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let list = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    found
}

/// The worst script again and again, four at a time: how long the slowest reply took, and who survived.
fn worst(home: &Home, runs: usize) {
    let mut client = server(home, &["scripts.timeout_seconds=1", "scripts.grace_seconds=0"]);
    let (mut slowest, mut late, mut survivors) = (Duration::ZERO, 0, 0);
    let started = Instant::now();
    for round in 0..runs.div_ceil(4) {
        let marks: Vec<String> =
            (0..4).map(|n| format!("{}.{:09}", 4000 + round * 4 + n, std::process::id())).collect();
        let begun = Instant::now();
        let asked: Vec<u64> = marks
            .iter()
            .map(|mark| {
                let arguments = request("scripts/worst.sh", &json!({"mark": mark}));
                client.ask("tools/call", json!({"name": "run_script", "arguments": arguments}))
            })
            .collect();
        for id in asked {
            let answer = client.answer(id).to_string();
            assert!(answer.contains("timeout exceeded"), "{answer}");
            let took = begun.elapsed();
            slowest = slowest.max(took);
            late += usize::from(took > ALLOWED);
        }
        survivors += marks.iter().map(|mark| alive(mark)).sum::<usize>();
    }
    println!(
        "| worst script | survivors | slowest reply (timeout 1 s, grace 0) | over {ALLOWED:?} | took |\n|---|---|---|---|---|"
    );
    println!("| {runs} runs | {survivors} | {slowest:.2?} | {late} | {:.0?} |", started.elapsed());
    assert_eq!((survivors, late), (0, 0), "something survived, or came late");
}

/// How many processes carry a mark.
fn alive(mark: &str) -> usize {
    let carries = |entry: &fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(mark)
    };
    fs::read_dir("/proc").expect("/proc").flatten().filter(carries).count()
}
