//! [`DigestCache`]: what the files of published skills hash to, from the first time that a client asks.
//!
//! A digest belongs to a file as a snapshot lists it. Within one snapshot it stays the same; a later one takes it over where the
//! file certainly did not change. So a digest is computed once, at a cost that neither a start nor an edit pays, and a client is
//! shown a digest only with bytes that hash to it: bytes that do not are read again over a later snapshot.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use sha2::{Digest as _, Sha256};
use skills_core::{
    catalog::{
        Catalog, FileEntry, Folder, MAX_PUBLISHED_BYTES, MAX_PUBLISHED_FILES, Skill, SkillKind,
    },
    document::{ContentDigest, SkillDocument, written_front_matter},
    relpath::RelPath,
    resolve::{self, find_file, inherited_from},
};

use super::{
    BUNDLE_FILE, Publication,
    render::{description, rendered, text_of, unread},
    uri::PublishedSkill,
};
use crate::{
    store::{ContentError, Snapshot},
    surface::Refusal,
};

/// Skills that are gone are forgotten once there are twice as many as the last time, and more than this.
const MIN_FORGETTING: usize = 256;

/// What the files of skills hash to.
#[derive(Debug, Default)]
pub(in crate::surface) struct DigestCache(Mutex<CachedSkills>);

#[derive(Debug, Default)]
struct CachedSkills {
    skills: HashMap<(Arc<str>, RelPath), Arc<HashedSkill>>,
    /// So many skills were there when those that are gone were forgotten last.
    remembered: usize,
}

/// One file of a published skill.
#[derive(Debug)]
pub(in crate::surface) struct HashedFile {
    /// Below the skill's address.
    pub(in crate::surface) path: RelPath,
    /// Of its bytes.
    pub(in crate::surface) digest: ContentDigest,
    /// How many bytes it has.
    pub(in crate::surface) size: u64,
    /// The file as it was listed.
    entry: FileEntry,
}

/// A published skill's files.
#[derive(Debug)]
pub(in crate::surface) struct HashedSkill {
    /// Its own content: once no catalog holds that any more, the skill is gone.
    content: Weak<SkillDocument>,
    /// The snapshot over which the files were read.
    over: Weak<Snapshot>,
    /// Everything that its `SKILL.md` depends on.
    basis: ContentDigest,
    /// Of the bytes of its `SKILL.md`.
    pub(in crate::surface) digest: ContentDigest,
    /// How many bytes its `SKILL.md` has.
    pub(in crate::surface) size: u64,
    /// Its front matter as JSON.
    pub(in crate::surface) front_matter: Box<str>,
    /// The files beside its `SKILL.md`, by path.
    pub(in crate::surface) files: Vec<HashedFile>,
}

/// A file beside a skill's `SKILL.md`: its own, or one that it inherits.
pub(super) struct FileBeside<'a> {
    pub(super) path: RelPath,
    /// The skill in whose folder it is.
    pub(super) owner: &'a Skill,
    pub(super) entry: FileEntry,
}

/// What reading a file came to.
pub(super) enum FileRead {
    Bytes(Vec<u8>),
    /// It was listed and is not there any more.
    Gone,
    /// It is too large by now, or may not be read: its skill cannot be published.
    Unreadable,
}

/// The files beside a skill's `SKILL.md`, by path; none where they are too many to be published.
pub(super) fn files_beside<'a>(
    catalog: &'a Catalog,
    skill: &'a Skill,
) -> Option<Vec<FileBeside<'a>>> {
    let paths: Vec<RelPath> = match skill.kind {
        SkillKind::Bundle => catalog.files(skill).map(Folder::paths).unwrap_or_default(),
        SkillKind::Tree => {
            resolve::files(catalog, skill).iter().map(|declared| declared.file().clone()).collect()
        }
    };
    let file = |path: RelPath| {
        let owner = match skill.kind {
            SkillKind::Bundle => skill,
            SkillKind::Tree => find_file(catalog, skill, &path)?.owner,
        };
        let entry = catalog.files(owner)?.file(&path)?;
        let is_regular = matches!(entry, FileEntry::Regular { .. });
        is_regular.then_some(FileBeside { path, owner, entry })
    };
    let paths = paths.into_iter().filter(|path| path.as_str() != BUNDLE_FILE);
    let mut files: Vec<FileBeside<'a>> = paths.filter_map(file).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    let bytes: u64 = files.iter().map(|file| file.entry.bytes()).sum();
    (files.len() < MAX_PUBLISHED_FILES && bytes <= MAX_PUBLISHED_BYTES).then_some(files)
}

impl Publication {
    /// What a skill's files hash to; none where it cannot be published as things are.
    pub(in crate::surface) fn hashed(
        &self,
        address: &PublishedSkill,
        skill: &Skill,
    ) -> Result<Option<Arc<HashedSkill>>, Refusal> {
        let catalog = &self.snapshot.catalog;
        let Some(source) = catalog.sources().get(skill.source) else { return Ok(None) };
        let key = (Arc::clone(&source.name), skill.file.clone());
        let known = self.digests.open().skills.get(&key).cloned();
        let Some(listed) = files_beside(catalog, skill) else { return Ok(None) };
        let basis = self.basis(skill, address.name());
        let is_over = known
            .as_ref()
            .is_some_and(|known| std::ptr::eq(known.over.as_ptr(), Arc::as_ptr(&self.snapshot)));
        let reusable = |file: &FileBeside<'_>| {
            let known = known.as_ref()?;
            let at = known.files.binary_search_by(|other| other.path.cmp(&file.path)).ok()?;
            let found = known.files.get(at)?;
            (is_over || found.entry.is_same(file.entry)).then_some((found.digest, found.size))
        };
        if let Some(known) = known.as_ref().filter(|known| {
            known.basis == basis
                && known.files.len() == listed.len()
                && listed.iter().all(|file| reusable(file).is_some())
        }) {
            return Ok(Some(Arc::clone(known)));
        }
        let mut files = Vec::with_capacity(listed.len());
        for file in &listed {
            let (digest, size) = match reusable(file) {
                Some(known) => known,
                None => match self.bytes(file)? {
                    FileRead::Bytes(bytes) => (Sha256::digest(&bytes).into(), bytes.len() as u64),
                    FileRead::Gone => continue,
                    FileRead::Unreadable => return Ok(None),
                },
            };
            files.push(HashedFile { path: file.path.clone(), digest, size, entry: file.entry });
        }
        let same = known.as_ref().filter(|known| known.basis == basis);
        let text = if let Some(known) = same {
            (known.digest, known.size, known.front_matter.clone())
        } else {
            let Some(text) = self.hashed_text(address, skill)? else { return Ok(None) };
            text
        };
        let (digest, size, front_matter) = text;
        let content = Arc::downgrade(skill.content());
        let over = Arc::downgrade(&self.snapshot);
        let hashed =
            Arc::new(HashedSkill { content, over, basis, digest, size, front_matter, files });
        self.digests.open().remember(key, Arc::clone(&hashed));
        Ok(Some(hashed))
    }

    /// The bytes of a file beside a `SKILL.md`, as many as were listed; on the last try as many as there are.
    pub(super) fn bytes(&self, file: &FileBeside<'_>) -> Result<FileRead, Refusal> {
        let limit = usize::try_from(MAX_PUBLISHED_BYTES).unwrap_or(usize::MAX);
        match self.snapshot.read(file.owner, &file.path, limit) {
            Ok(bytes) if bytes.len() as u64 == file.entry.bytes() || self.is_last_try => {
                Ok(FileRead::Bytes(bytes))
            }
            Ok(_) => Err(unread(file.owner, &ContentError::Changed)),
            Err(ContentError::Missing) if self.is_last_try => Ok(FileRead::Gone),
            Err(error @ (ContentError::Missing | ContentError::Changed)) => {
                Err(unread(file.owner, &error))
            }
            Err(error @ (ContentError::TooLarge { .. } | ContentError::Refused(_))) => {
                tracing::debug!(
                    skill = &*file.owner.identity,
                    "not published: {} {error}",
                    file.path
                );
                Ok(FileRead::Unreadable)
            }
        }
    }

    /// Digest, size and front matter of a `SKILL.md`.
    fn hashed_text(
        &self,
        address: &PublishedSkill,
        skill: &Skill,
    ) -> Result<Option<(ContentDigest, u64, Box<str>)>, Refusal> {
        let text = self.skill_md(address, skill)?;
        let front = match skill.kind {
            SkillKind::Bundle => match written_front_matter(&text) {
                Some(front) => super::front_matter::json(&front),
                None => return Ok(None),
            },
            SkillKind::Tree => {
                serde_json::json!({"name": address.name(), "description": description(skill)})
            }
        };
        let digest = Sha256::digest(&text).into();
        Ok(Some((digest, text.len() as u64, front.to_string().into())))
    }

    /// The text of a `SKILL.md`: a bundle's own bytes, or what is rendered of a tree skill.
    pub(in crate::surface) fn skill_md(
        &self,
        address: &PublishedSkill,
        skill: &Skill,
    ) -> Result<String, Refusal> {
        match skill.kind {
            SkillKind::Bundle => Ok(text_of(&self.snapshot, skill)?.into_whole()),
            SkillKind::Tree => rendered(&self.snapshot, skill, address.name()),
        }
    }

    /// Everything that a `SKILL.md` depends on: the texts of the skill and of those it inherits from, its name and the limit.
    pub(super) fn basis(&self, skill: &Skill, name: &str) -> ContentDigest {
        let mut all = Sha256::new().chain_update(skill.document().digest());
        if skill.kind == SkillKind::Tree {
            for above in inherited_from(&self.snapshot.catalog, skill) {
                all.update(above.document().digest());
                all.update(above.identity.as_bytes());
            }
            let max_tokens = self.snapshot.settings().content.max_tokens;
            all.update(format!("\n{name}\n{}\n{max_tokens}", skill.identity));
        }
        all.finalize().into()
    }
}

impl DigestCache {
    fn open(&self) -> MutexGuard<'_, CachedSkills> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedSkills {
    fn remember(&mut self, key: (Arc<str>, RelPath), hashed: Arc<HashedSkill>) {
        self.skills.insert(key, hashed);
        if self.skills.len() > MIN_FORGETTING.max(2 * self.remembered) {
            self.skills.retain(|_, hashed| hashed.content.strong_count() > 0);
            self.remembered = self.skills.len();
        }
    }
}
