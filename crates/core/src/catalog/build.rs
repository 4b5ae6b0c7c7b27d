//! Intakes → a catalog. Never fails: what cannot be served becomes a diagnostic.

use std::{
    collections::{HashMap, hash_map},
    sync::Arc,
};

use super::{Catalog, Entry, Intake, Presence, Skill, SkillId, SkillPath};
use crate::{
    diagnostic::{Code, Diagnostic, Finding, Position},
    document::TreeDocument,
    relpath::RelPath,
};

impl Catalog {
    /// Builds the catalog of these sources, the first-named first. The same intakes give the same catalog.
    pub fn build(intakes: &[Arc<Intake>]) -> Self {
        let mut catalog = Self::default();
        for intake in intakes {
            catalog.add(intake);
        }
        catalog.diagnostics.sort_by(|a, b| a.order().cmp(&b.order()));
        catalog
    }

    fn add(&mut self, intake: &Intake) {
        let source = self.sources.len();
        let first = self.skills.len();
        self.sources.push(Arc::clone(&intake.source));
        self.diagnostics.extend(intake.diagnostics.iter().cloned());
        for (path, finding) in &intake.layout.findings {
            self.diagnostics.push(finding.clone().in_file(&intake.source, path.as_str()));
        }
        self.report_resource_skills(intake);
        for file in &intake.layout.candidates {
            let Some(parsed) = intake.documents.get(file) else { continue };
            for finding in &parsed.findings {
                self.diagnostics.push(finding.clone().in_file(&intake.source, file.as_str()));
            }
            if let (Some(content), Some(path)) = (&parsed.skill, SkillPath::of_file(file)) {
                self.push(intake, source, file, path, content);
            }
        }
        self.link_parents(first);
    }

    fn push(
        &mut self,
        intake: &Intake,
        source: usize,
        file: &RelPath,
        path: SkillPath,
        content: &Arc<TreeDocument>,
    ) {
        let id = SkillId(u32::try_from(self.skills.len()).unwrap_or(u32::MAX));
        let identity = self.claim(&intake.source, file, &path, id);
        // Not parsed: names on disk are freer than names in requests.
        let resources = file.folder().child(path.name()).ok();
        let resources = resources.filter(|folder| intake.root.folder(folder).is_some());
        let mut missing =
            Missing { intake, file, resources: resources.as_ref(), found: &mut self.diagnostics };
        let asset_presence =
            content.fields.assets.iter().map(|a| missing.look("asset", &a.file, a.at)).collect();
        let script_presence =
            content.fields.scripts.iter().map(|s| missing.look("script", &s.file, s.at)).collect();
        self.skills.push(Skill {
            id,
            source,
            identity,
            path,
            file: file.clone(),
            resources,
            parent: None,
            content: Arc::clone(content),
            asset_presence,
            script_presence,
        });
    }

    /// Finds out what the skill is called: a bare path belongs to the source named first.
    fn claim(
        &mut self,
        source: &Arc<str>,
        file: &RelPath,
        path: &SkillPath,
        id: SkillId,
    ) -> Arc<str> {
        let qualified: Arc<str> = format!("{source}:{path}").into();
        self.identities.insert(Arc::clone(&qualified), id);
        self.folded.entry(qualified.to_lowercase()).or_insert(id);
        let bare: Arc<str> = path.as_str().into();
        let identity = match self.identities.entry(Arc::clone(&bare)) {
            hash_map::Entry::Vacant(vacant) => {
                vacant.insert(id);
                bare
            }
            hash_map::Entry::Occupied(_) => {
                let finding = Finding::whole(
                    Code::PathShadowed,
                    format!("a source named earlier has `{path}` too"),
                )
                .hint(format!("this one loads as `{qualified}`"));
                self.diagnostics.push(finding.in_file(source, file.as_str()));
                qualified
            }
        };
        self.folded.entry(identity.to_lowercase()).or_insert(id);
        identity
    }

    /// Second pass over one source's skills: a parent that does not exist is skipped for its own parent.
    fn link_parents(&mut self, first: usize) {
        let added = self.skills.get_mut(first..).unwrap_or_default();
        let by_path: HashMap<SkillPath, SkillId> =
            added.iter().map(|skill| (skill.path.clone(), skill.id)).collect();
        for skill in added {
            let mut above = skill.path.parent();
            while let Some(path) = above {
                skill.parent = by_path.get(&path).copied();
                above = if skill.parent.is_some() { None } else { path.parent() };
            }
        }
    }

    fn report_resource_skills(&mut self, intake: &Intake) {
        for file in &intake.layout.resource_markdown {
            if intake.documents.get(file).is_some_and(|parsed| parsed.skill.is_some()) {
                let finding = Finding::whole(
                    Code::SkillInResources,
                    "a skill inside a resource folder is not served",
                )
                .hint("move it out, or give the folder an _index.md to make it a category");
                self.diagnostics.push(finding.in_file(&intake.source, file.as_str()));
            }
        }
    }
}

/// Looks whether the files one skill declares are there.
struct Missing<'a> {
    intake: &'a Intake,
    file: &'a RelPath,
    resources: Option<&'a RelPath>,
    found: &'a mut Vec<Diagnostic>,
}

impl Missing<'_> {
    fn look(&mut self, what: &str, declared: &RelPath, at: Position) -> Presence {
        let path = self.resources.map(|folder| folder.join(declared));
        let entry = path.and_then(|path| {
            let folder = self.intake.root.folder(&path).map(|_| Entry::Special);
            self.intake.root.file(&path).or(folder)
        });
        let (presence, finding) = match entry {
            Some(Entry::Regular { .. }) => return Presence::Present,
            Some(Entry::Special) => {
                let message = format!("{what} `{declared}` is not a regular file; left out");
                (Presence::Special, Finding::new(Code::NotRegular, at, message))
            }
            None => {
                let stem = self.file.as_str().strip_suffix(".md").unwrap_or_default();
                let message = format!("{what} `{declared}` is declared but missing; left out");
                let finding = Finding::new(Code::FileMissing, at, message);
                (
                    Presence::Missing,
                    finding.hint(format!("create {stem}/{declared}, or remove the declaration")),
                )
            }
        };
        self.found.push(finding.in_file(&self.intake.source, self.file.as_str()));
        presence
    }
}
