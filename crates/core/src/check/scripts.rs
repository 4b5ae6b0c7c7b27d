//! Lints of declared scripts: those that the server is to run and cannot.

use super::CheckLimits;
use crate::{
    catalog::Skill,
    diagnostic::{Code, Finding},
    document::Execution,
};

pub(super) fn lint(skill: &Skill, limits: &CheckLimits, found: &mut Vec<Finding>) {
    for (script, _) in skill.scripts().filter(|(script, _)| script.execution == Execution::Server) {
        let name = script.file.name();
        let extension =
            name.rsplit_once('.').map(|(_, extension)| format!(".{}", extension.to_lowercase()));
        if extension.as_ref().is_some_and(|extension| limits.runnable.contains(extension)) {
            continue;
        }
        let what = extension.map_or_else(
            || "without an extension".to_owned(),
            |extension| format!("with `{extension}`"),
        );
        let message = format!(
            "`{}` has `execution: server`, but the server runs no script {what}",
            script.file
        );
        let hint = format!(
            "the server runs {}; add the extension to `scripts.allowed_extensions` and `scripts.runners`, or write `execution: claude`",
            limits.runnable.join(", ")
        );
        found.push(Finding::new(Code::ScriptNotRunnable, script.at, message).hint(hint));
    }
}
