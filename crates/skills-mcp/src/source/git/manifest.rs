//! [`Manifest`]: the files of a generation with git's hash of the content of each.
//!
//! Generations are compared, and listed for the catalog, without reading the disk: files with the same blob have the same
//! content. So after a sync that changes three of five thousand files, three are read.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use skills_core::{
    catalog::{FileEntry, Folder, Scope, Stamp},
    diagnostic::{Code, Finding},
    relpath::RelPath,
};

use crate::source::{assemble::is_same, walk::is_skipped};

/// What a file or a folder takes at least on most disks.
const DISK_BLOCK_BYTES: u64 = 4096;
/// The first line.
const MANIFEST_HEADER: &str = "skills-mcp generation 1";

/// The files of a generation, by path, and what was left out.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Manifest {
    pub(super) files: BTreeMap<String, ManifestFile>,
    pub(super) left_out: Vec<(String, Finding)>,
    /// By chance, where its files were written again because they had been changed: what was read of them before does not count.
    pub(super) rewritten: Option<u64>,
    /// Whether it is the whole repository, and not its `skills/` alone.
    pub(super) is_whole: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ManifestFile {
    /// Git's hash of its content.
    pub(super) blob: String,
    pub(super) bytes: u64,
    pub(super) executable: bool,
}

impl Manifest {
    /// The text that is stored.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{MANIFEST_HEADER}\n");
        if let Some(number) = self.rewritten {
            let _ = writeln!(text, "+ {number}");
        }
        if self.is_whole {
            text.push_str("= whole\n");
        }
        for (path, file) in &self.files {
            let mode = if file.executable { 'x' } else { '-' };
            let _ = writeln!(text, "{mode} {} {} {path}", file.blob, file.bytes);
        }
        for (path, finding) in &self.left_out {
            let hint = finding.hint.as_deref().unwrap_or_default();
            let _ = writeln!(text, "! {} {path}\t{}\t{hint}", finding.code.name(), finding.message);
        }
        text
    }

    /// Reads what [`Manifest::text`] wrote; none if it is anything else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        lines.next().filter(|line| *line == MANIFEST_HEADER)?;
        let mut manifest = Self::default();
        for line in lines {
            let mut parts = line.splitn(4, ' ');
            match (parts.next()?, parts.next()?) {
                ("+", number) => manifest.rewritten = Some(number.parse().ok()?),
                ("=", "whole") => manifest.is_whole = true,
                ("!", code) => {
                    let rest = line.strip_prefix("! ")?.strip_prefix(code)?.strip_prefix(' ')?;
                    let (path, rest) = rest.split_once('\t')?;
                    let (message, hint) = rest.split_once('\t')?;
                    let code = Code::ALL.iter().find(|known| known.name() == code)?;
                    let finding = Finding::whole(*code, message).hint(hint);
                    manifest.left_out.push((path.to_owned(), finding));
                }
                (mode @ ("-" | "x"), blob) => {
                    let bytes = parts.next()?.parse().ok()?;
                    let file =
                        ManifestFile { blob: blob.to_owned(), bytes, executable: mode == "x" };
                    manifest.files.insert(parts.next()?.to_owned(), file);
                }
                _ => return None,
            }
        }
        Some(manifest)
    }

    /// The files that were changed, added or removed.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for (path, file) in &self.files {
            if other.files.get(path) != Some(file) {
                paths.push(path.clone());
            }
        }
        let gone = other.files.keys().filter(|path| !self.files.contains_key(*path));
        paths.extend(gone.cloned());
        paths.sort();
        paths
    }

    /// The disk space of the files and their folders, roughly: each takes at least a block.
    pub(super) fn disk_bytes(&self) -> u64 {
        let (mut blocks, mut before) = (0, "");
        for (path, file) in &self.files {
            // Paths ascend, so those of one folder are together: where a path differs from the last, its folders are new.
            let folders = |path: &str| path.matches('/').count();
            let same = path.split('/').zip(before.split('/')).take_while(|(own, last)| own == last);
            let new = folders(path).saturating_sub(same.count());
            blocks += u64::try_from(new).unwrap_or(u64::MAX)
                + file.bytes.div_ceil(DISK_BLOCK_BYTES).max(1);
            before = path;
        }
        blocks.saturating_mul(DISK_BLOCK_BYTES)
    }

    /// What was left out, and why.
    pub(crate) fn left_out(&self) -> &[(String, Finding)] {
        &self.left_out
    }

    /// The kinds of skills that are looked for in the content folder.
    pub(crate) fn scope(&self) -> Scope {
        if self.is_whole { Scope::All } else { Scope::Content }
    }

    /// The listing of the content folder. It shares every unchanged folder with the listing before.
    pub(crate) fn listing(&self, before: &Arc<Folder>) -> Arc<Folder> {
        let files: Vec<(&str, &ManifestFile)> = self
            .files
            .iter()
            .filter_map(|(path, file)| Some((path.strip_prefix(CONTENT_PREFIX)?, file)))
            .collect();
        folder(&files, Some(before), self.rewritten)
    }
}

/// The content folder of a generation.
pub(super) const CONTENT_PREFIX: &str = "skills/";

/// The listing of a folder from the paths of its files, which ascend.
fn folder(
    files: &[(&str, &ManifestFile)],
    before: Option<&Arc<Folder>>,
    rewritten: Option<u64>,
) -> Arc<Folder> {
    let mut own: Vec<(Arc<str>, FileEntry)> = Vec::new();
    let mut below: Vec<(Arc<str>, Arc<Folder>)> = Vec::new();
    let mut rest = files;
    while let Some((path, file)) = rest.first() {
        let Some((name, _)) = path.split_once('/') else {
            let known = before.and_then(|before| known_name(before, path));
            let name = known.unwrap_or_else(|| Arc::from(*path));
            own.push((
                name,
                FileEntry::Regular { bytes: file.bytes, stamp: stamp(file, rewritten) },
            ));
            rest = rest.get(1..).unwrap_or_default();
            continue;
        };
        let inside = |(path, _): &(&str, &ManifestFile)| {
            path.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
        };
        let end = rest.iter().position(|file| !inside(file)).unwrap_or(rest.len());
        let (group, others) = rest.split_at(end);
        rest = others;
        if is_skipped(name) {
            continue;
        }
        let group: Vec<(&str, &ManifestFile)> = group
            .iter()
            .filter_map(|(path, file)| Some((path.strip_prefix(name)?.strip_prefix('/')?, *file)))
            .collect();
        let known = before.and_then(|before| before.own_folder(name));
        below.push((name.into(), folder(&group, known, rewritten)));
    }
    let made = Folder::new(own, below, Stamp::UNSURE);
    match before.filter(|before| is_same(before, &made)) {
        Some(before) => Arc::clone(before),
        None => Arc::new(made),
    }
}

/// The name in the listing before, to share its memory.
fn known_name(before: &Folder, name: &str) -> Option<Arc<str>> {
    let files = before.files();
    let found = files.binary_search_by(|(own, _)| (**own).cmp(name)).ok()?;
    files.get(found).map(|(own, _)| Arc::clone(own))
}

/// A fingerprint of the content and the mode, the same wherever and whenever the file was written, unless it was written again.
fn stamp(file: &ManifestFile, rewritten: Option<u64>) -> Stamp {
    let part = |from: usize| {
        let digits = file.blob.get(from..from + 20).unwrap_or_default();
        u128::from_str_radix(digits, 16)
            .ok()
            .and_then(|part| i128::try_from(part).ok())
            .unwrap_or(0)
    };
    let known = [part(0), part(20), i128::from(file.executable)];
    match rewritten {
        Some(number) => Stamp::of(&[known.as_slice(), &[i128::from(number)]].concat()),
        None => Stamp::of(&known),
    }
}

/// A path of a commit, if it can be served; else why not.
pub(super) fn usable_path(path: &[u8]) -> Result<RelPath, &'static str> {
    let text = std::str::from_utf8(path).map_err(|_| "the name is not UTF-8; not served")?;
    let mut whole = RelPath::root();
    for name in text.split('/') {
        let lower = name.to_ascii_lowercase();
        if lower == ".git" || lower.starts_with("git~") || name.contains('\\') {
            return Err("the name means something to git or to some systems; not served");
        }
        whole = whole
            .child(name)
            .map_err(|_| "the name leads elsewhere or holds control characters; not served")?;
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(files: &[(&str, u8)]) -> Manifest {
        let file = |number: &u8| ManifestFile {
            blob: format!("{number:040x}"),
            bytes: 3,
            executable: false,
        };
        let files = files.iter().map(|(path, number)| ((*path).to_owned(), file(number))).collect();
        Manifest { files, ..Manifest::default() }
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let mut kept = manifest(&[("skills/a b/SKILL.md", 1), ("config.yaml", 2)]);
        kept.left_out
            .push(("x y".to_owned(), Finding::whole(Code::LinkRefused, "is a link").hint("do")));
        assert_eq!(Manifest::parse(&kept.text()), Some(kept));
        assert_eq!(Manifest::parse("something else\n"), None);
        assert_eq!(Manifest::parse("skills-mcp generation 1\nx y\n"), None);
    }

    #[test]
    fn e11_a_file_and_a_folder_take_at_least_a_block() {
        assert_eq!(Manifest::default().disk_bytes(), 0);
        // skills, a, b: three folders; three files.
        let three = manifest(&[("skills/a/x", 1), ("skills/a/y", 1), ("skills/b/x", 1)]);
        assert_eq!(three.disk_bytes(), 6 * DISK_BLOCK_BYTES);
        let mut large = manifest(&[("skills/x", 1)]);
        large.files.values_mut().for_each(|file| file.bytes = DISK_BLOCK_BYTES + 1);
        assert_eq!(large.disk_bytes(), 3 * DISK_BLOCK_BYTES);
    }

    #[test]
    fn a_listing_shares_every_folder_that_did_not_change() {
        let first = manifest(&[
            ("skills/a/x.md", 1),
            ("skills/a-b.md", 2),
            ("skills/b/c/y.md", 3),
            ("README.md", 4),
        ]);
        let before = first.listing(&Arc::default());
        let paths: Vec<String> = before.paths().iter().map(ToString::to_string).collect();
        assert_eq!(paths, ["a-b.md", "a/x.md", "b/c/y.md"]);
        let second =
            manifest(&[("skills/a/x.md", 9), ("skills/a-b.md", 2), ("skills/b/c/y.md", 3)]);
        let after = second.listing(&before);
        assert!(Arc::ptr_eq(before.own_folder("b").unwrap(), after.own_folder("b").unwrap()));
        assert!(!Arc::ptr_eq(before.own_folder("a").unwrap(), after.own_folder("a").unwrap()));
        assert_eq!(second.differences(&first), ["README.md", "skills/a/x.md"]);
        assert!(Arc::ptr_eq(&after, &second.listing(&after)));
    }

    #[test]
    fn g06_names_that_mean_something_else_are_not_usable() {
        for bad in [
            &b"../x"[..],
            b"a/../x",
            b"/x",
            b"a//x",
            b".git/config",
            b"a/.GIT/x",
            b"GIT~1/x",
            b"a\\b",
            b"a\nb",
            b"\xff",
        ] {
            assert!(usable_path(bad).is_err(), "{bad:?}");
        }
        assert_eq!(usable_path(b"skills/a b/.hidden").unwrap().as_str(), "skills/a b/.hidden");
    }
}
