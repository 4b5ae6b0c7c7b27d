//! The closed list of events, and the [`Sink`] that records them.
//!
//! Tools record events and never wait. Where analytics are off an event is not even made. An event is
//! declared once: what is written is what is [read back](RecordedEvent::read), and what others wrote is read as far as it
//! goes. To count events, a [`BorrowedEvent`] copies nothing of the text: the same declaration, with `S`
//! borrowed. Not here: where events are kept or sent.

mod borrowed;
mod read;
mod sink;

use std::sync::Arc;

pub use borrowed::{BorrowedEvent, BorrowedText};
pub use read::UnreadableEvent;
use serde::{Deserialize, Serialize};
pub use sink::{CallContext, KeptContext, Sink, VersionedEvent};
use uuid::Uuid;

/// Everything that is reported, with the fields that EVENT-3 promises.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Event<S = String> {
    /// `get_skill` or `skill` found nothing.
    NoMatch(NoMatch<S>),
    /// `get_skill` or `skill` found several.
    Ambiguous(Ambiguous<S>),
    /// A skill was served, by any tool.
    SkillServed(SkillServed<S>),
    /// `skills_search` answered.
    SkillSearched(SkillSearched<S>),
    /// `get_asset` served a file.
    AssetServed(AssetServed<S>),
    /// `run_script` ran a script, or refused to.
    ScriptExecuted(ScriptExecuted<S>),
    /// `report_usage` was called.
    SkillFeedback(SkillFeedback<S>),
    /// `refresh_skills` was called.
    Refresh(CatalogRefreshed<S>),
}

/// A request that no skill fits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NoMatch<S = String> {
    /// The request's text, as far as it is kept.
    pub context: Option<S>,
    /// The nearest skill below the minimum.
    pub closest_candidate: Option<S>,
    /// Its base score.
    pub closest_score: Option<f64>,
    /// `several` where skills were offered that may fit, `unsure` where probably none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certainty: Option<S>,
}

/// A request that several skills fit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ambiguous<S = String> {
    /// The request's text, as far as it is kept.
    pub context: Option<S>,
    /// Their paths, best first.
    pub candidates: Vec<S>,
    /// `several`, or `unsure` where probably none of them fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certainty: Option<S>,
}

/// A skill that was served.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkillServed<S = String> {
    /// The request's text, where there was one, as far as it is kept.
    pub context: Option<S>,
    /// Which.
    pub skill_path: S,
    /// Its score; null where it was asked for by its path.
    pub score: Option<f64>,
    /// The keywords that matched.
    pub matched_keywords: Vec<S>,
    /// The engine that decided for it, where words did: `keywords`, `ranked` or `both`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_by: Option<S>,
    /// Whether the caller chose it from an ambiguous answer.
    pub was_ambiguous: bool,
    /// The ancestors in its text, root first.
    pub inherited_from: Vec<S>,
    /// Estimated tokens of its text.
    pub content_length_tokens: u64,
    /// Whether a search had shown it to the caller before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub was_shown: bool,
}

/// A search and what it showed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkillSearched<S = String> {
    /// The query, as far as it is kept.
    pub context: Option<S>,
    /// The skills that were shown, best first.
    pub shown: Vec<S>,
    /// How many there would have been.
    pub total: u64,
    /// Of a ranked search: `sure` of the first, `several` that may fit, or `unsure` whether any does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certainty: Option<S>,
}

/// A file that was served.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AssetServed<S = String> {
    /// For which skill.
    pub skill_path: S,
    /// Which file.
    pub file: S,
    /// Its declared type; `script` for a script.
    pub asset_type: S,
    /// Whether an ancestor declares it.
    pub is_inherited: bool,
    /// Its size.
    pub size_bytes: u64,
    /// The ancestor that declares it, where it is inherited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared_by: Option<S>,
}

/// A script that ran, or was refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScriptExecuted<S = String> {
    /// For which skill.
    pub skill_path: S,
    /// Which script.
    pub file: S,
    /// Who is meant to run it: `server`, or `claude` where that is why it was refused.
    pub execution_mode: S,
    /// Whether it ran and ended well.
    pub success: bool,
    /// Its exit code; null where it did not run.
    pub exit_code: Option<i32>,
    /// How long it ran.
    pub duration_ms: u64,
    /// The names of the arguments that were given, never their values.
    pub args_provided: Vec<S>,
    /// The ancestor that declares it, where it is inherited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared_by: Option<S>,
}

/// Feedback on a skill.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkillFeedback<S = String> {
    /// About which skill.
    pub skill_path: S,
    /// Whether it helped.
    pub useful: bool,
    /// What was missing.
    pub comment: Option<S>,
}

/// A refresh that a client asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CatalogRefreshed<S = String> {
    /// `git`, or `local` where there is no git source.
    pub mode: S,
    /// Whether it worked.
    pub success: bool,
    /// The commit that is served.
    pub commit_hash: Option<S>,
    /// How many files differ.
    pub files_changed: Option<u64>,
    /// How many skills there are now.
    pub skills_reindexed: u64,
}

/// Which state of a skill an event is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillVersion {
    /// The digest of its text: `sha256:…`.
    pub digest: Option<String>,
    /// The commit it comes from, where it comes from one.
    pub commit: Option<String>,
}

/// An event with when, where, for whom and how fast.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedEvent {
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
    /// When, as ISO 8601.
    pub timestamp: String,
    /// On whose machine: `dev-{user}`.
    pub server_id: Arc<str>,
    /// The version of the program that recorded it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_version: Option<Arc<str>>,
    /// Its own number, by which a copy is known.
    pub event_id: Uuid,
    /// The tool that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Arc<str>>,
    /// The client that called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<Arc<str>>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_version: Option<Arc<str>>,
    /// The digest of the skill's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill_digest: Option<String>,
    /// The commit the skill comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill_commit: Option<String>,
    /// From the request to the event, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<u64>,
}

/// After so many "useless" in a row, the log and reports name a skill.
pub const USELESS_STREAK: u64 = 3;

/// The tool that takes a name; all others take words.
const TOOL_BY_NAME: &str = "skill";

/// What was asked, by whom, of what and how fast it was answered: what counts of an event besides itself.
#[derive(Debug, Clone, Copy)]
pub struct EventCall<'a> {
    /// On whose machine.
    pub server_id: &'a str,
    /// The version of the program that answered.
    pub server_version: Option<&'a str>,
    /// The tool that was called.
    pub tool: Option<&'a str>,
    /// The client that called it.
    pub client_name: Option<&'a str>,
    /// The commit the skill comes from.
    pub skill_commit: Option<&'a str>,
    /// From the request to the event, in microseconds.
    pub latency_us: Option<u64>,
}

impl EventCall<'_> {
    /// Whether a skill was asked for by its name, and not in words.
    pub fn is_by_name(self) -> bool {
        self.tool == Some(TOOL_BY_NAME)
    }
}

impl RecordedEvent {
    /// What was asked, by whom, of what and how fast it was answered.
    pub fn call(&self) -> EventCall<'_> {
        EventCall {
            server_id: &self.server_id,
            server_version: self.server_version.as_deref(),
            tool: self.tool.as_deref(),
            client_name: self.client_name.as_deref(),
            skill_commit: self.skill_commit.as_deref(),
            latency_us: self.latency_us,
        }
    }
}

impl<S: AsRef<str>> Event<S> {
    /// Its type, as it is written.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoMatch(_) => "no_match",
            Self::Ambiguous(_) => "ambiguous",
            Self::SkillServed(_) => "skill_served",
            Self::SkillSearched(_) => "skill_searched",
            Self::AssetServed(_) => "asset_served",
            Self::ScriptExecuted(_) => "script_executed",
            Self::SkillFeedback(_) => "skill_feedback",
            Self::Refresh(_) => "refresh",
        }
    }

    /// The skill it is about, if it is about one.
    pub fn skill(&self) -> Option<&str> {
        match self {
            Self::SkillServed(SkillServed { skill_path, .. })
            | Self::AssetServed(AssetServed { skill_path, .. })
            | Self::ScriptExecuted(ScriptExecuted { skill_path, .. })
            | Self::SkillFeedback(SkillFeedback { skill_path, .. }) => Some(skill_path.as_ref()),
            Self::NoMatch(_) | Self::Ambiguous(_) | Self::SkillSearched(_) | Self::Refresh(_) => {
                None
            }
        }
    }

    /// Whether probably no skill fits its request in words, as far as the program could tell.
    pub fn fits_none(&self, is_by_name: bool) -> bool {
        let is = |certainty: &Option<S>, word| {
            certainty.as_ref().is_some_and(|one| one.as_ref() == word)
        };
        match self {
            Self::NoMatch(miss) => !is_by_name && !is(&miss.certainty, "several"),
            Self::Ambiguous(several) => !is_by_name && is(&several.certainty, "unsure"),
            Self::SkillSearched(search) => {
                search.shown.is_empty() || is(&search.certainty, "unsure")
            }
            Self::SkillServed(_)
            | Self::AssetServed(_)
            | Self::ScriptExecuted(_)
            | Self::SkillFeedback(_)
            | Self::Refresh(_) => false,
        }
    }

    /// The request's text, if there is one.
    pub fn context(&self) -> Option<&str> {
        match self {
            Self::NoMatch(NoMatch { context, .. })
            | Self::Ambiguous(Ambiguous { context, .. })
            | Self::SkillServed(SkillServed { context, .. })
            | Self::SkillSearched(SkillSearched { context, .. }) => {
                context.as_ref().map(AsRef::as_ref)
            }
            Self::AssetServed(_)
            | Self::ScriptExecuted(_)
            | Self::SkillFeedback(_)
            | Self::Refresh(_) => None,
        }
    }
}

impl Event {
    /// The same event, about this state of its skill.
    pub fn about(self, version: SkillVersion) -> VersionedEvent {
        VersionedEvent { event: self, version }
    }

    /// Where the request's text is, if there is one.
    pub(crate) fn context_mut(&mut self) -> Option<&mut Option<String>> {
        match self {
            Self::NoMatch(NoMatch { context, .. })
            | Self::Ambiguous(Ambiguous { context, .. })
            | Self::SkillServed(SkillServed { context, .. })
            | Self::SkillSearched(SkillSearched { context, .. }) => Some(context),
            Self::AssetServed(_)
            | Self::ScriptExecuted(_)
            | Self::SkillFeedback(_)
            | Self::Refresh(_) => None,
        }
    }
}
