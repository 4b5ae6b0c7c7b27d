//! Whether a script may write a part of the user's `ssh` configuration: `ssh` starts the programs that it names.
//!
//! `~/.ssh` is closed to scripts, but the configuration in it may be a link into a project, include a file of one, or name a
//! program of one. What cannot be decided counts as writable. Not here: the system's configuration, which is root's.

use std::path::Path;

use crate::{
    config::read_optional,
    paths::{entries, expand_home, is_link, real_path},
};

/// Files that include each other are followed so far, as by `ssh`.
const MAX_INCLUDE_DEPTH: usize = 16;
/// A configuration of more files is not decided.
const MAX_FILES: usize = 1_000;
/// The settings whose values are commands, or programs and libraries that `ssh` starts.
const COMMANDS: &[&str] = &[
    "proxycommand",
    "localcommand",
    "knownhostscommand",
    "match",
    "pkcs11provider",
    "securitykeyprovider",
    "xauthlocation",
];

/// What a script may write, by path and by what a command names.
pub(super) trait ScriptWrites {
    fn is_writable(&self, path: &Path) -> bool;
    fn is_writable_command(&self, command: &str) -> bool;
}

/// Why the configuration in this home folder is not used; none where no script may write any part of it.
pub(super) fn refusal(home: &Path, writes: &dyn ScriptWrites) -> Option<String> {
    let folder = home.join(".ssh");
    let mut check = SshConfigCheck { home, folder: &folder, writes, files: 0 };
    check.file(&folder.join("config"), 0)
}

struct SshConfigCheck<'a> {
    home: &'a Path,
    /// `~/.ssh`.
    folder: &'a Path,
    writes: &'a dyn ScriptWrites,
    files: usize,
}

impl SshConfigCheck<'_> {
    fn file(&mut self, file: &Path, depth: usize) -> Option<String> {
        let shown = file.display();
        if !self.is_in_closed_folder(file) && self.writes.is_writable(file) {
            return Some(format!("scripts may write {shown}"));
        }
        self.files += 1;
        if self.files > MAX_FILES {
            return Some("it has too many files".to_owned());
        }
        let text = match read_optional(file) {
            Ok(text) => text.filter(|_| depth <= MAX_INCLUDE_DEPTH)?,
            Err(error) => return Some(format!("{shown} cannot be read: {error}")),
        };
        text.lines().find_map(|line| {
            let (keyword, value) = setting(line)?;
            if keyword == "include" {
                return words(value).find_map(|word| self.included(&word, depth + 1));
            }
            let is_writable =
                COMMANDS.contains(&&*keyword) && self.writes.is_writable_command(value);
            is_writable.then(|| format!("{shown}: scripts may write what `{keyword}` starts"))
        })
    }

    /// The files that one word of an `Include` names.
    fn included(&mut self, word: &str, depth: usize) -> Option<String> {
        let undecided = || Some(format!("which files `Include {word}` names is not known"));
        if word.contains(['%', '$']) || word.starts_with('~') && !word.starts_with("~/") {
            return undecided();
        }
        let path = self.folder.join(expand_home(word, Some(self.home)));
        if !word.contains(['*', '?', '[']) {
            return self.file(&path, depth);
        }
        let Some(folder) = path.parent().filter(|folder| !has_wildcard(folder)) else {
            return undecided();
        };
        if !self.is_in_closed_folder(&path) && self.writes.is_writable(folder) {
            return Some(format!("scripts may write {}", folder.display()));
        }
        entries(folder).iter().find_map(|file| self.file(file, depth))
    }

    /// Whether a path is right in `~/.ssh`, in which no script works, not even where `scripts.roots` names the home folder.
    fn is_in_closed_folder(&self, path: &Path) -> bool {
        let is_plain = !is_link(path) && !is_link(self.folder);
        is_plain && path.parent().and_then(real_path) == real_path(self.folder)
    }
}

fn has_wildcard(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

/// The keyword of a line, in lower case, and its value.
fn setting(line: &str) -> Option<(String, &str)> {
    let line = line.trim();
    let (keyword, value) = line.split_once(|c: char| c.is_whitespace() || c == '=')?;
    let value = value.trim_start_matches(|c: char| c.is_whitespace() || c == '=');
    Some((keyword.trim_matches('"').to_ascii_lowercase(), value))
}

/// The words of a value; quotes hold blanks together.
fn words(value: &str) -> impl Iterator<Item = String> {
    let parts = value.split('"').enumerate();
    let words = parts.flat_map(|(number, part)| {
        let is_quoted = number % 2 == 1;
        let whole = is_quoted.then(|| part.to_owned());
        let split = part.split_whitespace().filter(move |_| !is_quoted).map(str::to_owned);
        whole.into_iter().chain(split.collect::<Vec<_>>())
    });
    words.collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, path::PathBuf};

    use skills_testkit::Home;

    use super::*;

    /// Scripts may write everything below this folder.
    struct Below(PathBuf);

    impl ScriptWrites for Below {
        fn is_writable(&self, path: &Path) -> bool {
            real_path(path).unwrap_or_else(|| path.to_path_buf()).starts_with(&self.0)
        }

        fn is_writable_command(&self, command: &str) -> bool {
            command.contains("project/")
        }
    }

    fn refused(home: &Home) -> Option<String> {
        let real = home.path().canonicalize().unwrap();
        refusal(&real, &Below(real.join("project")))
    }

    #[test]
    fn e01_an_ordinary_configuration_is_used() {
        let home = Home::new();
        assert_eq!(refused(&home), None, "there is none");
        home.write(".ssh/config.d/work", "Host w\n  ProxyCommand nc %h %p\n");
        home.write(".ssh/more", "Host m\n  User git\n");
        home.write(
            ".ssh/config",
            "Include config.d/* more\nInclude \"~/.ssh/not there\"\nHost *\n  IdentityFile ~/project/key\n",
        );
        assert_eq!(refused(&home), None);
    }

    #[test]
    fn e01_a_part_that_scripts_may_write_is_found_wherever_it_is() {
        for (config, why) in [
            ("Include ~/project/ssh", "scripts may write"),
            ("include=\"~/project/ssh\"", "scripts may write"),
            ("Host a\nInclude config.d/*", "scripts may write"),
            ("Include ~/project/*.conf", "scripts may write"),
            ("Include other", "scripts may write"),
            ("Include ~/*/ssh", "is not known"),
            ("Include ${WORK}/ssh", "is not known"),
            ("Host *\n\tProxyCommand = ~/project/proxy %h", "what `proxycommand` starts"),
            ("Match host x exec \"~/project/at-work\"", "what `match` starts"),
        ] {
            let home = Home::new();
            home.write("project/ssh", "");
            home.write(".ssh/other", "Include ~/project/deep\n");
            home.write(".ssh/config.d/a", "");
            symlink(home.path().join("project/ssh"), home.path().join(".ssh/config.d/b")).unwrap();
            home.write(".ssh/config", config);
            let refused = refused(&home).unwrap_or_default();
            assert!(refused.contains(why), "{config}: {refused}");
        }
        let home = Home::new();
        home.write("project/ssh", "");
        home.write(".ssh/x", "");
        symlink(home.path().join("project/ssh"), home.path().join(".ssh/config")).unwrap();
        assert!(refused(&home).is_some(), "a link");
    }

    #[test]
    fn files_that_include_each_other_end() {
        let home = Home::new();
        home.write(".ssh/config", "Include config\nInclude config\n");
        assert!(refused(&home).is_some_and(|why| why.contains("too many files")));
    }
}
