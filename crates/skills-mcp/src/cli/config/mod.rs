//! `config`: every setting and where it comes from; one setting with `get`, `set` and `unset`.

mod change;

use std::process::ExitCode;

use serde_json::{Map, Value as Json, json};

use change::ConfigAction;

use super::{
    Context, Failure, Output,
    opened::Opened,
    output::{bold, dim, safe, wrapped},
};
use crate::{
    config::{ConfigValue, PendingConsent, SettingOrigin, VARIABLES, without_userinfo},
    source::Directory,
    store::{Snapshot, Store},
};

/// On a narrower terminal values are below their names.
const MIN_TABLE_WIDTH: usize = 72;

#[derive(clap::Args)]
pub(super) struct ConfigOptions {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    action: Option<ConfigAction>,
}

pub(super) fn run(context: &Context, options: &ConfigOptions) -> Result<ExitCode, Failure> {
    if let Some(action) = &options.action {
        return change::run(context, action, options.json);
    }
    let mut out = Output::new();
    let Opened { store, snapshot, .. } = context.opened()?;
    if options.json {
        out.json(&json(&store, &snapshot));
        return Ok(ExitCode::SUCCESS);
    }
    out.line(bold("Sources"));
    if !store.sources().iter().any(Directory::is_there) {
        out.entry("  none", 6, super::NO_SOURCE);
    }
    for source in store.sources().iter().filter(|source| source.is_there()) {
        let path = safe(&source.path().display().to_string());
        let gap = if out.width < MIN_TABLE_WIDTH { "\n    " } else { "  " };
        out.line(format!("  {}{gap}{path}", safe(source.name())));
    }
    out.heading("Settings");
    let widest = snapshot.config.values.iter().map(|(key, ..)| key.name.len()).max().unwrap_or(0);
    for (key, value, origin) in &snapshot.config.values {
        let style = if *origin == SettingOrigin::Default { dim } else { bold };
        let shown = [safe(&value.to_string()), safe(&origin.to_string())];
        described(&mut out, widest, key.name, &shown, style, key.about);
    }
    out.heading("Environment");
    for variable in VARIABLES {
        // Those of a standard are many, and of interest where they are set.
        if variable.name.starts_with("OTEL_") && context.environment.get(variable.name).is_none() {
            continue;
        }
        let shown = match context.environment.get(variable.name) {
            None => [String::new(), "unset".to_owned()],
            Some(_) if variable.secret => ["set, not shown".to_owned(), String::new()],
            Some(value) => [safe(&without_userinfo(value)), String::new()],
        };
        described(&mut out, widest, variable.name, &shown, dim, variable.about);
    }
    for diagnostic in &snapshot.config.diagnostics {
        out.line(safe(&diagnostic.to_string()));
    }
    Ok(ExitCode::SUCCESS)
}

fn json(store: &Store, snapshot: &Snapshot) -> Json {
    let source = |source: &Directory| json!({"name": &**source.name(), "path": source.path().to_string_lossy()});
    let sources: Vec<Json> = store.sources().iter().map(source).collect();
    let waiting = |waiting: &PendingConsent| json!({"key": waiting.key.name, "asks": plain(&waiting.asked), "now": plain(&waiting.held)});
    let waiting: Vec<Json> = snapshot.config.waiting.iter().map(waiting).collect();
    json!({"sources": sources, "settings": settings(snapshot), "waiting": waiting})
}

/// A name, beside it its value and where that comes from, and what it is for below; on a narrow terminal all of it below the
/// name.
fn described(
    out: &mut Output,
    widest: usize,
    name: &str,
    [value, origin]: &[String; 2],
    style: fn(&str) -> String,
    about: &str,
) {
    let is_narrow = out.width < MIN_TABLE_WIDTH;
    let column = if is_narrow { 4 } else { widest + 4 };
    let room = out.width.saturating_sub(column);
    let is_short = !value.is_empty() && value.chars().count() <= room;
    let mut lines = if is_short { vec![value.clone()] } else { wrapped(value, room) };
    match lines.last_mut() {
        Some(last) if last.chars().count() + 2 + origin.chars().count() <= room => {
            if !origin.is_empty() {
                *last = format!("{last}  {}", style(origin));
            }
        }
        _ if origin.is_empty() => {}
        _ => lines.push(style(origin)),
    }
    lines.extend(wrapped(about, room).iter().map(|line| dim(line)));
    if is_narrow {
        out.line(format!("  {}", bold(name)));
    }
    for (number, line) in lines.iter().enumerate() {
        let head = if number == 0 && !is_narrow { name } else { "" };
        out.line(format!("  {head:width$}{line}", width = column - 2));
    }
}

fn settings(snapshot: &Snapshot) -> Map<String, Json> {
    let entry = |value: &ConfigValue, origin: &SettingOrigin| json!({"value": plain(value), "origin": origin.to_string()});
    snapshot
        .config
        .values
        .iter()
        .map(|(key, value, origin)| (key.name.to_owned(), entry(value, origin)))
        .collect()
}

pub(super) fn plain(value: &ConfigValue) -> Json {
    match value {
        ConfigValue::Flag(flag) => json!(flag),
        ConfigValue::Share(share) => json!(share),
        ConfigValue::Count(count) => json!(count),
        ConfigValue::Text(text) => json!(without_userinfo(text)),
        ConfigValue::Words(words) => json!(words),
        ConfigValue::Commands(pairs) | ConfigValue::Rules(pairs) => json!(pairs),
    }
}
