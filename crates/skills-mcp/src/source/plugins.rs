//! Claude Code's plugins: which are installed and enabled for this project, and where their skills lie.
//!
//! Taken from Claude Code's own records and never from a listing of its cache, where old versions stay for weeks.
//! What is missing is silent, what is broken costs itself and a finding; a record that was good before counts as it was.
//! Not here: reading the skills, when to read the records, and what else a plugin may hold.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};
use skills_core::{
    catalog::Origin,
    diagnostic::{Code, Finding, Position, escaped, is_invisible},
    relpath::{Escape, RelPath},
};

use super::{
    Links,
    clients::{AgentDirectory, real},
    plugin_records::PluginRecords,
};
use crate::{
    config::{Environment, read_optional},
    paths::{is_file, is_folder, real_path},
};

/// The spellings of a bundle's file.
const SKILL_FILES: &[&str] = &["SKILL.md", "Skill.md", "skill.md"];

/// The plugins of this machine, as far as they concern this project.
#[derive(Debug, Default)]
pub struct Plugins {
    /// Those to serve, by id.
    pub enabled: Vec<Plugin>,
    /// What is wrong with their records, and in which file.
    pub diagnostics: Vec<(PathBuf, Finding)>,
    /// Ids of those installed but not enabled, which people take for a fault of ours.
    pub disabled: Vec<String>,
    /// Folders of the plugins in which a change may change all this.
    pub watched: Vec<PathBuf>,
    /// What each file said when it could be read.
    pub(super) last: HashMap<PathBuf, Map<String, Value>>,
}

/// An installed and enabled plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// What stands before its skills' names: `name:skill`.
    pub name: Arc<str>,
    /// `plugin@marketplace`, as in `enabledPlugins`.
    pub id: String,
    /// Where it is; its links may not leave this folder.
    pub root: PathBuf,
    /// The folders that may hold bundles, none inside another; each may be a bundle itself.
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
    /// Takes what these records say about a start directory.
    pub(super) fn take(&mut self, record: &Path, settings: &[PathBuf], here: &Path) {
        let Some(written) = self.object(record) else { return };
        let Some(entries) = self.part(record, &written, "plugins") else { return };
        let enabled = self.enabled_in(settings);
        // By id, so that the order never depends on when something was installed.
        for (id, installs) in entries.iter().collect::<BTreeMap<_, _>>() {
            let Some(install) = install_for(here, installs) else { continue };
            if !enabled.get(id).is_some_and(|enabled| *enabled) {
                self.disabled.push(id.clone());
                continue;
            }
            self.watched.extend(places(install));
            if let Some(plugin) = self.plugin(record, id, install) {
                self.enabled.push(plugin);
            }
        }
    }

    /// What the settings say, highest first: the first file that mentions a plugin decides about it.
    fn enabled_in(&mut self, files: &[PathBuf]) -> HashMap<String, bool> {
        let mut enabled = HashMap::new();
        let mut seen = Vec::new();
        for file in files {
            // Started in the home folder, the project's settings are the user's.
            let path = real(file);
            if seen.contains(&path) {
                continue;
            }
            seen.push(path);
            let settings = self.object(file).unwrap_or_default();
            let mentioned = self.part(file, &settings, "enabledPlugins");
            for (id, value) in mentioned.into_iter().flatten() {
                let says = match value {
                    Value::Bool(says) => *says,
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
                enabled.entry(id.clone()).or_insert(says);
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

    /// The manifest's name, else what stands before the `@` of the id.
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

    /// Claude Code's rule: `skills/` and what the manifest adds; only where there is neither, a bundle that the
    /// plugin's folder itself is.
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
            // Each folder below it would be scanned twice.
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

    /// Whether links on the way to a path of the plugin stay in the plugin. Opening a file checks again.
    fn stays_inside(&mut self, root: &Path, path: &Path) -> bool {
        let inside = real_path(path).is_none_or(|path| path.starts_with(real(root)));
        if !inside {
            let message = "is a symbolic link that leads out of the plugin";
            self.found(path, Finding::whole(Code::LinkRefused, message));
        }
        inside
    }

    /// The object in a file; `None` where there is no file. A file that holds something else, or is just being written,
    /// counts as it was when it could be read; what is wrong with it is a finding.
    fn object(&mut self, file: &Path) -> Option<Map<String, Value>> {
        let finding = match read_optional(file) {
            Ok(None) => {
                self.last.remove(file);
                return None;
            }
            Ok(Some(text)) => {
                let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
                // An empty file says nothing, rather than something wrong.
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

/// Of a plugin's installs (version 1 of the file has one, version 2 a list), the one that holds here: that of the
/// nearest project around us, else the user's. `None` where it is installed for other projects only.
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

/// Where a plugin's folder and its manifest may change; where the folder is not there, the nearest one above it that is.
fn places(install: &Value) -> Vec<PathBuf> {
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

/// How near an install is: not at all, everybody's, or by the depth of its project; one's own before the team's.
fn rank(here: &Path, install: &Value) -> Option<(usize, bool)> {
    let scope = install.get("scope").and_then(Value::as_str);
    if !matches!(scope, Some("project" | "local")) {
        return Some((0, false));
    }
    let project = Path::new(install.get("projectPath")?.as_str()?);
    // A relative path would be resolved against wherever we were started.
    let project = if project.is_absolute() { real(project) } else { return None };
    here.starts_with(&project).then(|| (project.components().count(), scope == Some("local")))
}

/// Whether a name can stand before a colon and a skill's name.
fn is_usable(name: &str) -> bool {
    let odd = |c: char| c == ':' || c.is_control() || is_invisible(c);
    !name.is_empty() && name.trim() == name && !name.contains(odd)
}

fn code_of(escape: Escape) -> Code {
    match escape {
        Escape::Empty | Escape::Hollow | Escape::Control => Code::DeclarationInvalid,
        Escape::Absolute | Escape::Parent | Escape::Home | Escape::Scheme | Escape::Backslash => {
            Code::DeclarationEscapes
        }
    }
}

fn malformed(error: &serde_json::Error) -> Finding {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).max(1);
    let at = Position { line: number(error.line()), column: number(error.column()) };
    // The position stands before the message already.
    let said = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let said = said.strip_suffix(&place).unwrap_or(&said);
    Finding::new(Code::Unreadable, at, format!("is not JSON: {said}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use serde_json::json;
    use skills_testkit::Home;

    use super::*;

    const RECORD: &str = "user/.claude/plugins/installed_plugins.json";
    const SETTINGS: &str = "user/.claude/settings.json";

    /// A home `user`, a project `user/project` in it, and the administrator's file beside them.
    fn read(home: &Home) -> Plugins {
        let environment = Environment {
            home: Some(home.path().join("user")),
            directory: home.path().join("user/project"),
            ..Environment::default()
        };
        PluginRecords::managed_by(&environment, &home.path().join("managed.json")).read()
    }

    fn write(home: &Home, file: &str, value: &Value) {
        home.write(file, value.to_string());
    }

    fn cache(home: &Home, plugin: &str) -> PathBuf {
        home.path().join("cache").join(plugin)
    }

    /// Installs and enables plugins for the user, as version 2 of the file has it.
    fn install(home: &Home, plugins: &[&str]) {
        home.write("user/project/x", "");
        let installs: Map<String, Value> = plugins
            .iter()
            .map(|plugin| {
                let install = json!([{"scope": "user", "installPath": cache(home, plugin)}]);
                (format!("{plugin}@market"), install)
            })
            .collect();
        let enabled: Map<String, Value> =
            installs.keys().map(|id| (id.clone(), Value::Bool(true))).collect();
        write(home, RECORD, &json!({"version": 2, "plugins": installs}));
        write(home, SETTINGS, &json!({"enabledPlugins": enabled}));
    }

    fn skill(home: &Home, path: &str) {
        home.write(&format!("cache/{path}/SKILL.md"), "---\ndescription: x\n---\n");
    }

    /// Each enabled plugin's name and folders, from the cache on.
    fn served(home: &Home, plugins: &Plugins) -> Vec<(String, Vec<String>)> {
        let below = |path: &PathBuf| {
            path.strip_prefix(home.path().join("cache")).unwrap().display().to_string()
        };
        let enabled = plugins.enabled.iter();
        enabled
            .map(|plugin| (plugin.name.to_string(), plugin.skills.iter().map(below).collect()))
            .collect()
    }

    fn one(name: &str, skills: &[&str]) -> Vec<(String, Vec<String>)> {
        vec![(name.to_owned(), skills.iter().map(|skill| (*skill).to_owned()).collect())]
    }

    /// `file:line: code: message`, the file from the home on.
    fn findings(home: &Home, plugins: &Plugins) -> Vec<String> {
        let shown = |(file, finding): &(PathBuf, Finding)| {
            let file = file.strip_prefix(home.path()).unwrap().display();
            format!("{file}:{}: {}: {}", finding.at.line, finding.code.name(), finding.message)
                .replace(&home.path().display().to_string(), "")
        };
        plugins.diagnostics.iter().map(shown).collect()
    }

    #[test]
    fn nothing_there_is_nothing_said() {
        let home = Home::new();
        let plugins = read(&home);
        assert!(plugins.enabled.is_empty() && plugins.disabled.is_empty());
        assert!(plugins.diagnostics.is_empty());
        assert!(installed(&Environment::default()).diagnostics.is_empty());
    }

    #[test]
    fn version_1_has_an_object_where_version_2_has_a_list() {
        let home = Home::new();
        skill(&home, "pdf/skills/fill");
        skill(&home, "old/skills/x");
        install(&home, &["pdf"]);
        for installs in [
            json!({"version": 1, "plugins": {"pdf@market": {"installPath": cache(&home, "pdf")}}}),
            json!({"version": 2, "plugins": {"pdf@market": [{"scope": "user", "installPath": cache(&home, "pdf")}]}}),
        ] {
            write(&home, RECORD, &installs);
            let plugins = read(&home);
            assert_eq!(served(&home, &plugins), one("pdf", &["pdf/skills"]));
            let [plugin] = plugins.enabled.as_slice() else { panic!("{plugins:?}") };
            assert_eq!((plugin.id.as_str(), &plugin.root), ("pdf@market", &cache(&home, "pdf")));
            assert!(plugins.diagnostics.is_empty() && plugins.disabled.is_empty());
        }
    }

    #[test]
    fn the_highest_settings_that_mention_a_plugin_decide() {
        let home = Home::new();
        skill(&home, "pdf/skills/fill");
        install(&home, &["pdf"]);
        let enabled = |home: &Home| {
            let plugins = read(home);
            assert!(plugins.diagnostics.is_empty(), "{plugins:?}");
            assert_eq!(plugins.enabled.len() + plugins.disabled.len(), 1);
            plugins.disabled.is_empty()
        };
        // From the lowest to the highest; each says the contrary of the one below it.
        let mut below = false;
        for file in [
            SETTINGS,
            "user/project/.claude/settings.json",
            "user/project/.claude/settings.local.json",
            "managed.json",
        ] {
            write(&home, file, &json!({"enabledPlugins": {"pdf@market": false}}));
            assert!(!enabled(&home), "{file}");
            write(&home, file, &json!({"enabledPlugins": {"pdf@market": ["^1.0"]}}));
            assert!(enabled(&home), "{file}");
            write(&home, file, &json!({"enabledPlugins": {"other@market": false}, "model": "x"}));
            assert_eq!(enabled(&home), below, "{file}");
            below = !below;
            write(&home, file, &json!({"enabledPlugins": {"pdf@market": below}}));
        }
        assert_eq!(read(&home).disabled, ["pdf@market"]);
    }

    #[test]
    fn installed_and_mentioned_nowhere_is_not_enabled() {
        let home = Home::new();
        skill(&home, "pdf/skills/fill");
        install(&home, &["pdf"]);
        for settings in [json!({}), json!({"enabledPlugins": null})] {
            write(&home, SETTINGS, &settings);
            let plugins = read(&home);
            assert!(plugins.enabled.is_empty() && plugins.diagnostics.is_empty());
            assert_eq!(plugins.disabled, ["pdf@market"]);
        }
    }

    #[test]
    fn a_projects_install_counts_in_that_project_only_and_before_the_users() {
        let home = Home::new();
        for version in ["user", "team", "mine", "above", "other"] {
            skill(&home, &format!("{version}/skills/x"));
        }
        install(&home, &["pdf"]);
        let entry = |scope: &str, project: &str, path: &str| {
            let project = home.path().join(project);
            json!({"scope": scope, "projectPath": project, "installPath": cache(&home, path)})
        };
        let everybodys = json!({"scope": "user", "installPath": cache(&home, "user")});
        let chosen = |installs: Value| {
            write(&home, RECORD, &json!({"version": 2, "plugins": {"pdf@market": installs}}));
            let plugins = read(&home);
            assert!(plugins.disabled.is_empty() && plugins.diagnostics.is_empty());
            served(&home, &plugins)
        };
        let other = entry("project", "user/wor", "other");
        let above = entry("project", "user", "above");
        let team = entry("project", "user/project", "team");
        let mine = entry("local", "user/project", "mine");
        assert_eq!(chosen(json!([other, everybodys])), one("pdf", &["user/skills"]));
        assert_eq!(chosen(json!([above, everybodys])), one("pdf", &["above/skills"]));
        assert_eq!(chosen(json!([everybodys, above, team])), one("pdf", &["team/skills"]));
        assert_eq!(chosen(json!([team, mine, above])), one("pdf", &["mine/skills"]));
        assert!(chosen(json!([other])).is_empty());
        let lost = json!({"scope": "project", "installPath": cache(&home, "other")});
        let relative = json!({"scope": "project", "projectPath": ".", "installPath": "/"});
        assert!(chosen(json!([lost, relative])).is_empty());
    }

    // SOURCE-3
    #[test]
    fn the_cache_is_never_searched() {
        let home = Home::new();
        for version in ["1.0", "2.0"] {
            home.write(
                &format!("user/.claude/plugins/cache/market/x/{version}/skills/a/SKILL.md"),
                "x",
            );
        }
        install(&home, &[]);
        assert!(read(&home).enabled.is_empty());
    }

    #[test]
    fn the_manifest_names_the_plugin_and_adds_folders() {
        let home = Home::new();
        skill(&home, "pdf/skills/fill");
        skill(&home, "pdf/more/sign");
        skill(&home, "pdf/deep/er/merge");
        install(&home, &["pdf"]);
        let manifest = |value: &Value| write(&home, "cache/pdf/.claude-plugin/plugin.json", value);
        manifest(&json!({"name": "paper", "skills": "./more/"}));
        assert_eq!(served(&home, &read(&home)), one("paper", &["pdf/skills", "pdf/more"]));
        // No folder is scanned twice.
        manifest(&json!({"skills": ["./skills/fill", "deep/er", "./deep", "more", "./more"]}));
        assert_eq!(
            served(&home, &read(&home)),
            one("pdf", &["pdf/skills", "pdf/deep", "pdf/more"])
        );
        manifest(&json!({"skills": ["./"]}));
        assert_eq!(served(&home, &read(&home)), one("pdf", &["pdf"]));
    }

    #[test]
    fn a_plugin_may_be_one_bundle_where_it_has_no_folder_of_them() {
        let home = Home::new();
        skill(&home, "lone");
        skill(&home, "both");
        skill(&home, "both/skills/x");
        home.write("cache/none/README.md", "x");
        install(&home, &["lone", "both", "none"]);
        let plugins = read(&home);
        assert_eq!(
            served(&home, &plugins),
            [one("both", &["both/skills"]), one("lone", &["lone"]), one("none", &[])].concat()
        );
        assert!(plugins.diagnostics.is_empty());
    }

    #[test]
    fn a_folder_that_the_manifest_names_outside_the_plugin_is_refused() {
        let home = Home::new();
        skill(&home, "pdf/good/x");
        skill(&home, "secret/x");
        install(&home, &["pdf"]);
        let manifest = "cache/pdf/.claude-plugin/plugin.json";
        for (declared, code, why) in [
            ("../secret", "escapes", "the path contains '..'"),
            ("./good/../../secret", "escapes", "the path contains '..'"),
            ("/etc", "escapes", "the path is absolute"),
            ("C:\\x", "escapes", "the path is absolute"),
            ("~/x", "escapes", "the path starts with '~'"),
            ("/", "invalid", "the path is empty"),
            ("", "invalid", "the path is empty"),
            ("a//b", "invalid", "the path contains an empty or '.' segment"),
        ] {
            write(&home, manifest, &json!({"skills": [declared, "good"]}));
            let plugins = read(&home);
            assert_eq!(served(&home, &plugins), one("pdf", &["pdf/good"]), "{declared}");
            let said = format!("declaration-{code}: `skills`: `{declared}` is left out: {why}");
            assert_eq!(findings(&home, &plugins), [format!("{manifest}:0: {said}")]);
        }
        write(&home, manifest, &json!({"skills": ["gone", 7]}));
        assert_eq!(
            findings(&home, &read(&home)),
            [
                format!(
                    "{manifest}:0: file-missing: `skills`: there is no folder `gone` in the plugin"
                ),
                format!(
                    "{manifest}:0: declaration-invalid: `skills` is not a path or a list of paths"
                ),
            ]
        );
    }

    #[test]
    fn a_link_out_of_the_plugin_is_refused_and_one_inside_is_not() {
        let home = Home::new();
        skill(&home, "pdf/good/x");
        skill(&home, "secret/x");
        home.write("cache/secret/plugin.json", r#"{"name": "stolen"}"#);
        home.write("cache/linked/x", "");
        install(&home, &["pdf", "linked"]);
        let manifest = json!({"skills": ["link", "alias"]});
        write(&home, "cache/pdf/.claude-plugin/plugin.json", &manifest);
        for (target, link) in [
            ("../secret", "pdf/link"),
            ("good", "pdf/alias"),
            ("../secret", "linked/skills"),
            ("../secret", "linked/.claude-plugin"),
        ] {
            symlink(target, cache(&home, link)).unwrap();
        }
        let plugins = read(&home);
        assert_eq!(
            served(&home, &plugins),
            [one("linked", &[]), one("pdf", &["pdf/alias"])].concat()
        );
        assert_eq!(
            findings(&home, &plugins),
            ["linked/.claude-plugin/plugin.json", "linked/skills", "pdf/link"].map(|file| format!(
                "cache/{file}:0: link-refused: is a symbolic link that leads out of the plugin"
            ))
        );
    }

    #[test]
    fn broken_files_cost_themselves_and_a_finding_with_its_line() {
        let home = Home::new();
        skill(&home, "pdf/skills/x");
        install(&home, &["pdf"]);
        home.write("managed.json", " \n");
        home.write("user/project/.claude/settings.local.json", "{\n  \"enabledPlugins\": {,\n}");
        home.write("user/project/.claude/settings.json", b"\xff\xfe");
        home.write("cache/pdf/.claude-plugin/plugin.json", "[1]");
        let plugins = read(&home);
        assert_eq!(served(&home, &plugins), one("pdf", &["pdf/skills"]));
        assert_eq!(
            findings(&home, &plugins),
            [
                "user/project/.claude/settings.local.json:2: unreadable: is not JSON: key must be a string",
                "user/project/.claude/settings.json:0: unreadable: cannot be read: stream did not contain valid UTF-8",
                "cache/pdf/.claude-plugin/plugin.json:0: unreadable: is not a JSON object",
            ]
        );
        home.write(RECORD, "{\"version\": 2,\n\"plugins\": {}");
        let plugins = read(&home);
        assert!(plugins.enabled.is_empty());
        assert_eq!(
            findings(&home, &plugins),
            [format!("{RECORD}:2: unreadable: is not JSON: EOF while parsing an object")]
        );
        home.write(RECORD, "\u{feff}{\"plugins\": []}");
        assert_eq!(
            findings(&home, &read(&home)),
            [format!("{RECORD}:0: field-invalid: `plugins` is not an object")]
        );
        home.write(RECORD, " ".repeat(256 * 1024 + 1));
        assert_eq!(
            findings(&home, &read(&home)),
            [format!("{RECORD}:0: unreadable: cannot be read: larger than 256 KiB")]
        );
    }

    #[test]
    fn an_install_that_leads_nowhere_is_a_finding_with_the_way_out() {
        let home = Home::new();
        home.write("cache/file", "x");
        install(&home, &["file", "gone", "none", "relative"]);
        write(
            &home,
            RECORD,
            &json!({"version": 2, "plugins": {
                "relative@market": [{"installPath": "cache/pdf"}],
                "gone@market": [{"installPath": cache(&home, "gone")}],
                "file@market": [{"installPath": cache(&home, "file")}],
                "none@market": [{}],
                "off@market": [{"installPath": cache(&home, "gone")}],
            }}),
        );
        let plugins = read(&home);
        assert!(plugins.enabled.is_empty());
        assert_eq!(plugins.disabled, ["off@market"]);
        assert_eq!(
            findings(&home, &plugins),
            [
                format!(
                    "{RECORD}:0: unreadable: plugin `file@market`: there is no folder /cache/file"
                ),
                format!(
                    "{RECORD}:0: unreadable: plugin `gone@market`: there is no folder /cache/gone"
                ),
                format!("{RECORD}:0: field-missing: plugin `none@market`: has no `installPath`"),
                format!(
                    "{RECORD}:0: field-invalid: plugin `relative@market`: `installPath` is not absolute: cache/pdf"
                ),
            ]
        );
        let hint = plugins.diagnostics.first().and_then(|(_, finding)| finding.hint.as_deref());
        assert_eq!(hint, Some("install it anew: `claude plugin install file@market`"));
    }

    #[test]
    fn a_name_that_cannot_stand_before_a_skill_is_not_used() {
        let home = Home::new();
        skill(&home, "pdf/skills/x");
        install(&home, &["pdf"]);
        for name in [json!("a:b"), json!(""), json!(" a"), json!("a\nb"), json!(3)] {
            write(&home, "cache/pdf/.claude-plugin/plugin.json", &json!({"name": name}));
            let plugins = read(&home);
            assert_eq!(served(&home, &plugins), one("pdf", &["pdf/skills"]), "{name}");
            assert_eq!(
                findings(&home, &plugins),
                [
                    "cache/pdf/.claude-plugin/plugin.json:0: field-invalid: `name` cannot stand before a skill's name; `pdf` is used"
                ]
            );
        }
        let installs = json!({"@market": {"installPath": cache(&home, "pdf")}});
        write(&home, RECORD, &json!({"version": 1, "plugins": installs}));
        write(&home, SETTINGS, &json!({"enabledPlugins": {"@market": true, "x@market": "yes"}}));
        let plugins = read(&home);
        assert!(plugins.enabled.is_empty());
        assert_eq!(
            findings(&home, &plugins),
            [
                "user/.claude/settings.json:0: field-invalid: `enabledPlugins`: `x@market` is not true or false",
                "cache/pdf/.claude-plugin/plugin.json:0: name-unusable: plugin `@market` has no usable name; not served",
            ]
        );
    }

    #[test]
    fn variables_move_the_records() {
        let home = Home::new();
        skill(&home, "pdf/skills/x");
        install(&home, &["pdf"]);
        let mut environment = Environment {
            claude_config: Some(home.path().join("user/.claude")),
            directory: home.path().join("user"),
            ..Environment::default()
        };
        let managed = home.path().join("managed.json");
        assert_eq!(PluginRecords::managed_by(&environment, &managed).read().enabled.len(), 1);
        environment.plugin_dir = Some(home.path().join("elsewhere"));
        assert!(PluginRecords::managed_by(&environment, &managed).read().enabled.is_empty());
        let installs = json!({"pdf@market": {"installPath": cache(&home, "pdf")}});
        write(&home, "elsewhere/installed_plugins.json", &json!({"plugins": installs}));
        assert_eq!(PluginRecords::managed_by(&environment, &managed).read().enabled.len(), 1);
        // Started in the home folder, the project's settings are the user's: broken, they are one finding.
        home.write(SETTINGS, "{");
        assert_eq!(PluginRecords::managed_by(&environment, &managed).read().diagnostics.len(), 1);
    }
}
