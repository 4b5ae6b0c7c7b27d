//! The sources check themselves: modules use only those before them, crates only what they may, and the calls that
//! clippy.toml forbids stand in the files that are listed here.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The modules of each crate, in the order data flows; each may use only modules before it.
const MODULES: &[(&str, &[&str])] = &[
    (
        "core",
        // `route` and `resolve` may not use each other.
        &[
            "packed",
            "sorted",
            "relpath",
            "digest",
            "diagnostic",
            "estimate",
            "tokens",
            "yaml",
            "document",
            "catalog",
            "route",
            "resolve",
            "check",
        ],
    ),
    (
        "http",
        &[
            "public",
            "log_limit",
            "client",
            "guard",
            "bearer",
            "signatures",
            "issuer",
            "webhook",
            "connections",
            "rate",
            "slow",
            "shares",
            "answers",
            "serving",
            "bodies",
            "places",
        ],
    ),
    ("memory", &["linux"]),
    ("page", &["shown", "format", "frame", "markdown", "catalog", "search", "skill"]),
    (
        "skills-mcp",
        &[
            "paths",
            "whole_file",
            "clients",
            "config",
            "programs",
            "removal",
            "source",
            "store",
            "script",
            "usage",
            "surface",
            "connect",
            "browse",
            "transport",
            "cli",
        ],
    ),
    (
        "usage",
        &[
            "clock",
            "event",
            "served",
            "settings",
            "tally",
            "journal",
            "sender",
            "recorder",
            "archive",
            "report",
            "learning",
            "outlook",
            "telemetry",
            "web",
        ],
    ),
];
/// Modules that are built for tests only, and belong nowhere in the order.
const TEST_MODULES: &[&str] = &["kill_points", "sample", "tests"];
/// All that the core may depend on.
const CORE_DEPENDENCIES: &[&str] =
    &["libm", "rust-stemmers", "saphyr-parser", "serde", "sha2", "strsim"];
/// The only files with calls that clippy.toml forbids: files, processes, the environment, the clock.
const EXCEPTIONS: &[&str] = &[
    "memory/src/linux.rs",
    "skills-mcp/src/cli/authoring/created.rs",
    "skills-mcp/src/cli/check/rewrite.rs",
    "skills-mcp/src/cli/example.rs",
    "skills-mcp/src/cli/hook/remembered.rs",
    "skills-mcp/src/cli/lock_file.rs",
    "skills-mcp/src/cli/serve_http.rs",
    "skills-mcp/src/cli/usage/browser.rs",
    "skills-mcp/src/cli/usage/collect.rs",
    "skills-mcp/src/cli/usage/dashboard.rs",
    "skills-mcp/src/config/environment.rs",
    "skills-mcp/src/config/file.rs",
    "skills-mcp/src/connect/asked.rs",
    "skills-mcp/src/connect/file.rs",
    "skills-mcp/src/paths.rs",
    "skills-mcp/src/programs/homes.rs",
    "skills-mcp/src/removal/mod.rs",
    "skills-mcp/src/script/keeper.rs",
    "skills-mcp/src/script/launcher.rs",
    "skills-mcp/src/script/portable.rs",
    "skills-mcp/src/script/runner.rs",
    "skills-mcp/src/script/runs/supervised.rs",
    "skills-mcp/src/script/sandbox/limits.rs",
    "skills-mcp/src/script/supervisor.rs",
    "skills-mcp/src/script/workspace.rs",
    "skills-mcp/src/source/disk/portable.rs",
    "skills-mcp/src/source/git/program.rs",
    "skills-mcp/src/source/git/storage.rs",
    "skills-mcp/src/source/own_skills.rs",
    "skills-mcp/src/store/cache/file.rs",
    "skills-mcp/src/transport/client.rs",
    "skills-mcp/src/whole_file.rs",
    "usage/src/archive/lines/file.rs",
    "usage/src/archive/sqlite/write.rs",
    "usage/src/clock.rs",
    "usage/src/journal/disk.rs",
    "usage/src/kill_points.rs",
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
pub(crate) fn code(text: &str) -> &str {
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

pub(crate) fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Uses of a module that comes later: `file: module`.
fn violations(files: &[(String, String)], modules: &[&str]) -> Vec<String> {
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
        // From a module's own `mod.rs`, `super` is the whole crate.
        if file.ends_with("/mod.rs")
            && file.matches('/').count() == 1
            && code(text).contains("super::")
        {
            found.push(format!("{file}: super"));
        }
    }
    found
}

fn modules(of: &str) -> &'static [&'static str] {
    MODULES.iter().find(|(name, _)| *name == of).unwrap().1
}

#[test]
fn a_module_uses_only_those_before_it() {
    for (name, modules) in MODULES {
        let found = violations(&sources(&crates().join(name).join("src")), modules);
        assert_eq!(found, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_violation_is_noticed() {
    let order = modules("skills-mcp");
    let planted = |text: &str| vec![("config/x.rs".to_owned(), text.to_owned())];
    assert_eq!(violations(&planted("use crate::surface::Tool;"), order), ["config/x.rs: surface"]);
    assert_eq!(
        violations(&planted("use crate::{clock, store::{Store, Cause}, cli};"), order),
        ["config/x.rs: store", "config/x.rs: cli"]
    );
    assert_eq!(
        violations(&planted("fn f() { crate::transport::serve() }"), order),
        ["config/x.rs: transport"]
    );
    let planted = [("resolve/x.rs".to_owned(), "use crate::route::Hit;".to_owned())];
    assert_eq!(violations(&planted, modules("core")), ["resolve/x.rs: route"]);
}

#[test]
fn every_module_is_in_the_order_and_the_order_names_only_modules() {
    for (name, modules) in MODULES {
        let lib = fs::read_to_string(crates().join(name).join("src/lib.rs")).unwrap();
        let mut declared: Vec<&str> = lib
            .lines()
            .filter_map(|line| {
                let line =
                    line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
                line.strip_prefix("mod ")?.strip_suffix(';')
            })
            .filter(|module| !TEST_MODULES.contains(module))
            .collect();
        let mut known = modules.to_vec();
        declared.sort_unstable();
        known.sort_unstable();
        assert_eq!(declared, known, "{name}");
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
            "serde_json",
            "postcard",
        ] {
            assert!(!code(&text).contains(worldly), "core/{file} names {worldly}");
        }
    }
}

#[test]
fn only_the_transport_names_the_protocols_library() {
    for (name, _) in MODULES {
        for (file, text) in sources(&crates().join(name).join("src")) {
            let may = *name == "skills-mcp" && file.starts_with("transport/");
            assert!(may || !text.contains("rmcp"), "{name}/{file} names rmcp");
        }
    }
}

#[test]
fn crates_depend_only_on_those_below_them() {
    for (name, others) in [
        ("core", &["skills-http", "skills-page", "skills-usage", "skills-mcp", "rmcp"][..]),
        ("http", &["skills-core", "skills-page", "skills-usage", "skills-mcp", "rmcp"]),
        (
            "memory",
            &["skills-core", "skills-http", "skills-page", "skills-usage", "skills-mcp", "rmcp"],
        ),
        ("page", &["skills-http", "skills-usage", "skills-mcp", "rmcp", "axum", "tokio"]),
        ("usage", &["skills-mcp", "rmcp"]),
    ] {
        let manifest = fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
        for other in others {
            assert!(!manifest.contains(&format!("\n{other}")), "{name} depends on {other}");
        }
    }
}

#[test]
fn unsafe_code_is_in_one_file() {
    for (name, _) in MODULES {
        let manifest = fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
        let forbids = manifest.contains("[lints]\nworkspace = true");
        assert_eq!(forbids, *name != "memory", "{name}/Cargo.toml");
        for (file, text) in sources(&crates().join(name).join("src")) {
            let allows = text.contains("expect(unsafe_code");
            assert_eq!(allows, (*name, &*file) == ("memory", "linux.rs"), "{name}/{file}");
        }
    }
}

#[test]
fn exceptions_from_clippys_list_are_where_they_should_be() {
    let mut found: Vec<String> = Vec::new();
    for (name, _) in MODULES {
        let files = sources(&crates().join(name).join("src")).into_iter();
        let excepted = files
            .filter(|(file, text)| file != "lib.rs" && text.contains("clippy::disallowed_methods"));
        found.extend(excepted.map(|(file, _)| format!("{name}/src/{file}")));
    }
    assert_eq!(found, EXCEPTIONS);
}

#[test]
fn every_file_says_what_it_is_for_and_is_short_enough_to_read() {
    for part in [
        "core/src",
        "http/src",
        "memory/src",
        "page/src",
        "skills-mcp/src",
        "testkit/src",
        "usage/src",
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
