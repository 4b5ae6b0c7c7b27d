//! One screen: what is wrong, what is served, which clients know of it, the verdict and the next step.
//!
//! At 80 columns it has at most [`MAX_SCREEN_LINES`] lines, however many skills and findings there are.

use skills_core::diagnostic::Severity;

use super::{
    Examined,
    clients::ClientState,
    setup::{SetupProblem, SetupState},
    verdict::Verdict,
};
use crate::cli::{
    NO_SOURCE,
    output::{bold, counted, dim, entry, fitted, safe, wrapped},
    style::{error, good, heading, warning},
    version,
};

/// A terminal has at least so many lines.
const MAX_SCREEN_LINES: usize = 24;
/// On a narrower terminal the screen may be longer than a terminal.
const SCREEN_WIDTH: usize = 80;
/// The overview ends with an empty line and the commands to begin with.
const FIRST_COMMANDS_LINES: usize = 4;
/// So many sources are named.
const MAX_SHOWN_PLACES: usize = 4;
/// So many clients are named.
const MAX_SHOWN_CLIENTS: usize = 5;
/// So much of a message or a hint is shown: two lines at 80 columns.
const MAX_MESSAGE_CHARS: usize = 140;
/// Problems have at least so many lines, whatever else there is.
const MIN_PROBLEM_LINES: usize = 5;

/// The whole screen. Without servers that were tried it is the overview.
pub(super) fn lines(setup: &SetupState, examined: Option<&Examined>, width: usize) -> Vec<String> {
    let mut below = places(setup, width);
    below.extend(clients(&setup.clients, width));
    if let Some(examined) = examined {
        below.extend(server(examined, width));
    }
    below.extend(verdict(setup, width));
    let title = format!("{} {}", bold(setup.program), version::VERSION);
    let least = if width < SCREEN_WIDTH { MIN_PROBLEM_LINES * 3 } else { MIN_PROBLEM_LINES };
    let reserved = if examined.is_none() { FIRST_COMMANDS_LINES } else { 0 };
    let room = MAX_SCREEN_LINES.saturating_sub(below.len() + 1 + reserved).max(least);
    let problems = problems(setup, width, room);
    std::iter::once(title).chain(problems).chain(below).collect()
}

/// The sources, or where they were looked for.
fn places(setup: &SetupState, width: usize) -> Vec<String> {
    let mut lines = vec![String::new(), heading("Skills")];
    if setup.places.is_empty() {
        lines.push("  none; no directory can be read at".to_owned());
        let shown = setup.looked_in.iter().take(MAX_SCREEN_LINES / 2);
        lines.extend(shown.map(|path| format!("    {}", safe(path))));
        lines.extend(entry("", 0, NO_SOURCE, width));
        return lines;
    }
    if let (Some(client), Some(heading)) = (setup.named_by, lines.last_mut()) {
        heading.push_str(&dim(&format!("  as the entry of {client} names them")));
    }
    for place in setup.places.iter().take(MAX_SHOWN_PLACES) {
        let path = fitted(&place.path, width.saturating_sub(9));
        lines.push(format!("  {:>5}  {path}", place.skills));
    }
    if let Some(more) = setup.places.get(MAX_SHOWN_PLACES..).filter(|more| !more.is_empty()) {
        let skills: usize = more.iter().map(|place| place.skills).sum();
        lines.push(format!(
            "  {skills:>5}  {}",
            dim(&format!("in {} more", counted(more.len(), "place")))
        ));
    }
    lines
}

fn clients(clients: &[ClientState], width: usize) -> Vec<String> {
    if clients.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), heading("Clients")];
    let mut sorted: Vec<&ClientState> = clients.iter().collect();
    sorted.sort_by_key(|client| client.connection());
    let shown = sorted.iter().take(MAX_SHOWN_CLIENTS);
    let widest = shown.clone().map(|client| client.name.chars().count()).max().unwrap_or(0);
    for client in shown {
        let mark = if client.is_good() { good("✓") } else { warning("!") };
        let head = format!("  {mark} {:widest$}", client.name);
        lines.extend(entry(&head, widest + 4, &client.described(), width));
    }
    if let Some(more) = sorted.len().checked_sub(MAX_SHOWN_CLIENTS).filter(|more| *more > 0) {
        lines.push(dim(&format!("    and {more} more; --all lists them")));
    }
    lines
}

fn server(examined: &Examined, width: usize) -> Vec<String> {
    let mut lines = vec![String::new(), heading("Server")];
    let versions: Vec<&str> =
        examined.tried.iter().flatten().map(|tried| tried.version.as_str()).collect();
    let tools = examined.tried.iter().flatten().map(|tried| tried.tools.len()).max().unwrap_or(0);
    let answers = match &examined.setup.failure {
        None => (
            good("✓"),
            format!("answers with {} over MCP {}", counted(tools, "tool"), versions.join(" and ")),
        ),
        Some(why) => (error("✗"), format!("does not answer: {why}")),
    };
    let scripts = (dim("·"), format!("scripts {}", examined.scripts()));
    for (mark, text) in [answers, scripts] {
        lines.extend(entry(&format!("  {mark}"), 3, &fitted(&text, MAX_MESSAGE_CHARS), width));
    }
    lines
}

fn verdict(setup: &SetupState, width: usize) -> Vec<String> {
    let Verdict { sentence, next } = Verdict::of(setup);
    let mut lines = vec![String::new()];
    lines.extend(wrapped(&safe(&sentence), width).iter().map(|line| bold(line)));
    lines.push(format!("Next: {}", bold(&safe(&next))));
    lines
}

/// As many problems as there is room for, the worst first, and how many more there are.
fn problems(setup: &SetupState, width: usize, room: usize) -> Vec<String> {
    let unfetched = setup
        .unfetched
        .iter()
        .map(|(why, hint)| described(&error("error"), 5, "", why, hint.as_deref(), width));
    let content = setup.problems.iter().map(|problem| of_content(problem, width));
    // Whole, because the way out is at their end.
    let remarks = setup
        .remarks
        .iter()
        .map(|remark| entry(&format!("  {}", warning("warning")), 9, remark, width));
    let mut lines = Vec::new();
    let mut shown = 0;
    // An empty line, the heading and the number of what is left out.
    let room = room.saturating_sub(3);
    for problem in unfetched.chain(content).chain(remarks) {
        if lines.len() + problem.len() > room && shown > 0 {
            break;
        }
        shown += 1;
        lines.extend(problem);
    }
    let all = setup.problems.len() + setup.remarks.len() + usize::from(setup.unfetched.is_some());
    if all + setup.notes == 0 {
        return Vec::new();
    }
    lines.splice(0..0, [String::new(), heading("Problems")]);
    let more = match (all - shown, setup.notes) {
        (0, 0) => return lines,
        (0, notes) => counted(notes, "note"),
        (more, 0) => format!("{more} more"),
        (more, notes) => format!("{more} more and {}", counted(notes, "note")),
    };
    let start = if shown == 0 { "" } else { "and " };
    let left_out = format!("{start}{more}: {} doctor --all", setup.command);
    lines.extend(entry("", 0, &left_out, width).iter().map(|line| dim(line)));
    lines
}

fn of_content(problem: &SetupProblem, width: usize) -> Vec<String> {
    let (mark, length) = match problem.severity {
        Severity::Error => (error("error"), 5),
        Severity::Warning | Severity::Info => (warning("warning"), 7),
    };
    described(&mark, length, &problem.place, &problem.message, problem.hint.as_deref(), width)
}

fn described(
    mark: &str,
    length: usize,
    place: &str,
    message: &str,
    hint: Option<&str>,
    width: usize,
) -> Vec<String> {
    let message = fitted(message, MAX_MESSAGE_CHARS);
    let text = if place.is_empty() { message } else { format!("{place}: {message}") };
    let mut lines = entry(&format!("  {mark}"), length + 2, &text, width);
    if let Some(hint) = hint {
        // Below the message, wherever that begins.
        let indent = match lines.last() {
            Some(last) if lines.len() > 1 => last.len() - last.trim_start().len(),
            _ => length + 4,
        };
        let hint = fitted(hint, MAX_MESSAGE_CHARS);
        let hint = wrapped(&hint, width.saturating_sub(indent));
        lines.extend(hint.iter().map(|line| format!("{}{}", " ".repeat(indent), dim(line))));
    }
    lines
}
