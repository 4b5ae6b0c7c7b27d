//! Asks a client which servers it knows, by starting its own program. Not here: which clients can be asked (`clients`).

#![expect(
    clippy::disallowed_methods,
    reason = "starts a client's program, by its absolute path, to ask which servers it knows"
)]

use std::{process::Stdio, time::Duration};

use tokio::process::Command;

use crate::{clients::KnownClient, programs::SafeSearchPath};

/// Clients try out their servers before they answer, and a slow machine needs longer to start one.
const CLIENT_ANSWER_TIMEOUT: Duration = Duration::from_secs(45);

/// What a client said of its servers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ClientAnswer {
    /// The line that names the server.
    Lists(String),
    /// It does not name the server.
    Silent,
    /// It did not answer in time, or not at all.
    NoAnswer,
}

/// The command with which a client says which servers it knows, as a person would write it; none where it has no such command.
pub(crate) fn listing_command(client: &KnownClient) -> Option<String> {
    let (program, lists) = (client.signs.programs.first()?, client.signs.lists);
    (!lists.is_empty()).then(|| format!("{program} {}", lists.join(" ")))
}

/// Asks a client whether it knows the server of this name; none where it cannot be asked on this machine. The client is
/// asked in an empty folder: in a project, clients start the servers that the project's files name before they answer.
pub(crate) fn ask_client(
    client: &KnownClient,
    name: &str,
    search: &SafeSearchPath<'_>,
) -> Option<(String, ClientAnswer)> {
    let shown = listing_command(client)?;
    let mut programs = client.signs.programs.iter();
    let program = programs.find_map(|name| search.find(name).ok())?.path;
    let empty = tempfile::tempdir().ok()?;
    let mut command = Command::new(program);
    command.args(client.signs.lists).current_dir(empty.path()).env("PWD", empty.path());
    command.env("PATH", search.variable());
    command.env("NO_COLOR", "1").stdin(Stdio::null()).kill_on_drop(true);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let output = runtime
        .block_on(async { tokio::time::timeout(CLIENT_ANSWER_TIMEOUT, command.output()).await });
    let Ok(Ok(output)) = output else { return Some((shown, ClientAnswer::NoAnswer)) };
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    Some((shown, answer_of(&text, name)))
}

fn answer_of(text: &str, name: &str) -> ClientAnswer {
    let plain = without_colour(text);
    let is_word = |line: &&str| {
        line.split(|c: char| !(c.is_alphanumeric() || "-_".contains(c))).any(|word| word == name)
    };
    match plain.lines().find(is_word) {
        Some(line) => ClientAnswer::Lists(line.split_whitespace().collect::<Vec<_>>().join(" ")),
        None => ClientAnswer::Silent,
    }
}

fn without_colour(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            let _ = chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_names_the_server_is_the_answer() {
        let said =
            "Configured:\n\u{1b}[32m✓\u{1b}[0m skills: /opt/skills-mcp  (stdio) - Connected\n";
        let line = "✓ skills: /opt/skills-mcp (stdio) - Connected".to_owned();
        assert_eq!(answer_of(said, "skills"), ClientAnswer::Lists(line));
        assert_eq!(answer_of("no servers: my-skills-x\n", "skills"), ClientAnswer::Silent);
    }
}
