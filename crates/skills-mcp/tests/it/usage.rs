//! Events as a team makes them, by chance and always the same: forty servers, three hundred skills of which few are used
//! much, every type of event. Tests and benchmarks share it.

use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};
use skills_usage::{archive::Period, clock};
use uuid::Uuid;

const SKILLS: usize = 300;
const SERVERS: u64 = 40;
const WORDS: &[&str] = &[
    "add",
    "api",
    "audit",
    "auth",
    "build",
    "cache",
    "chart",
    "component",
    "cookie",
    "cron",
    "deploy",
    "docker",
    "error",
    "export",
    "form",
    "graph",
    "header",
    "hook",
    "import",
    "index",
    "invoice",
    "kernel",
    "lint",
    "login",
    "migrate",
    "nginx",
    "oauth",
    "page",
    "parser",
    "postgres",
    "proxy",
    "queue",
    "react",
    "release",
    "report",
    "retry",
    "route",
    "schema",
    "session",
    "socket",
    "table",
    "test",
    "token",
    "upload",
    "webhook",
    "worker",
    "write",
    "zebra",
];
const CLIENTS: &[&str] = &["claude-code", "cursor", "codex", "zed"];

/// A day, in milliseconds.
pub(crate) const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Where events come from.
#[derive(Debug, Clone)]
pub(crate) struct Usage {
    state: u64,
    /// How often each skill is used, added up.
    shares: Vec<f64>,
}

impl Usage {
    /// Chance that starts here.
    pub(crate) fn new(seed: u64) -> Self {
        let mut sum = 0.0;
        let shares = (1..=SKILLS).map(|rank| {
            sum += 1.0 / f64::from(u16::try_from(rank).unwrap());
            sum
        });
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, shares: shares.collect() }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below this one.
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        (self.next() >> 16) % most
    }

    fn one_of(&mut self, words: &[&'static str]) -> &'static str {
        let place = usize::try_from(self.below(words.len() as u64)).unwrap();
        words.get(place).copied().unwrap()
    }

    fn skill(&mut self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a share of chance")]
        let point = self.below(1 << 40) as f64 / (1u64 << 40) as f64 * self.shares.last().unwrap();
        let rank = self.shares.partition_point(|share| *share < point);
        format!("team{}/area{}/skill{rank}", rank % 7, rank % 31)
    }

    fn skills(&mut self, most: u64) -> Vec<String> {
        (0..=self.below(most)).map(|_| self.skill()).collect()
    }

    fn context(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..4 + self.below(8) {
            write!(text, "{} ", self.one_of(WORDS)).unwrap();
        }
        text.trim_end().to_owned()
    }

    /// An event of this moment.
    pub(crate) fn event(&mut self, at: i64) -> Value {
        let (kind, tool, data) = self.happening();
        let millis = u64::try_from(at).unwrap();
        let id = Uuid::from_u128(
            (u128::from(millis) << 80) | (0x7u128 << 76) | u128::from(self.next() >> 2) | (1 << 63),
        );
        json!({
            "type": kind, "timestamp": clock::timestamp_of(Duration::from_millis(millis)),
            "server_id": format!("dev-{}", self.below(SERVERS)), "event_id": id, "data": data,
            "tool": tool, "client_name": self.one_of(CLIENTS), "client_version": "2.1.0",
            "skill_digest": format!("sha256:{:064x}", self.next()), "latency_us": 80 + self.below(5_000),
        })
    }

    /// What happens: the type of the event, the tool, its data.
    fn happening(&mut self) -> (&'static str, &'static str, Value) {
        match self.below(100) {
            0..45 => self.served(),
            45..65 => self.searched(),
            65..73 => {
                let (context, nearest) = (self.context(), self.skill());
                let data = json!({"context": context, "closest_candidate": nearest, "closest_score": 0.11});
                ("no_match", "get_skill", data)
            }
            73..78 => {
                let data = json!({"context": self.context(), "candidates": self.skills(4)});
                ("ambiguous", "get_skill", data)
            }
            78..88 => self.fetched(),
            88..93 => self.ran(),
            93..98 => {
                let comment = (self.below(3) == 0).then(|| self.context());
                let data = json!({"skill_path": self.skill(), "useful": self.below(4) > 0, "comment": comment});
                ("skill_feedback", "report_usage", data)
            }
            _ => {
                let data = json!({"mode": "git", "success": true, "commit_hash": "0123abc", "files_changed": 3});
                ("refresh", "refresh_skills", data)
            }
        }
    }

    fn served(&mut self) -> (&'static str, &'static str, Value) {
        let asked = self.below(100) < 85;
        let score =
            asked.then(|| 0.2 + f64::from(u16::try_from(self.below(800)).unwrap()) / 1000.0);
        let data = json!({
            "context": asked.then(|| self.context()), "skill_path": self.skill(), "score": score,
            "matched_keywords": ["react", "login"], "was_ambiguous": self.below(10) == 0,
            "inherited_from": ["_root", "team/_index"], "content_length_tokens": 100 + self.below(3_000),
            "was_shown": self.below(4) == 0,
        });
        ("skill_served", if asked { "get_skill" } else { "skill" }, data)
    }

    fn searched(&mut self) -> (&'static str, &'static str, Value) {
        let shown = if self.below(12) == 0 { Vec::new() } else { self.skills(8) };
        let (total, confident) = (shown.len(), self.below(2) == 0);
        let data = json!({"context": self.context(), "shown": shown, "total": total, "confident": confident});
        ("skill_searched", "skills_search", data)
    }

    fn fetched(&mut self) -> (&'static str, &'static str, Value) {
        let kind = if self.below(5) == 0 { "script" } else { "template" };
        let data = json!({
            "skill_path": self.skill(), "file": format!("assets/file{}.md", self.below(5)), "asset_type": kind,
            "is_inherited": false, "size_bytes": self.below(100_000),
        });
        ("asset_served", "get_asset", data)
    }

    fn ran(&mut self) -> (&'static str, &'static str, Value) {
        let refused = self.below(20) == 0;
        let success = !refused && self.below(10) > 0;
        let data = json!({
            "skill_path": self.skill(), "file": "scripts/run.sh", "execution_mode": "server", "success": success,
            "exit_code": (!refused).then_some(i32::from(!success)), "duration_ms": self.below(60_000),
            "args_provided": ["name"],
        });
        ("script_executed", "run_script", data)
    }
}

/// A batch as SEND-2 has it.
pub(crate) fn batch(events: &[Value]) -> String {
    json!({"events": events}).to_string()
}

/// So many days until now.
pub(crate) fn until_now(days: u64) -> Period {
    Period::last(days, now().div_euclid(DAY))
}

/// This moment, in milliseconds since 1970 began.
pub(crate) fn now() -> i64 {
    i64::try_from(clock::since_epoch().as_millis()).unwrap()
}
