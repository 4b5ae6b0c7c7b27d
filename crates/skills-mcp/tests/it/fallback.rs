//! Fresh in bad circumstances: more changes than the watch queue holds, no watcher, few handles, little memory, other
//! disks inside a root, and a writer that never stops.

use std::{
    collections::VecDeque,
    fs,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skills_testkit::{Client, Home, PROMPT_TIMEOUT, TEST_TIMEOUT, wait_until};

use crate::support::{Prompt, after, bundle, run, server, signal, skill, with_all_tools};

/// What is looked at only when a call comes is looked at by a call that comes so long after the last.
const LATER: Duration = Duration::from_millis(1_100);

/// A home with this many bundles, each in a folder, whose descriptions and texts say this.
fn home_of(skills: usize, words: &str) -> Home {
    let home = Home::with("");
    for number in 0..skills {
        write(&home, number, words);
    }
    home
}

fn write(home: &Home, number: usize, words: &str) {
    let name = format!("s-{number}");
    home.write(&format!("skills/{name}/SKILL.md"), bundle(&name, words, words));
}

/// As root of a world of its own, where limits can be set. Not allowed here means that the test fails.
const OWN_WORLD: &[&str] = &["unshare", "--user", "--map-root-user", "--mount"];

#[test]
fn c09_more_changes_than_can_be_told_while_the_server_is_stopped_are_all_seen() {
    let home = home_of(20, "First");
    let mut prompt = Prompt::new(server(&home));
    prompt.reads("s-1", "First");
    signal(&prompt.client, "STOP");
    write(&home, 1, "Told");
    // Three events each, where 16,384 are kept.
    for number in 0..7_000 {
        let file = home.skills().join(format!("n-{number}"));
        fs::write(&file, "x").unwrap();
        fs::remove_file(&file).unwrap();
    }
    write(&home, 2, "Not told");
    fs::remove_dir_all(home.skills().join("s-3")).unwrap();
    fs::rename(home.skills().join("s-4"), home.skills().join("moved")).unwrap();
    home.write("skills/a/b/c/deep.md", skill("deep", "Deep", "Deep"));
    signal(&prompt.client, "CONT");
    prompt.reads("s-2", "Not told");
    prompt.reads("s-1", "Told");
    prompt.misses("s-3");
    prompt.reads("a/b/c/deep", "Deep");
    prompt.says("s-4", "skills/moved\n");
    // What came meanwhile is watched as well.
    home.write("skills/a/b/c/deep.md", skill("deep", "Edited", "Edited"));
    prompt.reads("a/b/c/deep", "Edited");
    home.write("skills/moved/SKILL.md", bundle("s-4", "Moved", "Moved"));
    prompt.reads("s-4", "Moved");
    let (_, log) = prompt.close();
    assert!(log.contains("the watch queue overflowed; scanning everything"), "{log}");
}

/// A server without a watcher: it says so once, and sees them in a call that comes a second later.
fn assert_looks_by_itself(home: &Home, command: impl Fn() -> Command, why: &str, said: usize) {
    let mut client = Client::legacy(with_all_tools(command()), "2025-11-25");
    let shows = |client: &mut Client, words: &str| {
        client.call("skills_list", &json!({"limit": 1000})).text.contains(words)
    };
    assert!(shows(&mut client, "s-1: First"));
    for round in 0..2 {
        write(home, 1, &format!("Edit {round}"));
        home.write(
            &format!("skills/new-{round}/deep/t.md"),
            skill("t", &format!("New {round}"), "t"),
        );
        // A load reads the text again.
        let loaded = client.call("skill", &json!({"name": "s-1"}));
        assert!(loaded.text.contains(&format!("Edit {round}")), "{}", loaded.text);
        fs::remove_dir_all(home.skills().join(format!("s-{}", 5 + round))).unwrap();
        thread::sleep(LATER);
        assert!(shows(&mut client, &format!("s-1: Edit {round}")));
        assert!(shows(&mut client, &format!("New {round}")));
        assert!(!shows(&mut client, &format!("s-{}: First", 5 + round)));
    }
    let (status, _, log) = client.close();
    assert_eq!(status.code(), Some(0), "{log}");
    assert_eq!(log.matches("changes are not watched").count(), said, "{log}");
    assert!(said == 0 || log.contains(why), "{log}");
    let (_, out, err) = run(command().args(["doctor", "--all"]));
    assert!(out.contains("not watched: ") && out.contains(why), "{out}{err}");
    let (_, out, err) = run(command().args(["doctor", "--json"]));
    let examined: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    assert_eq!(examined.get("watching"), Some(&Value::Null), "{out}");
    assert_eq!(examined.get("healthy"), Some(&json!(true)), "{out}");
}

// FRESH-2
#[test]
fn c03_without_a_queue_left_changes_are_seen_a_second_later_and_it_is_said_once() {
    let home = home_of(30, "First");
    let limit = "echo 0 > /proc/sys/user/max_inotify_instances";
    let command = || after(&server(&home), OWN_WORLD, limit);
    assert_looks_by_itself(&home, command, "Too many open files", 1);
}

#[test]
fn c03_with_fewer_watches_than_folders_changes_are_seen_a_second_later_and_it_is_said_once() {
    let home = home_of(30, "First");
    let limit = "echo 10 > /proc/sys/user/max_inotify_watches";
    let command = || after(&server(&home), OWN_WORLD, limit);
    assert_looks_by_itself(&home, command, "No space left on device", 1);
}

#[test]
fn c03_watches_that_run_out_later_are_no_reason_to_miss_a_change() {
    let home = home_of(5, "First");
    let limit = "echo 10 > /proc/sys/user/max_inotify_watches";
    let mut prompt = Prompt::new(after(&server(&home), OWN_WORLD, limit));
    write(&home, 1, "Told");
    prompt.reads("s-1", "Told");
    for number in 5..20 {
        write(&home, number, "More");
    }
    // The watch ends on the way, and from then on a change may be seen a second later.
    wait_until("they are listed", || {
        let listed = prompt.client.call("skills_list", &json!({"limit": 1000})).text;
        listed.contains("s-19: More")
    });
    prompt.reads("s-19", "More");
    write(&home, 19, "Edited");
    write(&home, 20, "New");
    thread::sleep(LATER);
    prompt.reads("s-19", "Edited");
    prompt.reads("s-20", "New");
    let (_, log) = prompt.close();
    assert_eq!(log.matches("changes are not watched").count(), 1, "{log}");
}

// FRESH-2
#[test]
fn c03_who_wants_no_watch_has_changes_a_second_later() {
    let home = home_of(30, "First");
    let command = || {
        let mut command = server(&home);
        command.args(["--set", "refresh.watch=false"]);
        command
    };
    assert_looks_by_itself(&home, command, "refresh.watch is false", 0);
}

/// Asks for many skills at once, in several ways; all are answered and none fails.
fn assert_all_served(client: &mut Client, skills: usize) {
    let ask = |number: usize| {
        let name = format!("s-{}", number * 7 % skills);
        match number % 3 {
            0 => json!({"name": "skill", "arguments": {"name": name}}),
            1 => json!({"name": "get_skill", "arguments": {"skill_path": name}}),
            _ => json!({"name": "skills_search", "arguments": {"query": name}}),
        }
    };
    let asked: Vec<u64> = (0..60).map(|number| client.ask("tools/call", ask(number))).collect();
    for id in asked {
        let answer = client.answer(id);
        let result = answer.get("result").unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(result.get("isError"), Some(&json!(false)), "{answer}");
        assert!(answer.to_string().contains("First"), "{answer}");
    }
}

#[test]
fn c05_with_64_handles_500_skills_are_served_to_many_calls_at_once() {
    let home = home_of(500, "First");
    let mut prompt = Prompt::new(after(&server(&home), &[], "ulimit -n 64"));
    for round in 0..3 {
        assert_all_served(&mut prompt.client, 500);
        write(&home, 500 + round, "New");
        prompt.reads(&format!("s-{}", 500 + round), "New");
    }
    let (_, log) = prompt.close();
    assert!(!log.contains("Too many open files") && !log.contains("panic"), "{log}");
}

#[test]
fn c05_with_256_mib_1000_skills_are_served_to_many_calls_at_once() {
    let home = home_of(1_000, "First");
    // The program itself is mapped too, and one with everything for debuggers is large.
    let program = fs::metadata(env!("CARGO_BIN_EXE_skills-mcp")).unwrap().len();
    let limit = format!("--as={}", 256 * 1024 * 1024 + program);
    let mut prompt = Prompt::new(after(&server(&home), &["prlimit", &limit], ""));
    for round in 0..3 {
        assert_all_served(&mut prompt.client, 1_000);
        write(&home, 7, &format!("First again {round}"));
        prompt.says("s-7", &format!("First again {round}"));
    }
    let (_, log) = prompt.close();
    assert!(!log.contains("panic"), "{log}");
}

#[test]
fn f18_another_disk_inside_a_root_is_served_and_followed() {
    let home = home_of(3, "First");
    home.write("other/far/SKILL.md", bundle("far", "Far", "Far"));
    fs::create_dir(home.skills().join("mounted")).unwrap();
    let lines = "mount --bind other skills/mounted && mount -t tmpfs none skills/s-2";
    let mut prompt = Prompt::new(after(&server(&home), OWN_WORLD, lines));
    prompt.reads("far", "Far");
    prompt.misses("s-2");
    home.write("other/far/SKILL.md", bundle("far", "Edited", "Edited"));
    prompt.reads("far", "Edited");
    home.write("other/new/deep/t.md", skill("t", "New", "New"));
    prompt.reads("mounted/new/deep/t", "New");
    home.write("other/new/deep/t.md", skill("t", "New, edited", "New, edited"));
    prompt.reads("mounted/new/deep/t", "New, edited");
    fs::remove_dir_all(home.path().join("other/new")).unwrap();
    prompt.misses("mounted/new/deep/t");
    write(&home, 1, "Edited");
    prompt.reads("s-1", "Edited");
    prompt.close();
}

/// Rewrites all skills ten times a second until it is told to stop; each whole generation is made known.
fn rewrite(home: &Home, skills: usize, done: &AtomicUsize, stop: &AtomicBool) {
    let mut generation = 1;
    while !stop.load(Ordering::Relaxed) {
        let started = Instant::now();
        for number in 0..skills {
            let folder = home.skills().join(format!("s-{number}"));
            let text = generation_text(number, generation);
            fs::write(folder.join("new"), text).unwrap();
            fs::rename(folder.join("new"), folder.join("SKILL.md")).unwrap();
        }
        done.store(generation, Ordering::SeqCst);
        generation += 1;
        thread::sleep(Duration::from_millis(100).saturating_sub(started.elapsed()));
    }
}

fn generation_text(number: usize, generation: usize) -> String {
    let filler = "A line of many.\n".repeat(300);
    let body = format!("Begins ({generation})\n{filler}Ends ({generation})");
    bundle(&format!("s-{number}"), &format!("Described ({generation})"), &body)
}

/// The one generation that a text is of.
fn generation_of(text: &str) -> usize {
    let number = |mark: &str| -> Option<usize> {
        text.split_once(&format!("{mark} ("))?.1.split_once(')')?.0.parse().ok()
    };
    let (begins, ends) = (number("Begins"), number("Ends"));
    assert_eq!(begins, ends, "mixed: {text}");
    begins.unwrap_or_else(|| panic!("half: {text}"))
}

/// Smaller than the table's, to run with every change: 200 skills and not 10,000, 8 calls in flight on one connection
/// and not 32 connections, and a second and not 50 ms, for the binary is not optimised and the machine is busy.
#[test]
fn c01_texts_rewritten_ten_times_a_second_are_whole_of_one_generation_and_never_old() {
    const SKILLS: usize = 200;
    let home = Arc::new(Home::with(""));
    for number in 0..SKILLS {
        home.write(&format!("skills/s-{number}/SKILL.md"), generation_text(number, 0));
    }
    let mut command = with_all_tools(server(&home));
    // As for users: changes never stop, so that waiting for all of them would make every call slow.
    command.args(["--set", "refresh.patience_ms=50"]);
    let mut client = Client::legacy(command, "2025-11-25");
    assert_eq!(generation_of(&client.call("skill", &json!({"name": "s-0"})).text), 0);
    let (done, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let writer = {
        let (home, done, stop) = (Arc::clone(&home), Arc::clone(&done), Arc::clone(&stop));
        thread::spawn(move || rewrite(&home, SKILLS, &done, &stop))
    };
    let started = Instant::now();
    let mut asked = VecDeque::new();
    let (mut answered, mut slowest) = (0, Duration::ZERO);
    let enough = |answered| done.load(Ordering::SeqCst) >= 5 && answered >= 100;
    while started.elapsed() < Duration::from_secs(5) || !enough(answered) {
        assert!(started.elapsed() < TEST_TIMEOUT, "{answered} answers");
        while asked.len() < 8 {
            let name = format!("s-{}", (answered * 8 + asked.len()) % SKILLS);
            let (tool, key) = [("skill", "name"), ("get_skill", "skill_path")][asked.len() % 2];
            let call = json!({"name": tool, "arguments": {key: name}});
            let known = done.load(Ordering::SeqCst);
            asked.push_back((client.ask("tools/call", call), known, Instant::now()));
        }
        let Some((id, known, since)) = asked.pop_front() else { continue };
        let answer = client.answer(id);
        slowest = slowest.max(since.elapsed());
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        let generation = generation_of(answer["result"]["content"][0]["text"].as_str().unwrap());
        assert!(generation >= known, "{generation} when {known} was written: {answer}");
        answered += 1;
    }
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    assert!(slowest < PROMPT_TIMEOUT, "{slowest:?} of {answered}");
    let (_, _, log) = client.close();
    assert!(!log.contains("panic"), "{log}");
}
