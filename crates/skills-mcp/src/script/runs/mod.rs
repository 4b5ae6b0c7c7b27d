//! [`Runs`]: the gate all runs of a server go through, and the server's side of one.

#[cfg(target_os = "linux")]
mod supervised;

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use skills_core::relpath::RelPath;
use thiserror::Error;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::{
    ground::{Folder, Ground},
    ladder::{NetworkAccess, Plan},
    order::Order,
    outcome::Outcome,
    sandbox::{Demand, Enforced, Policy, readable, toolchain},
    workspace::Workspace,
};
use crate::{
    config::{Environment, SandboxMode},
    store::Snapshot,
};

/// Where a script finds programs, behind its runner's own folder.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const LANGUAGE: &str = "C.UTF-8";
/// How often somebody who asked for it is told that a script still runs.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Who waits for a run: may take it back, may want to hear that it goes on.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Cancelled when the request is.
    pub cancelled: CancellationToken,
    /// Where progress goes.
    pub progress: Option<UnboundedSender<Progress>>,
}

/// A run goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Seconds so far.
    pub seconds: f64,
    /// Seconds it may take.
    pub of: f64,
}

/// Why a plan did not become a run.
#[derive(Debug, Error)]
pub enum RunError {
    /// As many run as may.
    #[error(
        "was not run: this server is busy: {most} scripts may run at once (scripts.max_concurrent), and do"
    )]
    Busy {
        /// How many may.
        most: usize,
    },
    /// The private folder could not be made.
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
    /// The supervisor was killed, or cannot be understood.
    #[error("was lost, and nobody knows how far it came: {0}")]
    Lost(String),
}

impl RunError {
    /// The way out.
    pub fn hint(&self) -> &'static str {
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
    ground: Ground,
    running: Arc<AtomicUsize>,
    /// The program that supervises: this one.
    program: PathBuf,
}

/// A run's place among those that may run at once.
#[derive(Debug)]
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Runs {
    /// No run yet.
    pub fn new(environment: &Environment) -> Self {
        Self {
            ground: Ground::new(environment),
            running: Arc::default(),
            // Also where the file was replaced by a newer one meanwhile.
            program: PathBuf::from("/proc/self/exe"),
        }
    }

    /// The same, supervised by another program than this one: tests are no supervisors.
    #[must_use]
    pub fn supervised_by(mut self, program: PathBuf) -> Self {
        self.program = program;
        self
    }

    /// The machine they run on.
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Runs a plan to its end, and says when it starts; blocks, and so must not be called where others wait for their turn.
    pub fn run(
        &self,
        snapshot: &Snapshot,
        plan: &Plan<'_>,
        caller: &Caller,
        started: &dyn Fn(),
    ) -> Result<(Outcome, Vec<String>), RunError> {
        let place = self.place(snapshot.settings().scripts.max_concurrent)?;
        let workspace = Workspace::make(snapshot, plan)?;
        let order = self.order(plan, &workspace);
        let notes = notes(plan, &workspace);
        started();
        let outcome = block_on(self.carry_out(order, caller, place, Some(workspace)))?;
        Ok((outcome, notes))
    }

    /// What this machine gives, tried out and not guessed.
    pub fn rung(&self) -> Result<Enforced, RunError> {
        let order = Order {
            program: None,
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            folder: PathBuf::from("/"),
            workspace: None,
            policy: Policy {
                demand: Demand::Best,
                read: Vec::new(),
                write: Vec::new(),
                network: false,
                cpu_seconds: 10,
            },
            timeout_ms: 10_000,
            grace_ms: 0,
            max_output_bytes: 0,
        };
        let place = self.place(usize::MAX)?;
        let outcome = block_on(self.carry_out(order, &Caller::default(), place, None))?;
        Ok(outcome.enforced)
    }

    /// What a plan's script may read and change, besides its own copy and its private folder.
    pub fn places(&self, plan: &Plan<'_>) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let write = match &plan.folder {
            Folder::Allowed(folder) => vec![folder.clone()],
            Folder::Private(_) => Vec::new(),
        };
        let programs = std::iter::once(&plan.runner.program).chain(&plan.runner.loads);
        let toolchains: Vec<PathBuf> = programs
            .filter(|_| plan.opens_toolchain)
            .flat_map(|program| toolchain(program, &self.ground))
            .collect();
        (readable(&toolchains), write)
    }

    fn place(&self, most: usize) -> Result<Place, RunError> {
        let taken = self.running.fetch_add(1, Ordering::AcqRel);
        let place = Place(Arc::clone(&self.running));
        if taken >= most { Err(RunError::Busy { most }) } else { Ok(place) }
    }

    fn order(&self, plan: &Plan<'_>, workspace: &Workspace) -> Order {
        let home = workspace.home();
        let (mut read, mut write) = self.places(plan);
        read.push(workspace.skill());
        write.push(home.clone());
        let folder = match &plan.folder {
            Folder::Allowed(folder) => folder.clone(),
            Folder::Private(_) => home.clone(),
        };
        let demand = demand(plan);
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let mut environment = plan.variables.clone();
        let programs = plan.runner.program.parent().map(text).unwrap_or_default();
        environment.insert("PATH".to_owned(), format!("{programs}:{PATH}"));
        environment.insert("LANG".to_owned(), LANGUAGE.to_owned());
        // The machine's settings of git may hold credentials and cannot be read; git would give up over that.
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
            folder,
            workspace: Some(workspace.root().to_path_buf()),
            policy: Policy { demand, read, write, network, cpu_seconds },
            timeout_ms: millis(plan.timeout),
            grace_ms: millis(plan.grace),
            max_output_bytes: plan.max_output_bytes,
        }
    }
}

impl Plan<'_> {
    /// Why it would be refused where a machine gives this much of a sandbox.
    pub fn refused(&self, given: &Enforced) -> Option<String> {
        given.refused(demand(self))
    }
}

/// How much of a sandbox there must be: `auto` runs what the operator named with what there is, and what others wrote only
/// where it is held. A runner that lies in the project could have been written by another script.
fn demand(plan: &Plan<'_>) -> Demand {
    match plan.sandbox {
        SandboxMode::Auto if plan.is_operators && !plan.runner.from_project => Demand::Best,
        SandboxMode::Auto => Demand::Held,
        SandboxMode::Required => Demand::Whole,
        SandboxMode::Off => Demand::None,
    }
}

/// What a caller should know about a run that went as planned.
fn notes(plan: &Plan<'_>, workspace: &Workspace) -> Vec<String> {
    let mut notes = Vec::new();
    if let Folder::Private(why) = &plan.folder {
        notes.push(format!(
            "It ran in a private folder, which is removed after the run: {why}. To let it change files, pass a cwd that the \
             operator allows with scripts.roots."
        ));
    }
    if workspace.left_out > 0 {
        notes.push(format!(
            "{} files of the skill's folder were left out: unreadable, linked from elsewhere, or over the limit of a run.",
            workspace.left_out
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

/// Waits here, inside the server's runtime or without one.
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

/// Says once a second that a run goes on, to whoever wants to hear it. Never comes back.
async fn tell(caller: &Caller, of: Duration) {
    let started = Instant::now();
    loop {
        tokio::time::sleep(TELL_EVERY).await;
        if let Some(progress) = &caller.progress {
            let seconds = started.elapsed().as_secs_f64().round();
            let _ = progress.send(Progress { seconds, of: of.as_secs_f64() });
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Runs {
    async fn carry_out(
        &self,
        order: Order,
        caller: &Caller,
        place: Place,
        workspace: Option<Workspace>,
    ) -> Result<Outcome, RunError> {
        let (_place, _workspace) = (place, workspace);
        if let Some(why) = super::portable::enforced(&order.policy).refused(order.policy.demand) {
            return Err(RunError::NotStarted(why));
        }
        let time = Duration::from_millis(order.timeout_ms);
        let ran = tokio::select! {
            ran = super::portable::run(&order, &caller.cancelled) => ran,
            () = tell(caller, time) => Err(io::Error::other("telling never ends")),
        };
        ran.map_err(|error| RunError::NotStarted(error.to_string()))
    }
}
