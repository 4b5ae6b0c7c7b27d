//! Extension → the program that runs it, found on the operator's `PATH`, never through a shell.
//!
//! TypeScript has three ways: an installed `tsx`, a Node that reads it, and `npx tsx`, which fetches `tsx` from the
//! network and therefore only serves scripts that have one.

#![expect(clippy::disallowed_methods, reason = "a Node is asked once for its version")]

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
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

/// Where programs are looked for, and what was learned about them.
#[derive(Debug, Default)]
pub(super) struct Programs {
    search: Vec<PathBuf>,
    /// By path: what `node --version` said.
    versions: Mutex<HashMap<PathBuf, Option<(u32, u32)>>>,
}

/// Why there is no program of a name.
#[derive(Debug, PartialEq, Eq)]
enum Absent {
    NotFound,
    NotExecutable(PathBuf),
}

impl Programs {
    pub(super) fn new(search: Vec<PathBuf>) -> Self {
        let search = search.into_iter().filter(|folder| folder.is_absolute()).collect();
        Self { search, versions: Mutex::default() }
    }

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
        let version = node.as_deref().and_then(|node| self.version(node));
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
            return match (path.is_absolute() && runnable(&path), is_executable(&path)) {
                (true, true) => Ok(path),
                (true, false) => Err(Absent::NotExecutable(path)),
                (false, _) => Err(Absent::NotFound),
            };
        }
        let mut blunt = None;
        for path in self.search.iter().map(|folder| folder.join(name)).filter(|path| runnable(path))
        {
            if is_executable(&path) {
                return Ok(path);
            }
            blunt = blunt.or(Some(path));
        }
        Err(blunt.map_or(Absent::NotFound, Absent::NotExecutable))
    }

    fn version(&self, node: &Path) -> Option<(u32, u32)> {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = versions.get(node) {
            return *known;
        }
        let asked = Command::new(node).arg("--version").env_clear().stdin(Stdio::null()).output();
        let said = asked.ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let version = said.as_deref().and_then(parsed);
        versions.insert(node.to_path_buf(), version);
        version
    }
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

    use skills_testkit::Home;

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
        let runner = programs(&home, installed).runner(".ts", NPX_TSX, network)?;
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
            programs.runner(".lua", "lua -W  -", false).unwrap(),
            Runner {
                program: home.path().join("bin/lua"),
                arguments: vec!["-W".into(), "-".into()]
            }
        );
        let refused = |command| programs.runner(".rb", command, false).unwrap_err();
        assert!(refused("ruby").contains("is not executable"), "{}", refused("ruby"));
        assert!(refused("perl").contains("perl, is not installed"), "{}", refused("perl"));
        for odd in ["./ruby", "bin/lua", "/nowhere/lua", "lua;ls", "$(lua)"] {
            assert!(refused(odd).contains("is not installed"), "{odd}");
        }
    }
}
