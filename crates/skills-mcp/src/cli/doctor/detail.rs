//! `doctor --all`: every section in full, then the verdict.

use skills_core::diagnostic::Severity;

use super::{Examined, verdict::Verdict};
use crate::{
    cli::{
        NO_SOURCE, Output, finding,
        output::{bold, counted, dim, safe},
        style::{good, warning},
        trust::{self, Asking},
        version,
    },
    config::{ConfigKey, ConfigValue, SandboxMode},
    source::Directory,
    store::Snapshot,
    transport::Tried,
};

impl Examined {
    /// The sources there are, by number; agents' directories that are missing are not worth a line.
    pub(super) fn there(&self) -> Vec<(usize, Directory)> {
        let sources = self.store.sources();
        let there = sources.iter().enumerate().filter(|(_, source)| source.is_there());
        there.map(|(number, source)| (number, source.clone())).collect()
    }

    /// Whether scripts run here, and what holds them.
    pub(super) fn scripts(&self) -> String {
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

    pub(super) fn print(&self, out: &mut Output) {
        let snapshot = &self.refreshed.snapshot;
        out.line(format!("{} {}", bold("skills-mcp"), version::VERSION));
        out.heading("Sources");
        if !self.store.sources().iter().any(Directory::is_there) {
            out.line("  none; no directory can be read at");
            self.setup.looked_in.iter().for_each(|path| out.line(format!("    {}", safe(path))));
            out.sentence("  ", NO_SOURCE);
        }
        for (number, source) in self.there() {
            let skills = counted(skills_of(snapshot, number), "skill");
            let path = match source.repository() {
                Some(repository) => safe(&repository.remote().to_string()),
                None => safe(&source.path().display().to_string()),
            };
            let name = safe(source.name());
            out.entry(
                &format!("  {name}"),
                name.chars().count() + 2,
                &format!("{path} ({skills})"),
            );
        }
        if self.store.repositories().next().is_some() {
            match &self.git {
                Ok(git) => out.dim_sentence("  ", &format!("git: {git}")),
                Err(error) => out.sentence("  ", &format!("git: {error}; {}", error.hint())),
            }
        }
        let took = self.refreshed.took.as_millis();
        out.line(dim(&format!("  read and indexed in {took} ms")));
        match self.store.watching() {
            Ok(folders) => out.line(dim(&format!("  watching {}", counted(folders, "folder")))),
            Err(why) => out.sentence("  ", &format!("not watched: {why}")),
        }
        let unfetched = self.setup.unfetched.iter().map(|(why, _)| why);
        for warning in unfetched.chain(&self.warnings) {
            out.sentence("  ", warning);
        }
        settings(out, snapshot);
        content(out, snapshot);
        out.heading("Scripts");
        out.sentence("  ", &self.scripts());
        for stays in &self.left_behind {
            out.sentence("  ", stays);
        }
        if let Some(analytics) = &self.analytics {
            out.heading("Analytics");
            out.sentence("  ", analytics);
        }
        self.trust(out);
        self.clients(out);
        self.protocol(out);
        let Verdict { sentence, next } = Verdict::of(&self.setup);
        out.line("");
        out.sentence("", &sentence);
        out.line(format!("Next: {}", bold(&safe(&next))));
    }

    /// Each client of this machine, and where its entry is.
    fn clients(&self, out: &mut Output) {
        if self.setup.clients.is_empty() {
            return;
        }
        out.heading("Clients");
        for client in &self.setup.clients {
            let mark = if client.is_good() { good("✓") } else { warning("!") };
            out.entry(
                &format!("  {mark} {}", client.name),
                client.name.len() + 4,
                &client.described(),
            );
        }
    }

    /// What a client of each era of the protocol gets.
    fn protocol(&self, out: &mut Output) {
        out.heading("Protocol");
        out.dim_sentence("  ", &self.presented);
        for round in &self.tried {
            match round {
                Ok(Tried { version, tools, took }) => out.line(format!(
                    "  ok  {version}: {} in {} ms",
                    counted(tools.len(), "tool"),
                    took.as_millis()
                )),
                Err(error) => out.entry("  FAILED", 8, &error.to_string()),
            }
        }
    }

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

pub(super) fn skills_of(snapshot: &Snapshot, source: usize) -> usize {
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
        out.sentence("  ", "all defaults; `skills-mcp config` lists them");
    }
    for (key, value, origin) in changed {
        out.sentence("  ", &format!("{} = {value}", key.name));
        out.dim_sentence("    ", &origin.to_string());
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
    for diagnostic in &diagnostics {
        finding::print(out, snapshot, diagnostic);
    }
}
