//! The commands of the feature `usage`: what was used, on the terminal and in a browser, and events of other servers.

mod collect;
mod dashboard;
mod stats;

use std::process::ExitCode;

use super::{Context, Failure};

#[derive(clap::Subcommand)]
pub(super) enum UsageCommand {
    /// Say what was used, what helped and what was missing
    Stats(stats::StatsOptions),
    /// Show what was used, what helped and what was missing, as a page in a browser
    #[command(display_order = 13)]
    Dashboard(dashboard::DashboardOptions),
    /// Take events from many servers over HTTP, keep and count them
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
            Self::Dashboard(options) => dashboard::run(context, options),
            Self::Collect(options) => collect::run(context, options),
        }
    }
}
