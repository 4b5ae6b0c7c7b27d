//! A scan → the next catalog. Never fails: what cannot be served becomes a diagnostic.
//!
//! In two steps: [`Catalog::update`] says which files have to be read, [`Catalog::with`] takes what they say. A catalog is
//! always made from the one before, and the first from an empty one; so there is one way to build, and it costs what
//! changed.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::{Arc, OnceLock},
};

use super::{
    Catalog, Delta, FileEntry, Origin, Presence, Scope, Skill, SkillId, SkillKind, SkillPath,
    Source, SourceScan, SourceUpdate,
    layout::{BUNDLE_FILE, Role, RoleAssignment},
    name::{NameHash, bundle_name},
    own_files::evals,
    precedence::NameHolders,
    published::unpublishable,
    skill::{ById, ByPlace, NameStatus},
    source::SourceFile,
    update::owners,
};
use crate::{
    diagnostic::{Code, Diagnostic, Finding, Position, one_line},
    document::{Parsed, SkillDocument},
    relpath::RelPath,
    sorted::Sorted,
};

impl Catalog {
    /// The catalog after an update of this one, and what that changed. `parsed` is what the update's files say, in their
    /// order.
    pub fn with(&self, update: SourceUpdate<'_>, parsed: Vec<Arc<Parsed>>) -> (Self, Delta) {
        let SourceUpdate { number, scan, diff, .. } = update;
        let mut next = self.clone();
        let before = self.sources.get(number);
        let mut source = Source {
            name: Arc::clone(&scan.source),
            origin: scan.origin.clone(),
            root: Arc::clone(&scan.root),
            scan_findings: Arc::clone(&scan.scan_findings),
            held: before.map(|source| source.held.clone()).unwrap_or_default(),
            plugins: before.map(|source| Arc::clone(&source.plugins)).unwrap_or_default(),
            places: OnceLock::new(),
        };
        let mut files = hold(&mut source.held, diff.files, parsed);
        if before.is_some() {
            files.extend(owners(&source.held, &diff.folders));
        }
        files.extend(source.renew_plugins(&files));
        match next.sources.get_mut(number) {
            Some(known) => *known = source,
            None => next.sources.push(source),
        }
        let changed = next.update_skills(number, &files);
        next.update_top(number);
        let renamed = next.resolve_names(&changed);
        let numbers: BTreeSet<SkillId> =
            changed.iter().map(|skill| skill.id).chain(renamed).collect();
        let mut delta = Delta::of(
            numbers.iter().filter_map(|id| self.skill_by_id(*id)),
            numbers.iter().filter_map(|id| next.skill_by_id(*id)),
        );
        delta.found = next.new_diagnostics(self, number, &files, &numbers);
        delta.numbers = numbers.into_iter().collect();
        (next, delta)
    }

    /// The catalog with only so many of its first sources, and what that changed.
    #[must_use]
    pub fn shortened(&self, sources: usize) -> (Self, Delta) {
        let (mut catalog, mut delta) = (self.clone(), Delta::default());
        while let Some(last) = catalog.sources.len().checked_sub(1).filter(|last| *last >= sources)
            && let Some(source) = catalog.sources.get(last)
        {
            let nothing = SourceScan {
                source: Arc::clone(&source.name),
                origin: source.origin.clone(),
                // The widest scope, so that every skill of the source is removed.
                scope: Scope::All,
                root: Arc::default(),
                scan_findings: Arc::default(),
            };
            let update = catalog.update(last, &nothing);
            let (mut next, change) = catalog.with(update, Vec::new());
            next.sources.truncate(last);
            (catalog, delta) = (next, delta.and(change));
        }
        (catalog, delta)
    }

    /// Builds the skills of these files of a source anew, or removes them. Returns the skills that changed, as they were
    /// and as they are now.
    fn update_skills(&mut self, number: usize, files: &BTreeSet<RelPath>) -> Vec<Arc<Skill>> {
        let mut changed = Vec::new();
        let mut made = Vec::new();
        // All removals come before all inserts: a file may take the place of another.
        for file in files {
            let new = self.build_skill(number, file);
            let old = self.of_file(number, file).cloned();
            match (&old, &new) {
                (Some(old), Some(new)) if is_same_build(old, new) => continue,
                (Some(old), _) => self.remove_skill(old),
                (None, _) => {}
            }
            let number = old.as_ref().map(|old| old.id);
            match new {
                Some(new) => made.push((new, number)),
                None => self.free.extend(number),
            }
            changed.extend(old);
        }
        changed.extend(self.insert_skills(made));
        changed
    }

    /// The skill that was made of this file.
    fn of_file(&self, number: usize, file: &RelPath) -> Option<&Arc<Skill>> {
        let path = file.as_str().strip_suffix(".md");
        let tree = path.and_then(|path| self.skill_by_place((number, SkillKind::Tree, path)));
        let folder = file.folder();
        let bundle = || self.skill_by_place((number, SkillKind::Bundle, folder.as_str()));
        tree.or_else(bundle).filter(|skill| skill.file == *file)
    }

    fn remove_skill(&mut self, skill: &Arc<Skill>) {
        for hash in self.looked_up_by(skill) {
            self.names.remove(|name| (name.hash, name.skill).cmp(&(hash, skill.id)));
        }
        self.by_id.remove(|other| other.0.id.cmp(&skill.id));
        self.by_place.remove(|other| other.0.place().cmp(&skill.place()));
        self.count(skill, false);
    }

    /// Puts in skills, each with the number it had, if any.
    fn insert_skills(&mut self, made: Vec<(Skill, Option<SkillId>)>) -> Vec<Arc<Skill>> {
        let mut skills = Vec::with_capacity(made.len());
        let mut names = Vec::new();
        for (mut skill, number) in made {
            skill.id = number.or_else(|| self.free.pop()).unwrap_or(SkillId::at(self.end));
            self.end = self.end.max(skill.id.index() + 1);
            let hashes = self.looked_up_by(&skill).into_iter();
            names.extend(hashes.map(|hash| NameHash { hash, skill: skill.id }));
            self.count(&skill, true);
            skills.push(Arc::new(skill));
        }
        self.names.extend(names);
        self.list(&skills);
        skills
    }

    /// Puts skills into the lists, in the place of those of their numbers.
    fn list(&mut self, skills: &[Arc<Skill>]) {
        self.by_id.extend(skills.iter().map(|skill| ById(Arc::clone(skill))));
        self.by_place.extend(skills.iter().map(|skill| ByPlace(Arc::clone(skill))));
    }

    pub(super) fn count(&mut self, skill: &Skill, up: bool) {
        let one = usize::from(skill.name_status.served);
        let bundle = one * usize::from(skill.kind == SkillKind::Bundle);
        let moved = |count: usize, by: usize| if up { count + by } else { count - by };
        self.served = moved(self.served, one);
        self.bundles = moved(self.bundles, bundle);
    }

    /// Resolves which skill has which name, where that may have changed; returns the skills for which it did.
    pub(super) fn resolve_names(&mut self, changed: &[Arc<Skill>]) -> Vec<SkillId> {
        let mut holders = NameHolders::default();
        let affected: Vec<SkillId> = if changed.len() * 4 > self.by_id.len() {
            self.by_id.iter().map(|skill| skill.0.id).collect()
        } else {
            self.affected_by(changed).into_iter().collect()
        };
        let resolved: Vec<Arc<Skill>> = affected
            .iter()
            .filter_map(|id| self.skill_by_id(*id))
            .filter_map(|skill| {
                let resolved = self.with_names(skill, &mut holders);
                let same = resolved.identity == skill.identity
                    && resolved.label == skill.label
                    && resolved.name_status == skill.name_status;
                (!same).then(|| Arc::new(resolved))
            })
            .collect();
        for skill in &resolved {
            if let Some(old) = self.skill_by_id(skill.id).cloned() {
                self.count(&old, false);
            }
            self.count(skill, true);
        }
        self.list(&resolved);
        resolved.iter().map(|skill| skill.id).collect()
    }

    /// The diagnostics of these files and skills that are new.
    fn new_diagnostics(
        &self,
        before: &Self,
        number: usize,
        files: &BTreeSet<RelPath>,
        skills: &BTreeSet<SkillId>,
    ) -> Vec<Diagnostic> {
        let mut found = self.findings_of(number, files, skills);
        let known = before.findings_of(number, files, skills);
        let known: HashSet<&Diagnostic> = known.iter().collect();
        found.retain(|diagnostic| !known.contains(diagnostic));
        found.sort_by(|a, b| a.order().cmp(&b.order()));
        found
    }

    /// The diagnostics of these files and skills, and of the scan of their source.
    fn findings_of(
        &self,
        number: usize,
        files: &BTreeSet<RelPath>,
        skills: &BTreeSet<SkillId>,
    ) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        if let Some(source) = self.sources.get(number) {
            let scan_findings = source.scan_findings.iter();
            found.extend(
                scan_findings.map(|(file, finding)| finding.clone().in_file(&source.name, file)),
            );
            for file in files {
                let held = source.held.find(|held| held.file.cmp(file));
                let findings = held.iter().flat_map(|held| held.findings(source)).cloned();
                found.extend(findings.map(|finding| finding.in_file(&source.name, file.as_str())));
            }
        }
        for skill in skills.iter().filter_map(|id| self.skill_by_id(*id)) {
            if let Some(source) = self.sources.get(skill.source) {
                let findings = skill.findings().cloned();
                found.extend(
                    findings.map(|finding| finding.in_file(&source.name, skill.file.as_str())),
                );
            }
        }
        found
    }
}

/// Keeps what was read; the files that are not what they were.
fn hold(
    held: &mut Sorted<Arc<SourceFile>>,
    diff: Vec<(RelPath, RoleAssignment)>,
    parsed: Vec<Arc<Parsed>>,
) -> BTreeSet<RelPath> {
    let mut parsed = parsed.into_iter();
    let mut files = BTreeSet::new();
    let mut new = Vec::new();
    // A folder and a file may be reported under the same path, if one has just replaced the other.
    let mut assigned: BTreeMap<RelPath, SourceFile> = BTreeMap::new();
    for (file, RoleAssignment { role, findings }) in diff {
        let parsed = role.and_then(|_| parsed.next());
        let held = SourceFile::new(file.clone(), role, findings, parsed);
        let matters = |held: &SourceFile| held.role.is_some() || !held.layout.is_empty();
        if matters(&held) || !assigned.get(&file).is_some_and(matters) {
            assigned.insert(file, held);
        }
    }
    for (file, next) in assigned {
        let last = held.find(|held| held.file.cmp(&file));
        if last.is_some_and(|last| last.is_same(&next)) {
            continue;
        }
        if next.role.is_some() || !next.layout.is_empty() {
            new.push(Arc::new(next));
        } else if held.remove(|held| held.file.cmp(&file)).is_none() {
            continue;
        }
        files.insert(file);
    }
    held.extend(new);
    files
}

/// Whether both were built from the same content, whatever their resolved names.
fn is_same_build(a: &Skill, b: &Skill) -> bool {
    a.is_same(b)
        && a.resources == b.resources
        && a.plugin == b.plugin
        && a.wanted == b.wanted
        && a.notes == b.notes
}

/// Single skills, before names are resolved among them.
impl Catalog {
    fn build_skill(&self, number: usize, file: &RelPath) -> Option<Skill> {
        let source = self.sources.get(number)?;
        let held = source.held.find(|held| held.file.cmp(file))?;
        let content = held.parsed.as_ref()?.skill.clone()?;
        match held.role? {
            Role::Tree => tree(source, number, &held.file, content),
            Role::Bundle => Some(bundle(source, number, &held.file, content)),
            Role::Resource | Role::Plugin => None,
        }
    }
}

fn tree(
    source: &Source,
    number: usize,
    file: &RelPath,
    content: Arc<SkillDocument>,
) -> Option<Skill> {
    let path = SkillPath::of_file(file)?;
    // Not parsed: names on disk are freer than names in requests.
    let resources = file.folder().child(path.name()).ok();
    let resources = resources.filter(|folder| source.root.folder(folder).is_some());
    let mut check =
        PresenceCheck { source, file, resources: resources.as_ref(), found: Vec::new() };
    let assets = content.fields.assets.iter();
    let asset_presence = assets.map(|a| check.presence("asset", &a.file, a.at)).collect();
    let scripts = content.fields.scripts.iter();
    let script_presence = scripts.map(|s| check.presence("script", &s.file, s.at)).collect();
    let notes = check.found;
    Some(Skill {
        id: SkillId::at(0),
        kind: SkillKind::Tree,
        source: number,
        identity: Arc::clone(path.shared()),
        label: Arc::clone(path.shared()),
        wanted: Arc::clone(path.shared()),
        path,
        file: file.clone(),
        resources,
        plugin: None,
        content,
        evals: Vec::new(),
        asset_presence,
        script_presence,
        conforming: true,
        notes,
        name_status: NameStatus::default(),
    })
}

fn bundle(source: &Source, number: usize, file: &RelPath, content: Arc<SkillDocument>) -> Skill {
    let folder = file.folder();
    let (name, note) = bundle_name(source, file, &content);
    let conforms = content.fields.conforming && note.is_none() && file.name() == BUNDLE_FILE;
    let excess = source.root.folder(&folder).filter(|_| conforms).and_then(unpublishable);
    let evals = source.root.folder(&folder).map(evals).unwrap_or_default();
    let name = one_line(&name);
    let path = SkillPath::of_bundle(&folder, &name);
    let wanted: Arc<str> = match &source.origin {
        Origin::Plugin(plugin) => format!("{plugin}:{name}").into(),
        Origin::Named | Origin::Project | Origin::User if *name == *path.as_str() => {
            Arc::clone(path.shared())
        }
        Origin::Named | Origin::Project | Origin::User => name.as_str().into(),
    };
    Skill {
        id: SkillId::at(0),
        kind: SkillKind::Bundle,
        source: number,
        identity: Arc::clone(&wanted),
        label: Arc::clone(&wanted),
        wanted,
        path,
        file: file.clone(),
        plugin: source.plugin_of(&folder).map(|(_, plugin)| Arc::clone(plugin)),
        resources: Some(folder),
        content,
        evals,
        asset_presence: Vec::new(),
        script_presence: Vec::new(),
        conforming: conforms && excess.is_none(),
        notes: note.into_iter().chain(excess).collect(),
        name_status: NameStatus::default(),
    }
}

/// Checks whether the files that one skill declares exist.
struct PresenceCheck<'a> {
    source: &'a Source,
    file: &'a RelPath,
    resources: Option<&'a RelPath>,
    found: Vec<Finding>,
}

impl PresenceCheck<'_> {
    fn presence(&mut self, what: &str, declared: &RelPath, at: Position) -> Presence {
        let path = self.resources.map(|folder| folder.join(declared));
        let entry = path.and_then(|path| {
            let folder = self.source.root.folder(&path).map(|_| FileEntry::Special);
            self.source.root.file(&path).or(folder)
        });
        let (presence, finding) = match entry {
            Some(FileEntry::Regular { .. }) => return Presence::Present,
            Some(FileEntry::Special) => {
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
        self.found.push(finding);
        presence
    }
}
