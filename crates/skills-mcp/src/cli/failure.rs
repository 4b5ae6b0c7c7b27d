//! What ends a command early: a message, the way out, and the exit code.

use std::process::ExitCode;

use super::output::safe;
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

    /// We are wrong.
    pub(super) fn bug(message: impl Into<String>) -> Self {
        Self {
            code: 70,
            message: message.into(),
            hint: Some("this is a bug in skills-mcp; please report it".to_owned()),
        }
    }

    /// What is wrong.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Says it on standard error.
    #[expect(
        clippy::print_stderr,
        reason = "the last words of a failed command, also where no log is set up"
    )]
    pub(super) fn report(self) -> ExitCode {
        eprintln!("error: {}", safe(&self.message));
        if let Some(hint) = self.hint {
            eprintln!("hint: {}", safe(&hint));
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
