//! The commands of the feature `usage`: what was used, on the terminal and in a browser, and events of other servers.

mod browser;
mod collect;
mod counter;
mod dashboard;
mod learn;
mod stats;

use std::process::ExitCode;

use super::{Context, Failure};

#[derive(clap::Subcommand)]
pub(super) enum UsageCommand {
    /// Report which skills were used, which helped and which searches found nothing
    Stats(stats::StatsOptions),
    /// Propose past requests as `examples` of the skills that were loaded for them
    #[command(display_order = 12)]
    Learn(learn::LearnOptions),
    /// Serve web pages: the skills, what a search finds, and the report of `stats`
    #[command(display_order = 13)]
    Dashboard(dashboard::DashboardOptions),
    /// Receive events from many servers over HTTP, and report on them
    #[command(display_order = 14)]
    Collect(collect::CollectOptions),
}

impl UsageCommand {
    /// Whether it runs until it is stopped.
    pub(super) fn serves(&self) -> bool {
        matches!(self, Self::Dashboard(_) | Self::Collect(_))
    }

    pub(super) fn run(&self, context: &Context) -> Result<ExitCode, Failure> {
        match self {
            Self::Stats(options) => stats::run(context, options),
            Self::Learn(options) => learn::run(context, options),
            Self::Dashboard(options) => dashboard::run(context, options),
            Self::Collect(options) => collect::run(context, options),
        }
    }
}
