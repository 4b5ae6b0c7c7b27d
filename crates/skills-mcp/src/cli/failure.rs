//! What ends a command early: a message, the way out, and the exit code.

use std::process::ExitCode;

use super::{
    output::aside_entry,
    style::{error, good},
};
use crate::{
    config::ConfigError,
    source::{SourceError, git::RepositoryError},
    transport::ClientError,
};

/// A command that could not do what was asked.
#[derive(Debug)]
pub(super) struct Failure {
    code: u8,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// The command worked, and what it found is bad news.
    pub(super) fn finding(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into(), hint: None }
    }

    /// Something in the command line or the configuration is wrong.
    pub(super) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: 2, message: message.into(), hint: Some(hint.into()) }
    }

    /// The machine does not let us.
    pub(super) fn environment(message: impl Into<String>) -> Self {
        Self { code: 3, message: message.into(), hint: None }
    }

    /// The same, with the way out.
    #[must_use]
    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same, with this way out where there is no other.
    #[must_use]
    pub(super) fn or_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// The same, with one more thing to know.
    #[must_use]
    pub(super) fn also(mut self, more: &str) -> Self {
        self.hint =
            Some(self.hint.map_or_else(|| more.to_owned(), |hint| format!("{hint}; {more}")));
        self
    }

    /// The same without the end of its message, where it ends so.
    pub(super) fn without(&self, end: &str) -> Option<Self> {
        let message = self.message.trim_end_matches('.').strip_suffix(end)?.trim_end().to_owned();
        Some(Self { code: self.code, message, hint: self.hint.clone() })
    }

    /// We are wrong.
    pub(super) fn bug(message: impl Into<String>) -> Self {
        Self {
            code: 70,
            message: message.into(),
            hint: Some("this is a bug in skills-mcp; please report it".to_owned()),
        }
    }

    /// What is wrong.
    #[cfg(feature = "http")]
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// What is wrong, and the way out.
    pub(super) fn into_parts(self) -> (String, Option<String>) {
        (self.message, self.hint)
    }

    /// Says it on standard error.
    pub(super) fn report(self) -> ExitCode {
        aside_entry(&error("error:"), "error:".len(), &self.message);
        if let Some(hint) = self.hint {
            aside_entry(&good("hint:"), "hint:".len(), &hint);
        }
        ExitCode::from(self.code)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::usage(error.to_string(), error.hint())
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self::usage(error.to_string(), error.hint())
    }
}

impl From<RepositoryError> for Failure {
    fn from(error: RepositoryError) -> Self {
        Self::usage(error.to_string(), error.hint())
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::environment(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::environment(error.to_string())
    }
}
