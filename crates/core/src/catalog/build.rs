//! Intakes → a catalog. Never fails: what cannot be served becomes a diagnostic.

use std::{collections::HashMap, sync::Arc};

use super::{
    Catalog, Entry, Intake, Kind, Origin, Presence, ShadowedCopy, Skill, SkillId, SkillPath,
    Source, layout::in_resources,
};
use crate::{
    diagnostic::{Code, Diagnostic, Finding, Position, one_line},
    document::SkillDocument,
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
        let source = Source {
            name: Arc::clone(&intake.source),
            origin: intake.origin.clone(),
            root: Arc::clone(&intake.root),
        };
        let first = self.skills.len();
        self.sources.push(source);
        self.diagnostics.extend(intake.diagnostics.iter().cloned());
        for (path, finding) in &intake.layout.findings {
            self.found(intake, path, finding.clone());
        }
        self.report_resource_skills(intake);
        for file in &intake.layout.candidates {
            if let (Some(content), Some(path)) = (self.take(intake, file), SkillPath::of_file(file))
            {
                self.push_tree(intake, file, path, content);
            }
        }
        self.link_parents(first);
        for file in &intake.layout.bundles {
            if let Some(content) = self.take(intake, file) {
                self.push_bundle(intake, file, content);
            }
        }
    }

    /// The skill in a file that was read, its findings noted.
    fn take(&mut self, intake: &Intake, file: &RelPath) -> Option<Arc<SkillDocument>> {
        let parsed = intake.documents.get(file)?;
        for finding in &parsed.findings {
            self.found(intake, file, finding.clone());
        }
        parsed.skill.clone()
    }

    fn found(&mut self, intake: &Intake, file: &RelPath, finding: Finding) {
        self.diagnostics.push(finding.in_file(&intake.source, file.as_str()));
    }

    fn next_id(&self) -> SkillId {
        SkillId(u32::try_from(self.skills.len()).unwrap_or(u32::MAX))
    }

    fn push_tree(
        &mut self,
        intake: &Intake,
        file: &RelPath,
        path: SkillPath,
        content: Arc<SkillDocument>,
    ) {
        let id = self.next_id();
        let qualified: Arc<str> = format!("{}:{path}", intake.source).into();
        let bare: Arc<str> = path.as_str().into();
        self.names.paths.claim(&qualified, id);
        let free = self.names.find_path(&bare).is_none();
        let identity = if free && self.names.paths.claim(&bare, id) {
            bare
        } else {
            let message = format!("a source named earlier has `{path}` too");
            let finding = Finding::whole(Code::PathShadowed, message);
            self.found(intake, file, finding.hint(format!("this one loads as `{qualified}`")));
            if let Some(winner) = self.names.find_path(&bare) {
                self.shadowed.push(ShadowedCopy {
                    label: bare,
                    source: self.sources.len() - 1,
                    file: file.clone(),
                    winner,
                    identical: false,
                    served_as: Some(Arc::clone(&qualified)),
                });
            }
            qualified
        };
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
            kind: Kind::Tree,
            source: self.sources.len() - 1,
            label: Arc::clone(&identity),
            identity,
            path,
            file: file.clone(),
            resources,
            parent: None,
            content,
            asset_presence,
            script_presence,
        });
    }

    fn push_bundle(&mut self, intake: &Intake, file: &RelPath, content: Arc<SkillDocument>) {
        let folder = file.folder();
        let name = one_line(&self.bundle_name(intake, file, &content));
        let label: Arc<str> = match &intake.origin {
            Origin::Plugin(plugin) => format!("{plugin}:{name}").into(),
            Origin::Named | Origin::Project | Origin::User => name.as_str().into(),
        };
        let path = SkillPath::of_bundle(&folder, &name);
        let taken = match self.claim_label(intake, file, &path, &label, &content) {
            Claim::Free => None,
            Claim::Taken(winner) => Some(winner),
            Claim::Shadowed => return,
        };
        let id = self.next_id();
        let identity = self.claim_folder(intake, &path, &label, id);
        let label = match taken {
            None => label,
            Some(winner) => self.served_otherwise(intake, file, &path, label, &identity, winner),
        };
        self.names.labels.claim(&label, id);
        if let Origin::Plugin(_) = intake.origin {
            self.names.short.entry(name.to_lowercase()).or_default().push(id);
        }
        self.skills.push(Skill {
            id,
            kind: Kind::Bundle,
            source: self.sources.len() - 1,
            identity,
            label,
            path,
            file: file.clone(),
            resources: Some(folder),
            parent: None,
            content,
            asset_presence: Vec::new(),
            script_presence: Vec::new(),
        });
    }

    /// What a bundle is listed as whose name another one has; said, and remembered.
    fn served_otherwise(
        &mut self,
        intake: &Intake,
        file: &RelPath,
        path: &SkillPath,
        wanted: Arc<str>,
        identity: &Arc<str>,
        winner: SkillId,
    ) -> Arc<str> {
        // Its folder may be what yet another one is called.
        let label: Arc<str> = if self.names.labels.has(identity) {
            format!("{}:{path}", intake.source).into()
        } else {
            Arc::clone(identity)
        };
        let finding =
            Finding::whole(Code::NameTaken, format!("another bundle is called `{wanted}` too"));
        self.found(
            intake,
            file,
            finding.hint(format!("this one loads as `{label}`; rename one of the two")),
        );
        self.shadowed.push(ShadowedCopy {
            label: wanted,
            source: self.sources.len() - 1,
            file: file.clone(),
            winner,
            identical: false,
            served_as: Some(Arc::clone(&label)),
        });
        label
    }

    /// What a bundle is called: by itself, by its folder, or, at the top of a source, by the source.
    fn bundle_name(&mut self, intake: &Intake, file: &RelPath, content: &SkillDocument) -> String {
        let folder = file.folder();
        let by_source = match &intake.origin {
            Origin::Plugin(plugin) => plugin,
            Origin::Named | Origin::Project | Origin::User => &intake.source,
        };
        let unseen = one_line(folder.name()).is_empty();
        let by_place = if folder.is_root() || unseen { by_source } else { folder.name() };
        let Some(name) = &content.fields.name else {
            if content.document.front().get("name").is_none() {
                let finding = Finding::whole(
                    Code::NameMissing,
                    format!("no `name`; called `{by_place}` by its folder"),
                );
                self.found(
                    intake,
                    file,
                    finding.hint(format!("add `name: {by_place}` to the front matter")),
                );
            }
            return by_place.to_owned();
        };
        if !is_conventional(name) || (!folder.is_root() && name != folder.name()) {
            let message = format!("`{name}` in a folder called `{by_place}`");
            let finding = Finding::whole(Code::NameUnconventional, message);
            self.found(
                intake,
                file,
                finding.hint("use the folder's name, in lower-case words with hyphens"),
            );
        }
        name.clone()
    }

    /// Decides who has a bundle's name.
    fn claim_label(
        &mut self,
        intake: &Intake,
        file: &RelPath,
        path: &SkillPath,
        label: &Arc<str>,
        content: &SkillDocument,
    ) -> Claim {
        let Some(winner) = self.names.labels.holder(label) else { return Claim::Free };
        let Some(held) = self.skill(winner) else { return Claim::Free };
        let identical = held.document().text() == content.document.text();
        if !identical && intake.origin == Origin::Named {
            return Claim::Taken(winner);
        }
        let source = self.sources.len() - 1;
        let place = self.sources.get(held.source).map(|source| &*source.name).unwrap_or_default();
        let message = format!("`{label}` of {place} ({}) is served instead", held.file);
        if !identical {
            let finding = Finding::whole(Code::BundleShadowed, message);
            self.found(intake, file, finding.hint("rename one of the two, or remove one"));
        } else if intake.origin == Origin::Named {
            // The copy's folder still leads to it.
            self.names.folders.claim(&path.as_str().into(), winner);
        }
        let label = Arc::clone(label);
        let file = file.clone();
        self.shadowed.push(ShadowedCopy {
            label,
            source,
            file,
            winner,
            identical,
            served_as: None,
        });
        Claim::Shadowed
    }

    /// Claims a bundle's folder and finds out its identity.
    fn claim_folder(
        &mut self,
        intake: &Intake,
        path: &SkillPath,
        label: &Arc<str>,
        id: SkillId,
    ) -> Arc<str> {
        let qualified: Arc<str> = format!("{}:{path}", intake.source).into();
        let bare: Arc<str> = path.as_str().into();
        let free = self.names.find_path(&bare).is_none();
        self.names.folders.claim(&qualified, id);
        if intake.origin != Origin::Named {
            return Arc::clone(label);
        }
        if free {
            self.names.folders.claim(&bare, id);
        }
        if free { bare } else { qualified }
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
                self.found(intake, file, in_resources());
            }
        }
    }
}

/// Whether a bundle may have the name it wants.
enum Claim {
    /// Nobody has it.
    Free,
    /// This earlier bundle has it; in a source that somebody named the later one is found under its folder.
    Taken(SkillId),
    /// An earlier bundle has it, and this one is not served.
    Shadowed,
}

/// Lower-case words with hyphens, at most 64 characters: what the Agent Skills format asks for.
fn is_conventional(name: &str) -> bool {
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    name.len() <= 64 && name.split('-').all(plain)
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
