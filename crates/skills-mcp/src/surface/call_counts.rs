//! [`CallCounts`]: how many calls each tool has answered, how they ended, and how long they took.
//!
//! Counts name tools of the table and nothing that a client wrote. Not here: how counts are shown.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use super::{Refusal, Reply, TOOLS};

/// Calls that name no tool of the table.
const OTHER_TOOL: &str = "other";
/// Each bucket counts the calls that took at most so many microseconds; the last counts all.
const BUCKET_MICROSECONDS: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_500_000, 10_000_000];

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// With a reply.
    Done,
    /// With a refusal that the model can act on.
    Refused,
    /// With a JSON-RPC error: the request was malformed.
    Invalid,
    /// With an error of this server.
    Failed,
}

impl CallOutcome {
    /// Every outcome.
    pub const ALL: [Self; 4] = [Self::Done, Self::Refused, Self::Invalid, Self::Failed];

    fn of(reply: &Result<Reply, Refusal>) -> Self {
        match reply {
            Ok(_) => Self::Done,
            Err(Refusal::Tool(_) | Refusal::Plain(_) | Refusal::Stale(_)) => Self::Refused,
            Err(Refusal::Params(_) | Refusal::NoResource { .. }) => Self::Invalid,
            Err(Refusal::Internal(_)) => Self::Failed,
        }
    }

    /// One word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Invalid => "invalid",
            Self::Failed => "failed",
        }
    }
}

/// The counts of all tools.
#[derive(Debug)]
pub struct CallCounts(Vec<ToolCells>);

#[derive(Debug, Default)]
struct ToolCells {
    outcomes: [AtomicU64; CallOutcome::ALL.len()],
    buckets: [AtomicU64; BUCKET_MICROSECONDS.len()],
    microseconds: AtomicU64,
}

/// The counts of one tool at one moment.
#[derive(Debug)]
pub struct ToolCounts {
    /// The tool's name.
    pub tool: &'static str,
    /// How many calls ended how.
    pub outcomes: Vec<(CallOutcome, u64)>,
    /// How many calls took at most so many seconds, each count with those before it.
    pub buckets: Vec<(f64, u64)>,
    /// How many seconds all calls took together.
    pub seconds: f64,
}

impl ToolCounts {
    /// How many calls there were.
    pub fn total(&self) -> u64 {
        self.outcomes.iter().map(|(_, count)| count).sum()
    }
}

impl Default for CallCounts {
    fn default() -> Self {
        // One more for what is no tool.
        Self((0..=TOOLS.len()).map(|_| ToolCells::default()).collect())
    }
}

impl CallCounts {
    /// Counts a call by the name that the client wrote.
    pub(super) fn count(&self, written: &str, reply: &Result<Reply, Refusal>, took: Duration) {
        let row = TOOLS.iter().position(|tool| tool.answers_to(written)).unwrap_or(TOOLS.len());
        let Some(cells) = self.0.get(row) else { return };
        let outcome = CallOutcome::of(reply);
        let add = |cell: Option<&AtomicU64>, count| {
            if let Some(cell) = cell {
                cell.fetch_add(count, Ordering::Relaxed);
            }
        };
        add(cells.outcomes.get(outcome as usize), 1);
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKET_MICROSECONDS.iter().position(|most| microseconds <= *most);
        add(bucket.and_then(|bucket| cells.buckets.get(bucket)), 1);
        add(Some(&cells.microseconds), microseconds);
    }

    /// The counts of every tool.
    pub fn tools(&self) -> Vec<ToolCounts> {
        let names = TOOLS.iter().map(|tool| tool.name).chain([OTHER_TOOL]);
        names.zip(&self.0).map(|(tool, cells)| cells.read(tool)).collect()
    }
}

impl ToolCells {
    #[expect(clippy::cast_precision_loss, reason = "sums of microseconds far below 2^52")]
    fn read(&self, tool: &'static str) -> ToolCounts {
        let seconds = |microseconds: u64| microseconds as f64 / 1e6;
        let counts = self.outcomes.iter().map(|cell| cell.load(Ordering::Relaxed));
        let mut sum = 0;
        let buckets = BUCKET_MICROSECONDS.iter().zip(&self.buckets).map(|(most, cell)| {
            sum += cell.load(Ordering::Relaxed);
            (seconds(*most), sum)
        });
        ToolCounts {
            tool,
            buckets: buckets.collect(),
            outcomes: CallOutcome::ALL.into_iter().zip(counts).collect(),
            seconds: seconds(self.microseconds.load(Ordering::Relaxed)),
        }
    }
}
