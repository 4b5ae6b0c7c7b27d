//! The bundles that are measured: made up, and the same in every run.
//!
//! Sizes and words are spread as in real collections: half of the files are under 5 KB, few are over 15 KB; a file says
//! some words again and again, and most words of the language rarely. An index costs what its words cost, so text made
//! of a few sentences would flatter it. Each skill is made from its number alone, so a larger corpus holds the smaller.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use skills_testkit::Home;

const VERBS: [&str; 40] = [
    "review", "migrate", "deploy", "debug", "profile", "audit", "archive", "draft", "trim",
    "rename", "compare", "inspect", "restore", "publish", "measure", "split", "merge", "plan",
    "verify", "observe", "tidy", "price", "quote", "order", "label", "rotate", "freeze", "warm",
    "drain", "replay", "sample", "sketch", "outline", "tag", "sort", "pack", "ship", "lock",
    "import", "export",
];
const THINGS: [&str; 60] = [
    "postgres",
    "kafka",
    "react",
    "terraform",
    "ledger",
    "redis",
    "nginx",
    "django",
    "graphql",
    "swift",
    "kotlin",
    "spark",
    "airflow",
    "vault",
    "figma",
    "excel",
    "invoice",
    "payroll",
    "podcast",
    "email",
    "genome",
    "weather",
    "seismic",
    "camera",
    "printer",
    "robot",
    "drone",
    "battery",
    "tractor",
    "orchard",
    "bakery",
    "museum",
    "library",
    "theatre",
    "festival",
    "harbour",
    "railway",
    "airport",
    "hospital",
    "pharmacy",
    "clinic",
    "school",
    "exam",
    "thesis",
    "patent",
    "contract",
    "tender",
    "permit",
    "census",
    "ballot",
    "budget",
    "pension",
    "mortgage",
    "warehouse",
    "freight",
    "customs",
    "timber",
    "glacier",
    "reservoir",
    "bridge",
];
const PARTS: [&str; 50] = [
    "schema",
    "index",
    "pipeline",
    "dashboard",
    "cluster",
    "module",
    "queue",
    "policy",
    "secret",
    "image",
    "chart",
    "report",
    "template",
    "fixture",
    "backup",
    "trigger",
    "stream",
    "replica",
    "session",
    "token",
    "webhook",
    "parser",
    "sensor",
    "driver",
    "plugin",
    "theme",
    "layout",
    "form",
    "table",
    "runbook",
    "incident",
    "roadmap",
    "survey",
    "summary",
    "catalogue",
    "timetable",
    "inventory",
    "forecast",
    "checklist",
    "agenda",
    "minutes",
    "glossary",
    "register",
    "manual",
    "menu",
    "map",
    "route",
    "sketch",
    "model",
    "archive",
];
/// As many names as verbs, things and parts make, each once.
const NAMES: usize = VERBS.len() * THINGS.len() * PARTS.len();
/// Shares no factor with [`NAMES`], so that stepping by it meets every name, and neighbours are not alike.
const STRIDE: usize = 48_611;

/// The words that every text is full of, the most frequent first.
const PLAIN: [&str; 40] = [
    "the", "to", "and", "a", "of", "in", "is", "for", "it", "with", "that", "if", "this", "use",
    "on", "when", "be", "or", "as", "not", "from", "by", "are", "at", "run", "file", "an", "you",
    "can", "each", "before", "after", "one", "check", "only", "all", "then", "which", "new",
    "first",
];
/// Three of these make one of the 8,000 rarer words.
const SYLLABLES: [&str; 20] = [
    "ba", "cor", "del", "fen", "gi", "hal", "ju", "kra", "lem", "mo", "nis", "or", "pel", "qui",
    "ras", "ste", "tu", "vor", "wen", "zo",
];
/// Most of a text's words come from the first ranks, as in any language: a rank is this base to a power below one.
const WORDS: f64 = 8_040.0;
const MEDIAN_BYTES: f64 = 4_700.0;

/// A small generator of numbers, so that every run measures the same content.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or_default() % end
    }

    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap_or_default()) / f64::from(u32::MAX)
    }
}

/// The three words that skill number `n` is about.
fn subject(n: usize) -> [&'static str; 3] {
    let n = n * STRIDE % NAMES;
    let (verb, thing) = (n % VERBS.len(), n / VERBS.len() % THINGS.len());
    let part = n / VERBS.len() / THINGS.len();
    let pick = |words: &[&'static str], at: usize| words.get(at).copied().unwrap_or_default();
    [pick(&VERBS, verb), pick(&THINGS, thing), pick(&PARTS, part)]
}

/// What skill number `n` is called.
pub(super) fn name(n: usize) -> String {
    let [verb, thing, part] = subject(n);
    format!("{verb}-{thing}-{part}")
}

/// A request that skill number `n` would answer.
pub(super) fn request(n: usize) -> String {
    let [verb, thing, part] = subject(n);
    format!("how do I {verb} the {part} of our {thing}")
}

/// A word of some of the skills, for a search over the files.
pub(super) const WORD: &str = "postgres";

/// A bundle's file.
pub(super) fn bundle(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\nlicense: MIT\n---\n\n{body}")
}

fn skill_file(n: usize) -> String {
    let [verb, thing, part] = subject(n);
    let mut numbers = Numbers(n as u64);
    let description = format!(
        "Shows how to {verb} the {part} of a {thing} and what to look at first. Use when someone asks about a {thing} \
         or wants to {verb} its {part}, and for {}.",
        words(&mut numbers, [verb, thing, part], 4).join(" "),
    );
    let title = format!("# {verb} the {part} of a {thing}\n");
    let body = title + &sections(&mut numbers, [verb, thing, part]);
    bundle(&name(n), &description, &body)
}

/// Sections of paragraphs, steps and code, until the text is as long as it is to be.
fn sections(numbers: &mut Numbers, subject: [&str; 3]) -> String {
    // Three evenly spread numbers add up to something like a bell: sizes from a sixth of the median to six times it.
    let bell = numbers.share() + numbers.share() + numbers.share() - 1.5;
    let length = MEDIAN_BYTES * 2f64.powf(bell * 1.7);
    let mut text = String::new();
    while (text.len() as f64) < length {
        let _ = writeln!(text, "\n## {}\n", words(numbers, subject, 3).join(" "));
        for _ in 0..=numbers.below(3) {
            text.push_str(&sentence(numbers, subject));
            text.push(' ');
        }
        text.push('\n');
        for step in 1..=numbers.below(6) {
            let _ = writeln!(text, "{step}. {}", sentence(numbers, subject));
        }
        if numbers.below(3) == 0 {
            let [verb, thing, part] = subject;
            let mark = numbers.below(1 << 24);
            let _ = writeln!(
                text,
                "\n```sh\n{thing}ctl {verb} --{part} {part}_{mark:06x} --dry-run\n```"
            );
        }
    }
    text
}

fn sentence(numbers: &mut Numbers, subject: [&str; 3]) -> String {
    let length = 7 + numbers.below(10);
    let mut text = words(numbers, subject, length).join(" ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text.push('.');
    text
}

/// One word in four is about the subject, the others are as frequent as their rank says.
fn words(numbers: &mut Numbers, subject: [&str; 3], count: usize) -> Vec<String> {
    let word = |_| {
        if numbers.below(4) == 0 {
            return subject.get(numbers.below(3)).copied().unwrap_or_default().to_owned();
        }
        let rank = WORDS.powf(numbers.share()) as usize - 1;
        match PLAIN.get(rank) {
            Some(plain) => (*plain).to_owned(),
            None => [1, 20, 400]
                .map(|digit| SYLLABLES.get((rank - PLAIN.len()) / digit % 20).copied())
                .map(Option::unwrap_or_default)
                .concat(),
        }
    };
    (0..count).map(word).collect()
}

/// A home with so many bundles in its `skills/` folder.
#[derive(Debug)]
pub(super) struct Corpus {
    pub(super) home: Home,
    /// Where each skill lies, below the `skills/` folder.
    pub(super) folders: Vec<String>,
}

impl Corpus {
    /// Writes it.
    pub(super) fn write(skills: usize) -> Self {
        assert!(skills <= NAMES, "there are names for {NAMES} skills");
        let home = Home::new();
        let mut folders = Vec::with_capacity(skills);
        for n in 0..skills {
            // Most lie side by side, some in folders of a team's own.
            let name = name(n);
            let folder = if n % 8 == 7 { format!("team-{}/{name}", n / 8 % 20) } else { name };
            home.write(&format!("skills/{folder}/SKILL.md"), skill_file(n));
            match n % 6 {
                1 => home.write(
                    &format!("skills/{folder}/scripts/check.sh"),
                    format!("#!/bin/sh\nset -eu\necho checking {n}\n"),
                ),
                4 => home.write(
                    &format!("skills/{folder}/assets/template.md"),
                    "| what | who | when |\n|---|---|---|\n".repeat(8 + n % 32),
                ),
                _ => {}
            }
            folders.push(folder);
        }
        Self { home, folders }
    }

    /// A place below the `skills/` folder.
    pub(super) fn place(&self, below: &str) -> PathBuf {
        self.home.skills().join(below)
    }

    /// Every `SKILL.md`.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.folders.iter().map(|folder| self.place(folder).join("SKILL.md")).collect()
    }
}

/// Writes a file as editors do: straight into it, or beside it and then over it.
pub(super) fn save(file: &Path, text: &str, over: bool) {
    if over {
        let beside = file.with_extension("md.part");
        fs::write(&beside, text).expect("a file beside it");
        fs::rename(&beside, file).expect("it takes the place");
    } else {
        fs::write(file, text).expect("the file");
    }
}
