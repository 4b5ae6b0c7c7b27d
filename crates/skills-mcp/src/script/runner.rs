//! From a script's extension to the program that runs it, found on the operator's `PATH`, never through a shell.
//!
//! TypeScript runs in one of four ways: with an installed `tsx`, with a Node that reads TypeScript, with the `tsx` of the
//! working directory, or, without a sandbox, with `npx tsx`. A `tsx` is given to Node as a loader: its own command opens a
//! Unix socket, which no script may do. Looking programs up is not here (programs).

#![expect(clippy::disallowed_methods, reason = "this file runs `node --version`")]

use std::{
    collections::HashMap,
    io::{Read as _, Seek as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    paths::{is_file, real_path},
    programs::{ProgramError, SafeSearchPath, SearchPath, UnsafeFolders, is_in_system_programs},
};

/// A program and what it is given before the script's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runner {
    /// Absolute.
    pub(crate) program: PathBuf,
    /// Before the script.
    pub(crate) arguments: Vec<String>,
    /// What the program loads from elsewhere, and must be able to read.
    pub(super) loads: Vec<PathBuf>,
    /// Whether a part of it is where scripts may write: then it runs in a sandbox or not at all.
    pub(super) from_project: bool,
    /// A program of the same name earlier on the `PATH`, which a script could have put there, such as that of a virtual
    /// environment in the working directory.
    pub(crate) passed_over: Option<PathBuf>,
}

impl Runner {
    fn plain(program: PathBuf, arguments: Vec<String>) -> Self {
        let (loads, from_project, passed_over) = (Vec::new(), false, None);
        Self { program, arguments, loads, from_project, passed_over }
    }
}

/// The default command for TypeScript, which stands for all four ways.
const NPX_TSX: &str = "npx tsx";
/// Where a project keeps the part of `tsx` that Node loads.
const PROJECT_TSX: &str = "node_modules/tsx/dist/loader.mjs";
/// How long `node --version` may take.
const NODE_VERSION_TIMEOUT: Duration = Duration::from_secs(2);
/// How much of its output is read.
const MAX_VERSION_BYTES: u64 = 100;

/// The `PATH` on which runners are found, and the versions of Node found there.
#[derive(Debug, Default)]
pub(super) struct RunnerPrograms {
    search: SearchPath,
    /// By path, as `node --version` printed it.
    node_versions: Mutex<HashMap<PathBuf, (u32, u32)>>,
}

/// The programs that no script may replace, at one moment.
#[derive(Debug)]
pub(super) struct SafePrograms<'a> {
    programs: &'a RunnerPrograms,
    search: SafeSearchPath<'a>,
}

/// Which tools of its working directory a run may use.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProjectTools<'a> {
    /// The working directory, where it is one of the user's.
    pub(super) folder: Option<&'a Path>,
    /// Why no program of that folder may run this script.
    pub(super) refused: Option<&'static str>,
    /// Whether the operator turned the sandbox off.
    pub(super) unconfined: bool,
}

impl ProjectTools<'_> {
    /// Why a program that a script may have written does not run this one.
    fn refusal(&self, program: &Path) -> Option<String> {
        if self.unconfined {
            return None;
        }
        if let Some(refused) = self.refused {
            return Some(refused.to_owned());
        }
        let is_inside = |path: &Path| self.folder.is_some_and(|folder| path.starts_with(folder));
        if !program.parent().and_then(real_path).is_some_and(|folder| is_inside(&folder)) {
            return Some("it is not in this script's working directory".to_owned());
        }
        // The sandbox opens no other folder for a program that a script may lead elsewhere.
        let target = real_path(program)?;
        let is_readable = is_inside(&target) || is_in_system_programs(&target);
        (!is_readable).then(|| format!("it leads out of that folder, to {}", target.display()))
    }
}

impl RunnerPrograms {
    pub(super) fn new(search: &[PathBuf]) -> Self {
        Self { search: SearchPath::new(search), node_versions: Mutex::default() }
    }

    /// The programs outside the folders that scripts may write: one run could leave a program there for the next.
    pub(super) fn outside<'a>(&'a self, writable: &'a UnsafeFolders) -> SafePrograms<'a> {
        SafePrograms { programs: self, search: self.search.safe(writable) }
    }

    fn node_version(&self, node: &Path) -> Option<(u32, u32)> {
        let known = || self.node_versions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(version) = known().get(node) {
            return Some(*version);
        }
        // The lock is not held while Node runs.
        let version = parse_version(&version_output(node)?)?;
        known().insert(node.to_path_buf(), version);
        Some(version)
    }
}

impl SafePrograms<'_> {
    /// The runner for a command line of `scripts.runners`, or what is missing and how to get it.
    pub(super) fn runner(
        &self,
        extension: &str,
        command: &str,
        project: ProjectTools<'_>,
    ) -> Result<Runner, String> {
        if extension == ".ts" && command == NPX_TSX {
            return self.typescript(project);
        }
        let mut words = command.split_whitespace();
        let name = words.next().unwrap_or_default();
        let found = self.search.find(name).map_err(|absent| absence(extension, name, &absent))?;
        let (program, passed_over) = (found.path, found.passed_over.into_iter().next());
        // Programs that are found by their names are in no such folder.
        let from_project = self.search.is_writable(&program);
        if let Some(why) = project.refusal(&program).filter(|_| from_project) {
            return Err(format!(
                "the runner of {extension} scripts, {name}, is in a folder that scripts may write, and {why}. Ask the \
                 operator to set scripts.runners to a program elsewhere"
            ));
        }
        let runner = Runner::plain(program, words.map(str::to_owned).collect());
        Ok(Runner { from_project, passed_over, ..runner })
    }

    fn find(&self, name: &str) -> Result<PathBuf, ProgramError> {
        self.search.find(name).map(|program| program.path)
    }

    fn typescript(&self, project: ProjectTools<'_>) -> Result<Runner, String> {
        let node = NodeProgram::new(self.find("node").ok(), self.programs);
        if let Ok(tsx) = self.find("tsx") {
            let Some(runner) = installed_loader(&tsx).and_then(|loader| node.loading(&loader))
            else {
                return Ok(Runner::plain(tsx, Vec::new()));
            };
            // Its packages are beside the link on the `PATH` or beside its target.
            let real = real_path(&tsx);
            let package = real.and_then(|real| real.ancestors().nth(2).map(Path::to_path_buf));
            return Ok(Runner { loads: package.into_iter().chain([tsx]).collect(), ..runner });
        }
        if let Some(runner) = node.without_loader() {
            return Ok(runner);
        }
        let own = project.folder.and_then(project_loader);
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
                "TypeScript needs tsx or Node 22.6 and newer: tsx is not installed, and {}. Ask the operator for a newer \
                 Node or for `npm install -g tsx`{}",
                node.shortcoming(),
                project_hint(own.as_deref(), project)
            )),
        }
    }
}

/// What can be done in the working directory itself.
fn project_hint(own: Option<&Path>, project: ProjectTools<'_>) -> String {
    match (own, project) {
        (Some(own), ProjectTools { refused: Some(why), .. }) => {
            format!("; {} is not used, since {why}", own.display())
        }
        (Some(own), _) => format!("; {} needs Node 18.19, 20.6 or newer", own.display()),
        (None, ProjectTools { refused: Some(_), .. }) => String::new(),
        (None, ProjectTools { folder: Some(folder), .. }) => {
            format!(", or run `npm install tsx` in {}", folder.display())
        }
        (None, _) => ", or pass a cwd in which `npm install tsx` was run".to_owned(),
    }
}

/// The Node of this machine, if there is one.
struct NodeProgram {
    program: Option<PathBuf>,
    version: Option<(u32, u32)>,
}

impl NodeProgram {
    fn new(program: Option<PathBuf>, programs: &RunnerPrograms) -> Self {
        let version = program.as_deref().and_then(|program| programs.node_version(program));
        Self { program, version }
    }

    /// Runs TypeScript by itself, if it is new enough.
    fn without_loader(&self) -> Option<Runner> {
        let arguments = match self.version? {
            (23, 6..) | (24.., _) | (22, 18..) => Vec::new(),
            (22, 6..) | (23, _) => vec!["--experimental-strip-types".to_owned()],
            _ => return None,
        };
        Some(Runner::plain(self.program.clone()?, arguments))
    }

    /// Loads a module before the script, if it is new enough.
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

/// The loader of an installed `tsx`; none where that is another program of this name.
fn installed_loader(tsx: &Path) -> Option<PathBuf> {
    let loader = real_path(tsx)?.parent()?.join("loader.mjs");
    is_file(&loader).then_some(loader)
}

/// The loader of a project's own `tsx`, if it is inside the project: the script may read nothing else.
fn project_loader(folder: &Path) -> Option<PathBuf> {
    let loader = real_path(&folder.join(PROJECT_TSX))?;
    (is_file(&loader) && loader.starts_with(folder)).then_some(loader)
}

/// A file as a URL, because Node takes the name of a module for a URL.
fn file_url(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~@+".contains(&byte);
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let spelled = bytes.map(|byte| {
        if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }
    });
    format!("file://{}", spelled.collect::<String>())
}

/// What `--version` prints, if the program exits in time. It prints into a file, because a process that it started could hold
/// a pipe open.
fn version_output(program: &Path) -> Option<String> {
    let mut output = tempfile::tempfile().ok()?;
    let mut command = Command::new(program);
    command
        .arg("--version")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command.stdout(output.try_clone().ok()?);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().ok()?;
    if !exits_in_time(&mut child) {
        kill_group(&mut child);
        return None;
    }
    output.rewind().ok()?;
    let mut text = String::new();
    output.take(MAX_VERSION_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

fn exits_in_time(child: &mut Child) -> bool {
    let started = Instant::now();
    while started.elapsed() < NODE_VERSION_TIMEOUT {
        match child.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Err(_) => return false,
        }
    }
    false
}

/// Kills a child with its process group, before `wait` frees its PID.
fn kill_group(child: &mut Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// `v22.18.0` → 22, 18.
fn parse_version(output: &str) -> Option<(u32, u32)> {
    let mut numbers = output.trim().strip_prefix('v')?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Why there is no runner, for the caller.
fn absence(extension: &str, name: &str, absent: &ProgramError) -> String {
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
        ProgramError::Relative => format!(
            "the runner of {extension} scripts, {name}, is a relative path. Ask the operator to set scripts.runners to an \
             absolute one, or to a name on the PATH"
        ),
        ProgramError::ParentInPath => format!(
            "the runner of {extension} scripts, {name}, has `..` in its path. Ask the operator to set scripts.runners to \
             its real path"
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

    use skills_testkit::{Home, TEST_TIMEOUT};

    use super::*;

    /// A home whose `bin` holds programs: a name, what it prints, its mode.
    fn programs(home: &Home, programs: &[(&str, &str, u32)]) -> RunnerPrograms {
        for (name, prints, mode) in programs {
            let path = format!("bin/{name}");
            home.write(&path, format!("#!/bin/sh\necho {prints}\n"));
            let mode = std::fs::Permissions::from_mode(*mode);
            std::fs::set_permissions(home.path().join(path), mode).unwrap();
        }
        RunnerPrograms::new(&[
            home.path().join("nowhere"),
            "relative".into(),
            home.path().join("bin"),
        ])
    }

    fn typescript(installed: &[(&str, &str, u32)], unconfined: bool) -> Result<String, String> {
        let home = Home::new();
        let programs = programs(&home, installed);
        let project = ProjectTools { unconfined, ..ProjectTools::default() };
        programs
            .outside(&UnsafeFolders::default())
            .runner(".ts", NPX_TSX, project)
            .map(|runner| shown(&runner))
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
            let project = ProjectTools { folder: Some(&folder), refused, unconfined: false };
            programs.outside(&UnsafeFolders(vec![folder.clone()])).runner(".ts", NPX_TSX, project)
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
        assert_eq!(project_loader(&real.join("project")), None);
    }

    #[test]
    fn x14_a_runner_that_is_missing_or_not_executable_is_called_by_its_name() {
        let home = Home::new();
        let programs = programs(&home, &[("ruby", "", 0o644), ("lua", "", 0o755)]);
        assert_eq!(
            programs
                .outside(&UnsafeFolders::default())
                .runner(".lua", "lua -W  -", ProjectTools::default())
                .unwrap(),
            Runner::plain(home.path().join("bin/lua"), vec!["-W".into(), "-".into()])
        );
        let refused = |command| {
            programs
                .outside(&UnsafeFolders::default())
                .runner(".rb", command, ProjectTools::default())
                .unwrap_err()
        };
        assert!(refused("ruby").contains("is not executable"), "{}", refused("ruby"));
        assert!(refused("perl").contains("perl, is not installed"), "{}", refused("perl"));
        assert!(refused("/usr/../bin/sh").contains("has `..` in its path"));
        let writable = UnsafeFolders(vec![home.path().canonicalize().unwrap()]);
        let planted =
            programs.outside(&writable).runner(".lua", "lua", ProjectTools::default()).unwrap_err();
        assert!(planted.contains("lua, is not installed"), "{planted}");
        for odd in ["/nowhere/lua", "lua;ls", "$(lua)"] {
            assert!(refused(odd).contains("is not installed"), "{odd}");
        }
        for relative in ["./ruby", "bin/lua"] {
            assert!(refused(relative).contains("is a relative path"), "{relative}");
        }
    }

    #[test]
    fn e01_a_runner_earlier_on_the_path_that_was_passed_over_is_known() {
        let home = Home::new();
        let venv = home.path().join("venv");
        programs(&home, &[("python3", "", 0o755)]);
        std::fs::create_dir(&venv).unwrap();
        std::fs::copy(home.path().join("bin/python3"), venv.join("python3")).unwrap();
        let programs = RunnerPrograms::new(&[venv.clone(), home.path().join("bin")]);
        let writable = UnsafeFolders(vec![venv.canonicalize().unwrap()]);
        let runner = programs.outside(&writable).runner(".py", "python3", ProjectTools::default());
        let runner = runner.unwrap();
        assert_eq!(runner.program, home.path().join("bin/python3"));
        assert_eq!(runner.passed_over, Some(venv.join("python3")));
    }

    #[test]
    fn e01_a_runner_that_scripts_may_write_runs_only_scripts_of_its_folder_in_a_sandbox() {
        let home = Home::new();
        let programs = programs(&home, &[("ruby", "", 0o755)]);
        let real = home.path().canonicalize().unwrap();
        let writable = UnsafeFolders(vec![real.join("bin")]);
        let ruby = real.join("bin/ruby").display().to_string();
        let ask = |project| programs.outside(&writable).runner(".rb", &ruby, project);
        let inside = real.join("bin");
        let own = ProjectTools { folder: Some(&inside), ..ProjectTools::default() };
        assert!(ask(own).unwrap().from_project);
        assert!(ask(ProjectTools { unconfined: true, ..ProjectTools::default() }).is_ok());
        let online = ProjectTools { refused: Some("it has a network"), ..own };
        assert!(ask(online).unwrap_err().contains("may write, and it has a network"));
        let elsewhere = ask(ProjectTools::default()).unwrap_err();
        assert!(elsewhere.contains("is not in this script's working directory"), "{elsewhere}");
        assert!(elsewhere.contains("set scripts.runners to a program elsewhere"), "{elsewhere}");
        std::fs::rename(real.join("bin/ruby"), real.join("ruby")).unwrap();
        std::os::unix::fs::symlink(real.join("ruby"), real.join("bin/ruby")).unwrap();
        assert!(ask(own).unwrap_err().contains("it leads out of that folder, to"));
        let elsewhere = UnsafeFolders(vec![real.join("other")]);
        let safe = programs.outside(&elsewhere).runner(".rb", &ruby, ProjectTools::default());
        assert!(!safe.unwrap().from_project);
    }

    #[test]
    fn a_node_that_does_not_answer_is_killed_with_its_children() {
        let home = Home::new();
        let programs = programs(&home, &[("node", "v1; sleep 300 & wait", 0o755)]);
        let started = Instant::now();
        let refused = programs
            .outside(&UnsafeFolders::default())
            .runner(".ts", NPX_TSX, ProjectTools::default())
            .unwrap_err();
        assert!(refused.contains("does not say its version"), "{refused}");
        assert!(started.elapsed() < TEST_TIMEOUT, "{:?}", started.elapsed());
    }
}
