//! A skill's own page: its text, what an agent receives, its files, and where it comes from.

use std::{collections::HashMap, time::Duration};

use serde_json::json;
use skills_core::{
    catalog::{FileEntry, ShadowedCopy, Skill, SkillKind},
    diagnostic::escaped,
    digest::hex,
    document::SkillText,
    relpath::RelPath,
    resolve::{Declared, Resolved, TextLimit, inherited_from, resolve},
};
use skills_page::{
    catalog::FindingRow,
    format::file_address,
    frame::PageGroup,
    markdown::rendered,
    shown::fitting,
    skill::{BrowsedSkill, CommitRow, FileRow, ReceivedText, ShadowRow},
};

use super::{
    PageSource,
    filtered::{finding_row, kind},
};
use crate::{clock, source::git::ServedCommit, store::ContentError};

/// No more of what an agent receives is shown.
const MAX_RECEIVED_BYTES: usize = 96 * 1024;
/// No more of a front matter is shown.
const MAX_FRONT_MATTER_BYTES: usize = 32 * 1024;
/// No more of a description is shown.
const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;
/// So many files are listed.
const MAX_LISTED_FILES: usize = 100;
/// So many skills below are named.
const MAX_NAMED_BELOW: usize = 12;
/// So many findings of one file, and copies of one skill, are shown.
const MAX_SHOWN_NOTES: usize = 50;

pub(super) fn skill_page(source: &PageSource, skill: &Skill) -> BrowsedSkill {
    let catalog = &source.snapshot.catalog;
    let text = text(source, skill);
    let resolved = text.clone().and_then(|text| resolved(source, skill, &text));
    let (files, more_files) = files(source, skill, resolved.as_ref().ok());
    let (below, more_below) = below(source, skill);
    let address = |file: &str| {
        let is_known = files.iter().any(|known| known.name == file && known.bytes.is_some());
        is_known.then(|| file_address(&*skill.identity, file))
    };
    let markdown = text.as_ref().map(|text| rendered(text.body(), &address)).map_err(Clone::clone);
    let front_matter = text.as_ref().map(SkillText::front_matter).unwrap_or_default();
    let history = source.snapshot.history(skill);
    let served =
        source.counts.as_ref().and_then(|counts| Some((source.served(skill)?, counts.days)));
    BrowsedSkill {
        frame: source.frame.at(PageGroup::Skills),
        identity: skill.identity.to_string(),
        other_name: skill.other_name(&skill.identity).map(str::to_owned),
        about: fitting(&skill.fields().description, MAX_DESCRIPTION_BYTES).0.to_owned(),
        kind: kind(skill),
        markdown,
        received: resolved.as_ref().map(received).map_err(Clone::clone),
        call: if skill.is_for_models() {
            format!("get_skill {}", json!({"skill_path": &*skill.identity}))
        } else {
            format!("prompts/get {}", json!({"name": &*skill.label}))
        },
        front_matter: fitting(front_matter, MAX_FRONT_MATTER_BYTES).0.to_owned(),
        chain: inherited_from(catalog, skill)
            .iter()
            .map(|above| above.identity.to_string())
            .collect(),
        inherits: skill.fields().inherit || catalog.ancestors(skill).next().is_none(),
        below,
        more_below,
        files,
        more_files,
        findings: findings(source, skill),
        source: source.source_name(skill).to_owned(),
        file: skill.file.as_str().to_owned(),
        digest: format!("sha256:{}", hex(skill.document().digest())),
        modified: source.snapshot.modified(skill).map(moment),
        history: history
            .iter()
            .enumerate()
            .map(|(place, commit)| commit_row(source, commit, place == 0))
            .collect(),
        shadows: shadows(source, skill),
        served,
    }
}

/// A skill's text; as it is now, where it changed since the snapshot was made.
fn text(source: &PageSource, skill: &Skill) -> Result<SkillText, String> {
    let read = match source.snapshot.text(skill) {
        Err(ContentError::Changed) => source.snapshot.newest(skill).map(|(_, text)| text),
        read => read,
    };
    read.map_err(|error| error.to_string())
}

/// What `get_skill` answers from, without the limit of any client.
fn resolved<'a>(
    source: &'a PageSource,
    skill: &'a Skill,
    own: &SkillText,
) -> Result<Resolved<'a>, String> {
    let with_text = |skill: &'a Skill| Ok((skill, text(source, skill)?));
    let inherited = inherited_from(&source.snapshot.catalog, skill).into_iter().map(with_text);
    let inherited = inherited.collect::<Result<Vec<_>, String>>()?;
    let limit = TextLimit::of_tokens(source.snapshot.settings().content.max_tokens);
    Ok(resolve(skill, own, &inherited, 1, limit))
}

fn received(resolved: &Resolved<'_>) -> ReceivedText {
    let content = &resolved.content;
    let (text, is_cut) = fitting(&content.text, MAX_RECEIVED_BYTES);
    ReceivedText {
        text: text.to_owned(),
        tokens: content.tokens,
        is_cut,
        is_truncated: content.truncated,
    }
}

/// Its files, and how many more there are.
fn files(
    source: &PageSource,
    skill: &Skill,
    resolved: Option<&Resolved<'_>>,
) -> (Vec<FileRow>, usize) {
    let mut rows = match skill.kind {
        SkillKind::Bundle => folder_files(source, skill),
        SkillKind::Tree => declared_files(source, skill, resolved),
    };
    let more = rows.len().saturating_sub(MAX_LISTED_FILES);
    rows.truncate(MAX_LISTED_FILES);
    (rows, more)
}

/// Everything in a bundle's folder.
fn folder_files(source: &PageSource, skill: &Skill) -> Vec<FileRow> {
    let Some(folder) = source.snapshot.catalog.files(skill) else { return Vec::new() };
    let row = |path: RelPath| FileRow {
        bytes: folder.file(&path).and_then(bytes),
        name: path.to_string(),
        kind: "file",
        ..FileRow::default()
    };
    folder.paths().into_iter().map(row).collect()
}

/// What a skill of the tree declares, missing files too, and then what it inherits.
fn declared_files(
    source: &PageSource,
    skill: &Skill,
    resolved: Option<&Resolved<'_>>,
) -> Vec<FileRow> {
    let row = |owner: &Skill, declared: Declared<'_>| {
        let (kind, about) = match declared {
            Declared::Asset(asset) => (asset.kind.word(), &asset.description),
            Declared::Script(script) => ("script", &script.description),
        };
        let folder = source.snapshot.catalog.files(owner);
        FileRow {
            name: declared.file().to_string(),
            kind,
            about: about.clone(),
            from: (owner.id != skill.id).then(|| owner.identity.to_string()),
            bytes: folder.and_then(|folder| folder.file(declared.file())).and_then(bytes),
        }
    };
    let own = skill.assets().map(|(asset, _)| Declared::Asset(asset));
    let own = own.chain(skill.scripts().map(|(script, _)| Declared::Script(script)));
    let mut rows: Vec<FileRow> = own.map(|declared| row(skill, declared)).collect();
    if let Some(resolved) = resolved {
        let assets = resolved.inherited_assets.iter();
        rows.extend(assets.map(|found| row(found.from, Declared::Asset(found.declaration))));
        let scripts = resolved.inherited_scripts.iter();
        rows.extend(scripts.map(|found| row(found.from, Declared::Script(found.declaration))));
    }
    rows
}

fn bytes(entry: FileEntry) -> Option<u64> {
    match entry {
        FileEntry::Regular { bytes, .. } => Some(bytes),
        FileEntry::Special => None,
    }
}

/// The skills directly below it, and how many more there are.
fn below(source: &PageSource, skill: &Skill) -> (Vec<String>, usize) {
    let catalog = &source.snapshot.catalog;
    if skill.kind == SkillKind::Tree && !skill.path.is_index() && !skill.path.is_root() {
        return (Vec::new(), 0);
    }
    let Some(node) = catalog.subtree(&skill.identity) else { return (Vec::new(), 0) };
    let all = node.count().saturating_sub(1);
    let named = node.children.iter().filter_map(|child| child.skill);
    let named: Vec<String> =
        named.take(MAX_NAMED_BELOW).map(|skill| skill.identity.to_string()).collect();
    let more = all.saturating_sub(named.len());
    (named, more)
}

fn findings(source: &PageSource, skill: &Skill) -> Vec<FindingRow> {
    let (name, file) = (source.source_name(skill), escaped(skill.file.as_str()));
    let own = source.snapshot.diagnostics().into_iter();
    let own = own.filter(|diagnostic| *diagnostic.source == *name && diagnostic.file == file);
    let nowhere = HashMap::new();
    own.take(MAX_SHOWN_NOTES).map(|diagnostic| finding_row(source, diagnostic, &nowhere)).collect()
}

/// A commit. What is known of it is not for a caller that sees some of the skills: it may be about any other.
fn commit_row(source: &PageSource, commit: &ServedCommit, is_served: bool) -> CommitRow {
    let id = commit.commit.chars().take(12).collect();
    if source.snapshot.is_limited() {
        return CommitRow { commit: id, is_served, ..CommitRow::default() };
    }
    CommitRow {
        commit: id,
        time: commit.seconds.map(moment).unwrap_or_default(),
        author: commit.author.clone(),
        subject: commit.subject.clone(),
        is_served,
    }
}

/// A moment to the minute, in UTC.
fn moment(seconds: i64) -> String {
    let since_epoch = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    let text = clock::timestamp_of(since_epoch);
    let minute = text.get(..16).unwrap_or_default().replace('T', " ");
    format!("{minute} UTC")
}

fn shadows(source: &PageSource, skill: &Skill) -> Vec<ShadowRow> {
    let catalog = &source.snapshot.catalog;
    let copies = catalog.shadowed().into_iter().filter(|copy| copy.winner == skill.id);
    let row = |copy: ShadowedCopy| ShadowRow {
        source: catalog
            .sources()
            .get(copy.source)
            .map(|source| source.name.to_string())
            .unwrap_or_default(),
        outcome: match &copy.served_as {
            Some(name) => format!("served as {name}"),
            None if copy.identical => "the same to the byte".to_owned(),
            None => "differs, and is not served, because its directory comes later".to_owned(),
        },
        file: copy.file.to_string(),
    };
    copies.take(MAX_SHOWN_NOTES).map(row).collect()
}
