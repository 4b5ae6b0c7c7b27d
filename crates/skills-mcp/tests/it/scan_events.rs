//! Random edits of a real folder: what is kept up to date by watch events equals what a scan from nothing finds.

use std::{collections::BTreeMap, fs, os::unix::fs::symlink, path::Path};

use proptest::prelude::*;
use skills_core::{
    catalog::{FileEntry, Folder},
    diagnostic::Finding,
    relpath::RelPath,
};
use skills_mcp::{
    config::{NamedDirectory, Trust},
    source::{Directory, ScanScope, ScannedSource, Watch},
};
use skills_testkit::Home;

const NAMES: &[&str] = &["a", "b", "a/c", "a/c/d", "b/e", "SKILL.md", "a/SKILL.md", "a/c/x.md"];

#[derive(Debug, Clone)]
enum Edit {
    Write(&'static str, u8),
    Replace(&'static str, u8),
    Folder(&'static str),
    Remove(&'static str),
    Rename(&'static str, &'static str),
    Link(&'static str, &'static str),
}

fn edit() -> impl Strategy<Value = Edit> {
    let name = || prop::sample::select(NAMES);
    prop_oneof![
        3 => (name(), any::<u8>()).prop_map(|(name, text)| Edit::Write(name, text)),
        2 => (name(), any::<u8>()).prop_map(|(name, text)| Edit::Replace(name, text)),
        2 => name().prop_map(Edit::Folder),
        2 => name().prop_map(Edit::Remove),
        2 => (name(), name()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => (name(), name()).prop_map(|(at, to)| Edit::Link(at, to)),
    ]
}

/// Does it if it can be done.
fn apply(root: &Path, edit: &Edit) {
    let _ = match edit {
        Edit::Write(name, text) => fs::write(root.join(name), [*text]),
        Edit::Replace(name, text) => fs::write(root.join(".new"), [*text])
            .and_then(|()| fs::rename(root.join(".new"), root.join(name))),
        Edit::Folder(name) => fs::create_dir_all(root.join(name)),
        Edit::Remove(name) if root.join(name).is_dir() && !root.join(name).is_symlink() => {
            fs::remove_dir_all(root.join(name))
        }
        Edit::Remove(name) => fs::remove_file(root.join(name)),
        Edit::Rename(from, to) => fs::rename(root.join(from), root.join(to)),
        Edit::Link(at, to) => symlink(root.join(to), root.join(at)),
    };
}

/// Every folder and file by path, of a file its size; and what was said.
type Seen = (BTreeMap<String, Option<u64>>, Vec<(String, Finding)>);

fn seen(scanned: &ScannedSource, directory: &Directory) -> Seen {
    fn collect(folder: &Folder, path: &str, seen: &mut BTreeMap<String, Option<u64>>) {
        for (name, entry) in folder.files() {
            let bytes = match entry {
                FileEntry::Regular { bytes, .. } => Some(*bytes),
                FileEntry::Special => None,
            };
            seen.insert(format!("{path}/{name}"), bytes);
        }
        for (name, below) in folder.folders() {
            seen.insert(format!("{path}/{name}/"), None);
            collect(below, &format!("{path}/{name}"), seen);
        }
    }
    let mut all = BTreeMap::new();
    let intake = scanned.intake(directory);
    collect(&intake.root, "", &mut all);
    let mut findings = intake.scan_findings.to_vec();
    findings.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.message.cmp(&b.1.message)));
    (all, findings)
}

fn scan_changes(scanned: &mut ScannedSource, directory: &Directory, watch: &mut Watch) {
    let changes = watch.drain();
    let paths: Vec<RelPath> = changes.paths.into_iter().map(|(_, path)| path).collect();
    if !paths.is_empty() {
        let result = scanned.scan(directory, 0, ScanScope::Paths(&paths), Some(watch));
        assert!(matches!(result, Ok(None)), "{result:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn scans_of_watch_events_find_what_is_there(script in prop::collection::vec(
        prop::collection::vec(edit(), 1..5), 1..10,
    )) {
        let home = Home::with("//- first.md\nx\n");
        let named = NamedDirectory { name: "main".into(), path: home.skills(), origin: "--dir".into(), project: None };
        let directory = Directory::open(&named, Trust::Named).unwrap();
        let mut watch = Watch::open().unwrap();
        let mut scanned = ScannedSource::default();
        scanned.scan(&directory, 0, ScanScope::All, Some(&mut watch)).unwrap();
        for batch in script {
            for edit in &batch {
                apply(&home.skills(), edit);
            }
            scan_changes(&mut scanned, &directory, &mut watch);
            let mut fresh = ScannedSource::default();
            fresh.scan(&directory, 0, ScanScope::All, None).unwrap();
            let expected = seen(&fresh, &directory);
            prop_assert_eq!(&seen(&scanned, &directory), &expected, "after {:?}", batch);
            // A scan of everything that knows what was there finds the same.
            fresh.scan(&directory, 0, ScanScope::All, None).unwrap();
            prop_assert_eq!(&seen(&fresh, &directory), &expected);
        }
    }
}
