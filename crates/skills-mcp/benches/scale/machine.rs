//! What the machine says and does by itself: what our figures are held against, and what a process costs.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};

use super::{corpus, figures::time};

/// The server that is measured: this build's, or the one that the variable `SERVER` names.
pub(super) fn server() -> PathBuf {
    std::env::var_os("SERVER")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_skills-mcp")), PathBuf::from)
}

/// Opens and reads every file once, in a loop; where they are is known.
pub(super) fn read_all(files: &[PathBuf]) -> Duration {
    let mut buffer = Vec::new();
    time(|| {
        for file in files {
            buffer.clear();
            let mut file = fs::File::open(file).expect("a skill's file");
            file.read_to_end(&mut buffer).expect("its text");
        }
    })
}

/// Finds and reads every file once, as a shell does.
pub(super) fn cat_all(folder: &Path) -> Duration {
    let mut command = Command::new("sh");
    let script = "find \"$1\" -name SKILL.md -print0 | xargs -0 cat > /dev/null";
    command.args(["-c", script, "cat"]).arg(folder);
    time(|| assert!(command.status().expect("a shell").success(), "{script}"))
}

/// What searches files: its name and how it is asked.
pub(super) fn searcher() -> (&'static str, &'static [&'static str]) {
    let asked = Command::new("rg").arg("--version").stdout(Stdio::null()).status();
    if asked.is_ok_and(|status| status.success()) {
        ("rg", &["-l", "-i"])
    } else {
        ("grep", &["-rl", "-i"])
    }
}

/// Searches every file for a word.
pub(super) fn search_all(folder: &Path) -> Duration {
    let (program, flags) = searcher();
    let mut command = Command::new(program);
    command.args(flags).arg(corpus::WORD).arg(folder);
    // Through a pipe: a `grep` that writes to /dev/null stops at the first match.
    time(|| drop(command.output().expect("the search runs")))
}

/// A figure of `/proc/PID/FILE`, in kilobytes: that of the line which begins with `label`.
fn kilobytes(pid: u32, file: &str, label: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Resident memory now, in kilobytes.
pub(super) fn resident(pid: u32) -> Option<u64> {
    kilobytes(pid, "status", "VmRSS:")
}

/// The most that was ever resident, in kilobytes.
pub(super) fn peak(pid: u32) -> Option<u64> {
    kilobytes(pid, "status", "VmHWM:")
}

/// Resident memory, what is shared counted by its share, in kilobytes.
pub(super) fn proportional(pid: u32) -> Option<u64> {
    kilobytes(pid, "smaps_rollup", "Pss:")
}

/// The processor time that these processes have used together.
pub(super) fn processor_time(pids: &[u32]) -> Option<Duration> {
    let ticks = |pid: &u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold anything, blanks and brackets too; after it, user and system time are fields 12 and 13.
        let (_, fields) = text.rsplit_once(')')?;
        let mut times = fields.split_whitespace().skip(11);
        let mut next = || times.next()?.parse::<u32>().ok();
        Some(next()? + next()?)
    };
    let total: u32 = pids.iter().map(ticks).sum::<Option<u32>>()?;
    Some(Duration::from_secs(1) * total / *TICKS_PER_SECOND)
}

static TICKS_PER_SECOND: LazyLock<u32> = LazyLock::new(|| {
    let said = Command::new("getconf").arg("CLK_TCK").output().ok();
    let said = said.and_then(|said| String::from_utf8(said.stdout).ok());
    said.and_then(|said| said.trim().parse().ok()).unwrap_or(100)
});

/// Waits until these processes have used next to no processor time for a while, or until patience ends: how long.
pub(super) fn settled(pids: &[u32], patience: Duration) -> Duration {
    const WHILE: Duration = Duration::from_millis(500);
    let started = Instant::now();
    let mut before = processor_time(pids);
    while started.elapsed() < patience {
        thread::sleep(WHILE);
        let now = processor_time(pids);
        let used = now.unwrap_or_default().saturating_sub(before.unwrap_or_default());
        if used < WHILE / 20 {
            break;
        }
        before = now;
    }
    started.elapsed()
}
