//! `skills-mcp`: the server and its commands.

use std::process::ExitCode;

fn main() -> ExitCode {
    skills_mcp::cli::run("skills-mcp")
}
