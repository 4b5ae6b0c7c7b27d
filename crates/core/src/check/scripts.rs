//! Lints of declared scripts: those that the server is to run and cannot.

use super::{CheckLimits, CheckedSkill};
use crate::{
    diagnostic::{Code, Finding},
    document::Execution,
};

pub(super) fn lint(checked: &CheckedSkill<'_>, limits: &CheckLimits, found: &mut Vec<Finding>) {
    let scripts = checked.skill.scripts().map(|(script, _)| script);
    for script in scripts.filter(|script| script.execution == Execution::Server) {
        if checked.linked_scripts.contains(&script.file) {
            let message = format!(
                "`{}` has `execution: server`, but is a symbolic link or behind one, and the server runs only files",
                script.file
            );
            let hint = "put the script itself there, or write `execution: claude`";
            found.push(Finding::new(Code::ScriptNotRunnable, script.at, message).hint(hint));
        }
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
