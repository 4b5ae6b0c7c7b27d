//! Claude Code's plugins: which are installed and enabled for this project, and the folders of their skills.
//!
//! Read from Claude Code's own records and never from a listing of its cache, where old versions stay for weeks.
//! A missing file is no finding; a broken one is, and counts as it was when it was last valid. Not here: reading the
//! skills, when to read the records again, and what else a plugin may hold.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};
use skills_core::{
    catalog::Origin,
    diagnostic::{Code, Finding, Position, escaped, is_invisible},
    relpath::{RelPath, RelPathError},
};

use super::{
    Links,
    agent_directories::{AgentDirectory, real},
    plugin_records::{PluginRecords, PluginSettings},
};
use crate::{
    config::{Environment, read_optional},
    paths::{is_file, is_folder, real_path},
};

/// The spellings of a bundle's file.
const SKILL_FILES: &[&str] = &["SKILL.md", "Skill.md", "skill.md"];

/// The plugins of this machine that concern this project.
#[derive(Debug, Default)]
pub struct Plugins {
    /// Plugins to serve, by id.
    pub enabled: Vec<Plugin>,
    /// Findings about the records, each with its file.
    pub diagnostics: Vec<(PathBuf, Finding)>,
    /// Ids of plugins that are installed but not enabled, for `doctor` to list.
    pub disabled: Vec<String>,
    /// Folders of the plugins in which a change may change the result.
    pub watched: Vec<PathBuf>,
    /// The last valid content of each file.
    pub(super) last: HashMap<PathBuf, Map<String, Value>>,
}

/// An installed and enabled plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// The prefix of its skills' names: `name:skill`.
    pub name: Arc<str>,
    /// `plugin@marketplace`, as in `enabledPlugins`.
    pub id: String,
    /// Its folder, which its links may not leave.
    pub root: PathBuf,
    /// The folders of its bundles, none inside another; each may be a bundle itself.
    pub skills: Vec<PathBuf>,
}

/// The plugins that Claude Code would load in the start directory.
pub fn installed(environment: &Environment) -> Plugins {
    PluginRecords::new(environment).read()
}

impl Plugin {
    /// Its folders of bundles, as sources.
    pub fn directories(self) -> impl Iterator<Item = AgentDirectory> {
        let Self { name, root, skills, .. } = self;
        skills.into_iter().enumerate().map(move |(number, path)| AgentDirectory {
            name: if number == 0 {
                format!("plugin-{name}")
            } else {
                format!("plugin-{name}-{}", number + 1)
            },
            path,
            boundary: root.clone(),
            origin: Origin::Plugin(Arc::clone(&name)),
            links: Links::Inside,
        })
    }
}

impl Plugins {
    /// Reads these records for a start directory.
    pub(super) fn read_records(&mut self, record: &Path, settings: &[PluginSettings], here: &Path) {
        let Some(written) = self.object(record) else { return };
        let Some(entries) = self.part(record, &written, "plugins") else { return };
        let enabled = self.enabled_in(settings);
        // By id, so that the order does not depend on the order of installation.
        for (id, installs) in entries.iter().collect::<BTreeMap<_, _>>() {
            let Some(install) = install_for(here, installs) else { continue };
            if !enabled.get(id).is_some_and(|enabled| *enabled) {
                self.disabled.push(id.clone());
                continue;
            }
            self.watched.extend(watched_folders(install));
            if let Some(plugin) = self.plugin(record, id, install) {
                self.enabled.push(plugin);
            }
        }
    }

    /// Which plugins the settings enable; files come highest first, and the first that mentions a plugin decides.
    fn enabled_in(&mut self, files: &[PluginSettings]) -> HashMap<String, bool> {
        let mut enabled = HashMap::new();
        let mut seen = Vec::new();
        for PluginSettings { path: file, project } in files {
            let leads_out = |project: &PathBuf| {
                real_path(file).is_some_and(|target| !target.starts_with(project))
            };
            if project.as_ref().is_some_and(leads_out) {
                let message = "is a symbolic link that leads out of the project";
                let hint = "put the file itself there, or set enabledPlugins in your own settings";
                self.found(file, Finding::whole(Code::LinkRefused, message).hint(hint));
                continue;
            }
            // Started in the home folder, the project's settings are the user's.
            let path = real(file);
            if seen.contains(&path) {
                continue;
            }
            seen.push(path);
            let settings = self.object(file).unwrap_or_default();
            let mentioned = self.part(file, &settings, "enabledPlugins");
            for (id, value) in mentioned.into_iter().flatten() {
                let is_enabled = match value {
                    Value::Bool(is_enabled) => *is_enabled,
                    // The long form of `true`: a list of version constraints.
                    Value::Array(_) => true,
                    Value::Null => continue,
                    Value::Number(_) | Value::String(_) | Value::Object(_) => {
                        let message =
                            format!("`enabledPlugins`: `{}` is not true or false", escaped(id));
                        self.found(file, Finding::whole(Code::FieldInvalid, message));
                        continue;
                    }
                };
                enabled.entry(id.clone()).or_insert(is_enabled);
            }
        }
        enabled
    }

    fn plugin(&mut self, record: &Path, id: &str, install: &Value) -> Option<Plugin> {
        let shown = escaped(id);
        let mut refuse = |code, message: String| {
            let hint = format!("install it anew: `claude plugin install {shown}`");
            let message = format!("plugin `{shown}`: {message}");
            self.found(record, Finding::whole(code, message).hint(hint));
        };
        let Some(path) = install.get("installPath").and_then(Value::as_str) else {
            refuse(Code::FieldMissing, "has no `installPath`".to_owned());
            return None;
        };
        let root = PathBuf::from(path);
        if !root.is_absolute() {
            let message = format!("`installPath` is not absolute: {}", escaped(path));
            refuse(Code::FieldInvalid, message);
            return None;
        }
        if !is_folder(&root) {
            let message = format!("there is no folder {}", escaped(path));
            refuse(Code::Unreadable, message);
            return None;
        }
        let file = root.join(".claude-plugin").join("plugin.json");
        let manifest = if self.stays_inside(&root, &file) { self.object(&file) } else { None };
        let manifest = manifest.unwrap_or_default();
        let name = self.name(&file, &manifest, id)?;
        let skills = self.skills(&root, &file, manifest.get("skills"));
        Some(Plugin { name, id: id.to_owned(), root, skills })
    }

    /// The manifest's name, else the part of the id before the `@`.
    fn name(&mut self, file: &Path, manifest: &Map<String, Value>, id: &str) -> Option<Arc<str>> {
        let declared = manifest.get("name").filter(|name| !name.is_null());
        if let Some(name) = declared.and_then(Value::as_str).filter(|name| is_usable(name)) {
            return Some(name.into());
        }
        let before = id.split('@').next().unwrap_or(id);
        if !is_usable(before) {
            let message = format!("plugin `{}` has no usable name; not served", escaped(id));
            self.found(file, Finding::whole(Code::NameUnusable, message));
            return None;
        }
        if declared.is_some() {
            let message = format!("`name` cannot stand before a skill's name; `{before}` is used");
            self.found(file, Finding::whole(Code::FieldInvalid, message));
        }
        Some(before.into())
    }

    /// Claude Code's rule: `skills/` and what the manifest adds; only where there is neither, the plugin's folder itself
    /// may be a bundle.
    fn skills(&mut self, root: &Path, file: &Path, declared: Option<&Value>) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        let own = root.join("skills");
        let has_own = is_folder(&own);
        if has_own && self.stays_inside(root, &own) {
            folders.push(own);
        }
        let declared = declared.filter(|declared| !declared.is_null());
        for item in declared.map(one_or_many).unwrap_or_default() {
            let Some(folder) = self.declared(root, file, item) else { continue };
            if folders.iter().any(|other| folder.starts_with(other)) {
                continue;
            }
            // Folders below it would be found twice.
            folders.retain(|other| !other.starts_with(&folder));
            folders.push(folder);
        }
        let is_bundle = || SKILL_FILES.iter().any(|name| is_file(&root.join(name)));
        if !has_own && declared.is_none() && is_bundle() {
            folders.push(root.to_path_buf());
        }
        folders
    }

    /// A folder that the manifest names.
    fn declared(&mut self, root: &Path, file: &Path, item: &Value) -> Option<PathBuf> {
        let Some(text) = item.as_str() else {
            let message = "`skills` is not a path or a list of paths";
            self.found(file, Finding::whole(Code::DeclarationInvalid, message));
            return None;
        };
        let shown = escaped(text);
        let folder = match text {
            "." | "./" => root.to_path_buf(),
            text => match RelPath::parse(text.trim_end_matches('/')) {
                Ok(path) => root.join(path.as_str()),
                Err(escape) => {
                    let message = format!("`skills`: `{shown}` is left out: {escape}");
                    let hint = "name a folder of the plugin, such as `./more-skills`";
                    self.found(file, Finding::whole(code_of(escape), message).hint(hint));
                    return None;
                }
            },
        };
        if !is_folder(&folder) {
            let message = format!("`skills`: there is no folder `{shown}` in the plugin");
            self.found(file, Finding::whole(Code::FileMissing, message));
            return None;
        }
        self.stays_inside(root, &folder).then_some(folder)
    }

    /// Whether links on the way to a path of the plugin stay in the plugin. `source/disk` checks again when it reads.
    fn stays_inside(&mut self, root: &Path, path: &Path) -> bool {
        let inside = real_path(path).is_none_or(|path| path.starts_with(real(root)));
        if !inside {
            let message = "is a symbolic link that leads out of the plugin";
            self.found(path, Finding::whole(Code::LinkRefused, message));
        }
        inside
    }

    /// The JSON object in a file; `None` where there is no file. A file that is invalid, or is being written right now,
    /// counts as it was when it was last valid, with a finding.
    fn object(&mut self, file: &Path) -> Option<Map<String, Value>> {
        let finding = match read_optional(file) {
            Ok(None) => {
                self.last.remove(file);
                return None;
            }
            Ok(Some(text)) => {
                let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
                // An empty file is being written; it is no finding.
                if text.trim().is_empty() {
                    return self.last.get(file).cloned();
                }
                match serde_json::from_str(text) {
                    Ok(Value::Object(object)) => {
                        self.last.insert(file.to_path_buf(), object.clone());
                        return Some(object);
                    }
                    Ok(_) => Finding::whole(Code::Unreadable, "is not a JSON object"),
                    Err(error) => malformed(&error),
                }
            }
            Err(error) => Finding::whole(Code::Unreadable, format!("cannot be read: {error}")),
        };
        let last = self.last.get(file).cloned();
        let kept = "what it said before still counts; fix the file to change that";
        self.found(file, if last.is_some() { finding.hint(kept) } else { finding });
        last
    }

    /// A part of a file that must be an object where it is there.
    fn part<'a>(
        &mut self,
        file: &Path,
        object: &'a Map<String, Value>,
        key: &str,
    ) -> Option<&'a Map<String, Value>> {
        match object.get(key)? {
            Value::Null => None,
            Value::Object(part) => Some(part),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                let message = format!("`{key}` is not an object");
                self.found(file, Finding::whole(Code::FieldInvalid, message));
                None
            }
        }
    }

    fn found(&mut self, file: &Path, finding: Finding) {
        self.diagnostics.push((file.to_path_buf(), finding));
    }
}

/// Of a plugin's installs (version 1 of the file has one, version 2 a list), the one that applies to the start directory:
/// that of the nearest project around it, else the user's. `None` where it is installed for other projects only.
fn install_for<'a>(here: &Path, installs: &'a Value) -> Option<&'a Value> {
    let mut best: Option<((usize, bool), &Value)> = None;
    for install in one_or_many(installs) {
        let Some(rank) = rank(here, install) else { continue };
        if best.is_none_or(|(best, _)| rank > best) {
            best = Some((rank, install));
        }
    }
    best.map(|(_, install)| install)
}

/// The folders to watch for a plugin: its own, or the nearest existing one above it, and that of its manifest.
fn watched_folders(install: &Value) -> Vec<PathBuf> {
    let root = install.get("installPath").and_then(Value::as_str).map(PathBuf::from);
    let Some(root) = root.filter(|root| root.is_absolute()) else { return Vec::new() };
    let nearest = root.ancestors().find(|folder| is_folder(folder)).map(Path::to_path_buf);
    let manifest = root.join(".claude-plugin");
    nearest.into_iter().chain(is_folder(&manifest).then_some(manifest)).collect()
}

/// The items of a list; anything else is a list of itself.
fn one_or_many(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// How near an install is: not at all, the user's, or by the depth of its project; a local one before the team's.
fn rank(here: &Path, install: &Value) -> Option<(usize, bool)> {
    let scope = install.get("scope").and_then(Value::as_str);
    if !matches!(scope, Some("project" | "local")) {
        return Some((0, false));
    }
    let project = Path::new(install.get("projectPath")?.as_str()?);
    // A relative path would be resolved against the start directory.
    let project = if project.is_absolute() { real(project) } else { return None };
    here.starts_with(&project).then(|| (project.components().count(), scope == Some("local")))
}

/// Whether a name can stand before a colon and a skill's name.
fn is_usable(name: &str) -> bool {
    let odd = |c: char| c == ':' || c.is_control() || is_invisible(c);
    !name.is_empty() && name.trim() == name && !name.contains(odd)
}

fn code_of(escape: RelPathError) -> Code {
    match escape {
        RelPathError::Empty | RelPathError::EmptySegment | RelPathError::Control => {
            Code::DeclarationInvalid
        }
        RelPathError::Absolute
        | RelPathError::Parent
        | RelPathError::Home
        | RelPathError::Scheme
        | RelPathError::Backslash => Code::DeclarationEscapes,
    }
}

fn malformed(error: &serde_json::Error) -> Finding {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).max(1);
    let at = Position { line: number(error.line()), column: number(error.column()) };
    // A finding prints its position itself.
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&place).unwrap_or(&message);
    Finding::new(Code::Unreadable, at, format!("is not JSON: {message}"))
}

#[cfg(test)]
mod tests;
