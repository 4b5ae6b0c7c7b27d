//! [`WrittenFolders`]: `~/.skills-mcp/written-folders.json`, the folders that scripts were allowed to change on this machine.
//!
//! A script may leave a program in such a folder, and a later process of this user may have the folder on its `PATH`, wherever
//! it was started. So every process knows the folders of all of them. Not here: which folders a script may change, and
//! which programs are started (`programs`).

use std::{
    io,
    path::{Path, PathBuf},
};

use super::file::{change_record, read_record};

/// Beyond this many folders those that are gone are dropped, then the oldest.
const MAX_RECORDED_FOLDERS: usize = 2_000;

/// The file.
#[derive(Debug, Default)]
pub(crate) struct WrittenFolders {
    path: Option<PathBuf>,
}

impl WrittenFolders {
    /// The file in this home.
    pub(crate) fn new(home: Option<&Path>) -> Self {
        Self { path: home.map(|home| home.join(".skills-mcp/written-folders.json")) }
    }

    /// The folders on record, the oldest first. A record that cannot be read is logged.
    pub(crate) fn all(&self) -> Vec<PathBuf> {
        let Some(path) = &self.path else { return Vec::new() };
        let folders = read_record(path).and_then(|text| read(text.as_deref()));
        folders.unwrap_or_else(|error| {
            tracing::warn!("{}: {error}; remove the file", path.display());
            Vec::new()
        })
    }

    /// Records a folder, links resolved, that a script is about to be allowed to change.
    pub(crate) fn record(&self, folder: &Path) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let has = |known: &[PathBuf]| known.iter().any(|known| folder.starts_with(known));
        if has(&self.all()) {
            return Ok(());
        }
        change_record(path, |text| {
            let mut known = read(text.as_deref())?;
            if has(&known) {
                return Ok(None);
            }
            known.push(folder.to_path_buf());
            if known.len() > MAX_RECORDED_FOLDERS {
                known.retain(|known| crate::paths::is_folder(known));
            }
            let newest = known.len().saturating_sub(MAX_RECORDED_FOLDERS);
            Ok(Some(serde_json::to_string_pretty(known.get(newest..).unwrap_or_default())?))
        })
    }
}

fn read(text: Option<&str>) -> io::Result<Vec<PathBuf>> {
    text.map_or_else(|| Ok(Vec::new()), |text| Ok(serde_json::from_str(text)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e01_folders_are_recorded_once_and_known_to_every_process() {
        let home = skills_testkit::Home::new();
        let [one, other] = [(); 2].map(|()| WrittenFolders::new(Some(home.path())));
        assert_eq!(one.all(), Vec::<PathBuf>::new());
        for folder in ["/a", "/a/below", "/b", "/a"] {
            one.record(Path::new(folder)).unwrap();
        }
        assert_eq!(other.all(), [PathBuf::from("/a"), PathBuf::from("/b")]);
        home.write(".skills-mcp/written-folders.json", "{");
        assert_eq!(other.all(), Vec::<PathBuf>::new());
        assert!(other.record(Path::new("/c")).is_err(), "a damaged record is not replaced");
        assert!(WrittenFolders::new(None).record(Path::new("/c")).is_ok());
    }

    #[test]
    fn e01_of_too_many_folders_those_that_are_gone_are_dropped() {
        let home = skills_testkit::Home::new();
        let gone: Vec<String> = (0..MAX_RECORDED_FOLDERS).map(|n| format!("/gone/{n}")).collect();
        home.write(".skills-mcp/written-folders.json", serde_json::to_string(&gone).unwrap());
        let written = WrittenFolders::new(Some(home.path()));
        written.record(home.path()).unwrap();
        assert_eq!(written.all(), [home.path()]);
    }
}
