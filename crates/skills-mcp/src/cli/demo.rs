//! `demo`: starts the real server on the example, asks it as an agent would, and shows what comes back.

use std::{path::Path, process::ExitCode};

use serde_json::{Map, Value, json};

use super::{
    Context, Failure, Output, example,
    output::{bold, dim, fitted, safe},
    version::typed_command,
};
use crate::{
    paths::own_program,
    transport::{Client, Era},
};

#[derive(clap::Args)]
pub(super) struct DemoOptions {
    /// What the agent is asked to do; quotes are not needed
    #[arg(default_value = "Create a React login component with authentication")]
    task: Vec<String>,
    /// Show the instructions in full
    #[arg(long)]
    full: bool,
    /// Print what the tool answers
    #[arg(long)]
    json: bool,
}

/// So many lines of each section are shown unless the whole is asked for.
const SHOWN_LINES: usize = 4;

pub(super) fn run(context: &Context, options: &DemoOptions) -> Result<ExitCode, Failure> {
    let program = own_program()?;
    let task = options.task.join(" ");
    let folder = example::unpack()
        .map_err(|error| Failure::environment(format!("the example cannot be written: {error}")))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answer = runtime.block_on(ask(&program, folder.path(), &task))?;
    let mut out = Output::new();
    if options.json {
        out.json_text(&answer);
        return Ok(ExitCode::SUCCESS);
    }
    let answer: Value =
        serde_json::from_str(&answer).map_err(|error| Failure::bug(error.to_string()))?;
    let served = "skills-mcp serves an example of 10 skills; an agent with this task asks it:";
    out.dim_sentence("", served);
    out.line("");
    out.led("", "→ get_skill", bold, &json!({"context": task}).to_string());
    out.line("");
    let typed = typed_command(context.program, &context.environment);
    if answer.get("no_match").is_some() {
        nothing(&mut out, &answer, &typed);
    } else if answer.get("ambiguous").is_some() {
        several(&mut out, &answer);
    } else {
        one(&mut out, &answer, options.full);
    }
    next(&mut out, &typed);
    Ok(ExitCode::SUCCESS)
}

async fn ask(program: &Path, example: &Path, task: &str) -> Result<String, Failure> {
    let example = example.to_string_lossy().into_owned();
    let arguments = ["serve", "--tools", "tree", "--dir", &example].map(str::to_owned);
    let client = Client::start_alone(program, &arguments, Era::Handshake).await?;
    let request: Map<String, Value> = [("context".to_owned(), json!(task))].into_iter().collect();
    let (is_error, text) = client.call("get_skill", request).await?;
    client.stop().await;
    if is_error { Err(Failure::finding(text)) } else { Ok(text) }
}

fn one(out: &mut Output, answer: &Value, full: bool) {
    let keywords: Vec<&str> =
        list(answer, "matched_keywords").iter().filter_map(Value::as_str).collect();
    let score = answer.get("score").and_then(Value::as_f64).unwrap_or_default();
    let path = safe(&text(answer, "skill_path"));
    let head = format!("{}{}", bold("← "), bold(&path));
    let matched = format!("score {score}, matched {}", keywords.join(", "));
    out.entry(&head, path.chars().count() + 2, &matched);
    out.line("");
    for section in sections(&text(answer, "content")) {
        section_head(out, &section, full);
    }
    let kinds = [
        ("assets", "asset"),
        ("inherited_assets", "inherited asset"),
        ("scripts", "script"),
        ("inherited_scripts", "inherited script"),
    ];
    for (key, kind) in kinds {
        for file in list(answer, key) {
            let name = safe(&text(file, "file"));
            let width = name.chars().count();
            if out.width < width + 20 {
                out.line(format!("  {}", dim(kind)));
                out.line(format!("    {}", fitted(&name, out.width.saturating_sub(4))));
                continue;
            }
            let room = out.width.saturating_sub(width + 22);
            let head = format!("  {}  {name}", dim(&format!("{kind:16}")));
            if room < 12 {
                out.line(head);
            } else {
                let about = fitted(&text(file, "description"), room);
                out.line(format!("{head}  {}", dim(&about)));
            }
        }
    }
}

/// A section's heading and its first lines, or all of it.
fn section_head(out: &mut Output, section: &str, full: bool) {
    let mut lines = section.lines();
    let shown = |line: &str, width: usize| {
        if full { safe(line) } else { fitted_line(line, width.saturating_sub(2)) }
    };
    let title = shown(lines.next().unwrap_or_default(), out.width);
    out.line(format!("  {}", bold(&title)));
    let body: Vec<&str> = lines.filter(|line| full || !line.trim().is_empty()).collect();
    let count = if full { body.len() } else { SHOWN_LINES.min(body.len()) };
    for line in body.iter().take(count) {
        out.line(format!("  {}", shown(line, out.width)).trim_end());
    }
    if body.len() > count {
        out.line(dim(&format!("  … {} more lines (--full shows them)", body.len() - count)));
    }
    out.line("");
}

fn several(out: &mut Output, answer: &Value) {
    out.led("", "←", bold, &text(answer, "message"));
    for candidate in list(answer, "candidates") {
        let score = candidate.get("score").and_then(Value::as_f64).unwrap_or_default();
        let (path, score) = (safe(&text(candidate, "skill_path")), format!("score {score}"));
        let head = format!("  {}  {}", bold(&path), dim(&score));
        let width = path.chars().count() + score.len() + 4;
        out.entry(&head, width, &text(candidate, "description"));
    }
    out.dim_sentence("  ", "The agent calls get_skill again with one of these as skill_path.");
}

fn nothing(out: &mut Output, answer: &Value, typed: &str) {
    out.led("", "←", bold, &text(answer, "message"));
    if answer.get("closest_candidate").is_some() {
        out.sentence("  ", &format!("the closest is {}", text(answer, "closest_candidate")));
    }
    out.dim_sentence("  ", &format!("Try: {typed} demo Write a Dockerfile for a Node service"));
}

/// How a person comes from the example to their own skills.
fn next(out: &mut Output, typed: &str) {
    out.heading("Your own skills");
    for (command, about) in [
        (
            "add PATH",
            "names a folder or a git repository of skills; agents' directories that hold some stay served",
        ),
        (
            "connect",
            "finds the clients of this machine, shows what it would write, and connects them",
        ),
    ] {
        out.line(format!("  {}", bold(&format!("{typed} {command}"))));
        out.sentence("    ", about);
    }
    out.line("");
    out.line(format!("Next: {}", bold(&format!("{typed} connect"))));
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// One line, cut to the width, its indentation kept.
fn fitted_line(line: &str, width: usize) -> String {
    let indent: String = line.chars().take_while(|c| *c == ' ').collect();
    format!("{indent}{}", fitted(line, width.saturating_sub(indent.len())))
}

/// The content at its headings.
fn sections(content: &str) -> Vec<String> {
    let mut sections: Vec<String> = Vec::new();
    for line in content.lines() {
        if line.starts_with("=== ") || sections.is_empty() {
            sections.push(String::new());
        }
        if let Some(section) = sections.last_mut() {
            section.push_str(line);
            section.push('\n');
        }
    }
    sections.into_iter().map(|section| section.trim_end().to_owned()).collect()
}
