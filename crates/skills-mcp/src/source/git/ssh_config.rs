//! Whether a script may write a part of the user's `ssh` configuration: `ssh` starts the programs that it names.
//!
//! `~/.ssh` is closed to scripts, but the configuration in it may be a link into a project, include a file of one, or name a
//! program of one. What cannot be decided counts as writable. Not here: the system's configuration, which is root's.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use crate::{
    config::read_optional,
    paths::{entries, expand_home, is_link, real_path, real_path_or_same},
};

/// Files that include each other are followed so far, as by `ssh`.
const MAX_INCLUDE_DEPTH: usize = 16;
/// The settings whose values are commands, or programs and libraries that `ssh` starts.
const COMMANDS: &[&str] = &[
    "proxycommand",
    "localcommand",
    "knownhostscommand",
    "pkcs11provider",
    "smartcarddevice",
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
    let mut check = SshConfigCheck { home, folder: &folder, writes, checked: HashSet::new() };
    check.file(&folder.join("config"), 0)
}

struct SshConfigCheck<'a> {
    home: &'a Path,
    /// `~/.ssh`.
    folder: &'a Path,
    writes: &'a dyn ScriptWrites,
    /// Files that were checked already, links resolved.
    checked: HashSet<PathBuf>,
}

impl SshConfigCheck<'_> {
    fn file(&mut self, file: &Path, depth: usize) -> Option<String> {
        let shown = file.display();
        if !self.is_in_closed_folder(file) && self.writes.is_writable(file) {
            return Some(format!("scripts may write {shown}"));
        }
        if depth > MAX_INCLUDE_DEPTH || !self.checked.insert(real_path_or_same(file)) {
            return None;
        }
        let text = match read_optional(file) {
            Ok(text) => text?,
            Err(error) => return Some(format!("{shown} cannot be read: {error}")),
        };
        text.lines().find_map(|line| {
            let (keyword, value) = setting(line)?;
            match self.setting(&keyword, value, depth) {
                Ok(()) => None,
                Err(why) => Some(format!("{shown}: {why}")),
            }
        })
    }

    /// An error says why what a line sets is not used.
    fn setting(&mut self, keyword: &str, value: &str, depth: usize) -> Result<(), String> {
        // No message shows a value: it may hold a password.
        let undecided = || format!("what `{keyword}` says is not known: a quote in it has no end");
        let check_command = |command: &str| {
            if has_unknown_parts(command) {
                return Err(format!(
                    "what `{keyword}` starts is not known, since it has variables"
                ));
            }
            if self.writes.is_writable_command(command) {
                return Err(format!("scripts may write what `{keyword}` starts"));
            }
            Ok(())
        };
        match keyword {
            "include" => {
                let words = words(value).ok_or_else(undecided)?;
                let refused = words.iter().find_map(|word| self.included(word, depth + 1));
                refused.map_or(Ok(()), Err)
            }
            "match" => {
                let words = words(value).ok_or_else(undecided)?;
                exec_commands(&words).try_for_each(check_command)
            }
            command if COMMANDS.contains(&command) => check_command(value),
            _ => Ok(()),
        }
    }

    /// Why the files that one word of an `Include` names are not used.
    fn included(&mut self, word: &str, depth: usize) -> Option<String> {
        let undecided = || Some(format!("which files `Include {word}` names is not known"));
        if has_unknown_parts(word) || word.starts_with('~') && !word.starts_with("~/") {
            return undecided();
        }
        let path = self.folder.join(expand_home(word, Some(self.home)));
        if !has_wildcard(word) {
            return self.file(&path, depth);
        }
        let (folder, name) = (path.parent()?, path.file_name()?.to_string_lossy().into_owned());
        if has_wildcard(&folder.to_string_lossy()) || name.contains('[') {
            return undecided();
        }
        if !self.is_in_closed_folder(&path) && self.writes.is_writable(folder) {
            return Some(format!("scripts may write {}", folder.display()));
        }
        let fits = |file: &&PathBuf| {
            let file = file.file_name().unwrap_or_default().to_string_lossy();
            // As for a shell, a hidden file has to be meant.
            fits(&name, &file) && (name.starts_with('.') || !file.starts_with('.'))
        };
        entries(folder).iter().filter(fits).find_map(|file| self.file(file, depth))
    }

    /// Whether a path is right in `~/.ssh`, in which no script works, not even where `scripts.roots` names the home folder.
    fn is_in_closed_folder(&self, path: &Path) -> bool {
        let is_plain = !is_link(path) && !is_link(self.folder);
        is_plain && path.parent().and_then(real_path) == real_path(self.folder)
    }
}

fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether `ssh` or a shell replaces a part by something that is not known here. Host, port and user are known to be no path.
fn has_unknown_parts(text: &str) -> bool {
    let homes = ["$HOME/", "${HOME}/", "%d/"];
    let text = homes.iter().fold(text.to_owned(), |text, home| text.replace(home, ""));
    let tokens = ["%%", "%h", "%n", "%p", "%r", "%C", "%k", "%t", "%H", "%I", "%K"];
    let text = tokens.iter().fold(text, |text, token| text.replace(token, ""));
    text.contains(['%', '$', '`'])
}

/// Whether a name fits a pattern of `*` and `?`.
fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.chars().next(), name.chars().next()) {
        (None, None) => true,
        (Some('*'), _) => {
            let rest = pattern.get(1..).unwrap_or_default();
            name.char_indices()
                .map(|(at, _)| at)
                .chain([name.len()])
                .any(|at| fits(rest, name.get(at..).unwrap_or_default()))
        }
        (Some(wanted), Some(found)) if wanted == '?' || wanted == found => {
            let after = |text: &str, first: char| {
                text.get(first.len_utf8()..).unwrap_or_default().to_owned()
            };
            fits(&after(pattern, wanted), &after(name, found))
        }
        _ => false,
    }
}

/// The keyword of a line, in lower case, and its value.
fn setting(line: &str) -> Option<(String, &str)> {
    let line = line.trim();
    let (keyword, value) = line.split_once(|c: char| c.is_whitespace() || c == '=')?;
    let value = value.trim_start_matches(|c: char| c.is_whitespace() || c == '=');
    Some((keyword.trim_matches('"').to_ascii_lowercase(), value))
}

/// The commands of a `Match`, written `exec COMMAND` or `exec=COMMAND`.
fn exec_commands(words: &[String]) -> impl Iterator<Item = &str> {
    let next = words.iter().skip(1).map(String::as_str).chain([""]);
    words.iter().zip(next).filter_map(|(word, next)| {
        let word = word.trim_start_matches('!');
        let (keyword, command) = word.split_once('=').unwrap_or((word, next));
        let command = if command.is_empty() { next } else { command };
        keyword.eq_ignore_ascii_case("exec").then_some(command)
    })
}

/// The words of a value as `ssh` splits them: quotes hold blanks together, a backslash takes their meaning from quotes and
/// blanks, and a `#` at the start of a word ends the line. None where a quote has no end.
fn words(value: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut quote = None;
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) if chars.peek().is_some_and(|next| "\"'\\ ".contains(*next)) => {
                word.get_or_insert_default().extend(chars.next());
            }
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => quote = None,
            ('#', None) if word.is_none() => break,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
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
        home.write(".ssh/config.d/.work.swp", [0xff, 0xfe]);
        home.write(".ssh/known_hosts", [0xff]);
        home.write(
            ".ssh/config",
            "Include config.d/* more # 100%\nInclude \"~/.ssh/not there\"\nInclude ~/.ssh/conf*\nInclude config\n\
             Host *\n  IdentityFile ~/project/key\n  ProxyCommand ssh -W %h:%p jump\n  ProxyCommand %d/bin/proxy %h\nMatch exec=\"true\" host=x\n",
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
            ("Include '~/project/ssh'", "scripts may write"),
            ("Include more \"~/pro\"ject/ssh", "scripts may write"),
            ("Include ~/my\\ project/ssh", "scripts may write"),
            ("Include \"~/project/ssh", "is not known"),
            ("Include ~/*/ssh", "is not known"),
            ("Include ${WORK}/ssh", "is not known"),
            ("Host *\n\tProxyCommand = ~/project/proxy %h", "what `proxycommand` starts"),
            ("Match host x exec \"~/project/at-work\"", "what `match` starts"),
            ("Match exec %d/project/x", "what `match` starts"),
            ("Match !exec '~/project/x'", "what `match` starts"),
            ("Match exec=\"~/project/x\"", "what `match` starts"),
            ("Match host x !exec=~/project/x", "what `match` starts"),
            ("Match Exec= ~/project/x", "what `match` starts"),
            ("SmartcardDevice ~/project/lib.so", "what `smartcarddevice` starts"),
            ("ProxyCommand `cat ~/proxy`", "`proxycommand` starts is not known"),
            ("ProxyCommand nc -P $PASSWORD", "`proxycommand` starts is not known"),
        ] {
            let home = Home::new();
            home.write("project/ssh", "");
            symlink("project", home.path().join("my project")).unwrap();
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
    fn a_name_fits_a_pattern_as_in_a_shell() {
        for (pattern, name, fits_it) in [
            ("*", "a", true),
            ("*.conf", "a.conf", true),
            ("*.conf", "a.conf~", false),
            ("a?c*", "abcd", true),
            ("a?c", "ac", false),
            ("é*", "éa", true),
        ] {
            assert_eq!(fits(pattern, name), fits_it, "{pattern} {name}");
        }
    }
}
