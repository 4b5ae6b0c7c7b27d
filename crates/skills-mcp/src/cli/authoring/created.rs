//! Makes new files below a folder that a person named. A file that exists is never changed.
//!
//! A file appears whole or not at all, and no symbolic link below the folder is followed: content must not decide where a
//! command writes. Not here: what the files say.

#![expect(
    clippy::disallowed_methods,
    reason = "the person who runs the command names the folder, and only new files are made in it"
)]

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use skills_core::relpath::RelPath;

use crate::paths::{is_link, is_real_folder, is_taken};

/// So many names of a folder are looked at.
const MAX_LISTED_NAMES: usize = 10_000;

/// A file to make.
pub(super) struct NewFile {
    /// Below the folder.
    pub(super) path: RelPath,
    pub(super) text: String,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Creation {
    /// It is new.
    Made,
    /// Something of this name existed, and stays as it is.
    Kept,
}

/// What [`create`] would do.
pub(super) fn foreseen(folder: &Path, file: &NewFile) -> Creation {
    let is_there = is_taken(&folder.join(file.path.as_str()));
    if is_there { Creation::Kept } else { Creation::Made }
}

/// Makes a file and the folders on the way to it. An error names the path that it is about.
pub(super) fn create(folder: &Path, file: &NewFile) -> Result<Creation, String> {
    let path = folder.join(file.path.as_str());
    let of = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    if foreseen(folder, file) == Creation::Kept {
        return Ok(Creation::Kept);
    }
    fs::create_dir_all(folder).map_err(|error| of(folder, &error))?;
    let mut parent = folder.to_path_buf();
    let names: Vec<&str> = file.path.segments().collect();
    for name in names.iter().take(names.len().saturating_sub(1)) {
        parent.push(name);
        if is_link(&parent) {
            return Err(of(&parent, &"a symbolic link, which is not followed"));
        }
        if is_taken(&parent) && !is_real_folder(&parent) {
            return Err(of(&parent, &"not a folder"));
        }
        if !is_taken(&parent) {
            fs::create_dir(&parent).map_err(|error| of(&parent, &error))?;
        }
    }
    written(&parent, &path, &file.text).map_err(|error| of(&path, &error))
}

/// Writes a file beside its place, and moves it there if the place is free.
fn written(parent: &Path, path: &Path, text: &str) -> io::Result<Creation> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".skills-mcp-");
    // As other programs make files; the person's umask applies.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut beside = builder.tempfile_in(parent)?;
    beside.write_all(text.as_bytes())?;
    match beside.persist_noclobber(path) {
        Ok(_) => Ok(Creation::Made),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(Creation::Kept),
        Err(error) => Err(error.error),
    }
}

/// The names in a folder that are not hidden; none where it cannot be read.
pub(super) fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_LISTED_NAMES);
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;

    fn file(path: &str) -> NewFile {
        NewFile { path: RelPath::parse(path).unwrap(), text: "new".to_owned() }
    }

    #[test]
    fn a_file_is_made_once_and_never_changed() {
        let home = Home::new();
        let folder = home.path().join("made/here");
        assert_eq!(foreseen(&folder, &file("a/b.md")), Creation::Made);
        assert_eq!(create(&folder, &file("a/b.md")), Ok(Creation::Made));
        home.write("made/here/a/b.md", "edited");
        assert_eq!(create(&folder, &file("a/b.md")), Ok(Creation::Kept));
        assert_eq!(fs::read_to_string(folder.join("a/b.md")).unwrap(), "edited");
        assert_eq!(names_in(&folder.join("a")), ["b.md"], "nothing is left beside it");
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_followed_and_a_dangling_one_is_kept() {
        use std::os::unix::fs::symlink;

        let home = Home::with("//- x.md\nx\n");
        symlink(home.skills(), home.path().join("out")).unwrap();
        symlink(home.path().join("nowhere"), home.path().join("dangling.md")).unwrap();
        let refused = create(home.path(), &file("out/new.md")).unwrap_err();
        assert!(refused.ends_with("out: a symbolic link, which is not followed"), "{refused}");
        assert_eq!(names_in(&home.skills()), ["x.md"]);
        assert_eq!(create(home.path(), &file("dangling.md")), Ok(Creation::Kept));
        assert!(!home.path().join("nowhere").exists());
        let refused = create(home.path(), &file("skills/x.md/new.md")).unwrap_err();
        assert!(refused.ends_with("x.md: not a folder"), "{refused}");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_has_the_mode_that_other_programs_give() {
        use std::os::unix::fs::PermissionsExt as _;

        let home = Home::new();
        create(home.path(), &file("a.md")).unwrap();
        home.write("b.md", "by another program");
        let mode = |name: &str| fs::metadata(home.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode("a.md"), mode("b.md"));
    }
}
