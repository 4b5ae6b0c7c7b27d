//! The names in the sources: a type's is unique, and a constant's says what it limits.

use std::{collections::BTreeMap, fs};

use crate::house::{code, crates, sources, word};

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
    ("usage/on.rs", "usage/off.rs"),
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

#[test]
fn a_types_name_is_unique() {
    assert_eq!(repeated_types(&product_sources()), Vec::<String>::new());
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

#[test]
fn a_constant_says_what_it_limits() {
    assert_eq!(vague_constants(&product_sources()), Vec::<String>::new());
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
