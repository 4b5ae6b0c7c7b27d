//! [`Ground`]: the machine a script would run on, as it was at the start; and which folder a run may work in.

use std::path::{Path, PathBuf};

use super::runner::Programs;
use crate::{
    config::Environment,
    source::{held_secrets, is_secret},
};

/// What every run starts from.
#[derive(Debug)]
pub struct Ground {
    /// The server's start directory, links resolved.
    start: PathBuf,
    home: Option<PathBuf>,
    pub(super) programs: Programs,
}

/// Where a run works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folder {
    /// A folder of the user's, which it may change.
    Allowed(PathBuf),
    /// A private one that goes with the run, for this reason.
    Private(String),
}

/// Names of credentials that projects use for other things too.
const COMMON_IN_PROJECTS: &[&str] = &[".npmrc", ".docker"];

impl Ground {
    /// The machine this process was started on.
    pub fn new(environment: &Environment) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        Self {
            start: real(&environment.directory),
            home: environment.home.as_deref().map(real),
            programs: Programs::new(environment.search.clone()),
        }
    }

    /// The folder a run works in, or why it may not. Without a wish it is the start directory, where that is allowed.
    pub(super) fn folder(&self, wish: Option<&str>, roots: &[String]) -> Result<Folder, String> {
        let Some(wish) = wish else {
            return Ok(match self.objection(&self.start) {
                None => Folder::Allowed(self.start.clone()),
                Some(objection) => {
                    Folder::Private(format!("the server's start directory {objection}"))
                }
            });
        };
        let found = self.start.join(wish).canonicalize().ok().filter(|path| path.is_dir());
        let Some(path) = found else {
            return Err(format!("cwd '{wish:.200}' is not a folder that exists"));
        };
        let roots = self.roots(roots);
        if !roots.iter().any(|root| path.starts_with(root)) {
            let allowed: Vec<String> =
                roots.iter().map(|root| root.display().to_string()).collect();
            let allowed = match allowed.as_slice() {
                [] => "none is; leave cwd out to run in a private folder".to_owned(),
                some => some.join(", "),
            };
            return Err(format!(
                "cwd '{wish:.200}' lies in no allowed folder. Allowed: {allowed}. The operator adds folders with scripts.roots"
            ));
        }
        match self.objection(&path) {
            Some(objection) => {
                Err(format!("cwd '{wish:.200}' {objection}. Choose a folder below it or elsewhere"))
            }
            None => Ok(Folder::Allowed(path)),
        }
    }

    /// The start directory, where it is somebody's project and not the machine, and what the operator names.
    fn roots(&self, named: &[String]) -> Vec<PathBuf> {
        let named = named.iter().map(|root| match (root.strip_prefix('~'), &self.home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ => PathBuf::from(root),
        });
        let start = (!self.is_home_or_above(&self.start)).then(|| self.start.clone());
        start.into_iter().chain(named).filter_map(|root| root.canonicalize().ok()).collect()
    }

    /// What speaks against a folder though it lies in an allowed one: rules of the kernel's have no exceptions
    /// below what they allow, so credentials must not lie there.
    fn objection(&self, folder: &Path) -> Option<String> {
        if is_secret(folder, Path::new("/nowhere")) {
            return Some("lies among credentials or system files".to_owned());
        }
        if self.is_home_or_above(folder) {
            return Some("is the home folder or holds it".to_owned());
        }
        let held = held_secrets(folder).find(|held| !COMMON_IN_PROJECTS.contains(held));
        held.map(|held| format!("holds credentials ({held})"))
    }

    /// Whether a whole folder would be too much to open: the home folder is in it.
    pub(super) fn is_home_or_above(&self, folder: &Path) -> bool {
        folder.parent().is_none() || self.home.as_ref().is_some_and(|home| home.starts_with(folder))
    }
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;

    fn ground(home: &Home, start: &str) -> Ground {
        Ground::new(&Environment {
            home: Some(home.path().to_path_buf()),
            directory: home.path().join(start),
            ..Environment::default()
        })
    }

    #[test]
    fn without_a_wish_it_is_the_start_directory_unless_that_is_home_or_above() {
        let home = Home::new();
        home.write("project/sub/x", "");
        let real = home.path().canonicalize().unwrap();
        let folder = |start: &str| ground(&home, start).folder(None, &[]).unwrap();
        assert_eq!(folder("project"), Folder::Allowed(real.join("project")));
        let private = |why: &str| Folder::Private(format!("the server's start directory {why}"));
        for start in ["", "/", ".."] {
            assert_eq!(folder(start), private("is the home folder or holds it"), "{start}");
        }
        home.write("project/.npmrc", "");
        assert_eq!(folder("project"), Folder::Allowed(real.join("project")));
        home.write("project/.ssh/id", "");
        assert_eq!(folder("project"), private("holds credentials (.ssh)"));
    }

    #[test]
    fn x12_a_folder_outside_linked_out_or_gone_is_refused() {
        let home = Home::new();
        home.write("project/sub/x", "");
        home.write("other/x", "");
        home.write("project/file", "");
        home.write("project/held/.aws/credentials", "");
        #[cfg(unix)]
        std::os::unix::fs::symlink(home.path().join("other"), home.path().join("project/out"))
            .unwrap();
        let ground = ground(&home, "project");
        let real = home.path().canonicalize().unwrap();
        assert_eq!(ground.folder(Some("sub"), &[]), Ok(Folder::Allowed(real.join("project/sub"))));
        for wish in
            ["../other", "out", "/", "/etc", "gone", "file", "..", "", "held", "held/.aws", "~"]
        {
            let asked = ground.folder(Some(wish), &[]);
            assert!(asked.is_err() || wish.is_empty(), "{wish}: {asked:?}");
        }
        let other = real.join("other").to_string_lossy().into_owned();
        for roots in [other.clone(), "~/other".to_owned(), "~".to_owned()] {
            assert_eq!(
                ground.folder(Some(&other), &[roots]),
                Ok(Folder::Allowed(real.join("other")))
            );
        }
        let whole = ground.folder(Some(&real.to_string_lossy()), &["~".to_owned()]).unwrap_err();
        assert!(whole.contains("is the home folder"), "{whole}");
    }
}
