//! [`ScriptHost`]: the machine that scripts run on, as it was at the start; it decides a run's working directory.

use std::path::{Path, PathBuf};

use super::runner::RunnerPrograms;
use crate::{
    config::Environment,
    paths::real_folder,
    programs::{UnsafeFolders, WritableFolders},
    source::{held_secrets, is_secret},
};

/// What the start of this process decides for every run: the folders scripts may write and the programs that run them.
#[derive(Debug)]
pub(crate) struct ScriptHost {
    folders: WritableFolders,
    pub(super) programs: RunnerPrograms,
}

/// The folder a run works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkingDirectory {
    /// A folder of the user's, which the script may change.
    Allowed(PathBuf),
    /// A private folder that is removed after the run, for this reason.
    Private(String),
    /// The same, since the client is on another machine.
    Remote,
}

impl WorkingDirectory {
    /// The folder of the user's, where it is one.
    pub(super) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Allowed(folder) => Some(folder),
            Self::Private(_) | Self::Remote => None,
        }
    }
}

/// Names of credentials that projects use for other purposes too.
const COMMON_IN_PROJECTS: &[&str] = &[".npmrc", ".docker"];

impl ScriptHost {
    pub(super) fn new(environment: &Environment) -> Self {
        Self {
            folders: WritableFolders::new(environment),
            programs: RunnerPrograms::new(&environment.search),
        }
    }

    /// The working directory of a run, or why it may not be `cwd`. Without a `cwd` it is the server's start directory, or a
    /// private folder where the start directory is not allowed.
    pub(super) fn working_directory(
        &self,
        cwd: Option<&str>,
        roots: &[String],
    ) -> Result<WorkingDirectory, String> {
        let named = self.folders.named(roots);
        let start = self.folders.start();
        let Some(cwd) = cwd else {
            return Ok(match self.objection(start, &named) {
                None => WorkingDirectory::Allowed(start.to_path_buf()),
                Some(objection) => {
                    WorkingDirectory::Private(format!("the server's start directory {objection}"))
                }
            });
        };
        let Some(path) = real_folder(&start.join(cwd)) else {
            return Err(format!("cwd '{cwd:.200}' is not a folder that exists"));
        };
        let roots = self.folders.with_start(&named);
        if !roots.iter().any(|root| path.starts_with(root)) {
            let allowed: Vec<String> =
                roots.iter().map(|root| root.display().to_string()).collect();
            let allowed = match allowed.as_slice() {
                [] => "none is; leave cwd out to run in a private folder".to_owned(),
                some => some.join(", "),
            };
            return Err(format!(
                "cwd '{cwd:.200}' lies in no allowed folder. Allowed: {allowed}. The operator adds folders with scripts.roots"
            ));
        }
        match self.objection(&path, &named) {
            Some(objection) => {
                let below =
                    if is_secret(&path, Path::new("/nowhere")) { "" } else { "below it or " };
                Err(format!("cwd '{cwd:.200}' {objection}. Choose a folder {below}elsewhere"))
            }
            None => Ok(WorkingDirectory::Allowed(path)),
        }
    }

    /// Every folder that a run may write, and so may leave programs in.
    pub(super) fn writable(&self, roots: &[String]) -> UnsafeFolders {
        self.folders.folders(roots)
    }

    /// Why a folder is no working directory though it is in an allowed one. The kernel's rules have no exceptions below
    /// what they allow, so the folder must hold no credentials. The later checks do not apply to a folder that
    /// `scripts.roots` names.
    fn objection(&self, folder: &Path, named: &[PathBuf]) -> Option<String> {
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
        // A script that writes there could turn its own sandbox off.
        if let Some(file) = self.folders.overlapping_configuration(folder) {
            return Some(format!(
                "holds the operator's configuration of this server, or is among it ({})",
                file.display()
            ));
        }
        if named.iter().any(|root| root == folder) {
            return None;
        }
        let within = named.iter().any(|root| folder.starts_with(root));
        let unknown = self.folders.home().is_none() && !within;
        let unknown = unknown.then(|| "may be a home folder, because HOME is not set".to_owned());
        unknown.or_else(|| self.folders.why_no_project(folder))
    }

    /// Whether a folder holds too much for a script to read all of it.
    pub(super) fn is_too_broad(&self, folder: &Path) -> bool {
        self.folders.is_home_or_above(folder) || self.folders.why_no_project(folder).is_some()
    }
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;

    fn host(home: &Home, start: &str) -> ScriptHost {
        ScriptHost::new(&Environment {
            home: Some(home.path().to_path_buf()),
            directory: home.path().join(start),
            ..Environment::default()
        })
    }

    #[test]
    fn without_a_cwd_it_is_the_start_directory_unless_that_is_home_or_above() {
        let home = Home::new();
        home.write("project/sub/x", "");
        let real = home.path().canonicalize().unwrap();
        let folder = |start: &str| host(&home, start).working_directory(None, &[]).unwrap();
        assert_eq!(folder("project"), WorkingDirectory::Allowed(real.join("project")));
        let private =
            |why: &str| WorkingDirectory::Private(format!("the server's start directory {why}"));
        for start in ["", "/", ".."] {
            assert_eq!(folder(start), private("is the home folder or holds it"), "{start}");
        }
        home.write("project/.npmrc", "");
        assert_eq!(folder("project"), WorkingDirectory::Allowed(real.join("project")));
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
        let host = host(&home, "project");
        let real = home.path().canonicalize().unwrap();
        assert_eq!(
            host.working_directory(Some("sub"), &[]),
            Ok(WorkingDirectory::Allowed(real.join("project/sub")))
        );
        for cwd in
            ["../other", "out", "/", "/etc", "gone", "file", "..", "", "held", "held/.aws", "~"]
        {
            let asked = host.working_directory(Some(cwd), &[]);
            assert!(asked.is_err() || cwd.is_empty(), "{cwd}: {asked:?}");
        }
        let other = real.join("other").to_string_lossy().into_owned();
        for roots in [other.clone(), "~/other".to_owned(), "~".to_owned()] {
            assert_eq!(
                host.working_directory(Some(&other), &[roots]),
                Ok(WorkingDirectory::Allowed(real.join("other")))
            );
        }
        let whole =
            host.working_directory(Some(&real.to_string_lossy()), &["~".to_owned()]).unwrap_err();
        assert!(whole.contains("is the home folder"), "{whole}");
    }

    #[test]
    fn a_folder_of_the_system_or_of_another_user_is_not_used_unless_it_is_named() {
        let home = Home::new();
        home.write("x", "");
        let ask = |start: &str, roots: &[&str]| {
            let roots: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
            host(&home, start).working_directory(None, &roots).unwrap()
        };
        for start in [
            "/etc",
            "/home",
            "/var",
            "/usr",
            "/opt",
            "/boot",
            "/run",
            "/root",
            "/srv",
            "/etc/ssl",
            "/usr/local/bin",
            "/usr/lib",
            "/proc",
        ] {
            if Path::new(start).is_dir() {
                let asked = ask(start, &[]);
                assert!(matches!(asked, WorkingDirectory::Private(_)), "{start}: {asked:?}");
            }
        }
        if Path::new("/srv").canonicalize().is_ok_and(|path| path == Path::new("/srv")) {
            assert_eq!(ask("/srv", &["/srv"]), WorkingDirectory::Allowed("/srv".into()));
        }
        // Nothing below such a folder is allowed by it, either.
        assert!(host(&home, "/etc").working_directory(Some("ssl"), &[]).is_err());
        let temporary = std::env::temp_dir().to_string_lossy().into_owned();
        assert!(matches!(ask(&temporary, &[]), WorkingDirectory::Private(_)), "{temporary}");
        let unknown = ScriptHost::new(&Environment {
            directory: home.path().into(),
            ..Environment::default()
        });
        let WorkingDirectory::Private(why) = unknown.working_directory(None, &[]).unwrap() else {
            panic!()
        };
        assert!(why.contains("HOME is not set"), "{why}");
        let named = home.path().to_string_lossy().into_owned();
        assert!(matches!(
            unknown.working_directory(None, &[named]),
            Ok(WorkingDirectory::Allowed(_))
        ));
    }

    // SCRIPT-10
    #[test]
    fn no_script_works_where_it_could_write_the_users_configuration() {
        let home = Home::new();
        for path in ["config/x", "config/skills-mcp/sub/x", "dotfiles/sub/x", "state/x", "free/x"] {
            home.write(path, "");
        }
        home.write("dotfiles/mcp/config.yaml", "");
        let real = home.path().canonicalize().unwrap();
        let link = |target: &str, link: &str| {
            std::os::unix::fs::symlink(real.join(target), real.join(link)).unwrap();
        };
        let refused = |config_home: &str, folder: &str| {
            let host = ScriptHost::new(&Environment {
                home: Some(home.path().to_path_buf()),
                config_home: Some(home.path().join(config_home)),
                directory: home.path().join(folder),
                ..Environment::default()
            });
            let named = [real.join(folder).to_string_lossy().into_owned()];
            let asked = host.working_directory(None, &named).unwrap();
            let because = |why: &str| why.contains("the operator's configuration");
            let is_refused = matches!(&asked, WorkingDirectory::Private(why) if because(why));
            assert_eq!(asked == WorkingDirectory::Allowed(real.join(folder)), !is_refused);
            let cwd = host.working_directory(Some("."), &[]);
            assert_eq!(cwd.is_err_and(|why| because(&why)), is_refused);
            is_refused
        };
        // The folder, one above it, one in it; and a folder of the same name elsewhere is another.
        for folder in ["config", "config/skills-mcp", "config/skills-mcp/sub"] {
            assert!(refused("config", folder), "{folder}");
            assert!(!refused("elsewhere", folder), "{folder}");
        }
        assert!(!refused("config", "free"));
        // Not there yet: the script would make it.
        assert!(refused("free", "free"));
        // Where another process without the variable would look.
        home.write(".config/x", "");
        assert!(refused("config", ".config"));
        // What links lead to, and the folder of each link on the way.
        home.write("linked/x", "");
        link("dotfiles/mcp", "linked/skills-mcp");
        for folder in ["linked", "dotfiles", "dotfiles/mcp"] {
            assert!(refused("linked", folder), "{folder}");
        }
        assert!(!refused("linked", "dotfiles/sub"));
        home.write("file-linked/skills-mcp/x", "");
        link("state/config.yaml", "file-linked/skills-mcp/config.yaml");
        assert!(refused("file-linked", "state"), "a link to a file that is not there yet");
        link("dotfiles/sub", ".skills-mcp");
        assert!(refused("config", "dotfiles/sub"));
    }
}
