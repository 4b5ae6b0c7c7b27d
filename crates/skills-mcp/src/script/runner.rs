//! Extension → the program that runs it, found on the operator's `PATH`, never through a shell.
//!
//! TypeScript has three ways: an installed `tsx`, a Node that reads it, and `npx tsx`, which fetches `tsx` from the
//! network and therefore only serves scripts that have one.

#![expect(clippy::disallowed_methods, reason = "a Node is asked once for its version")]

use std::{
    collections::HashMap,
    io::{Read as _, Seek as _},
    path::{Component, Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// A program and what it is given before the script's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runner {
    /// Absolute.
    pub program: PathBuf,
    /// Before the script.
    pub arguments: Vec<String>,
}

/// The command of the seeds that has better spellings.
const NPX_TSX: &str = "npx tsx";
/// A program that takes longer to say its version does not say it.
const PATIENCE: Duration = Duration::from_secs(2);
/// No version is longer.
const MAX_VERSION_BYTES: u64 = 100;

/// Where programs are looked for, and what was learned about them.
#[derive(Debug, Default)]
pub(super) struct Programs {
    search: Vec<PathBuf>,
    /// By path: what `node --version` said.
    versions: Mutex<HashMap<PathBuf, (u32, u32)>>,
}

/// Why there is no program of a name.
#[derive(Debug, PartialEq, Eq)]
enum Absent {
    NotFound,
    NotExecutable(PathBuf),
    /// Its place is given by a way that leads back and forth.
    Winding,
}

/// The programs of one moment: those that lie where no script may put another in their place.
#[derive(Debug)]
pub(super) struct Beyond<'a> {
    programs: &'a Programs,
    writable: &'a [PathBuf],
}

impl Programs {
    pub(super) fn new(search: Vec<PathBuf>) -> Self {
        let search = search.into_iter().filter(|folder| folder.is_absolute()).collect();
        Self { search, versions: Mutex::default() }
    }

    /// Without those in folders that scripts may write to: one run could leave a program for the next, or for us.
    pub(super) fn beyond<'a>(&'a self, writable: &'a [PathBuf]) -> Beyond<'a> {
        Beyond { programs: self, writable }
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
        network: bool,
    ) -> Result<Runner, String> {
        if extension == ".ts" && command == NPX_TSX {
            return self.typescript(network);
        }
        let mut words = command.split_whitespace();
        let name = words.next().unwrap_or_default();
        let program = self.find(name).map_err(|absent| said(extension, name, &absent))?;
        Ok(Runner { program, arguments: words.map(str::to_owned).collect() })
    }

    fn typescript(&self, network: bool) -> Result<Runner, String> {
        let bare = |program| Runner { program, arguments: Vec::new() };
        if let Ok(tsx) = self.find("tsx") {
            return Ok(bare(tsx));
        }
        let node = self.find("node").ok();
        let version = node.as_deref().and_then(|node| self.programs.version(node));
        if let (Some(node), Some(version)) = (&node, version) {
            match version {
                (23, 6..) | (24.., _) | (22, 18..) => return Ok(bare(node.clone())),
                (22, 6..) | (23, _) => {
                    let arguments = vec!["--experimental-strip-types".to_owned()];
                    return Ok(Runner { program: node.clone(), arguments });
                }
                _ => {}
            }
        }
        let found = match (&node, version) {
            (Some(node), Some((major, minor))) => {
                format!("Node {major}.{minor} ({}) is too old for it", node.display())
            }
            (Some(node), None) => format!("{} does not say its version", node.display()),
            (None, _) => "there is no Node either".to_owned(),
        };
        match self.find("npx") {
            Ok(npx) if network => {
                let arguments = ["--yes", "tsx"].map(str::to_owned).to_vec();
                Ok(Runner { program: npx, arguments })
            }
            _ => Err(format!(
                "TypeScript needs tsx or Node 22.18 and newer: tsx is not installed, and {found}. \
                 Ask the operator for `npm install -g tsx` or a newer Node (npx would need the network, which a \
                 script only has where it declares `network: true`)"
            )),
        }
    }

    fn find(&self, name: &str) -> Result<PathBuf, Absent> {
        let runnable = |path: &Path| path.metadata().is_ok_and(|found| found.is_file());
        if name.contains('/') {
            let path = PathBuf::from(name);
            if path.components().any(|part| part == Component::ParentDir) {
                return Err(Absent::Winding);
            }
            return match (path.is_absolute() && runnable(&path), is_executable(&path)) {
                (true, true) => Ok(path),
                (true, false) => Err(Absent::NotExecutable(path)),
                (false, _) => Err(Absent::NotFound),
            };
        }
        let mut blunt = None;
        let closed = |folder: &&PathBuf| {
            let real = folder.canonicalize().unwrap_or_else(|_| (*folder).clone());
            !self.writable.iter().any(|open| real.starts_with(open))
        };
        let folders = self.programs.search.iter().filter(closed);
        for path in folders.map(|folder| folder.join(name)).filter(|path| runnable(path)) {
            if is_executable(&path) {
                return Ok(path);
            }
            blunt = blunt.or(Some(path));
        }
        Err(blunt.map_or(Absent::NotFound, Absent::NotExecutable))
    }
}

/// What a program says to `--version`, if it says it in time. It speaks into a file: a pipe might be held open by
/// what it started.
fn asked(program: &Path) -> Option<String> {
    let mut said = tempfile::tempfile().ok()?;
    let mut command = Command::new(program);
    command.arg("--version").env_clear().stdin(Stdio::null()).stderr(Stdio::null());
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

fn said(extension: &str, name: &str, absent: &Absent) -> String {
    match absent {
        Absent::NotFound => format!(
            "the runner of {extension} scripts, {name}, is not installed: no folder of the server's PATH has it. \
             Ask the operator to install it or to set scripts.runners"
        ),
        Absent::Winding => format!(
            "the runner of {extension} scripts, {name}, has `..` in its path. Ask the operator to set scripts.runners to \
             where it really lies"
        ),
        Absent::NotExecutable(path) => format!(
            "the runner of {extension} scripts, {}, is not executable. Ask the operator to mend its permissions or to \
             set scripts.runners",
            path.display()
        ),
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
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
        Programs::new(vec![home.path().join("nowhere"), "relative".into(), home.path().join("bin")])
    }

    fn typescript(installed: &[(&str, &str, u32)], network: bool) -> Result<String, String> {
        let home = Home::new();
        let programs = programs(&home, installed);
        let runner = programs.beyond(&[]).runner(".ts", NPX_TSX, network)?;
        let name = runner.program.file_name().unwrap().to_string_lossy().into_owned();
        Ok(std::iter::once(name).chain(runner.arguments).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn typescript_takes_tsx_then_a_node_that_reads_it_then_npx_where_there_is_a_network() {
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
    fn x14_a_runner_that_is_missing_or_not_executable_is_called_by_its_name() {
        let home = Home::new();
        let programs = programs(&home, &[("ruby", "", 0o644), ("lua", "", 0o755)]);
        assert_eq!(
            programs.beyond(&[]).runner(".lua", "lua -W  -", false).unwrap(),
            Runner {
                program: home.path().join("bin/lua"),
                arguments: vec!["-W".into(), "-".into()]
            }
        );
        let refused = |command| programs.beyond(&[]).runner(".rb", command, false).unwrap_err();
        assert!(refused("ruby").contains("is not executable"), "{}", refused("ruby"));
        assert!(refused("perl").contains("perl, is not installed"), "{}", refused("perl"));
        assert!(refused("/usr/../bin/sh").contains("has `..` in its path"));
        let writable = [home.path().canonicalize().unwrap()];
        let planted = programs.beyond(&writable).runner(".lua", "lua", false).unwrap_err();
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
        let refused = programs.beyond(&[]).runner(".ts", NPX_TSX, false).unwrap_err();
        assert!(refused.contains("does not say its version"), "{refused}");
        assert!(started.elapsed() < PROMPT, "{:?}", started.elapsed());
    }
}
