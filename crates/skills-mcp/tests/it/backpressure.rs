//! A client that asks and does not read is not read either, one that does not read the log is answered all the same, and an idle
//! server gives back the memory that it used.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skills_testkit::{Client, Home, wait_until};

use crate::{
    hostile::memory_kib,
    support::{server, skill},
};

const CALLS: usize = 3_000;
/// No more calls are taken for so long: then the server has stopped reading. Where a busy machine makes it look so, the
/// test is weaker, not wrong.
const STILL: Duration = Duration::from_secs(2);

/// Writes every call, and counts them.
fn write_calls(mut stdin: ChildStdin, written: &AtomicUsize) -> ChildStdin {
    for id in 1..=CALLS {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "get_skill", "arguments": {"skill_path": "large"}}});
        writeln!(stdin, "{call}").unwrap();
        written.store(id, Ordering::SeqCst);
    }
    stdin
}

/// Waits until a count stays the same.
fn until_still(count: &AtomicUsize) -> usize {
    let (mut last, mut since) = (usize::MAX, Instant::now());
    loop {
        let now = count.load(Ordering::SeqCst);
        if now != last {
            (last, since) = (now, Instant::now());
        }
        if now == CALLS || since.elapsed() > STILL {
            return now;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The most memory that a process has had, in MiB.
fn most_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

fn shake_hands(stdin: &mut ChildStdin, stdout: &mut BufReader<ChildStdout>) {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "silent", "version": "1"}}});
    writeln!(stdin, "{hello}").unwrap();
    stdout.read_line(&mut String::new()).unwrap();
    writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .unwrap();
}

#[test]
fn e12_a_client_that_does_not_read_is_not_read_either_and_gets_every_answer_later() {
    let home = Home::new();
    home.write(
        "skills/large.md",
        skill("large", "A long text", &"Some words of a rule.\n".repeat(100)),
    );
    let mut command: Command = server(&home);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = piped.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    shake_hands(&mut stdin, &mut stdout);
    let written = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&written);
    let writing = thread::spawn(move || write_calls(stdin, &counted));
    let taken = until_still(&written);
    assert!(taken < CALLS, "the server has taken every call of a client that reads nothing");
    let mut answered = BTreeSet::new();
    for line in (&mut stdout).lines().take(CALLS) {
        let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert_eq!(answer["result"]["isError"], false, "{:.300}", answer.to_string());
        answered.insert(answer["id"].as_u64().unwrap());
    }
    // The server lives for as long as its input is open.
    let stdin = writing.join().unwrap();
    let memory = most_memory(child.id());
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(answered.len(), CALLS);
    assert!(memory < 64, "the server needed {memory} MiB");
}

#[test]
fn a05_an_idle_server_gives_back_what_the_start_and_a_burst_of_calls_took() {
    let home = Home::new();
    home.write("skills/small.md", skill("small", "A short text", "Some words of a rule.\n"));
    let mut client = Client::legacy(server(&home), "2025-11-25");
    let pid = client.pid();
    let resident = || memory_kib(pid, "VmRSS");
    for _ in 0..2 {
        for _ in 0..200 {
            client.call("get_skill", &json!({"skill_path": "small"}));
        }
        let busy = memory_kib(pid, "VmHWM");
        wait_until("the server gives back half of it", || resident() * 2 < busy);
    }
    let answer = client.call("get_skill", &json!({"skill_path": "small"}));
    assert!(answer.text.contains("Some words of a rule."), "{}", answer.text);
}

#[test]
fn e12_a_client_that_does_not_read_the_log_is_answered_and_may_leave() {
    let home = Home::new();
    home.write("skills/a.md", skill("a", "A", "text"));
    let mut command: Command = server(&home);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let (mut stdin, mut stdout) =
        (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    shake_hands(&mut stdin, &mut stdout);
    // Together their lines are several times what a pipe holds.
    let comment = "x".repeat(2_000);
    for id in 1..=300 {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "report_usage",
            "arguments": {"skill_path": "a", "useful": true, "comment": comment}}});
        writeln!(stdin, "{call}").unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
