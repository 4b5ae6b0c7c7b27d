//! The commands for people who write skills: a new repository, a new skill.
//!
//! Both make new files and change none. Questions are asked on a terminal only. Not here: checking and testing what is written.

mod created;
mod draft;
mod init;
mod new_skill;
mod skills_folder;
mod templates;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use skills_core::diagnostic::is_invisible;

pub(super) use skills_folder::in_repository;

use super::{Context, Failure, ask::RefusedAnswer};

#[derive(clap::Subcommand)]
pub(super) enum AuthoringCommand {
    /// Make a repository of skills, with examples and, for a team, its CI job
    Init(init::InitOptions),
    /// Write a new skill into the repository that it is run in, or that --dir names
    New(new_skill::NewSkillOptions),
}

impl AuthoringCommand {
    pub(super) fn run(&self, context: &Context) -> Result<ExitCode, Failure> {
        match self {
            Self::Init(options) => init::run(context, options),
            Self::New(options) => new_skill::run(context, options),
        }
    }
}

/// One line of visible text of at most this many characters.
fn visible_line(text: &str, max_chars: usize) -> Result<String, RefusedAnswer> {
    let text = text.trim();
    if text.is_empty() {
        return Err(RefusedAnswer::new("nothing is written", "write at least a word"));
    }
    if text.contains(|c: char| c.is_control() || is_invisible(c)) {
        let hint = "write one line of visible text";
        return Err(RefusedAnswer::new("the text has control or invisible characters", hint));
    }
    if text.chars().nth(max_chars).is_some() {
        let hint = format!("write at most {max_chars} characters");
        return Err(RefusedAnswer::new("the text is too long", hint));
    }
    Ok(text.to_owned())
}

/// A word of a command line, as a person types it into a shell.
pub(in crate::cli) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/-+=:@,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A path may lead up so many folders before it is shown from the root.
const MAX_SHOWN_PARENTS: usize = 3;

/// A path as it is shown: from the start directory, or from the root where that is far away.
fn shown_path(context: &Context, path: &Path) -> String {
    let start = &context.environment.directory;
    let mut parents = PathBuf::new();
    for above in start.ancestors().take(MAX_SHOWN_PARENTS + 1) {
        if let Ok(below) = path.strip_prefix(above) {
            let shown: PathBuf = parents.components().chain(below.components()).collect();
            let is_start = shown.as_os_str().is_empty();
            return if is_start { ".".to_owned() } else { shown.display().to_string() };
        }
        parents.push("..");
    }
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_for_the_shell_means_itself() {
        assert_eq!(shell_word("a/b-c.md"), "a/b-c.md");
        assert_eq!(shell_word("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn a_line_of_text_is_visible_and_bounded() {
        assert_eq!(visible_line(" a b ", 3), Ok("a b".to_owned()));
        assert!(visible_line("a\u{202e}b", 9).is_err());
        assert!(visible_line("a\u{1b}[A", 9).is_err());
        assert!(visible_line("abcd", 3).is_err());
        assert!(visible_line(" ", 3).is_err());
    }
}
