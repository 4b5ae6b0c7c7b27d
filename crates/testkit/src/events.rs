//! A made-up history of events: JSON lines of every type, about three hundred skills, a few of which are requested often.
//!
//! The same seed gives the same lines. Not here: what an event means, and how it is counted.

use serde_json::{Value, json};

/// How many skills have events; the first is requested most.
pub const SKILLS: usize = 300;

const AREAS: &[&str] =
    &["ui", "api", "deploy", "data", "testing", "security", "docs", "mobile", "ml", "ops"];
const TOPICS: &[&str] = &[
    "auth",
    "forms",
    "routing",
    "caching",
    "logging",
    "migration",
    "queue",
    "search",
    "upload",
    "email",
    "billing",
    "charts",
    "theme",
    "tables",
    "docker",
    "release",
    "backup",
    "metrics",
    "tracing",
    "retry",
    "pagination",
    "webhook",
    "schema",
    "report",
    "export",
    "import",
    "locale",
    "session",
    "permission",
    "review",
];
const TASKS: &[&str] = &["create", "add", "fix", "extend", "explain", "test", "ajouter", "review"];
/// Requests that no skill covers.
const GAPS: &[&[&str]] = &[
    &[
        "configure nginx reverse proxy",
        "nginx proxy in front of the api",
        "nginx reverse proxy tls",
    ],
    &["rotate the kafka consumer offsets", "kafka consumer lag", "kafka topic retention"],
    &["write a terraform module for s3", "terraform state is locked", "terraform plan in ci"],
    &["dessiner un logo en svg", "svg logo with gradient"],
    &["translate the contract to german", "german translation of the terms"],
];
const CLIENTS: &[(&str, &str)] =
    &[("claude-code", "2.1.4"), ("cursor", "1.7.2"), ("codex", "0.48.0"), ("", "")];

/// The name of the skill of this rank; the first is requested most.
pub fn skill_name(rank: usize) -> String {
    let area = pick(AREAS, rank);
    let topic = pick(TOPICS, rank / AREAS.len() + rank);
    format!("{area}/{topic}-{}", rank / AREAS.len())
}

/// Events in the order they happened, as JSON lines without their line ends.
#[derive(Debug)]
pub struct Events {
    random: Random,
    left: usize,
    at: u64,
    step: u64,
    shares: Vec<u64>,
}

impl Events {
    /// `count` events, evenly between two times in milliseconds since 1970.
    pub fn new(seed: u64, count: usize, from: u64, to: u64) -> Self {
        let step = to.saturating_sub(from) / (count as u64).max(1);
        let mut sum = 0;
        let shares = (1..=SKILLS as u64).map(|rank| {
            sum += 1_000_000 / rank;
            sum
        });
        Self { random: Random(seed), left: count, at: from, step, shares: shares.collect() }
    }

    /// A number below this one.
    pub fn below(&mut self, end: u64) -> u64 {
        self.random.below(end)
    }

    /// One more event, of this moment.
    pub fn line_at(&mut self, at: u64) -> String {
        let (kind, tool, data) = self.data();
        let (client, version) = *self.random.one_of(CLIENTS);
        let client = if client.is_empty() {
            String::new()
        } else {
            format!(r#","client_name":"{client}","client_version":"{version}""#)
        };
        // A server in three comes from a time when events named no version; a commit is a week's.
        let server = self.random.below(40);
        let version = match server % 3 {
            0 => String::new(),
            minor => format!(r#","server_version":"0.{minor}.0""#),
        };
        let digest = if kind == "skill_served" {
            let week = (at / (7 * 86_400_000)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let digest = self.random.next();
            format!(r#","skill_digest":"sha256:{digest:016x}","skill_commit":"{week:016x}""#)
        } else {
            String::new()
        };
        format!(
            r#"{{"type":"{kind}","data":{data},"timestamp":"{}","server_id":"dev-{server}"{version},"event_id":"{}","tool":"{tool}"{client}{digest},"latency_us":{}}}"#,
            timestamp(at),
            number(at, &mut self.random),
            80 + self.random.below(900) * (1 + self.random.below(30) / 29 * 20),
        )
    }

    /// The rank of some skill, rarely a high one.
    fn rank(&mut self) -> usize {
        let drawn = self.random.below(self.shares.last().copied().unwrap_or(1));
        self.shares.partition_point(|share| *share <= drawn)
    }

    fn request(&mut self, rank: usize) -> String {
        let task = *self.random.one_of(TASKS);
        let other = *self.random.one_of(TOPICS);
        let topic = pick(TOPICS, rank / AREAS.len() + rank);
        let area = pick(AREAS, rank);
        format!("{task} the {topic} of our {area} module, with {other} and the usual checks")
    }

    fn gap(&mut self) -> String {
        let words = self.random.one_of(GAPS);
        let request = *self.random.one_of(words);
        format!("{request} for the {} team", self.random.one_of(AREAS))
    }

    fn data(&mut self) -> (&'static str, &'static str, Value) {
        let rank = self.rank();
        let skill = skill_name(rank);
        match self.random.below(100) {
            0..=54 => ("skill_served", "get_skill", self.served(rank)),
            55..=66 => ("skill_searched", "skills_search", self.searched()),
            67..=76 => ("no_match", "get_skill", self.missed(&skill)),
            77..=81 => {
                let candidates = [skill, skill_name(self.rank())];
                let context = self.request(rank);
                ("ambiguous", "get_skill", json!({"context": context, "candidates": candidates}))
            }
            82..=89 => ("asset_served", "get_asset", self.asset(&skill)),
            90..=94 => ("script_executed", "run_script", self.script(rank, &skill)),
            95..=98 => {
                let useful = self.random.below(10) >= if rank == 2 { 9 } else { 2 };
                let comment = (!useful).then_some("the example is out of date");
                let data = json!({"skill_path": skill, "useful": useful, "comment": comment});
                ("skill_feedback", "report_usage", data)
            }
            _ => {
                let data = json!({"mode": "local", "success": true, "commit_hash": null, "files_changed": null, "skills_reindexed": SKILLS});
                ("refresh", "refresh_skills", data)
            }
        }
    }

    fn served(&mut self, rank: usize) -> Value {
        let skill = skill_name(rank);
        let (area, name) = skill.split_once('/').unwrap_or_default();
        let by_name = self.random.below(5) == 0;
        let context = (!by_name).then(|| self.request(rank));
        let score = (!by_name).then(|| self.random.below(8_000) + 2_000);
        let mut data = json!({
            "context": context,
            "skill_path": skill,
            "score": score.and_then(|score| format!("0.{score:04}").parse::<f64>().ok()),
            "matched_keywords": [area, name],
            "was_ambiguous": self.random.below(20) == 0,
            "inherited_from": ["_root", format!("{area}/_index")],
            "content_length_tokens": 300 + self.random.below(4_000),
        });
        if by_name && self.random.below(2) == 0 {
            data.as_object_mut().map(|data| data.insert("was_shown".to_owned(), json!(true)));
        }
        data
    }

    fn searched(&mut self) -> Value {
        if self.random.below(8) == 0 {
            return json!({"context": self.gap(), "shown": [], "total": 0, "certainty": "unsure"});
        }
        let rank = self.rank();
        let shown: Vec<String> =
            (0..=self.random.below(5)).map(|_| skill_name(self.rank())).collect();
        let total = shown.len() as u64 + self.random.below(20);
        json!({"context": self.request(rank), "shown": shown, "total": total, "certainty": "several"})
    }

    fn missed(&mut self, skill: &str) -> Value {
        let near = self.random.below(3) == 0;
        json!({
            "context": self.gap(),
            "closest_candidate": near.then_some(skill),
            "closest_score": near.then_some(0.125),
        })
    }

    fn asset(&mut self, skill: &str) -> Value {
        let script = self.random.below(4) == 0;
        let file = if script { "check.sh" } else { "templates/example.tsx" };
        let inherited = self.random.below(6) == 0;
        let mut data = json!({
            "skill_path": skill,
            "file": file,
            "asset_type": if script { "script" } else { "template" },
            "is_inherited": inherited,
            "size_bytes": 200 + self.random.below(8_000),
        });
        if inherited {
            data.as_object_mut().map(|data| data.insert("declared_by".to_owned(), json!("_root")));
        }
        data
    }

    fn script(&mut self, rank: usize, skill: &str) -> Value {
        let refused = self.random.below(10) == 0;
        let success = !refused && self.random.below(10) >= if rank == 1 { 6 } else { 1 };
        json!({
            "skill_path": skill,
            "file": "setup.sh",
            "execution_mode": if refused { "claude" } else { "server" },
            "success": success,
            "exit_code": (!refused).then_some(i32::from(!success)),
            "duration_ms": if refused { 0 } else { 40 + self.random.below(3_000) },
            "args_provided": ["name"],
        })
    }
}

impl Iterator for Events {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.left = self.left.checked_sub(1)?;
        let at = self.at;
        self.at += self.step;
        Some(self.line_at(at))
    }
}

/// A version 7 UUID of this time.
fn number(at: u64, random: &mut Random) -> String {
    let (first, second) = (random.next(), random.next());
    format!(
        "{:08x}-{:04x}-7{:03x}-8{:03x}-{:012x}",
        (at >> 16) & 0xffff_ffff,
        at & 0xffff,
        first & 0xfff,
        (first >> 12) & 0xfff,
        second & 0xffff_ffff_ffff
    )
}

/// Milliseconds since 1970 as ISO 8601 in UTC.
pub fn timestamp(millis: u64) -> String {
    let (days, rest) = (millis / 86_400_000, millis % 86_400_000);
    // Years that begin in March end with the leap day.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let date = in_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!(
        "{:04}-{month:02}-{date:02}T{:02}:{:02}:{:02}.{:03}Z",
        era * 400 + year + next,
        rest / 3_600_000,
        rest / 60_000 % 60,
        rest / 1_000 % 60,
        rest % 1_000
    )
}

fn pick(words: &'static [&'static str], at: usize) -> &'static str {
    words.get(at % words.len()).copied().unwrap_or_default()
}

/// A deterministic pseudo-random generator.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    #[expect(clippy::expect_used, reason = "the lists of this file are not empty")]
    fn one_of<T>(&mut self, of: &'static [T]) -> &'static T {
        let at = self.below(of.len() as u64);
        of.iter().cycle().nth(usize::try_from(at).unwrap_or(0)).expect("a list with something")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_lines_and_each_has_a_number_of_its_own() {
        let lines: Vec<String> =
            Events::new(7, 2_000, 1_771_400_000_000, 1_771_500_000_000).collect();
        assert!(
            Events::new(7, 2_000, 1_771_400_000_000, 1_771_500_000_000).eq(lines.iter().cloned())
        );
        let read: Vec<Value> =
            lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |member: &str| -> HashSet<String> {
            read.iter().map(|event| event[member].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!((of("event_id").len(), of("type").len()), (2_000, 8));
    }

    #[test]
    fn skills_have_names_of_their_own_and_moments_their_dates() {
        assert_eq!((0..SKILLS).map(skill_name).collect::<HashSet<_>>().len(), SKILLS);
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(1_771_425_000_123), "2026-02-18T14:30:00.123Z");
        assert_eq!(timestamp(951_825_600_000), "2000-02-29T12:00:00.000Z");
    }
}
