//! The skills about this program that it brings itself, for agents that help their users with skills.
//!
//! The binary holds them, and writes them to `~/.skills-mcp/own-skills/VERSION` where they are asked for and not there yet, so that
//! they are read, watched and cached as any other source is. Not here: whether they are asked for.

#![expect(clippy::disallowed_methods, reason = "this file writes the folder of our own skills")]

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use skills_core::catalog::Origin;

use super::{AgentDirectory, Links};
use crate::config::create_private_folder;

/// The source's name.
const SOURCE_NAME: &str = "skills-mcp";

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        /// Every skill of `own-skills/`, by path; a test compares it with the folder.
        const FILES: &[(&str, &[u8])] =
            &[$(($path, include_bytes!(concat!("../../own-skills/", $path)))),+];
    };
}

files![
    "skills-mcp-authoring/SKILL.md",
    "skills-mcp-routing/SKILL.md",
    "skills-mcp-server/SKILL.md",
    "skills-mcp-wording/SKILL.md",
];

/// Our own skills as a source, on disk below this home folder. It comes after all others, so that it hides none of their skills.
pub fn own_skills(home: &Path) -> io::Result<AgentDirectory> {
    let path = home.join(".skills-mcp/own-skills").join(env!("CARGO_PKG_VERSION"));
    for (file, content) in FILES {
        let place = path.join(file);
        if fs::read(&place).ok().as_deref() != Some(*content) {
            replace(&place, content)?;
        }
    }
    Ok(AgentDirectory {
        name: SOURCE_NAME.to_owned(),
        boundary: path.clone(),
        path,
        origin: Origin::User,
        links: Links::Refuse,
    })
}

/// Writes a file whole or not at all: other servers may read it at this moment.
fn replace(place: &PathBuf, content: &[u8]) -> io::Result<()> {
    let folder = place.parent().unwrap_or(place);
    create_private_folder(folder)?;
    let mut beside = tempfile::Builder::new().prefix(".unfinished-").tempfile_in(folder)?;
    beside.write_all(content)?;
    beside.persist(place)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_skills_are_those_of_the_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("own-skills");
        let folders = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
        let files = folders.filter(|path| path.is_dir()).flat_map(|folder| {
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
        });
        let mut found: Vec<String> = files
            .map(|path| path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/"))
            .collect();
        found.sort();
        let embedded: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
        assert_eq!(embedded, found);
    }

    #[test]
    fn what_was_changed_on_disk_is_written_again() {
        let home = tempfile::tempdir().unwrap();
        let (file, content) = FILES.first().unwrap();
        let place = own_skills(home.path()).unwrap().path.join(file);
        fs::write(&place, "changed").unwrap();
        own_skills(home.path()).unwrap();
        assert_eq!(fs::read(&place).unwrap(), *content);
        let names = fs::read_dir(place.parent().unwrap()).unwrap().count();
        assert_eq!(names, 1, "an unfinished file was left");
    }
}
