//! Times, as percentiles, and how they are written: a mean hides the longest waits.

use std::time::{Duration, Instant};

/// Times of the same thing, shortest first.
#[derive(Debug)]
pub(super) struct Figures(Vec<Duration>);

impl Figures {
    pub(super) fn of(mut taken: Vec<Duration>) -> Self {
        taken.sort();
        Self(taken)
    }

    /// The time that so many percent of them stay within.
    pub(super) fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }

    pub(super) fn p50(&self) -> Duration {
        self.percentile(50)
    }

    pub(super) fn p99(&self) -> Duration {
        self.percentile(99)
    }

    pub(super) fn max(&self) -> Duration {
        self.percentile(100)
    }
}

/// How long it takes.
pub(super) fn time(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

/// How long it takes, so many times.
pub(super) fn sample(rounds: usize, mut work: impl FnMut(usize)) -> Figures {
    Figures::of((0..rounds).map(|round| time(|| work(round))).collect())
}

/// How long each of these takes, so many times, by turns: whatever state the machine is in, all of them meet it.
pub(super) fn by_turns<const N: usize>(
    rounds: usize,
    mut work: impl FnMut(usize, usize),
) -> [Figures; N] {
    let mut taken = [const { Vec::new() }; N];
    for round in 0..rounds {
        for (turn, taken) in taken.iter_mut().enumerate() {
            taken.push(time(|| work(turn, round)));
        }
    }
    taken.map(Figures::of)
}

/// A time in the unit that suits it.
pub(super) fn shown(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        ..1e3 => format!("{micros:.0} µs"),
        ..1e5 => format!("{:.1} ms", micros / 1e3),
        ..1e6 => format!("{:.0} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

/// How many times `of` it is.
pub(super) fn ratio(time: Duration, of: Duration) -> String {
    let ratio = time.as_secs_f64() / of.as_secs_f64();
    let digits = if ratio < 0.1 { 4 } else { 2 };
    format!("{ratio:.digits$}")
}

/// What could not be had.
pub(super) const NONE: &str = "-";

/// Megabytes of so many kilobytes.
pub(super) fn megabytes(kilobytes: Option<u64>) -> String {
    kilobytes
        .map_or_else(|| NONE.to_owned(), |kilobytes| format!("{:.1} MB", kilobytes as f64 / 1024.0))
}
