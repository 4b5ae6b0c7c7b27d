//! `completions SHELL`: prints the script that lets a shell complete commands, flags and their values.
//!
//! Not here: completing the names of skills, which would need the catalog at every press of a key.

use std::process::ExitCode;

use clap_complete::Shell;

use super::{Context, Failure, Output, command_line};

#[derive(clap::Args)]
pub(super) struct CompletionsOptions {
    /// The shell that reads the script
    shell: Shell,
}

pub(super) fn run(context: &Context, options: &CompletionsOptions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    let mut command = command_line(context.program);
    clap_complete::generate(options.shell, &mut command, context.program, &mut script);
    let script = String::from_utf8(script).map_err(|error| Failure::bug(error.to_string()))?;
    Output::new().line(script.trim_end());
    Ok(ExitCode::SUCCESS)
}
