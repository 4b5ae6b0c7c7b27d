//! One string → a catalog, and findings → lines, so that a test shows its whole content on one screen.

use std::{collections::BTreeMap, sync::Arc};

use skills_core::{
    catalog::{Catalog, Entry, Folder, Intake, Origin, Skill},
    diagnostic::Finding,
    document::{Dialect, Parsed},
    relpath::RelPath,
};

/// Files by path, as `skills_testkit::files` gives them.
pub(crate) type Files = Vec<(String, String)>;

/// The catalog of one source called `main`.
pub(crate) fn catalog(fixture: &str) -> Catalog {
    catalog_of(&[("main", fixture)])
}

/// The catalog of several sources, the first-named first.
pub(crate) fn catalog_of(sources: &[(&str, &str)]) -> Catalog {
    let intakes: Vec<_> = sources
        .iter()
        .map(|(source, fixture)| Arc::new(intake(source, &skills_testkit::files(fixture))))
        .collect();
    Catalog::build(&intakes)
}

/// What a source of these files hands over, inserted in the order given.
pub(crate) fn intake(source: &str, files: &Files) -> Intake {
    intake_with(source, files, |_| {})
}

/// Like [`intake`], but `change` may put things into the folder that a fixture cannot spell.
pub(crate) fn intake_with(source: &str, files: &Files, change: impl FnOnce(&mut Folder)) -> Intake {
    made(source, Origin::Named, files, change)
}

/// The intake of a source of this origin with these files.
pub(crate) fn intake_from(source: &str, origin: Origin, files: &Files) -> Intake {
    made(source, origin, files, |_| {})
}

fn made(source: &str, origin: Origin, files: &Files, change: impl FnOnce(&mut Folder)) -> Intake {
    let mut root = Folder::default();
    for (path, text) in files {
        root.insert(&path_of(path), Entry::Regular { bytes: text.len() as u64 });
    }
    change(&mut root);
    let texts: BTreeMap<&str, &str> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Intake::new(source.into(), origin, root, Vec::new(), |wanted| {
        let read = |(file, dialect): (RelPath, Dialect)| {
            let bytes = texts[file.as_str()].as_bytes().to_vec();
            (file, Arc::new(Parsed::read(bytes, dialect)))
        };
        wanted.into_iter().map(read).collect()
    })
}

/// The catalog of these intakes, the first-named first.
pub(crate) fn catalog_from_sources(intakes: Vec<Intake>) -> Catalog {
    Catalog::build(&intakes.into_iter().map(Arc::new).collect::<Vec<_>>())
}

/// A skill file with these keywords.
pub(crate) fn skill_file(path: &str, keywords: &str, body: &str) -> (String, String) {
    (
        path.to_owned(),
        format!("---\nkeywords: [{keywords}]\ndescription: about {path}\n---\n{body}\n"),
    )
}

/// The catalog of one source with these files.
pub(crate) fn catalog_from(files: &Files) -> Catalog {
    Catalog::build(&[Arc::new(intake("main", files))])
}

/// A path below the root, `/`-separated; names may hold what a directory may hold.
pub(crate) fn path_of(path: &str) -> RelPath {
    path.split('/').fold(RelPath::root(), |folder, name| folder.child(name).unwrap())
}

/// What every skill is called, in the catalog's order.
pub(crate) fn identities(catalog: &Catalog) -> Vec<&str> {
    catalog.skills().iter().map(|skill| &*skill.identity).collect()
}

/// The skill of this name.
pub(crate) fn skill<'a>(catalog: &'a Catalog, name: &str) -> &'a Skill {
    catalog.find(name).unwrap_or_else(|| panic!("no skill {name} in {:?}", identities(catalog)))
}

/// The catalog's diagnostics, one line each.
pub(crate) fn diagnostics(catalog: &Catalog) -> Vec<String> {
    catalog.diagnostics().iter().map(|found| line(&found.file, &found.finding)).collect()
}

/// A file's findings, one line each; the file is called `x.md`.
pub(crate) fn findings(parsed: &Parsed) -> Vec<String> {
    parsed.findings.iter().map(|finding| line("x.md", finding)).collect()
}

/// `file:line:col severity[code] message | hint`.
fn line(file: &str, finding: &Finding) -> String {
    let Finding { code, at, message, hint } = finding;
    let hint = hint.as_ref().map(|hint| format!(" | {hint}")).unwrap_or_default();
    let (severity, code) = (code.severity().name(), code.name());
    format!("{file}:{}:{} {severity}[{code}] {message}{hint}", at.line, at.column)
}
