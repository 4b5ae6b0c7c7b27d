//! `config`: every setting and where it comes from.

use std::process::ExitCode;

use serde_json::{Map, Value as Json, json};

use super::{
    Context, Failure, Output,
    opened::Opened,
    output::{bold, dim, entry, safe, wrapped},
};
use crate::{
    config::{ConfigValue, PendingConsent, SettingOrigin, VARIABLES, without_userinfo},
    source::Directory,
    store::Snapshot,
};

/// On a narrower terminal values are below their names.
const MIN_TABLE_WIDTH: usize = 72;

#[derive(clap::Args)]
pub(super) struct ConfigOptions {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, options: &ConfigOptions) -> Result<ExitCode, Failure> {
    let mut out = Output::new();
    let Opened { store, snapshot, .. } = context.opened()?;
    if options.json {
        let sources: Vec<Json> = store
            .sources()
            .iter()
            .map(
                |source| json!({"name": &**source.name(), "path": source.path().to_string_lossy()}),
            )
            .collect();
        let waiting = |waiting: &PendingConsent| json!({"key": waiting.key.name, "asks": plain(&waiting.asked), "now": plain(&waiting.held)});
        let waiting: Vec<Json> = snapshot.config.waiting.iter().map(waiting).collect();
        out.json(&json!({"sources": sources, "settings": settings(&snapshot), "waiting": waiting}));
        return Ok(ExitCode::SUCCESS);
    }
    out.line(bold("Sources"));
    if !store.sources().iter().any(Directory::is_there) {
        out.entry("  none", 6, super::NO_SOURCE);
    }
    for source in store.sources().iter().filter(|source| source.is_there()) {
        out.line(format!(
            "  {}  {}",
            safe(source.name()),
            safe(&source.path().display().to_string())
        ));
    }
    out.heading("Settings");
    let widest = snapshot.config.values.iter().map(|(key, ..)| key.name.len()).max().unwrap_or(0);
    for (key, value, origin) in &snapshot.config.values {
        let is_default = *origin == SettingOrigin::Default;
        let origin = safe(&origin.to_string());
        let origin = if is_default { dim("default") } else { bold(&origin) };
        described(&mut out, widest, key.name, &[safe(&value.to_string()), origin], key.about);
    }
    out.heading("Environment");
    for variable in VARIABLES {
        // Those of a standard are many, and of interest where they are set.
        if variable.name.starts_with("OTEL_") && context.environment.get(variable.name).is_none() {
            continue;
        }
        let shown = match context.environment.get(variable.name) {
            None => dim("unset"),
            Some(_) if variable.secret => "set, not shown".to_owned(),
            Some(value) => safe(&without_userinfo(value)),
        };
        described(&mut out, widest, variable.name, &[shown], variable.about);
    }
    for diagnostic in &snapshot.config.diagnostics {
        out.line(safe(&diagnostic.to_string()));
    }
    Ok(ExitCode::SUCCESS)
}

/// A name, beside it its value and where that comes from, and what it is for below; on a narrow terminal all of it below the
/// name.
fn described(out: &mut Output, widest: usize, name: &str, value: &[String], about: &str) {
    if out.width >= MIN_TABLE_WIDTH {
        out.line(format!("  {name:widest$}  {}", value.join("  ")));
        for line in entry(&" ".repeat(widest + 2), widest + 2, about, out.width) {
            out.line(dim(&line));
        }
        return;
    }
    out.line(format!("  {}", bold(name)));
    for part in value {
        // Styles take no room, and a styled part is short.
        let is_styled = part.starts_with('\u{1b}');
        let lines =
            if is_styled { vec![part.clone()] } else { wrapped(part, out.width.saturating_sub(4)) };
        for line in lines {
            out.line(format!("    {line}"));
        }
    }
    for line in wrapped(about, out.width.saturating_sub(4)) {
        out.line(format!("    {}", dim(&line)));
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
