//! `doctor --json`: everything that was looked at, for programs and bug reports.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};
use skills_core::{
    catalog::Skill,
    diagnostic::{Code, Diagnostic},
};

use super::{Examined, clients::ClientState, detail::skills_of, verdict::Verdict};
use crate::{
    cli::{
        trust::{self, Asking},
        version,
    },
    source::Directory,
    store::Snapshot,
    transport::{ClientError, Tried},
};

impl Examined {
    pub(super) fn json(&self) -> Value {
        let snapshot = &self.refreshed.snapshot;
        let Verdict { sentence, next } = Verdict::of(&self.setup);
        let unfetched = self.setup.unfetched.iter().map(|(why, _)| why);
        let source = |(number, source): (usize, Directory)| {
            let path = source.path().to_string_lossy();
            json!({"name": &**source.name(), "path": path, "skills": skills_of(snapshot, number)})
        };
        json!({
            "healthy": self.healthy(),
            "verdict": sentence,
            "next": next,
            "version": env!("CARGO_PKG_VERSION"),
            "commit": version::commit(),
            "sources": self.there().into_iter().map(source).collect::<Vec<_>>(),
            "watching": self.store.watching().ok(),
            "counts": counts(snapshot),
            "scripts": self.scripts(),
            "sandbox": self.sandbox.as_ref().map_or_else(Clone::clone, ToString::to_string),
            "git": self.git.as_ref().ok(),
            "left_behind": self.left_behind,
            "analytics": self.analytics,
            "warnings": unfetched.chain(&self.warnings).collect::<Vec<_>>(),
            "trust": trust::all(&self.store, None).iter().map(Asking::json).collect::<Vec<_>>(),
            "diagnostics": snapshot.diagnostics().iter().map(|found| diagnostic_json(snapshot, found)).collect::<Vec<_>>(),
            "protocol": self.tried.iter().map(tried_json).collect::<Vec<_>>(),
            "named_by_client": self.setup.named_by,
            "clients": self.setup.clients.iter().map(ClientState::json).collect::<Vec<_>>(),
            "looked_in": self.setup.looked_in,
        })
    }
}

/// What became of the files that were found, and how often each diagnostic was made.
fn counts(snapshot: &Snapshot) -> Value {
    let catalog = &snapshot.catalog;
    let bundles = catalog.bundles();
    let merged = catalog.shadowed().iter().filter(|copy| copy.identical).count();
    let sources = catalog.sources();
    let of_skill = |skill: &'_ Skill| {
        Some((Arc::clone(&sources.get(skill.source)?.name), skill.file.to_string()))
    };
    let served: BTreeSet<(Arc<str>, String)> = catalog.skills().filter_map(of_skill).collect();
    // Markdown without front matter is no skill that was skipped, and a skill may be served without a file that it declares.
    let refused = |found: &&Diagnostic| {
        let code = found.finding.code;
        code.refuses()
            && code != Code::FrontMatterMissing
            && !found.file.is_empty()
            && !served.contains(&(Arc::clone(&found.source), found.file.clone()))
    };
    let diagnostics = snapshot.diagnostics();
    let skipped: BTreeSet<(&str, &str)> =
        diagnostics.iter().filter(refused).map(|found| (&*found.source, &*found.file)).collect();
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    for diagnostic in &diagnostics {
        *codes.entry(diagnostic.finding.code.name()).or_default() += 1;
    }
    json!({"skills": catalog.len(), "bundles": bundles, "merged": merged, "skipped": skipped.len(), "codes": codes})
}

fn diagnostic_json(snapshot: &Snapshot, diagnostic: &Diagnostic) -> Value {
    let finding = &diagnostic.finding;
    json!({
        "source": &*diagnostic.source,
        "file": diagnostic.file,
        "path": snapshot.file_of(diagnostic),
        "line": finding.at.line,
        "column": finding.at.column,
        "severity": finding.code.severity().name(),
        "code": finding.code.name(),
        "message": finding.message,
        "hint": finding.hint,
    })
}

fn tried_json(tried: &Result<Tried, ClientError>) -> Value {
    match tried {
        Ok(tried) => json!({"ok": true, "version": tried.version, "tools": tried.tools}),
        Err(error) => json!({"ok": false, "error": error.to_string()}),
    }
}
