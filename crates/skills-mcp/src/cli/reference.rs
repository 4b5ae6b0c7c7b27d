//! The commands and their flags as a section of the reference page, made from the command line itself.

use std::fmt::Write as _;

use clap::{Arg, Command};

use super::command_line;

/// A section of Markdown: the flags of every command, then each command with its own.
pub fn command_reference() -> String {
    let mut line = command_line("skills-mcp");
    line.build();
    let mut page = String::from(
        "\n## Commands\n\n`skills-mcp COMMAND --help` has examples. Without a command, skills-mcp serves MCP on standard input and output; on a \
         terminal it shows what it would serve.\n\nEvery command takes these flags:\n\n",
    );
    rows(&mut page, line.get_arguments().filter(|flag| flag.is_global_set()));
    for command in line.get_subcommands().filter(|command| !command.is_hide_set()) {
        if command.get_name() != "help" {
            section(&mut page, command, "");
        }
    }
    page
}

/// A command and those below it; the name of the one above stands before its own.
fn section(page: &mut String, command: &Command, above: &str) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let aliases: Vec<String> =
        command.get_visible_aliases().map(|alias| format!("`{alias}`")).collect();
    let also =
        if aliases.is_empty() { String::new() } else { format!(" Also: {}.", aliases.join(", ")) };
    let name = format!("{above}{}", command.get_name());
    let _ = writeln!(page, "\n### `{name}`\n\n{}.{also}", escaped(&about));
    let own = || {
        let shown = |flag: &&Arg| {
            !flag.is_global_set()
                && !flag.is_hide_set()
                && !matches!(flag.get_id().as_str(), "help" | "version")
        };
        command.get_arguments().filter(shown)
    };
    if own().next().is_some() {
        page.push('\n');
        rows(page, own());
    }
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        section(page, below, &format!("{name} "));
    }
}

fn rows<'a>(page: &mut String, flags: impl Iterator<Item = &'a Arg>) {
    page.push_str("| flag | what it does |\n|---|---|\n");
    for flag in flags {
        let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
        let mut help = escaped(&help);
        let values: Vec<String> = flag
            .get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        if flag.get_action().takes_values() && !values.is_empty() {
            let _ = write!(help, ": {}", values.join(", "));
        }
        let defaults: Vec<String> = flag
            .get_default_values()
            .iter()
            .map(|value| format!("`{}`", value.to_string_lossy()))
            .collect();
        if flag.get_action().takes_values() && !defaults.is_empty() {
            let _ = write!(help, " (default: {})", defaults.join(", "));
        }
        let _ = writeln!(page, "| `{}` | {help} |", written(flag));
    }
}

/// A flag or an argument as it is written: `--dir <PATH>`, `[PATH]`.
fn written(flag: &Arg) -> String {
    let plain = flag.to_string();
    plain.replace('|', "\\|")
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
