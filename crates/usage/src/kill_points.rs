//! B-02: a process that is killed at any step of writing and sending loses no event that it has counted on.
//!
//! Likewise one that runs out of descriptors. Built for tests only: every file operation is a [`step`], and a child of the test kills itself at the one that a variable names.

#![expect(clippy::disallowed_methods, reason = "this test starts itself again to be killed")]

use std::{
    collections::BTreeSet,
    env, fs,
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use rustix::process::{Resource, Rlimit, setrlimit};
use skills_testkit::{Endpoint, EndpointBehaviour, Home};

use crate::{
    journal::{JournalFolder, JournalWriter, SenderState, disk, folder::JournalLimits},
    sample::{feedback, settings},
    sender::{Round, Sender},
};

const CHILD: &str = "kill_points::b02_the_child_that_is_killed";
const AT: &str = "KILLED_AT_STEP";
const URL: &str = "KILLED_WITH_ENDPOINT";
const POOR: &str = "kill_points::b05_the_child_that_has_one_descriptor_left";
const FEW: &str = "WITH_FEW_DESCRIPTORS";

/// Ends the process if it is its time.
pub(crate) fn step() {
    static LAST: OnceLock<Option<usize>> = OnceLock::new();
    static BUCKETS_PER_DOUBLING: AtomicUsize = AtomicUsize::new(0);
    let Some(last) = LAST.get_or_init(|| env::var(AT).ok()?.parse().ok()) else { return };
    if BUCKETS_PER_DOUBLING.fetch_add(1, Ordering::SeqCst) + 1 == *last {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

/// Small enough that everything happens.
const JOURNAL_LIMITS: JournalLimits =
    JournalLimits { history: 2_000, buffer: 1_500, unsent: 1 << 20, refused: 1 << 20 };

/// What a child does: writes, sends, is refused some, and says what it has written.
fn live(home: &Path, url: &str) -> BTreeSet<String> {
    let settings = settings(Some(url));
    let mut folder = JournalFolder::new(home);
    folder.limits = JOURNAL_LIMITS;
    let mut writer = JournalWriter::new(Some(home)).limited(JOURNAL_LIMITS);
    let mut sender = Sender::new(folder.clone(), || None);
    SenderState::change(&folder, |state| {
        *state = SenderState { batch: Some(2), ..SenderState::default() }
    })
    .unwrap();
    let mut written = BTreeSet::new();
    for number in 0..6 {
        let event = feedback(if number == 2 { "refuse this" } else { "take this" });
        assert!(writer.write(std::slice::from_ref(&event), &settings));
        println!("written {}", event.event_id);
        written.insert(event.event_id.to_string());
    }
    writer.count_dropped(1);
    writer.settle();
    assert_eq!(sender.round(url, |_| true), Round::Done);
    written
}

#[test]
fn b02_the_child_that_is_killed() {
    if let (Ok(url), Some(home)) = (env::var(URL), env::var_os("HOME")) {
        live(Path::new(&home), &url);
    }
}

#[test]
fn b02_a_kill_at_any_step_loses_nothing_that_was_written_and_the_next_start_works() {
    let endpoint = Endpoint::start();
    endpoint.behave(EndpointBehaviour::Refuse("refuse this"));
    let mut kills = 0;
    for at in 1.. {
        let home = Home::new();
        let mut child = home.command(env::current_exe().unwrap());
        child.args(["--exact", "--nocapture", CHILD]).env(URL, endpoint.url());
        let output = child.env(AT, at.to_string()).output().unwrap();
        if output.status.success() {
            break;
        }
        kills += 1;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let ids = said.lines().filter_map(|line| line.split("written ").nth(1));
        let mut written = live(home.path(), &endpoint.url());
        written.extend(ids.map(str::to_owned));
        let folder = JournalFolder::new(home.path());
        let refused = disk::read(&folder.refused(), 1 << 20).unwrap();
        let refused = String::from_utf8_lossy(&refused);
        let arrived = endpoint.ids();
        let missing: Vec<_> =
            written.iter().filter(|id| !arrived.contains(*id) && !refused.contains(*id)).collect();
        assert_eq!(missing, Vec::<&String>::new(), "step {at}");
        assert_eq!((folder.segments().unwrap(), folder.unsent()), (Vec::new(), 0), "step {at}");
    }
    println!("killed at each of {kills} steps");
    assert!(kills > 50, "only {kills} steps");
    assert!(endpoint.copies_agree());
}

/// More is unsent than these let there be.
const CROWDED: JournalLimits =
    JournalLimits { history: 1 << 20, buffer: 1_500, unsent: 1_600, refused: 1 << 20 };

fn crowded(home: &Path) -> JournalFolder {
    let mut folder = JournalFolder::new(home);
    folder.limits = CROWDED;
    folder
}

#[test]
fn b05_the_child_that_has_one_descriptor_left() {
    let (Some(_), Some(home)) = (env::var_os(FEW), env::var_os("HOME")) else { return };
    let few = Rlimit { current: Some(64), maximum: Some(64) };
    setrlimit(Resource::Nofile, few).unwrap();
    let mut taken = Vec::new();
    while let Ok(file) = fs::File::open("/dev/null") {
        taken.push(file);
    }
    taken.pop();
    // It can be listed and opened, and no more.
    assert_eq!(crowded(Path::new(&home)).trim().unwrap().events, 0);
}

#[test]
fn b05_what_cannot_be_counted_now_is_not_removed_now() {
    let home = Home::new();
    let folder = crowded(home.path());
    let mut writer = JournalWriter::new(Some(home.path()));
    for _ in 0..3 {
        assert!(
            writer.write(&[feedback("x"), feedback("y")], &settings(Some("http://127.0.0.1:9/x")))
        );
        let (buffer, file) = folder.open_buffer().unwrap().unwrap();
        // Not all of it was sent, so it is moved aside.
        folder.sent(&buffer, &file, 0).unwrap();
    }
    let mut child = home.command(env::current_exe().unwrap());
    let output = child.args(["--exact", POOR]).env(FEW, "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(folder.segments().unwrap().len(), 3);
    let trimmed = folder.trim().unwrap();
    let left = u64::try_from(folder.segments().unwrap().len()).unwrap();
    assert!(left < 3);
    assert_eq!((trimmed.events, trimmed.guessed), ((3 - left) * 2, 0));
}
