//! Extension → the program that runs it, found on the operator's `PATH`, never through a shell.
//!
//! TypeScript has four ways: an installed `tsx`, a Node that reads it, the `tsx` of the project that the script works in, and,
//! where there is no sandbox, `npx tsx`. A `tsx` is given to Node as a loader: its own command opens a Unix socket,
//! which no script may do. Looking programs up is not here (programs).

#![expect(clippy::disallowed_methods, reason = "a Node is asked once for its version")]

use std::{
    collections::HashMap,
    io::{Read as _, Seek as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::programs::{ProgramError, SafeSearchPath, SearchPath};

/// A program and what it is given before the script's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runner {
    /// Absolute.
    pub program: PathBuf,
    /// Before the script.
    pub arguments: Vec<String>,
    /// What the program loads from elsewhere, and must be able to read.
    pub(super) loads: Vec<PathBuf>,
    /// Whether a part of it lies where scripts may write: then it runs in a sandbox or not at all.
    pub(super) from_project: bool,
}

impl Runner {
    fn plain(program: PathBuf, arguments: Vec<String>) -> Self {
        Self { program, arguments, loads: Vec::new(), from_project: false }
    }
}

/// The default command that has better spellings.
const NPX_TSX: &str = "npx tsx";
/// Where a project keeps the part of `tsx` that Node loads.
const PROJECT_TSX: &str = "node_modules/tsx/dist/loader.mjs";
/// A program that takes longer to say its version does not say it.
const PATIENCE: Duration = Duration::from_secs(2);
/// No version is longer.
const MAX_VERSION_BYTES: u64 = 100;

/// Where programs are looked for, and what was learned about them.
#[derive(Debug, Default)]
pub(super) struct Programs {
    search: SearchPath,
    /// By path: what `node --version` said.
    versions: Mutex<HashMap<PathBuf, (u32, u32)>>,
}

/// The programs of one moment: those that lie where no script may put another in their place.
#[derive(Debug)]
pub(super) struct Beyond<'a> {
    programs: &'a Programs,
    search: SafeSearchPath<'a>,
}

/// Where a run works, and what it may take from there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Project<'a> {
    /// The folder, where it is one of the user's.
    pub(super) folder: Option<&'a Path>,
    /// Why no program of that folder runs this script, if so.
    pub(super) refused: Option<&'static str>,
    /// Whether nothing will hold the script, by the operator's wish.
    pub(super) unconfined: bool,
}

impl Programs {
    pub(super) fn new(search: &[PathBuf]) -> Self {
        Self { search: SearchPath::new(search), versions: Mutex::default() }
    }

    /// Without those in folders that scripts may write to: one run could leave a program for the next, or for us.
    pub(super) fn beyond<'a>(&'a self, writable: &'a [PathBuf]) -> Beyond<'a> {
        Beyond { programs: self, search: self.search.safe(writable) }
    }

    fn version(&self, node: &Path) -> Option<(u32, u32)> {
        let known = || self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(version) = known().get(node) {
            return Some(*version);
        }
        // Nobody else waits for the answer meanwhile.
        let version = parsed(&asked(node)?)?;
        known().insert(node.to_path_buf(), version);
        Some(version)
    }
}

impl Beyond<'_> {
    /// The runner a command line stands for, or what is missing and how to get it.
    pub(super) fn runner(
        &self,
        extension: &str,
        command: &str,
        project: Project<'_>,
    ) -> Result<Runner, String> {
        if extension == ".ts" && command == NPX_TSX {
            return self.typescript(project);
        }
        let mut words = command.split_whitespace();
        let name = words.next().unwrap_or_default();
        let program = self.find(name).map_err(|absent| said(extension, name, &absent))?;
        Ok(Runner::plain(program, words.map(str::to_owned).collect()))
    }

    fn find(&self, name: &str) -> Result<PathBuf, ProgramError> {
        self.search.find(name).map(|program| program.path)
    }

    fn typescript(&self, project: Project<'_>) -> Result<Runner, String> {
        let node = Node::new(self.find("node").ok(), self.programs);
        if let Ok(tsx) = self.find("tsx") {
            let Some(runner) = installed_loader(&tsx).and_then(|loader| node.loading(&loader))
            else {
                return Ok(Runner::plain(tsx, Vec::new()));
            };
            // Both where it is called from and where it lies: its own packages are beside the one or the other.
            let real = tsx.canonicalize().ok();
            let package = real.and_then(|real| real.ancestors().nth(2).map(Path::to_path_buf));
            return Ok(Runner { loads: package.into_iter().chain([tsx]).collect(), ..runner });
        }
        if let Some(runner) = node.alone() {
            return Ok(runner);
        }
        let own = project.folder.and_then(own_loader);
        if let (Some(own), None) = (&own, project.refused)
            && let Some(runner) = node.loading(own)
        {
            return Ok(Runner { from_project: true, ..runner });
        }
        match self.find("npx") {
            Ok(npx) if project.unconfined => {
                Ok(Runner::plain(npx, ["--yes", "tsx"].map(str::to_owned).to_vec()))
            }
            _ => Err(format!(
                "TypeScript needs tsx or Node 22.18 and newer: tsx is not installed, and {}. Ask the operator for a newer \
                 Node or for `npm install -g tsx`{}",
                node.shortcoming(),
                way_out(own.as_deref(), project)
            )),
        }
    }
}

/// What can be done in the folder itself.
fn way_out(own: Option<&Path>, project: Project<'_>) -> String {
    match (own, project) {
        (Some(own), Project { refused: Some(why), .. }) => {
            format!("; {} is not used, since {why}", own.display())
        }
        (Some(own), _) => format!("; {} needs Node 18.19, 20.6 or newer", own.display()),
        (None, Project { refused: Some(_), .. }) => String::new(),
        (None, Project { folder: Some(folder), .. }) => {
            format!(", or run `npm install tsx` in {}", folder.display())
        }
        (None, _) => ", or pass a cwd in which `npm install tsx` was run".to_owned(),
    }
}

/// The Node of this machine, if there is one.
struct Node {
    program: Option<PathBuf>,
    version: Option<(u32, u32)>,
}

impl Node {
    fn new(program: Option<PathBuf>, programs: &Programs) -> Self {
        let version = program.as_deref().and_then(|program| programs.version(program));
        Self { program, version }
    }

    /// Where it reads TypeScript by itself.
    fn alone(&self) -> Option<Runner> {
        let arguments = match self.version? {
            (23, 6..) | (24.., _) | (22, 18..) => Vec::new(),
            (22, 6..) | (23, _) => vec!["--experimental-strip-types".to_owned()],
            _ => return None,
        };
        Some(Runner::plain(self.program.clone()?, arguments))
    }

    /// Where it is new enough to load a module before the script.
    fn loading(&self, loader: &Path) -> Option<Runner> {
        let able = matches!(self.version?, (18, 19..) | (20, 6..) | (21.., _));
        let arguments = vec!["--import".to_owned(), file_url(loader)];
        let program = self.program.clone().filter(|_| able)?;
        Some(Runner::plain(program, arguments))
    }

    fn shortcoming(&self) -> String {
        match (&self.program, self.version) {
            (Some(node), Some((major, minor))) => {
                format!("Node {major}.{minor} ({}) is too old for it", node.display())
            }
            (Some(node), None) => format!("{} does not say its version", node.display()),
            (None, _) => "there is no Node either".to_owned(),
        }
    }
}

/// What Node loads of an installed `tsx`; none where that is something else than the package of this name.
fn installed_loader(tsx: &Path) -> Option<PathBuf> {
    let loader = tsx.canonicalize().ok()?.parent()?.join("loader.mjs");
    loader.is_file().then_some(loader)
}

/// The same of a project's own, where all of it lies in the project, which is what the script may read.
fn own_loader(folder: &Path) -> Option<PathBuf> {
    let loader = folder.join(PROJECT_TSX).canonicalize().ok()?;
    (loader.is_file() && loader.starts_with(folder)).then_some(loader)
}

/// A file as a URL, which is what Node takes a module's name for.
fn file_url(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~@+".contains(&byte);
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let spelled = bytes.map(|byte| {
        if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }
    });
    format!("file://{}", spelled.collect::<String>())
}

/// What a program says to `--version`, if it says it in time. It speaks into a file: a pipe might be held open by
/// what it started.
fn asked(program: &Path) -> Option<String> {
    let mut said = tempfile::tempfile().ok()?;
    let mut command = Command::new(program);
    command
        .arg("--version")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command.stdout(said.try_clone().ok()?);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().ok()?;
    let in_time = ends_in_time(&mut child);
    end(&mut child, in_time);
    said.rewind().ok()?;
    let mut text = String::new();
    said.take(MAX_VERSION_BYTES).read_to_string(&mut text).ok().filter(|_| in_time)?;
    Some(text)
}

fn ends_in_time(child: &mut Child) -> bool {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Err(_) => return false,
        }
    }
    false
}

/// With its whole group, while its number is still its own.
fn end(child: &mut Child, ended: bool) {
    if ended {
        return;
    }
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// `v22.18.0` → 22, 18.
fn parsed(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.trim().strip_prefix('v')?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn said(extension: &str, name: &str, absent: &ProgramError) -> String {
    match absent {
        ProgramError::NotFound { passed_over } => {
            let only = passed_over.first().map(|path| {
                format!(" but for {}, which scripts could have put there", path.display())
            });
            format!(
                "the runner of {extension} scripts, {name}, is not installed: no folder of the server's PATH has it{}. \
                 Ask the operator to install it or to set scripts.runners",
                only.unwrap_or_default()
            )
        }
        ProgramError::ParentInPath => format!(
            "the runner of {extension} scripts, {name}, has `..` in its path. Ask the operator to set scripts.runners to \
             where it really lies"
        ),
        ProgramError::NotExecutable(path) => format!(
            "the runner of {extension} scripts, {}, is not executable. Ask the operator to fix its permissions or to \
             set scripts.runners",
            path.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use skills_testkit::{Home, PROMPT};

    use super::*;

    /// A home whose `bin` holds programs: a name, what it says, its mode.
    fn programs(home: &Home, programs: &[(&str, &str, u32)]) -> Programs {
        for (name, says, mode) in programs {
            let path = format!("bin/{name}");
            home.write(&path, format!("#!/bin/sh\necho {says}\n"));
            let mode = std::fs::Permissions::from_mode(*mode);
            std::fs::set_permissions(home.path().join(path), mode).unwrap();
        }
        Programs::new(&[home.path().join("nowhere"), "relative".into(), home.path().join("bin")])
    }

    fn typescript(installed: &[(&str, &str, u32)], unconfined: bool) -> Result<String, String> {
        let home = Home::new();
        let programs = programs(&home, installed);
        let project = Project { unconfined, ..Project::default() };
        programs.beyond(&[]).runner(".ts", NPX_TSX, project).map(|runner| shown(&runner))
    }

    fn shown(runner: &Runner) -> String {
        let name = runner.program.file_name().unwrap().to_string_lossy().into_owned();
        std::iter::once(name).chain(runner.arguments.iter().cloned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn typescript_takes_tsx_then_a_node_that_reads_it_then_npx_where_there_is_no_sandbox() {
        let old = ("node", "v20.20.2", 0o755);
        let (tsx, npx) = (("tsx", "", 0o755), ("npx", "", 0o755));
        assert_eq!(typescript(&[tsx, old, npx], false).unwrap(), "tsx");
        assert_eq!(typescript(&[("node", "v22.18.0", 0o755)], false).unwrap(), "node");
        assert_eq!(typescript(&[("node", "v24.1.0", 0o755)], false).unwrap(), "node");
        assert_eq!(
            typescript(&[("node", "v22.7.0", 0o755)], false).unwrap(),
            "node --experimental-strip-types"
        );
        assert_eq!(typescript(&[old, npx], true).unwrap(), "npx --yes tsx");
        let refused = typescript(&[old, npx], false).unwrap_err();
        assert!(
            refused.contains("Node 20.20") && refused.contains("npm install -g tsx"),
            "{refused}"
        );
        assert!(typescript(&[], true).unwrap_err().contains("no Node either"));
    }

    #[test]
    fn a04_node_loads_an_installed_tsx_and_else_the_projects_own() {
        let home = Home::new();
        let programs = programs(&home, &[("node", "v20.20.2", 0o755)]);
        let real = home.path().canonicalize().unwrap();
        let folder = real.join("pro ject");
        let ask = |refused| {
            let project = Project { folder: Some(&folder), refused, unconfined: false };
            programs.beyond(std::slice::from_ref(&folder)).runner(".ts", NPX_TSX, project)
        };
        std::fs::create_dir(&folder).unwrap();
        let missing = ask(None).unwrap_err();
        let way = format!("or run `npm install tsx` in {}", folder.display());
        assert!(missing.contains(&way), "{missing}");
        home.write("pro ject/node_modules/tsx/dist/loader.mjs", "");
        let own = ask(None).unwrap();
        assert!(own.from_project && own.loads.is_empty(), "{own:?}");
        let loader = format!("file://{}/pro%20ject/{PROJECT_TSX}", real.display());
        assert_eq!(shown(&own), format!("node --import {loader}"));
        let refused = ask(Some("it has a network")).unwrap_err();
        assert!(refused.contains("is not used, since it has a network"), "{refused}");
        home.write("lib/tsx/dist/loader.mjs", "");
        home.write("lib/tsx/dist/cli.mjs", "");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(real.join("lib/tsx/dist/cli.mjs"), mode).unwrap();
        std::os::unix::fs::symlink("../lib/tsx/dist/cli.mjs", real.join("bin/tsx")).unwrap();
        let installed = ask(None).unwrap();
        assert!(!installed.from_project, "{installed:?}");
        assert_eq!(installed.loads, [real.join("lib/tsx"), home.path().join("bin/tsx")]);
        assert!(shown(&installed).ends_with("/lib/tsx/dist/loader.mjs"), "{installed:?}");
    }

    #[test]
    fn a04_a_projects_tsx_that_lies_elsewhere_is_not_used() {
        let home = Home::new();
        let real = home.path().canonicalize().unwrap();
        home.write("elsewhere/dist/loader.mjs", "");
        std::fs::create_dir_all(real.join("project/node_modules")).unwrap();
        let link = real.join("project/node_modules/tsx");
        std::os::unix::fs::symlink(real.join("elsewhere"), link).unwrap();
        assert_eq!(own_loader(&real.join("project")), None);
    }

    #[test]
    fn x14_a_runner_that_is_missing_or_not_executable_is_called_by_its_name() {
        let home = Home::new();
        let programs = programs(&home, &[("ruby", "", 0o644), ("lua", "", 0o755)]);
        assert_eq!(
            programs.beyond(&[]).runner(".lua", "lua -W  -", Project::default()).unwrap(),
            Runner::plain(home.path().join("bin/lua"), vec!["-W".into(), "-".into()])
        );
        let refused =
            |command| programs.beyond(&[]).runner(".rb", command, Project::default()).unwrap_err();
        assert!(refused("ruby").contains("is not executable"), "{}", refused("ruby"));
        assert!(refused("perl").contains("perl, is not installed"), "{}", refused("perl"));
        assert!(refused("/usr/../bin/sh").contains("has `..` in its path"));
        let writable = [home.path().canonicalize().unwrap()];
        let planted =
            programs.beyond(&writable).runner(".lua", "lua", Project::default()).unwrap_err();
        assert!(planted.contains("lua, is not installed"), "{planted}");
        for odd in ["./ruby", "bin/lua", "/nowhere/lua", "lua;ls", "$(lua)"] {
            assert!(refused(odd).contains("is not installed"), "{odd}");
        }
    }

    #[test]
    fn a_node_that_does_not_answer_is_not_waited_for_and_leaves_nobody() {
        let home = Home::new();
        let programs = programs(&home, &[("node", "v1; sleep 30 & wait", 0o755)]);
        let started = Instant::now();
        let refused = programs.beyond(&[]).runner(".ts", NPX_TSX, Project::default()).unwrap_err();
        assert!(refused.contains("does not say its version"), "{refused}");
        assert!(started.elapsed() < PROMPT, "{:?}", started.elapsed());
    }
}
