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

/// Ignores what it is asked, forks twice, leaves its session, holds its pipes, and fills its private folder with folders in
/// folders and with closed ones.
const WORST: &str = "trap '' TERM INT HUP
mkdir -p $HOME/closed/in && chmod 0 $HOME/closed/in $HOME/closed
( setsid python3 -c \"import os
os.chdir(os.environ['HOME'])
for n in range($SKILL_ARG_LEVELS): os.mkdir('d'); os.chdir('d')
os.mkdir('closed', 0)\" $SKILL_ARG_MARK & )
( setsid bash -c \"trap '' TERM; (setsid sleep $SKILL_ARG_MARK &) ; sleep $SKILL_ARG_MARK\" & )
( ( sleep $SKILL_ARG_MARK & ) & )
echo begun
sleep $SKILL_ARG_MARK
sleep $SKILL_ARG_MARK
";

const SKILL: &str = "---\nkeywords: [tool]\ndescription: d\nscripts:\n\
    \x20 - {file: scripts/nothing.sh, description: d, execution: server}\n\
    \x20 - {file: scripts/much.sh, description: d, execution: server}\n\
    \x20 - {file: scripts/worst.sh, description: d, execution: server, args: [{name: mark, description: d}, {name: levels, description: d}]}\n---\n";

/// Timeout, grace and what a reply may take more.
const ALLOWED: Duration = Duration::from_millis(1000 + 500);
/// How deep the worst script nests folders: as a rule, and once in so many rounds.
const LEVELS: (usize, usize, usize) = (500, 24_000, 25);

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
    fs::create_dir(home.path().join("tmp")).expect("a folder for private folders");
    cost(&home);
    memory(&home);
    worst(&home, runs);
}

fn server(home: &Home, settings: &[&str]) -> Client {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.current_dir(home.path().join("project")).arg("--dir").arg(home.skills());
    command.env("TMPDIR", home.path().join("tmp"));
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

/// The worst script again and again, four at a time: how long the slowest reply took, who survived, which private folders
/// stayed, and how long other calls took meanwhile.
fn worst(home: &Home, runs: usize) {
    let mut client = server(home, &["scripts.timeout_seconds=1", "scripts.grace_seconds=0"]);
    let (mut slowest, mut late, mut survivors, mut left) = (Duration::ZERO, 0, 0, 0);
    let mut others = Vec::new();
    let started = Instant::now();
    for round in 0..runs.div_ceil(4) {
        let marks: Vec<String> =
            (0..4).map(|n| format!("{}.{:09}", 4000 + round * 4 + n, std::process::id())).collect();
        let (usual, deep, every) = LEVELS;
        let levels = if round % every == 0 { deep } else { usual }.to_string();
        let begun = Instant::now();
        let asked: Vec<u64> = marks
            .iter()
            .map(|mark| {
                let arguments =
                    request("scripts/worst.sh", &json!({"mark": mark, "levels": levels}));
                client.ask("tools/call", json!({"name": "run_script", "arguments": arguments}))
            })
            .collect();
        others.extend(other_calls(&mut client, begun));
        for (id, mark) in asked.into_iter().zip(&marks) {
            let mut answer = client.answer(id).to_string();
            let mut begun = begun;
            // A slot is free once the folder of its run is gone and the supervisor has ended, which may be a moment later.
            while answer.contains("server is busy") {
                std::thread::sleep(Duration::from_millis(10));
                begun = Instant::now();
                let arguments =
                    request("scripts/worst.sh", &json!({"mark": mark, "levels": levels}));
                let again = json!({"name": "run_script", "arguments": arguments});
                answer = client.request("tools/call", again).to_string();
            }
            // Whichever the supervisor notices first.
            let ended = ["timeout exceeded", "levels of folders"];
            assert!(ended.iter().any(|why| answer.contains(why)), "{answer}");
            let took = begun.elapsed();
            slowest = slowest.max(took);
            late += usize::from(took > ALLOWED);
        }
        survivors += marks.iter().map(|mark| alive(mark)).sum::<usize>();
        left += left_behind(home);
    }
    let took = started.elapsed();
    let (p99, plain) =
        (p99(others), p99(beside_plain(home, &mut client, runs.div_ceil(4).min(50))));
    println!(
        "| worst script | survivors | folders left | slowest reply (timeout 1 s, grace 0) | over {ALLOWED:?} | other calls p99 | beside plain processes with the same load | took |\n|---|---|---|---|---|---|---|---|"
    );
    println!(
        "| {runs} runs | {survivors} | {left} | {slowest:.2?} | {late} | {p99:.1?} | {plain:.1?} | {took:.0?} |"
    );
    assert_eq!((survivors, left, late), (0, 0, 0), "something survived, stayed, or came late");
}

/// How long calls that run no script take in the first 0.9 s of a round.
fn other_calls(client: &mut Client, begun: Instant) -> Vec<Duration> {
    let mut took = Vec::new();
    while begun.elapsed() < Duration::from_millis(900) {
        let called = Instant::now();
        client.call("get_skill", &json!({"skill_path": "tool"}));
        took.push(called.elapsed());
        std::thread::sleep(Duration::from_millis(10));
    }
    took
}

/// The same beside four processes that nest folders for as long, at a script's priority and without the server: what this
/// machine costs any program.
fn beside_plain(home: &Home, client: &mut Client, rounds: usize) -> Vec<Duration> {
    const NEST: &str = "import os\nwhile True: os.mkdir('d'); os.chdir('d')";
    let mut took = Vec::new();
    for round in 0..rounds {
        let folder = home.path().join(format!("plain-{round}"));
        let busy: Vec<_> = (0..4)
            .map(|n| {
                let own = folder.join(n.to_string());
                fs::create_dir_all(&own).expect("a folder");
                let mut command = Command::new("nice");
                command.args(["-n", "10", "python3", "-c", NEST]).current_dir(own);
                command.stderr(Stdio::null()).spawn().expect("python3 runs")
            })
            .collect();
        took.extend(other_calls(client, Instant::now()));
        for mut process in busy {
            process.kill().and_then(|()| process.wait()).expect("it ends");
        }
        let removed = Command::new("rm").arg("-rf").arg(&folder).status();
        assert!(removed.expect("rm runs").success());
    }
    took
}

fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() * 99 / 100]
}

/// How many private folders are there a minute after the last run, or as soon as there is none.
fn left_behind(home: &Home) -> usize {
    let count = || fs::read_dir(home.path().join("tmp")).expect("it is there").count();
    let waited = Instant::now();
    while count() > 0 && waited.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(5));
    }
    count()
}

/// How many processes carry a mark.
fn alive(mark: &str) -> usize {
    let carries = |entry: &fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(mark)
    };
    fs::read_dir("/proc").expect("/proc").flatten().filter(carries).count()
}
