//! The house inspects itself: rooms look only one way, the core touches nothing, doors are where they should be.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The rooms of the binary, in the order data flows; each may look only at rooms before it.
const ROOMS: &[&str] = &[
    "clock",
    "event",
    "config",
    "programs",
    "network",
    "removal",
    "source",
    "store",
    "script",
    "analytics",
    "telemetry",
    "surface",
    "transport",
    "web",
    "cli",
];
/// The rooms of the core, likewise. `route` and `resolve` stand side by side.
const CORE_ROOMS: &[&str] = &[
    "sorted",
    "relpath",
    "diagnostic",
    "estimate",
    "tokens",
    "yaml",
    "document",
    "catalog",
    "route",
    "resolve",
];
/// All that the core may depend on.
const CORE_DEPENDENCIES: &[&str] = &["libm", "rust-stemmers", "saphyr-parser", "sha2", "strsim"];
/// The only files that hold a key to files, processes, the environment or the clock.
const KEY_HOLDERS: &[&str] = &[
    "analytics/archive/lines/door.rs",
    "analytics/journal/disk.rs",
    "analytics/sender/kill_points.rs",
    "cli/example.rs",
    "cli/lock_file.rs",
    "cli/memory.rs",
    "clock.rs",
    "config/environment.rs",
    "config/file.rs",
    "programs/homes.rs",
    "removal/mod.rs",
    "script/descendants.rs",
    "script/keeper.rs",
    "script/launcher.rs",
    "script/portable.rs",
    "script/runner.rs",
    "script/runs/supervised.rs",
    "script/sandbox/limits.rs",
    "script/supervisor.rs",
    "script/workspace.rs",
    "source/disk/mod.rs",
    "source/git/place.rs",
    "source/git/program.rs",
    "transport/client.rs",
];
/// Lines of code, tests not counted, that one file may have.
const MAX_LINES: usize = 420;

pub(crate) fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every Rust file below a folder: its path from there, and its text.
pub(crate) fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy().replace('\\', "/");
                found.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no sources in {}", folder.display());
    found
}

/// The file's own code, without its tests.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text)
}

/// The rooms a text names: `crate::room`, `crate::{room, other::x}`.
fn named_rooms(text: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = text.get(at + "crate::".len()..).unwrap();
        match rest.strip_prefix('{') {
            None => rooms.push(word(rest)),
            Some(group) => {
                let mut depth = 0;
                let mut start = true;
                for (at, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => start = true,
                        _ if start && c.is_alphabetic() => {
                            rooms.push(word(group.get(at..).unwrap()));
                            start = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    rooms
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Looks that go the wrong way: `file: room`.
fn trespasses(files: &[(String, String)], rooms: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (file, text) in files {
        let own = file.split(['/', '.']).next().unwrap();
        let Some(place) = rooms.iter().position(|room| *room == own) else { continue };
        for named in named_rooms(code(text)) {
            let allowed =
                rooms.iter().position(|room| *room == named).is_none_or(|other| other <= place);
            let beside = (own, named.as_str()) == ("resolve", "route");
            if !allowed || beside {
                found.push(format!("{file}: {named}"));
            }
        }
        // From a room's own `mod.rs`, `super` is the whole house.
        if file.ends_with("/mod.rs")
            && file.matches('/').count() == 1
            && code(text).contains("super::")
        {
            found.push(format!("{file}: super"));
        }
    }
    found
}

#[test]
fn rooms_look_only_one_way() {
    assert_eq!(trespasses(&sources(&crates().join("skills-mcp/src")), ROOMS), Vec::<String>::new());
    assert_eq!(trespasses(&sources(&crates().join("core/src")), CORE_ROOMS), Vec::<String>::new());
}

#[test]
fn a_trespass_is_noticed() {
    let planted = |text: &str| vec![("config/x.rs".to_owned(), text.to_owned())];
    assert_eq!(trespasses(&planted("use crate::surface::Tool;"), ROOMS), ["config/x.rs: surface"]);
    assert_eq!(
        trespasses(&planted("use crate::{clock, store::{Store, Cause}, cli};"), ROOMS),
        ["config/x.rs: store", "config/x.rs: cli"]
    );
    assert_eq!(
        trespasses(&planted("fn f() { crate::transport::serve() }"), ROOMS),
        ["config/x.rs: transport"]
    );
    assert_eq!(
        trespasses(&[("resolve/x.rs".to_owned(), "use crate::route::Hit;".to_owned())], CORE_ROOMS),
        ["resolve/x.rs: route"]
    );
}

#[test]
fn every_room_is_in_the_order_and_the_order_names_only_rooms() {
    for (folder, rooms) in [("skills-mcp/src", ROOMS), ("core/src", CORE_ROOMS)] {
        let lib = fs::read_to_string(crates().join(folder).join("lib.rs")).unwrap();
        let mut declared: Vec<&str> = lib
            .lines()
            .filter_map(|line| {
                line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?.strip_suffix(';')
            })
            .collect();
        let mut known = rooms.to_vec();
        declared.sort_unstable();
        known.sort_unstable();
        assert_eq!(declared, known, "{folder}");
    }
}

#[test]
fn the_core_depends_on_nothing_of_the_world() {
    let manifest = fs::read_to_string(crates().join("core/Cargo.toml")).unwrap();
    let section = manifest.split("[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let names: Vec<String> = section
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.split(['.', ' ', '=']).next().unwrap().to_owned())
        .collect();
    assert_eq!(names, CORE_DEPENDENCIES);
    for (file, text) in sources(&crates().join("core/src")) {
        for worldly in [
            "std::fs",
            "std::env",
            "std::net",
            "std::process",
            "std::thread",
            "std::time",
            "tokio",
            "serde",
        ] {
            assert!(!code(&text).contains(worldly), "core/{file} names {worldly}");
        }
    }
}

#[test]
fn only_the_transport_names_the_protocols_library() {
    for (file, text) in sources(&crates().join("skills-mcp/src")) {
        assert!(file.starts_with("transport/") || !text.contains("rmcp"), "{file} names rmcp");
    }
}

#[test]
fn keys_are_held_by_the_files_that_should() {
    let key = "clippy::disallowed_methods";
    let holders: Vec<String> = sources(&crates().join("skills-mcp/src"))
        .into_iter()
        .filter(|(_, text)| text.contains(key))
        .map(|(file, _)| file)
        .collect();
    assert_eq!(holders, KEY_HOLDERS);
    assert!(
        sources(&crates().join("core/src")).iter().all(|(_, text)| !text.contains(key)),
        "the core holds no key"
    );
}

#[test]
fn every_file_says_what_it_is_for_and_is_short_enough_to_read() {
    for part in [
        "core/src",
        "skills-mcp/src",
        "testkit/src",
        "core/tests",
        "skills-mcp/tests",
        "core/benches",
        "skills-mcp/benches",
    ] {
        for (file, text) in sources(&crates().join(part)) {
            assert!(text.starts_with("//! "), "{part}/{file} does not open with //!");
            let name = Path::new(&file).file_stem().unwrap().to_string_lossy().into_owned();
            assert!(
                !["util", "utils", "helpers", "common", "misc", "manager", "types"]
                    .contains(&name.as_str()),
                "{part}/{file}"
            );
            if part.ends_with("src") {
                let lines = code(&text).lines().count();
                assert!(lines <= MAX_LINES, "{part}/{file} has {lines} lines");
            }
        }
    }
}

#[test]
fn every_test_file_is_part_of_its_runner() {
    for runner in ["core/tests/it", "skills-mcp/tests/it", "skills-mcp/tests/outside"] {
        let folder = crates().join(runner);
        for (file, _) in sources(&folder).into_iter().filter(|(file, _)| file != "main.rs") {
            let path = file.strip_suffix("/mod.rs").or(file.strip_suffix(".rs")).unwrap();
            let (list, name) = match path.rsplit_once('/') {
                Some((above, name)) => (format!("{above}/mod.rs"), name),
                None => ("main.rs".to_owned(), path),
            };
            let list = fs::read_to_string(folder.join(list)).unwrap();
            assert!(list.contains(&format!("mod {name};")), "{runner}/{file} is in no module list");
        }
    }
}
