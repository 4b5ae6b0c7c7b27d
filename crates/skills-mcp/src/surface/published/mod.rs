//! Skills as folders of files under `skill://` addresses, for clients that read resources or speak the Skills extension.
//!
//! A bundle is published with its own bytes if it conforms to Agent Skills; a tree skill as a bundle that is rendered of it. All
//! that is said of a skill in one answer comes from one snapshot: [`Publication`]. Not here: how lists and entries are spelled
//! (`extension`, `resources`).

mod digests;
mod front_matter;
mod render;
mod uri;

use std::sync::{Arc, Mutex, PoisonError, Weak};

pub(super) use digests::HashedSkill;
use digests::{DigestCache, FileBeside, FileRead};
pub(super) use render::{composed, text_of};
use sha2::{Digest as _, Sha256};
use skills_core::{
    catalog::{Skill, SkillKind},
    diagnostic::one_line,
    document::ContentDigest,
    relpath::RelPath,
};
use tokio_util::sync::CancellationToken;
pub(super) use uri::{AddressTable, PublishedSkill, SCHEME};

use super::Refusal;
use crate::store::Snapshot;

/// What the text of every published skill is called.
pub(super) const BUNDLE_FILE: &str = "SKILL.md";
/// So many tables of addresses are kept: one for each snapshot that is in use, and snapshots differ by who may see what.
const MAX_KEPT_TABLES: usize = 8;

/// So much of an address is repeated in a refusal.
const MAX_SHOWN_URI_CHARS: usize = 200;

/// The published skills over one snapshot, for one answer.
#[derive(Debug)]
pub struct Publication {
    /// The snapshot.
    pub snapshot: Arc<Snapshot>,
    pub(super) addresses: Arc<AddressTable>,
    digests: Arc<DigestCache>,
    /// Whether no other try follows: then a list has a file as it is now, though it is being written.
    pub(super) is_last_try: bool,
    cancelled: CancellationToken,
}

/// What several answers about published skills share.
#[derive(Debug, Default)]
pub(super) struct PublishedSkills {
    /// The tables that were made last, each with its snapshot; the latest is the last.
    tables: Mutex<Vec<(Weak<Snapshot>, Arc<AddressTable>)>>,
    digests: Arc<DigestCache>,
}

impl PublishedSkills {
    /// The published skills over a snapshot.
    pub(super) fn over(
        &self,
        snapshot: Arc<Snapshot>,
        is_last_try: bool,
        cancelled: CancellationToken,
    ) -> Publication {
        let addresses = self.addresses(&snapshot);
        let digests = Arc::clone(&self.digests);
        Publication { snapshot, addresses, digests, is_last_try, cancelled }
    }

    /// The addresses of the published skills over a snapshot.
    pub(super) fn addresses(&self, snapshot: &Arc<Snapshot>) -> Arc<AddressTable> {
        let tables = || self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |over: &Weak<Snapshot>| std::ptr::eq(over.as_ptr(), Arc::as_ptr(snapshot));
        if let Some((_, known)) = tables().iter().find(|(over, _)| is_over(over)) {
            return Arc::clone(known);
        }
        let table = Arc::new(AddressTable::new(&snapshot.catalog));
        let mut tables = tables();
        tables.retain(|(over, _)| over.strong_count() > 0);
        if tables.len() >= MAX_KEPT_TABLES {
            tables.remove(0);
        }
        tables.push((Arc::downgrade(snapshot), Arc::clone(&table)));
        table
    }
}

/// A file as a client reads it.
#[derive(Debug)]
pub struct FileContent {
    /// Its address.
    pub uri: String,
    /// Its type, by its name and its bytes.
    pub mime_type: &'static str,
    /// Its bytes.
    pub bytes: FileBytes,
}

/// A file of a skill, as it is known without reading it.
enum ListedFile<'a> {
    /// A `SKILL.md`: everything that it depends on.
    Text(ContentDigest),
    /// Any other.
    Beside(FileBeside<'a>),
}

/// The bytes of a file.
#[derive(Debug)]
pub enum FileBytes {
    /// UTF-8, which a text carries byte by byte.
    Text(String),
    /// Anything else.
    Binary(Vec<u8>),
}

impl Publication {
    /// The skill at an address of this publication.
    pub(super) fn skill(&self, address: &PublishedSkill) -> Option<&Skill> {
        self.snapshot.catalog.published_skill(address.id)
    }

    /// The addresses of the files beside a skill's `SKILL.md`, as they are listed.
    pub(super) fn uris_beside(&self, address: &PublishedSkill, skill: &Skill) -> Vec<String> {
        let files = digests::files_beside(&self.snapshot.catalog, skill).unwrap_or_default();
        files.iter().map(|file| address.uri(&file.path)).collect()
    }

    /// A refusal, if the client waits no longer.
    pub(super) fn check_cancelled(&self) -> Result<(), Refusal> {
        if self.cancelled.is_cancelled() { Err(Refusal::cancelled()) } else { Ok(()) }
    }

    /// The file at an address: bytes that hash to what a manifest over this snapshot says.
    pub(super) fn file(&self, uri: &str) -> Result<FileContent, Refusal> {
        let unknown = || Refusal::NoResource { uri: uri.to_owned(), message: self.unknown(uri) };
        let (address, path) = self.addresses.find(uri).ok_or_else(unknown)?;
        let skill = self.skill(address).ok_or_else(unknown)?;
        let hashed = self.hashed(address, skill)?.ok_or_else(unknown)?;
        let (bytes, digest) = if path.as_str() == BUNDLE_FILE {
            (self.skill_md(address, skill)?.into_bytes(), hashed.digest)
        } else {
            let known = hashed.files.iter().find(|file| file.path == path).ok_or_else(unknown)?;
            let listed = digests::files_beside(&self.snapshot.catalog, skill).unwrap_or_default();
            let file = listed.iter().find(|file| file.path == path).ok_or_else(unknown)?;
            let FileRead::Bytes(bytes) = self.bytes(file)? else { return Err(unknown()) };
            (bytes, known.digest)
        };
        if ContentDigest::from(Sha256::digest(&bytes)) != digest {
            return Err(Refusal::Stale(format!(
                "Resource '{uri:.200}' is being changed at this moment. Try again in a moment."
            )));
        }
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => FileBytes::Text(text),
            Err(binary) => FileBytes::Binary(binary.into_bytes()),
        };
        let mime_type = media_type(path.name()).unwrap_or(match bytes {
            FileBytes::Text(_) => "text/plain",
            FileBytes::Binary(_) => "application/octet-stream",
        });
        Ok(FileContent { uri: address.uri(&path), mime_type, bytes })
    }

    /// Whether the file at an address came, went, or may say something else than before. No file is read.
    pub fn is_updated(&self, before: &Self, uri: &str) -> bool {
        match (before.listed(uri), self.listed(uri)) {
            (None, None) => false,
            (Some(ListedFile::Text(was)), Some(ListedFile::Text(is))) => was != is,
            (Some(ListedFile::Beside(was)), Some(ListedFile::Beside(is))) => {
                // A file that changed a moment ago is listed with too little to compare; then its folder was listed anew.
                let folder = |file: &FileBeside<'_>, skills: &'_ Self| {
                    let source = skills.snapshot.catalog.sources().get(file.owner.source)?;
                    let path = file.owner.resource(&file.path.folder())?;
                    source.root.folder(&path).map(std::ptr::from_ref)
                };
                was.owner.file != is.owner.file
                    || !(was.entry.is_same(is.entry) || folder(&was, before) == folder(&is, self))
            }
            _ => true,
        }
    }

    fn listed(&self, uri: &str) -> Option<ListedFile<'_>> {
        let (address, path) = self.addresses.find(uri)?;
        let skill = self.skill(address)?;
        if path.as_str() == BUNDLE_FILE {
            return Some(ListedFile::Text(self.basis(skill, address.name())));
        }
        let files = digests::files_beside(&self.snapshot.catalog, skill)?;
        files.into_iter().find(|file| file.path == path).map(ListedFile::Beside)
    }

    /// The same for two snapshots only where the files beside every skill are listed alike. No file is read.
    pub fn files_digest(&self) -> ContentDigest {
        let mut all = Sha256::new();
        for skill in self.snapshot.catalog.published() {
            let files = digests::files_beside(&self.snapshot.catalog, skill).unwrap_or_default();
            for file in files {
                all.update(format!("{} {:?} ", file.path, file.entry));
            }
        }
        all.finalize().into()
    }

    /// What to say of an address without a file.
    pub fn unknown(&self, uri: &str) -> String {
        self.other_than(uri, |uri| format!("there is no resource '{uri}'"))
    }

    /// What to say of an address that is not what it should be, and where to look instead.
    pub(super) fn other_than(&self, uri: &str, what: impl FnOnce(&str) -> String) -> String {
        let shown: String = one_line(uri).chars().take(MAX_SHOWN_URI_CHARS).collect();
        let what = what(&shown);
        match self.addresses.find(uri) {
            Some((address, _)) => {
                format!(
                    "{what}; the skill there is {}, and skills/get lists its files",
                    address.text_uri()
                )
            }
            None => format!("{what}; resources/list has what there is"),
        }
    }
}

/// The description in a skill's front matter.
pub(super) fn description(skill: &Skill) -> String {
    match skill.kind {
        SkillKind::Bundle => skill.fields().description.clone(),
        SkillKind::Tree => render::description(skill),
    }
}

/// The type of a file by its name, where that says it.
pub(super) fn media_type(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    let known = MEDIA_TYPES.iter().find(|(names, _)| names.contains(&extension.as_str()));
    known.map(|(_, media_type)| *media_type)
}

/// Extensions and their types: what clients show as it is, or choose a reader by.
const MEDIA_TYPES: &[(&[&str], &str)] = &[
    (&["md", "markdown"], "text/markdown"),
    (&["txt"], "text/plain"),
    (&["html", "htm"], "text/html"),
    (&["css"], "text/css"),
    (&["csv"], "text/csv"),
    (&["js", "mjs", "cjs"], "text/javascript"),
    (&["json"], "application/json"),
    (&["yaml", "yml"], "application/yaml"),
    (&["toml"], "application/toml"),
    (&["xml"], "application/xml"),
    (&["py"], "text/x-python"),
    (&["sh", "bash"], "text/x-shellscript"),
    (&["png"], "image/png"),
    (&["jpg", "jpeg"], "image/jpeg"),
    (&["gif"], "image/gif"),
    (&["webp"], "image/webp"),
    (&["svg"], "image/svg+xml"),
    (&["pdf"], "application/pdf"),
    (&["zip"], "application/zip"),
    (&["woff"], "font/woff"),
    (&["woff2"], "font/woff2"),
];

/// The direct entries of a folder of a skill: file names, and folder names.
pub(super) fn entries_of<'a>(
    hashed: &'a HashedSkill,
    folder: &RelPath,
) -> (Vec<(&'a RelPath, u64)>, Vec<&'a str>) {
    let prefix = if folder.is_root() { String::new() } else { format!("{folder}/") };
    let mut files = Vec::new();
    let mut folders: Vec<&str> = Vec::new();
    for file in &hashed.files {
        let Some(rest) = file.path.as_str().strip_prefix(&prefix) else { continue };
        match rest.split_once('/') {
            None => files.push((&file.path, file.size)),
            Some((name, _)) => folders.push(name),
        }
    }
    folders.sort_unstable();
    folders.dedup();
    (files, folders)
}
