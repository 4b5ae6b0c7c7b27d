//! Questions to a person at a terminal, each with what an empty answer means.
//!
//! Nothing is asked where standard input or output is no terminal, so that no program waits for an answer. Not here: what an
//! answer is used for.

use std::io::{BufRead as _, IsTerminal as _, Read as _, stdin, stdout};

use super::{
    Failure, Output,
    output::{bold, dim},
};

/// What is longer is no answer to a question.
const MAX_ANSWER_BYTES: u64 = 4_096;

/// Why an answer is not accepted, and what would be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefusedAnswer {
    why: String,
    hint: String,
}

impl RefusedAnswer {
    pub(super) fn new(why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { why: why.into(), hint: hint.into() }
    }

    /// The same of a flag, which ends the command.
    pub(super) fn of(self, flag: &str) -> Failure {
        Failure::usage(format!("{flag}: {}", self.why), self.hint)
    }
}

/// A terminal with a person.
pub(super) struct Terminal {
    out: Output,
}

impl Terminal {
    /// The terminal, where there is one.
    pub(super) fn open() -> Option<Self> {
        is_terminal().then(|| Self { out: Output::new() })
    }

    /// Says what the next question is about.
    pub(super) fn explain(&mut self, text: &str) {
        self.out.sentence("", text);
    }

    /// Asks until an answer is accepted. An empty answer is the default, where there is one.
    pub(super) fn ask<T>(
        &mut self,
        question: &str,
        default: Option<&str>,
        accept: impl Fn(&str) -> Result<T, RefusedAnswer>,
    ) -> Result<T, Failure> {
        loop {
            let shown = default.map(|default| dim(&format!(" [{default}]"))).unwrap_or_default();
            self.out.prompt(&format!("{}{shown}: ", bold(question)));
            let answer = self.line()?;
            let answer = if answer.is_empty() { default.unwrap_or_default() } else { &answer };
            match accept(answer) {
                Ok(accepted) => return Ok(accepted),
                Err(refused) => self.explain(&format!("{}: {}", refused.why, refused.hint)),
            }
        }
    }

    /// Asks for one of these words; the beginning of a word is enough.
    pub(super) fn choose<T: Copy>(
        &mut self,
        question: &str,
        choices: &[(&str, T)],
        default: &str,
    ) -> Result<T, Failure> {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let words = words.join(" or ");
        self.ask(&format!("{question}, {words}"), Some(default), |answer| {
            let answer = answer.to_lowercase();
            let chosen = choices.iter().find(|(word, _)| word.starts_with(&answer));
            let refused =
                || RefusedAnswer::new(format!("`{answer}` is no choice"), format!("write {words}"));
            chosen.map(|(_, choice)| *choice).ok_or_else(refused)
        })
    }

    /// One line of input. Its end before the line's is the person's way to stop.
    fn line(&mut self) -> Result<String, Failure> {
        let mut line = Vec::new();
        stdin().lock().take(MAX_ANSWER_BYTES).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            self.out.line("");
            return Err(Failure::usage(
                "the input ended before the last question; nothing was made",
                "give the answers as flags, which --help lists",
            ));
        }
        Ok(String::from_utf8_lossy(&line).trim().to_owned())
    }
}

/// Whether a person is at both ends: standard input and output are terminals.
pub(super) fn is_terminal() -> bool {
    stdin().is_terminal() && stdout().is_terminal()
}

/// Asks a person for a yes; without a terminal the answer is no, and nothing is asked.
pub(super) fn confirmed(question: &str) -> bool {
    let Some(mut terminal) = Terminal::open() else { return false };
    terminal.out.prompt(&format!("{question} [y/N] "));
    terminal.line().is_ok_and(|answer| matches!(&*answer, "y" | "Y" | "yes"))
}
