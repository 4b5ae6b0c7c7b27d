//! The cache of what a scan learned: an answer with it is the answer without it, whatever happened in between.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use skills_core::catalog::SkillId;
use skills_mcp::{
    config::{ConfigLayers, NamedDirectory, Trust},
    source::Directory,
    store::{Cause, Store},
};
use skills_testkit::Home;

use crate::support::{bundle, run, server, skill};

/// Random sequences of changes, and skills of each at the start.
const SEQUENCES: u64 = 1_000;
const SKILLS: u64 = 8;
/// A file that changed so lately is not trusted.
const SETTLE_TIME: Duration = Duration::from_millis(1_100);
const QUERIES: [&str; 4] = ["merge tables", "paint the harbour", "w3 w5", "commit with care"];

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

fn store(home: &Home, cached: bool) -> Store {
    let named = NamedDirectory {
        name: "team".into(),
        path: home.skills(),
        origin: "--dir".into(),
        project: None,
    };
    let source = Directory::open(&named, Trust::Named).unwrap();
    let place = cached.then(|| home.path());
    Store::cached(vec![source], None, ConfigLayers::default(), place)
}

/// Which skills each query finds, with their scores.
type Answers = Vec<Vec<(String, f64)>>;

fn fresh(home: &Home) -> Answers {
    let snapshot = store(home, false).refresh(Cause::Start).snapshot;
    let identity = |entry| snapshot.catalog.skill(SkillId::at(entry)).unwrap().identity.to_string();
    let found = |query: &&str| {
        let hits = snapshot.search(query, 20).hits.into_iter();
        hits.map(|hit| (identity(hit.entry), hit.score)).collect()
    };
    QUERIES.iter().map(found).collect()
}

/// As a prompt hook does it. The flag says whether nothing had to be read.
fn cached(home: &Home) -> (Answers, bool) {
    let store = store(home, true);
    let cache = store.cache().unwrap();
    if let Some(search) = cache.unchanged(&store.sources()) {
        let found = |query: &&str| {
            let hits = search.search(query, 20).hits.into_iter();
            hits.map(|hit| (search.skill(&hit).unwrap().identity.clone(), hit.score)).collect()
        };
        return (QUERIES.iter().map(found).collect(), true);
    }
    let snapshot = store.refresh(Cause::Start).snapshot;
    let identity = |entry| snapshot.catalog.skill(SkillId::at(entry)).unwrap().identity.to_string();
    let found = |query: &&str| {
        let hits = snapshot.search(query, 20).hits.into_iter();
        hits.map(|hit| (identity(hit.entry), hit.score)).collect()
    };
    let answers = QUERIES.iter().map(found).collect();
    cache.save(&snapshot);
    (answers, false)
}

fn write(home: &Home, number: u64, dice: &mut Dice) {
    let words = ["merge", "paint", "tables", "harbour", "commit", "care"];
    let mut word = || words.get(usize::try_from(dice.roll(6)).unwrap()).copied().unwrap();
    let description = format!("{} the {} w{number}", word(), word());
    let body = format!("{} and {} and {}", word(), word(), word());
    if number.is_multiple_of(3) {
        home.write(&format!("skills/t{number}.md"), skill(word(), &description, &body));
    } else {
        home.write(
            &format!("skills/b{number}/SKILL.md"),
            bundle(&format!("b{number}"), &description, &body),
        );
    }
}

/// One of the things that happen to files between two runs.
fn change(home: &Home, dice: &mut Dice) {
    let skills = home.skills();
    let mut there: Vec<PathBuf> =
        fs::read_dir(&skills).unwrap().map(|entry| entry.unwrap().path()).collect();
    there.sort();
    let pick = |dice: &mut Dice| {
        let count = there.len() as u64;
        there.get(usize::try_from(dice.roll(count.max(1))).unwrap()).cloned()
    };
    let file = |path: &Path| if path.is_dir() { path.join("SKILL.md") } else { path.to_path_buf() };
    let Some(one) = pick(dice) else { return write(home, dice.roll(20), dice) };
    match dice.roll(11) {
        0 | 1 => write(home, dice.roll(20), dice),
        2 => drop(if one.is_dir() { fs::remove_dir_all(&one) } else { fs::remove_file(&one) }),
        3 => drop(fs::rename(&one, skills.join(format!("b{}", dice.roll(30))))),
        // The same bytes, another time.
        4 => touch(&file(&one), dice),
        // Other bytes of the same length, and the time that it had.
        5 => {
            let path = file(&one);
            let before = fs::metadata(&path).and_then(|found| found.modified());
            if let Ok(text) = fs::read_to_string(&path) {
                fs::write(&path, text.replace("merge", "paint").replace("care", "harb")).unwrap();
                if let Ok(time) = before {
                    fs::File::options()
                        .write(true)
                        .open(&path)
                        .unwrap()
                        .set_modified(time)
                        .unwrap();
                }
            }
        }
        // Two change places.
        6 => {
            let other = pick(dice).unwrap();
            let (a, b, aside) = (file(&one), file(&other), skills.join("aside"));
            let _ = fs::rename(&a, &aside);
            let _ = fs::rename(&b, &a);
            let _ = fs::rename(&aside, &b);
        }
        7 => drop(symlink(one.file_name().unwrap(), skills.join(format!("l{}", dice.roll(5))))),
        8 => fs::write(file(&one), "---\nno front matter").unwrap_or_default(),
        9 => {
            home.write(&format!("skills/b{}/assets/x{}.txt", dice.roll(20), dice.roll(3)), "asset");
        }
        _ => damage(home, dice),
    }
}

fn touch(path: &Path, dice: &mut Dice) {
    let hours = Duration::from_secs(dice.roll(100_000) * 3_600);
    let time =
        if dice.roll(2) == 0 { SystemTime::now() - hours } else { SystemTime::now() + hours };
    if let Ok(file) = fs::File::options().write(true).open(path) {
        file.set_modified(time).unwrap();
    }
}

/// What a process leaves that is killed while it writes, or a disk that lies.
fn damage(home: &Home, dice: &mut Dice) {
    for entry in fs::read_dir(home.path().join(".skills-mcp/cache")).into_iter().flatten().flatten()
    {
        let mut bytes = fs::read(entry.path()).unwrap();
        let at = usize::try_from(dice.roll(bytes.len() as u64)).unwrap();
        match dice.roll(3) {
            0 => bytes.truncate(at),
            1 => *bytes.get_mut(at).unwrap() ^= 1,
            _ => fs::write(entry.path().with_extension("1.tmp"), bytes.get(..at).unwrap()).unwrap(),
        }
        fs::write(entry.path(), bytes).unwrap();
    }
}

fn wait_until_settled() {
    let now = SystemTime::now();
    while now.elapsed().is_ok_and(|waited| waited < SETTLE_TIME) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn each(homes: &[(u64, Home)], work: impl Fn(u64, &Home) + Sync) {
    let (first, second) = homes.split_at(homes.len() / 2);
    std::thread::scope(|scope| {
        for half in [first, second] {
            scope.spawn(|| half.iter().for_each(|(seed, home)| work(*seed, home)));
        }
    });
}

// HOOK-4
#[test]
fn an_answer_with_the_cache_is_the_answer_without_it_in_1000_random_sequences() {
    let homes: Vec<(u64, Home)> = (0..SEQUENCES).map(|seed| (seed, Home::with(""))).collect();
    each(&homes, |seed, home| {
        let mut dice = Dice(seed);
        (0..SKILLS).for_each(|number| write(home, number, &mut dice));
    });
    wait_until_settled();
    each(&homes, |seed, home| assert_eq!(cached(home).0, fresh(home), "sequence {seed}, at first"));
    let used = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    each(&homes, |seed, home| {
        let (answers, unread) = cached(home);
        assert!(unread, "sequence {seed}: nothing changed, and files were read");
        let mut dice = Dice(seed + 7_777);
        for _ in 0..=dice.roll(3) {
            change(home, &mut dice);
        }
        // While the changes are so new that their times say little.
        if dice.roll(2) == 0 {
            assert_eq!(
                cached(home).0,
                fresh(home),
                "sequence {seed}, at once (before: {answers:?})"
            );
        }
    });
    wait_until_settled();
    each(&homes, |seed, home| {
        assert_eq!(cached(home).0, fresh(home), "sequence {seed}, later");
        let (answers, unread) = cached(home);
        used.fetch_add(usize::from(unread), std::sync::atomic::Ordering::Relaxed);
        assert_eq!(answers, fresh(home), "sequence {seed}, once more");
    });
    let used = used.load(std::sync::atomic::Ordering::Relaxed);
    assert!(used > 900, "in {used} of 1000 nothing had changed, and nothing was read");
}

#[test]
fn a_cache_of_other_sources_is_another_cache_and_old_ones_go() {
    let home = Home::with("");
    home.write("skills/a/SKILL.md", bundle("a", "Merge tables", "Text."));
    for number in 0..20 {
        home.write(
            &format!("other-{number}/b/SKILL.md"),
            bundle("b", "Paint the harbour", "Text."),
        );
        let path = home.path().join(format!("other-{number}"));
        let named =
            NamedDirectory { name: "team".into(), path, origin: "--dir".into(), project: None };
        let source = Directory::open(&named, Trust::Named).unwrap();
        let store = Store::cached(vec![source], None, ConfigLayers::default(), Some(home.path()));
        let snapshot = store.refresh(Cause::Start).snapshot;
        store.cache().unwrap().save(&snapshot);
    }
    let caches = || fs::read_dir(home.path().join(".skills-mcp/cache")).unwrap().count();
    assert_eq!(caches(), 16);
    assert_eq!(cached(&home), (fresh(&home), false));
    assert_eq!(caches(), 16);
}

#[test]
fn a_command_that_read_many_skills_keeps_what_it_read_for_the_next_one() {
    let home = Home::new();
    for number in 0..300 {
        let name = format!("skill-{number}");
        let text = bundle(&name, &format!("Paint harbour number {number}."), "Text.");
        home.write(&format!("skills/{name}/SKILL.md"), &text);
    }
    home.write("skills/routing.yaml", "- request: paint harbour 7\n  expect: skill-7\n");
    std::thread::sleep(SETTLE_TIME);
    let kept = || fs::read_dir(home.path().join(".skills-mcp/cache")).map_or(0, Iterator::count);
    let test = || run(server(&home).args(["test", "--format", "json"]));
    assert_eq!(kept(), 0);
    let first = test();
    assert_eq!(first.0, 0, "{first:?}");
    assert_eq!(kept(), 1);
    assert_eq!(test(), first);
}
