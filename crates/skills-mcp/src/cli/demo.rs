//! `demo`: starts the real server on the example, asks it as an agent would, and shows what comes back.

use std::{path::Path, process::ExitCode};

use serde_json::{Map, Value, json};

use super::{
    Failure, Output, example,
    output::{bold, dim, fitted, safe},
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

pub(super) fn run(options: &DemoOptions) -> Result<ExitCode, Failure> {
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
    out.line(dim("skills-mcp serves an example of 10 skills; an agent with this task asks it:"));
    out.line("");
    out.line(format!("{}{}", bold("→ get_skill "), json!({"context": task})));
    out.line("");
    if answer.get("no_match").is_some() {
        nothing(&mut out, &answer);
    } else if answer.get("ambiguous").is_some() {
        several(&mut out, &answer);
    } else {
        one(&mut out, &answer, options.full);
    }
    entry(&mut out, &program);
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
    out.line(format!(
        "{}{}  {}",
        bold("← "),
        bold(&text(answer, "skill_path")),
        dim(&format!("score {score}, matched {}", keywords.join(", ")))
    ));
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
            let room = out.width.saturating_sub(name.chars().count() + 22);
            let about =
                if room < 12 { String::new() } else { fitted(&text(file, "description"), room) };
            out.line(format!("  {}  {name}  {}", dim(&format!("{kind:16}")), dim(&about)));
        }
    }
}

/// A section's heading and its first lines, or all of it.
fn section_head(out: &mut Output, section: &str, full: bool) {
    let mut lines = section.lines();
    out.line(format!("  {}", bold(&safe(lines.next().unwrap_or_default()))));
    let body: Vec<&str> = lines.filter(|line| full || !line.trim().is_empty()).collect();
    let shown = if full { body.len() } else { SHOWN_LINES.min(body.len()) };
    for line in body.iter().take(shown) {
        let line = if full { safe(line) } else { fitted_line(line, out.width.saturating_sub(2)) };
        out.line(format!("  {line}").trim_end());
    }
    if body.len() > shown {
        out.line(dim(&format!("  … {} more lines (--full shows them)", body.len() - shown)));
    }
    out.line("");
}

fn several(out: &mut Output, answer: &Value) {
    out.line(format!("{}{}", bold("← "), safe(&text(answer, "message"))));
    for candidate in list(answer, "candidates") {
        let score = candidate.get("score").and_then(Value::as_f64).unwrap_or_default();
        out.line(format!(
            "  {}  {}  {}",
            bold(&text(candidate, "skill_path")),
            dim(&format!("score {score}")),
            safe(&text(candidate, "description"))
        ));
    }
    out.line(dim("  The agent calls get_skill again with one of these as skill_path."));
}

fn nothing(out: &mut Output, answer: &Value) {
    out.line(format!("{}{}", bold("← "), safe(&text(answer, "message"))));
    if answer.get("closest_candidate").is_some() {
        out.line(format!("  the closest is {}", text(answer, "closest_candidate")));
    }
    out.line(dim("  Try: skills-mcp demo \"Write a Dockerfile for a Node service\""));
}

/// What to paste into a client's configuration.
fn entry(out: &mut Output, program: &Path) {
    out.heading("Your own skills: paste this into your client's MCP configuration");
    let entry = json!({"mcpServers": {"skills": {"command": program.to_string_lossy(), "env": {"SKILLS_DIR": "/path/to/your/skills"}}}});
    out.line(serde_json::to_string_pretty(&entry).unwrap_or_default());
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
