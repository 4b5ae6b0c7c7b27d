//! [`Generation`]: the files of one commit on disk, written once and never changed.
//!
//! This module writes them from git's listing of the commit: regular files with usable names, within limits. Links, submodules
//! and files that are too large are left out, and the manifest says so. A generation exists whole or not at all.

use std::{
    collections::{BTreeSet, HashSet},
    hash::{BuildHasher as _, RandomState},
    io,
    path::{Path, PathBuf},
};

use skills_core::diagnostic::{Code, Finding, escaped};

use super::{
    error::GitError,
    manifest::{CONTENT_PREFIX, Manifest, ManifestFile, usable_path},
    mirror::{MAX_BLOB_BYTES, Mirror, TreeEntry},
    storage::{self, RepositoryStorage},
};
use crate::{
    paths::is_folder,
    source::layout::{MAX_BYTES as MAX_TEXT_BYTES, means_content_folder},
};

/// A commit that takes more of the disk is not served.
const MAX_GENERATION_BYTES: u64 = 1024 * 1024 * 1024;
/// Deeper folders are left out, as they are in directories.
const MAX_FOLDER_DEPTH: usize = 256;
/// The file of the manifest.
const MANIFEST_FILE: &str = "manifest";
/// The settings of the content.
const CONFIG_FILE: &[u8] = b"config.yaml";

/// One commit's files.
#[derive(Debug)]
pub(crate) struct Generation {
    commit: String,
    folder: PathBuf,
    manifest: Manifest,
}

impl Generation {
    /// The stored one, if it is whole.
    pub(super) fn open(storage: &RepositoryStorage, commit: &str) -> Option<Self> {
        let folder = storage.generation(commit);
        let manifest = Manifest::parse(&storage::read(&folder.join(MANIFEST_FILE))?)?;
        let generation = Self { commit: commit.to_owned(), folder, manifest };
        is_folder(&generation.content()).then_some(generation)
    }

    /// The commit.
    pub(crate) fn commit(&self) -> &str {
        &self.commit
    }

    /// The folder of the content.
    pub(crate) fn content(&self) -> PathBuf {
        self.folder.join("skills")
    }

    /// The folder around it.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it holds.
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Writes a commit that the mirror has. Calls `make_room` before that, with the bytes it will take.
    pub(super) fn write(
        mirror: &Mirror<'_>,
        commit: &str,
        make_room: &dyn Fn(u64) -> Result<(), GitError>,
    ) -> Result<Self, GitError> {
        let storage = mirror.storage;
        let mut manifest = select(mirror, mirror.tree(commit)?);
        measure(mirror, &mut manifest)?;
        let bytes = manifest.disk_bytes();
        if bytes > MAX_GENERATION_BYTES {
            let limit = mib(MAX_GENERATION_BYTES);
            let why = format!("it takes {} on disk, more than {limit}", mib(bytes));
            return Err(GitError::Refused { commit: commit.to_owned(), why });
        }
        make_room(bytes)?;
        let (unfinished, folder) = (storage.unfinished("generation"), storage.generation(commit));
        // Its files were changed, and what was read of them has the same fingerprint.
        manifest.rewritten = is_folder(&folder).then(|| RandomState::new().hash_one(commit));
        let written = write_files(mirror, &unfinished, &mut manifest).and_then(|()| {
            let finish = || {
                storage.replace(&unfinished.join(MANIFEST_FILE), &manifest.text())?;
                storage::flush(&unfinished)?;
                storage.discard(&folder);
                storage::rename(&unfinished, &folder)
            };
            finish().map_err(|error| storage.disk_error(error))
        });
        if let Err(error) = written {
            storage::remove(&unfinished);
            return Err(error);
        }
        storage::touch(&storage.lease(commit));
        Ok(Self { commit: commit.to_owned(), folder, manifest })
    }
}

/// A number of bytes, for messages.
pub(super) fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1024 * 1024))
}

/// The files of a commit that are wanted: those in `skills/` and the settings beside it where that is the content folder, else
/// all.
fn select(mirror: &Mirror<'_>, entries: Vec<TreeEntry>) -> Manifest {
    let is_inside = |entry: &TreeEntry| entry.path.starts_with(CONTENT_PREFIX.as_bytes());
    let has_folder = entries.iter().any(is_inside)
        // `git.sparse_checkout` always means that folder.
        && (mirror.sparse || {
            let files = entries.iter().filter(|entry| entry.mode.starts_with("100"));
            let paths = files.filter_map(|entry| str::from_utf8(&entry.path).ok());
            means_content_folder(paths, |paths| texts(mirror, &entries, paths))
        });
    let mut manifest = Manifest { is_whole: !has_folder, ..Manifest::default() };
    for TreeEntry { mode, blob, path } in entries {
        let wanted =
            !has_folder || path.starts_with(CONTENT_PREFIX.as_bytes()) || path == CONFIG_FILE;
        if !wanted {
            continue;
        }
        let shown = || {
            let shown = String::from_utf8_lossy(&path).into_owned();
            escaped(shown.strip_prefix(CONTENT_PREFIX).filter(|_| has_folder).unwrap_or(&shown))
        };
        let mut leave_out = |code, why: &str, hint: &str| {
            manifest.left_out.push((shown(), Finding::whole(code, why).hint(hint)));
        };
        match mode.as_str() {
            "120000" => {
                leave_out(
                    Code::LinkRefused,
                    "is a symbolic link, which git sources do not follow",
                    "replace the link by the file",
                );
                continue;
            }
            "160000" => {
                leave_out(
                    Code::NotRegular,
                    "is a submodule, which is not fetched",
                    "name its repository as a source",
                );
                continue;
            }
            _ => {}
        }
        match usable_path(&path) {
            Ok(path) if path.segments().count() > MAX_FOLDER_DEPTH => {
                let why = format!("lies deeper than {MAX_FOLDER_DEPTH} folders; not served");
                leave_out(Code::TooDeep, &why, "move it up");
            }
            Ok(path) => {
                let path = if has_folder {
                    path.as_str().to_owned()
                } else {
                    format!("{CONTENT_PREFIX}{path}")
                };
                let file = ManifestFile { blob, bytes: 0, executable: mode == "100755" };
                manifest.files.insert(path, file);
            }
            Err(why) => leave_out(Code::NameUnusable, why, "rename it"),
        }
    }
    manifest
}

/// The texts of some files of a commit.
fn texts(mirror: &Mirror<'_>, entries: &[TreeEntry], paths: &[&str]) -> Vec<Vec<u8>> {
    let wanted = |entry: &&TreeEntry| paths.iter().any(|path| entry.path == path.as_bytes());
    let blobs: Vec<&str> = entries.iter().filter(wanted).map(|entry| &*entry.blob).collect();
    let mut texts = Vec::new();
    let Ok(sizes) = mirror.sizes(&blobs) else { return texts };
    let small = |blob: &&str| sizes.get(*blob).is_some_and(|size| *size <= MAX_TEXT_BYTES as u64);
    let blobs: Vec<&str> = blobs.into_iter().filter(small).collect();
    // An error shows again when all files are read.
    let _ = mirror.contents(&blobs, &mut |_, content| {
        let mut text = Vec::new();
        io::copy(content, &mut text)?;
        texts.push(text);
        Ok(())
    });
    texts
}

/// Sets the sizes of the files, before any is written; those that are too large are left out.
fn measure(mirror: &Mirror<'_>, manifest: &mut Manifest) -> Result<(), GitError> {
    let blobs: BTreeSet<&str> = manifest.files.values().map(|file| file.blob.as_str()).collect();
    let blobs: Vec<&str> = blobs.into_iter().collect();
    let mut sizes = mirror.sizes(&blobs)?;
    if mirror.sparse {
        let missing: Vec<&str> =
            blobs.iter().copied().filter(|blob| !sizes.contains_key(*blob)).collect();
        mirror.fetch_blobs(&missing)?;
        sizes.extend(mirror.sizes(&missing)?);
    }
    let mut large = Vec::new();
    manifest.files.retain(|path, file| {
        let size = sizes.get(&file.blob).copied().filter(|size| *size <= MAX_BLOB_BYTES);
        file.bytes = size.unwrap_or(0);
        if size.is_none() {
            large.push(path.clone());
        }
        size.is_some()
    });
    for path in large {
        let why = format!("is larger than {MAX_BLOB_BYTES} bytes; not served");
        let shown = path.strip_prefix(CONTENT_PREFIX).unwrap_or(&path).to_owned();
        manifest
            .left_out
            .push((shown, Finding::whole(Code::FileTooLarge, why).hint("keep it elsewhere")));
    }
    Ok(())
}

/// Writes the files. A file whose name is taken is left out: some disks ignore upper and lower case.
fn write_files(
    mirror: &Mirror<'_>,
    folder: &Path,
    manifest: &mut Manifest,
) -> Result<(), GitError> {
    let disk_error = |error| mirror.storage.disk_error(error);
    storage::make_folder(&folder.join("skills")).map_err(disk_error)?;
    let files: Vec<(String, ManifestFile)> =
        manifest.files.iter().map(|(path, file)| (path.clone(), file.clone())).collect();
    let blobs: Vec<&str> = files.iter().map(|(_, file)| file.blob.as_str()).collect();
    let mut made: HashSet<PathBuf> = HashSet::new();
    let mut taken = Vec::new();
    mirror.contents(&blobs, &mut |number, content| {
        let Some((path, file)) = files.get(number) else { return Ok(()) };
        let target = folder.join(path);
        if let Some(above) = target.parent().filter(|above| !made.contains(*above)) {
            storage::make_folder(above)?;
            made.insert(above.to_owned());
        }
        match storage::create(&target, file.executable) {
            Ok(mut target) => io::copy(content, &mut target).map(drop),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                taken.push(path.clone());
                io::copy(content, &mut io::sink()).map(drop)
            }
            Err(error) => Err(error),
        }
    })?;
    for path in taken {
        manifest.files.remove(&path);
        let why = "another name is the same to this disk; not served";
        manifest.left_out.push((path, Finding::whole(Code::NameUnusable, why).hint("rename it")));
    }
    Ok(())
}
