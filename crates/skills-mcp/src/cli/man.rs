//! `man`: prints the manual page, for packages that install one.
//!
//! Not here: a page for each command. The one page lists the commands, and `skills-mcp COMMAND --help` describes each.

use std::process::ExitCode;

use super::{Context, Failure, Output, command_line};

pub(super) fn run(context: &Context) -> Result<ExitCode, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command_line(context.program)).render(&mut page)?;
    let page = String::from_utf8(page).map_err(|error| Failure::bug(error.to_string()))?;
    Output::new().line(page.trim_end());
    Ok(ExitCode::SUCCESS)
}
