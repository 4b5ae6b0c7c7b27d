//! `doctor`: what this server sees, what is wrong with it, and whether it speaks the protocol; on one screen that ends in a
//! verdict and the next step.
//!
//! `setup` is what the screen and the verdict are made of, `screen` and `verdict` word it, `clients` compares the clients'
//! entries with what is served here, `detail` is what `--all` prints, `report` is the JSON.

mod clients;
mod detail;
mod report;
mod screen;
mod setup;
mod verdict;

use std::{process::ExitCode, time::Duration};

pub(super) use setup::SetupState;

use super::{Context, Failure, Output};
use crate::{
    clients::KnownClient,
    paths::own_program,
    script::{self, Enforced, Runs},
    source::{
        Directory,
        git::{GitError, InstalledGit},
    },
    store::{Cause, Refreshed, Store},
    surface::ClientChoice,
    transport::{Client, ClientError, Era, Tried},
    usage::outlook,
};

/// How long doctor waits for what earlier runs left behind to be removed.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(clap::Args)]
pub(super) struct DoctorOptions {
    /// Show everything: each source, setting, finding and note
    #[arg(long)]
    all: bool,
    /// Print JSON, for programs and bug reports
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, options: &DoctorOptions) -> Result<ExitCode, Failure> {
    let examined = Examined::of(context)?;
    let mut out = Output::new();
    if options.json {
        out.json(&examined.json());
    } else if options.all {
        examined.print(&mut out);
    } else {
        for line in screen::lines(&examined.setup, Some(&examined), out.width) {
            out.line(line);
        }
    }
    Ok(ExitCode::from(u8::from(!examined.healthy())))
}

/// What was looked at.
struct Examined {
    setup: SetupState,
    store: Store,
    refreshed: Refreshed,
    tried: [Result<Tried, ClientError>; 2],
    /// The sandbox of this machine, found by a probe.
    sandbox: Result<Enforced, String>,
    /// Which git is started.
    git: Result<String, GitError>,
    /// What cannot be removed of script runs and of earlier commits of repositories.
    left_behind: Vec<String>,
    /// Whether events are kept and sent, in a build that does.
    analytics: Option<String>,
    /// Which client the server presents itself to.
    presented: String,
    /// What the operator should know of their own set-up.
    warnings: Vec<String>,
}

impl Examined {
    fn of(context: &Context) -> Result<Self, Failure> {
        let (context, named_by) = setup::as_connected(context)?;
        let presented = presented(context.profile()?.client_choice);
        // Its servers below serve, so what they put on record is known here too.
        let store = context.serving_store()?;
        let fetched = super::sync::at_first(&store);
        store.watch();
        let refreshed = store.refresh(Cause::Start);
        let tried = try_out(&context);
        let sandbox =
            Runs::new(&context.environment).probe_sandbox().map_err(|error| error.to_string());
        let settings = refreshed.snapshot.settings();
        let analytics = outlook(context.environment.home.as_deref(), &settings.analytics);
        let git = InstalledGit::new(&context.environment, &settings.scripts.roots).described();
        let sources = store.sources();
        let repositories = sources.iter().filter_map(Directory::repository);
        let left_behind: Vec<String> = repositories
            .flat_map(|one| one.left_behind())
            .chain(script::sweep_within(SWEEP_TIMEOUT))
            .collect();
        let warnings = context.warnings()?;
        let mut setup = SetupState::of(&context, &store, &refreshed.snapshot, fetched);
        setup.named_by = named_by;
        setup.failure =
            tried.iter().find_map(|tried| tried.as_ref().err().map(ToString::to_string));
        setup.remarks.extend(warnings.iter().chain(&left_behind).cloned());
        if let Err(why) = store.watching() {
            setup.remarks.push(format!("not watched: {why}"));
        }
        Ok(Self {
            setup,
            store,
            refreshed,
            tried,
            sandbox,
            git,
            left_behind,
            analytics,
            presented,
            warnings,
        })
    }

    fn healthy(&self) -> bool {
        self.setup.healthy()
    }
}

/// Which client the server presents itself to, in a sentence.
fn presented(choice: ClientChoice) -> String {
    match choice {
        ClientChoice::Reported => {
            let known = KnownClient::handled_ids().count();
            format!(
                "shows each of {known} clients what suits it, and the same to every client that skills-mcp does not know"
            )
        }
        ClientChoice::Fixed(Some(client)) => {
            format!("shows every client what suits {}, because --client says so", client.name)
        }
        ClientChoice::Fixed(None) => {
            "shows every client what it shows to one that skills-mcp does not know, because --client says so".to_owned()
        }
    }
}

/// Starts this very program as a server over the same sources, once for each era of the protocol, and talks to it.
fn try_out(context: &Context) -> [Result<Tried, ClientError>; 2] {
    let spawn = |error| ClientError::Spawn { program: "skills-mcp".into(), error };
    let mut arguments = vec!["serve".to_owned()];
    arguments.extend(context.shared.repeated());
    let tried = || {
        let program = own_program()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let eras = async {
            tokio::join!(
                Client::try_out(&program, &arguments, Era::Handshake),
                Client::try_out(&program, &arguments, Era::Stateless)
            )
        };
        Ok(runtime.block_on(eras).into())
    };
    tried().unwrap_or_else(|error: std::io::Error| {
        let again = std::io::Error::new(error.kind(), error.to_string());
        [Err(spawn(error)), Err(spawn(again))]
    })
}
