//! The verdict of `doctor` in a sentence or two, and the one command to type next.

use std::path::Path;

use super::{
    clients::{ClientState, Connection},
    setup::SetupState,
};
use crate::{
    cli::{authoring::shell_word, output::counted},
    paths::exists,
};

/// What it comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) sentence: String,
    /// A command.
    pub(super) next: String,
}

impl Verdict {
    pub(super) fn of(setup: &SetupState) -> Self {
        let mut said = vec![served(setup)];
        if setup.failure.is_some() {
            said.push("The server does not answer.".to_owned());
        }
        said.extend(connections(&setup.clients));
        Self { sentence: said.join(" "), next: next(setup) }
    }
}

fn served(setup: &SetupState) -> String {
    if setup.skills == 0 {
        let why = match (&setup.unfetched, setup.broken) {
            (Some(_), _) => "the repository was not fetched",
            (None, 0) if setup.places.is_empty() => "none of the places above can be read",
            (None, 0) => "the places above have none",
            (None, _) => "the problems above are why",
        };
        return format!("No skills: {why}.");
    }
    let places = counted(setup.places.len(), "place");
    let broken = match setup.broken {
        0 => String::new(),
        broken => format!(", {broken} broken"),
    };
    format!("{} in {places}{broken}.", counted(setup.skills, "skill"))
}

/// What is to be said of the clients: those whose entry is out of order first.
fn connections(clients: &[ClientState]) -> Vec<String> {
    let named = |connection: Connection| -> Vec<&str> {
        let of = clients.iter().filter(|client| client.connection() == connection);
        of.map(|client| client.name).collect()
    };
    let sentence = |names: &[&str], one: &str, several: &str| {
        let verb = if names.len() == 1 { one } else { several };
        (!names.is_empty()).then(|| format!("{} {verb}.", listed(names)))
    };
    let gone = named(Connection::CommandGone);
    let different = named(Connection::OtherSources);
    let absent = named(Connection::Absent);
    let off = named(Connection::SwitchedOff);
    let way_on = clients.iter().filter(|client| client.connection() == Connection::SwitchedOff);
    let way_on = way_on.filter(|_| off.len() == 1).find_map(ClientState::way_on);
    let is_off = way_on.map_or_else(
        || "has an entry that is switched off".to_owned(),
        |way| format!("has an entry that is switched off: {way}"),
    );
    [
        sentence(&gone, "starts a program that is gone", "start a program that is gone"),
        sentence(&different, "is connected to other skills", "are connected to other skills"),
        sentence(&off, &is_off, "have entries that are switched off"),
        sentence(&absent, "does not know this server", "do not know this server"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `a`, `a and b`, `a, b and 2 more`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, other] => format!("{one} and {other}"),
        [one, other, third] => format!("{one}, {other} and {third}"),
        [one, other, rest @ ..] => format!("{one}, {other} and {} more", rest.len()),
    }
}

/// The folder of this program, if it has this name.
fn folder_of(program: &Path, name: &str) -> Option<String> {
    let is_called = program.file_stem().is_some_and(|stem| stem == name);
    program.parent().filter(|_| is_called).map(|folder| folder.display().to_string())
}

/// The command that helps most.
fn next(setup: &SetupState) -> String {
    let first = |connection: Connection| {
        setup.clients.iter().find(|client| client.connection() == connection)
    };
    let with_sources = |rest: &str| match &setup.sources_file {
        Some(file) => format!("name the sources in {file}, then {} {rest}", setup.command),
        None => format!("{} {rest}", setup.command),
    };
    let connect = |client: &ClientState| {
        // An entry that everyone has says only the program's name.
        let own = setup.own_program.as_deref();
        if let Some(folder) = client.missing_program().and_then(|name| folder_of(own?, name)) {
            return format!("export PATH={}:$PATH", shell_word(&folder));
        }
        let project = if client.is_broken_in_project() { " --project" } else { "" };
        with_sources(&format!("connect {}{project}", client.id))
    };
    if let Some(path) = setup.left_out.first() {
        // One that is there cannot be read.
        let (typed, shown) = (&setup.typed, shell_word(path));
        let is_there = exists(Path::new(path));
        return if is_there {
            format!("chmod u+rx {shown}")
        } else {
            format!("{typed} remove {shown}")
        };
    }
    if setup.unfetched.is_some() {
        return with_sources("sync");
    }
    if setup.waits_for_consent {
        return with_sources("trust");
    }
    if setup.skills == 0 && setup.broken == 0 {
        return format!("{} init my-skills", setup.typed);
    }
    if setup.failure.is_some() {
        return with_sources("doctor --all");
    }
    let is_known = setup.clients.iter().any(|client| client.connection() != Connection::Absent);
    let unknown = first(Connection::Absent);
    if let Some(client) = first(Connection::CommandGone).or(unknown.filter(|_| !is_known)) {
        return connect(client);
    }
    if setup.broken > 0 {
        return with_sources("check");
    }
    let is_off = |client: &&ClientState| {
        client.connection() == Connection::SwitchedOff && client.way_on().is_none()
    };
    let off = setup.clients.iter().find(is_off);
    match first(Connection::OtherSources).or(off).or(unknown) {
        // `connect` would leave the entry's sources; without an entry it writes a new one.
        Some(client) if client.keeps_sources() && !is_off(&client) => {
            format!("{} disconnect {}", setup.program, client.id)
        }
        Some(client) => connect(client),
        None if !setup.problems.is_empty() => with_sources("check"),
        None => with_sources(&format!("try {}", setup.request)),
    }
}
