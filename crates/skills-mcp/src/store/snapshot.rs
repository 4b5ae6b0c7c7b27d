//! [`Snapshot`]: everything one call needs, from one moment.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use sha2::{Digest as _, Sha256};
use skills_core::{
    catalog::{Catalog, Folder, Kind, Skill},
    diagnostic::{Diagnostic, escaped},
    relpath::RelPath,
    route::{
        Router,
        ranked::{Entry, Ranked, Text, Tokenizer},
    },
};
use thiserror::Error;

use crate::{
    config::{Settings, Settled},
    source::{DiskError, Root},
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

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
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
    pub settled: Settled,
    pub(super) roots: Vec<SourceRoot>,
    pub(super) ranked: OnceLock<Ranked>,
}

/// Where a source's files are.
#[derive(Debug)]
pub(super) struct SourceRoot {
    pub(super) path: PathBuf,
    /// The open folder; none where the source could not be read.
    pub(super) root: Option<Arc<Root>>,
}

/// Why a file of a skill could not be served.
#[derive(Debug, Error)]
pub enum ContentError {
    /// It was declared, or even there, and is not now.
    #[error("is missing on disk")]
    Missing,
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

impl Snapshot {
    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settled.settings
    }

    /// The bytes of a file in a skill's resource folder.
    pub fn read(
        &self,
        skill: &Skill,
        file: &RelPath,
        limit: usize,
    ) -> Result<Vec<u8>, ContentError> {
        let source = self.roots.get(skill.source);
        let root = source.and_then(|source| source.root.as_ref()).ok_or(ContentError::Missing)?;
        let path = skill.resource(file).ok_or(ContentError::Missing)?;
        root.read(&path, limit).map_err(|error| match error {
            DiskError::NotFound => ContentError::Missing,
            DiskError::TooLarge { bytes, limit } => ContentError::TooLarge { bytes, limit },
            error @ (DiskError::NotRegular | DiskError::Link(_) | DiskError::Io(_)) => {
                ContentError::Refused(error)
            }
        })
    }

    /// The ranked index. Built beside the first calls; whoever needs it earlier waits for it.
    pub fn ranked(&self) -> &Ranked {
        self.ranked.get_or_init(|| {
            let mut tokenizer = Tokenizer::new();
            Ranked::new(self.catalog.skills().iter().map(|skill| entry(skill, &mut tokenizer)))
        })
    }

    /// The folder a skill's files are in, as an agent would name it: its resource folder, else its file's.
    pub fn place(&self, skill: &Skill) -> String {
        let folder = skill.resources.clone().unwrap_or_else(|| skill.file.folder());
        shown(&self.absolute(skill, &folder))
    }

    /// Where a file of a skill's resource folder lies.
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
        let number = self.catalog.sources().iter().position(|known| &*known.name == source)?;
        let root = self.roots.get(number)?.root.as_ref()?;
        let text = String::from_utf8(root.read(&RelPath::parse(file).ok()?, MAX_SHOWN_BYTES).ok()?)
            .ok()?;
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        text.lines().nth(index).map(|line| line.trim_start_matches('\u{feff}').to_owned())
    }

    /// Where a source lies.
    pub fn source_path(&self, number: usize) -> PathBuf {
        self.roots.get(number).map(|source| source.path.clone()).unwrap_or_default()
    }

    fn absolute(&self, skill: &Skill, path: &RelPath) -> PathBuf {
        let root = self.source_path(skill.source);
        if path.is_root() { root } else { root.join(path.as_str()) }
    }
}

/// Paths in answers have `/` on every system; the project itself is `.`.
fn shown(path: &Path) -> String {
    let shown = path.to_string_lossy().replace('\\', "/");
    if shown.is_empty() { ".".to_owned() } else { shown }
}

/// What a skill offers to be found by.
fn entry(skill: &Skill, tokenizer: &mut Tokenizer) -> Arc<Entry> {
    let fields = skill.fields();
    let clauses: Vec<String> = fields.phrases.iter().chain(&fields.keywords).cloned().collect();
    let name = match skill.kind {
        Kind::Bundle => fields.name.as_deref().unwrap_or(skill.path.name()),
        Kind::Tree => &skill.identity,
    };
    let text = Text {
        name,
        description: &fields.description,
        body: skill.document().body(),
        clauses: &clauses,
    };
    Arc::new(Entry::read(&text, tokenizer))
}
