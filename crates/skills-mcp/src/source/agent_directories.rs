//! The directories that are served when the operator names no source, and which of them a client loads itself.
//!
//! Not here: the table of clients, reading the directories, plugins.

use std::path::PathBuf;

use skills_core::catalog::Origin;

use super::Links;
pub(super) use crate::paths::real_path_or_same as real;
use crate::{clients::KnownClient, config::Environment, paths::project_levels};

const AGENTS: &str = ".agents/skills";
const AGENT: &str = ".agent/skills";
const CLAUDE: &str = ".claude/skills";

/// The directories that are served when the operator names no source; the first has precedence.
const DEFAULT_DIRECTORIES: &[(Owner, &str)] = &[
    (Owner::Project, AGENTS),
    (Owner::Project, AGENT),
    (Owner::User, AGENTS),
    (Owner::User, AGENT),
    (Owner::Project, CLAUDE),
    (Owner::User, CLAUDE),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Project,
    User,
}

impl KnownClient {
    /// The directories that this client loads, as real paths.
    pub fn directories(&self, environment: &Environment) -> Vec<PathBuf> {
        let project = ProjectLevels::of(environment);
        let project = project
            .levels
            .iter()
            .flat_map(|level| self.project.iter().map(move |below| level.join(below)));
        let user = self.user.iter().filter_map(|below| {
            if self.claude_plugins {
                user_path(environment, below)
            } else {
                // Only Claude Code follows `CLAUDE_CONFIG_DIR`; other clients read `~/.claude`.
                Some(environment.home.as_ref()?.join(below))
            }
        });
        project.chain(user).map(|path| real(&path)).collect()
    }
}

/// A directory of skills that is served though the operator did not name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDirectory {
    /// Unique among these: `project-agents`, `project-agents-2` in the folder above, `user-claude`.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// Symbolic links may not leave this folder under [`Links::Inside`].
    pub boundary: PathBuf,
    /// The project's or the user's.
    pub origin: Origin,
    /// How far symbolic links are followed.
    pub links: Links,
}

/// The directories to serve, in order of precedence, without those that `native` loads itself. They need not exist: one
/// that appears later is served then.
///
/// A folder is listed once however many paths lead to it, and one that is both the project's and the user's (the
/// start directory is the home folder, or a link leads there) is the user's.
pub fn default_directories(
    environment: &Environment,
    native: Option<&KnownClient>,
) -> Vec<AgentDirectory> {
    let taken = native.map(|client| client.directories(environment)).unwrap_or_default();
    let users: Vec<PathBuf> = DEFAULT_DIRECTORIES
        .iter()
        .filter(|(owner, _)| *owner == Owner::User)
        .filter_map(|(_, below)| user_path(environment, below))
        .map(|path| real(&path))
        .collect();
    let project = ProjectLevels::of(environment);
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut directories = Vec::new();
    for (owner, below) in DEFAULT_DIRECTORIES {
        for directory in owner.directories(environment, &project, below) {
            let path = real(&directory.path);
            let is_users = *owner == Owner::Project && users.contains(&path);
            if is_users || taken.contains(&path) || seen.contains(&path) {
                continue;
            }
            seen.push(path);
            directories.push(directory);
        }
    }
    directories
}

/// The folders of a project that may have skill directories.
struct ProjectLevels {
    /// From the start directory up to the repository's root; without a repository, the start directory alone.
    levels: Vec<PathBuf>,
}

impl ProjectLevels {
    fn of(environment: &Environment) -> Self {
        Self { levels: project_levels(&environment.directory, environment.home.as_deref()) }
    }

    /// The folder that links of its directories may not leave.
    fn root(&self) -> PathBuf {
        self.levels.last().cloned().unwrap_or_default()
    }
}

impl Owner {
    fn directories(
        self,
        environment: &Environment,
        project: &ProjectLevels,
        below: &str,
    ) -> Vec<AgentDirectory> {
        let owner = below.trim_start_matches('.').split('/').next().unwrap_or(below);
        let in_project = |(number, level): (usize, &PathBuf)| AgentDirectory {
            name: match number {
                0 => format!("project-{owner}"),
                number => format!("project-{owner}-{}", number + 1),
            },
            path: level.join(below),
            boundary: project.root(),
            origin: Origin::Project,
            links: Links::Inside,
        };
        let of_user = |path: PathBuf| AgentDirectory {
            name: format!("user-{owner}"),
            boundary: path.clone(),
            path,
            origin: Origin::User,
            links: Links::Follow,
        };
        match self {
            Self::Project => project.levels.iter().enumerate().map(in_project).collect(),
            Self::User => user_path(environment, below).map(of_user).into_iter().collect(),
        }
    }
}

/// A path below the home folder; `~/.claude` is replaced by `CLAUDE_CONFIG_DIR`.
fn user_path(environment: &Environment, below: &str) -> Option<PathBuf> {
    match (below.strip_prefix(".claude/"), &environment.claude_config) {
        (Some(rest), Some(moved)) => Some(moved.join(rest)),
        _ => Some(environment.home.as_ref()?.join(below)),
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, path::Path};

    use skills_testkit::Home;

    use super::*;
    use crate::{clients::CLIENTS, source::Directory};

    const ALL: [&str; 6] = [
        "project-agents",
        "project-agent",
        "user-agents",
        "user-agent",
        "project-claude",
        "user-claude",
    ];

    /// A home `user` and a project `project` in it, with every directory that any client has.
    fn full() -> (Home, Environment) {
        let home = Home::new();
        let dirs = CLIENTS.iter().flat_map(|client| client.project.iter().chain(client.user));
        for below in dirs.chain([&AGENT]) {
            for owner in ["user", "user/project"] {
                home.write(&format!("{owner}/{below}/x/SKILL.md"), "x");
            }
        }
        let environment = environment(&home);
        (home, environment)
    }

    fn environment(home: &Home) -> Environment {
        Environment {
            home: Some(home.path().join("user")),
            directory: home.path().join("user/project"),
            ..Environment::default()
        }
    }

    fn names(environment: &Environment, native: Option<&KnownClient>) -> Vec<String> {
        default_directories(environment, native).into_iter().map(|found| found.name).collect()
    }

    #[test]
    fn source_2_the_order_and_what_each_place_may_do() {
        let (home, environment) = full();
        let found = default_directories(&environment, None);
        let below: Vec<String> = found
            .iter()
            .map(|found| found.path.strip_prefix(home.path()).unwrap().display().to_string())
            .collect();
        assert_eq!(
            below,
            [
                "user/project/.agents/skills",
                "user/project/.agent/skills",
                "user/.agents/skills",
                "user/.agent/skills",
                "user/project/.claude/skills",
                "user/.claude/skills",
            ]
        );
        assert_eq!(names(&environment, None), ALL);
        for found in found {
            let (boundary, origin, links) = if found.name.starts_with("project-") {
                (environment.directory.clone(), Origin::Project, Links::Inside)
            } else {
                (found.path.clone(), Origin::User, Links::Follow)
            };
            assert_eq!(
                (found.boundary, found.origin, found.links),
                (boundary, origin, links),
                "{}",
                found.name
            );
        }
    }

    #[test]
    fn each_client_loses_exactly_what_it_loads_by_itself() {
        const BOTH_AGENTS: &[&str] = &["project-agents", "user-agents"];
        const ALL_BUT_AGENT: &[&str] =
            &["project-agents", "user-agents", "project-claude", "user-claude"];
        let expected: &[(&str, &[&str])] = &[
            ("claude-code", &["project-claude", "user-claude"]),
            ("codex", BOTH_AGENTS),
            ("codex-code-mode", BOTH_AGENTS),
            ("copilot", &["project-agents", "user-agents", "project-claude"]),
            ("vscode", ALL_BUT_AGENT),
            ("cursor", ALL_BUT_AGENT),
            ("claude-desktop", &[]),
            ("gemini", BOTH_AGENTS),
            ("opencode", ALL_BUT_AGENT),
            ("goose", ALL_BUT_AGENT),
            ("amp", &["project-agents"]),
            ("cline", BOTH_AGENTS),
            ("zed", BOTH_AGENTS),
            ("warp", BOTH_AGENTS),
            ("droid", &["project-agents", "project-agent", "user-agents"]),
            ("kilo", &["project-agents"]),
            ("windsurf", BOTH_AGENTS),
            ("kiro", &[]),
            ("roo", &[]),
            ("continue", &["project-claude"]),
            ("junie", &[]),
            ("qwen", BOTH_AGENTS),
            ("trae", &[]),
            ("openhands", &[]),
            ("crush", &[]),
            ("grok", &[]),
            ("replit", &["project-agents"]),
            ("kimi", BOTH_AGENTS),
            ("pi", BOTH_AGENTS),
            ("dexto", BOTH_AGENTS),
            ("universal", &["project-agents"]),
        ];
        let (_home, environment) = full();
        assert_eq!(
            expected.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
            KnownClient::ids().collect::<Vec<_>>()
        );
        for (id, loaded) in expected {
            let left: Vec<&str> = ALL.into_iter().filter(|name| !loaded.contains(name)).collect();
            assert_eq!(names(&environment, KnownClient::of_id(id)), left, "{id}");
        }
    }

    #[test]
    fn a14_a_projects_directories_are_looked_for_up_to_the_repositorys_root() {
        let (home, mut environment) = full();
        let project = home.path().join("user/project");
        environment.directory = project.join("a/b");
        home.write("user/project/a/b/x", "");
        let only = [
            "project-agents",
            "project-agent",
            "user-agents",
            "user-agent",
            "project-claude",
            "user-claude",
        ];
        assert_eq!(names(&environment, None), only, "no repository: the start directory alone");
        home.write("user/project/.git/HEAD", "x");
        let found = default_directories(&environment, None);
        let agents: Vec<(&str, &Path)> = found
            .iter()
            .filter(|directory| directory.name.starts_with("project-agents"))
            .map(|directory| {
                (directory.name.as_str(), directory.path.strip_prefix(&project).unwrap())
            })
            .collect();
        assert_eq!(
            agents,
            [
                ("project-agents", Path::new("a/b/.agents/skills")),
                ("project-agents-2", Path::new("a/.agents/skills")),
                ("project-agents-3", Path::new(".agents/skills")),
            ]
        );
        let inside = |directory: &&AgentDirectory| directory.origin == Origin::Project;
        assert!(found.iter().filter(inside).all(|directory| directory.boundary == project));
        assert_eq!(found.iter().filter(inside).count(), 9);
        // What a client loads by itself it loads on every level.
        let left = names(&environment, KnownClient::of_id("claude-code"));
        assert!(!left.iter().any(|name| name.contains("claude")), "{left:?}");
        // A worktree has a file where others have a folder, and a nearer root ends the search.
        home.write("user/project/a/.git", "gitdir: elsewhere");
        let found = names(&environment, None);
        assert!(found.contains(&"project-claude-2".to_owned()), "{found:?}");
        assert!(!found.contains(&"project-claude-3".to_owned()), "{found:?}");
    }

    #[test]
    fn started_in_the_home_folder_everything_is_the_users_once() {
        let (home, mut environment) = full();
        environment.directory = home.path().join("user");
        assert_eq!(names(&environment, None), ["user-agents", "user-agent", "user-claude"]);
        // Amp loads `.agents/skills` of the project only, which is here the user's.
        assert_eq!(names(&environment, KnownClient::of_id("amp")), ["user-agent", "user-claude"]);
        // The system names the start directory by its real path, and HOME may lead there by a link.
        symlink(home.path().join("user"), home.path().join("ada")).unwrap();
        environment.home = Some(home.path().join("ada"));
        assert_eq!(names(&environment, None), ["user-agents", "user-agent", "user-claude"]);
    }

    #[test]
    fn missing_directories_are_silent_and_broken_ones_are_not() {
        let home = Home::new();
        let environment = environment(&home);
        home.write("user/.claude/skills", "a file");
        home.write("user/.agent", "a file above");
        home.write("user/project/.agents/x", "");
        home.write("user/.agents/x", "");
        symlink("skills", home.path().join("user/project/.agents/skills")).unwrap();
        symlink("/nowhere/at/all", home.path().join("user/.agents/skills")).unwrap();
        let broken: Vec<String> = default_directories(&environment, None)
            .into_iter()
            .filter_map(Directory::agents)
            .filter(|directory| directory.missed().is_some())
            .map(|directory| directory.name().to_string())
            .collect();
        assert_eq!(broken, ["project-agents", "user-agents"]);
        assert_eq!(names(&environment, None), ALL, "what is not there may appear");
    }

    #[test]
    fn two_ways_to_one_folder_are_one_directory() {
        let home = Home::new();
        home.write("user/.agents/skills/x/SKILL.md", "x");
        home.write("user/.claude/x", "");
        home.write("user/project/.agents/x", "");
        symlink("../.agents/skills", home.path().join("user/.claude/skills")).unwrap();
        symlink(
            home.path().join("user/.agents/skills"),
            home.path().join("user/project/.agents/skills"),
        )
        .unwrap();
        let environment = environment(&home);
        let others = ["project-agent", "user-agents", "user-agent", "project-claude"];
        assert_eq!(names(&environment, None), others);
        assert_eq!(
            names(&environment, KnownClient::of_id("claude-code")),
            ["project-agent", "user-agent"]
        );
    }

    #[test]
    fn the_users_claude_directory_moves_with_its_variable() {
        let (home, mut environment) = full();
        home.write("moved/skills/x/SKILL.md", "x");
        environment.claude_config = Some(home.path().join("moved"));
        let found = default_directories(&environment, None);
        assert_eq!(found.last().unwrap().path, home.path().join("moved/skills"));
        assert_eq!(names(&environment, KnownClient::of_id("claude-code")), ALL[..4]);
        // OpenCode reads `~/.claude/skills`, which we no longer look into.
        let left = names(&environment, KnownClient::of_id("opencode"));
        assert_eq!(left, ["project-agent", "user-agent", "user-claude"]);
    }

    #[test]
    fn ids_are_unique_and_a_wrong_one_has_a_near_one() {
        let mut ids: Vec<&str> = KnownClient::ids().collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), CLIENTS.len());
        assert_eq!(
            KnownClient::of_id("Claude-Code").map(|client| client.name),
            Some("Claude Code")
        );
        assert!(KnownClient::of_id("claude-code").unwrap().claude_plugins);
        assert_eq!(CLIENTS.iter().filter(|client| client.claude_plugins).count(), 1);
        for (wrong, near) in [
            ("claude", Some("claude-code")),
            ("gemini-cli", Some("gemini")),
            ("Curser", Some("cursor")),
            ("opncode", Some("opencode")),
            ("something-else", None),
            ("", None),
        ] {
            assert_eq!(KnownClient::near(wrong), near, "{wrong}");
        }
    }
}
