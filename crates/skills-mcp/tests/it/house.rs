//! The structure of the sources: modules use only modules above them, the core does no I/O, restricted calls are made by listed
//! files only, type names are unique, and constants say what they limit.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The modules of the binary, in the order data flows; each may use only modules before it.
const MODULES: &[&str] = &[
    "clock",
    "paths",
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
/// The modules of the core, likewise. `route` and `resolve` do not use each other.
const CORE_MODULES: &[&str] = &[
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
/// The only files that may make the calls of `disallowed-methods` in `clippy.toml`.
const FILES_WITH_EXCEPTIONS: &[&str] = &[
    "analytics/archive/lines/door.rs",
    "analytics/archive/sqlite/write.rs",
    "analytics/journal/disk.rs",
    "analytics/sender/kill_points.rs",
    "cli/collect.rs",
    "cli/dashboard.rs",
    "cli/example.rs",
    "cli/lock_file.rs",
    "cli/memory.rs",
    "clock.rs",
    "config/environment.rs",
    "config/file.rs",
    "paths.rs",
    "programs/homes.rs",
    "removal/mod.rs",
    "script/keeper.rs",
    "script/launcher.rs",
    "script/portable.rs",
    "script/runner.rs",
    "script/runs/supervised.rs",
    "script/sandbox/limits.rs",
    "script/supervisor.rs",
    "script/workspace.rs",
    "source/disk/portable.rs",
    "source/git/program.rs",
    "source/git/storage.rs",
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

/// The modules a text names: `crate::module`, `crate::{module, other::x}`.
fn named_modules(text: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = text.get(at + "crate::".len()..).unwrap();
        match rest.strip_prefix('{') {
            None => modules.push(word(rest)),
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
                            modules.push(word(group.get(at..).unwrap()));
                            start = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    modules
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Uses of a module further down: `file: module`.
fn wrong_uses(files: &[(String, String)], modules: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (file, text) in files {
        let own = file.split(['/', '.']).next().unwrap();
        let Some(place) = modules.iter().position(|module| *module == own) else { continue };
        for named in named_modules(code(text)) {
            let allowed = modules
                .iter()
                .position(|module| *module == named)
                .is_none_or(|other| other <= place);
            let beside = (own, named.as_str()) == ("resolve", "route");
            if !allowed || beside {
                found.push(format!("{file}: {named}"));
            }
        }
        // In a top-level `mod.rs`, `super` is the whole crate.
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
fn modules_use_only_modules_above_them() {
    assert_eq!(
        wrong_uses(&sources(&crates().join("skills-mcp/src")), MODULES),
        Vec::<String>::new()
    );
    assert_eq!(
        wrong_uses(&sources(&crates().join("core/src")), CORE_MODULES),
        Vec::<String>::new()
    );
}

#[test]
fn a_wrong_use_is_noticed() {
    let planted = |text: &str| vec![("config/x.rs".to_owned(), text.to_owned())];
    assert_eq!(
        wrong_uses(&planted("use crate::surface::Tool;"), MODULES),
        ["config/x.rs: surface"]
    );
    assert_eq!(
        wrong_uses(&planted("use crate::{clock, store::{Store, Cause}, cli};"), MODULES),
        ["config/x.rs: store", "config/x.rs: cli"]
    );
    assert_eq!(
        wrong_uses(&planted("fn f() { crate::transport::serve() }"), MODULES),
        ["config/x.rs: transport"]
    );
    assert_eq!(
        wrong_uses(
            &[("resolve/x.rs".to_owned(), "use crate::route::Hit;".to_owned())],
            CORE_MODULES
        ),
        ["resolve/x.rs: route"]
    );
}

#[test]
fn every_module_is_in_the_order_and_the_order_names_only_modules() {
    for (folder, modules) in [("skills-mcp/src", MODULES), ("core/src", CORE_MODULES)] {
        let lib = fs::read_to_string(crates().join(folder).join("lib.rs")).unwrap();
        let mut declared: Vec<&str> = lib
            .lines()
            .filter_map(|line| line.strip_prefix("pub")?.split_once("mod ")?.1.strip_suffix(';'))
            .collect();
        let mut known = modules.to_vec();
        declared.sort_unstable();
        known.sort_unstable();
        assert_eq!(declared, known, "{folder}");
    }
}

#[test]
fn the_core_does_no_io() {
    let manifest = fs::read_to_string(crates().join("core/Cargo.toml")).unwrap();
    let section = manifest.split("[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let names: Vec<String> = section
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.split(['.', ' ', '=']).next().unwrap().to_owned())
        .collect();
    assert_eq!(names, CORE_DEPENDENCIES);
    for (file, text) in sources(&crates().join("core/src")) {
        for forbidden in [
            "std::fs",
            "std::env",
            "std::net",
            "std::process",
            "std::thread",
            "std::time",
            "tokio",
            "serde",
        ] {
            assert!(!code(&text).contains(forbidden), "core/{file} names {forbidden}");
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
fn restricted_calls_are_made_by_listed_files_only() {
    let lint = "clippy::disallowed_methods";
    let files: Vec<String> = sources(&crates().join("skills-mcp/src"))
        .into_iter()
        .filter(|(file, text)| file != "lib.rs" && text.contains(lint))
        .map(|(file, _)| file)
        .collect();
    assert_eq!(files, FILES_WITH_EXCEPTIONS);
    assert!(
        sources(&crates().join("core/src")).iter().all(|(_, text)| !text.contains(lint)),
        "the core has no exceptions"
    );
}

/// The sources of every product crate: all but the test kit.
fn product_sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(crates()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != "testkit" {
            let files = sources(&crates().join(&name).join("src"));
            found
                .extend(files.into_iter().map(|(file, text)| (format!("{name}/src/{file}"), text)));
        }
    }
    found
}

/// Files of which each platform or feature compiles one: both define the same names.
const TWIN_FILES: &[(&str, &str)] = &[
    ("source/disk/linux.rs", "source/disk/portable.rs"),
    ("source/watch/linux.rs", "source/watch/none.rs"),
    ("telemetry/on.rs", "telemetry/off.rs"),
];

/// The name of the type that a line defines. Associated types do not count: they are indented.
fn defined_type(line: &str) -> Option<String> {
    let item = without_visibility(line.trim_start());
    let (keyword, rest) = item.split_once(' ')?;
    let is_nested = line.starts_with(' ');
    let defines =
        matches!(keyword, "struct" | "enum" | "trait" | "union") || keyword == "type" && !is_nested;
    defines.then(|| word(rest)).filter(|name| !name.is_empty())
}

/// `pub(crate) const X` → `const X`.
fn without_visibility(item: &str) -> &str {
    let Some(rest) = item.strip_prefix("pub") else { return item };
    match rest.strip_prefix('(') {
        Some(rest) => rest.split_once(") ").map_or(item, |(_, rest)| rest),
        None => rest.trim_start(),
    }
}

/// Types that several files define, or one file twice: `Name: file, file`.
fn repeated_types(files: &[(String, String)]) -> Vec<String> {
    let mut definitions: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (file, text) in files {
        for name in code(text).lines().filter_map(defined_type) {
            definitions.entry(name).or_default().push(file);
        }
    }
    for files in definitions.values_mut() {
        for (one, other) in TWIN_FILES {
            if files.iter().any(|file| file.ends_with(one)) {
                files.retain(|file| !file.ends_with(other));
            }
        }
    }
    definitions.retain(|_, files| files.len() > 1);
    definitions.iter().map(|(name, files)| format!("{name}: {}", files.join(", "))).collect()
}

/// Names that are still repeated. Add none; remove those that are fixed.
const REPEATED_TYPES: &[&str] = &[
    "Answer",
    "Asked",
    "Batch",
    "Call",
    "Candidate",
    "Changes",
    "Client",
    "Content",
    "Counts",
    "Digest",
    "Door",
    "Draft",
    "Entry",
    "File",
    "Folder",
    "Form",
    "Found",
    "Hit",
    "Inner",
    "Input",
    "Key",
    "Kind",
    "Known",
    "Line",
    "Lines",
    "List",
    "Listed",
    "Look",
    "Looked",
    "Mark",
    "Member",
    "Named",
    "Names",
    "Node",
    "Occurrences",
    "Open",
    "Options",
    "Origin",
    "Outcome",
    "Output",
    "Part",
    "Place",
    "Recorded",
    "Refresh",
    "Request",
    "Row",
    "Said",
    "Scale",
    "Script",
    "Seen",
    "Shared",
    "Source",
    "Spelling",
    "State",
    "Sum",
    "Table",
    "Term",
    "Text",
    "Told",
    "Unread",
    "Value",
    "Verdict",
    "Waiting",
    "Watch",
    "Words",
    "Writer",
    "Written",
];

#[test]
fn a_types_name_is_unique() {
    let mut repeated = repeated_types(&product_sources());
    repeated.retain(|line| !REPEATED_TYPES.contains(&word(line).as_str()));
    assert_eq!(repeated, Vec::<String>::new());
}

#[test]
fn a_repeated_type_is_noticed() {
    let files = |texts: &[(&str, &str)]| -> Vec<(String, String)> {
        texts.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect()
    };
    let planted = files(&[
        ("core/src/a.rs", "pub struct Door(u8);\nimpl X {\n    type Item = u8;\n}\n"),
        ("skills-mcp/src/b.rs", "    pub(super) enum Door {}\nimpl Y {\n    type Item = u8;\n}\n"),
        (
            "skills-mcp/src/c.rs",
            "type Alias = u8;\n#[cfg(test)]\nmod tests {\n    struct Door;\n}\n",
        ),
        ("usage/src/d.rs", "pub(crate) type Alias<'a> = &'a u8;\n"),
    ]);
    assert_eq!(
        repeated_types(&planted),
        ["Alias: skills-mcp/src/c.rs, usage/src/d.rs", "Door: core/src/a.rs, skills-mcp/src/b.rs"]
    );
    let once = files(&[("a/src/x.rs", "struct One;\nstruct One;\n")]);
    assert_eq!(repeated_types(&once), ["One: a/src/x.rs, a/src/x.rs"]);
    let twins = files(&[
        ("a/src/source/disk/linux.rs", "pub struct Root;"),
        ("a/src/source/disk/portable.rs", "pub struct Root;"),
    ]);
    assert_eq!(repeated_types(&twins), Vec::<String>::new());
}

/// Types of numbers and durations, whose constants must say what they limit or count.
const NUMERIC_TYPES: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32",
    "f64", "Duration",
];
/// Words that say nothing by themselves, nor in combination with each other.
const VAGUE_WORDS: &[&str] = &[
    "ENOUGH", "FEW", "LIMIT", "LONG", "LONGEST", "LOOK", "MANY", "MAX", "MAXIMUM", "MIN", "MOMENT",
    "MOST", "MUCH", "PARTS", "PATIENCE", "PILES", "QUIET", "SELDOM", "SHORT", "SHORTEST", "SIZE",
    "SOON", "STALE", "TIME", "TIMEOUT",
];
/// Units are known by one word.
const UNITS: &[&str] = &["KIB", "MIB", "GIB"];

/// Numeric constants whose name does not say what they limit: `file: NAME`.
fn vague_constants(files: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (file, text) in files {
        for line in code(text).lines() {
            let item = without_visibility(line.trim_start());
            let Some((name, rest)) = item.strip_prefix("const ").and_then(|x| x.split_once(": "))
            else {
                continue;
            };
            // Not a `const fn`.
            let is_name = name.chars().all(|c| matches!(c, 'A'..='Z' | '0'..='9' | '_'));
            let is_numeric = is_name && NUMERIC_TYPES.contains(&word(rest).as_str());
            let mut words = name.split('_');
            let is_vague = !name.contains('_') || words.all(|word| VAGUE_WORDS.contains(&word));
            if is_numeric && is_vague && !UNITS.contains(&name) {
                found.push(format!("{file}: {name}"));
            }
        }
    }
    found
}

/// Names that are still vague. Add none; remove those that are fixed.
const VAGUE_CONSTANTS: &[&str] = &[
    "ACCENTED",
    "AMOUNT",
    "APART",
    "BITS",
    "BODY",
    "BRIEF",
    "CANDIDATES",
    "CAPITAL",
    "CHUNK",
    "CLAUSES",
    "CLEAR",
    "CLIENTS",
    "COMMENT",
    "CONTEXT",
    "DATES",
    "DAY",
    "DIGITS",
    "EMOJI",
    "ENOUGH",
    "EVENTS",
    "EXTENSION",
    "FEW",
    "FILLED",
    "FIRST",
    "FLATTENED",
    "FLUSH",
    "FOREIGN",
    "GAP",
    "GLUED",
    "GRACE",
    "GRANT",
    "HANDFUL",
    "HEAD",
    "HEALTH",
    "IDEOGRAPH",
    "JOINED",
    "LATE",
    "LEAVE",
    "LIFE",
    "LIST",
    "LOCK",
    "LOGGED",
    "LONG",
    "LONGEST",
    "LONG_ENOUGH",
    "LOOK",
    "MANY",
    "MOMENT",
    "MOST",
    "MUCH",
    "NAME",
    "NAMED",
    "NARROWEST",
    "NEAR",
    "NUMBER",
    "ONE",
    "PACE",
    "PAGE",
    "PARTS",
    "PATIENCE",
    "PAUSE",
    "PRUNE",
    "QUEUE",
    "QUIET",
    "QUOTED",
    "RECENT",
    "REMEMBERED",
    "REQUESTS",
    "ROWS",
    "RULER",
    "SAID",
    "SATURATION",
    "SELDOM",
    "SEND",
    "SESSION",
    "SESSIONS",
    "SETS",
    "SETTLE",
    "SHARE",
    "SHELVES",
    "SHORT",
    "SHORTEST",
    "SHOWN",
    "SLACK",
    "SOME",
    "SOON",
    "STALE",
    "STEPS",
    "SURE",
    "SYLLABLE",
    "TAIL",
    "TELLING",
    "TOKEN",
    "TOLD",
    "TOP",
    "TRIES",
    "TYPICAL",
    "UNPACKED",
    "VERSION",
    "WAITING",
    "WIDEST",
    "WINDOW",
    "WORD",
    "WORDS",
];

#[test]
fn a_constant_says_what_it_limits() {
    let mut vague = vague_constants(&product_sources());
    vague.retain(|line| !VAGUE_CONSTANTS.iter().any(|name| line.ends_with(&format!(": {name}"))));
    assert_eq!(vague, Vec::<String>::new());
}

#[test]
fn a_vague_constant_is_noticed() {
    let text = "const PATIENCE: Duration = Duration::ZERO;\n    pub(super) const MAX_LIMIT: u64 = 1;\n\
                pub const PAGE: usize = 1;\nconst MIB: u64 = 1;\nconst NAME: &str = \"x\";\n\
                const GIT_LOCK_TIMEOUT: Duration = Duration::ZERO;\n\
                #[cfg(test)]\nmod tests {\n    const FEW: u8 = 1;\n}\n";
    let planted = [("a.rs".to_owned(), text.to_owned())];
    assert_eq!(vague_constants(&planted), ["a.rs: PATIENCE", "a.rs: MAX_LIMIT", "a.rs: PAGE"]);
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
        let main = fs::read_to_string(folder.join("main.rs")).unwrap();
        for (file, _) in sources(&folder).into_iter().filter(|(file, _)| file != "main.rs") {
            let name = file.strip_suffix(".rs").unwrap();
            assert!(main.contains(&format!("mod {name};")), "{runner}/{file} is in no module list");
        }
    }
}
