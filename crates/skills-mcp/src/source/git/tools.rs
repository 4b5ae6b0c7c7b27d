//! [`GitTools`]: the `git` and `ssh` that are started, the `PATH` on which they find their helpers, and the user's settings
//! without those that lead to programs a script may write.
//!
//! Not here: starting them (program).

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use super::{
    error::GitError,
    ssh_config::{self, ScriptWrites},
};
use crate::{
    config::Environment,
    paths::{is_file, is_link, real_path},
    programs::{
        Program, ProgramError, SafeSearchPath, SearchPath, UnsafeFolders, WritableFolders, own_home,
    },
};

/// A command that fails in place of `ssh`.
pub(super) const NO_SSH: &str = "false";

/// What `ssh` reads without the user's configuration.
const SYSTEM_SSH_CONFIG: &[&str] = &["/etc/ssh/ssh_config"];

/// The `PATH`, and the folders that scripts may write.
#[derive(Debug, Default)]
pub(super) struct GitToolFinder {
    search: SearchPath,
    folders: WritableFolders,
    roots: Vec<String>,
}

impl GitToolFinder {
    pub(super) fn new(environment: &Environment, roots: &[String]) -> Self {
        Self {
            search: SearchPath::new(&environment.search),
            folders: WritableFolders::new(environment),
            roots: roots.to_vec(),
        }
    }

    /// The tools that no script may write at this moment.
    pub(super) fn find(&self) -> Result<GitTools<'_>, GitError> {
        let writable = self.folders.folders(&self.roots);
        let safe = self.search.safe(&writable);
        let absent = |name| move |passed_over| GitError::NoProgram { name, passed_over };
        let git = safe.find("git").map_err(passed_over).map_err(absent("git"))?;
        let ssh = safe.find("ssh").map_err(passed_over);
        let path = safe.variable();
        Ok(GitTools { search: &self.search, home: self.folders.home(), writable, git, ssh, path })
    }
}

/// The programs that were found and are not started.
fn passed_over(absent: ProgramError) -> Vec<PathBuf> {
    match absent {
        ProgramError::NotFound { passed_over } => passed_over,
        ProgramError::NotExecutable(_) | ProgramError::Relative | ProgramError::ParentInPath => {
            Vec::new()
        }
    }
}

/// The programs of a git command.
#[derive(Debug)]
pub(super) struct GitTools<'a> {
    search: &'a SearchPath,
    home: Option<&'a Path>,
    writable: UnsafeFolders,
    pub(super) git: Program,
    ssh: Result<Program, Vec<PathBuf>>,
    /// The `PATH`.
    pub(super) path: OsString,
}

impl GitTools<'_> {
    /// `GIT_SSH_COMMAND`, which a shell reads: the user's `ssh`, without prompts, and without a configuration that a script may
    /// write, of which `refused` receives why. Where there is no `ssh` that may be started, a command that fails.
    pub(super) fn ssh_command(&self, mut refused: impl FnMut(String)) -> OsString {
        let Ok(ssh) = &self.ssh else { return NO_SSH.into() };
        let mut command = quoted(ssh.path.as_os_str());
        command.push(" -oBatchMode=yes");
        // `ssh` itself asks the system where the home folder is; a program in its place may use `HOME`.
        let homes = self.home.map(Path::to_path_buf).into_iter().chain(own_home());
        if let Some(why) = homes.into_iter().find_map(|home| ssh_config::refusal(&home, self)) {
            refused(format!("your ssh configuration is not used: {why}"));
            command.push(" -F ");
            command.push(
                SYSTEM_SSH_CONFIG.iter().find(|file| is_file(Path::new(file))).unwrap_or(&"none"),
            );
        }
        command
    }

    /// An error where there is no `ssh` that may be started.
    pub(super) fn need_ssh(&self) -> Result<(), GitError> {
        let Err(passed_over) = &self.ssh else { return Ok(()) };
        Err(GitError::NoProgram { name: "ssh", passed_over: passed_over.clone() })
    }

    /// Whether git may find its own commands in this folder of `GIT_EXEC_PATH`.
    pub(super) fn is_safe_folder(&self, folder: &OsStr) -> bool {
        let folder = Path::new(folder);
        folder.is_absolute() && !self.safe().is_writable(folder)
    }

    fn safe(&self) -> SafeSearchPath<'_> {
        self.search.safe(&self.writable)
    }

    /// The settings about hosts in the output of `git config --list -z --show-origin`, without those in a file that a script may
    /// write, and without credential helpers that a script may write; `refused` receives why each of those does not count.
    pub(super) fn settings_about_hosts(
        &self,
        listed: &str,
        mut refused: impl FnMut(String),
    ) -> Vec<(String, String)> {
        let mut parts = listed.split('\0');
        let mut settings = Vec::new();
        while let (Some(origin), Some(entry)) = (parts.next(), parts.next()) {
            let Some((key, value)) = entry.split_once('\n') else { continue };
            if !is_about_hosts(key) {
                continue;
            }
            let file = origin.strip_prefix("file:").map(Path::new);
            if file
                .is_some_and(|file| self.safe().is_writable(file) && !self.is_right_in_home(file))
            {
                refused(format!("`{key}` in {origin} is not used: scripts may write that file"));
            } else if key.ends_with(".helper") && self.is_writable_helper(value) {
                refused(format!("`{key}` is not used: scripts may write the program it names"));
            } else {
                settings.push((key.to_owned(), value.to_owned()));
            }
        }
        settings
    }

    /// Whether a file is directly in the home folder, in which no script works, not even where `scripts.roots` names it.
    fn is_right_in_home(&self, file: &Path) -> bool {
        let folder = file.parent().and_then(real_path);
        folder.as_deref() == self.home && self.home.is_some() && !is_link(file)
    }

    /// Whether a credential helper is, or names, a file that a script may write.
    fn is_writable_helper(&self, helper: &str) -> bool {
        let safe = self.safe();
        let separates = |c: char| c.is_whitespace() || "\"'`;&|()<>=".contains(c);
        let words = helper.trim_start_matches('!').split(separates).filter(|word| !word.is_empty());
        let first = words.clone().next().unwrap_or_default();
        // As in git: a shell command, a path, or the name of one of git's own helpers.
        let program = if helper.starts_with('!') {
            first.to_owned()
        } else {
            format!("git-credential-{first}")
        };
        // How a shell writes the home folder, and `ssh` in its configuration; other expansions are not resolved.
        let rest = |word: &str| {
            ["~/", "$HOME/", "${HOME}/", "%d/"]
                .iter()
                .find_map(|home| word.strip_prefix(home))
                .map(PathBuf::from)
        };
        let at = |word: &str| match (rest(word), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(word),
        };
        // A path with a blank in it is one word of the shell.
        let whole = shell_words(helper.trim_start_matches('!'));
        let mut paths = words.chain(whole.iter().map(String::as_str)).map(at);
        safe.leads_to_writable(&program)
            || paths.any(|path| path.is_absolute() && safe.is_writable(&path))
    }
}

impl ScriptWrites for GitTools<'_> {
    fn is_writable(&self, path: &Path) -> bool {
        self.safe().is_writable(path)
    }

    fn is_writable_command(&self, command: &str) -> bool {
        self.is_writable_helper(&format!("!{command}"))
    }
}

/// The words of a command as a shell splits it: quotes and a backslash hold a word together.
fn shell_words(command: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => word.extend(chars.next()),
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (c, None) if c.is_whitespace() || "`;&|()<>=".contains(c) => {
                words.push(std::mem::take(&mut word));
            }
            (c, _) => word.push(c),
        }
    }
    words.push(word);
    words
}

/// Quotes a word for a shell.
fn quoted(word: &OsStr) -> OsString {
    let mut quoted = OsString::from("'");
    let text = word.to_string_lossy();
    if text.contains('\'') {
        quoted.push(text.replace('\'', "'\\''"));
    } else {
        quoted.push(word);
    }
    quoted.push("'");
    quoted
}

/// Whether a user's setting is about hosts, and starts no program except a credential helper.
fn is_about_hosts(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    if let Some(base) = key.strip_prefix("url.").and_then(|rest| rest.strip_suffix(".insteadof")) {
        let short =
            base.split_once('@').is_some_and(|(user, _)| user.chars().all(char::is_alphanumeric));
        return base.starts_with("https://")
            || base.starts_with("ssh://")
            || (short && !base.contains("::"));
    }
    let passed = key.starts_with("http.") || key.starts_with("credential.");
    passed
        && !["followredirects", "cookiefile", "savecookies"].iter().any(|name| key.ends_with(name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use skills_testkit::Home;

    use super::*;

    #[test]
    fn g03_of_the_users_settings_only_those_about_hosts_are_passed_on() {
        for passed in [
            "credential.helper",
            "credential.https://github.com.helper",
            "http.proxy",
            "http.https://h.example/.sslcainfo",
            "url.git@github.com:.insteadof",
            "url.https://mirror.example/.insteadof",
        ] {
            assert!(is_about_hosts(passed), "{passed}");
        }
        for kept in [
            "core.sshcommand",
            "core.fsmonitor",
            "core.hookspath",
            "core.pager",
            "init.templatedir",
            "protocol.ext.allow",
            "url.ext::sh -c id;.insteadof",
            "url.a@ext::x.insteadof",
            "url.file:///.insteadof",
            "remote.origin.uploadpack",
            "uploadpack.packobjectshook",
            "http.followredirects",
            "alias.fetch",
        ] {
            assert!(!is_about_hosts(kept), "{kept}");
        }
    }

    /// A home with these programs, a project that scripts may write, and a `PATH` of `bin` alone.
    fn finder(programs: &[&str]) -> (Home, GitToolFinder) {
        finder_with(programs, &[])
    }

    fn finder_with(programs: &[&str], roots: &[&str]) -> (Home, GitToolFinder) {
        let home = Home::new();
        home.write("project/x", "");
        for path in programs {
            home.write(path, "#!/bin/sh\n");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(home.path().join(path), mode).unwrap();
        }
        let environment = Environment {
            home: Some(home.path().to_path_buf()),
            directory: home.path().join("project"),
            search: vec![home.path().join("project/bin"), home.path().join("bin")],
            ..Environment::default()
        };
        let roots: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
        let finder = GitToolFinder::new(&environment, &roots);
        (home, finder)
    }

    #[test]
    fn e01_settings_that_lead_to_what_a_script_may_write_do_not_count() {
        let (home, finder) = finder(&["bin/git", "bin/mine", "project/bin/git", "project/tool"]);
        let real = home.path().canonicalize().unwrap();
        symlink(real.join("project/tool"), real.join("bin/git-credential-linked")).unwrap();
        symlink(real.join("project/tool"), real.join("bin/linked")).unwrap();
        symlink(real.join("project"), real.join("my project")).unwrap();
        let tools = finder.find().unwrap();
        assert_eq!(tools.git.path, home.path().join("bin/git"));
        let project = real.join("project").display().to_string();
        let kept = |origin: &str, value: &str| {
            let listed = format!("file:{origin}\0credential.helper\n{value}\0");
            !tools.settings_about_hosts(&listed, drop).is_empty()
        };
        for helper in
            ["", "store", "cache --timeout 5", "!mine x", "!gh auth git-credential", "/bin/x"]
        {
            assert!(kept("/etc/gitconfig", helper), "{helper}");
            assert!(!kept(&format!("{project}/gitconfig"), helper), "{helper}");
        }
        for helper in [
            "linked",
            "!linked x",
            &format!("{project}/tool"),
            &format!("store --file={project}/credentials"),
            &format!("!f() {{ \"{project}/tool\" get; }}; f"),
            "!~/project/tool",
            "!\"${HOME}/project/tool\" get",
            "!'~/my project/tool'",
            "!\"$HOME/my project/tool\" get",
            "!~/my\\ project/tool get",
            "!x=\"${HOME}\"/my' 'project/tool; $x",
        ] {
            assert!(!kept("/etc/gitconfig", helper), "{helper}");
        }
        assert!(!tools.is_safe_folder(OsStr::new("libexec")));
        assert!(!tools.is_safe_folder(project.as_ref()));
        assert!(tools.is_safe_folder(OsStr::new("/usr/lib/git-core")));
    }

    #[test]
    fn e01_the_home_folders_own_configuration_counts_also_where_scripts_work_below_it() {
        let (home, finder) = finder_with(&[], &["~"]);
        home.write(".config/git/config", "");
        home.write(".gitconfig", "");
        let writable = finder.folders.folders(&finder.roots);
        let (search, path) = (&finder.search, OsString::new());
        let git = Program { path: "/usr/bin/git".into(), passed_over: Vec::new() };
        let ssh = Err(Vec::new());
        let tools = GitTools { search, home: finder.folders.home(), writable, git, ssh, path };
        for (file, counts) in [(".gitconfig", true), (".config/git/config", false)] {
            let file = home.path().join(file);
            let listed = format!("file:{}\0http.proxy\nhttp://p\0", file.display());
            assert_eq!(!tools.settings_about_hosts(&listed, drop).is_empty(), counts, "{listed}");
        }
    }

    #[test]
    fn e01_ssh_reads_no_configuration_that_a_script_may_write() {
        let (home, finder) = finder(&["bin/git", "bin/ssh"]);
        let ssh = || {
            let mut why = Vec::new();
            let command = finder.find().unwrap().ssh_command(|refused| why.push(refused));
            (command.into_string().unwrap(), why)
        };
        home.write(".ssh/config", "Include ~/.ssh/work\n");
        let (command, why) = ssh();
        assert!(command.ends_with("/bin/ssh' -oBatchMode=yes") && why.is_empty(), "{why:?}");
        home.write(".ssh/config", "Include ~/project/ssh_config\n");
        let (command, why) = ssh();
        assert!(command.ends_with(" -F none") || command.ends_with(" -F /etc/ssh/ssh_config"));
        assert!(why[0].starts_with("your ssh configuration is not used: "), "{why:?}");
        assert!(why[0].contains("scripts may write"), "{why:?}");
    }

    #[test]
    fn e01_ssh_is_one_word_and_none_is_a_command_that_fails() {
        let (_home, finder) = finder(&["bin/git", "project/bin/ssh"]);
        let tools = finder.find().unwrap();
        assert_eq!(tools.ssh_command(drop), NO_SSH);
        let absent = tools.need_ssh().unwrap_err().to_string();
        assert!(absent.contains("`ssh`") && absent.contains("project/bin/ssh"), "{absent}");
        assert_eq!(quoted(OsStr::new("/a b/it's")), "'/a b/it'\\''s'");
    }
}
