//! What a scan learned, kept on disk for the next process: in the manner of git's index, a file that looks as it did is not read
//! again.
//!
//! A file is the same if its path, size, inode and times of modification and change are; one that changed within a second of
//! being seen is never trusted. A cache belongs to one list of sources and one build of this program, and a damaged one is not
//! used. Processes replace it whole, so that a reader needs no lock. Not here: reading and writing the file (`file`).

mod file;

use std::{collections::HashMap, fmt, io, path::Path, sync::Arc};

use file::CacheFile;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use skills_core::{
    catalog::{Catalog, FileEntry, Folder, Skill, SkillId, SkillKind},
    diagnostic::Finding,
    document::{ContentDigest, Parsed},
    packed,
    relpath::RelPath,
    route::{
        Exclusions, own_name,
        ranked::{RankedIndex, Ranking, SearchHit, SearchScope},
    },
};

use super::Snapshot;
use crate::source::{Directory, FileIdentity, ScanScope, ScannedSource};

/// Where the cache of some sources is.
#[derive(Debug, Clone)]
pub struct Cache(CacheFile);

/// A source as it was scanned.
#[derive(Serialize, Deserialize)]
struct CachedScan {
    identity: Option<FileIdentity>,
    folder: Arc<Folder>,
    findings: Vec<(String, Finding)>,
}

/// A skill as far as a search shows it.
#[derive(Debug, Serialize, Deserialize)]
pub struct CachedSkill {
    source: usize,
    /// Which of the two layouts it has.
    pub kind: SkillKind,
    path: String,
    digest: ContentDigest,
    evals: Vec<(RelPath, FileEntry)>,
    /// Its name without what stands before it.
    name: String,
    /// Its identity.
    pub identity: String,
    /// What it is called where it is loaded by name.
    pub label: String,
    /// What it is for.
    pub description: String,
}

/// What a search needs. Skills are numbered by source and file.
#[derive(Debug, Serialize, Deserialize)]
pub struct CachedSearch {
    skills: SkillTable,
    index: RankedIndex,
}

/// Skills by number, each decoded when it is asked for: a search shows few of ten thousand.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SkillTable {
    /// Where the bytes of each skill end.
    #[serde(with = "packed::numbers")]
    ends: Vec<u32>,
    #[serde(with = "packed::bytes")]
    bytes: Vec<u8>,
}

impl SkillTable {
    fn push(&mut self, skill: &CachedSkill) -> io::Result<()> {
        self.bytes.extend(encoded(skill)?);
        self.ends.push(u32::try_from(self.bytes.len()).map_err(io::Error::other)?);
        Ok(())
    }

    fn get(&self, number: usize) -> Option<CachedSkill> {
        let start =
            number.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        decoded(self.bytes.get(start as usize..*self.ends.get(number)? as usize)?)
    }
}

/// What was read of each source's files.
#[derive(Serialize, Deserialize)]
struct CachedFiles(Vec<Vec<(RelPath, Arc<Parsed>)>>);

/// What an earlier process knew, for the first refresh of this one.
pub(super) struct Restored {
    scans: Vec<CachedScan>,
    search: CachedSearch,
    files: Vec<HashMap<RelPath, Arc<Parsed>>>,
}

impl fmt::Debug for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restored")
            .field("skills", &self.search.skills.ends.len())
            .finish_non_exhaustive()
    }
}

impl Cache {
    /// The cache of these sources for the user of this home folder.
    pub fn new(home: &Path, sources: &[Directory]) -> Option<Self> {
        let described: Vec<String> = sources.iter().map(Directory::description).collect();
        CacheFile::new(home, &described.join("\n")).map(Self)
    }

    /// What a search needs, if every source is as it was when the cache was written.
    pub fn unchanged(&self, sources: &[Directory]) -> Option<CachedSearch> {
        let sections = self.0.read()?;
        let scans: Vec<CachedScan> = decoded(sections.scans())?;
        if scans.len() != sources.len() {
            return None;
        }
        let is_same = |(number, (scan, source)): (usize, (&CachedScan, &Directory))| {
            scan.is_found_again(number, source)
        };
        let same = scans.iter().zip(sources).enumerate().all(is_same);
        same.then(|| decoded(sections.search())).flatten()
    }

    pub(super) fn restore(&self) -> Option<Restored> {
        let sections = self.0.read()?;
        let CachedFiles(files) = decoded(sections.files())?;
        let files = files.into_iter().map(|files| files.into_iter().collect());
        Some(Restored {
            scans: decoded(sections.scans())?,
            search: decoded(sections.search())?,
            files: files.collect(),
        })
    }

    /// Keeps what a snapshot knows. Where it cannot be kept, the next process reads everything.
    pub fn save(&self, snapshot: &Snapshot) {
        let sections = snapshot.sections();
        if let Err(error) = sections.and_then(|sections| self.0.write(&sections)) {
            tracing::debug!("the cache was not written: {error}");
        }
    }
}

fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}

fn encoded(value: &impl Serialize) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(io::Error::other)
}

impl CachedScan {
    /// Whether a scan now finds the same.
    fn is_found_again(&self, number: usize, source: &Directory) -> bool {
        let Some(identity) = self.identity else { return !source.is_there() };
        let mut scanned = ScannedSource::resumed(identity, Arc::clone(&self.folder));
        let found = scanned.scan(source, number, ScanScope::All, None);
        found.is_ok()
            && scanned.identity() == Some(identity)
            && (Arc::ptr_eq(scanned.folder(), &self.folder) || *scanned.folder() == self.folder)
            && scanned.folder().is_sure()
            && scanned.findings() == self.findings
    }
}

impl CachedSearch {
    /// Finds the skills that a request most likely means, as the search over a catalog does.
    pub fn search(&self, query: &str, limit: usize) -> Ranking {
        let exclusions = Exclusions::new(query);
        let skill = |entry| self.skills.get(entry);
        let place = |entry| skill(entry).map(|skill| (skill.source, skill.kind, skill.path));
        let scope = SearchScope {
            has: &|entry| skill(entry).is_some_and(|skill| !exclusions.has(&skill.name)),
            order: &|a, b| place(a).cmp(&place(b)),
        };
        self.index.search_in(query, limit, scope)
    }

    /// The skill of a hit.
    pub fn skill(&self, hit: &SearchHit) -> Option<CachedSkill> {
        self.skills.get(hit.entry)
    }
}

impl Restored {
    /// What a file of a source said, if it is in the state that it was in.
    pub(super) fn parsed(
        &self,
        number: usize,
        file: &RelPath,
        entry: FileEntry,
    ) -> Option<Arc<Parsed>> {
        let before = self.scans.get(number)?.folder.file(file)?;
        let parsed = self.files.get(number)?.get(file).filter(|_| before.is_same(entry));
        parsed.map(Arc::clone)
    }

    /// The index with the numbers of this catalog, exact, and the skills that it does not have.
    pub(super) fn index(self, catalog: &Catalog) -> (RankedIndex, Vec<SkillId>) {
        let CachedSearch { skills, index } = self.search;
        let now: HashMap<(usize, SkillKind, &str), &Skill> = catalog
            .skills()
            .map(|skill| ((skill.source, skill.kind, skill.path.as_str()), skill))
            .collect();
        let mut numbers = vec![None; skills.ends.len()];
        let mut is_cached = vec![false; catalog.end()];
        for (old, number) in numbers.iter_mut().enumerate() {
            let Some(cached) = skills.get(old) else { continue };
            let skill = now.get(&(cached.source, cached.kind, cached.path.as_str()));
            let is_same = |skill: &&&Skill| {
                cached.digest == *skill.document().digest()
                    && cached.identity == *skill.identity
                    && skill.has_same_evals(&cached.evals)
            };
            let Some(skill) = skill.filter(is_same) else { continue };
            *number = Some(skill.id.index());
            if let Some(is_cached) = is_cached.get_mut(skill.id.index()) {
                *is_cached = true;
            }
        }
        let is_missing = |skill: &&Skill| is_cached.get(skill.id.index()) != Some(&true);
        let missing = catalog.skills().filter(is_missing).map(|skill| skill.id).collect();
        let gone = numbers.iter().enumerate().filter(|(_, new)| new.is_none());
        let index = index.with(gone.map(|(old, _)| (old, None))).renumbered(&numbers);
        (index, missing)
    }
}

impl Snapshot {
    fn sections(&self) -> io::Result<[Vec<u8>; 3]> {
        let sources = || self.catalog.sources().iter();
        let scans: Vec<CachedScan> = sources()
            .zip(&self.roots)
            .map(|(source, root)| CachedScan {
                identity: root.identity,
                folder: Arc::clone(&source.root),
                findings: source.scan_findings().to_vec(),
            })
            .collect();
        let files = |source: &skills_core::catalog::Source| {
            source.parsed().map(|(file, parsed)| (file.clone(), Arc::clone(parsed))).collect()
        };
        let files = CachedFiles(sources().map(files).collect());
        Ok([encoded(&scans)?, encoded(&self.cached_search()?)?, encoded(&files)?])
    }

    fn cached_search(&self) -> io::Result<CachedSearch> {
        let mut skills: Vec<&Skill> = self.catalog.skills().collect();
        skills.sort_by(|a, b| (a.source, &a.file).cmp(&(b.source, &b.file)));
        let mut numbers = vec![None; self.catalog.end()];
        for (new, skill) in skills.iter().enumerate() {
            if let Some(number) = numbers.get_mut(skill.id.index()) {
                *number = Some(new);
            }
        }
        let cached = |skill: &Skill| CachedSkill {
            source: skill.source,
            kind: skill.kind,
            path: skill.path.to_string(),
            digest: *skill.document().digest(),
            evals: skill.evals.clone(),
            name: own_name(skill).to_owned(),
            identity: skill.identity.to_string(),
            label: skill.label.to_string(),
            description: skill.fields().description.clone(),
        };
        let mut table = SkillTable::default();
        skills.into_iter().try_for_each(|skill| table.push(&cached(skill)))?;
        Ok(CachedSearch { skills: table, index: self.ranked().renumbered(&numbers) })
    }
}
