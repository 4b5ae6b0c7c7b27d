//! A catalog made from the one before equals one made from nothing, whatever was edited, in whatever order.

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;
use skills_core::{
    catalog::{
        Catalog, Folder, FolderItem, NameMatch, Origin, Presence, Skill, SkillId, SourceScan,
    },
    route::{Matching, Router},
};

use crate::support::{Given, diagnostics, entry, path_of, refreshed};

/// Paths that mean something to each other: categories, resource folders, bundles in and beside each other.
const PATHS: &[&str] = &[
    "_root.md",
    "_root/inside.md",
    "a.md",
    "A.md",
    "a/_index.md",
    "a/b.md",
    "a/x.ts",
    "a/assets/x.ts",
    "a/assets/inside.md",
    "a/b/x.ts",
    "a/b/SKILL.md",
    "b.md",
    "b/SKILL.md",
    "b/skill.md",
    "b/deep/SKILL.md",
    "b/reference.md",
    "c/SKILL.md",
    "d/b/SKILL.md",
    "SKILL.md",
    ".hidden/a.md",
    "one/two/_index.md",
    "one/two/three/a.md",
    "one:b.md",
];

/// What files say. Few, so that names clash and copies are alike.
const TEXTS: &[&str] = &[
    "---\nkeywords: [red, shared]\ndescription: first\nassets: [{file: x.ts, description: d}]\n---\none\n",
    "---\nkeywords: [blue, shared]\ndescription: second\nname: b\n---\ntwo\n",
    "---\nname: a\ndescription: third\n---\nthree\n",
    "---\nname: c\ndescription: fourth\nkeywords: [green]\npriority: 0.2\n---\nfour\n",
    "---\ndescription: nameless\nkeywords: [red]\ninherit: false\n---\nfive\n",
    "no front matter\n",
    "---\nkeywords: [\n---\nbroken\n",
];

/// What a server reads: directories that the operator named, or those of agents with their plugins.
const NAMED: &[(&str, Origin)] = &[("one", Origin::Named), ("two", Origin::Named)];

fn agents() -> Vec<(&'static str, Origin)> {
    let plugin = |name: &'static str| (name, Origin::Plugin(name.into()));
    vec![("project", Origin::Project), ("user", Origin::User), plugin("plug"), plugin("more")]
}

/// One source's files: path → number of the text.
type Disk = BTreeMap<&'static str, usize>;

/// The listing of a disk; folders that did not change are those of the listing before.
fn listed(disk: &Disk, before: &Arc<Folder>) -> Arc<Folder> {
    let mut root = before.clone();
    for path in PATHS {
        let is = disk.get(path).map(|text| entry(TEXTS[*text]));
        if root.file(&path_of(path)) == is {
            continue;
        }
        let mut path = path_of(path);
        Arc::make_mut(&mut root).put(&path, is.map(FolderItem::File));
        // Folders go with their last file, as in the listing from nothing.
        while !path.folder().is_root() && root.folder(&path.folder()).unwrap().paths().is_empty() {
            path = path.folder();
            Arc::make_mut(&mut root).put(&path, None);
        }
    }
    root
}

fn given((name, origin): &(&str, Origin), disk: &Disk, root: Arc<Folder>) -> Given {
    let texts = disk.iter().map(|(path, text)| ((*path).to_owned(), TEXTS[*text].to_owned()));
    Given { scan: SourceScan::new((*name).into(), origin.clone(), root), texts: texts.collect() }
}

/// Everything that can be asked of a catalog, numbers aside.
fn seen(catalog: &Catalog, router: &Router) -> Vec<String> {
    let name = |id: SkillId| catalog.skill(id).map(|skill| skill.identity.to_string());
    let files = |declared: Vec<Presence>| format!("{declared:?}");
    let skill = |skill: &Skill| {
        let above: Vec<&str> = catalog.ancestors(skill).map(|above| &*above.identity).collect();
        let presence = files(skill.assets().map(|(_, presence)| presence).collect());
        format!(
            "{} {} {} {:?} {:?} {above:?} {presence} {:?} {:?}",
            skill.identity,
            skill.label,
            skill.file,
            skill.kind,
            skill.resources,
            skill.document().digest(),
            catalog.files(skill).map(Folder::paths),
        )
    };
    let mut seen: Vec<String> = catalog.skills().map(skill).collect();
    seen.push(format!("{} skills, {} bundles", catalog.len(), catalog.bundles()));
    for copy in catalog.shadowed() {
        let (winner, served) = (name(copy.winner), copy.served_as);
        seen.push(format!(
            "shadowed {} {} {} {winner:?} {} {served:?}",
            copy.label, copy.source, copy.file, copy.identical
        ));
    }
    seen.extend(diagnostics(catalog));
    for asked in
        ["a", "A", "b", "c", "d/b", "one:b", "two:a", "user:b", "plug:b", "a/_index", "b/SKILL"]
    {
        let found = catalog.find(asked).map(|skill| &skill.identity);
        let named = match catalog.named(asked) {
            NameMatch::One(skill) => vec![&skill.label],
            NameMatch::Several(skills) => skills.iter().map(|skill| &skill.label).collect(),
            NameMatch::NotFound => Vec::new(),
        };
        seen.push(format!("{asked}: {found:?} {named:?}"));
    }
    for context in ["red", "something shared and blue", "greenish", "reds"] {
        let verdict = format!("{:?}", router.route(catalog, context, &Matching::default()));
        let mut verdict = verdict;
        for skill in catalog.skills() {
            verdict = verdict.replace(&format!("{:?}", skill.id), &skill.identity);
        }
        seen.push(format!("{context}: {verdict}"));
    }
    seen
}

/// What an agent can get.
fn served(catalog: &Catalog) -> Vec<(String, [u8; 32], Vec<Presence>)> {
    let skill = |skill: &Skill| {
        let presence = skill.assets().map(|(_, presence)| presence).collect();
        (skill.identity.to_string(), *skill.document().digest(), presence)
    };
    let mut served: Vec<_> = catalog.skills().map(skill).collect();
    served.sort_by(|a, b| a.0.cmp(&b.0));
    served
}

/// Puts a text under a path of a source, or nothing.
type Edit = (usize, usize, Option<usize>);

fn edits() -> impl Strategy<Value = Vec<Vec<Edit>>> {
    let text = prop_oneof![1 => Just(None), 3 => (0..TEXTS.len()).prop_map(Some)];
    let edit = (0..4_usize, 0..PATHS.len(), text);
    prop::collection::vec(prop::collection::vec(edit, 1..6), 1..12)
}

/// Plays a script against these sources, and compares after every batch.
fn check(sources: &[(&str, Origin)], script: Vec<Vec<Edit>>) -> Result<(), TestCaseError> {
    let mut disks = vec![Disk::new(); sources.len()];
    let mut roots: Vec<Arc<Folder>> = sources.iter().map(|_| Arc::default()).collect();
    let mut catalog = Catalog::default();
    let mut router = Router::default();
    for batch in script {
        for (source, path, text) in batch {
            let disk = &mut disks[source % sources.len()];
            match text {
                Some(text) => disk.insert(PATHS[path], text),
                None => disk.remove(PATHS[path]),
            };
        }
        let before = served(&catalog);
        let mut silent = true;
        let mut rebuilt = Catalog::default();
        for (number, (source, disk)) in sources.iter().zip(&disks).enumerate() {
            roots[number] = listed(disk, &roots[number]);
            let (next, delta) =
                refreshed(&catalog, number, &given(source, disk, roots[number].clone()));
            router = router.with(&next, &delta.numbers);
            silent &= delta.is_empty();
            catalog = next;
            let root = listed(disk, &Arc::default());
            rebuilt = refreshed(&rebuilt, number, &given(source, disk, root)).0;
        }
        let (left, right) = (seen(&catalog, &router), seen(&rebuilt, &Router::new(&rebuilt)));
        for (left, right) in left.iter().zip(&right) {
            prop_assert_eq!(left, right);
        }
        prop_assert_eq!(left.len(), right.len());
        prop_assert!(!silent || before == served(&catalog), "a change that no delta reports");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn incremental_equals_rebuilt_for_named_directories(script in edits()) {
        check(NAMED, script)?;
    }

    #[test]
    fn incremental_equals_rebuilt_for_agents_directories(script in edits()) {
        check(&agents(), script)?;
    }
}
