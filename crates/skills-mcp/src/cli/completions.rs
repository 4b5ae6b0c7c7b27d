//! `completions SHELL`: prints the script that lets a shell complete commands, flags and their values.
//!
//! Not here: completing the names of skills, which would need the catalog at every press of a key.

use std::process::ExitCode;

use clap::{
    Command,
    builder::{PossibleValue, PossibleValuesParser},
};
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
    let mut script = String::from_utf8(script).map_err(|error| Failure::bug(error.to_string()))?;
    // clap_complete 4.6 sets a command by one name in bash and looks it up by another if the program's name has a hyphen.
    if options.shell == Shell::Bash {
        let looked_up = context.program.replace('-', "__subcmd__");
        script = script.replace(&looked_up, &context.program.replace('-', "__"));
    } else if options.shell == Shell::Fish {
        script += &fish_positionals(&command, context.program, "").concat();
    }
    Output::new().line(script.trim_end());
    Ok(ExitCode::SUCCESS)
}

/// Writes what `clap_complete` 4.6 leaves out for fish: the values of arguments without a flag, of `command` and those below it.
/// `condition` holds where `command` was typed.
fn fish_positionals(command: &Command, program: &str, condition: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for argument in command.get_positionals() {
        let values = argument.get_possible_values();
        let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
        if !names.is_empty() {
            let names = names.join(" ");
            lines.push(format!("complete -c {program} -n \"{condition}\" -f -a \"{names}\"\n"));
        }
    }
    for below in command.get_subcommands() {
        let name = below.get_name();
        let condition = match condition {
            "" => format!("__fish_{}_using_subcommand {name}", program.replace('-', "_")),
            _ => format!("{condition}; and __fish_seen_subcommand_from {name}"),
        };
        lines.extend(fish_positionals(below, program, &condition));
    }
    lines
}

/// Names the values of arguments that a command checks itself, since its own words about a wrong one say more.
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
