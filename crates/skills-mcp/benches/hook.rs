//! How long a prompt waits for the prompt hook: the time of the whole process over generated skills, without a cache and with one,
//! beside the time that looking at every file takes.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench prints, and fails where something is wrong"
)]

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use skills_testkit::Home;

fn main() {
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
