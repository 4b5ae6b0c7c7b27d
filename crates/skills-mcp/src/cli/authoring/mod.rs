//! The commands for people who write skills: a new repository, a new skill.
//!
//! Both make new files and change none. Questions are asked on a terminal only. Not here: checking and testing what is written.

mod created;
mod draft;
mod init;
mod new_skill;
mod skills_folder;
mod templates;

use std::{path::Path, process::ExitCode};

use skills_core::diagnostic::is_invisible;

use super::{Context, Failure, ask::RefusedAnswer};

#[derive(clap::Subcommand)]
pub(super) enum AuthoringCommand {
    /// Make a repository of skills, with examples and, for a team, its CI job
    Init(init::InitOptions),
    /// Write a new skill into a repository of skills
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
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/-+=:@,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A path as it is shown: from the start directory where it is below it.
fn shown_path(context: &Context, path: &Path) -> String {
    let below = path.strip_prefix(&context.environment.directory).unwrap_or(path);
    if below.as_os_str().is_empty() { ".".to_owned() } else { below.display().to_string() }
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
