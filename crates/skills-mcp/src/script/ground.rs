//! [`Ground`]: the machine a script would run on, as it was at the start; and which folder a run may work in.

use std::path::{Path, PathBuf};

use super::runner::Programs;
use crate::{
    config::Environment,
    programs::WritableFolders,
    source::{held_secrets, is_secret},
};

/// What every run starts from.
#[derive(Debug)]
pub struct Ground {
    /// Where scripts may write at all.
    folders: WritableFolders,
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
        Self {
            folders: WritableFolders::new(environment),
            programs: Programs::new(&environment.search),
        }
    }

    /// The folder a run works in, or why it may not. Without a wish it is the start directory, where that is allowed.
    pub(super) fn folder(
        &self,
        wish: Option<&str>,
        roots: &[String],
        sources: &[PathBuf],
    ) -> Result<Folder, String> {
        let named = self.folders.named(roots);
        let Some(wish) = wish else {
            return Ok(match self.objection(self.folders.start(), &named, sources) {
                None => Folder::Allowed(self.folders.start().to_path_buf()),
                Some(objection) => {
                    Folder::Private(format!("the server's start directory {objection}"))
                }
            });
        };
        let found =
            self.folders.start().join(wish).canonicalize().ok().filter(|path| path.is_dir());
        let Some(path) = found else {
            return Err(format!("cwd '{wish:.200}' is not a folder that exists"));
        };
        let roots = self.folders.and_start(&named);
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
        match self.objection(&path, &named, sources) {
            Some(objection) => {
                Err(format!("cwd '{wish:.200}' {objection}. Choose a folder below it or elsewhere"))
            }
            None => Ok(Folder::Allowed(path)),
        }
    }

    /// Every folder that some run may write to, and so may leave programs in.
    pub(super) fn writable(&self, roots: &[String]) -> Vec<PathBuf> {
        self.folders.folders(roots)
    }

    /// What speaks against a folder though it lies in an allowed one: rules of the kernel's have no exceptions
    /// below what they allow, so credentials must not lie there. The rest the operator may overrule, by naming this
    /// very folder.
    fn objection(&self, folder: &Path, named: &[PathBuf], sources: &[PathBuf]) -> Option<String> {
        if is_secret(folder, Path::new("/nowhere")) {
            return Some("lies among credentials or system files".to_owned());
        }
        if self.folders.is_home_or_above(folder) {
            return Some("is the home folder or holds it".to_owned());
        }
        let held = held_secrets(folder).find(|held| !COMMON_IN_PROJECTS.contains(held));
        if let Some(held) = held {
            return Some(format!("holds credentials ({held})"));
        }
        if named.iter().any(|root| root == folder) {
            return None;
        }
        let within = named.iter().any(|root| folder.starts_with(root));
        let unknown = self.folders.home().is_none() && !within;
        let unknown =
            unknown.then(|| "cannot be told from a home folder, as HOME is not set".to_owned());
        unknown.or_else(|| self.folders.machine(folder)).or_else(|| self.skills(folder, sources))
    }

    /// Skills that are served must not be a script's to change: the next run would be what this one wrote.
    fn skills(&self, folder: &Path, sources: &[PathBuf]) -> Option<String> {
        let real = |source: &PathBuf| {
            let source = self.folders.start().join(source);
            source.canonicalize().unwrap_or(source)
        };
        let meets = |source: &PathBuf| source.starts_with(folder) || folder.starts_with(source);
        let source = sources.iter().map(real).find(meets)?;
        Some(format!(
            "holds skills that this server serves, or lies among them ({}); unless scripts.roots names it, no script works there",
            source.display()
        ))
    }

    /// Whether a whole folder would be too much to read.
    pub(super) fn is_too_much(&self, folder: &Path) -> bool {
        self.folders.is_home_or_above(folder) || self.folders.machine(folder).is_some()
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
        let folder = |start: &str| ground(&home, start).folder(None, &[], &[]).unwrap();
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
        assert_eq!(
            ground.folder(Some("sub"), &[], &[]),
            Ok(Folder::Allowed(real.join("project/sub")))
        );
        for wish in
            ["../other", "out", "/", "/etc", "gone", "file", "..", "", "held", "held/.aws", "~"]
        {
            let asked = ground.folder(Some(wish), &[], &[]);
            assert!(asked.is_err() || wish.is_empty(), "{wish}: {asked:?}");
        }
        let other = real.join("other").to_string_lossy().into_owned();
        for roots in [other.clone(), "~/other".to_owned(), "~".to_owned()] {
            assert_eq!(
                ground.folder(Some(&other), &[roots], &[]),
                Ok(Folder::Allowed(real.join("other")))
            );
        }
        let whole =
            ground.folder(Some(&real.to_string_lossy()), &["~".to_owned()], &[]).unwrap_err();
        assert!(whole.contains("is the home folder"), "{whole}");
    }

    #[test]
    fn a_folder_that_is_the_machines_or_somebody_elses_is_private_unless_it_is_named() {
        let home = Home::new();
        home.write("x", "");
        let ask = |start: &str, roots: &[&str]| {
            let roots: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
            ground(&home, start).folder(None, &roots, &[]).unwrap()
        };
        for start in
            ["/etc", "/home", "/var", "/usr", "/opt", "/boot", "/run", "/root", "/srv", "/etc/ssl"]
        {
            if Path::new(start).is_dir() {
                let asked = ask(start, &[]);
                assert!(matches!(asked, Folder::Private(_)), "{start}: {asked:?}");
            }
        }
        if Path::new("/srv").canonicalize().is_ok_and(|path| path == Path::new("/srv")) {
            assert_eq!(ask("/srv", &["/srv"]), Folder::Allowed("/srv".into()));
        }
        // Nothing below such a folder is allowed by it, either.
        assert!(ground(&home, "/etc").folder(Some("ssl"), &[], &[]).is_err());
        let temporary = std::env::temp_dir().to_string_lossy().into_owned();
        assert!(matches!(ask(&temporary, &[]), Folder::Private(_)), "{temporary}");
        let unknown =
            Ground::new(&Environment { directory: home.path().into(), ..Environment::default() });
        let Folder::Private(why) = unknown.folder(None, &[], &[]).unwrap() else { panic!() };
        assert!(why.contains("HOME is not set"), "{why}");
        let named = home.path().to_string_lossy().into_owned();
        assert!(matches!(unknown.folder(None, &[named], &[]), Ok(Folder::Allowed(_))));
    }

    #[test]
    fn no_script_works_where_skills_lie_unless_that_very_folder_is_named() {
        let home = Home::new();
        home.write("project/skills/tool/x", "");
        home.write("project/sub/x", "");
        let ground = ground(&home, "project");
        let real = home.path().canonicalize().unwrap().join("project");
        for source in [real.join("skills"), real.clone(), real.join("not/yet/there")] {
            let sources = [source];
            let asked = ground.folder(None, &[], &sources).unwrap();
            let Folder::Private(why) = asked else { panic!("{sources:?}: {asked:?}") };
            assert!(why.contains("holds skills that this server serves"), "{why}");
            assert!(ground.folder(Some("."), &[], &sources).unwrap_err().contains("scripts.roots"));
            let named = [real.to_string_lossy().into_owned()];
            assert_eq!(ground.folder(None, &named, &sources), Ok(Folder::Allowed(real.clone())));
        }
        let sources = [real.join("skills")];
        assert!(ground.folder(Some("sub"), &[], &sources).is_ok());
        for inside in ["skills", "skills/tool"] {
            assert!(ground.folder(Some(inside), &[], &sources).is_err(), "{inside}");
        }
    }
}
