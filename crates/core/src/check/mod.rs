//! Lints: what is wrong with skills that are served all the same. Catalog and texts in, findings out.
//!
//! [`skill`] looks at one skill with its text and its files, [`skills`] compares all skills with each other. A server never
//! calls either; `skills-mcp check` does. One file for each group of lints. Not here: findings of reading and building,
//! which `document` and `catalog` make; how severe a finding counts in a repository; reading files; printing.

mod descriptions;
mod fields;
mod files;
mod keywords;
mod links;
mod scripts;
mod secrets;
mod size;

use crate::{
    catalog::{Catalog, Skill, SkillId, SkillKind},
    diagnostic::{Finding, Position},
    document::{Dialect, SkillText, front_matter},
    relpath::RelPath,
    yaml::YamlNode,
};

/// What the lints compare with.
#[derive(Debug, Clone)]
pub struct CheckLimits {
    /// Extensions of the scripts that the server runs, such as `.sh`.
    pub runnable: Vec<String>,
    /// Estimated tokens that a composed text may have.
    pub max_tokens: usize,
    /// A skill must match this share of its keywords.
    pub min_score: f64,
    /// How many characters of a description each client takes.
    pub description_chars: Vec<DescriptionLimit>,
}

/// How many characters of a skill's description one client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescriptionLimit {
    /// The client, or the format.
    pub client: &'static str,
    /// The number of characters.
    pub chars: usize,
    /// Whether a longer description is cut; else the skill is refused.
    pub cuts: bool,
}

/// A text file beside a skill.
#[derive(Debug)]
pub struct TextFile {
    /// Below the skill's resource folder.
    pub path: RelPath,
    /// What it says.
    pub text: String,
}

/// One skill with everything that its lints look at.
#[derive(Debug)]
pub struct CheckedSkill<'a> {
    /// The catalog it is of.
    pub catalog: &'a Catalog,
    /// The skill.
    pub skill: &'a Skill,
    /// Its text.
    pub text: &'a SkillText,
    /// The text files of its resource folder, those that could be read.
    pub files: &'a [TextFile],
    /// Its scripts that are links or behind one.
    pub linked_scripts: &'a [RelPath],
    /// The name of the source's folder on disk: what a bundle at the top of its source should be called.
    pub source_folder: Option<&'a str>,
}

/// What the lints of one skill found.
#[derive(Debug)]
pub struct SkillLints {
    /// Findings, each with its file below the source's root.
    pub findings: Vec<(RelPath, Finding)>,
    /// Where its fields are, for [`skills`].
    pub places: FieldPlaces,
}

/// Where a skill's fields are in its file.
#[derive(Debug, Clone, Copy, Default)]
pub struct FieldPlaces {
    /// The value of `description`.
    pub description: Position,
    /// The value of `keywords`.
    pub keywords: Position,
}

impl CheckedSkill<'_> {
    fn dialect(&self) -> Dialect {
        match self.skill.kind {
            SkillKind::Tree => Dialect::Tree,
            SkillKind::Bundle => Dialect::Bundle,
        }
    }
}

/// The lints of one skill.
pub fn skill(checked: &CheckedSkill<'_>, limits: &CheckLimits) -> SkillLints {
    let empty = || YamlNode {
        value: crate::yaml::YamlValue::Mapping(Vec::new()),
        at: Position::default(),
        tagged: false,
    };
    let front = front_matter(checked.text.whole(), checked.dialect()).unwrap_or_else(empty);
    let at = |key: &str| front.get(key).map(|node| node.at).unwrap_or_default();
    let places = FieldPlaces { description: at("description"), keywords: at("keywords") };
    let mut found = Vec::new();
    fields::lint(checked, &front, &mut found);
    keywords::lint(checked.skill, places.keywords, &mut found);
    descriptions::vague(checked.skill, places.description, &mut found);
    descriptions::length(checked.skill, places.description, limits, &mut found);
    scripts::lint(checked, limits, &mut found);
    size::lint(checked, limits, &mut found);
    links::lint(checked, &mut found);
    files::lint(checked, &mut found);
    let own = |finding| (checked.skill.file.clone(), finding);
    let mut findings: Vec<(RelPath, Finding)> = found.into_iter().map(own).collect();
    findings.extend(secrets::lint(checked));
    SkillLints { findings, places }
}

/// The lints of all skills together. `is_asked` says of which skills findings are wanted.
pub fn skills(
    catalog: &Catalog,
    places: impl Fn(SkillId) -> FieldPlaces,
    is_asked: impl Fn(&Skill) -> bool,
    limits: &CheckLimits,
) -> Vec<(SkillId, Finding)> {
    let mut found = keywords::never_decide(catalog, &places, &is_asked, limits);
    found.extend(descriptions::confusable(catalog, &places, &is_asked));
    found
}

/// At most three of these in backticks, and how many more there are.
fn listed<T: AsRef<str>>(names: &[T]) -> String {
    const MAX_LISTED_NAMES: usize = 3;
    let shown: Vec<String> =
        names.iter().take(MAX_LISTED_NAMES).map(|name| format!("`{}`", name.as_ref())).collect();
    match names.len().saturating_sub(MAX_LISTED_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
