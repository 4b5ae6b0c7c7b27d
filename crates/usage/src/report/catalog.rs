//! [`CatalogSummary`]: what a report needs of the catalog, and what of it was never used.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use skills_core::{
    catalog::{Catalog, Skill, SkillKind},
    diagnostic::{Diagnostic, Severity},
};

use super::Unused;
use crate::tally::{Metric, Tally};

/// So many findings are named one by one.
const MAX_FINDINGS: usize = 100;

/// The skills that could have been served, and what is wrong with others.
#[derive(Debug, Clone, Default)]
pub struct CatalogSummary {
    /// In the catalog's order.
    pub skills: Vec<CatalogSkill>,
    /// What is wrong.
    pub health: Health,
    places: HashMap<String, usize>,
}

/// One skill on the shelf.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogSkill {
    /// What events call it: its identity.
    pub name: String,
    /// What it says of itself.
    pub description: String,
    /// Its keywords.
    pub keywords: Vec<String>,
    /// The files it declares, scripts among them.
    pub files: Vec<String>,
    /// Whether it is there for others to inherit from, and not to be served by itself.
    pub inherited: bool,
}

/// The catalog's state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Skills served.
    pub skills: u64,
    /// Files that cost a skill.
    pub errors: u64,
    /// What should be fixed.
    pub warnings: u64,
    /// The worst, errors first.
    pub findings: Vec<HealthFinding>,
}

/// One finding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthFinding {
    /// `error` or `warning`.
    pub severity: String,
    /// Its code.
    pub code: String,
    /// The file, with its line where it has one.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// The skill whose file it is, if it is one's.
    #[serde(default)]
    pub skill: Option<String>,
}

impl CatalogSummary {
    /// A shelf with these skills.
    pub fn new(skills: Vec<CatalogSkill>, health: Health) -> Self {
        let places = skills.iter().enumerate().map(|(at, skill)| (skill.name.clone(), at));
        Self { places: places.collect(), skills, health }
    }

    /// The skills of this catalog.
    pub fn of(catalog: &Catalog) -> Self {
        let skills = catalog.skills().map(shelved).collect();
        Self::new(skills, health(catalog))
    }

    /// The skill that events call this.
    pub fn get(&self, name: &str) -> Option<&CatalogSkill> {
        self.skills.get(*self.places.get(name)?)
    }

    /// Skills that were not served once, those apart that are there to be inherited from.
    pub(super) fn never_served(&self, tally: &Tally) -> Vec<Unused> {
        let served: HashSet<&str> = tally
            .keys()
            .filter(|key| key.metric == Metric::Served)
            .map(|key| key.subject.as_str())
            .collect();
        let never = self
            .skills
            .iter()
            .filter(|skill| !skill.inherited && !served.contains(skill.name.as_str()));
        never.map(|skill| unused(skill, None)).collect()
    }

    /// Declared files that were neither fetched nor run once; being refused is no use.
    pub(super) fn never_fetched(&self, tally: &Tally) -> Vec<Unused> {
        let of_files = [
            Metric::AssetFetched,
            Metric::ScriptFetched,
            Metric::ScriptSucceeded,
            Metric::ScriptFailed,
        ];
        let used: HashSet<(&str, &str)> = tally
            .keys()
            .filter(|key| of_files.contains(&key.metric))
            .map(|key| (key.subject.as_str(), key.detail.as_str()))
            .collect();
        let mut never = Vec::new();
        for skill in &self.skills {
            let files = skill.files.iter().filter(|file| !used.contains(&(&skill.name, file)));
            never.extend(files.map(|file| unused(skill, Some(file.clone()))));
        }
        never
    }
}

fn unused(skill: &CatalogSkill, file: Option<String>) -> Unused {
    Unused { skill: skill.name.clone(), file, description: skill.description.clone() }
}

fn shelved(skill: &Skill) -> CatalogSkill {
    let fields = skill.fields();
    CatalogSkill {
        name: skill.identity.to_string(),
        description: fields.description.clone(),
        keywords: fields.keywords.iter().chain(&fields.phrases).cloned().collect(),
        files: skill.declared().map(|file| file.as_str().to_owned()).collect(),
        inherited: skill.kind == SkillKind::Tree && (skill.path.is_index() || skill.path.is_root()),
    }
}

fn health(catalog: &Catalog) -> Health {
    let mut diagnostics = catalog.diagnostics();
    diagnostics.retain(|diagnostic| diagnostic.finding.code.severity() != Severity::Info);
    // Stable: by severity, then by file and line as before.
    diagnostics.sort_by_key(|diagnostic| diagnostic.finding.code.severity());
    let count = |severity| {
        let of = |diagnostic: &&Diagnostic| diagnostic.finding.code.severity() == severity;
        diagnostics.iter().filter(of).count() as u64
    };
    let owners = owners(catalog);
    let named = diagnostics.iter().take(MAX_FINDINGS);
    Health {
        skills: catalog.len() as u64,
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        findings: named.map(|diagnostic| finding(diagnostic, &owners)).collect(),
    }
}

/// Whose each file is, by its source's name and its own.
type FileOwners<'a> = HashMap<(&'a str, &'a str), &'a str>;

fn owners(catalog: &Catalog) -> FileOwners<'_> {
    let sources = catalog.sources();
    let owned = catalog.skills().filter_map(|skill| {
        let source = sources.get(skill.source)?;
        Some(((&*source.name, skill.file.as_str()), &*skill.identity))
    });
    owned.collect()
}

fn finding(diagnostic: &Diagnostic, owners: &FileOwners<'_>) -> HealthFinding {
    let finding = &diagnostic.finding;
    let file = if diagnostic.file.is_empty() { &*diagnostic.source } else { &diagnostic.file };
    let place = match finding.at.line {
        0 => file.to_owned(),
        line => format!("{file}:{line}"),
    };
    HealthFinding {
        severity: finding.code.severity().name().to_owned(),
        code: finding.code.name().to_owned(),
        place,
        message: finding.message.clone(),
        hint: finding.hint.clone().unwrap_or_default(),
        skill: owners
            .get(&(&*diagnostic.source, diagnostic.file.as_str()))
            .map(|skill| (*skill).to_owned()),
    }
}
