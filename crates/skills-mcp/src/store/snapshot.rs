//! [`Snapshot`]: everything one call needs, from one moment.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use sha2::{Digest as _, Sha256};
use skills_core::{
    catalog::{Access, Catalog, Folder, Origin, Skill, SkillKind, Stamp},
    diagnostic::{Diagnostic, escaped},
    digest::hex,
    document::{Dialect, Parsed, SkillText},
    relpath::RelPath,
    route::{Decision, RouteVerdict, Router},
};
use thiserror::Error;

use super::index::Index;
use crate::{
    config::{FileStamp, ResolvedConfig, Settings},
    event::SkillVersion,
    source::{
        Directory, DiskError, FileIdentity, MAX_SKILL_BYTES, Root, ScannedSource,
        git::{Repository, ServedCommit},
    },
};

/// Larger files have no digest.
const MAX_DIGEST_BYTES: usize = 64 * 1024 * 1024;

/// One file of a skill's folder.
#[derive(Debug)]
pub struct SkillFile {
    /// Below the folder.
    pub path: RelPath,
    /// Its size.
    pub bytes: usize,
    /// SHA-256 of its bytes in hexadecimal, or why there is none.
    pub digest: Result<String, ContentError>,
}

/// A diagnostic's line is shown from files up to this size.
const MAX_SHOWN_BYTES: usize = 1024 * 1024;

/// A catalog, its index, the settings that go with it, and the roots its files are read from.
#[derive(Debug)]
pub struct Snapshot {
    /// The skills.
    pub catalog: Catalog,
    /// The index over them.
    pub router: Router,
    /// The settings, with where each came from.
    pub config: Arc<ResolvedConfig>,
    pub(super) roots: Vec<SourceRoot>,
    /// Which state of the record of consent the settings are of.
    pub(super) consent: Option<FileStamp>,
    pub(super) index: Index,
    /// Which skills its catalog may hold.
    pub(super) access: Access,
}

/// Where a source's files are.
#[derive(Debug, Clone)]
pub(super) struct SourceRoot {
    pub(super) path: PathBuf,
    /// The open folder; none where the source could not be read.
    pub(super) root: Option<Arc<Root>>,
    /// Which folder that is.
    pub(super) identity: Option<FileIdentity>,
    /// What its configuration looked like.
    pub(super) config: [Option<Stamp>; 2],
    /// Whether it is on a network file system.
    pub(super) remote: bool,
    /// Whether only a project's file names it.
    pub(super) of_project: bool,
    /// The commit it is, where it comes from a repository.
    pub(super) commit: Option<Arc<str>>,
    /// How many changes were seen below it.
    pub(super) changes: u64,
    /// The repository it comes from.
    pub(super) repository: Option<Arc<Repository>>,
}

impl SourceRoot {
    /// A source as a scan found it.
    pub(super) fn of(
        source: &Directory,
        scanned: &ScannedSource,
        config: [Option<Stamp>; 2],
    ) -> Self {
        Self {
            path: scanned.place(source).to_owned(),
            root: scanned.root().cloned(),
            identity: scanned.identity(),
            config,
            remote: scanned.is_remote(),
            of_project: source.is_of_project(),
            commit: scanned.commit().cloned(),
            changes: scanned.changes(),
            repository: source.repository().cloned(),
        }
    }
}

/// Why a file of a skill could not be served.
#[derive(Debug, Error)]
pub enum ContentError {
    /// It was declared, or even there, and is not now.
    #[error("is missing on disk")]
    Missing,
    /// It does not say what it said when it was indexed.
    #[error("is being changed at this moment")]
    Changed,
    /// It is over the limit.
    #[error("is {bytes} bytes, over the limit of {limit} bytes")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: usize,
    },
    /// Everything else.
    #[error("{0}")]
    Refused(DiskError),
}

impl ContentError {
    fn of(error: DiskError) -> Self {
        match error {
            DiskError::NotFound => Self::Missing,
            DiskError::TooLarge { bytes, limit } => Self::TooLarge { bytes, limit },
            error @ (DiskError::NotRegular
            | DiskError::Link(_)
            | DiskError::NotSkill
            | DiskError::Io(_)) => Self::Refused(error),
        }
    }
}

impl Snapshot {
    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.config.settings
    }

    /// Which skills its caller may see.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Which state of a skill this is.
    pub fn version(&self, skill: &Skill) -> SkillVersion {
        let source = self.roots.get(skill.source);
        SkillVersion {
            digest: Some(format!("sha256:{}", hex(skill.document().digest()))),
            commit: source.and_then(|source| source.commit.as_deref()).map(str::to_owned),
        }
    }

    /// When a skill's file was last modified, in seconds since 1970 began. Of a repository's files that says nothing.
    pub fn modified(&self, skill: &Skill) -> Option<i64> {
        let source = self.roots.get(skill.source).filter(|source| source.commit.is_none())?;
        source.root.as_ref()?.modified(&skill.file)
    }

    /// Of a repository's skill: the commit that is served, and earlier ones that were served on this machine where the file
    /// differs; newest first.
    pub fn history(&self, skill: &Skill) -> Vec<ServedCommit> {
        let source = self.roots.get(skill.source);
        let known =
            source.and_then(|source| source.repository.as_ref().zip(source.commit.as_ref()));
        known.map_or_else(Vec::new, |(repository, commit)| repository.history(commit, &skill.file))
    }

    /// The bytes of a file in a skill's resource folder.
    pub fn read(
        &self,
        skill: &Skill,
        file: &RelPath,
        limit: usize,
    ) -> Result<Vec<u8>, ContentError> {
        let path = skill.resource(file).ok_or(ContentError::Missing)?;
        self.read_file(skill, &path, limit)
    }

    /// What a skill says: the very text that was indexed. It is read again, because of many skills few are asked for.
    pub fn text(&self, skill: &Skill) -> Result<SkillText, ContentError> {
        let bytes = self.read_file(skill, &skill.file, MAX_SKILL_BYTES)?;
        skill.document().text(bytes).ok_or(ContentError::Changed)
    }

    /// Whether a skill's file looks exactly as it did when it was indexed, and so says what it said then.
    pub fn is_as_indexed(&self, skill: &Skill) -> bool {
        let source = self.catalog.sources().get(skill.source);
        let known = source.and_then(|source| source.root.file(&skill.file));
        let root = self.roots.get(skill.source).and_then(|source| source.root.as_ref());
        known.zip(root).is_some_and(|(known, root)| root.is_same(&skill.file, known))
    }

    /// What a skill is and says at this moment, if its file still is a skill's.
    pub fn newest(&self, skill: &Skill) -> Result<(Skill, SkillText), ContentError> {
        let bytes = self.read_file(skill, &skill.file, MAX_SKILL_BYTES)?;
        let dialect = match skill.kind {
            SkillKind::Tree => Dialect::Tree,
            SkillKind::Bundle => Dialect::Bundle,
        };
        let content = Parsed::read(bytes.clone(), dialect).skill.ok_or(ContentError::Changed)?;
        let text = content.document.text(bytes).ok_or(ContentError::Changed)?;
        Ok((skill.with_content(content), text))
    }

    fn read_file(
        &self,
        skill: &Skill,
        path: &RelPath,
        limit: usize,
    ) -> Result<Vec<u8>, ContentError> {
        let source = self.roots.get(skill.source);
        let root = source.and_then(|source| source.root.as_ref()).ok_or(ContentError::Missing)?;
        root.read(path, limit).map_err(ContentError::of)
    }

    /// How many changes were seen in the sources so far, of any file in them.
    pub fn changes(&self) -> u64 {
        self.roots.iter().map(|source| source.changes).sum()
    }

    /// Whether a skill is in a directory that the operator named, and not in a repository, a plugin, a client's directory or a
    /// directory that a project's file names.
    pub fn is_in_named_directory(&self, skill: &Skill) -> bool {
        let origin = self.catalog.sources().get(skill.source).map(|source| &source.origin);
        let of_others = |source: &SourceRoot| source.commit.is_some() || source.of_project;
        matches!(origin, Some(Origin::Named)) && !self.roots.get(skill.source).is_none_or(of_others)
    }

    /// Whether a source comes from a repository.
    pub fn has_repositories(&self) -> bool {
        self.roots.iter().any(|source| source.repository.is_some())
    }

    /// Whether reading a file may take long.
    pub fn is_slow(&self) -> bool {
        self.roots.iter().any(|source| source.remote)
    }

    /// Whether the sources are the folders that this was read from, and their configurations what they were.
    pub(super) fn is_in_place(&self, sources: &[Directory], consent: Option<FileStamp>) -> bool {
        let same = |(root, source): (&SourceRoot, &Directory)| root.identity == source.identity();
        self.roots.iter().zip(sources).all(same) && self.has_same_configuration(sources, consent)
    }

    pub(super) fn has_same_configuration(
        &self,
        sources: &[Directory],
        consent: Option<FileStamp>,
    ) -> bool {
        let mut roots = self.roots.iter().zip(sources);
        self.consent == consent
            && roots.all(|(root, source)| is_same_config(&root.config, &source.config_stamps()))
    }

    /// Whether its configurations looked like this.
    pub(super) fn has_configurations(
        &self,
        now: &[[Option<Stamp>; 2]],
        consent: Option<FileStamp>,
    ) -> bool {
        self.consent == consent
            && self.roots.iter().zip(now).all(|(root, now)| is_same_config(&root.config, now))
    }

    /// Whether its files are read from the folders that are served now.
    pub(super) fn is_rooted_in(&self, scanned: &[ScannedSource]) -> bool {
        let same =
            |(root, scanned): (&SourceRoot, &ScannedSource)| root.identity == scanned.identity();
        self.roots.len() == scanned.len() && self.roots.iter().zip(scanned).all(same)
    }

    /// Decides which skill a request loads, or which ones it is offered.
    pub fn decide(&self, request: &str) -> Decision {
        let matching = &self.settings().matching;
        self.router.decide(&self.catalog, || self.searched(), request, matching)
    }

    /// Applies the keyword formula alone to a request.
    pub fn keywords(&self, request: &str) -> RouteVerdict {
        self.router.route(&self.catalog, request, &self.settings().matching)
    }

    /// The folder a skill's files are in, as an agent would name it: its resource folder, else its file's.
    pub fn place(&self, skill: &Skill) -> String {
        let folder = skill.resources.clone().unwrap_or_else(|| skill.file.folder());
        shown(&self.absolute(skill, &folder))
    }

    /// Where the plugin around a skill is, else the skill's own folder.
    pub fn plugin_root(&self, skill: &Skill) -> String {
        let folder = self.catalog.plugin_folder(skill);
        folder.map_or_else(|| self.place(skill), |folder| shown(&self.absolute(skill, &folder)))
    }

    /// Where a file of a skill's resource folder is.
    pub fn path_of(&self, skill: &Skill, file: &RelPath) -> String {
        let path = skill.resource(file).unwrap_or_else(|| file.clone());
        shown(&self.absolute(skill, &path))
    }

    /// A skill's folder and file, relative to `project` where they lie below it.
    pub fn locate(&self, skill: &Skill, project: &Path) -> (String, String) {
        let relative = |path: &RelPath| {
            let path = self.absolute(skill, path);
            shown(path.strip_prefix(project).unwrap_or(&path))
        };
        (relative(&skill.file.folder()), relative(&skill.file))
    }

    /// Every file in a skill's folder, with its size and digest, read now.
    pub fn files(&self, skill: &Skill) -> Vec<SkillFile> {
        let paths = self.catalog.files(skill).map(Folder::paths).unwrap_or_default();
        let file = |path: RelPath| {
            let content = self.read(skill, &path, MAX_DIGEST_BYTES);
            let bytes = content.as_ref().map_or(0, Vec::len);
            let digest = content.map(|content| hex(&Sha256::digest(&content)));
            SkillFile { path, bytes, digest }
        };
        paths.into_iter().map(file).collect()
    }

    /// The file a diagnostic speaks of, by a path that can be opened.
    pub fn file_of(&self, diagnostic: &Diagnostic) -> String {
        let number =
            self.catalog.sources().iter().position(|source| source.name == diagnostic.source);
        match number.and_then(|number| self.roots.get(number)) {
            Some(source) => shown(&source.path.join(&diagnostic.file)),
            None => diagnostic.file.clone(),
        }
    }

    /// A diagnostic with the whole path of its file.
    pub fn described(&self, diagnostic: &Diagnostic) -> String {
        let mut whole = diagnostic.clone();
        whole.file = escaped(&self.file_of(diagnostic));
        whole.to_string()
    }

    /// One line of a file that a diagnostic speaks of, where it can still be read.
    pub fn line(&self, source: &str, file: &str, line: u32) -> Option<String> {
        let text = self.file_text(source, file)?;
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        text.lines().nth(index).map(|line| line.trim_start_matches('\u{feff}').to_owned())
    }

    /// The text of a file that a diagnostic speaks of, where it can still be read.
    pub fn file_text(&self, source: &str, file: &str) -> Option<String> {
        let number = self.catalog.sources().iter().position(|known| &*known.name == source)?;
        let root = self.roots.get(number)?.root.as_ref()?;
        let bytes = root.read(&RelPath::parse(file).ok()?, MAX_SHOWN_BYTES).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// The bytes of a file in the folder of a source.
    pub fn source_file(
        &self,
        number: usize,
        file: &str,
        limit: usize,
    ) -> Result<Vec<u8>, ContentError> {
        let root = self.roots.get(number).and_then(|source| source.root.as_ref());
        let path = RelPath::parse(file).map_err(|_| ContentError::Missing)?;
        root.ok_or(ContentError::Missing)?.read(&path, limit).map_err(ContentError::of)
    }

    /// Where a source is.
    pub fn source_path(&self, number: usize) -> PathBuf {
        self.roots.get(number).map(|source| source.path.clone()).unwrap_or_default()
    }

    /// The path of the source of this name.
    pub fn path_of_source(&self, name: &str) -> Option<String> {
        let number = self.catalog.sources().iter().position(|source| &*source.name == name)?;
        Some(shown(&self.roots.get(number)?.path))
    }

    fn absolute(&self, skill: &Skill, path: &RelPath) -> PathBuf {
        let root = self.source_path(skill.source);
        if path.is_root() { root } else { root.join(path.as_str()) }
    }
}

fn is_same_config(before: &[Option<Stamp>; 2], now: &[Option<Stamp>; 2]) -> bool {
    before.iter().zip(now).all(|places| match places {
        (Some(before), Some(now)) => before.is_same(*now),
        (before, now) => before.is_none() && now.is_none(),
    })
}

/// Paths in answers have `/` on every system; the project itself is `.`.
fn shown(path: &Path) -> String {
    let shown = path.to_string_lossy().replace('\\', "/");
    if shown.is_empty() { ".".to_owned() } else { shown }
}
