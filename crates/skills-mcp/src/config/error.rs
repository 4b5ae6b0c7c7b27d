//! Mistakes in the operator's configuration. Each stops the start with exit code 2 and says how to fix it.

use skills_core::yaml::YamlError;
use thiserror::Error;

/// A mistake in a flag, a variable or a user file.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A value of the wrong type or out of range.
    #[error("{place}: {message}")]
    Value {
        /// Where it was written.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// A file that is not YAML, or not a map.
    #[error("{file}:{line}:{column}: not a valid configuration: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
        /// What is wrong.
        message: String,
    },
    /// An entry of `sources:` that names no source.
    #[error("{place}: {message}")]
    Source {
        /// The file and the line.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// A user file that exists and cannot be read.
    #[error("{file}: cannot be read: {error}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        error: String,
    },
    /// `--set` without `=`, or with a key that does not exist.
    #[error("--set {written}: {message}")]
    Flag {
        /// What was written.
        written: String,
        /// What is wrong.
        message: String,
    },
    /// A word that a variable does not take.
    #[error("{variable} is `{written}`, but must be {expected}")]
    Variable {
        /// Which variable.
        variable: &'static str,
        /// What was written.
        written: String,
        /// What is expected.
        expected: &'static str,
    },
}

impl ConfigError {
    /// A file that is not YAML, or not a map.
    pub(super) fn syntax(file: String, error: YamlError) -> Self {
        let YamlError { at, message, .. } = error;
        Self::Syntax { file, line: at.line, column: at.column, message }
    }

    /// The file and the line, the variable or the flag that is to be corrected.
    pub fn place(&self) -> String {
        match self {
            Self::Value { place, .. } | Self::Source { place, .. } => place.clone(),
            Self::Syntax { file, line, .. } => format!("{file}:{line}"),
            Self::Unreadable { file, .. } => file.clone(),
            Self::Flag { written, .. } => format!("--set {written}"),
            Self::Variable { variable, .. } => (*variable).to_owned(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Value { .. } => "correct it, or remove it to use the default",
            Self::Syntax { .. } => "correct the file, or move it away to use the defaults",
            Self::Variable { .. } => "unset the variable to get its default",
            Self::Source { .. } => {
                "write `- dir: PATH` or `- repo: URL` below `sources:`; `skills-mcp add` writes it for you, `skills-mcp schema project` has every key"
            }
            Self::Unreadable { .. } => "fix its permissions, or move it away",
            Self::Flag { .. } => {
                "write --set key=value, such as --set matching.min_score=0.3; `skills-mcp config` lists every key"
            }
        }
    }
}
