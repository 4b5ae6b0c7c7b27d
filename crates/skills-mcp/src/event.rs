//! What happens here that somebody may want to count: the closed list of events, and the [`Sink`] they fall into.
//!
//! Surfaces tell, analytics listens, nobody waits. Where analytics are off an event is not even made. Not
//! here: where events are kept or sent.

use std::{fmt, sync::Arc};

use serde::Serialize;

use crate::clock;

/// Everything that is reported, with the fields of seeds 000 §10.2 and 001 §3.1.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Event {
    /// `get_skill` found nothing.
    NoMatch {
        /// The request's text.
        context: String,
        /// The nearest skill below the minimum.
        closest_candidate: Option<String>,
        /// Its base score.
        closest_score: Option<f64>,
    },
    /// `get_skill` found several.
    Ambiguous {
        /// The request's text.
        context: String,
        /// Their paths, best first.
        candidates: Vec<String>,
    },
    /// `get_skill` served a skill.
    SkillServed {
        /// The request's text, where there was one.
        context: Option<String>,
        /// Which.
        skill_path: String,
        /// Its score; null where it was asked for by its path.
        score: Option<f64>,
        /// The keywords that matched.
        matched_keywords: Vec<String>,
        /// Whether the caller chose it from an ambiguous answer.
        was_ambiguous: bool,
        /// The ancestors in its text, root first.
        inherited_from: Vec<String>,
        /// Estimated tokens of its text.
        content_length_tokens: usize,
    },
    /// `get_asset` served a file.
    AssetServed {
        /// For which skill.
        skill_path: String,
        /// Which file.
        file: String,
        /// Its declared type; `script` for a script.
        asset_type: String,
        /// Whether an ancestor declares it.
        is_inherited: bool,
        /// Its size.
        size_bytes: usize,
    },
    /// `run_script` ran a script, or refused to.
    ScriptExecuted {
        /// For which skill.
        skill_path: String,
        /// Which script.
        file: String,
        /// Who is meant to run it: `server`, or `claude` where that is why it was refused.
        execution_mode: &'static str,
        /// Whether it ran and ended well.
        success: bool,
        /// Its exit code; null where it did not run.
        exit_code: Option<i32>,
        /// How long it ran.
        duration_ms: u64,
        /// The names of the arguments that were given, never their values.
        args_provided: Vec<String>,
    },
    /// `report_usage` was called.
    SkillFeedback {
        /// About which skill.
        skill_path: String,
        /// Whether it helped.
        useful: bool,
        /// What was missing.
        comment: Option<String>,
    },
    /// `refresh_skills` was called.
    Refresh {
        /// `git`, or `local` where there is no git source.
        mode: &'static str,
        /// Whether it worked.
        success: bool,
        /// The commit that is served.
        commit_hash: Option<String>,
        /// How many files differ.
        files_changed: Option<usize>,
        /// How many skills there are now.
        skills_reindexed: usize,
    },
}

/// An event with when and where.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recorded {
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
    /// When.
    pub timestamp: String,
    /// On whose machine: `dev-{user}`.
    pub server_id: Arc<str>,
}

/// Where events go. Cheap to clone; telling it never blocks and never fails.
#[derive(Clone, Default)]
pub struct Sink(Option<Arc<Listener>>);

struct Listener {
    server_id: Arc<str>,
    listen: Box<dyn Fn(Recorded) + Send + Sync>,
}

impl Sink {
    /// A sink nobody listens to.
    pub fn silent() -> Self {
        Self(None)
    }

    /// A sink with a listener, which must not block.
    pub fn new(
        server_id: impl Into<Arc<str>>,
        listen: impl Fn(Recorded) + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(Listener { server_id: server_id.into(), listen: Box::new(listen) })))
    }

    /// Tells what happened; `event` is made only where somebody listens.
    pub fn tell(&self, event: impl FnOnce() -> Event) {
        if let Some(listener) = &self.0 {
            let server_id = Arc::clone(&listener.server_id);
            (listener.listen)(Recorded {
                event: event(),
                timestamp: clock::timestamp(),
                server_id,
            });
        }
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Sink(listening)" } else { "Sink(silent)" })
    }
}
