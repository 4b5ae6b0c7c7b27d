//! The catalog as a list, and what is wrong with it.

use std::{cmp::Reverse, collections::HashMap};

use skills_core::{
    catalog::{Skill, SkillKind},
    diagnostic::{Diagnostic, Severity, escaped},
    document::SkillText,
    estimate,
};
use skills_page::{
    catalog::{
        CatalogHead, CatalogView, FindingRow, FindingsPage, ListFilter, ListOrder, ListPage,
        ListRow,
    },
    frame::{PageGroup, Paging},
};

use super::PageSource;

/// So many skills or findings are on one page.
const ROWS_PER_PAGE: usize = 100;

/// How many findings each file has, without those that are only worth knowing: by source and file.
pub(super) struct FindingCounts(HashMap<(String, String), usize>);

impl FindingCounts {
    pub(super) fn of(source: &PageSource) -> Self {
        let mut counts = HashMap::new();
        for Diagnostic { source, file, finding } in source.snapshot.diagnostics() {
            if finding.code.severity() != Severity::Info {
                *counts.entry((source.to_string(), file)).or_default() += 1;
            }
        }
        Self(counts)
    }

    pub(super) fn get(&self, source: &PageSource, skill: &Skill) -> usize {
        let key = (source.source_name(skill).to_owned(), escaped(skill.file.as_str()));
        self.0.get(&key).copied().unwrap_or(0)
    }
}

impl PageSource {
    /// The name of a skill's source.
    pub(super) fn source_name(&self, skill: &Skill) -> &str {
        let source = self.snapshot.catalog.sources().get(skill.source);
        source.map(|source| &*source.name).unwrap_or_default()
    }

    /// What is above every page of the catalog.
    pub(super) fn head(&self) -> CatalogHead {
        let snapshot = &self.snapshot;
        let sources = snapshot.catalog.sources().iter().enumerate();
        let visible = sources.filter(|(number, _)| snapshot.catalog.is_visible(*number));
        CatalogHead {
            skills: snapshot.catalog.len(),
            sources: visible.map(|(_, source)| source.name.to_string()).collect(),
            errors: snapshot.count(Severity::Error),
            warnings: snapshot.count(Severity::Warning),
        }
    }
}

/// A finding, and the skill that its file gives. No page has a path of this machine.
pub(super) fn finding_row(
    of: &PageSource,
    diagnostic: Diagnostic,
    skills: &HashMap<(&str, String), &str>,
) -> FindingRow {
    let Diagnostic { source, file, finding } = diagnostic;
    let root = of.snapshot.path_of_source(&source);
    let within = |text: &str| match root.as_deref().filter(|root| !root.is_empty()) {
        Some(root) => text.replace(&format!("{root}/"), "").replace(root, &source),
        None => text.to_owned(),
    };
    let file = match within(&file) {
        // Beside the source, such as its `config.yaml`.
        file if file.starts_with('/') => file.rsplit('/').next().unwrap_or_default().to_owned(),
        file => file,
    };
    let identity = skills.get(&(&*source, file.clone())).map(|identity| (*identity).to_owned());
    let place = match (file.is_empty(), finding.at.line) {
        (true, _) => source.to_string(),
        (false, 0) => file,
        (false, line) => format!("{file}:{line}"),
    };
    FindingRow {
        severity: finding.code.severity().name(),
        code: finding.code.name(),
        place,
        source: source.to_string(),
        identity,
        message: within(&finding.message),
        hint: within(&finding.hint.unwrap_or_default()),
    }
}

/// `tree` or `bundle`.
pub(super) fn kind(skill: &Skill) -> &'static str {
    match skill.kind {
        SkillKind::Tree => "tree",
        SkillKind::Bundle => "bundle",
    }
}

pub(super) fn list_page(source: &PageSource, filter: ListFilter, page: usize) -> ListPage {
    let findings = FindingCounts::of(source);
    let words: Vec<String> =
        filter.words.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let is_wanted = |skill: &&Skill| {
        let has_words = || {
            let text =
                format!("{}\n{}\n{}", skill.identity, skill.label, skill.fields().description);
            let text = text.to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        (filter.kind.is_empty() || filter.kind == kind(skill))
            && (filter.source.is_empty() || filter.source == source.source_name(skill))
            && (words.is_empty() || has_words())
    };
    let mut skills: Vec<&Skill> = source.snapshot.catalog.skills().filter(is_wanted).collect();
    match filter.order {
        ListOrder::Place => {}
        ListOrder::Findings => skills.sort_by_key(|skill| Reverse(findings.get(source, skill))),
        ListOrder::Served => skills.sort_by_key(|skill| Reverse(source.served(skill))),
    }
    let paging = Paging::new(page, skills.len(), ROWS_PER_PAGE, &filter.address());
    let shown = skills.into_iter().skip(paging.skipped(ROWS_PER_PAGE)).take(ROWS_PER_PAGE);
    let row = |skill: &Skill| ListRow {
        identity: skill.identity.to_string(),
        about: skill.fields().description.clone(),
        kind: kind(skill),
        source: source.source_name(skill).to_owned(),
        // Read now, since the catalog keeps no texts.
        tokens: source
            .snapshot
            .text(skill)
            .ok()
            .map(|text: SkillText| estimate::tokens(text.body())),
        findings: findings.get(source, skill),
        served: source.served(skill),
    };
    ListPage {
        head: source.head(),
        frame: source.frame.at(PageGroup::Skills),
        days: source.counts.as_ref().map(|counts| counts.days),
        rows: shown.map(row).collect(),
        filter,
        paging,
    }
}

pub(super) fn findings_page(source: &PageSource, page: usize) -> FindingsPage {
    let mut all = source.snapshot.diagnostics();
    // What costs most first; then by file, as they come.
    all.sort_by_key(|diagnostic| diagnostic.finding.code.severity());
    let address = format!("/skills?view={}", CatalogView::Findings.word());
    let paging = Paging::new(page, all.len(), ROWS_PER_PAGE, &address);
    let catalog = &source.snapshot.catalog;
    let place = |skill: &Skill| (source.source_name(skill), escaped(skill.file.as_str()));
    let skills: HashMap<(&str, String), &str> =
        catalog.skills().map(|skill| (place(skill), &*skill.identity)).collect();
    let shown = all.into_iter().skip(paging.skipped(ROWS_PER_PAGE)).take(ROWS_PER_PAGE);
    FindingsPage {
        head: source.head(),
        frame: source.frame.at(PageGroup::Skills),
        rows: shown.map(|diagnostic| finding_row(source, diagnostic, &skills)).collect(),
        paging,
    }
}
