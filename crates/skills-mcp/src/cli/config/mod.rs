//! `config`: every setting and where it comes from; one setting with `get`, `set` and `unset`.

mod change;

use std::process::ExitCode;

use serde_json::{Map, Value as Json, json};

use change::ConfigAction;

use super::{
    Context, Failure, Output,
    opened::Opened,
    output::{bold, dim, safe},
};
use crate::{
    config::{ConfigValue, PendingConsent, SettingOrigin, VARIABLES, without_userinfo},
    source::Directory,
    store::{Snapshot, Store},
};

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
        out.sentence("  ", &format!("none; {}", super::NO_SOURCE));
    }
    for source in store.sources().iter().filter(|source| source.is_there()) {
        let path = safe(&source.path().display().to_string());
        let gap = if out.width < MIN_COLUMNS_WIDTH { "\n    " } else { "  " };
        out.line(format!("  {}{gap}{path}", safe(source.name())));
    }
    out.heading("Settings");
    let widest = snapshot.config.values.iter().map(|(key, ..)| key.name.len()).max().unwrap_or(0);
    for (key, value, origin) in &snapshot.config.values {
        let origin = if *origin == SettingOrigin::Default {
            dim("default")
        } else {
            bold(&safe(&origin.to_string()))
        };
        row(&mut out, widest, key.name, (&value.to_string(), &origin), key.about);
    }
    out.heading("Environment");
    for variable in VARIABLES {
        // Those of a standard are many, and of interest where they are set.
        if variable.name.starts_with("OTEL_") && context.environment.get(variable.name).is_none() {
            continue;
        }
        let shown = match context.environment.get(variable.name) {
            None => "unset".to_owned(),
            Some(_) if variable.secret => "set, not shown".to_owned(),
            Some(value) => without_userinfo(value),
        };
        row(&mut out, widest, variable.name, (&shown, ""), variable.about);
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

/// In a narrower terminal a key has a line of its own.
const MIN_COLUMNS_WIDTH: usize = 72;

/// A key or variable with its value and where that comes from, and what it is for.
fn row(out: &mut Output, widest: usize, name: &str, (value, origin): (&str, &str), about: &str) {
    if out.width < MIN_COLUMNS_WIDTH {
        out.line(format!("  {name}"));
        out.sentence("    ", value);
        if !origin.is_empty() {
            out.line(format!("    {origin}"));
        }
        out.dimmed("    ", about);
        return;
    }
    let origin = if origin.is_empty() { String::new() } else { format!("  {origin}") };
    out.line(format!("  {name:widest$}  {}{origin}", safe(value)));
    let indent = " ".repeat(widest + 4);
    if out.width == usize::MAX {
        out.line(format!("{indent}{}", dim(about)));
    } else {
        out.dimmed(&indent, about);
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
