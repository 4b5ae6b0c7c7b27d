//! [`UsageReport`]: what the events of a period say, ready to be shown. `stats`, the page and the tool show the same one.
//!
//! Pure: evidence and a catalog in, a report out. Texts of events are in it as they came.

mod advice;
mod catalog;
mod files;
mod misses;
mod patterns;
mod rate;
mod servers;
mod skills;
mod totals;
mod words;

pub use catalog::{CatalogSkill, CatalogSummary, Health, HealthFinding};
use serde::{Deserialize, Serialize};
pub use servers::ServerUse;
use words::TextWords;

use crate::{
    archive::{Evidence, Period},
    event::USELESS_STREAK,
};

/// Fewer than this many observations are no rate: nothing is claimed from them.
pub(crate) const MIN_OBSERVATIONS: u64 = 10;

/// All that is known of a period.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UsageReport {
    /// Of which days.
    pub period: Days,
    /// The only client whose calls are in it, but for `callers`; none where all are.
    #[serde(default)]
    pub client: Option<String>,
    /// The clients that called, most first: those that a report can be limited to.
    #[serde(default)]
    pub callers: Vec<Counted>,
    /// In all.
    pub totals: Totals,
    /// What to fix first, the most urgent first.
    pub advice: Vec<Advice>,
    /// Day by day, days without events included.
    pub days: Vec<Day>,
    /// Every skill that something happened to, most served first.
    pub skills: Vec<SkillUse>,
    /// Skills of the catalog that were never served; none where no catalog is known.
    pub never_served: Option<Vec<Unused>>,
    /// Requests that found nothing, grouped by the words they share; largest group first.
    pub misses: Vec<Misses>,
    /// How many of those requests were looked at: the latest.
    #[serde(default)]
    pub misses_looked_at: SampleSize,
    /// Which words led to which skill, most served first.
    pub patterns: Vec<Pattern>,
    /// Files that were fetched, most first.
    pub assets: Vec<AssetUse>,
    /// Declared files of the catalog that were never fetched; none where no catalog is known.
    pub never_fetched: Option<Vec<Unused>>,
    /// Scripts, most run first.
    pub scripts: Vec<ScriptUse>,
    /// Who runs scripts.
    pub execution: Execution,
    /// How fast tools answer, most called first.
    pub latency: Vec<Latency>,
    /// Skills served by client, most first; an empty name is a client that did not say its name.
    pub clients: Vec<Counted>,
    /// What each server runs, the one that was seen last first; at most so many as are useful to read.
    #[serde(default)]
    pub servers: Vec<ServerUse>,
    /// The state of the catalog; none where no catalog is known.
    pub health: Option<Health>,
}

impl UsageReport {
    /// What the evidence of a period says, on some day; with a catalog, also what is missing in it.
    pub fn of(
        evidence: &Evidence,
        catalog: Option<&CatalogSummary>,
        period: Period,
        today: i64,
    ) -> Self {
        let mut words = TextWords::default();
        let skills = skills::of(evidence, catalog);
        let totals = totals::of(evidence);
        let missed = totals.none;
        let mut report = Self {
            period: totals::period(period, today),
            client: evidence.client.clone(),
            callers: totals::callers(evidence),
            totals,
            advice: Vec::new(),
            days: totals::days(evidence, period),
            never_served: catalog.map(|catalog| catalog.never_served(&evidence.tally)),
            misses: misses::of(&evidence.recent, catalog, &mut words),
            misses_looked_at: misses::looked_at(&evidence.recent, missed),
            patterns: patterns::of(&evidence.recent, &skills, &mut words),
            skills,
            assets: files::assets(&evidence.tally),
            never_fetched: catalog.map(|catalog| catalog.never_fetched(&evidence.tally)),
            scripts: files::scripts(&evidence.tally, catalog),
            execution: files::execution(&evidence.tally),
            latency: files::latency(&evidence.tally),
            clients: totals::clients(&evidence.tally),
            servers: servers::of(evidence),
            health: catalog.map(|catalog| catalog.health.clone()),
        };
        report.advice = advice::of(&report);
        report
    }

    /// Whether a report can be limited to a client of this name.
    pub fn has_caller(&self, client: &str) -> bool {
        self.callers.iter().any(|caller| caller.name == client)
    }

    /// How many servers reported and are not among those listed.
    pub fn servers_left_out(&self) -> u64 {
        self.totals.servers.saturating_sub(self.servers.len() as u64)
    }

    /// Only what is about one skill; sums stay those of all.
    #[must_use]
    pub fn narrowed(mut self, skill: &str) -> Self {
        self.advice.retain(|advice| advice.skill.as_deref() == Some(skill));
        self.skills.retain(|used| used.skill == skill);
        self.patterns.retain(|pattern| pattern.skill == skill);
        self.misses.retain(|group| group.nearest.as_deref() == Some(skill));
        self.assets.retain(|asset| asset.skill == skill);
        self.scripts.retain(|script| script.skill == skill);
        for unused in self.never_served.iter_mut().chain(&mut self.never_fetched) {
            unused.retain(|unused| unused.skill == skill);
        }
        self
    }
}

/// A period in words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Days {
    /// The first day: `2026-02-18`.
    pub from: String,
    /// The last day.
    pub to: String,
    /// How many.
    pub days: u64,
    /// Whether the last one is today, and so not over.
    pub unfinished: bool,
}

/// Sums over all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Events of any type.
    pub events: u64,
    /// Skills served.
    pub served: u64,
    /// Different skills served.
    pub skills_used: u64,
    /// Tokens served.
    pub tokens: u64,
    /// Searches.
    pub searches: u64,
    /// Requests in words, searches included, for which a skill was loaded at once, of all of them.
    pub loaded: Rate,
    /// Those for which skills were offered, one of which was loaded then.
    pub chosen: u64,
    /// Those for which skills were offered, none of which was loaded.
    pub left: u64,
    /// Those that probably no skill fits, by the answer.
    pub none: u64,
    /// Skills asked for by a name that no skill has.
    #[serde(default)]
    pub misnamed: u64,
    /// Feedback that says a skill helped.
    pub useful: Rate,
    /// Scripts run here.
    pub scripts_run: u64,
    /// Servers that reported.
    pub servers: u64,
}

/// So many of so many, and how sure that is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// How many.
    pub n: u64,
    /// Of how many.
    pub of: u64,
    /// The share; none where there are too few to say.
    pub share: Option<f64>,
    /// The range of the true share, 19 times in 20 (Wilson): from
    pub low: Option<f64>,
    /// to.
    pub high: Option<f64>,
}

/// The latest so many of so many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleSize {
    /// How many.
    pub n: u64,
    /// Of how many.
    pub of: u64,
}

impl SampleSize {
    /// Whether there are more than were looked at.
    pub fn is_part(self) -> bool {
        self.n < self.of
    }
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// What kind of thing.
    pub kind: AdviceKind,
    /// The skill, the file or the words it is about.
    pub subject: String,
    /// What was seen, in one sentence.
    pub seen: String,
    /// What to do, in one sentence.
    pub action: String,
    /// The skill whose page has more, if one does.
    pub skill: Option<String>,
}

/// Kinds of things to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdviceKind {
    /// Requests that no skill covers.
    WriteSkill,
    /// Requests that a skill covers, whose words it does not have.
    AddKeywords,
    /// A skill that does not help.
    ImproveSkill,
    /// A skill that is shown and not taken.
    RetitleSkill,
    /// A script that fails.
    FixScript,
    /// A skill that cannot be read.
    FixFile,
    /// A skill that is never used.
    RemoveSkill,
}

/// One day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day {
    /// Which: `2026-02-18`.
    pub date: String,
    /// Skills served.
    pub served: u64,
    /// Requests that nothing fitted.
    pub misses: u64,
    /// Searches.
    pub searches: u64,
    /// Scripts run here.
    pub scripts: u64,
    /// Tokens served.
    pub tokens: u64,
}

/// One skill.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SkillUse {
    /// Which.
    pub skill: String,
    /// Whether the catalog has it; none where no catalog is known.
    pub known: Option<bool>,
    /// How often it was served.
    pub served: u64,
    /// Tokens served in all.
    pub tokens: u64,
    /// How often it was loaded at once for a request in words.
    pub loaded: u64,
    /// Feedback that says it helped.
    pub useful: Rate,
    /// How often in a row it was called useless, lately.
    pub useless_in_a_row: u64,
    /// How often a search showed it.
    pub shown: u64,
    /// How often it was loaded after that, of the times it was shown.
    pub taken: Rate,
    /// How often it was one of several candidates.
    pub tied: u64,
    /// How often it was the one that was taken then.
    #[serde(default)]
    pub chosen: u64,
    /// How often it was the nearest to a request that found nothing.
    pub nearly: u64,
}

impl SkillUse {
    /// Whether the latest feedback called it useless again and again.
    pub fn is_repeatedly_useless(&self) -> bool {
        self.useless_in_a_row >= USELESS_STREAK
    }
}

/// What is there and not used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unused {
    /// The skill.
    pub skill: String,
    /// The file of it, where it is a file.
    pub file: Option<String>,
    /// What it says of itself.
    pub description: String,
}

/// Requests that found nothing and have words in common.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Misses {
    /// The words.
    pub terms: Vec<String>,
    /// How many requests.
    pub requests: u64,
    /// Some of them, newest first.
    pub examples: Vec<String>,
    /// The skill that came nearest, most often.
    pub nearest: Option<String>,
    /// Its best score.
    pub nearest_score: Option<f64>,
    /// Words that would have led there, and are not among its own.
    pub keywords: Vec<String>,
}

/// Words that lead to a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// The skill.
    pub skill: String,
    /// Requests looked at.
    pub requests: u64,
    /// Words and how many of the requests have them, most first.
    pub terms: Vec<Counted>,
}

/// A name and how often.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Of what.
    pub name: String,
    /// How often.
    pub n: u64,
}

/// One file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssetUse {
    /// The skill that declares it.
    pub skill: String,
    /// Which.
    pub file: String,
    /// How often it was fetched.
    pub fetched: u64,
    /// Bytes in all.
    pub bytes: u64,
}

/// One script.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptUse {
    /// The skill that declares it.
    pub skill: String,
    /// Which.
    pub file: String,
    /// How often it ran here.
    pub runs: u64,
    /// How often that failed.
    pub failed: Rate,
    /// How often it was refused.
    pub refused: u64,
    /// How often an agent fetched it to run it itself.
    pub fetched: u64,
    /// Half of the runs took at most about this long.
    pub p50_ms: Option<f64>,
    /// 95 of 100 took at most about this long.
    pub p95_ms: Option<f64>,
}

/// Who runs scripts: this server, or the agent that fetched them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// Runs here.
    pub server: u64,
    /// Fetched by agents.
    pub claude: u64,
    /// The server's share.
    pub share: Rate,
}

/// One tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Which.
    pub tool: String,
    /// Calls.
    pub calls: u64,
    /// Half of them took at most about this long.
    pub p50_us: Option<f64>,
    /// 95 of 100.
    pub p95_us: Option<f64>,
    /// 99 of 100.
    pub p99_us: Option<f64>,
}

#[cfg(test)]
mod tests;
