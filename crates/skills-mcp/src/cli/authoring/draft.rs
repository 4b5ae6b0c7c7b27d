//! A skill that is to be written: its name, where its file may be, and what the file says at first.
//!
//! Not here: questions, and writing the file.

use std::{fmt::Write as _, path::PathBuf};

use serde_json::json;
use skills_core::{
    diagnostic::Severity,
    document::{Dialect, Parsed},
    relpath::RelPath,
};

use super::{
    created::names_in,
    skills_folder::{BUNDLE_FILE, INDEX_FILE},
    templates::{SkillLayout, skill_body},
};
use crate::{
    cli::{Failure, ask::RefusedAnswer, output::safe},
    paths::is_file,
};

/// A name between slashes may be this long, as in the Agent Skills format.
const MAX_SEGMENT_CHARS: usize = 64;
/// A path may have so many names.
const MAX_PATH_SEGMENTS: usize = 8;
/// The last name of a folder's rules, and of the tree's.
const INDEX_NAME: &str = "_index";
pub(super) const ROOT_NAME: &str = "_root";

/// Names in lower case with hyphens, and slashes between them; the last may be that of a folder's rules.
pub(super) fn accepted_name(name: &str) -> Result<String, RefusedAnswer> {
    let name = name.trim().trim_end_matches(".md");
    let segments: Vec<&str> = name.split('/').collect();
    let is_kebab = |segment: &str| {
        let is_word = |word: &str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        };
        segment.len() <= MAX_SEGMENT_CHARS && segment.split('-').all(is_word)
    };
    let last = segments.len() - 1;
    let is_rules = |place: usize, segment: &str| {
        place == last && (segment == INDEX_NAME && last > 0 || segment == ROOT_NAME && last == 0)
    };
    let wrong = segments
        .iter()
        .enumerate()
        .find(|(place, name)| !is_kebab(name) && !is_rules(*place, name));
    if let Some((_, segment)) = wrong {
        let hint = format!(
            "write lower-case letters, digits and single hyphens, at most {MAX_SEGMENT_CHARS} characters, such as commit-messages or ui/react/auth"
        );
        return Err(RefusedAnswer::new(format!("`{}` is no name of a skill", safe(segment)), hint));
    }
    if segments.len() > MAX_PATH_SEGMENTS {
        let hint = format!("write at most {MAX_PATH_SEGMENTS} names");
        return Err(RefusedAnswer::new("the path is too long", hint));
    }
    Ok(name.to_owned())
}

/// A skill that is to be written.
pub(super) struct SkillDraft {
    pub(super) folder: PathBuf,
    pub(super) name: String,
    pub(super) layout: SkillLayout,
}

impl SkillDraft {
    fn last_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    /// Its file, below the folder of skills.
    pub(super) fn file(&self) -> Result<RelPath, Failure> {
        let file = match self.layout {
            SkillLayout::Tree => format!("{}.md", self.name),
            SkillLayout::Bundles => format!("{}/{BUNDLE_FILE}", self.name),
        };
        RelPath::parse(&file).map_err(|error| Failure::bug(error.to_string()))
    }

    pub(super) fn exists(&self, shown: &str) -> Failure {
        Failure::usage(
            format!("there is a skill `{}` already: {shown}, which is unchanged", self.name),
            "choose another name, or edit that file",
        )
    }

    /// Refuses a place where the new file would not be served, or would hide what is there.
    pub(super) fn check_place(&self) -> Result<(), Failure> {
        let refused = |why: String, hint: String| Err(Failure::usage(why, hint));
        let name = &self.name;
        let at = self.folder.join(name);
        let is_rules = matches!(self.last_name(), INDEX_NAME | ROOT_NAME);
        let page = self.folder.join(format!("{name}.md"));
        if self.layout == SkillLayout::Bundles && is_rules {
            return refused(
                format!("`{name}` is the name of a tree's rules, and no bundle's"),
                "choose another name, or leave out --bundle".to_owned(),
            );
        }
        if self.layout == SkillLayout::Tree && self.last_name() == "skill" {
            return refused(
                "`skill.md` is the file of a bundle".to_owned(),
                "choose another name".to_owned(),
            );
        }
        for (end, _) in name.match_indices('/') {
            self.check_above(name.get(..end).unwrap_or_default(), is_rules)?;
        }
        if is_file(&at.join(BUNDLE_FILE)) {
            return Err(self.exists(&format!("{name}/{BUNDLE_FILE}")));
        }
        if is_file(&page) {
            return Err(self.exists(&format!("{name}.md")));
        }
        let is_resource = |entry: &String| matches!(&**entry, "assets" | "scripts");
        let holds_more = match self.layout {
            SkillLayout::Tree => names_in(&at).iter().any(|entry| !is_resource(entry)),
            SkillLayout::Bundles => !names_in(&at).is_empty(),
        };
        if holds_more && !is_rules {
            return match self.layout {
                SkillLayout::Tree => refused(
                    format!("`{name}/` is a folder of skills, which a skill `{name}` would hide"),
                    format!(
                        "choose another name; `skills-mcp new {name}/_index` writes rules for the folder"
                    ),
                ),
                SkillLayout::Bundles => refused(
                    format!("`{name}/` has files already, which would become a part of the bundle"),
                    "choose another name, or move these files first".to_owned(),
                ),
            };
        }
        Ok(())
    }

    /// Checks a folder that the new skill would be in.
    fn check_above(&self, above: &str, is_rules: bool) -> Result<(), Failure> {
        let folder = self.folder.join(above);
        if is_file(&folder.join(BUNDLE_FILE)) {
            return Err(Failure::usage(
                format!("`{above}/` is a bundle, and every file in it belongs to that bundle"),
                "choose another folder",
            ));
        }
        let is_category = is_file(&folder.join(INDEX_FILE)) && !is_rules;
        if is_file(&self.folder.join(format!("{above}.md"))) && !is_category {
            return Err(Failure::usage(
                format!(
                    "`{above}` is a skill, and `{above}/` holds its files: a skill in it would not be served"
                ),
                "choose another folder",
            ));
        }
        Ok(())
    }

    /// What the file says.
    pub(super) fn text(&self, description: &str, keywords: &[String]) -> String {
        let mut front = String::from("---\n");
        if self.layout == SkillLayout::Bundles {
            let _ = writeln!(front, "name: {}", self.last_name());
        }
        if !keywords.is_empty() {
            let words: Vec<String> = keywords.iter().map(|word| yaml_word(word)).collect();
            let _ = writeln!(front, "keywords: [{}]", words.join(", "));
        }
        let _ = writeln!(front, "description: {}\n---\n", json!(description));
        front + &skill_body(&self.title())
    }

    /// `ui/react-native` → `React native`; a folder's rules have the folder's title.
    fn title(&self) -> String {
        let name = self.name.strip_suffix("/_index").unwrap_or(&self.name);
        if name == ROOT_NAME {
            return "House rules".to_owned();
        }
        let words = name.rsplit('/').next().unwrap_or_default().replace('-', " ");
        let mut letters = words.chars();
        letters
            .next()
            .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    }
}

/// A word as YAML has it: plain where that is safe. A JSON string is a string of YAML too.
fn yaml_word(word: &str) -> String {
    let is_plain = word.chars().all(|c| c.is_alphanumeric() || c == '-')
        && word.starts_with(char::is_alphabetic)
        && !matches!(
            &*word.to_lowercase(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if is_plain { word.to_owned() } else { json!(word).to_string() }
}

/// Refuses a text that the server would warn of.
pub(super) fn refuse_findings(text: String, layout: SkillLayout) -> Result<(), RefusedAnswer> {
    let dialect = match layout {
        SkillLayout::Tree => Dialect::Tree,
        SkillLayout::Bundles => Dialect::Bundle,
    };
    let findings = Parsed::read(text.into_bytes(), dialect).findings;
    let found = findings.into_iter().find(|finding| finding.code.severity() != Severity::Info);
    found.map_or(Ok(()), |finding| {
        let hint = finding.hint.unwrap_or_else(|| finding.code.meaning().to_owned());
        Err(RefusedAnswer::new(finding.message, hint))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_case_and_stay_inside() {
        for name in ["auth", "ui/react/auth", "a1-b2", "ui/_index", "_root", "pdf.md"] {
            assert!(accepted_name(name).is_ok(), "{name}");
        }
        let long = "a".repeat(65);
        for name in [
            "",
            "/",
            "..",
            "../x",
            "a/../b",
            "/etc/passwd",
            "a//b",
            "a/",
            "~",
            "A",
            "é",
            "a_b",
            "-a",
            "a-",
            "a--b",
            "a b",
            "a\\b",
            "C:x",
            "_index",
            "ui/_root",
            "_index/a",
            "a\u{0}",
            "con:x",
            ".",
            ".hidden",
            &long,
            "a/b/c/d/e/f/g/h/i",
        ] {
            assert!(accepted_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn front_matter_says_what_was_given_whatever_that_is() {
        let skill =
            |layout| SkillDraft { folder: PathBuf::new(), name: "ui/sign-in".to_owned(), layout };
        let keywords = ["on", "c#", "1.10", "l'été", "a: b", "größe"].map(str::to_owned);
        let description = "Says \"no\": 'yes' # and {more}. Use when \\ is new";
        for (layout, dialect) in
            [(SkillLayout::Tree, Dialect::Tree), (SkillLayout::Bundles, Dialect::Bundle)]
        {
            let text = skill(layout).text(description, &keywords);
            let read = Parsed::read(text.clone().into_bytes(), dialect).skill.unwrap();
            assert_eq!(read.fields.description, description, "{text}");
            assert_eq!(read.fields.keywords, keywords, "{text}");
            assert!(text.contains("\n# Sign in\n"), "{text}");
            if layout == SkillLayout::Bundles {
                assert_eq!(read.fields.name.as_deref(), Some("sign-in"));
            }
        }
    }
}
