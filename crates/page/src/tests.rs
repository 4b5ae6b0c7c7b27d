//! Templates name no way around the escaping, and need nothing but the stylesheet.

use std::{fs, path::Path};

/// Every template of the workspace: those here, and those of the statistics, which extend the same frame.
fn templates() -> Vec<(String, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for folder in ["page/templates", "usage/templates", "usage/templates/parts"] {
        for entry in fs::read_dir(crates.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "html") {
                found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(found.len() > 20, "{}", found.len());
    found
}

#[test]
fn templates_escape_everything_but_rendered_markdown() {
    for (file, text) in templates() {
        for way in [
            "safe",
            "|escape",
            "| escape",
            "|e ",
            "Safe",
            "<script",
            "style=",
            "javascript:",
            "<iframe",
            "<img",
            "onclick",
        ] {
            assert!(!text.contains(way), "{file} has {way}");
        }
        let unescaped = text.matches(".html()").count();
        let expected = usize::from(file.ends_with("browsed_skill.html"));
        assert_eq!(unescaped, expected, "{file}");
    }
}
