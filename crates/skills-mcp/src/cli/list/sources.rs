//! `list --sources`: every source, where it is, which flag, variable or line of a file names it, and how many skills it has.

use std::sync::Arc;

use serde_json::{Value, json};
use skills_core::catalog::Origin;

use super::super::{
    Failure, NO_SOURCE, Output,
    opened::Opened,
    output::{bold, counted, dim, safe},
};
use crate::source::Directory;

/// One source.
struct SourceRow {
    name: Arc<str>,
    /// Its folder, or the address of its repository.
    place: String,
    /// The commit that is served, where it is a repository.
    commit: Option<String>,
    /// What names it.
    origin: String,
    skills: usize,
}

pub(super) fn print(opened: &Opened<'_>, as_json: bool) -> Result<(), Failure> {
    let rows = rows(opened)?;
    let mut out = Output::new();
    if as_json {
        let rows: Vec<Value> = rows.iter().map(SourceRow::json).collect();
        out.json(&json!({"sources": rows}));
        return Ok(());
    }
    if rows.is_empty() {
        out.sentence("", &format!("No source is there: {NO_SOURCE}"));
    }
    for SourceRow { name, place, commit, origin, skills } in rows {
        let skills = counted(skills, "skill");
        out.line(format!("{}  {}", bold(&safe(&name)), dim(&skills)));
        let commit = commit.map(|commit| commit.chars().take(12).collect::<String>());
        let commit = commit.map(|commit| format!("  at {commit}")).unwrap_or_default();
        out.line(format!("  {}{}", safe(&place), dim(&commit)));
        out.line(dim(&format!("  {}", safe(&origin))));
    }
    Ok(())
}

fn rows(opened: &Opened<'_>) -> Result<Vec<SourceRow>, Failure> {
    let named = opened.context.named()?;
    let row = |(number, source): (usize, &Directory)| {
        let origin = match source.origin() {
            Origin::Named => {
                let named = named.sources.iter().find(|named| named.name() == &**source.name());
                named.map_or_else(String::new, |named| named.origin().to_owned())
            }
            Origin::Project => "an agents' directory of the project".to_owned(),
            Origin::User => "an agents' directory of yours".to_owned(),
            Origin::Plugin(_) => "a plugin of Claude Code".to_owned(),
        };
        let repository = source.repository();
        let place = match repository {
            Some(repository) => repository.remote().to_string(),
            None => source.path().display().to_string(),
        };
        let skills = opened.snapshot.catalog.skills().filter(|skill| skill.source == number);
        SourceRow {
            name: Arc::clone(source.name()),
            place,
            commit: repository.and_then(|repository| repository.commit()),
            origin,
            skills: skills.count(),
        }
    };
    let sources = opened.store.sources();
    let there = sources.iter().enumerate().filter(|(_, source)| source.is_there());
    Ok(there.map(row).collect())
}

impl SourceRow {
    fn json(&self) -> Value {
        let Self { name, place, commit, origin, skills } = self;
        json!({"name": name, "place": place, "commit": commit, "origin": origin, "skills": skills})
    }
}
