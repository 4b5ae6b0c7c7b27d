//! `run_script`: runs a script that a skill declares for the server, and reports how it ended.
//!
//! Every run leaves two lines in the log, at its start and at its end, every refusal one, and each one event: who was asked for what, with the names of the
//! arguments and never their values.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skills_core::{
    catalog::Skill, diagnostic::escaped, document::Execution, relpath::RelPath, resolve::find_file,
};

use super::{Blocking, Call, Refusal, Reply, Tool, ToolSet, arguments};
use crate::{
    config::SandboxMode,
    event::{Event, ScriptExecuted},
    script::{
        Denied, Ending, Plan, RunError, RunOutcome, RunRequest, WorkIn, authorize,
        check_scripts_enabled,
    },
};

/// Its name.
pub(super) const NAME: &str = "run_script";

pub(super) const TOOL: Tool = Tool {
    name: NAME,
    tool_set: ToolSet::Tree,
    title: "Run a script",
    description: "Run a skill's script on the server; only those get_skill lists with execution: server. Fetch the others with get_asset and run them yourself.",
    read_only: false,
    idempotent: false,
    dangerous: true,
    input: arguments::schema::<RunScriptInput>,
    output: None,
    blocking: |_, _| Blocking::Script,
    run,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunScriptInput {
    /// The skill, as `get_skill` returned it
    skill_path: String,
    /// The script, such as "scripts/check.sh"
    file: String,
    /// Its arguments by name
    #[schemars(with = "BTreeMap<String, String>")]
    args: Map<String, Value>,
    /// Working directory
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
}

#[derive(Serialize)]
struct RunScriptOutput<'a> {
    /// First, because a script that found nothing may have looked into an empty folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    success: bool,
    exit_code: i32,
    stdout: String,
    stderr: String,
    #[serde(skip_serializing_if = "is_false")]
    stdout_truncated: bool,
    #[serde(skip_serializing_if = "is_false")]
    stderr_truncated: bool,
    duration_ms: u64,
    script: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    sandbox: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn run(call: &Call, arguments: Map<String, Value>) -> Result<Reply, Refusal> {
    let input: RunScriptInput = arguments::read(arguments)?;
    let given = texts(&input.args).inspect_err(|refusal| {
        if let Refusal::Params(message) = refusal {
            let names = input.args.keys().map(|name| (name.clone(), String::new())).collect();
            let audit = Audit { call, skill: &input.skill_path, file: &input.file, given: &names };
            audit.refused(&Denied::new(message));
        }
    })?;
    let audit = Audit { call, skill: &input.skill_path, file: &input.file, given: &given };
    let refused = |denied: Denied| {
        audit.refused(&denied);
        let is_hidden = denied.is_local && call.profile.remote.is_some();
        Refusal::Tool(if is_hidden { NOT_HERE.to_owned() } else { denied.message })
    };
    check_remote(call).map_err(refused)?;
    check_scripts_enabled(&call.snapshot).map_err(refused)?;
    let skill = call.skill(&input.skill_path).inspect_err(|refusal| {
        if let Refusal::Tool(message) = refusal {
            audit.refused(&Denied::new(message));
        }
    })?;
    let work_in = match (call.profile.remote, &input.cwd) {
        (None, cwd) => WorkIn::Local(cwd.as_deref()),
        (Some(_), None) => WorkIn::Remote,
        (Some(_), Some(_)) => {
            let message = "Over HTTP a script runs in a private folder that is empty at its start, never in a 'cwd' that the client names. Leave 'cwd' out, or fetch the script with get_asset and run it yourself.";
            return Err(refused(Denied::new(message)));
        }
    };
    let request = RunRequest { file: &input.file, arguments: &given, work_in };
    let plan = authorize(&call.snapshot, call.runs.host(), skill, &request).map_err(refused)?;
    let started = || audit.started(skill, &plan);
    let ran = call.runs.run(&call.snapshot, &plan, &call.caller, &started);
    let (outcome, notes) = ran.map_err(|error| {
        let message = |what: &str| format!("Script '{}' {what}. {}.", plan.file, error.hint());
        let shown = match call.profile.remote {
            Some(_) => message(&error.for_remote()),
            None => message(&error.to_string()),
        };
        // The next try sees what is there then; only the last one is a refusal.
        if matches!(error, RunError::Changed(_)) && !call.accept_changed {
            return Refusal::Stale(shown);
        }
        let result = if matches!(error, RunError::Lost(_)) { "lost" } else { "refused" };
        audit.denied(&Denied::new(message(&error.to_string())), result);
        Refusal::Tool(shown)
    })?;
    audit.ran(skill, &plan, &outcome);
    let note = (!notes.is_empty()).then(|| notes.join(" "));
    Reply::json(&answer(skill, &plan, &outcome, note))
}

/// What a client on another machine hears where the reason has paths or settings of this one; the log has the reason.
const NOT_HERE: &str = "This server does not run this script; the operator finds the reason in its log. Fetch the script with get_asset and run it yourself if you may.";

/// Clients on other machines have no script run unless the operator allows it.
fn check_remote(call: &Call) -> Result<(), Denied> {
    if call.profile.remote.is_none_or(|remote| remote.may_run_scripts) {
        return Ok(());
    }
    let message = "This server runs no scripts for clients over HTTP (the operator allows them with --allow-scripts). Fetch the script with get_asset and run it yourself.";
    Err(Denied::new(message))
}

/// The arguments as texts, which is all a variable can hold.
fn texts(given: &Map<String, Value>) -> Result<BTreeMap<String, String>, Refusal> {
    let text = |(name, value): (&String, &Value)| match value.as_str() {
        Some(text) => Ok((name.clone(), text.to_owned())),
        None => Err(Refusal::Params(format!(
            "run_script: '{name:.100}' in args must be a string; put the value in quotes"
        ))),
    };
    given.iter().map(text).collect()
}

fn answer<'a>(
    skill: &Skill,
    plan: &'a Plan<'_>,
    outcome: &RunOutcome,
    note: Option<String>,
) -> RunScriptOutput<'a> {
    RunScriptOutput {
        success: outcome.success(),
        exit_code: outcome.exit_code,
        stdout: outcome.stdout.text(),
        stderr: outcome.stderr_text(),
        stdout_truncated: outcome.stdout.truncated,
        stderr_truncated: outcome.stderr.truncated,
        duration_ms: outcome.duration_ms,
        script: plan.file.as_str(),
        from: (plan.owner.id != skill.id).then_some(&*plan.owner.identity),
        sandbox: outcome.enforced.to_string(),
        note,
    }
}

/// Whom the lines of the trail are for: also said by commands that say little else.
pub const AUDIT: &str = "skills_mcp::audit";

/// The trail of one call: what was asked for, by its names.
struct Audit<'a> {
    call: &'a Call,
    skill: &'a str,
    file: &'a str,
    given: &'a BTreeMap<String, String>,
}

/// Names of arguments that no script declares may be anything; no declared one is longer, and no script has more.
const MAX_NAME_CHARS: usize = 100;
const MAX_NAMES: usize = 50;

impl Audit<'_> {
    fn names(&self) -> Vec<String> {
        let name = |name: &String| escaped(&name.chars().take(MAX_NAME_CHARS).collect::<String>());
        self.given.keys().take(MAX_NAMES).map(name).collect()
    }

    /// Before anything happens, so that there is a trail even where the server does not live to see the end.
    fn started(&self, skill: &Skill, plan: &Plan<'_>) {
        tracing::info!(
            target: AUDIT,
            skill = &*skill.identity,
            script = plan.file.as_str(),
            owner = &*plan.owner.identity,
            sha256 = plan.digest(),
            args = self.names().join(","),
            result = "started",
            "run_script"
        );
    }

    fn refused(&self, denied: &Denied) {
        self.denied(denied, "refused");
    }

    fn denied(&self, denied: &Denied, result: &'static str) {
        let cut = |text: &str| escaped(&text.chars().take(200).collect::<String>());
        let (skill, script, names) = (cut(self.skill), cut(self.file), self.names());
        let why: String = escaped(&denied.message.chars().take(300).collect::<String>());
        tracing::info!(skill, script, args = names.join(","), result, why, "run_script");
        self.call.sink.record(|| {
            let snapshot = &self.call.snapshot;
            let known = snapshot.catalog.find(self.skill);
            let owner = known.zip(RelPath::parse(self.file).ok()).and_then(|(known, file)| {
                let found = find_file(&snapshot.catalog, known, &file)?;
                (found.owner.id != known.id).then(|| self.call.recorded(found.owner))
            });
            Event::ScriptExecuted(ScriptExecuted {
                skill_path: known.map_or(skill, |known| self.call.recorded(known)),
                file: script,
                execution_mode: denied.execution.word().to_owned(),
                success: false,
                exit_code: None,
                duration_ms: 0,
                args_provided: names,
                declared_by: owner,
            })
            .about(known.map(|known| snapshot.version(known)).unwrap_or_default())
        });
    }

    fn ran(&self, skill: &Skill, plan: &Plan<'_>, outcome: &RunOutcome) {
        let names = self.names();
        let result = match outcome.ending {
            Ending::Exited => "exited",
            Ending::TimedOut => "timed out",
            Ending::Cancelled => "cancelled",
            Ending::TooManyProcesses => "too many processes",
            Ending::TooManyThreads => "too many threads",
            Ending::TooLarge => "too large a folder",
            Ending::TooManyFiles => "too many files",
            Ending::TooMuchMemory => "too much memory",
            Ending::Unmeasured => "not measured",
        };
        tracing::info!(
            target: AUDIT,
            skill = &*skill.identity,
            script = plan.file.as_str(),
            owner = &*plan.owner.identity,
            sha256 = plan.digest(),
            args = names.join(","),
            result,
            exit_code = outcome.exit_code,
            ms = outcome.duration_ms,
            sandbox = %outcome.enforced,
            "run_script"
        );
        if plan.sandbox == SandboxMode::Auto && !outcome.enforced.is_confined() {
            tracing::warn!(
                target: AUDIT,
                skill = &*skill.identity,
                script = plan.file.as_str(),
                sandbox = %outcome.enforced,
                "a script ran though this machine does not hold it: {}; scripts.sandbox=required refuses that",
                outcome.enforced.gap().unwrap_or_default()
            );
        }
        self.call.sink.record(|| {
            Event::ScriptExecuted(ScriptExecuted {
                skill_path: self.call.recorded(skill),
                file: plan.file.to_string(),
                execution_mode: Execution::Server.word().to_owned(),
                success: outcome.success(),
                exit_code: Some(outcome.exit_code),
                duration_ms: outcome.duration_ms,
                args_provided: names,
                declared_by: (plan.owner.identity != skill.identity)
                    .then(|| self.call.recorded(plan.owner)),
            })
            .about(self.call.snapshot.version(skill))
        });
    }
}
