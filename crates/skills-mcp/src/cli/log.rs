//! The log: lines on standard error, and nowhere else.

use std::io::{IsTerminal as _, stderr};

use anstream::{AutoStream, ColorChoice};
use tracing::{Level, level_filters::LevelFilter};
use tracing_subscriber::{
    Layer as _, filter::filter_fn, layer::SubscriberExt as _, registry,
    util::SubscriberInitExt as _,
};

use super::Failure;
use crate::surface::AUDIT;

/// What a server logs by default.
pub(super) const SERVING: Level = Level::INFO;
/// What other commands log by default: they print what they find.
pub(super) const OTHERWISE: Level = Level::ERROR;

/// Starts the log at the level asked for.
pub(super) fn start(asked: Option<&str>, default: Level) -> Result<(), Failure> {
    let trail = asked.is_none();
    let level = match asked {
        None => LevelFilter::from_level(default),
        Some(name) => name.parse().map_err(|_| {
            Failure::usage(
                format!("SKILLS_LOG or --log is `{name}`"),
                "use error, warn, info, debug or trace",
            )
        })?,
    };
    // The SDK's own chatter is of interest only when everything is, and below INFO it repeats whole requests, in which
    // arguments of scripts may be secrets.
    let ours = filter_fn(move |line| {
        // A script that runs leaves a trail, also where a command logs little else, unless the operator set the level.
        trail && line.target() == AUDIT && *line.level() <= Level::INFO
            || *line.level() <= level
                && (line.target().starts_with("skills")
                    || *line.level() <= Level::ERROR
                    || level == LevelFilter::TRACE && *line.level() <= Level::INFO)
    });
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal() && AutoStream::choice(&stderr()) != ColorChoice::Never)
        .with_target(false);
    // Only tests start it twice in one process, and one log is enough for them.
    let _ = registry().with(lines.with_filter(ours)).try_init();
    Ok(())
}
