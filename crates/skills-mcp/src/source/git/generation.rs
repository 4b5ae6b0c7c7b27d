//! [`Generation`]: the files of one commit on disk, written once and never changed.
//!
//! We write them ourselves, from what git says the commit holds: regular files with usable names, within bounds. A link, a
//! submodule, a file too large is left out, and the manifest says so. A generation is there whole or not at all.

use std::{
    collections::{BTreeSet, HashSet},
    io,
    path::{Path, PathBuf},
};

use skills_core::diagnostic::{Code, Finding, escaped};

use super::{
    error::GitError,
    manifest::{CONTENT, File, Manifest, usable},
    mirror::{MAX_FILE_BYTES, Mirror, TreeEntry},
    place::{self, Place},
};
use crate::source::layout::{MAX_BYTES as MAX_TEXT_BYTES, means_content_folder};

/// A commit that takes more of the disk is not served.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// Deeper folders are left out, as they are in directories.
const MAX_DEPTH: usize = 256;
/// The file that says what there is.
const MANIFEST: &str = "manifest";
/// The settings that travel with the content.
const CONFIG: &[u8] = b"config.yaml";

/// One commit's files.
#[derive(Debug)]
pub struct Generation {
    commit: String,
    folder: PathBuf,
    manifest: Manifest,
}

impl Generation {
    /// The one on disk, if it is whole.
    pub(super) fn open(place: &Place, commit: &str) -> Option<Self> {
        let folder = place.generation(commit);
        let manifest = Manifest::parse(&place::read(&folder.join(MANIFEST))?)?;
        let generation = Self { commit: commit.to_owned(), folder, manifest };
        generation.content().is_dir().then_some(generation)
    }

    /// The commit.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// The folder of the content.
    pub fn content(&self) -> PathBuf {
        self.folder.join("skills")
    }

    /// The folder around it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it holds.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Writes a commit that the mirror has. `make_room` is asked before anything is written, with the bytes it will take.
    pub(super) fn write(
        mirror: &Mirror<'_>,
        commit: &str,
        make_room: &dyn Fn(u64) -> Result<(), GitError>,
    ) -> Result<Self, GitError> {
        let place = mirror.place;
        let mut manifest = selected(mirror, mirror.tree(commit)?);
        measure(mirror, &mut manifest)?;
        let bytes = manifest.disk_bytes();
        if bytes > MAX_BYTES {
            let why = format!("it takes {} on disk, more than {}", mib(bytes), mib(MAX_BYTES));
            return Err(GitError::Refused { commit: commit.to_owned(), why });
        }
        make_room(bytes)?;
        let beside = place.unfinished("generation");
        let written = fill(mirror, &beside, &mut manifest).and_then(|()| {
            let finish = || {
                place.replace(&beside.join(MANIFEST), &manifest.text())?;
                place::settle(&beside)?;
                place.discard(&place.generation(commit));
                std::fs::rename(&beside, place.generation(commit))
            };
            finish().map_err(|error| place.disk(error))
        });
        if let Err(error) = written {
            place::remove(&beside);
            return Err(error);
        }
        place::touch(&place.lease(commit));
        Ok(Self { commit: commit.to_owned(), folder: place.generation(commit), manifest })
    }
}

/// So many bytes, for people.
pub(super) fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1024 * 1024))
}

/// The files of a commit that we want: those in `skills/` and the settings beside it where that folder is meant, else all.
fn selected(mirror: &Mirror<'_>, entries: Vec<TreeEntry>) -> Manifest {
    let is_inside = |entry: &TreeEntry| entry.path.starts_with(CONTENT.as_bytes());
    let has_folder = entries.iter().any(is_inside)
        // `git.sparse_checkout` wants that folder and nothing else.
        && (mirror.sparse || {
            let files = entries.iter().filter(|entry| entry.mode.starts_with("100"));
            let paths = files.filter_map(|entry| str::from_utf8(&entry.path).ok());
            means_content_folder(paths, |paths| texts(mirror, &entries, paths))
        });
    let mut manifest = Manifest::default();
    for TreeEntry { mode, blob, path } in entries {
        let wanted = !has_folder || path.starts_with(CONTENT.as_bytes()) || path == CONFIG;
        if !wanted {
            continue;
        }
        let shown = || {
            let shown = String::from_utf8_lossy(&path).into_owned();
            escaped(shown.strip_prefix(CONTENT).filter(|_| has_folder).unwrap_or(&shown))
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
        match usable(&path) {
            Ok(path) if path.segments().count() > MAX_DEPTH => {
                let why = format!("is deeper than {MAX_DEPTH} folders; not served");
                leave_out(Code::TooDeep, &why, "move it up");
            }
            Ok(path) => {
                let path =
                    if has_folder { path.as_str().to_owned() } else { format!("{CONTENT}{path}") };
                let file = File { blob, bytes: 0, executable: mode == "100755" };
                manifest.files.insert(path, file);
            }
            Err(why) => leave_out(Code::NameUnusable, why, "rename it"),
        }
    }
    manifest
}

/// What files of a commit say.
fn texts(mirror: &Mirror<'_>, entries: &[TreeEntry], paths: &[&str]) -> Vec<Vec<u8>> {
    let wanted = |entry: &&TreeEntry| paths.iter().any(|path| entry.path == path.as_bytes());
    let blobs: Vec<&str> = entries.iter().filter(wanted).map(|entry| &*entry.blob).collect();
    let mut texts = Vec::new();
    let Ok(sizes) = mirror.sizes(&blobs) else { return texts };
    let small = |blob: &&str| sizes.get(*blob).is_some_and(|size| *size <= MAX_TEXT_BYTES as u64);
    let blobs: Vec<&str> = blobs.into_iter().filter(small).collect();
    // What cannot be read now is found out about when all of it is.
    let _ = mirror.contents(&blobs, &mut |_, content| {
        let mut text = Vec::new();
        io::copy(content, &mut text)?;
        texts.push(text);
        Ok(())
    });
    texts
}

/// Finds out how large files are, before any is written; those that are too large are left out.
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
        let size = sizes.get(&file.blob).copied().filter(|size| *size <= MAX_FILE_BYTES);
        file.bytes = size.unwrap_or(0);
        if size.is_none() {
            large.push(path.clone());
        }
        size.is_some()
    });
    for path in large {
        let why = format!("is larger than {MAX_FILE_BYTES} bytes; not served");
        let shown = path.strip_prefix(CONTENT).unwrap_or(&path).to_owned();
        manifest
            .left_out
            .push((shown, Finding::whole(Code::FileTooLarge, why).hint("keep it elsewhere")));
    }
    Ok(())
}

/// Writes the files. What another name stands in the way of is left out: some disks know no upper and lower case.
fn fill(mirror: &Mirror<'_>, folder: &Path, manifest: &mut Manifest) -> Result<(), GitError> {
    let disk = |error| mirror.place.disk(error);
    place::make_folder(&folder.join("skills")).map_err(disk)?;
    let files: Vec<(String, File)> =
        manifest.files.iter().map(|(path, file)| (path.clone(), file.clone())).collect();
    let blobs: Vec<&str> = files.iter().map(|(_, file)| file.blob.as_str()).collect();
    let mut made: HashSet<PathBuf> = HashSet::new();
    let mut twice = Vec::new();
    mirror.contents(&blobs, &mut |number, content| {
        let Some((path, file)) = files.get(number) else { return Ok(()) };
        let target = folder.join(path);
        if let Some(above) = target.parent().filter(|above| !made.contains(*above)) {
            place::make_folder(above)?;
            made.insert(above.to_owned());
        }
        match place::create(&target, file.executable) {
            Ok(mut target) => io::copy(content, &mut target).map(drop),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                twice.push(path.clone());
                io::copy(content, &mut io::sink()).map(drop)
            }
            Err(error) => Err(error),
        }
    })?;
    for path in twice {
        manifest.files.remove(&path);
        let why = "another name is the same to this disk; not served";
        manifest.left_out.push((path, Finding::whole(Code::NameUnusable, why).hint("rename it")));
    }
    Ok(())
}
