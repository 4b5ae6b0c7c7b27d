//! The overview: what `skills-mcp` alone shows a person at a terminal.
//!
//! It is the screen of `doctor` without starting a server, and the commands to begin with.

use std::process::ExitCode;

use super::{
    Context, Failure, Output, authoring::shell_word, doctor::SetupState, output::bold,
    version::typed_command,
};

/// The commands to begin with, and what each does.
const FIRST_COMMANDS: &[(&str, &str)] = &[
    ("try", "what an agent would find, and why"),
    ("doctor", "what is wrong, in files, clients and server"),
    ("--help", "all commands"),
];

pub(super) fn run(context: &Context) -> Result<ExitCode, Failure> {
    let (setup, context) = SetupState::at_rest(context)?;
    let mut out = Output::new();
    for line in setup.overview(out.width) {
        out.line(line);
    }
    out.line("");
    let program = typed_command(context.program, &context.environment);
    // What is shown above is what these flags say.
    let flags: Vec<String> =
        context.shared.repeated().iter().map(|word| shell_word(word)).collect();
    let with_flags = [vec![program.clone()], flags].concat().join(" ");
    let typed = |command: &str| match command {
        "--help" => format!("{program} {command}"),
        "try" => format!("{with_flags} try {}", setup.request),
        _ => format!("{with_flags} {command}"),
    };
    let commands: Vec<(String, &str)> =
        FIRST_COMMANDS.iter().map(|(command, what)| (typed(command), *what)).collect();
    let widest = commands.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    for (command, what) in commands {
        let padding = " ".repeat(widest - command.chars().count());
        out.entry(&format!("  {}{padding}", bold(&command)), widest + 2, what);
    }
    Ok(ExitCode::SUCCESS)
}
