//! The ladder of permissions, in the order of SCRIPT-2: each rung its own refusal, and what to do instead.
//!
//! Nothing happens here but looking: [`climb`] gives a [`Plan`], which says all that would be allowed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use sha2::{Digest as _, Sha256};
use skills_core::{
    catalog::{Catalog, Kind, Presence, Skill},
    diagnostic::escaped,
    document::{Execution, ScriptDeclaration},
    relpath::RelPath,
    resolve::{self, Declared, FoundFile, find_file},
};

use super::{
    arguments,
    ground::{Folder, Ground},
    runner::{Project, Runner},
};
use crate::{
    config::{Environment, Origin, SandboxMode, Scripts},
    source::{DiskError, Links, Root},
    store::{ContentError, Snapshot, hex},
};

/// No script needs to be larger.
const MAX_SCRIPT_BYTES: usize = 4 * 1024 * 1024;

/// What somebody wants to run.
#[derive(Debug)]
pub struct Request<'a> {
    /// The script, as the skill declares it.
    pub file: &'a str,
    /// Arguments by name.
    pub arguments: &'a BTreeMap<String, String>,
    /// Where to run it.
    pub folder: Option<&'a str>,
}

/// Whether a script has a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkAccess {
    /// It has one.
    Open,
    /// It declares none, and has none.
    None,
    /// It declares one, and the operator does not allow it.
    Withheld,
}

impl NetworkAccess {
    fn of(script: &ScriptDeclaration, scripts: &Scripts) -> Self {
        match (script.network, scripts.network) {
            // Without a sandbox nothing keeps a script from the network.
            _ if scripts.sandbox == SandboxMode::Off => Self::Open,
            (true, true) => Self::Open,
            (true, false) => Self::Withheld,
            (false, _) => Self::None,
        }
    }
}

/// A run that every rung allows.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Whose script it is.
    pub owner: &'a Skill,
    /// Below the owner's resource folder.
    pub file: RelPath,
    /// What runs it.
    pub runner: Runner,
    /// Whether what the runner keeps around it may be read: not where content chose it.
    pub(super) opens_toolchain: bool,
    /// `SKILL_ARG_*`, and what the operator hands on.
    pub variables: BTreeMap<String, String>,
    /// What it asked for and is not given.
    pub withheld: Vec<String>,
    /// Where it works.
    pub folder: Folder,
    /// Whether it has a network.
    pub network: NetworkAccess,
    /// Whether it comes from a directory that the operator named, and not from a repository or a plugin.
    pub is_operators: bool,
    /// How much of a sandbox there must be.
    pub sandbox: SandboxMode,
    /// It is asked to end after this long.
    pub timeout: Duration,
    /// And killed after this long more.
    pub grace: Duration,
    /// Of each stream.
    pub max_output_bytes: usize,
    /// The very bytes that will run.
    pub(super) bytes: Vec<u8>,
}

impl Plan<'_> {
    /// SHA-256 of the very bytes that will run, in hexadecimal.
    pub fn digest(&self) -> String {
        hex(&Sha256::digest(&self.bytes))
    }
}

/// A run that a rung refuses.
#[derive(Debug, PartialEq, Eq)]
pub struct Denied {
    /// What was asked, what is true, what to do instead.
    pub message: String,
    /// Who is meant to run the script, where that is known.
    pub execution: Execution,
}

fn denied<T>(message: String) -> Result<T, Denied> {
    Err(Denied { message, execution: Execution::Server })
}

/// The first rung: whether this server runs anything.
pub fn enabled(snapshot: &Snapshot) -> Result<(), Denied> {
    if snapshot.settings().scripts.enabled {
        return Ok(());
    }
    let settled = &snapshot.settled;
    let enabled = settled.values.iter().find(|(key, ..)| key.name == "scripts.enabled");
    let why = match (enabled.map(|(.., origin)| origin), &settled.scripts_off) {
        (Some(Origin::Invalid(_)), Some(reason)) => format!(
            "{}; an invalid value under `scripts` turns them off until it is fixed",
            escaped(reason)
        ),
        (Some(Origin::Pinned(_)), _) => {
            "scripts.enabled stays false until the operator agrees to what the content asks for (`skills-mcp trust`)"
                .to_owned()
        }
        (Some(origin), _) => format!("scripts.enabled was set to false by {origin}"),
        (None, _) => "scripts.enabled is false".to_owned(),
    };
    denied(format!(
        "Scripts are disabled on this server ({why}). Fetch the script with get_asset and run it yourself if you may."
    ))
}

/// All rungs behind the skill that was found.
pub fn climb<'a>(
    snapshot: &'a Snapshot,
    ground: &Ground,
    skill: &'a Skill,
    request: &Request<'_>,
) -> Result<Plan<'a>, Denied> {
    let scripts = &snapshot.settings().scripts;
    let file = RelPath::parse(request.file).or_else(|escape| {
        denied(format!(
            "Path traversal refused for '{:.200}': {escape}. Use a script that get_skill returned.",
            request.file
        ))
    })?;
    let (found, script) = declared(&snapshot.catalog, skill, &file)?;
    if script.execution == Execution::Claude {
        return Err(Denied {
            message: format!(
                "Script '{file}' is declared with execution: claude, so run_script does not run it. Fetch it with \
                 get_asset and run it yourself with bash."
            ),
            execution: Execution::Claude,
        });
    }
    let arguments = arguments::variables(&script.arguments, request.arguments)
        .or_else(|wrong| denied(format!("Script '{file}' was not run: {wrong}.")))?;
    let extension = extension(&file, scripts)?;
    let bytes = bytes(snapshot, &found, &file)?;
    let Some(command) = scripts.runners.get(&extension) else {
        return denied(format!(
            "There is no runner for {extension} scripts. Ask the operator to set scripts.runners, or fetch '{file}' with \
             get_asset and run it yourself."
        ));
    };
    let network = NetworkAccess::of(script, scripts);
    let (handed, withheld) = handed_on(script, scripts);
    let folder = ground.folder(request.folder, &scripts.roots, &sources(snapshot));
    let is_online = network == NetworkAccess::Open;
    let project = project(folder.as_ref().ok(), scripts.sandbox, is_online, &handed);
    let writable = ground.writable(&scripts.roots);
    let runner = ground
        .programs
        .beyond(&writable)
        .runner(&extension, command, project)
        .or_else(|missing| denied(format!("Script '{file}' was not run: {missing}.")))?;
    let folder =
        folder.or_else(|wrong| denied(format!("Script '{file}' was not run: {wrong}.")))?;
    Ok(Plan {
        owner: found.owner,
        file,
        runner,
        opens_toolchain: !snapshot.settled.named_by_content.contains(&extension),
        variables: handed.into_iter().chain(arguments).collect(),
        withheld,
        folder,
        network,
        is_operators: snapshot.is_in_named_directory(found.owner),
        sandbox: scripts.sandbox,
        timeout: Duration::from_secs(scripts.timeout_seconds),
        grace: Duration::from_secs(scripts.grace_seconds),
        max_output_bytes: scripts.max_output_bytes,
        bytes,
    })
}

/// The script this skill, or one it inherits from, declares under this name.
fn declared<'a>(
    catalog: &'a Catalog,
    skill: &'a Skill,
    file: &RelPath,
) -> Result<(FoundFile<'a>, &'a ScriptDeclaration), Denied> {
    let name = &skill.identity;
    if skill.kind == Kind::Bundle {
        return denied(format!(
            "'{name}' is a bundle, and bundles declare no scripts for run_script. Fetch '{file}' with get_asset and run \
             it yourself."
        ));
    }
    let Some(found) = find_file(catalog, skill, file) else {
        return denied(unknown(catalog, skill, file));
    };
    let Declared::Script(script) = found.declared else {
        return denied(format!(
            "'{file}' is an asset of skill '{name}', not a script. Fetch it with get_asset."
        ));
    };
    // What the server runs lies where reviewers look for it.
    if file.segments().next() != Some("scripts") || file.segments().count() < 2 {
        return denied(format!(
            "Script '{file}' lies outside the scripts/ folder of '{}', so run_script does not run it. Fetch it with \
             get_asset; its author should move it to scripts/.",
            found.owner.identity
        ));
    }
    Ok((found, script))
}

fn unknown(catalog: &Catalog, skill: &Skill, file: &RelPath) -> String {
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

/// `.sh`, where it is allowed. Exactly as it is written: `.SH` is something else.
fn extension(file: &RelPath, scripts: &Scripts) -> Result<String, Denied> {
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
    denied(format!(
        "Script '{file}' has {what}, which this server does not run. Allowed: {allowed}. Fetch it with get_asset and run \
         it yourself, or ask the operator to change scripts.allowed_extensions."
    ))
}

/// The script's bytes, through the one door.
fn bytes(snapshot: &Snapshot, found: &FoundFile<'_>, file: &RelPath) -> Result<Vec<u8>, Denied> {
    let gone = || {
        format!(
            "Script '{file}' is declared by '{}' but missing on disk. Tell the skill's author; go on without it.",
            found.owner.identity
        )
    };
    if found.presence == Presence::Missing {
        return denied(gone());
    }
    match read(snapshot, found.owner, file, Links::Refuse, MAX_SCRIPT_BYTES) {
        Ok(bytes) => Ok(bytes),
        Err(ContentError::Missing) => denied(gone()),
        // A link may lead to what nobody reviewed as a part of this skill.
        Err(ContentError::Refused(DiskError::Link(_))) => denied(format!(
            "Script '{file}' is a symbolic link or lies behind one, and run_script only runs files. Its author should put \
             the script itself there."
        )),
        Err(error) => denied(format!("Script '{file}' {error}, so it was not run.")),
    }
}

/// A file of a skill's folder: as its source allows, and with links below the skill's own folder held to this besides.
pub(super) fn read(
    snapshot: &Snapshot,
    owner: &Skill,
    file: &RelPath,
    links: Links,
    limit: usize,
) -> Result<Vec<u8>, ContentError> {
    let bytes = snapshot.read(owner, file, limit)?;
    let held = Root::open(Path::new(&snapshot.place(owner)), links);
    match held.and_then(|folder| folder.read(file, limit)) {
        Ok(again) if again == bytes => Ok(bytes),
        Ok(_) => Err(ContentError::Changed),
        Err(DiskError::NotFound) => Err(ContentError::Missing),
        Err(error) => Err(ContentError::Refused(error)),
    }
}

/// What may be taken from the folder a script works in. Another script may have put a program there, which must not get what
/// only this one has.
fn project<'a>(
    folder: Option<&'a Folder>,
    sandbox: SandboxMode,
    network: bool,
    handed: &BTreeMap<String, String>,
) -> Project<'a> {
    let unconfined = sandbox == SandboxMode::Off;
    let refused = if unconfined {
        Some("nothing would hold it (scripts.sandbox is off)")
    } else if network {
        Some("the script has a network, and other scripts may write there")
    } else if !handed.is_empty() {
        Some("the script is given variables of yours, and other scripts may write there")
    } else {
        None
    };
    let folder = match folder {
        Some(Folder::Allowed(folder)) => Some(folder.as_path()),
        Some(Folder::Private(_)) | None => None,
    };
    Project { folder, refused, unconfined }
}

/// Where all skills lie that are served, whether there are any now or not.
fn sources(snapshot: &Snapshot) -> Vec<PathBuf> {
    (0..snapshot.catalog.sources().len()).map(|number| snapshot.source_path(number)).collect()
}

/// What the script asks for, the operator allows and the machine has; and what it asks for in vain.
fn handed_on(
    script: &ScriptDeclaration,
    scripts: &Scripts,
) -> (BTreeMap<String, String>, Vec<String>) {
    let mut handed = BTreeMap::new();
    let mut withheld = Vec::new();
    for name in &script.environment {
        let allowed = scripts.environment.contains(name);
        match Environment::handed_on(name).filter(|_| allowed) {
            Some(value) => drop(handed.insert(name.clone(), value)),
            None => withheld.push(name.clone()),
        }
    }
    (handed, withheld)
}
