//! `check --fix`: corrects the files whose correction is certain, and shows what it changed.

use std::{collections::BTreeSet, path::Path};

use similar::TextDiff;
use skills_core::{
    catalog::Origin,
    document::{Dialect, fixed},
};

use super::{
    super::{Failure, Opened, Output, output::safe},
    examined::{CheckedFinding, Examination, FIXABLE, shown_path},
    rewrite::{RewriteError, rewrite},
    target::CheckTarget,
};
use crate::{paths::real_path, source::Directory};

/// Corrects what is certain of the findings; the files that were changed.
pub(super) fn apply(
    out: &mut Output,
    opened: &Opened<'_>,
    target: &CheckTarget,
    examination: &Examination,
    prints_diff: bool,
) -> Result<Vec<String>, Failure> {
    let is_fixable = |found: &&CheckedFinding| FIXABLE.contains(&found.diagnostic.finding.code);
    let files: BTreeSet<(&str, &str)> = examination
        .findings
        .iter()
        .filter(is_fixable)
        .map(|found| (&*found.diagnostic.source, &*found.diagnostic.file))
        .collect();
    let sources = opened.store.sources();
    let mut changed = Vec::new();
    for (source, file) in files {
        let Some(directory) = sources.iter().find(|known| &**known.name() == source) else {
            continue;
        };
        let Some(old) = examination.snapshot.file_text(source, file) else { continue };
        let Some(new) = corrected(directory, file, &old) else { continue };
        let path = directory.path().join(file);
        let shown = shown_path(&path, &target.context.environment.directory);
        let refused = match left_alone(directory, &path) {
            Some(why) => Some(why),
            None => match rewrite(&path, &old, &new) {
                Ok(()) => None,
                Err(RewriteError::Changed) => Some("it is being changed"),
                Err(RewriteError::Io(error)) => {
                    let message = format!("{shown}: cannot be written: {error}");
                    return Err(Failure::environment(message));
                }
            },
        };
        if let Some(why) = refused {
            // A report for programs has nothing but the report.
            if prints_diff {
                out.line(format!("{}: left alone, {why}", safe(&shown)));
            }
            continue;
        }
        if prints_diff {
            out.line(safe(diff(&shown, &old, &new).trim_end()));
            out.line("");
        }
        changed.push(shown);
    }
    Ok(changed)
}

/// The file's text with what is certain corrected.
fn corrected(directory: &Directory, file: &str, text: &str) -> Option<String> {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    if !name.eq_ignore_ascii_case("SKILL.md") {
        return fixed(text, Dialect::Tree, None);
    }
    let own = folder.rsplit('/').next().filter(|own| !own.is_empty());
    let source = directory.path().file_name().and_then(|name| name.to_str());
    fixed(text, Dialect::Bundle, own.or(source))
}

/// Why a file is not changed, though the correction is certain.
fn left_alone(directory: &Directory, path: &Path) -> Option<&'static str> {
    if directory.repository().is_some() {
        return Some("it comes from a repository; correct it there");
    }
    if matches!(directory.origin(), Origin::Plugin(_)) {
        return Some("it belongs to a plugin");
    }
    let inside = real_path(directory.path())
        .zip(real_path(path))
        .is_some_and(|(root, real)| real.starts_with(root));
    (!inside).then_some("a link leads to it from elsewhere; check it where it is")
}

/// The change as a unified diff.
fn diff(file: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff()
        .context_radius(1)
        .header(&format!("a/{file}"), &format!("b/{file}"))
        .to_string()
}
