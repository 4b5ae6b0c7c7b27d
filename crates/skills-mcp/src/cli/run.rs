//! `run`: runs a script of a skill as an agent's `run_script` would, or says what it would be allowed.

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode};

use serde_json::{Map, Value, json};
use skills_core::diagnostic::escaped;

use super::{
    Context, Failure, Output,
    output::{aside, bold, dim, passed_on, safe},
};
use crate::{
    paths::exists,
    script::{
        NetworkAccess, Plan, RunRequest, Runs, WorkIn, WorkingDirectory, authorize,
        check_scripts_enabled, protect_process,
    },
};

#[derive(clap::Args)]
pub(super) struct RunOptions {
    /// The skill, such as `deploy/docker`
    path: String,
    /// The script as the skill declares it, such as `scripts/setup-docker.sh`
    script: String,
    /// An argument of the script; may be given several times
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    arguments: Vec<String>,
    /// The folder it works in
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Run nothing; show what would run and what it would be allowed
    #[arg(long)]
    explain: bool,
    /// Print what the `run_script` tool answers
    #[arg(long)]
    json: bool,
}

/// A refusal is worded for agents, since authors want to see what those get; this is the way out on the command line.
const AGENTS_ANSWER: &str = "this is the answer that an agent gets; here, arguments are --arg NAME=VALUE, \
    `skills-mcp list` shows the skills and `skills-mcp show SKILL` shows its scripts";

pub(super) fn run(context: &Context, options: &RunOptions) -> Result<ExitCode, Failure> {
    let arguments = arguments(&options.arguments)?;
    if options.explain {
        return explain(context, options, &arguments);
    }
    protect_process();
    let mut request = Map::from_iter([
        ("skill_path".to_owned(), json!(options.path)),
        ("file".to_owned(), json!(options.script)),
        ("args".to_owned(), json!(arguments)),
    ]);
    if let Some(cwd) = &options.cwd {
        request.insert("cwd".to_owned(), json!(cwd.to_string_lossy()));
    }
    let called = context.opened()?.call("run_script", request);
    let text = called.map_err(in_flags)?;
    let answer: Value =
        serde_json::from_str(&text).map_err(|error| Failure::bug(error.to_string()))?;
    if options.json {
        Output::new().json_text(&text);
    } else {
        show(&answer);
    }
    let succeeded = answer.get("success").and_then(Value::as_bool).unwrap_or(false);
    Ok(ExitCode::from(u8::from(!succeeded)))
}

/// Where an agent's answer names `args`, this command has `--arg`.
fn in_flags(failure: Failure) -> Failure {
    let name = |it: &str| format!("Call again with {it} in args");
    match ["it", "them"].map(name).iter().find_map(|asked| failure.without(asked)) {
        Some(failure) => failure.with_hint("give each with --arg NAME=VALUE"),
        None => failure.or_hint(AGENTS_ANSWER),
    }
}

/// What the script said goes where it said it; what is to be said about it goes to standard error.
fn show(answer: &Value) {
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
    let number = |key: &str| answer.get(key).and_then(Value::as_i64).unwrap_or_default();
    let mut line = format!(
        "exit code {} after {} ms; sandbox: {}",
        number("exit_code"),
        number("duration_ms"),
        text("sandbox")
    );
    for stream in ["stdout", "stderr"] {
        if answer.get(format!("{stream}_truncated")).is_some() {
            line.extend(["; ", stream, " was cut"]);
        }
    }
    // Before the output, which may be about an empty folder.
    let note = text("note");
    if !note.is_empty() {
        aside(&dim(&safe(note)));
    }
    passed_on(text("stdout"), text("stderr"), &dim(&line));
}

fn arguments(pairs: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |pair: &String| match pair.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(Failure::usage(
            format!("--arg {pair}: there is no `=`"),
            "write --arg name=value, such as --arg port=8080",
        )),
    };
    pairs.iter().map(pair).collect()
}

fn explain(
    context: &Context,
    options: &RunOptions,
    arguments: &BTreeMap<String, String>,
) -> Result<ExitCode, Failure> {
    let opened = context.opened()?;
    let snapshot = &opened.snapshot;
    let runs = Runs::new(&context.environment);
    check_scripts_enabled(snapshot).map_err(|denied| Failure::finding(denied.message))?;
    let skill = opened.skill(&options.path)?;
    let cwd = options.cwd.as_ref().map(|cwd| cwd.to_string_lossy());
    let work_in = WorkIn::Local(cwd.as_deref());
    let request = RunRequest { file: &options.script, arguments, work_in };
    let plan = authorize(snapshot, runs.host(), skill, &request)
        .map_err(|denied| in_flags(Failure::finding(denied.message)))?;
    let facts = facts(&runs, &plan);
    let mut out = Output::new();
    if options.json {
        let facts: Map<String, Value> =
            facts.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
        out.json(&facts);
        return Ok(ExitCode::SUCCESS);
    }
    out.line(format!(
        "{} of {} would run",
        bold(&safe(plan.file.as_str())),
        bold(&safe(&plan.owner.identity))
    ));
    for (name, values) in facts {
        let values: Vec<String> = values.iter().map(|value| escaped(value)).collect();
        let values =
            if values.is_empty() { "nothing".to_owned() } else { values.join("\n              ") };
        out.line(format!("  {}{values}", dim(&format!("{name:12}"))));
    }
    Ok(ExitCode::SUCCESS)
}

/// Everything the script would be given, by what it is called.
fn facts(runs: &Runs, plan: &Plan<'_>) -> Vec<(&'static str, Vec<String>)> {
    let shown = |path: &PathBuf| path.display().to_string();
    let (read, write) = runs.accessible_paths(plan);
    let (settings, read): (Vec<PathBuf>, Vec<PathBuf>) =
        read.into_iter().filter(|path| exists(path)).partition(|path| path.starts_with("/etc"));
    let settings: Vec<String> = settings
        .iter()
        .filter_map(|path| path.strip_prefix("/etc").ok())
        .map(|name| name.display().to_string())
        .collect();
    let settings = format!("of /etc: {}", settings.join(" "));
    let read = read.iter().map(shown).chain([settings]);
    let private = "a private folder that goes with the run".to_owned();
    let folder = match &plan.working_directory {
        WorkingDirectory::Allowed(path) => shown(path),
        WorkingDirectory::Private(why) => format!("{private}: {why}"),
        WorkingDirectory::Remote => private.clone(),
    };
    let given = runs.probe_sandbox().map_or_else(
        |error| error.to_string(),
        |given| match plan.refused(&given) {
            Some(why) => format!("{given}, so it would be refused: {why}"),
            None => given.to_string(),
        },
    );
    let command = std::iter::once(shown(&plan.runner.program))
        .chain(plan.runner.arguments.iter().cloned())
        .chain([plan.file.to_string()]);
    let passed_over = plan.runner.passed_over.iter();
    let passed_over =
        passed_over.map(|path| format!("not {}, which scripts may write", shown(path)));
    let command = command.collect::<Vec<_>>().join(" ");
    vec![
        ("runner", std::iter::once(command).chain(passed_over).collect()),
        ("sha256", vec![plan.digest()]),
        ("works in", vec![folder]),
        ("variables", plan.variables.keys().cloned().collect()),
        ("withheld", plan.withheld.clone()),
        ("network", vec![network(plan)]),
        ("writes", write.iter().map(shown).chain([private]).collect()),
        ("reads", std::iter::once("the skill's own files".to_owned()).chain(read).collect()),
        (
            "time",
            vec![format!(
                "{} s, and {} s more to end",
                plan.timeout.as_secs(),
                plan.grace.as_secs()
            )],
        ),
        ("output", vec![format!("{} bytes of each stream", plan.max_output_bytes)]),
        ("sandbox", vec![format!("{}, and this machine gives {given}", plan.sandbox.word())]),
    ]
}

fn network(plan: &Plan<'_>) -> String {
    let said = match plan.network {
        NetworkAccess::Open => "yes",
        NetworkAccess::None => "no",
        NetworkAccess::Withheld => "no: it declares one, and scripts.network is off",
    };
    said.to_owned()
}
