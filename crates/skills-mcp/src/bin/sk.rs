//! `sk`: the same program under its short name.

use std::process::ExitCode;

fn main() -> ExitCode {
    skills_mcp::cli::run("sk")
}
