//! Whether a script may run: the checks of SCRIPT-2 in their order, each with its own refusal and what to do instead.
//!
//! [`authorize`] changes nothing: it gives a [`Plan`], which says all that the run would be allowed.

use std::{collections::BTreeMap, path::Path, time::Duration};

use sha2::{Digest as _, Sha256};
use skills_core::{
    catalog::{Catalog, Presence, Skill, SkillKind},
    diagnostic::escaped,
    digest::hex,
    document::{Execution, ScriptDeclaration},
    relpath::RelPath,
    resolve::{self, Declared, FoundFile, find_file},
};

use super::{
    arguments,
    host::{ScriptHost, WorkingDirectory},
    runner::{ProjectTools, Runner},
};
use crate::{
    config::{Environment, SandboxMode, ScriptSettings, SettingOrigin},
    source::{DiskError, Links, Root},
    store::{ContentError, Snapshot},
};

/// A larger script is refused.
const MAX_SCRIPT_BYTES: usize = 4 * 1024 * 1024;

/// A request to run a script.
#[derive(Debug)]
pub(crate) struct RunRequest<'a> {
    /// The script, as the skill declares it.
    pub(crate) file: &'a str,
    /// Arguments by name.
    pub(crate) arguments: &'a BTreeMap<String, String>,
    /// Where it is to work.
    pub(crate) work_in: WorkIn<'a>,
}

/// Where a script is to work.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WorkIn<'a> {
    /// In this folder of the machine, or in the server's start directory.
    Local(Option<&'a str>),
    /// In a private folder, since the client is on another machine.
    Remote,
}

/// Whether a script may use the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NetworkAccess {
    /// It may.
    Open,
    /// It does not declare that it needs the network.
    None,
    /// It declares that it needs the network, and the operator does not allow it.
    Withheld,
}

impl NetworkAccess {
    fn of(script: &ScriptDeclaration, scripts: &ScriptSettings) -> Self {
        match (script.network, scripts.network) {
            // Without a sandbox nothing can withhold the network.
            _ if scripts.sandbox == SandboxMode::Off => Self::Open,
            (true, true) => Self::Open,
            (true, false) => Self::Withheld,
            (false, _) => Self::None,
        }
    }
}

/// A run that every check allows.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// The skill that declares the script.
    pub(crate) owner: &'a Skill,
    /// The script, below the owner's resource folder.
    pub(crate) file: RelPath,
    pub(crate) runner: Runner,
    /// Whether the script may read the runner's own libraries: not where content chose the runner.
    pub(super) opens_toolchain: bool,
    /// `SKILL_ARG_*`, and the variables that the operator passes on.
    pub(crate) variables: BTreeMap<String, String>,
    /// Variables that the script declares and does not get.
    pub(crate) withheld: Vec<String>,
    pub(crate) working_directory: WorkingDirectory,
    pub(crate) network: NetworkAccess,
    /// Whether it comes from a directory that the operator named, and not from a repository or a plugin.
    pub(super) from_named_directory: bool,
    pub(crate) sandbox: SandboxMode,
    /// After this long the script gets SIGTERM.
    pub(crate) timeout: Duration,
    /// After this long more it is killed.
    pub(crate) grace: Duration,
    /// Of each stream.
    pub(crate) max_output_bytes: usize,
    /// The bytes that will run.
    pub(super) bytes: Vec<u8>,
}

impl Plan<'_> {
    /// SHA-256 of the bytes that will run, in hexadecimal.
    pub(crate) fn digest(&self) -> String {
        hex(&Sha256::digest(&self.bytes))
    }
}

/// A run that a check refuses.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Denied {
    /// What was asked, what is true, what to do instead.
    pub(crate) message: String,
    /// Whether the message has paths or settings of this machine, which clients on other machines may not see.
    pub(crate) is_local: bool,
    /// Who is meant to run the script, where that is known.
    pub(crate) execution: Execution,
}

impl Denied {
    /// A refusal that says nothing of this machine.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_local: false, execution: Execution::Server }
    }
}

fn denied(message: String) -> Denied {
    Denied::new(message)
}

fn deny<T>(message: String) -> Result<T, Denied> {
    Err(denied(message))
}

/// The first check: whether this server runs scripts at all.
pub(crate) fn check_scripts_enabled(snapshot: &Snapshot) -> Result<(), Denied> {
    if snapshot.settings().scripts.enabled {
        return Ok(());
    }
    let config = &snapshot.config;
    let enabled = config.values.iter().find(|(key, ..)| key.name == "scripts.enabled");
    let why = match (enabled.map(|(.., origin)| origin), &config.scripts_off) {
        (Some(SettingOrigin::Invalid(_)), Some(reason)) => format!(
            "{}; an invalid value under `scripts` turns them off until it is fixed",
            escaped(reason)
        ),
        (Some(SettingOrigin::Pinned(_)), _) => {
            "scripts.enabled stays false until the operator agrees to what the content asks for (`skills-mcp trust`)"
                .to_owned()
        }
        (Some(origin), _) => format!("scripts.enabled was set to false by {origin}"),
        (None, _) => "scripts.enabled is false".to_owned(),
    };
    let message = format!(
        "Scripts are disabled on this server ({why}). Fetch the script with get_asset and run it yourself if you may."
    );
    Err(Denied { is_local: true, ..Denied::new(message) })
}

/// All further checks, once the skill is found.
pub(crate) fn authorize<'a>(
    snapshot: &'a Snapshot,
    host: &ScriptHost,
    skill: &'a Skill,
    request: &RunRequest<'_>,
) -> Result<Plan<'a>, Denied> {
    let scripts = &snapshot.settings().scripts;
    let file = RelPath::parse(request.file).or_else(|escape| {
        deny(format!(
            "Path traversal refused for '{:.200}': {escape}. Use a script that get_skill returned.",
            request.file
        ))
    })?;
    let (found, script) = declared_script(&snapshot.catalog, skill, &file)?;
    if script.execution == Execution::Claude {
        return Err(Denied {
            message: format!(
                "Script '{file}' is declared with execution: claude, so run_script does not run it. Fetch it with \
                 get_asset and run it yourself with bash."
            ),
            is_local: false,
            execution: Execution::Claude,
        });
    }
    let not_run = |why: String| denied(format!("Script '{file}' was not run: {why}."));
    let arguments = arguments::variables(&script.arguments, request.arguments).map_err(not_run)?;
    let extension = allowed_extension(&file, scripts)?;
    let bytes = script_bytes(snapshot, &found, &file)?;
    let Some(command) = scripts.runners.get(&extension) else {
        return deny(format!(
            "There is no runner for {extension} scripts. Ask the operator to set scripts.runners, or fetch '{file}' with \
             get_asset and run it yourself."
        ));
    };
    let network = NetworkAccess::of(script, scripts);
    let (passed, withheld) = passed_variables(script, scripts);
    let directory = match request.work_in {
        WorkIn::Local(cwd) => host.working_directory(cwd, &scripts.roots),
        WorkIn::Remote => Ok(WorkingDirectory::Remote),
    };
    let is_online = network == NetworkAccess::Open;
    let project = project_tools(directory.as_ref().ok(), scripts.sandbox, is_online, &passed);
    let writable = host.writable(&scripts.roots);
    let no_runner = |why: String| Denied { is_local: true, ..not_run(why) };
    let runner =
        host.programs.outside(&writable).runner(&extension, command, project).map_err(no_runner)?;
    let working_directory = directory.map_err(not_run)?;
    Ok(Plan {
        owner: found.owner,
        file,
        // Where a script may write the runner, it may lead to any folder when its libraries are looked for.
        opens_toolchain: !snapshot.config.named_by_content.contains(&extension)
            && !writable.lead_to(&runner.program),
        runner,
        variables: passed.into_iter().chain(arguments).collect(),
        withheld,
        working_directory,
        network,
        from_named_directory: snapshot.is_in_named_directory(found.owner),
        sandbox: scripts.sandbox,
        timeout: Duration::from_secs(scripts.timeout_seconds),
        grace: Duration::from_secs(scripts.grace_seconds),
        max_output_bytes: scripts.max_output_bytes,
        bytes,
    })
}

/// The script this skill, or one it inherits from, declares under this name.
fn declared_script<'a>(
    catalog: &'a Catalog,
    skill: &'a Skill,
    file: &RelPath,
) -> Result<(FoundFile<'a>, &'a ScriptDeclaration), Denied> {
    let name = &skill.identity;
    if skill.kind == SkillKind::Bundle {
        return deny(format!(
            "'{name}' is a bundle, and bundles declare no scripts for run_script. Fetch '{file}' with get_asset and run \
             it yourself."
        ));
    }
    let Some(found) = find_file(catalog, skill, file) else {
        return deny(unknown_script(catalog, skill, file));
    };
    let Declared::Script(script) = found.declared else {
        return deny(format!(
            "'{file}' is an asset of skill '{name}', not a script. Fetch it with get_asset."
        ));
    };
    // Reviewers look for what the server runs in scripts/.
    if file.segments().next() != Some("scripts") || file.segments().count() < 2 {
        return deny(format!(
            "Script '{file}' lies outside the scripts/ folder of '{}', so run_script does not run it. Fetch it with \
             get_asset; its author should move it to scripts/.",
            found.owner.identity
        ));
    }
    Ok((found, script))
}

fn unknown_script(catalog: &Catalog, skill: &Skill, file: &RelPath) -> String {
    let files = resolve::files(catalog, skill);
    let scripts = files.iter().filter(|declared| matches!(declared, Declared::Script(_)));
    let known: Vec<&str> = scripts.map(|script| script.file().as_str()).take(10).collect();
    let known = if known.is_empty() {
        "It declares no scripts.".to_owned()
    } else {
        format!("Its scripts: {}.", known.join(", "))
    };
    format!("Script '{:.200}' not found for skill '{}'. {known}", file.as_str(), skill.identity)
}

/// The extension, if it is allowed, exactly as it is written: `.SH` is not `.sh`.
fn allowed_extension(file: &RelPath, scripts: &ScriptSettings) -> Result<String, Denied> {
    let extension = Path::new(file.name()).extension().and_then(|extension| extension.to_str());
    let extension = extension.map(|extension| format!(".{extension}")).unwrap_or_default();
    if scripts.allowed_extensions.contains(&extension) {
        return Ok(extension);
    }
    let what = if extension.is_empty() {
        "no extension".to_owned()
    } else {
        format!("the extension {extension}")
    };
    let allowed = match scripts.allowed_extensions.as_slice() {
        [] => "none".to_owned(),
        some => some.join(", "),
    };
    deny(format!(
        "Script '{file}' has {what}, which this server does not run. Allowed: {allowed}. Fetch it with get_asset and run \
         it yourself, or ask the operator to change scripts.allowed_extensions."
    ))
}

fn script_bytes(
    snapshot: &Snapshot,
    found: &FoundFile<'_>,
    file: &RelPath,
) -> Result<Vec<u8>, Denied> {
    let gone = || {
        format!(
            "Script '{file}' is declared by '{}' but missing on disk. Tell the skill's author; go on without it.",
            found.owner.identity
        )
    };
    if found.presence == Presence::Missing {
        return deny(gone());
    }
    match read_skill_file(snapshot, found.owner, file, Links::Refuse, MAX_SCRIPT_BYTES) {
        Ok(bytes) => Ok(bytes),
        Err(ContentError::Missing) => deny(gone()),
        // The target of a link was not reviewed as a part of this skill.
        Err(ContentError::Refused(DiskError::Link(_))) => deny(format!(
            "Script '{file}' is a symbolic link or lies behind one, and run_script only runs files. Its author should put \
             the script itself there."
        )),
        Err(error) => deny(format!("Script '{file}' {error}, so it was not run.")),
    }
}

/// Whether a declared script is a link or behind one, so that it is never run.
pub(crate) fn is_behind_link(snapshot: &Snapshot, owner: &Skill, script: &RelPath) -> bool {
    let read = read_skill_file(snapshot, owner, script, Links::Refuse, MAX_SCRIPT_BYTES);
    matches!(read, Err(ContentError::Refused(DiskError::Link(_))))
}

/// A file of a skill's folder, read as its source allows, and again with `links` applied to the skill's own folder.
pub(super) fn read_skill_file(
    snapshot: &Snapshot,
    owner: &Skill,
    file: &RelPath,
    links: Links,
    limit: usize,
) -> Result<Vec<u8>, ContentError> {
    let bytes = snapshot.read(owner, file, limit)?;
    let folder = Root::open(Path::new(&snapshot.place(owner)), links);
    match folder.and_then(|folder| folder.read(file, limit)) {
        Ok(again) if again == bytes => Ok(bytes),
        Ok(_) => Err(ContentError::Changed),
        Err(DiskError::NotFound) => Err(ContentError::Missing),
        Err(error) => Err(ContentError::Refused(error)),
    }
}

/// Which tools of the working directory the run may use. Another script may have put a program there, which must not get
/// the network or the variables of this one.
fn project_tools<'a>(
    directory: Option<&'a WorkingDirectory>,
    sandbox: SandboxMode,
    network: bool,
    passed: &BTreeMap<String, String>,
) -> ProjectTools<'a> {
    let unconfined = sandbox == SandboxMode::Off;
    let refused = if unconfined {
        Some("nothing would hold it (scripts.sandbox is off)")
    } else if network {
        Some("the script has a network, and other scripts may write there")
    } else if !passed.is_empty() {
        Some("the script is given variables of yours, and other scripts may write there")
    } else {
        None
    };
    let folder = directory.and_then(WorkingDirectory::folder);
    ProjectTools { folder, refused, unconfined }
}

/// The variables that the script declares, the operator allows and the environment has; and the names of the others.
fn passed_variables(
    script: &ScriptDeclaration,
    scripts: &ScriptSettings,
) -> (BTreeMap<String, String>, Vec<String>) {
    let mut passed = BTreeMap::new();
    let mut withheld = Vec::new();
    for name in &script.environment {
        let allowed = scripts.environment.contains(name);
        match Environment::handed_on(name).filter(|_| allowed) {
            Some(value) => drop(passed.insert(name.clone(), value)),
            None => withheld.push(name.clone()),
        }
    }
    (passed, withheld)
}
