//! [`Source`]: what the catalog keeps of each source.

use std::{cmp::Ordering, sync::Arc};

use super::{Folder, Origin, layout::Role};
use crate::{
    catalog::layout::in_resources,
    diagnostic::{Code, Finding},
    document::Parsed,
    relpath::RelPath,
    sorted::{Sorted, SortedItem},
};

/// A source as the catalog was built from it.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its name, unique among the sources.
    pub name: Arc<str>,
    /// Where it comes from.
    pub origin: Origin,
    /// Everything below its root.
    pub root: Arc<Folder>,
    /// Problems of the scan: file, as text, and finding.
    pub(super) scan_findings: Arc<[(String, Finding)]>,
    /// Every file with a role or a finding, by path.
    pub(super) held: Sorted<Arc<SourceFile>>,
}

impl Source {
    /// Problems of the scan: file, as text, and finding.
    pub fn scan_findings(&self) -> &[(String, Finding)] {
        &self.scan_findings
    }

    /// What each file that was read says, by path.
    pub fn parsed(&self) -> impl Iterator<Item = (&RelPath, &Arc<Parsed>)> {
        self.held.iter().filter_map(|held| Some((&held.file, held.parsed.as_ref()?)))
    }

    /// Whether its scan found the same problems.
    pub fn has_same_scan_findings(&self, other: &Self) -> bool {
        self.scan_findings == other.scan_findings
    }
}

/// A file that has a role or a finding.
#[derive(Debug)]
pub(super) struct SourceFile {
    pub(super) file: RelPath,
    pub(super) role: Option<Role>,
    /// Findings about its name or place.
    pub(super) layout: Vec<Finding>,
    /// Its parsed text, where it has a role.
    pub(super) parsed: Option<Arc<Parsed>>,
}

impl SourceFile {
    /// All findings about the file itself.
    pub(super) fn findings(&self) -> impl Iterator<Item = &Finding> {
        // Markdown among resources need not be a skill; only if it is one, `layout` has a finding.
        let parsed = self.parsed.iter().filter(|_| self.role != Some(Role::Resource));
        self.layout.iter().chain(parsed.flat_map(|parsed| &parsed.findings))
    }

    /// Whether it was meant as a skill and gives none: a `SKILL.md`, or Markdown with front matter.
    pub(super) fn is_broken_skill(&self) -> bool {
        let Some(parsed) = self.parsed.as_ref().filter(|parsed| parsed.skill.is_none()) else {
            return false;
        };
        let is_plain = || parsed.findings.iter().any(|it| it.code == Code::FrontMatterMissing);
        match self.role {
            Some(Role::Bundle) => true,
            Some(Role::Tree) => !is_plain(),
            Some(Role::Resource) | None => false,
        }
    }

    /// Whether role, findings and text are the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same = |a: &Arc<Parsed>, b: &Arc<Parsed>| Arc::ptr_eq(a, b) || a.is_same(b);
        self.role == other.role
            && self.layout == other.layout
            && match (&self.parsed, &other.parsed) {
                (Some(a), Some(b)) => same(a, b),
                (a, b) => a.is_none() && b.is_none(),
            }
    }

    /// A file with this role and text. A skill among resources gets a finding.
    pub(super) fn new(
        file: RelPath,
        role: Option<Role>,
        mut layout: Vec<Finding>,
        parsed: Option<Arc<Parsed>>,
    ) -> Self {
        let is_skill = parsed.as_ref().is_some_and(|parsed| parsed.skill.is_some());
        if role == Some(Role::Resource) && is_skill {
            layout.push(in_resources());
        }
        Self { file, role, layout, parsed }
    }
}

impl SortedItem for Arc<SourceFile> {
    fn order(&self, other: &Self) -> Ordering {
        self.file.cmp(&other.file)
    }
}
