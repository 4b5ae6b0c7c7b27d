//! [`WrittenFolders`]: `~/.skills-mcp/written-folders.json`, the folders that scripts were allowed to change on this machine.
//!
//! A script may leave a program in such a folder, and a later process of this user may have the folder on its `PATH`, wherever
//! it was started. So every process knows the folders of all of them. Not here: which folders a script may change, and
//! which programs are started (`programs`).

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use super::file::{change_record, read_record};

/// Beyond this many folders, those of one parent are replaced by that parent.
const MAX_RECORDED_FOLDERS: usize = 2_000;
/// Beyond this size as well; a record twice as large would still be read.
const MAX_WRITTEN_FOLDERS_BYTES: usize = 2 * 1024 * 1024;

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

    /// The folders on record. Where there is a record that cannot be read: why, what follows, and the way out.
    pub(crate) fn all(&self) -> Result<Vec<PathBuf>, String> {
        let Some(path) = &self.path else { return Ok(Vec::new()) };
        read_record(path).and_then(|text| read(text.as_deref())).map_err(|error| {
            format!(
                "{}: {error}; it lists the folders in which scripts may have left programs, so until it can be read, only \
                 programs that the system protects are started, such as those in /usr/bin, and scripts change no folder of \
                 yours; make it a file that you can read, or remove it if you trust every program on your PATH",
                path.display()
            )
        })
    }

    /// Records a folder, links resolved, that a script is about to be allowed to change.
    pub(crate) fn record(&self, folder: &Path) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let has = |known: &[PathBuf]| known.iter().any(|known| folder.starts_with(known));
        let add = |text: Option<String>| {
            let mut known = read(text.as_deref())?;
            if has(&known) {
                return Ok(None);
            }
            known.push(folder.to_path_buf());
            merged(known).map(Some)
        };
        let known = read_record(path).and_then(|text| read(text.as_deref()));
        let recorded =
            known.and_then(|known| if has(&known) { Ok(()) } else { change_record(path, add) });
        recorded.map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
    }
}

fn read(text: Option<&str>) -> io::Result<Vec<PathBuf>> {
    text.map_or_else(|| Ok(Vec::new()), |text| Ok(serde_json::from_str(text)?))
}

/// The text of a record. Where there are too many folders none is forgotten: those of the parent with most of them become that
/// parent, which holds them all.
fn merged(mut known: Vec<PathBuf>) -> io::Result<String> {
    loop {
        let text = serde_json::to_string_pretty(&known)?;
        if known.len() <= MAX_RECORDED_FOLDERS && text.len() <= MAX_WRITTEN_FOLDERS_BYTES {
            return Ok(text);
        }
        let mut children: BTreeMap<&Path, usize> = BTreeMap::new();
        for parent in known.iter().filter_map(|folder| folder.parent()) {
            *children.entry(parent).or_default() += 1;
        }
        let depth = |folder: &Path| folder.components().count();
        let fullest = children.into_iter().max_by_key(|(parent, count)| (*count, depth(parent)));
        let Some(parent) = fullest.map(|(parent, _)| parent.to_path_buf()) else {
            return Err(io::Error::other("it would be too large"));
        };
        known.retain(|folder| !folder.starts_with(&parent));
        known.push(parent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e01_folders_are_recorded_once_and_known_to_every_process() {
        let home = skills_testkit::Home::new();
        let [one, other] = [(); 2].map(|()| WrittenFolders::new(Some(home.path())));
        assert_eq!(one.all(), Ok(Vec::new()));
        for folder in ["/a", "/a/below", "/b", "/a"] {
            one.record(Path::new(folder)).unwrap();
        }
        assert_eq!(other.all(), Ok(vec!["/a".into(), "/b".into()]));
        assert!(WrittenFolders::new(None).record(Path::new("/c")).is_ok());
    }

    #[test]
    fn e01_a_record_that_cannot_be_read_is_an_error_and_takes_no_folder() {
        let home = skills_testkit::Home::new();
        let written = WrittenFolders::new(Some(home.path()));
        let file = ".skills-mcp/written-folders.json";
        let too_large = format!("[\"/{}\"]", "x".repeat(5 << 20));
        for damaged in ["{", "", "[1]", &too_large] {
            home.write(file, damaged);
            let why = written.all().unwrap_err();
            assert!(why.contains("or remove it"), "{why}");
            let why = written.record(Path::new("/c")).unwrap_err().to_string();
            assert!(why.contains("written-folders.json"), "{why}");
            let kept = std::fs::read_to_string(home.path().join(file)).unwrap();
            assert!(kept == damaged, "a damaged record is not replaced");
        }
        std::fs::remove_file(home.path().join(file)).unwrap();
        home.write(".skills-mcp/written-folders.json/x", "");
        assert!(written.all().is_err(), "a folder of this name");
    }

    #[test]
    fn e01_too_many_folders_become_their_parents_and_none_is_forgotten() {
        let home = skills_testkit::Home::new();
        let written = WrittenFolders::new(Some(home.path()));
        let record = |folders: &[String]| {
            let text = serde_json::to_string(folders).unwrap();
            home.write(".skills-mcp/written-folders.json", text);
        };
        let mut many: Vec<String> = (0..=MAX_RECORDED_FOLDERS / 2)
            .flat_map(|n| [format!("/projects/a/{n}"), format!("/projects/{n}/deep")])
            .collect();
        many.push("/other".to_owned());
        record(&many);
        written.record(home.path()).unwrap();
        let known = written.all().unwrap();
        assert!(known.len() <= MAX_RECORDED_FOLDERS && known.contains(&"/projects/a".into()));
        let covers = |folder: &Path| known.iter().any(|known| folder.starts_with(known));
        assert!(many.iter().all(|folder| covers(Path::new(folder))) && covers(home.path()));
        assert!(!covers(Path::new("/projects/b")) && !covers(Path::new("/elsewhere")));
        // Long names count too: the record stays one that can be read.
        let long: Vec<String> =
            (0..900).map(|n| format!("/long/{n}/{}", "x".repeat(4_000))).collect();
        record(&long);
        written.record(Path::new("/c")).unwrap();
        let known = written.all().unwrap();
        let covers = |folder: &Path| known.iter().any(|known| folder.starts_with(known));
        assert!(long.iter().all(|folder| covers(Path::new(folder))), "{}", known.len());
    }

    #[cfg(unix)]
    #[test]
    fn e01_a_record_that_a_script_closed_to_its_owner_is_opened_again() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = skills_testkit::Home::new();
        let written = WrittenFolders::new(Some(home.path()));
        written.record(Path::new("/a")).unwrap();
        let mode = |path: &str, mode: u32| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(home.path().join(path), mode).unwrap();
        };
        let state = ".skills-mcp";
        for (n, closed) in ["written-folders.json", "written-folders.lock", "."].iter().enumerate()
        {
            mode(&format!("{state}/{closed}"), 0o000);
            assert!(written.all().is_ok_and(|known| known.contains(&"/a".into())), "{closed}");
            mode(state, 0o500);
            written.record(Path::new(&format!("/b{n}"))).unwrap();
            assert_eq!(written.all().unwrap().len(), n + 2, "{closed}");
        }
    }
}
