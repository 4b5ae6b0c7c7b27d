//! [`patient`]: a server whose answers have every change, however busy the machine is.

use std::{path::Path, process::Command};

/// The setting for how long a call waits for changes.
const PATIENCE_KEY: &str = "refresh.patience_ms";

/// The same command with a server that waits for changes as long as a test does. A user's server answers without them after a
/// moment; a test that is about this moment sets the key itself.
pub(crate) fn patient(mut command: Command) -> Command {
    let program = Path::new(command.get_program()).file_name();
    let is_server = program.is_some_and(|name| name == "skills-mcp" || name == "sk");
    let is_set = |argument: &str| argument.contains(PATIENCE_KEY);
    if is_server && !command.get_args().any(|argument| is_set(&argument.to_string_lossy())) {
        command.args(["--set", &format!("{PATIENCE_KEY}=60000")]);
    }
    command
}
