//! The log: lines on standard error, and nowhere else. A server's go through a queue (`log_queue`), so that no call waits for a
//! client that does not read them.

use std::{
    io::{IsTerminal as _, stderr},
    sync::OnceLock,
};

use anstream::{AutoStream, ColorChoice};
use tracing::{Level, level_filters::LevelFilter};
use tracing_subscriber::{
    Layer as _, filter::filter_fn, fmt::writer::BoxMakeWriter, layer::SubscriberExt as _, registry,
    util::SubscriberInitExt as _,
};

use super::{Failure, log_queue::LogQueue};
use crate::surface::AUDIT;

/// Who logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Logger {
    Server,
    /// Logs little by default: a command prints what it finds.
    Command,
}

/// The log while it is needed. Its end waits for the last lines.
#[derive(Debug)]
pub(super) struct Log;

impl Drop for Log {
    fn drop(&mut self) {
        flush();
    }
}

static QUEUE: OnceLock<LogQueue> = OnceLock::new();

/// Waits until the lines so far are written, unless nothing reads them.
pub(super) fn flush() {
    if let Some(queue) = QUEUE.get() {
        queue.flush();
    }
}

/// Starts the log at the level asked for.
pub(super) fn start(asked: Option<&str>, logger: Logger) -> Result<Log, Failure> {
    let default = match logger {
        Logger::Server => Level::INFO,
        Logger::Command => Level::ERROR,
    };
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
    let queue = (logger == Logger::Server).then(LogQueue::start).transpose()?;
    let writer = queue.clone().map_or_else(|| BoxMakeWriter::new(stderr), BoxMakeWriter::new);
    if let Some(queue) = queue {
        let _ = QUEUE.set(queue);
    }
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(stderr().is_terminal() && AutoStream::choice(&stderr()) != ColorChoice::Never)
        .with_target(false);
    // Only tests start it twice in one process, and one log is enough for them.
    let _ = registry().with(lines.with_filter(ours)).try_init();
    Ok(Log)
}
