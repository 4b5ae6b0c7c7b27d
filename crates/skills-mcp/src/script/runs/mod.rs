//! [`Runs`]: the scripts that a server runs, and the server's side of one run.

mod slots;
#[cfg(target_os = "linux")]
mod supervised;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use skills_core::relpath::RelPath;
use slots::{RunSlot, RunSlots};
use thiserror::Error;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::{
    OWN_PROGRAM,
    authorize::{NetworkAccess, Plan},
    host::{ScriptHost, WorkingDirectory},
    order::Order,
    outcome::RunOutcome,
    sandbox::{Enforced, SandboxDemand, SandboxPolicy, readable, toolchain},
    workspace::Workspace,
};
use crate::{
    config::{Environment, SandboxMode},
    store::Snapshot,
};

/// The `PATH` of a script, after its runner's own folder.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const LANGUAGE: &str = "C.UTF-8";
/// How often a caller that wants progress gets it.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// The request that waits for a run: it may be cancelled and may want progress.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Cancelled when the request is.
    pub cancelled: CancellationToken,
    /// Receives progress.
    pub progress: Option<UnboundedSender<Progress>>,
}

/// How long a run has taken so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Seconds so far.
    pub seconds: f64,
    /// Seconds it may take.
    pub of: f64,
}

/// Why a run did not happen, or has no known outcome.
#[derive(Debug, Error)]
pub(crate) enum RunError {
    #[error(
        "was not run: this server is busy: {max_concurrent} scripts may run at once (scripts.max_concurrent), and do"
    )]
    Busy { max_concurrent: usize },
    #[error("was not run: its private folder cannot be made: {0}")]
    Workspace(io::Error),
    /// The skill's files changed while they were copied.
    #[error(
        "was not run: '{0}' is being changed at this moment, and a script runs with files of one version only"
    )]
    Changed(RelPath),
    /// The supervisor or the launcher failed.
    #[error("was not run: {0}")]
    NotStarted(String),
    /// The supervisor was killed, or its answer is unreadable.
    #[error("was lost, and how far it came is unknown: {0}")]
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "there is no supervisor there")
    )]
    Lost(String),
}

impl RunError {
    /// The error for a client on another machine, without paths of this one.
    pub(crate) fn for_remote(&self) -> String {
        match self {
            Self::Workspace(_) => "was not run: its private folder cannot be made".to_owned(),
            Self::NotStarted(_) => "was not run: it could not be started".to_owned(),
            Self::Lost(_) => "was lost, and how far it came is unknown".to_owned(),
            Self::Busy { .. } | Self::Changed(_) => self.to_string(),
        }
    }

    /// What to do instead.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "Try again when one has ended",
            Self::Changed(_) => "Try again in a moment",
            Self::Workspace(_) | Self::NotStarted(_) => {
                "Tell the operator; trying again will not help"
            }
            Self::Lost(_) => "See what it has done before trying again",
        }
    }
}

/// The scripts that run on this server.
#[derive(Debug)]
pub struct Runs {
    host: ScriptHost,
    slots: Arc<RunSlots>,
    /// The program that supervises: this one.
    supervisor: PathBuf,
}

impl Runs {
    /// A server that runs no script yet.
    pub fn new(environment: &Environment) -> Self {
        Self {
            host: ScriptHost::new(environment),
            slots: Arc::default(),
            supervisor: PathBuf::from(OWN_PROGRAM),
        }
    }

    /// Replaces the program that supervises: a test binary cannot.
    #[must_use]
    pub fn supervised_by(mut self, program: PathBuf) -> Self {
        self.supervisor = program;
        self
    }

    /// The machine they run on.
    pub(crate) fn host(&self) -> &ScriptHost {
        &self.host
    }

    /// Runs a plan to its end and calls `started` when it starts. Blocks the calling thread.
    pub(crate) fn run(
        &self,
        snapshot: &Snapshot,
        plan: &Plan<'_>,
        caller: &Caller,
        started: &dyn Fn(),
    ) -> Result<(RunOutcome, Vec<String>), RunError> {
        let slot = self.slots.take(snapshot.settings().scripts.max_concurrent)?;
        let workspace = Workspace::make(snapshot, plan)?;
        let order = self.order(plan, &workspace);
        let notes = notes(plan, &workspace);
        started();
        let outcome = block_on(self.execute(order, caller, slot, Some(workspace)))?;
        Ok((outcome, notes))
    }

    /// Which sandbox this machine has, found by applying it to a process that runs no script.
    pub(crate) fn probe_sandbox(&self) -> Result<Enforced, RunError> {
        let order = Order {
            program: None,
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            working_directory: PathBuf::from("/"),
            workspace: None,
            policy: SandboxPolicy {
                demand: SandboxDemand::BestEffort,
                read: Vec::new(),
                write: Vec::new(),
                network: false,
                cpu_seconds: 10,
            },
            timeout_ms: 10_000,
            grace_ms: 0,
            max_output_bytes: 0,
        };
        let slot = self.slots.take(usize::MAX)?;
        let outcome = block_on(self.execute(order, &Caller::default(), slot, None))?;
        Ok(outcome.enforced)
    }

    /// The paths that a plan's script may read, and those it may change, besides its workspace.
    pub(crate) fn accessible_paths(&self, plan: &Plan<'_>) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let write = plan.working_directory.folder().into_iter().map(Path::to_path_buf).collect();
        let programs = std::iter::once(&plan.runner.program).chain(&plan.runner.loads);
        let toolchains: Vec<PathBuf> = programs
            .filter(|_| plan.opens_toolchain)
            .flat_map(|program| toolchain(program, &self.host))
            .collect();
        (readable(&toolchains), write)
    }

    fn order(&self, plan: &Plan<'_>, workspace: &Workspace) -> Order {
        let home = workspace.home();
        let (mut read, mut write) = self.accessible_paths(plan);
        read.push(workspace.skill());
        write.push(home.clone());
        let working_directory = plan.working_directory.folder().unwrap_or(&home).to_path_buf();
        let demand = demand(plan);
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut environment = plan.variables.clone();
        let programs = plan.runner.program.parent().map(text).unwrap_or_default();
        environment.insert("PATH".to_owned(), format!("{programs}:{SYSTEM_PATH}"));
        environment.insert("LANG".to_owned(), LANGUAGE.to_owned());
        // The system's git configuration may hold credentials and is not readable; git would fail over that.
        environment.insert("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned());
        for name in ["HOME", "TMPDIR"] {
            environment.insert(name.to_owned(), text(&home));
        }
        let network = plan.network == NetworkAccess::Open;
        let cpu_seconds = (plan.timeout + plan.grace).as_secs() + 1;
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Order {
            program: Some(plan.runner.program.clone()),
            arguments: plan
                .runner
                .arguments
                .iter()
                .cloned()
                .chain([text(&workspace.script)])
                .collect(),
            environment,
            working_directory,
            workspace: Some(workspace.root().to_path_buf()),
            policy: SandboxPolicy { demand, read, write, network, cpu_seconds },
            timeout_ms: millis(plan.timeout),
            grace_ms: millis(plan.grace),
            max_output_bytes: plan.max_output_bytes,
        }
    }
}

impl Plan<'_> {
    /// Why it would be refused on a machine with this sandbox.
    pub(crate) fn refused(&self, given: &Enforced) -> Option<String> {
        given.refused(demand(self))
    }
}

/// `auto` runs scripts of a directory that the operator named in whatever sandbox there is, all others only confined. A
/// runner inside the project could have been written by another script.
fn demand(plan: &Plan<'_>) -> SandboxDemand {
    let is_trusted = plan.from_named_directory && !plan.runner.from_project;
    match plan.sandbox {
        SandboxMode::Auto if is_trusted => SandboxDemand::BestEffort,
        SandboxMode::Auto => SandboxDemand::Confined,
        SandboxMode::Required => SandboxDemand::Complete,
        SandboxMode::Off => SandboxDemand::None,
    }
}

/// How the note of a run in a private folder begins.
const PRIVATE: &str =
    "The script worked in an empty private folder, not in your project, and the folder is removed";

/// What the caller should know about this run.
fn notes(plan: &Plan<'_>, workspace: &Workspace) -> Vec<String> {
    let mut notes = Vec::new();
    match &plan.working_directory {
        WorkingDirectory::Allowed(_) => {}
        WorkingDirectory::Remote => {
            notes.push(format!("{PRIVATE}: the client is on another machine."));
        }
        WorkingDirectory::Private(why) => notes.push(format!(
            "{PRIVATE}: {why}. To let it change files, pass a cwd that the operator allows with scripts.roots."
        )),
    }
    if let Some(other) = &plan.runner.passed_over {
        notes.push(format!(
            "{} ran it, and not {}, which scripts may write. The operator can name another program in scripts.runners.",
            plan.runner.program.display(),
            other.display()
        ));
    }
    if let [first, others @ ..] = workspace.left_out.as_slice() {
        let more =
            if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        notes.push(format!(
            "Of the skill's folder {first}{more} was left out: unreadable, linked from elsewhere, or over the limit of a run."
        ));
    }
    if !plan.withheld.is_empty() {
        notes.push(format!(
            "It asks for variables it did not get: {}. The operator lists them in scripts.env and sets them.",
            plan.withheld.join(", ")
        ));
    }
    if plan.network == NetworkAccess::Withheld {
        notes.push(
            "It declares network: true, and the operator does not allow scripts a network (scripts.network is off)."
                .to_owned(),
        );
    }
    notes
}

/// Blocks on a future, inside the server's runtime or without one.
fn block_on<T>(run: impl Future<Output = Result<T, RunError>>) -> Result<T, RunError> {
    match tokio::runtime::Handle::try_current() {
        Ok(handle) => handle.block_on(run),
        Err(_) => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| RunError::NotStarted(error.to_string()))?
            .block_on(run),
    }
}

/// Sends progress to the caller for as long as it is polled.
async fn send_progress(caller: &Caller, of: Duration) -> std::convert::Infallible {
    let started = Instant::now();
    loop {
        tokio::time::sleep(PROGRESS_INTERVAL).await;
        if let Some(progress) = &caller.progress {
            let seconds = started.elapsed().as_secs_f64().round();
            let _ = progress.send(Progress { seconds, of: of.as_secs_f64() });
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Runs {
    async fn execute(
        &self,
        order: Order,
        caller: &Caller,
        slot: RunSlot,
        workspace: Option<Workspace>,
    ) -> Result<RunOutcome, RunError> {
        let (_slot, _workspace) = (slot, workspace);
        if let Some(why) = super::portable::enforced(&order.policy).refused(order.policy.demand) {
            return Err(RunError::NotStarted(why));
        }
        let time = Duration::from_millis(order.timeout_ms);
        let ran = tokio::select! {
            ran = super::portable::run(&order, &caller.cancelled) => ran,
            never = send_progress(caller, time) => match never {},
        };
        ran.map_err(|error| RunError::NotStarted(error.to_string()))
    }
}
