//! `hook`: names the skill that fits what the user of a client has just submitted, or says nothing.
//!
//! The client waits for it with every prompt, and some clients block the prompt on any failure. So whatever happens here, the
//! answer is a hint or nothing, the exit code is 0, and nothing is written to standard error.

mod remembered;

use std::{
    io::{IsTerminal as _, Read as _, stdin},
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    time::Duration,
};

use remembered::Remembered;
use serde::Deserialize;
use serde_json::{Value, json};
use skills_core::{
    catalog::SkillId,
    route::ranked::{MAX_SUGGESTED, SearchHit},
};

use super::{Context, Failure, Output, client_of};
use crate::{
    clients::{HookFormat, KnownClient},
    config::Environment,
    store::{Cause, Store},
    surface::{ClientChoice, HintedSkill, hint},
    usage::{learn_now, learns},
};

#[derive(clap::Args)]
pub(super) struct HookOptions {
    /// The client whose hook this is: claude-code, codex, gemini, qwen, copilot, droid, opencode, cline
    // Another name than that of the flag `--client`, which is valid for every command.
    #[arg(id = "hook_client", value_name = "CLIENT")]
    client: String,
}

/// After this the prompt goes on without a hint.
const HOOK_TIMEOUT: Duration = Duration::from_millis(1_500);
/// A longer message of the client is not read.
const MAX_INPUT_BYTES: u64 = 4 * 1024 * 1024;

/// What clients send to a hook, in their spellings.
#[derive(Deserialize)]
struct SubmittedPrompt {
    prompt: String,
    #[serde(alias = "sessionId", default)]
    session_id: String,
    #[serde(default)]
    cwd: Option<std::path::PathBuf>,
    /// Claude Code's number of the prompt.
    prompt_id: Option<Value>,
    /// Codex's number of the turn.
    turn_id: Option<Value>,
}

impl SubmittedPrompt {
    /// The client that sent it. Several clients take Claude Code's plugins as they are, and their hooks too; they send the
    /// hook other things, and have other names for tools.
    fn sender(
        &self,
        said: &'static KnownClient,
        environment: &Environment,
    ) -> &'static KnownClient {
        let other = match (said.id, &self.turn_id, &self.prompt_id) {
            _ if environment.of_copilot => "copilot",
            ("claude-code", Some(_), None) => "codex",
            _ => return said,
        };
        KnownClient::of_id(other).unwrap_or(said)
    }
}

/// Whether these arguments are a hook's, so that a mistake in them must not fail.
pub(super) fn is_hook(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> bool {
    arguments.any(|argument| argument == "hook") && !stdin().is_terminal()
}

pub(super) fn run(context: &Context, options: &HookOptions) -> Result<ExitCode, Failure> {
    let ids: Vec<&str> = KnownClient::with_hook_ids().collect();
    let client = client_of("hook", &options.client, &ids)?;
    if stdin().is_terminal() {
        return Err(Failure::usage(
            "hook reads what a client sends from standard input".to_owned(),
            format!(
                "try: echo '{{\"prompt\": \"write a commit message\"}}' | skills-mcp hook {}",
                client.id
            ),
        ));
    }
    // On another thread than the work, which is quicker on the first one.
    std::thread::Builder::new().name("timeout".to_owned()).spawn(end_in_time)?;
    let answer = catch_unwind(AssertUnwindSafe(|| answer(context, client)));
    if let Ok(Some(answer)) = answer {
        Output::new().json(&answer);
    }
    Ok(ExitCode::SUCCESS)
}

#[expect(clippy::exit, reason = "the prompt must not wait for what takes too long")]
fn end_in_time() {
    std::thread::sleep(HOOK_TIMEOUT);
    std::process::exit(0)
}

/// The client's prompt → the hook's answer.
fn answer(context: &Context, client: &'static KnownClient) -> Option<Value> {
    let mut input = String::new();
    stdin().take(MAX_INPUT_BYTES).read_to_string(&mut input).ok()?;
    let submitted: SubmittedPrompt = serde_json::from_str(&input).ok()?;
    let client = submitted.sender(client, &context.environment);
    let mut context = Context { quiet: true, ..context.clone() };
    // Some clients start hooks in a folder of their own.
    context.environment.directory = submitted.cwd.unwrap_or(context.environment.directory);
    let store = context.store().ok()?;
    // The client names its own skills, and need not be connected to a server for them.
    if client.loads_all(&context.environment, &store.sources()) {
        return None;
    }
    let suggested = suggested(&context, &store, &submitted.prompt);
    if suggested.is_empty() {
        return None;
    }
    // Without a conversation there is none to repeat anything to: a person tries it out.
    let home = context.environment.home.as_deref();
    let remembered = match submitted.session_id.as_str() {
        "" => None,
        conversation => Some(Remembered::open(home?, conversation)),
    };
    let was_named = |skill: &HintedSkill| {
        remembered.as_ref().is_some_and(|remembered| remembered.has(&skill.identity))
    };
    let new: Vec<HintedSkill> = suggested.into_iter().filter(|skill| !was_named(skill)).collect();
    let profile = context.profile().ok()?;
    let profile = profile.for_client(match profile.client_choice {
        ClientChoice::Reported => Some(client),
        ClientChoice::Fixed(client) => client,
    });
    let text = hint(&profile, &new)?;
    if let Some(remembered) = remembered {
        remembered.add(new.iter().map(|skill| skill.identity.as_str())).ok()?;
    }
    Some(match client.hook? {
        HookFormat::Event(name) => {
            json!({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}})
        }
        HookFormat::Context => json!({"additionalContext": text}),
    })
}

/// The skills that a prompt asks for, from the cache if no file has changed since it was written.
fn suggested(context: &Context, store: &Store, prompt: &str) -> Vec<HintedSkill> {
    let sources = store.sources();
    // The cache has the words of authors and no past requests.
    let cache = store.cache().filter(|_| !learns(&context.environment, store, &sources));
    if let Some(cached) = cache.and_then(|cache| cache.unchanged(&sources)) {
        let ranking = cached.search(prompt, MAX_SUGGESTED);
        let hits = ranking.hits.iter().take(ranking.suggested());
        return hits.filter_map(|hit| cached.skill(hit)).map(HintedSkill::from).collect();
    }
    // A repository is served as it was fetched last: no prompt waits for a network.
    let snapshot = store.refresh(Cause::Start).snapshot;
    learn_now(&context.environment, store);
    let snapshot = store.known().unwrap_or(snapshot);
    let ranking = snapshot.search(prompt, MAX_SUGGESTED);
    let hits = ranking.hits.iter().take(ranking.suggested());
    let skill = |hit: &SearchHit| snapshot.catalog.skill(SkillId::at(hit.entry));
    let suggested = hits.filter_map(|hit| skill(hit).map(HintedSkill::from)).collect();
    if let Some(cache) = store.cache() {
        cache.save(&snapshot);
    }
    suggested
}
