//! What `stats` takes over a large history, with the release binary: bytes and time, beside what reading takes alone.
//!
//! `cargo bench --bench stats` writes a million events; `cargo bench --bench stats -- --events 100000` is a look.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a benchmark prints its figures, and fails loudly"
)]

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    process::Stdio,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use skills_testkit::{Home, events::Events};

const DAY: u64 = 86_400_000;

fn main() {
    let events = std::env::args().skip_while(|word| word != "--events").nth(1);
    let events: usize = events.and_then(|events| events.parse().ok()).unwrap_or(1_000_000);
    let home = Home::new();
    let file = home.path().join("history.jsonl");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis();
    let now = u64::try_from(now).expect("a moment");
    let mut out = BufWriter::new(File::create(&file).expect("a file"));
    for line in Events::new(1, events, now - 29 * DAY, now) {
        let text = line.strip_suffix('}').expect("an object");
        let check = crc32fast::hash(text.as_bytes());
        writeln!(out, "{text},\"check\":\"{check:08x}\"}}").expect("a line");
    }
    drop(out);
    let bytes = file.metadata().expect("a file").len();
    println!("{events} events, {:.0} MB", bytes as f64 / 1e6);
    let name = file.to_string_lossy().into_owned();
    let binary = env!("CARGO_BIN_EXE_skills-mcp");
    for (what, program, arguments) in [
        ("cat", "cat", vec![name.as_str()]),
        ("wc -l", "wc", vec!["-l", &name]),
        ("stats --json", binary, vec!["stats", "--no-default-dirs", "--json", "--file", &name]),
        ("stats", binary, vec!["stats", "--no-default-dirs", "--file", &name]),
    ] {
        let mut times: Vec<f64> = (0..5).map(|_| timed(&home, program, &arguments)).collect();
        times.sort_by(f64::total_cmp);
        let (best, middle) = (times.first().expect("runs"), times.get(2).expect("runs"));
        println!("{what:<14}{middle:>7.3} s (best {best:.3} s)");
    }
}

fn timed(home: &Home, program: &str, arguments: &[&str]) -> f64 {
    let started = Instant::now();
    let mut command = home.command(program);
    let ended = command.args(arguments).stdout(Stdio::null()).status().expect("a program");
    assert!(ended.success(), "{program}");
    started.elapsed().as_secs_f64()
}
