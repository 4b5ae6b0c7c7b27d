//! Reports for programs: GitHub annotations, `JUnit`, SARIF and JSON, each from the same [`Annotation`]s. A file a format.
//!
//! Every function here returns text; `output` prints it. Not here: what a person reads on a terminal, and what is reported.

pub(super) mod github;
pub(super) mod junit;
pub(super) mod sarif;

use serde_json::{Value, json};
use skills_core::diagnostic::Severity;

/// One thing that a report says about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Annotation {
    /// How much it matters.
    pub(super) level: Severity,
    /// Which kind: a stable name that programs may rely on.
    pub(super) code: String,
    /// The file, relative to the working directory where it is below it, with `/` between names.
    pub(super) file: String,
    /// The line, from 1; zero stands for the whole file.
    pub(super) line: u32,
    /// The column in characters, from 1; zero stands for the whole file.
    pub(super) column: u32,
    /// What is true.
    pub(super) message: String,
    /// What to do about it.
    pub(super) hint: Option<String>,
    /// The command that explains the code.
    pub(super) help: Option<String>,
}

impl Annotation {
    /// The annotation as an object of a JSON report.
    pub(super) fn json(&self) -> Value {
        json!({
            "level": level_name(self.level),
            "code": self.code,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "hint": self.hint,
            "help": self.help,
        })
    }

    /// The message and what to do about it, as one text.
    fn whole_message(&self) -> String {
        let parts = [Some(&self.message), self.hint.as_ref()];
        parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// The name of a level in reports: what is no problem is a note.
pub(super) fn level_name(level: Severity) -> &'static str {
    match level {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

#[cfg(test)]
pub(super) fn sample() -> Annotation {
    Annotation {
        level: Severity::Warning,
        code: "field-invalid".to_owned(),
        file: "ui/a,b: 100%.md".to_owned(),
        line: 3,
        column: 7,
        message: "`inherit` is <maybe> & \"so\"".to_owned(),
        hint: Some("write true\nor false".to_owned()),
        help: None,
    }
}
