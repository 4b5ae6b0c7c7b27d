//! `trust`: what each source asks for, what is on record for it, what waits for consent; the same of the project's file; and the
//! operator's answer.

mod project;

use std::{path::Path, process::ExitCode, sync::Arc};

use serde_json::{Value as Json, json};
use skills_core::diagnostic::escaped;

use super::{
    Context, Failure, Output,
    ask::confirmed,
    authoring::shell_word,
    config::plain,
    output::{bold, dim},
};
use crate::{
    config::{
        ConfigKey, ConfigValue, ConsentRecord, KEYS, PinnedValues, ProjectFile, ResolvedConfig,
        ServedContent, SettingOrigin,
    },
    paths::{is_folder, real_path},
    source::Directory,
    store::Store,
};

#[derive(clap::Args, Clone)]
pub(super) struct TrustOptions {
    /// Only this source: its name, its folder or its URL; or the project's .skills-mcp.yaml
    source: Option<String>,
    /// Agree to the settings that are asked for now, or to the project's file
    #[arg(long, conflicts_with = "revoke")]
    yes: bool,
    /// Take consent back: nothing that a source asks for beyond the defaults applies any more
    #[arg(long)]
    revoke: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One source, with what it asks for.
pub(super) struct Asking {
    name: String,
    identities: Vec<String>,
    /// What it asks for now; none where its `config.yaml` cannot be read.
    asked: Option<PinnedValues>,
    recorded: Result<Option<ConsentRecord>, String>,
    rows: Vec<Row>,
    /// Whether only the project's file names it.
    of_project: bool,
}

struct Row {
    key: &'static ConfigKey,
    asked: ConfigValue,
    held: ConfigValue,
    state: State,
}

/// How a key stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// What is asked for holds.
    Holds,
    /// It waits for consent.
    Waits,
    /// The operator decided it otherwise.
    Operator,
    /// Something else is on record, and nothing is asked for.
    Kept,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Waits => "waits for your consent",
            Self::Operator => "set by you",
            Self::Kept => "kept as on record",
        }
    }
}

pub(super) fn run(context: &Context, options: &TrustOptions) -> Result<ExitCode, Failure> {
    let context = &Context { quiet: true, ..context.clone() };
    let wanted = options.source.as_deref();
    let mut out = Output::new();
    let mut project = project::concerned(context, wanted)?;
    if let Some(known) = project.as_ref().filter(|_| options.revoke) {
        project::answer(context, known, false)?;
        project = project::concerned(context, wanted)?;
    }
    if let Some(project) = &project {
        // After a yes it is shown as it is then.
        let will_agree = options.yes && project.waits();
        if !options.json && !will_agree {
            project::print(&mut out, project, &context.named()?.notices);
        }
        if agreed_to_project(context, options, project)? {
            // Its sources are known from now on, and what they ask for is not agreed to unseen.
            return run(context, &TrustOptions { yes: false, ..options.clone() });
        }
    }
    let (store, mut asking) = asked_for(context, wanted, project.is_some())?;
    let decided = options.yes || options.revoke;
    if decided {
        answer(context, &store, &asking, options.revoke)?;
        asking = all(&store, wanted);
    }
    let waits = asking.iter().any(Asking::waits);
    let project_waits = !options.revoke && project.as_ref().is_some_and(ProjectFile::waits);
    let mistake = project.as_ref().and_then(|project| project.list.as_ref().err());
    let code = u8::from(waits || project_waits || mistake.is_some());
    if options.json {
        let asking: Vec<Json> = asking.iter().map(Asking::json).collect();
        let project = project.as_ref().map(project::json);
        out.json(&json!({"sources": asking, "project": project}));
        return Ok(ExitCode::from(code));
    }
    for source in &asking {
        source.print(&mut out);
    }
    if code == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    if waits && confirmed("Agree to what waits?") {
        answer(context, &store, &asking, false)?;
        out.line("recorded; servers apply it with their next call or scan");
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(mistake) = mistake {
        let file = mistake.place();
        out.sentence("", &format!("correct {file}; then `skills-mcp trust` shows what it names"));
    }
    if !options.revoke && (waits || project_waits) {
        let source = wanted.map(|wanted| format!(" {}", shell_word(wanted))).unwrap_or_default();
        let command = format!("{} trust{source} --yes", context.typed_with_sources());
        out.sentence("", &format!("`{command}` agrees to what waits"));
    }
    Ok(ExitCode::from(code))
}

/// Whether the operator agrees, now, to a project's file that waits.
fn agreed_to_project(
    context: &Context,
    options: &TrustOptions,
    project: &ProjectFile,
) -> Result<bool, Failure> {
    let asks = !options.json && !options.revoke;
    let agrees = || options.yes || (asks && confirmed("Use what this project's file names?"));
    // A file with a mistake is refused with it.
    let is_refused = options.yes && project.list.is_err();
    if !is_refused && (!project.waits() || !agrees()) {
        return Ok(false);
    }
    project::answer(context, project, true)?;
    if !options.json {
        Output::new().line("recorded; servers use it from their next start");
    }
    Ok(true)
}

/// The sources that may ask for something. One that is not served already may be named by its folder or URL. Where the
/// project's file is shown there may be none.
fn asked_for(
    context: &Context,
    wanted: Option<&str>,
    of_project: bool,
) -> Result<(Arc<Store>, Vec<Asking>), Failure> {
    let store = context.opened()?.store;
    let asking = all(&store, wanted);
    if !asking.is_empty() || of_project {
        return Ok((store, asking));
    }
    let Some(wanted) = wanted else {
        return Err(Failure::usage(
            "no source that may set anything is named",
            "agents' directories and plugins never set anything; name a directory or repository, as in `skills-mcp trust PATH` or `skills-mcp trust URL`",
        ));
    };
    let mut shared = context.shared.clone();
    let path = context.environment.directory.join(wanted);
    (shared.directories, shared.repositories) = if is_folder(&path) {
        (vec![path], Vec::new())
    } else if wanted.contains(':') {
        (Vec::new(), vec![wanted.to_owned()])
    } else {
        return Err(Failure::usage(
            format!("there is no source `{wanted}`"),
            "name it as `skills-mcp doctor` does, or by its folder or URL",
        ));
    };
    let other = Context { shared, ..context.clone() };
    let store = other.opened()?.store;
    let asking = all(&store, None);
    Ok((store, asking))
}

/// Every source of a store that may ask for something, or those that are called this.
pub(super) fn all(store: &Store, wanted: Option<&str>) -> Vec<Asking> {
    let sources = store.sources();
    let asking = sources.iter().filter_map(|source| Asking::of(store, source));
    asking.filter(|asking| wanted.is_none_or(|wanted| asking.is_called(wanted))).collect()
}

fn answer(
    context: &Context,
    store: &Store,
    asking: &[Asking],
    revoke: bool,
) -> Result<(), Failure> {
    for source in asking {
        let asked = source.asked.as_ref().ok_or_else(|| {
            let message = format!("the config.yaml of {} cannot be read", source.name);
            Failure::usage(message, "`skills-mcp doctor` says what is wrong with it")
        })?;
        let pins = if revoke { asked.narrowing() } else { asked.clone() };
        let recorded = store.consent().agree(&source.identities, &pins);
        recorded.map_err(|why| not_recorded(context, &why))?;
    }
    Ok(())
}

fn not_recorded(context: &Context, why: &str) -> Failure {
    let failure = Failure::environment(format!("consent was not recorded: {why}"));
    if context.environment.home.is_none() {
        return failure;
    }
    failure.with_hint(
        "fix that file, or delete it: then every source counts as served for the first time",
    )
}

impl Asking {
    fn of(store: &Store, source: &Directory) -> Option<Self> {
        let served = source.served()?;
        let config = store.config_of(source);
        let asked = store.asked(source);
        let recorded = store.consent().recorded(&served.identities);
        let rows = |asked| rows(&served, asked, &recorded, &config);
        let rows = asked.iter().flat_map(rows).collect();
        let name = served.source.to_string();
        let (identities, of_project) = (served.identities, served.of_project);
        Some(Self { name, identities, asked, recorded, rows, of_project })
    }

    fn identity(&self) -> &str {
        self.identities.first().map(String::as_str).unwrap_or_default()
    }

    fn is_called(&self, wanted: &str) -> bool {
        let folder = real_path(Path::new(wanted));
        // People name the repository as often as the folder in it.
        let is_folder = |folder: &Path, own: &str| {
            let own = Path::new(own);
            own == folder || own == folder.join("skills")
        };
        self.name == wanted
            || self.identities.iter().any(|own| {
                own == wanted || folder.as_ref().is_some_and(|folder| is_folder(folder, own))
            })
    }

    /// Whether something of it waits for consent.
    pub(super) fn waits(&self) -> bool {
        self.rows.iter().any(|row| row.state == State::Waits)
    }

    /// Whether there is anything to say of it.
    pub(super) fn is_worth_a_word(&self) -> bool {
        !self.rows.is_empty() || self.recorded.is_err()
    }

    /// Since when what is on record.
    fn standing(&self) -> String {
        match &self.recorded {
            Ok(None) if self.of_project => {
                "named by the project's file: what it asks for waits until you agree".to_owned()
            }
            Ok(None) => "not served yet: what it asks for goes on record when it is".to_owned(),
            Ok(Some(known)) if known.agreed => {
                format!("on record since {}: as you decided", known.since)
            }
            Ok(Some(known)) => format!("on record since {}: as first served, or less", known.since),
            Err(why) => format!("nothing that it switches on holds: {why}"),
        }
    }

    pub(super) fn print(&self, out: &mut Output) {
        out.line(format!("{}  {}", bold(&escaped(&self.name)), escaped(self.identity())));
        out.sentence("  ", &self.standing());
        if self.rows.is_empty() {
            let says = match self.asked {
                Some(_) => "it asks for nothing that needs consent",
                None => "its config.yaml cannot be read; `skills-mcp doctor` says why",
            };
            out.line(format!("  {says}"));
        }
        let widest = self.rows.iter().map(|row| row.key.name.len()).max().unwrap_or(0);
        for Row { key, asked, held, state } in &self.rows {
            let held = if asked == held { String::new() } else { format!(", now {held}") };
            let line = format!("  {:widest$}  asks for {asked}{held}", key.name);
            out.line(format!("{}  {}", escaped(&line), dim(state.word())));
        }
    }

    pub(super) fn json(&self) -> Json {
        let known = self.recorded.as_ref().ok().and_then(Option::as_ref);
        let row = |row: &Row| {
            json!({
                "key": row.key.name,
                "asks": plain(&row.asked),
                "now": plain(&row.held),
                "waiting": row.state == State::Waits,
                "state": row.state.word(),
            })
        };
        json!({
            "name": self.name,
            "source": self.identity(),
            "since": known.map(|known| &known.since),
            "agreed": known.map(|known| known.agreed),
            "error": self.recorded.as_ref().err(),
            "keys": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

/// Every key that needs consent and of which there is something to say.
fn rows(
    served: &ServedContent,
    asked: &PinnedValues,
    recorded: &Result<Option<ConsentRecord>, String>,
    config: &ResolvedConfig,
) -> Vec<Row> {
    let known = recorded.as_ref().ok().and_then(Option::as_ref).map(|known| &known.pins);
    let row = |key: &'static ConfigKey| {
        let asked = asked.get(key)?;
        let default = key.default_value()?;
        let (_, held, origin) = config.values.iter().find(|(known, ..)| known.name == key.name)?;
        let on_record = known.and_then(|known| known.get(key)).unwrap_or_else(|| default.clone());
        let waits = config.waiting.iter().any(|waiting| waiting.key.name == key.name);
        if asked == default && on_record == default && !waits {
            return None;
        }
        let state = match origin {
            _ if waits => State::Waits,
            SettingOrigin::User(_) | SettingOrigin::Environment(_) | SettingOrigin::Flag => {
                State::Operator
            }
            _ if *held == asked => State::Holds,
            SettingOrigin::Default
            | SettingOrigin::Content(_)
            | SettingOrigin::Pinned(_)
            | SettingOrigin::Invalid(_) => State::Kept,
        };
        Some(Row { key, asked, held: held.clone(), state })
    };
    KEYS.iter().filter(|key| served.is_recorded(key)).filter_map(row).collect()
}
