//! [`ProjectFile`]: the `.skills-mcp.yaml` of the project around the start directory, and whether the operator agreed to it.
//!
//! A project's file is written by others, so it counts only while its text is the one that the operator agreed to once. The
//! agreement is bound to the file's real path and to the digest of its text. Not here: what its entries lead to (`sources`),
//! and the question (`cli/trust`).

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use skills_core::digest::hex;

use super::{
    ConfigError, Environment,
    consent_file::ConsentFile,
    file::read_optional,
    source_list::{PROJECT_FILE, SourceList},
};
use crate::paths::{is_link, is_taken, project_levels, real_path_or_same};

/// A project's file.
#[derive(Debug)]
pub struct ProjectFile {
    /// Its real path.
    pub path: PathBuf,
    /// The project: what the file names has to be in this folder.
    pub root: PathBuf,
    /// What it says.
    pub list: Result<SourceList, ConfigError>,
    /// Whether the operator agreed to it.
    pub consent: ProjectConsent,
    digest: String,
}

/// Whether the operator agreed to a project's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectConsent {
    /// They agreed to this very text, at this time.
    Agreed(String),
    /// They were never asked, or said no.
    Waiting,
    /// They agreed to another text, at this time.
    Changed(String),
    /// The record cannot be read, for this reason.
    Unknown(String),
}

impl ProjectFile {
    /// The nearest one, from the start directory up to the repository's root.
    pub fn find(environment: &Environment) -> Option<Self> {
        let levels = project_levels(&environment.directory, environment.home.as_deref());
        let root = real_path_or_same(levels.last()?);
        let found = levels.iter().map(|level| level.join(PROJECT_FILE)).find(|at| is_taken(at))?;
        Self::read(&found, root, &ConsentFile::new(environment.home.as_deref()))
    }

    fn read(found: &Path, root: PathBuf, consent: &ConsentFile) -> Option<Self> {
        let folder = real_path_or_same(found.parent()?);
        let path = folder.join(PROJECT_FILE);
        let name = path.display().to_string();
        let unreadable = |error: String| ConfigError::Unreadable { file: name.clone(), error };
        // Through a link any file's text could become part of a message.
        let text = if is_link(found) {
            Err(unreadable("a symbolic link is not followed".to_owned()))
        } else {
            read_optional(found).map_err(|error| unreadable(error.to_string()))
        };
        let text = text.map(Option::unwrap_or_default);
        let digest = hex(&Sha256::digest(text.as_deref().unwrap_or_default()));
        let consent = match consent.project(&path) {
            Ok(Some(record)) if record.digest == digest => ProjectConsent::Agreed(record.since),
            Ok(Some(record)) => ProjectConsent::Changed(record.since),
            Ok(None) => ProjectConsent::Waiting,
            Err(why) => ProjectConsent::Unknown(why),
        };
        let list = text.and_then(|text| SourceList::read(&name, &text));
        Some(Self { path, root, list, consent, digest })
    }

    /// The folder it is in.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// What it says, where it says anything and the operator agreed to that.
    pub(super) fn agreed(&self) -> Option<&SourceList> {
        let list = self.list.as_ref().ok()?;
        matches!(self.consent, ProjectConsent::Agreed(_)).then_some(list)
    }

    /// Whether it names anything that waits for the operator.
    pub fn waits(&self) -> bool {
        let names_any = self.list.as_ref().is_ok_and(|list| !list.is_empty());
        names_any && !matches!(self.consent, ProjectConsent::Agreed(_))
    }

    /// Records the operator's agreement to the text as it was read; without `agree`, takes it back.
    pub fn decide(&self, environment: &Environment, agree: bool) -> Result<(), String> {
        let consent = ConsentFile::new(environment.home.as_deref());
        consent.decide_project(&self.path, agree.then_some(self.digest.as_str()))
    }

    /// What the operator should know of it.
    pub(super) fn notices(&self) -> Vec<String> {
        let file = self.path.display();
        let waits = |why: &str| {
            vec![format!("{file} is not used: {why}; `skills-mcp trust` shows what it names")]
        };
        match (&self.consent, &self.list) {
            (_, Ok(list)) if list.is_empty() && list.others.is_empty() => Vec::new(),
            (_, Err(error)) => vec![format!("{error}; the project's file is not used")],
            (ProjectConsent::Waiting, _) => waits("you have not agreed to it yet"),
            (ProjectConsent::Changed(_), _) => waits("it has changed since you agreed to it"),
            (ProjectConsent::Unknown(why), _) => waits(why),
            (ProjectConsent::Agreed(_), Ok(list)) => list
                .unread_in_project()
                .into_iter()
                .map(|(line, message)| format!("{file}:{line}: {message}"))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;

    fn environment(home: &Home, below: &str) -> Environment {
        Environment {
            home: Some(home.path().to_path_buf()),
            directory: home.path().join(below),
            ..Environment::default()
        }
    }

    // SOURCE-11
    #[test]
    fn a_yes_is_for_one_text_at_one_path() {
        let home = Home::new();
        home.write("project/.git/HEAD", "");
        home.write("project/a/b/x", "");
        home.write("project/.skills-mcp.yaml", "sources:\n  - dir: skills\n");
        let environment = environment(&home, "project/a/b");
        let found = || ProjectFile::find(&environment).unwrap();
        assert!(found().waits() && found().agreed().is_none());
        assert!(found().notices()[0].contains("you have not agreed"), "{:?}", found().notices());
        found().decide(&environment, true).unwrap();
        assert!(!found().waits() && found().agreed().is_some());
        home.write("project/.skills-mcp.yaml", "sources:\n  - dir: other\n");
        assert!(matches!(found().consent, ProjectConsent::Changed(_)));
        assert!(found().agreed().is_none());
        home.write("project/.skills-mcp.yaml", "sources:\n  - dir: skills\n");
        assert!(found().agreed().is_some());
        found().decide(&environment, false).unwrap();
        assert_eq!(found().consent, ProjectConsent::Waiting);
        home.write("project/a/.skills-mcp.yaml", "");
        assert!(!found().waits(), "the nearest one counts, and it says nothing");
    }

    #[test]
    fn a_file_with_a_mistake_waits_for_its_correction_and_not_for_a_yes() {
        let home = Home::new();
        home.write("project/.git/HEAD", "");
        home.write("project/.skills-mcp.yaml", "sources:\n  - dir: [a]\n");
        let found = ProjectFile::find(&environment(&home, "project")).unwrap();
        assert!(!found.waits());
        let place = found.list.unwrap_err().place();
        assert!(place.ends_with("project/.skills-mcp.yaml:2"), "{place}");
    }

    // SOURCE-11
    #[test]
    fn what_is_above_the_repository_is_no_project_and_a_link_is_not_followed() {
        let home = Home::new();
        home.write(".skills-mcp.yaml", "sources:\n  - dir: skills\n");
        home.write("project/.git/HEAD", "");
        home.write("plain/x", "");
        assert!(ProjectFile::find(&environment(&home, "project")).is_none());
        assert!(ProjectFile::find(&environment(&home, "plain")).is_none());
        let link = home.path().join("project/.skills-mcp.yaml");
        std::os::unix::fs::symlink(home.path().join(".skills-mcp.yaml"), link).unwrap();
        let found = ProjectFile::find(&environment(&home, "project")).unwrap();
        assert!(found.agreed().is_none());
        assert!(found.notices()[0].contains("a symbolic link is not followed"));
    }
}
