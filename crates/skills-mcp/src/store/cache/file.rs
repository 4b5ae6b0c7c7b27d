//! [`CacheFile`]: one file of `~/.skills-mcp/cache`, read whole and replaced whole.

#![expect(clippy::disallowed_methods, reason = "this file reads and writes the cache")]

use std::{
    fs::{self, File, OpenOptions},
    hash::{DefaultHasher, Hasher as _},
    io::{self, Read as _, Write as _},
    ops::Range,
    path::{Path, PathBuf},
    time::SystemTime,
};

use sha2::{Digest as _, Sha256};
use skills_core::digest::hex;

use crate::{
    clock,
    config::{create_private_folder, private},
    paths::own_program,
};

/// Every file begins with this; another format gets another one.
const FORMAT_MARK: &[u8; 16] = b"skills-mcp-idx-2";
/// A larger file is not read.
const MAX_CACHE_BYTES: u64 = 1024 * 1024 * 1024;
/// So many caches of other sources and builds stay; the least lately used go first.
const MAX_CACHES: usize = 16;

/// The parts of the file: scans, search, files.
const SECTION_COUNT: usize = 3;
/// The mark, the checksum and the length of each part.
const HEADER_BYTES: usize = 16 + 8 + 8 * SECTION_COUNT;

/// Where one cache is.
#[derive(Debug, Clone)]
pub(super) struct CacheFile {
    path: PathBuf,
}

/// The parts of a cache that was read.
pub(super) struct CacheSections {
    bytes: Vec<u8>,
    parts: [Range<usize>; SECTION_COUNT],
}

impl CacheFile {
    /// The file for these sources, as this build of the program writes it.
    pub(super) fn new(home: &Path, sources: &str) -> Option<Self> {
        let program = fs::metadata(own_program().ok()?).ok()?;
        let modified = program.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let build = format!("{} {} {modified:?}", env!("CARGO_PKG_VERSION"), program.len());
        let key = hex(&Sha256::digest(format!("{build}\n{sources}")));
        let path = home.join(".skills-mcp/cache").join(key.get(..32)?);
        Some(Self { path })
    }

    /// The file's parts; none if it is not there, not whole or not ours.
    pub(super) fn read(&self) -> Option<CacheSections> {
        let file = private(OpenOptions::new().read(true)).open(&self.path).ok()?;
        let length = file.metadata().ok().filter(fs::Metadata::is_file)?.len();
        let mut bytes = Vec::with_capacity(usize::try_from(length.min(MAX_CACHE_BYTES)).ok()?);
        file.take(MAX_CACHE_BYTES).read_to_end(&mut bytes).ok()?;
        let header = bytes.first_chunk::<HEADER_BYTES>()?;
        let mut start = HEADER_BYTES;
        let mut parts = [const { 0..0 }; SECTION_COUNT];
        let (numbers, _) = header.as_chunks::<8>();
        for (part, length) in parts.iter_mut().zip(numbers.iter().skip(3)) {
            let end = start.checked_add(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
            *part = start..end;
            start = end;
        }
        let sections = CacheSections { bytes, parts };
        let is_whole = start == sections.bytes.len();
        let expected = header_of([sections.scans(), sections.search(), sections.files()]);
        (is_whole && sections.bytes.starts_with(&expected)).then_some(sections)
    }

    /// Replaces the file, whole or not at all, unless it says the same already.
    pub(super) fn write(&self, sections: &[Vec<u8>; SECTION_COUNT]) -> io::Result<()> {
        let header = header_of(sections.each_ref().map(Vec::as_slice));
        let mut known = [0; HEADER_BYTES];
        let read = File::open(&self.path).and_then(|mut file| file.read_exact(&mut known));
        if read.is_ok() && known == header {
            return Ok(());
        }
        let folder = self.path.parent().unwrap_or(&self.path);
        create_private_folder(folder)?;
        let name = format!("{}.{:016x}.tmp", std::process::id(), clock::jitter().to_bits());
        let aside = self.path.with_extension(name);
        let written = write_new(&aside, &header, sections);
        let written = written.and_then(|()| fs::rename(&aside, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&aside);
        }
        sweep(folder);
        written
    }
}

impl CacheSections {
    /// The sources as they were scanned.
    pub(super) fn scans(&self) -> &[u8] {
        self.part(0)
    }

    /// What a search needs.
    pub(super) fn search(&self) -> &[u8] {
        self.part(1)
    }

    /// What files said.
    pub(super) fn files(&self) -> &[u8] {
        self.part(2)
    }

    fn part(&self, number: usize) -> &[u8] {
        self.parts.get(number).and_then(|part| self.bytes.get(part.clone())).unwrap_or_default()
    }
}

fn write_new(path: &Path, header: &[u8], sections: &[Vec<u8>]) -> io::Result<()> {
    let mut file = private(OpenOptions::new().write(true).create_new(true)).open(path)?;
    file.write_all(header)?;
    sections.iter().try_for_each(|section| file.write_all(section))
}

/// What stands before these sections: the mark, a checksum and their lengths. The checksum finds damage, not forgery: a
/// program that can write here can replace this one too.
fn header_of(sections: [&[u8]; SECTION_COUNT]) -> [u8; HEADER_BYTES] {
    let mut hasher = DefaultHasher::new();
    for section in sections {
        hasher.write_usize(section.len());
        hasher.write(section);
    }
    let lengths = sections.map(|section| (section.len() as u64).to_le_bytes());
    let parts = [FORMAT_MARK.as_slice(), &hasher.finish().to_le_bytes(), lengths.as_flattened()];
    let mut header = [0; HEADER_BYTES];
    for (place, byte) in header.iter_mut().zip(parts.concat()) {
        *place = byte;
    }
    header
}

/// Removes the least lately used caches, where there are too many, and what processes that were killed left.
fn sweep(folder: &Path) {
    let modified = |entry: fs::DirEntry| {
        let modified = entry.metadata().and_then(|found| found.modified());
        Some((modified.ok()?, entry.path()))
    };
    let mut files: Vec<(SystemTime, PathBuf)> =
        fs::read_dir(folder).into_iter().flatten().flatten().filter_map(modified).collect();
    files.sort();
    let over = files.len().saturating_sub(MAX_CACHES);
    for (_, path) in files.into_iter().take(over) {
        let _ = fs::remove_file(path);
    }
}
