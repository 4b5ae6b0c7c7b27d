//! One string → a catalog, and findings → lines, so that a test shows its whole content on one screen.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use skills_core::{
    catalog::{Catalog, Delta, FileEntry, Folder, FolderItem, Origin, Skill, SourceScan, Stamp},
    diagnostic::Finding,
    document::{ContentDigest, Dialect, Document, Parsed, SkillText},
    relpath::RelPath,
    resolve::{self, Resolved, TextLimit, inherited_from},
};

/// Files by path, as `skills_testkit::files` gives them.
pub(crate) type Files = Vec<(String, String)>;

/// The catalog of one source called `main`.
pub(crate) fn catalog(fixture: &str) -> Catalog {
    catalog_of(&[("main", fixture)])
}

/// The catalog of several sources, the first-named first.
pub(crate) fn catalog_of(sources: &[(&str, &str)]) -> Catalog {
    catalog_from_sources(
        sources.iter().map(|(source, fixture)| scan(source, &skills_testkit::files(fixture))),
    )
}

/// A scan of a source, and the texts of its files.
pub(crate) struct Given {
    pub(crate) scan: SourceScan,
    pub(crate) texts: BTreeMap<String, String>,
}

/// The scan of a source with these files, inserted in the order given.
pub(crate) fn scan(source: &str, files: &Files) -> Given {
    scan_with(source, files, |_| {})
}

/// Like [`scan`], but `change` may put things into the folder that a fixture cannot spell.
pub(crate) fn scan_with(source: &str, files: &Files, change: impl FnOnce(&mut Folder)) -> Given {
    made(source, Origin::Named, files, change)
}

/// The scan of a source of this origin with these files.
pub(crate) fn scan_from(source: &str, origin: Origin, files: &Files) -> Given {
    made(source, origin, files, |_| {})
}

fn made(source: &str, origin: Origin, files: &Files, change: impl FnOnce(&mut Folder)) -> Given {
    let mut root = Folder::default();
    for (path, text) in files {
        root.put(&path_of(path), Some(FolderItem::File(entry(text))));
    }
    change(&mut root);
    let scan = SourceScan::new(source.into(), origin, Arc::new(root));
    Given { scan, texts: files.iter().cloned().collect() }
}

/// A file of this text, as a disk would list it.
pub(crate) fn entry(text: &str) -> FileEntry {
    let known: Vec<i128> = text.bytes().map(i128::from).collect();
    FileEntry::Regular { bytes: text.len() as u64, stamp: Stamp::of(&known) }
}

/// The catalog after a source has been refreshed at.
pub(crate) fn refreshed(catalog: &Catalog, number: usize, given: &Given) -> (Catalog, Delta) {
    let update = catalog.update(number, &given.scan);
    let read = |(file, dialect): &(RelPath, Dialect)| {
        Arc::new(parse(given.texts[file.as_str()].clone().into_bytes(), *dialect))
    };
    let parsed = update.files().iter().map(read).collect();
    catalog.with(update, parsed)
}

/// The catalog of these scans, the first-named first.
pub(crate) fn catalog_from_sources(sources: impl IntoIterator<Item = Given>) -> Catalog {
    let add = |catalog: Catalog, (number, given)| refreshed(&catalog, number, &given).0;
    sources.into_iter().enumerate().fold(Catalog::default(), add)
}

thread_local! {
    /// Every text that this test has read, by its digest: documents do not keep theirs.
    static TEXTS: RefCell<HashMap<ContentDigest, Vec<u8>>> = RefCell::default();
}

/// Reads a file's bytes, and remembers them.
pub(crate) fn parse(bytes: Vec<u8>, dialect: Dialect) -> Parsed {
    let parsed = Parsed::read(bytes.clone(), dialect);
    if let Some(skill) = &parsed.skill {
        TEXTS.with_borrow_mut(|texts| texts.insert(*skill.document.digest(), bytes));
    }
    parsed
}

/// The text of a document that was read before.
pub(crate) fn text(document: &Document) -> SkillText {
    TEXTS.with_borrow(|texts| document.text(texts[document.digest()].clone()).unwrap())
}

/// What follows a document's front matter.
pub(crate) fn body(document: &Document) -> String {
    text(document).body().to_owned()
}

/// Resolves a skill.
pub(crate) fn resolve<'a>(
    catalog: &'a Catalog,
    skill: &'a Skill,
    max_tokens: usize,
) -> Resolved<'a> {
    let with_text = |skill: &'a Skill| (skill, text(skill.document()));
    let inherited: Vec<_> = inherited_from(catalog, skill).into_iter().map(with_text).collect();
    let limit = TextLimit::of_tokens(max_tokens);
    resolve::resolve(skill, &text(skill.document()), &inherited, 1, limit)
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
    catalog_from_sources([scan("main", files)])
}

/// A path below the root, `/`-separated; names may hold what a directory may hold.
pub(crate) fn path_of(path: &str) -> RelPath {
    path.split('/').fold(RelPath::root(), |folder, name| folder.child(name).unwrap())
}

/// What every skill is called, in the catalog's order.
pub(crate) fn identities(catalog: &Catalog) -> Vec<&str> {
    catalog.skills().map(|skill| &*skill.identity).collect()
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
