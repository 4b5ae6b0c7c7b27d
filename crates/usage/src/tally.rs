//! An event → what it adds to which counts. Pure, and the only place that knows.
//!
//! Counts are whole numbers, kept by day, so that any two tallies can be added up in any order and give the same.

use std::collections::HashMap;

use crate::event::{Event, EventCall, RecordedEvent};

/// What is counted. The text is what databases keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// Events of a type: subject = type.
    Event,
    /// Events of a server: subject = its id.
    Server,
    /// A skill was served: subject = skill, detail = client, total = tokens.
    Served,
    /// It was loaded at once for a request in words: subject = skill.
    Loaded,
    /// It was chosen from an ambiguous answer: subject = skill.
    Chosen,
    /// It was one of several candidates: subject = skill.
    Tied,
    /// A search showed it: subject = skill.
    Shown,
    /// It was loaded after a search had shown it: subject = skill.
    Taken,
    /// A search was answered.
    Searched,
    /// A search found nothing that probably fits.
    SearchedInVain,
    /// `get_skill` offered skills for a request in words: subject = the nearest skill, or nothing.
    Offered,
    /// `get_skill` found nothing that probably fits a request in words: subject = the nearest skill, or nothing.
    Missed,
    /// A skill was asked for by a name that no skill has: subject = the nearest skill, or nothing. Or by one that several
    /// have: detail = `several`.
    Misnamed,
    /// It helped: subject = skill.
    Useful,
    /// It did not: subject = skill.
    Useless,
    /// A file was fetched: subject = the skill that declares it, detail = file, total = bytes.
    AssetFetched,
    /// A script was fetched to be run by the agent: subject = the skill that declares it, detail = file.
    ScriptFetched,
    /// A script ran here and ended well: subject = the skill that declares it, detail = file, total = milliseconds,
    /// bucket = of the milliseconds.
    ScriptSucceeded,
    /// It ran here and failed: likewise.
    ScriptFailed,
    /// It was refused: subject = the skill, detail = file.
    ScriptRefused,
    /// A call was answered: subject = tool, total = microseconds, bucket = of the microseconds.
    Latency,
}

/// Which count.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CountKey {
    /// Of what.
    pub metric: Metric,
    /// Of which skill, tool, type or server.
    pub subject: String,
    /// Of which file or client; empty where there is none.
    pub detail: String,
    /// How long it took, [roughly](bucket); zero where that is not counted.
    pub bucket: u16,
}

/// How often, and how much in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CountSum {
    /// How often.
    pub n: u64,
    /// How much.
    pub total: u64,
}

impl CountSum {
    /// Both together.
    pub fn add(&mut self, other: Self) {
        self.n = self.n.saturating_add(other.n);
        self.total = self.total.saturating_add(other.total);
    }
}

/// The detail of a name that several skills have.
pub(crate) const AMBIGUOUS_NAME: &str = "several";

/// Counts of one period.
pub type Tally = HashMap<CountKey, CountSum>;

/// Adds what one event counts for.
pub fn count(tally: &mut Tally, recorded: &RecordedEvent) {
    each(&recorded.event, recorded.call(), |metric, subject, detail, bucket, total| {
        let key =
            CountKey { metric, subject: subject.to_owned(), detail: detail.to_owned(), bucket };
        tally.entry(key).or_default().add(CountSum { n: 1, total });
    });
}

/// What one event counts for, one by one: metric, subject, detail, bucket, total. For an owned event or a
/// borrowed one.
pub fn each<S: AsRef<str>>(
    event: &Event<S>,
    call: EventCall<'_>,
    mut add: impl FnMut(Metric, &str, &str, u16, u64),
) {
    add(Metric::Event, event.kind(), "", 0, 0);
    add(Metric::Server, call.server_id, "", 0, 0);
    if let (Some(tool), Some(micros)) = (call.tool, call.latency_us) {
        add(Metric::Latency, tool, "", bucket(micros), micros);
    }
    match event {
        Event::NoMatch(miss) => {
            let nearest = miss.closest_candidate.as_ref().map_or("", AsRef::as_ref);
            add(unloaded(event, call), nearest, "", 0, 0);
        }
        Event::Ambiguous(several) => {
            let nearest = several.candidates.first().map_or("", AsRef::as_ref);
            let detail = if call.is_by_name() { AMBIGUOUS_NAME } else { "" };
            add(unloaded(event, call), nearest, detail, 0, 0);
            several.candidates.iter().for_each(|skill| add(Metric::Tied, skill.as_ref(), "", 0, 0));
        }
        Event::SkillServed(served) => {
            let (skill, client) = (served.skill_path.as_ref(), call.client_name);
            let tokens = served.content_length_tokens;
            add(Metric::Served, skill, client.unwrap_or_default(), 0, tokens);
            if served.score.is_some() {
                add(Metric::Loaded, skill, "", 0, 0);
            }
            let how = [(served.was_ambiguous, Metric::Chosen), (served.was_shown, Metric::Taken)];
            for (_, metric) in how.into_iter().filter(|(was, _)| *was) {
                add(metric, skill, "", 0, 0);
            }
        }
        Event::SkillSearched(search) => {
            add(Metric::Searched, "", "", 0, 0);
            if event.fits_none(call.is_by_name()) {
                add(Metric::SearchedInVain, "", "", 0, 0);
            }
            search.shown.iter().for_each(|skill| add(Metric::Shown, skill.as_ref(), "", 0, 0));
        }
        Event::AssetServed(asset) => {
            let owner = asset.declared_by.as_ref().unwrap_or(&asset.skill_path).as_ref();
            add(Metric::AssetFetched, owner, asset.file.as_ref(), 0, asset.size_bytes);
            if asset.asset_type.as_ref() == "script" {
                add(Metric::ScriptFetched, owner, asset.file.as_ref(), 0, 0);
            }
        }
        Event::ScriptExecuted(script) => {
            let owner = script.declared_by.as_ref().unwrap_or(&script.skill_path).as_ref();
            let (millis, timed) = (script.duration_ms, bucket(script.duration_ms));
            let (metric, bucket) = match (script.exit_code, script.success) {
                (None, _) => (Metric::ScriptRefused, 0),
                (Some(_), true) => (Metric::ScriptSucceeded, timed),
                (Some(_), false) => (Metric::ScriptFailed, timed),
            };
            add(metric, owner, script.file.as_ref(), bucket, millis);
        }
        Event::SkillFeedback(feedback) => {
            let metric = if feedback.useful { Metric::Useful } else { Metric::Useless };
            add(metric, feedback.skill_path.as_ref(), "", 0, 0);
        }
        Event::Refresh(_) => {}
    }
}

/// Classifies a request of `get_skill` or `skill` that loaded nothing.
fn unloaded<S: AsRef<str>>(event: &Event<S>, call: EventCall<'_>) -> Metric {
    match (call.is_by_name(), event.fits_none(false)) {
        (true, _) => Metric::Misnamed,
        (false, true) => Metric::Missed,
        (false, false) => Metric::Offered,
    }
}

/// Buckets in each doubling, so that a bucket is known to within a tenth.
const BUCKETS_PER_DOUBLING: f64 = 4.0;

/// Which bucket a duration falls into: 1 for zero and one, four more for each doubling.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a logarithm of 64 bits is small and not below zero; its rounding is what a bucket is"
)]
pub fn bucket(duration: u64) -> u16 {
    1 + (libm::log2(duration.max(1) as f64) * BUCKETS_PER_DOUBLING).floor() as u16
}

/// What stands for a bucket: its middle.
pub fn middle(bucket: u16) -> f64 {
    let lower = f64::from(bucket.saturating_sub(1));
    libm::exp2((lower + 0.5) / BUCKETS_PER_DOUBLING)
}

impl Metric {
    /// All there are, with the text that databases keep.
    pub const ALL: [(Self, &'static str); 21] = [
        (Self::Event, "event"),
        (Self::Server, "server"),
        (Self::Served, "served"),
        (Self::Loaded, "loaded"),
        (Self::Chosen, "chosen"),
        (Self::Tied, "tied"),
        (Self::Shown, "shown"),
        (Self::Taken, "taken"),
        (Self::Searched, "searched"),
        (Self::SearchedInVain, "searched_in_vain"),
        (Self::Offered, "offered"),
        (Self::Missed, "missed"),
        (Self::Misnamed, "misnamed"),
        (Self::Useful, "useful"),
        (Self::Useless, "useless"),
        (Self::AssetFetched, "asset_fetched"),
        (Self::ScriptFetched, "script_fetched"),
        (Self::ScriptSucceeded, "script_succeeded"),
        (Self::ScriptFailed, "script_failed"),
        (Self::ScriptRefused, "script_refused"),
        (Self::Latency, "latency"),
    ];

    /// Its text.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(metric, _)| *metric == self).map_or("", |(_, word)| word)
    }

    /// The metric of this text; none of one that a newer version counts.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(metric, _)| *metric)
    }
}
