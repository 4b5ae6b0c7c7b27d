//! `doctor`: what this server sees, what is wrong with it, and whether it speaks the protocol.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::ExitCode,
    sync::Arc,
};

use serde_json::{Value, json};
use skills_core::{
    catalog::Skill,
    diagnostic::{Code, Diagnostic, Severity},
};

use super::{
    Context, Failure, NO_SOURCE, Output, finding,
    output::{bold, counted, dim, safe},
    trust::{self, Asking},
    version,
};
use crate::{
    clients::KnownClient,
    config::{ConfigKey, ConfigValue, SandboxMode},
    paths::own_program,
    script::{self, Enforced, Runs},
    source::{
        Directory,
        git::{GitError, InstalledGit},
    },
    store::{Cause, Refreshed, Snapshot, Store},
    surface::ClientChoice,
    transport::{Client, ClientError, Era, Tried},
    usage::outlook,
};

/// So many diagnostics are shown, the worst first; the rest is a number.
const MAX_SHOWN_DIAGNOSTICS: usize = 20;

#[derive(clap::Args)]
pub(super) struct DoctorOptions {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, options: &DoctorOptions) -> Result<ExitCode, Failure> {
    // Its servers below serve, so what they put on record is known here too.
    let store = context.serving_store()?;
    super::sync::at_first(&store)?;
    let presented = presented(context.profile()?.client_choice);
    store.watch();
    let refreshed = store.refresh(Cause::Start);
    let tried = [Era::Handshake, Era::Stateless].map(|era| try_out(context, era));
    let sandbox =
        Runs::new(&context.environment).probe_sandbox().map_err(|error| error.to_string());
    let analytics = &refreshed.snapshot.settings().analytics;
    let analytics = outlook(context.environment.home.as_deref(), analytics);
    let warnings = context.warnings()?;
    let roots = &refreshed.snapshot.settings().scripts.roots;
    let git = InstalledGit::new(&context.environment, roots).described();
    let sources = store.sources();
    let repositories = sources.iter().filter_map(Directory::repository);
    let left_behind =
        repositories.flat_map(|one| one.left_behind()).chain(script::sweep()).collect();
    let examined = Examined {
        store,
        refreshed,
        tried,
        sandbox,
        git,
        left_behind,
        analytics,
        presented,
        warnings,
    };
    let mut out = Output::new();
    if options.json {
        out.json(&examined.json());
    } else {
        examined.print(&mut out);
    }
    Ok(ExitCode::from(u8::from(!examined.healthy())))
}

/// What was looked at.
struct Examined {
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
    fn healthy(&self) -> bool {
        let diagnostics = self.refreshed.snapshot.diagnostics();
        // A field or a declaration that has no effect is as wrong as a file that is not served.
        let drops = diagnostics.iter().any(|found| found.finding.code.drops_content());
        !drops && self.tried.iter().all(Result::is_ok)
    }

    /// The sources there are, by number; agents' directories that are missing are not worth a line.
    fn there(&self) -> Vec<(usize, Directory)> {
        let sources = self.store.sources();
        let there = sources.iter().enumerate().filter(|(_, source)| source.is_there());
        there.map(|(number, source)| (number, source.clone())).collect()
    }

    /// Whether scripts run here, and what holds them.
    fn scripts(&self) -> String {
        let settings = &self.refreshed.snapshot.settings().scripts;
        let sandbox = match &self.sandbox {
            Ok(sandbox) => match sandbox.gap() {
                None => format!("{sandbox}, all of it"),
                Some(gap) => format!("{sandbox}: {gap}"),
            },
            Err(error) => format!("unknown: {error}"),
        };
        let used = match settings.sandbox {
            SandboxMode::Auto
                if self.sandbox.as_ref().is_ok_and(|sandbox| !sandbox.is_confined()) =>
            {
                "; scripts of repositories and plugins are refused, those of a directory you named run with a warning"
            }
            SandboxMode::Auto => "",
            SandboxMode::Required => "; required",
            SandboxMode::Off => "; switched off by scripts.sandbox",
        };
        let run = if settings.enabled { "run" } else { "do not run (scripts.enabled)" };
        format!("{run}; sandbox of this machine: {sandbox}{used}")
    }

    fn json(&self) -> Value {
        let snapshot = &self.refreshed.snapshot;
        let source = |(number, source): (usize, Directory)| {
            let path = source.path().to_string_lossy();
            json!({"name": &**source.name(), "path": path, "skills": skills_of(snapshot, number)})
        };
        json!({
            "healthy": self.healthy(),
            "version": env!("CARGO_PKG_VERSION"),
            "commit": version::commit(),
            "sources": self.there().into_iter().map(source).collect::<Vec<_>>(),
            "watching": self.store.watching().ok(),
            "counts": counts(snapshot),
            "scripts": self.scripts(),
            "sandbox": self.sandbox.as_ref().map_or_else(Clone::clone, ToString::to_string),
            "git": self.git.as_ref().ok(),
            "left_behind": self.left_behind,
            "analytics": self.analytics,
            "warnings": self.warnings,
            "trust": trust::all(&self.store, None).iter().map(Asking::json).collect::<Vec<_>>(),
            "diagnostics": snapshot.diagnostics().iter().map(|found| diagnostic_json(snapshot, found)).collect::<Vec<_>>(),
            "protocol": self.tried.iter().map(tried_json).collect::<Vec<_>>(),
        })
    }

    fn print(&self, out: &mut Output) {
        let snapshot = &self.refreshed.snapshot;
        out.line(format!("{} {}", bold("skills-mcp"), version::VERSION));
        out.heading("Sources");
        if !self.store.sources().iter().any(Directory::is_there) {
            out.line(format!("  none; {NO_SOURCE}"));
        }
        for (number, source) in self.there() {
            let skills = counted(skills_of(snapshot, number), "skill");
            let path = match source.repository() {
                Some(repository) => safe(&repository.remote().to_string()),
                None => safe(&source.path().display().to_string()),
            };
            out.line(format!("  {}  {path}  {}", safe(source.name()), dim(&skills)));
        }
        if self.store.repositories().next().is_some() {
            out.line(match &self.git {
                Ok(git) => dim(&safe(&format!("  git: {git}"))),
                Err(error) => safe(&format!("  git: {error}; {}", error.hint())),
            });
        }
        let took = self.refreshed.took.as_millis();
        out.line(dim(&format!("  read and indexed in {took} ms")));
        out.line(match self.store.watching() {
            Ok(folders) => dim(&format!("  watching {}", counted(folders, "folder"))),
            Err(why) => format!("  not watched: {}", safe(&why)),
        });
        for warning in &self.warnings {
            out.line(format!("  {}", safe(warning)));
        }
        settings(out, snapshot);
        content(out, snapshot);
        out.heading("Scripts");
        out.line(format!("  {}", self.scripts()));
        for stays in &self.left_behind {
            out.line(format!("  {}", safe(stays)));
        }
        if let Some(analytics) = &self.analytics {
            out.heading("Analytics");
            out.line(format!("  {}", safe(analytics)));
        }
        self.trust(out);
        out.heading("Protocol");
        out.line(dim(&format!("  {}", self.presented)));
        for round in &self.tried {
            out.line(match round {
                Ok(Tried { version, tools, took }) => {
                    format!(
                        "  ok  {version}: {} in {} ms",
                        counted(tools.len(), "tool"),
                        took.as_millis()
                    )
                }
                Err(error) => format!("  FAILED  {error}"),
            });
        }
    }
}

impl Examined {
    /// What sources ask for that needs consent, where any does.
    fn trust(&self, out: &mut Output) {
        let mut asking = trust::all(&self.store, None);
        asking.retain(Asking::is_worth_a_word);
        if asking.is_empty() {
            return;
        }
        out.heading("Trust");
        for asking in &asking {
            asking.print(out);
        }
    }
}

/// Which client the server presents itself to, in a sentence.
fn presented(choice: ClientChoice) -> String {
    match choice {
        ClientChoice::Reported => {
            let known = KnownClient::handled_ids().count();
            format!(
                "presents itself as fits the client's name, if it is one of {known}; else as the contract says"
            )
        }
        ClientChoice::Fixed(Some(client)) => {
            format!("presents itself as to {}, because --client says so", client.name)
        }
        ClientChoice::Fixed(None) => {
            "presents itself as the contract says, because --client says so".to_owned()
        }
    }
}

/// What became of the files that were found, and how often each diagnostic was made.
fn counts(snapshot: &Snapshot) -> Value {
    let catalog = &snapshot.catalog;
    let bundles = catalog.bundles();
    let merged = catalog.shadowed().iter().filter(|copy| copy.identical).count();
    let sources = catalog.sources();
    let of_skill = |skill: &'_ Skill| {
        Some((Arc::clone(&sources.get(skill.source)?.name), skill.file.to_string()))
    };
    let served: BTreeSet<(Arc<str>, String)> = catalog.skills().filter_map(of_skill).collect();
    // Markdown without front matter is no skill that was skipped, and a skill may be served without a file that it declares.
    let refused = |found: &&Diagnostic| {
        let code = found.finding.code;
        code.refuses()
            && code != Code::FrontMatterMissing
            && !found.file.is_empty()
            && !served.contains(&(Arc::clone(&found.source), found.file.clone()))
    };
    let diagnostics = snapshot.diagnostics();
    let skipped: BTreeSet<(&str, &str)> =
        diagnostics.iter().filter(refused).map(|found| (&*found.source, &*found.file)).collect();
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    for diagnostic in &diagnostics {
        *codes.entry(diagnostic.finding.code.name()).or_default() += 1;
    }
    json!({"skills": catalog.len(), "bundles": bundles, "merged": merged, "skipped": skipped.len(), "codes": codes})
}

fn skills_of(snapshot: &Snapshot, source: usize) -> usize {
    snapshot.catalog.skills().filter(|skill| skill.source == source).count()
}

/// Only what differs from the defaults: a file that repeats them changes nothing.
fn settings(out: &mut Output, snapshot: &Snapshot) {
    out.heading("Settings");
    let differs =
        |key: &ConfigKey, value: &ConfigValue| key.default_value().as_ref() != Some(value);
    let changed: Vec<_> =
        snapshot.config.values.iter().filter(|(key, value, _)| differs(key, value)).collect();
    if changed.is_empty() {
        out.line("  all defaults; `skills-mcp config` lists them");
    }
    for (key, value, origin) in changed {
        out.line(format!(
            "  {} = {}  {}",
            key.name,
            safe(&value.to_string()),
            dim(&safe(&origin.to_string()))
        ));
    }
}

fn content(out: &mut Output, snapshot: &Snapshot) {
    out.heading("Content");
    let counts =
        [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "note")];
    let summary: Vec<String> =
        counts.iter().map(|(severity, name)| counted(snapshot.count(*severity), name)).collect();
    out.line(format!("  {}", summary.join(", ")));
    let mut diagnostics = snapshot.diagnostics();
    diagnostics.sort_by_key(|found| found.finding.code.severity());
    for diagnostic in diagnostics.iter().take(MAX_SHOWN_DIAGNOSTICS) {
        finding::print(out, snapshot, diagnostic);
    }
    if let Some(more) =
        diagnostics.len().checked_sub(MAX_SHOWN_DIAGNOSTICS).filter(|more| *more > 0)
    {
        out.line(format!("  … and {more} more; `skills-mcp check --all` lists all of them"));
    }
}

/// Starts this very program as a server over the same sources, and talks to it.
fn try_out(context: &Context, era: Era) -> Result<Tried, ClientError> {
    let spawn = |error| ClientError::Spawn { program: "skills-mcp".into(), error };
    let program = own_program().map_err(spawn)?;
    let mut arguments = vec!["serve".to_owned()];
    arguments.extend(context.shared.repeated());
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(spawn)?;
    runtime.block_on(Client::try_out(&program, &arguments, era))
}

fn diagnostic_json(snapshot: &Snapshot, diagnostic: &Diagnostic) -> Value {
    let finding = &diagnostic.finding;
    json!({
        "source": &*diagnostic.source,
        "file": diagnostic.file,
        "path": snapshot.file_of(diagnostic),
        "line": finding.at.line,
        "column": finding.at.column,
        "severity": finding.code.severity().name(),
        "code": finding.code.name(),
        "message": finding.message,
        "hint": finding.hint,
    })
}

fn tried_json(tried: &Result<Tried, ClientError>) -> Value {
    match tried {
        Ok(tried) => json!({"ok": true, "version": tried.version, "tools": tried.tools}),
        Err(error) => json!({"ok": false, "error": error.to_string()}),
    }
}
