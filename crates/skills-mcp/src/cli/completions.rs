//! `completions SHELL`: prints the script that lets a shell complete commands, flags and their values.
//!
//! Not here: completing the names of skills, which would need the catalog at every press of a key.

use std::process::ExitCode;

use clap::{Command, builder::PossibleValuesParser};
use clap_complete::Shell;
use skills_core::diagnostic::Code;

use super::{Context, Failure, Output, command_line};
use crate::{clients::CLIENTS, config::KEYS};

#[derive(clap::Args)]
pub(super) struct CompletionsOptions {
    /// The shell that reads the script
    shell: Shell,
}

pub(super) fn run(context: &Context, options: &CompletionsOptions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    let mut command = with_values(command_line(context.program));
    clap_complete::generate(options.shell, &mut command, context.program, &mut script);
    let script = String::from_utf8(script).map_err(|error| Failure::bug(error.to_string()))?;
    Output::new().line(script.trim_end());
    Ok(ExitCode::SUCCESS)
}

/// The same with the values of arguments that a command reads itself, since its own words about a wrong one say more.
fn with_values(command: Command) -> Command {
    let clients: Vec<&str> =
        CLIENTS.iter().filter(|client| client.entry.is_some()).map(|client| client.id).collect();
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    let keys: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    let known = |command: Command, argument: &'static str, values: &[&'static str]| {
        let values = PossibleValuesParser::new(values.iter().copied());
        command.mut_arg(argument, |argument| argument.value_parser(values))
    };
    let command = command
        .mut_subcommand("connect", |command| known(command, "target_clients", &clients))
        .mut_subcommand("disconnect", |command| known(command, "target_clients", &clients))
        .mut_subcommand("check", |command| known(command, "explain", &codes));
    ["get", "set", "unset"].into_iter().fold(command, |command, action| {
        command.mut_subcommand("config", |command| {
            command.mut_subcommand(action, |command| known(command, "key", &keys))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_codes_and_keys_are_completed() {
        let mut script = Vec::new();
        let mut command = with_values(command_line("skills-mcp"));
        clap_complete::generate(Shell::Bash, &mut command, "skills-mcp", &mut script);
        let script = String::from_utf8(script).unwrap();
        for (part, values) in [
            ("connect)", "codex"),
            ("config__subcmd__get)", "matching.min_score"),
            ("--explain)", "yaml-invalid"),
        ] {
            let found = script
                .split(part)
                .skip(1)
                .any(|rest| rest.split(";;").next().is_some_and(|rest| rest.contains(values)));
            assert!(found, "{part} {values}");
        }
    }
}
