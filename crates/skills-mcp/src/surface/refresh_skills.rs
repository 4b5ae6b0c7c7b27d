//! `refresh_skills`: syncs repositories and refreshes every source, now.

use std::{
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Blocking, Call, Refusal, Reply, Tool, ToolSet, arguments};
use crate::{
    event::{CatalogRefreshed, Event},
    store::{Cause, Outcome, Urgency},
};

/// The name of the one tool that helps where there is nothing yet.
pub(super) const NAME: &str = "refresh_skills";

pub(super) const TOOL: Tool = Tool {
    name: NAME,
    tool_set: ToolSet::Tree,
    title: "Refresh skills",
    description: "Read the skills again from their source, after they were changed.",
    read_only: false,
    idempotent: true,
    dangerous: false,
    input: arguments::schema::<RefreshSkillsInput>,
    output: None,
    blocking: |_, _| Blocking::LongRead,
    run,
};

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct RefreshSkillsInput {}

/// What clients on other machines read of a failure: its cause names addresses and paths of this one.
const REMOTE_FAILURE: &str = "Not every source could be read again; what was read before is still served. The server's log says why.";

/// A client is not kept waiting longer than this.
const SYNC_WAIT_TIMEOUT: Duration = Duration::from_mins(1);

fn run(call: &Call, _: Map<String, Value>) -> Result<Reply, Refusal> {
    if call.snapshot.is_limited() {
        return limited(call);
    }
    if call.store.repositories().next().is_some() {
        return from_git(call);
    }
    let refreshed = call.store.refresh(Cause::Asked);
    let skills_reindexed = refreshed.snapshot.catalog.len();
    let success = refreshed.failures.is_empty();
    call.sink.record(|| {
        Event::Refresh(CatalogRefreshed {
            mode: "local".to_owned(),
            success,
            commit_hash: None,
            files_changed: None,
            skills_reindexed: skills_reindexed as u64,
        })
    });
    let message = if success {
        "Reindexed from local directory (no git sync configured).".to_owned()
    } else if call.profile.remote.is_some() {
        REMOTE_FAILURE.to_owned()
    } else {
        refreshed.failures.join(" ")
    };
    Reply::json(&json!({
        "success": success,
        "mode": "local",
        "skills_reindexed": skills_reindexed,
        "message": message,
    }))
}

/// For a client that may see some of the skills: how many there are for it, and nothing of sources.
fn limited(call: &Call) -> Result<Reply, Refusal> {
    if call.store.repositories().next().is_some() {
        // Whatever it came to: that is for those who may see everything.
        drop(synced(call));
    }
    let refreshed = call.store.refresh(Cause::Asked).snapshot;
    let seen = call.store.limited(&refreshed, call.snapshot.access());
    Reply::json(&json!({"success": true, "skills_reindexed": seen.catalog.len()}))
}

/// Syncs, then refreshes everything.
fn from_git(call: &Call) -> Result<Reply, Refusal> {
    let outcomes = match synced(call) {
        Ok(outcomes) => outcomes,
        Err(message) => return Reply::json(&json!({"success": false, "message": message})),
    };
    let refreshed = call.store.refresh(Cause::Asked);
    let mut troubles = refreshed.failures;
    for outcome in &outcomes {
        if let Err(error) = &outcome.result {
            let remote = outcome.repository.remote();
            let served = if outcome.repository.commit().is_some() {
                " What was fetched before is still served."
            } else {
                ""
            };
            troubles.push(format!(
                "{remote} was not synced: {error}.{served} What to do: {}.",
                error.hint()
            ));
        }
    }
    let changed =
        |outcome: &Outcome| outcome.result.as_ref().map_or(0, |synced| synced.changed.len());
    let answer = GitRefresh {
        success: troubles.is_empty(),
        commit_hash: outcomes.iter().find_map(|outcome| outcome.repository.commit()),
        files_changed: outcomes.iter().map(changed).sum(),
        skills_reindexed: refreshed.snapshot.catalog.len(),
        last_sync: outcomes.iter().find_map(|outcome| outcome.repository.state().last_sync()),
        message: (!troubles.is_empty()).then(|| match call.profile.remote {
            None => troubles.join(" "),
            Some(_) => REMOTE_FAILURE.to_owned(),
        }),
        sources: (outcomes.len() > 1).then(|| {
            let commit = |outcome: &Outcome| {
                (outcome.repository.name().to_string(), json!(outcome.repository.commit()))
            };
            outcomes.iter().map(commit).collect()
        }),
    };
    call.sink.record(|| {
        Event::Refresh(CatalogRefreshed {
            mode: "git".to_owned(),
            success: answer.success,
            commit_hash: answer.commit_hash.clone(),
            files_changed: Some(answer.files_changed as u64),
            skills_reindexed: answer.skills_reindexed as u64,
        })
    });
    Reply::json(&answer)
}

/// What the sync came to, or why that is not known.
fn synced(call: &Call) -> Result<Vec<Outcome>, String> {
    let (done, waiting) = mpsc::channel();
    let store = Arc::clone(&call.store);
    // On a thread of its own, which goes on when the client has waited long enough.
    thread::spawn(move || {
        let _ = done.send(store.sync(Urgency::Now, None));
    });
    let served = "its result is served as soon as it is there";
    match waiting.recv_timeout(SYNC_WAIT_TIMEOUT) {
        Ok(Some(outcomes)) => Ok(outcomes),
        Ok(None) => Err(format!("A sync is already running; {served}.")),
        Err(_) => Err(format!(
            "The sync is still running after {} s; {served}.",
            SYNC_WAIT_TIMEOUT.as_secs()
        )),
    }
}

/// The answer of REPORT-4, and what is wrong where something is.
#[derive(Serialize)]
struct GitRefresh {
    success: bool,
    commit_hash: Option<String>,
    files_changed: usize,
    skills_reindexed: usize,
    last_sync: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// Of several repositories, the commit of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<Map<String, Value>>,
}
