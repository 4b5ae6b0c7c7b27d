//! [`Examination`]: all findings about what is checked, at the levels that the repository gives them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use skills_core::{
    catalog::{Folder, Skill, SkillId},
    check::{self, CheckLimits, CheckedSkill, DescriptionLimit, FieldPlaces, SkillLints, TextFile},
    diagnostic::{Code, Diagnostic, Severity, escaped},
    relpath::RelPath,
};

use super::{
    super::report::{Annotation, level_name},
    explain,
    target::CheckTarget,
};
use crate::{
    clients::{CLIENTS, OwnListing},
    config::Settings,
    script::is_behind_link,
    source::map,
    store::Snapshot,
};

/// So many files beside a skill are read.
const MAX_READ_FILES: usize = 200;
/// A larger file beside a skill is not read.
const MAX_READ_BYTES: usize = 256 * 1024;
/// What the Agent Skills format allows of a description.
const FORMAT_DESCRIPTION: DescriptionLimit =
    DescriptionLimit { client: "the Agent Skills format", chars: 1_024, cuts: false };

/// What a check found.
#[derive(Debug)]
pub(super) struct Examination {
    pub(super) snapshot: Arc<Snapshot>,
    /// The worst first, then by file and place.
    pub(super) findings: Vec<CheckedFinding>,
    /// How many skills were checked.
    pub(super) skills: usize,
    /// The files with a skill or a finding.
    pub(super) files: BTreeSet<String>,
}

/// A finding with its level in this repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CheckedFinding {
    pub(super) level: Severity,
    pub(super) diagnostic: Diagnostic,
    /// Its file, from the working directory where it is below it.
    pub(super) path: String,
}

impl Examination {
    /// Checks what is aimed at.
    pub(super) fn of(snapshot: &Arc<Snapshot>, target: &CheckTarget) -> Self {
        let catalog = &snapshot.catalog;
        let skills: Vec<&Skill> =
            catalog.skills().filter(|skill| target.has(skill.file.as_str())).collect();
        let mut diagnostics = snapshot.diagnostics();
        diagnostics.retain(|found| target.has(&found.file));
        let lints = lints(snapshot, &skills, target);
        diagnostics.retain(|found| !is_said_by(&lints, found));
        diagnostics.extend(lints);
        let rules = &snapshot.settings().check.rules;
        let directory = &target.context.environment.directory;
        let mut findings: Vec<CheckedFinding> = diagnostics
            .into_iter()
            .filter_map(|diagnostic| {
                let code = diagnostic.finding.code;
                let level = rules.get(&code).copied().unwrap_or_else(|| Some(code.severity()))?;
                let path = shown_path(Path::new(&snapshot.file_of(&diagnostic)), directory);
                Some(CheckedFinding { level, diagnostic, path })
            })
            .collect();
        findings.sort_by(|a, b| {
            (a.level, &a.path, a.diagnostic.order()).cmp(&(b.level, &b.path, b.diagnostic.order()))
        });
        let path_of = |skill: &&Skill| {
            let file = snapshot.source_path(skill.source).join(skill.file.as_str());
            shown_path(&file, directory)
        };
        let files = skills.iter().map(path_of);
        let files = files.chain(findings.iter().map(|found| found.path.clone())).collect();
        Self { snapshot: Arc::clone(snapshot), findings, skills: skills.len(), files }
    }

    /// How many findings there are of this level.
    pub(super) fn count(&self, level: Severity) -> usize {
        self.findings.iter().filter(|found| found.level == level).count()
    }

    /// How often each code occurs.
    pub(super) fn codes(&self) -> BTreeMap<&'static str, usize> {
        let mut codes = BTreeMap::new();
        for found in &self.findings {
            *codes.entry(found.diagnostic.finding.code.name()).or_default() += 1;
        }
        codes
    }
}

impl CheckedFinding {
    /// `ui/auth.md:3:7: warning[field-invalid]: message`, at its level in this repository.
    pub(super) fn head(&self) -> String {
        let finding = &self.diagnostic.finding;
        let column = match finding.at.line {
            0 => String::new(),
            _ => format!(":{}", finding.at.column),
        };
        let (level, code) = (level_name(self.level), finding.code.name());
        format!("{}{column}: {level}[{code}]: {}", self.place(), escaped(&finding.message))
    }

    /// Its file, or its source, and its line.
    pub(super) fn place(&self) -> String {
        let path = if self.path.is_empty() { &*self.diagnostic.source } else { &self.path };
        match self.diagnostic.finding.at.line {
            0 => escaped(path),
            line => format!("{}:{line}", escaped(path)),
        }
    }

    /// The same with what to do about it.
    pub(super) fn described(&self) -> String {
        let hint = self.diagnostic.finding.hint.as_deref();
        let hint = hint.map(|hint| format!("\n  {}", escaped(hint))).unwrap_or_default();
        format!("{}{hint}", self.head())
    }

    /// The finding for a report.
    pub(super) fn annotation(&self) -> Annotation {
        let finding = &self.diagnostic.finding;
        Annotation {
            level: self.level,
            code: finding.code.name().to_owned(),
            file: self.path.clone(),
            line: finding.at.line,
            column: finding.at.column,
            message: finding.message.clone(),
            hint: finding.hint.clone(),
            help: Some(explain::command(finding.code)),
        }
    }
}

/// Whether a lint says why a bundle does not conform, with more words.
fn is_said_by(lints: &[Diagnostic], found: &Diagnostic) -> bool {
    let says = |lint: &Diagnostic| {
        matches!(lint.finding.code, Code::FieldForm | Code::DescriptionLong)
            && (&lint.source, &lint.file) == (&found.source, &found.file)
    };
    found.finding.code == Code::NotConforming && lints.iter().any(says)
}

/// The findings of the lints.
fn lints(snapshot: &Snapshot, skills: &[&Skill], target: &CheckTarget) -> Vec<Diagnostic> {
    let limits = limits(snapshot.settings());
    let folders: Vec<Option<String>> = (0..snapshot.catalog.sources().len())
        .map(|number| Some(snapshot.source_path(number).file_name()?.to_str()?.to_owned()))
        .collect();
    let found: Vec<Option<SkillLints>> = map(
        skills,
        || (),
        |(), skill| {
            let text = snapshot.text(skill).ok()?;
            let files = text_files(snapshot, skill);
            let source_folder = folders.get(skill.source).and_then(Option::as_deref);
            let catalog = &snapshot.catalog;
            let is_linked = |script: &&RelPath| is_behind_link(snapshot, skill, script);
            let scripts = skill.scripts().map(|(script, _)| &script.file);
            let linked_scripts: Vec<RelPath> = scripts.filter(is_linked).cloned().collect();
            let checked = CheckedSkill {
                catalog,
                skill,
                text: &text,
                files: &files,
                linked_scripts: &linked_scripts,
                source_folder,
            };
            Some(check::skill(&checked, &limits))
        },
    );
    let mut places: HashMap<SkillId, FieldPlaces> = HashMap::new();
    let mut diagnostics = Vec::new();
    let sources = snapshot.catalog.sources();
    for (skill, lints) in skills.iter().zip(found) {
        let (Some(lints), Some(source)) = (lints, sources.get(skill.source)) else { continue };
        places.insert(skill.id, lints.places);
        let in_file = |(file, finding): (_, skills_core::diagnostic::Finding)| {
            let file: RelPath = file;
            finding.in_file(&source.name, file.as_str())
        };
        diagnostics.extend(lints.findings.into_iter().map(in_file));
    }
    let place = |id| places.get(&id).copied().unwrap_or_default();
    let is_asked = |skill: &Skill| target.has(skill.file.as_str());
    for (id, finding) in check::skills(&snapshot.catalog, place, is_asked, &limits) {
        let skill = snapshot.catalog.skill(id);
        let source = skill.and_then(|skill| sources.get(skill.source));
        if let (Some(skill), Some(source)) = (skill, source) {
            diagnostics.push(finding.in_file(&source.name, skill.file.as_str()));
        }
    }
    diagnostics
}

/// What the lints compare with: the settings that are served with, and what clients take.
fn limits(settings: &Settings) -> CheckLimits {
    let scripts = &settings.scripts;
    let allowed = scripts.allowed_extensions.iter();
    let known = CLIENTS.iter().filter_map(|client| {
        let (chars, cuts) = match client.own_listing?.value {
            OwnListing::Cut(chars) => (chars, true),
            OwnListing::Refused(chars) => (chars, false),
        };
        Some(DescriptionLimit { client: client.name, chars, cuts })
    });
    CheckLimits {
        runnable: allowed.filter(|one| scripts.runners.contains_key(*one)).cloned().collect(),
        max_tokens: settings.content.max_tokens,
        min_score: settings.matching.min_score,
        description_chars: std::iter::once(FORMAT_DESCRIPTION).chain(known).collect(),
    }
}

/// The text files beside a skill.
fn text_files(snapshot: &Snapshot, skill: &Skill) -> Vec<TextFile> {
    let paths = snapshot.catalog.files(skill).map(Folder::paths).unwrap_or_default();
    // What lies in a source's top folder beside a bundle there is more often for the repository than for the skill.
    let is_top = skill.resources.as_ref().is_some_and(RelPath::is_root);
    let others = paths.into_iter().filter(|path| !is_top && path.as_str() != skill.file.name());
    others
        .take(MAX_READ_FILES)
        .filter_map(|path| {
            let bytes = snapshot.read(skill, &path, MAX_READ_BYTES).ok()?;
            Some(TextFile { text: String::from_utf8(bytes).ok()?, path })
        })
        .collect()
}

/// A path from the working directory where it is below it, with `/` between names and without `.` in it.
pub(super) fn shown_path(path: &Path, directory: &Path) -> String {
    let plain: PathBuf = path.components().collect();
    let shown = plain.strip_prefix(directory).unwrap_or(&plain);
    shown.to_string_lossy().replace('\\', "/")
}

/// Codes whose cause `--fix` may correct.
pub(super) const FIXABLE: &[Code] = &[
    Code::YamlRepaired,
    Code::FieldMissing,
    Code::FieldMisspelled,
    Code::NameMissing,
    Code::AllowedToolsForm,
];
