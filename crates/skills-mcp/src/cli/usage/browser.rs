//! Opens a page in the browser of the person at the terminal.
//!
//! The program that does it is found past every folder that a script may write, and gets a `PATH` without those folders. Not
//! here: whether a person is there.

#![expect(clippy::disallowed_methods, reason = "this file starts the program that opens a browser")]

use std::process::{Command, Stdio};

use crate::{
    config::Environment,
    programs::{SearchPath, WritableFolders},
};

/// What opens an address, and the arguments before it; the first that is installed is started.
const OPENERS: &[(&str, &[&str])] = if cfg!(target_os = "macos") {
    &[("open", &[])]
} else if cfg!(windows) {
    &[("rundll32", &["url.dll,FileProtocolHandler"])]
} else {
    &[("xdg-open", &[]), ("wslview", &[])]
};

/// Opens this address, and does not wait for it. Whether a program was started; `roots` are those of `scripts.roots`.
pub(super) fn open(environment: &Environment, roots: &[String], address: &str) -> bool {
    let writable = WritableFolders::new(environment).folders(roots);
    let search = SearchPath::new(&environment.search);
    let safe = search.safe(&writable);
    let opener = OPENERS.iter().find_map(|(name, before)| Some((safe.find(name).ok()?, before)));
    let Some((program, before)) = opener else { return false };
    let mut command = Command::new(program.path);
    command.args(*before).arg(address).env("PATH", safe.variable());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C ends this command, and not the browser.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let Ok(mut child) = command.spawn() else { return false };
    // It ends when it likes, and leaves no process behind.
    std::thread::spawn(move || child.wait());
    true
}
