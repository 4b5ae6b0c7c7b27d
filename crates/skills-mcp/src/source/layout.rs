//! Which folder a named directory or repository stands for: people name the repository as often as the folder in it.
//!
//! One rule for both: where `skills/` holds skills and nothing beside it does, `skills/` is meant. A `config.yaml` beside
//! it says so too, before there are any. Bounded: deeper folders and files beyond a number are not considered. Not
//! here: what is a skill (core), and what git has of a commit.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use skills_core::{
    document::{Dialect, Parsed},
    relpath::RelPath,
};

use super::{
    disk::{Links, ListedEntry, Root},
    walk::is_skipped,
};
use crate::paths::is_folder;

/// The folder that may be meant.
const CONTENT: &str = "skills/";
/// It is beside the folder, or in it where the whole directory is meant.
const CONFIG: &str = "config.yaml";
/// So many files and folders of a directory are considered.
const MAX_ENTRIES: usize = 5_000;
/// And none deeper than this.
const MAX_DEPTH: usize = 6;
/// So many Markdown files are read to find a skill.
const MAX_READ_FILES: usize = 200;
/// So many of them at once.
const READ_BATCH: usize = 20;
/// None that is larger.
pub(super) const MAX_BYTES: usize = 1024 * 1024;

/// Whether the files of these paths mean their `skills/`. `texts` gives what some of them say, in their order.
pub(super) fn means_content_folder<'a>(
    paths: impl Iterator<Item = &'a str>,
    texts: impl Fn(&[&str]) -> Vec<Vec<u8>>,
) -> bool {
    let is_near = |path: &&str| path.split('/').count() <= MAX_DEPTH + 1;
    let (seen, ignored): (Vec<&str>, Vec<&str>) =
        paths.filter(is_near).partition(|path| !path.split('/').any(is_ignored));
    let (inside, beside): (Vec<&str>, Vec<&str>) =
        seen.into_iter().partition(|path| path.starts_with(CONTENT));
    let says_so = beside.contains(&CONFIG) && !inside.is_empty();
    if hold_skill(&beside, &texts) {
        return false;
    }
    // A folder of bundles may have others beside it that clients load. A tree keeps its paths.
    let has_more =
        || ignored.iter().any(|path| is_clients(path)) && !hold_tree_skill(&inside, &texts);
    says_so || (hold_skill(&inside, &texts) && !has_more())
}

/// Whether this is a bundle's file in a client's own folder, such as `.claude/skills/x/SKILL.md`.
fn is_clients(path: &str) -> bool {
    let mut parts = path.split('/');
    let is_hidden = parts.next().is_some_and(|first| first.starts_with('.') && !is_skipped(first));
    is_hidden && parts.any(|part| part == "skills") && is_named(path, "SKILL.md")
}

fn is_named(path: &str, name: &str) -> bool {
    path.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(name))
}

/// Whether one of these files is a skill's.
fn hold_skill(paths: &[&str], texts: impl Fn(&[&str]) -> Vec<Vec<u8>>) -> bool {
    paths.iter().any(|path| is_named(path, "SKILL.md")) || hold_tree_skill(paths, texts)
}

/// Whether one of these files is a tree skill's, as far as they are read.
fn hold_tree_skill(paths: &[&str], texts: impl Fn(&[&str]) -> Vec<Vec<u8>>) -> bool {
    let folder = |path: &'_ &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let bundles: HashSet<String> =
        paths.iter().filter(|path| is_named(path, "SKILL.md")).map(folder).collect();
    let is_bundles = |path: &&str| {
        Path::new(path).ancestors().skip(1).any(|above| {
            above.to_str().is_some_and(|above| !above.is_empty() && bundles.contains(above))
        })
    };
    let is_markdown = |path: &&str| Path::new(path).extension().is_some_and(|last| last == "md");
    let is_candidate = |path: &&str| is_markdown(path) && !is_bundles(path);
    let read: Vec<&str> = paths.iter().copied().filter(is_candidate).take(MAX_READ_FILES).collect();
    let is_skill = |text: Vec<u8>| Parsed::read(text, Dialect::Tree).skill.is_some();
    // A few at a time: most often the first says enough.
    read.chunks(READ_BATCH).any(|paths| texts(paths).into_iter().any(is_skill))
}

/// Whether a named folder has one in it that may be meant.
pub(super) fn has_content_folder(path: &Path) -> bool {
    is_folder(&path.join(CONTENT))
}

/// Whether a path of a named folder is in that one.
pub(crate) fn is_in_content_folder(path: &str) -> bool {
    path.split('/').next() == Some(CONTENT.trim_end_matches('/'))
}

/// The folder that a named one stands for. Links lead no further than they will when it is served.
pub(super) fn content_folder(path: &Path, links: Links) -> PathBuf {
    let content = path.join(CONTENT.trim_end_matches('/'));
    let whole = || path.to_path_buf();
    if !has_content_folder(path) {
        return whole();
    }
    let Ok(root) = Root::open(path, links) else { return whole() };
    let files = files(&root);
    let text = |path: &&str| root.read(&RelPath::parse(path).ok()?, MAX_BYTES).ok();
    let texts = |paths: &[&str]| paths.iter().filter_map(text).collect();
    let means = means_content_folder(files.iter().map(RelPath::as_str), texts);
    if means { content } else { whole() }
}

/// The files in a directory, the nearest first.
fn files(root: &Root) -> Vec<RelPath> {
    let mut files = Vec::new();
    let mut entries = 0;
    let mut level = vec![RelPath::root()];
    for _ in 0..=MAX_DEPTH {
        let mut below = Vec::new();
        for folder in &level {
            let Ok(listing) = root.list(folder, None) else { continue };
            for (name, listed) in listing.entries {
                entries += 1;
                let is_read =
                    |name: &&str| !is_skipped(name) && (folder.is_root() || !name.starts_with('.'));
                let name = name.to_str().filter(is_read);
                let path = name.and_then(|name| folder.child(name).ok());
                match (path, listed) {
                    _ if entries > MAX_ENTRIES => return files,
                    (Some(path), ListedEntry::File { .. }) => files.push(path),
                    (Some(path), ListedEntry::Folder { .. }) => below.push(path),
                    (
                        _,
                        ListedEntry::Special | ListedEntry::Dangling(_) | ListedEntry::Refused(_),
                    )
                    | (None, _) => {}
                }
            }
        }
        level = below;
    }
    files
}

/// Tools' own folders and hidden ones, which are skipped.
fn is_ignored(name: &str) -> bool {
    name.starts_with('.') || is_skipped(name)
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;

    const TREE: &str = "---\nkeywords: [k]\ndescription: d\n---\nText.\n";

    /// Whether a directory of these files means its `skills/`: on disk, and as git lists a commit.
    fn means(files: &[(&str, &str)]) -> bool {
        let home = Home::new();
        for (path, text) in files {
            home.write(&format!("named/{path}"), text);
        }
        let named = home.path().join("named");
        let on_disk = content_folder(&named, Links::Follow) != named;
        let texts = |paths: &[&str]| {
            let wanted = files.iter().filter(|(path, _)| paths.contains(path));
            wanted.map(|(_, text)| text.as_bytes().to_vec()).collect()
        };
        assert_eq!(means_content_folder(files.iter().map(|(path, _)| *path), texts), on_disk);
        on_disk
    }

    // SOURCE-7
    #[test]
    fn a12_a_folder_of_skills_with_no_skill_beside_it_is_meant() {
        let bundle = ("skills/pdf/SKILL.md", "x");
        let leaf = ("skills/api/orders.md", TREE);
        let readme = ("README.md", "# Read me");
        assert!(means(&[bundle]));
        assert!(means(&[leaf, readme, ("src/main.rs", "x"), ("docs/guide.md", "plain")]));
        assert!(means(&[leaf, readme, ("config.yaml", "")]));
        assert!(means(&[("skills/notes.txt", "x"), ("config.yaml", "")]), "it says so");
        // Bundles may have others beside them that clients load.
        assert!(!means(&[bundle, (".claude/skills/x/SKILL.md", "x")]));
        assert!(!means(&[bundle, (".github/plugins/p/skills/x/SKILL.md", "x")]));
        assert!(means(&[bundle, (".claude/agents/SKILL.md", "x")]));
        assert!(means(&[bundle, (".claude/skills/x/SKILL.md", "x"), ("config.yaml", "")]));
        // A tree keeps its paths; other hidden folders are skipped, and tools' own too.
        assert!(means(&[
            leaf,
            (".claude/skills/x/SKILL.md", "x"),
            ("node_modules/a/SKILL.md", "x")
        ]));
        for beside in [
            ("_root.md", TREE),
            ("api.md", TREE),
            ("other/deep/api.md", TREE),
            ("template/SKILL.md", "x"),
            ("SKILL.md", "x"),
        ] {
            assert!(!means(&[leaf, bundle, beside]), "{}", beside.0);
            assert!(!means(&[leaf, ("config.yaml", ""), beside]), "{}", beside.0);
        }
        assert!(!means(&[("skills/notes.txt", "x"), readme]), "no skill in it");
        assert!(!means(&[("other/pdf/SKILL.md", "x")]));
    }
}
