//! `tools`: what a client's model sees of the server before it calls a tool, and what that costs.

use std::process::ExitCode;

use super::{
    Context, Failure, Output,
    output::{bold, counted, dim, safe, wrapped},
};
use crate::{
    clients::{Handling, KnownClient, ToolSight},
    event::Sink,
    script::Runs,
    surface::{Dispatcher, FirstRequest, ShownTool},
    telemetry::Telemetry,
};

#[derive(clap::Args)]
pub(super) struct ToolsOptions {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, options: &ToolsOptions) -> Result<ExitCode, Failure> {
    let opened = context.opened()?;
    let (runs, sink) = (Runs::new(&context.environment), Sink::silent());
    let profile = context.profile()?;
    let dispatcher = Dispatcher::new(opened.store, profile, runs, sink, Telemetry::default());
    let registry = dispatcher.registry(None);
    let first = FirstRequest::new(registry, &opened.snapshot);
    let mut out = Output::new();
    if options.json {
        out.json(&first);
        return Ok(ExitCode::SUCCESS);
    }
    let client = registry.profile.client;
    for line in wrapped(&headline(client, first.tokens), out.width) {
        out.line(bold(&line));
    }
    if let Some(handling) = client.and_then(|client| client.handling) {
        out.dim_sentence("", &handled(&handling));
    }
    if first.instructions.is_empty() {
        out.line("");
        out.dim_sentence("", "The client does not show the server's instructions.");
    } else {
        out.heading("Instructions");
        out.line(safe(&first.instructions));
    }
    first.shown.iter().for_each(|tool| definition(&mut out, tool));
    if !first.named.is_empty() {
        out.heading("By name only");
        out.sentence("", &first.named.join(", "));
    }
    if !first.deferred.is_empty() {
        out.line("");
        out.dim_sentence("", "The model sees the following once it has searched for tools.");
        first.deferred.iter().for_each(|tool| definition(&mut out, tool));
    }
    Ok(ExitCode::SUCCESS)
}

fn headline(client: Option<&KnownClient>, tokens: usize) -> String {
    let whose = match client {
        Some(client) => format!("{}: the model's first request", client.name),
        None => "A client that skills-mcp does not know: the model's first request".to_owned(),
    };
    format!("{whose}, about {}", counted(tokens, "token"))
}

/// What the client does with texts, in a line.
fn handled(handling: &Handling) -> String {
    let sight = match handling.first_request.value {
        ToolSight::Whole => "shows every tool",
        ToolSight::Name => "shows names of tools until the model searches for them",
        ToolSight::Nothing => "shows nothing of a server until the model asks for it",
    };
    let answer = handling.answer;
    format!(
        "{sight} ({}); answers arrive whole up to {} characters ({})",
        handling.first_request.source.mark(),
        answer.value,
        answer.source.mark()
    )
}

fn definition(out: &mut Output, tool: &ShownTool) {
    out.heading(&format!("{} ({})", tool.name, counted(tool.tokens, "token")));
    out.line(safe(&tool.description));
    out.line(dim(&safe(&tool.input_schema.to_string())));
}
