//! [`Stack`]: ordered layers → [`Settled`]: every key's value with its origin, and what was wrong in content.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use skills_core::diagnostic::{Code, Diagnostic, Finding};

use super::{
    ConfigError, Environment, VARIABLES,
    file::read_optional,
    keys::{KEYS, Key, Strict},
    layer::{Layer, Origin, Setting},
    settings::Settings,
    value::Value,
};

/// How far content is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// The operator named it, so its `config.yaml` applies (seed 000 §12.4).
    #[default]
    Named,
    /// It may tighten settings, never loosen them, and its links must stay inside.
    Strict,
}

/// What the operator says; read once, at the start. Content's layer is put beneath it at every scan.
#[derive(Debug, Default)]
pub struct Stack {
    /// User files, variables, flags: lowest first.
    operator: Vec<Layer>,
    /// How far content is trusted.
    pub trust: Trust,
    /// Things to say in the log, such as a key that does not exist.
    pub warnings: Vec<String>,
}

/// Content's `config.yaml`.
#[derive(Debug)]
pub struct ContentConfig {
    /// The source it belongs to.
    pub source: Arc<str>,
    /// The file, for messages.
    pub file: PathBuf,
    /// Its text, or why it could not be read.
    pub text: Result<String, String>,
}

/// The outcome.
#[derive(Debug)]
pub struct Settled {
    /// The values, typed.
    pub settings: Settings,
    /// Every key with its value and where that came from, in the order of the table.
    pub values: Vec<(&'static Key, Value, Origin)>,
    /// What is wrong in content's file.
    pub diagnostics: Vec<Diagnostic>,
    /// What content changed that an operator should know of.
    pub notices: Vec<String>,
    /// Extensions whose runner content named, and nobody else: what such a runner keeps around it stays closed.
    pub named_by_content: BTreeSet<String>,
    scripts_off: bool,
}

impl Stack {
    /// Reads the operator's layers. Anything wrong in them is an error.
    pub fn read(environment: &Environment, flags: &[String]) -> Result<Self, ConfigError> {
        let mut stack = Self { trust: trust(environment)?, ..Self::default() };
        let user_files = [
            environment.home.as_ref().map(|home| home.join(".skills-mcp/config.yaml")),
            environment.config_home.as_ref().map(|config| config.join("skills-mcp/config.yaml")),
        ];
        for file in user_files.into_iter().flatten() {
            let name = file.display().to_string();
            let text = read_optional(&file).map_err(|error| ConfigError::Unreadable {
                file: name.clone(),
                error: error.to_string(),
            })?;
            if let Some(text) = text {
                stack.push(user_layer(name, &text)?)?;
            }
        }
        stack.push_environment(environment)?;
        stack.push(flag_layer(flags)?)?;
        Ok(stack)
    }

    fn push_environment(&mut self, environment: &Environment) -> Result<(), ConfigError> {
        for variable in VARIABLES {
            let Some(text) = environment.get(variable.name) else { continue };
            let mut layer = empty(Origin::Environment(variable.name));
            for (name, fixed) in variable.sets {
                if let Some(key) = Key::named(name) {
                    layer.set(key, fixed.unwrap_or(text));
                }
            }
            self.push(layer)?;
        }
        Ok(())
    }

    /// Takes a layer of the operator's; a wrong value is an error, an unknown key a warning.
    fn push(&mut self, layer: Layer) -> Result<(), ConfigError> {
        for (name, at) in &layer.unknown {
            let near =
                Key::near(name).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            self.warnings.push(format!("{}:{}: unknown key `{name}`{near}", layer.origin, at.line));
        }
        for Setting { key, at, value } in &layer.settings {
            if let Err(wrong) = value {
                let place = if at.line > 0 {
                    format!("{}:{}", layer.origin, at.line)
                } else {
                    layer.origin.to_string()
                };
                return Err(ConfigError::Value {
                    place,
                    key: key.name.to_owned(),
                    written: wrong.written.clone(),
                    expected: wrong.expected.clone(),
                });
            }
        }
        self.operator.push(layer);
        Ok(())
    }

    /// Settles every key, with content's file beneath the operator's layers. Never fails.
    pub fn settle(&self, content: Option<&ContentConfig>) -> Settled {
        let mut settled = Settled::defaults();
        if let Some(content) = content {
            settled.take_content(content, self.trust);
        }
        for layer in &self.operator {
            for Setting { key, at, value } in &layer.settings {
                if let Ok(value) = value {
                    if let Value::Commands(commands) = value {
                        settled.named_by_content.retain(|known| !commands.contains_key(known));
                    }
                    settled.assign(key, value.clone(), layer.origin.at(*at));
                }
            }
        }
        settled.settings = Settings::of(&settled.values);
        settled
    }
}

fn trust(environment: &Environment) -> Result<Trust, ConfigError> {
    match environment.get("SKILLS_TRUST") {
        None | Some("named") => Ok(Trust::Named),
        Some("strict") => Ok(Trust::Strict),
        Some(other) => Err(ConfigError::Variable {
            variable: "SKILLS_TRUST",
            written: other.to_owned(),
            expected: "`strict`, `named` or unset",
        }),
    }
}

fn empty(origin: Origin) -> Layer {
    Layer { origin, settings: Vec::new(), unknown: Vec::new() }
}

fn user_layer(file: String, text: &str) -> Result<Layer, ConfigError> {
    Layer::from_yaml(Origin::User(file.clone()), text).map_err(|error| ConfigError::Syntax {
        file,
        line: error.at.line,
        column: error.at.column,
        message: error.message,
    })
}

fn flag_layer(flags: &[String]) -> Result<Layer, ConfigError> {
    let mut layer = empty(Origin::Flag);
    for flag in flags {
        let wrong = |message: String| ConfigError::Flag { written: flag.clone(), message };
        let (name, text) =
            flag.split_once('=').ok_or_else(|| wrong("there is no `=`".to_owned()))?;
        let key = Key::named(name.trim()).ok_or_else(|| {
            let near = Key::near(name.trim())
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            wrong(format!("there is no key `{}`{near}", name.trim()))
        })?;
        layer.set(key, text);
    }
    Ok(layer)
}

impl Settled {
    /// Whether nobody could tell the two apart.
    pub fn is_same(&self, other: &Self) -> bool {
        let same =
            |(a, b): (&(&Key, Value, Origin), &(&Key, Value, Origin))| a.1 == b.1 && a.2 == b.2;
        self.values.iter().zip(&other.values).all(same)
            && self.diagnostics == other.diagnostics
            && self.notices == other.notices
    }

    fn defaults() -> Self {
        let values = KEYS
            .iter()
            .filter_map(|key| Some((key, key.default_value()?, Origin::Default)))
            .collect();
        Self {
            settings: Settings::of(&values),
            values,
            diagnostics: Vec::new(),
            notices: Vec::new(),
            named_by_content: BTreeSet::new(),
            scripts_off: false,
        }
    }

    /// Maps are merged entry by entry, everything else is replaced.
    fn assign(&mut self, key: &'static Key, value: Value, origin: Origin) {
        let Some(slot) = self.values.iter_mut().find(|(known, ..)| known.name == key.name) else {
            return;
        };
        slot.1 = match (&slot.1, value) {
            (Value::Commands(below), Value::Commands(above)) => {
                Value::Commands(below.clone().into_iter().chain(above).collect())
            }
            (_, value) => value,
        };
        slot.2 = origin;
    }

    fn take_content(&mut self, content: &ContentConfig, trust: Trust) {
        let name = content.file.display().to_string();
        let text = match &content.text {
            Ok(text) => text,
            Err(error) => {
                return self.refuse_file(
                    content,
                    Finding::whole(Code::ConfigInvalid, format!("cannot be read: {error}")),
                );
            }
        };
        let layer = match Layer::from_yaml(Origin::Content(name.clone()), text) {
            Ok(layer) => layer,
            Err(error) => {
                return self.refuse_file(
                    content,
                    Finding::new(Code::ConfigInvalid, error.at, error.message),
                );
            }
        };
        for (unknown, at) in &layer.unknown {
            let finding =
                Finding::new(Code::ConfigUnknownKey, *at, format!("there is no key `{unknown}`"));
            let finding = match Key::near(unknown) {
                Some(near) => finding.hint(format!("did you mean `{near}`?")),
                None => finding.hint("`skills-mcp config` lists every key"),
            };
            self.found(content, finding);
        }
        for setting in layer.settings {
            self.take_setting(content, setting, &name, trust);
        }
    }

    fn take_setting(
        &mut self,
        content: &ContentConfig,
        setting: Setting,
        file: &str,
        trust: Trust,
    ) {
        let Setting { key, at, value } = setting;
        let value = match value {
            Ok(value) => value,
            Err(wrong) => {
                let message = format!(
                    "`{}` is `{}`, but must be {}",
                    key.name, wrong.written, wrong.expected
                );
                self.found(
                    content,
                    Finding::new(Code::ConfigInvalid, at, message).hint("its default is used"),
                );
                if key.name.starts_with("scripts.") {
                    self.turn_scripts_off(file);
                }
                return;
            }
        };
        let current = self
            .values
            .iter()
            .find(|(known, ..)| known.name == key.name)
            .map(|(_, value, _)| value);
        let allowed = match key.strict {
            Strict::Free => true,
            Strict::Smaller => current.is_some_and(|current| key.narrows(&value, current)),
            Strict::Never | Strict::Operator => false,
        };
        let refused = trust == Trust::Strict && !allowed
            || key.strict == Strict::Operator
            || key.leads_elsewhere(&value);
        if refused {
            let message = format!("`{}` may not be set to {value} by content", key.name);
            self.found(
                content,
                Finding::new(Code::ConfigRefused, at, message)
                    .hint("set it in your own configuration"),
            );
            return;
        }
        let watched = ["scripts.", "analytics."].iter().any(|group| key.name.starts_with(group));
        if watched && current != Some(&value) {
            self.notices.push(format!("{file} sets {} to {value}", key.name));
        }
        if let (Value::Commands(named), Some(Value::Commands(known))) = (&value, current) {
            let new =
                named.iter().filter(|(extension, command)| known.get(*extension) != Some(command));
            self.named_by_content.extend(new.map(|(extension, _)| extension.clone()));
        }
        // A bad value under `scripts` has turned them off; a later good one does not turn them on again.
        let stays_off = key.name == "scripts.enabled" && self.scripts_off;
        if !stays_off {
            self.assign(key, value, Origin::Content(file.to_owned()).at(at));
        }
    }

    /// A file that cannot be read may have wanted to forbid something, so scripts stay off.
    fn refuse_file(&mut self, content: &ContentConfig, finding: Finding) {
        self.turn_scripts_off(&content.file.display().to_string());
        self.found(
            content,
            finding.hint("the whole file is ignored, and scripts are off until it is mended"),
        );
    }

    fn turn_scripts_off(&mut self, file: &str) {
        if let Some(key) = Key::named("scripts.enabled") {
            self.assign(key, Value::Flag(false), Origin::Content(file.to_owned()));
        }
        self.scripts_off = true;
        self.notices.push(format!("{file} is invalid, so scripts are off"));
    }

    fn found(&mut self, content: &ContentConfig, finding: Finding) {
        self.diagnostics.push(finding.in_file(&content.source, &content.file.to_string_lossy()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Kept;

    fn content(text: &str) -> ContentConfig {
        ContentConfig {
            source: "team".into(),
            file: "/c/config.yaml".into(),
            text: Ok(text.to_owned()),
        }
    }

    fn stack(variables: &[(&'static str, &str)], flags: &[&str]) -> Result<Stack, ConfigError> {
        let variables =
            variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let environment = Environment { variables, ..Environment::default() };
        Stack::read(&environment, &flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>())
    }

    fn origin_of(settled: &Settled, name: &str) -> (String, String) {
        let (_, value, origin) = settled.values.iter().find(|(key, ..)| key.name == name).unwrap();
        (value.to_string(), origin.to_string())
    }

    #[test]
    fn later_layers_win_and_remember_where_they_came_from() {
        let stack =
            stack(&[("REFRESH_INTERVAL_MINUTES", "5")], &["matching.max_results=7"]).unwrap();
        let settled = stack.settle(Some(&content("matching: {max_results: 4, min_score: 0.3}\nrefresh: {enabled: false, interval_minutes: 60}\n")));
        assert_eq!(origin_of(&settled, "matching.max_results"), ("7".into(), "--set".into()));
        assert_eq!(
            origin_of(&settled, "matching.min_score"),
            ("0.3".into(), "/c/config.yaml:1".into())
        );
        assert_eq!(
            origin_of(&settled, "refresh.interval_minutes"),
            ("5".into(), "REFRESH_INTERVAL_MINUTES".into())
        );
        assert_eq!(
            origin_of(&settled, "refresh.enabled"),
            ("true".into(), "REFRESH_INTERVAL_MINUTES".into())
        );
        assert_eq!(origin_of(&settled, "git.branch"), ("main".into(), "default".into()));
    }

    #[test]
    fn seed_000_11_3_the_endpoint_variable_turns_analytics_on() {
        let settled = stack(&[("ANALYTICS_ENDPOINT", "https://hooks.example.org/x")], &[])
            .unwrap()
            .settle(None);
        assert!(settled.settings.analytics.enabled);
        assert_eq!(
            settled.settings.analytics.endpoint.as_deref(),
            Some("https://hooks.example.org/x")
        );
    }

    #[test]
    fn what_the_operator_wrote_wrongly_is_an_error_that_names_it() {
        let error = stack(&[("REFRESH_INTERVAL_MINUTES", "soon")], &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "REFRESH_INTERVAL_MINUTES: `refresh.interval_minutes` is `soon`, but must be a whole number from 1 to 10080"
        );
        let error = stack(&[], &["matching.min_scor=0.3"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--set matching.min_scor=0.3: there is no key `matching.min_scor`; did you mean `matching.min_score`?"
        );
        assert!(stack(&[("SKILLS_TRUST", "maybe")], &[]).is_err());
    }

    #[test]
    fn what_content_has_wrong_costs_that_key_only() {
        let settled = stack(&[], &[]).unwrap().settle(Some(&content(
            "matching:\n  min_score: high\n  max_resuts: 2\n  max_results: 9\nother: 1\n",
        )));
        assert_eq!(origin_of(&settled, "matching.min_score"), ("0.2".into(), "default".into()));
        assert_eq!(origin_of(&settled, "matching.max_results").0, "9");
        let found: Vec<String> = settled.diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "/c/config.yaml:3:3: warning[config-unknown-key]: there is no key `matching.max_resuts`",
                "/c/config.yaml:5:1: warning[config-unknown-key]: there is no key `other`",
                "/c/config.yaml:2:14: warning[config-invalid]: `matching.min_score` is `high`, but must be a number from 0 to 1",
            ]
        );
        assert!(settled.settings.scripts.enabled);
    }

    #[test]
    fn an_invalid_value_under_scripts_turns_scripts_off() {
        for text in [
            "scripts: false\n",
            "scripts: {timeout_seconds: long}\n",
            "scripts: {timeout_seconds: x, enabled: true}\n",
            "scripts: [\n",
        ] {
            assert!(
                !stack(&[], &[]).unwrap().settle(Some(&content(text))).settings.scripts.enabled,
                "{text}"
            );
        }
    }

    #[test]
    fn x15_b09_strict_content_may_only_tighten() {
        let text = "scripts:\n  enabled: true\n  timeout_seconds: 10\n  max_output_bytes: 2000000\n  runners: {.sh: evil}\n  allowed_extensions: [.sh, .rb]\nassets: {max_size_bytes: 1024}\nanalytics: {enabled: true, endpoint: 'https://evil.example.org'}\n";
        let settled =
            stack(&[("SKILLS_TRUST", "strict")], &[]).unwrap().settle(Some(&content(text)));
        let settings = &settled.settings;
        assert_eq!(settings.scripts.timeout_seconds, 10);
        assert_eq!(settings.scripts.max_output_bytes, 1_048_576);
        assert_eq!(settings.scripts.runners.get(".sh").map(String::as_str), Some("bash"));
        assert_eq!(settings.scripts.allowed_extensions, [".sh", ".ts", ".js", ".py"]);
        assert_eq!(settings.assets.max_size_bytes, 1024);
        assert!(!settings.analytics.enabled && settings.analytics.endpoint.is_none());
        assert_eq!(
            settled.diagnostics.iter().filter(|d| d.finding.code == Code::ConfigRefused).count(),
            5
        );
    }

    #[test]
    fn b09_content_names_a_history_in_our_own_folder_or_none() {
        let file = |text: &str| {
            let content = content(&format!("analytics: {{file: '{text}'}}\n"));
            let settled = stack(&[], &[]).unwrap().settle(Some(&content));
            (settled.settings.analytics.file, settled.notices.len())
        };
        assert_eq!(file("team.jsonl"), ("team.jsonl".to_owned(), 1));
        let own = "~/.skills-mcp/team.jsonl";
        assert_eq!(file(own), (own.to_owned(), 1), "and it is said");
        for elsewhere in [
            "~/src/team/log.jsonl",
            "/etc/x.jsonl",
            "../x.jsonl",
            "~/.skills-mcp/../.bashrc.jsonl",
            "~/.skills-mcp/.jsonl",
            "team/x.jsonl",
            ".bashrc",
            "analytics-buffer.jsonl",
            "$(id).jsonl",
        ] {
            assert_eq!(file(elsewhere), ("~/.skills-mcp/analytics.jsonl".to_owned(), 0));
        }
    }

    #[test]
    fn what_may_be_a_secret_in_a_url_is_in_no_notice() {
        let content = content("analytics: {endpoint: 'https://bob:hunter2@h.org/x?key=s3cr3t'}\n");
        let notices = stack(&[], &[]).unwrap().settle(Some(&content)).notices.join("\n");
        assert!(notices.contains("https://…@h.org/x?…"), "{notices}");
        assert!(!notices.contains("hunter2") && !notices.contains("s3cr3t"), "{notices}");
    }

    #[test]
    fn b09_content_may_have_less_of_a_request_kept_and_never_more() {
        let kept = |trust, flags: &[&str], text: &str| {
            let stack = stack(&[("SKILLS_TRUST", trust)], flags).unwrap();
            let settled = stack.settle(Some(&content(text)));
            (settled.settings.analytics.context, settled.diagnostics.len())
        };
        let off = "analytics: {context: off}\n";
        let full = "analytics: {context: full}\n";
        assert_eq!(kept("strict", &[], "{}\n"), (Kept::Full, 0));
        assert_eq!(kept("strict", &[], "analytics: {context: tokens}\n"), (Kept::Tokens, 0));
        assert_eq!(kept("strict", &[], off), (Kept::Off, 0));
        assert_eq!(kept("strict", &["analytics.context=off"], full), (Kept::Off, 0));
        assert_eq!(kept("named", &["analytics.context=tokens"], full), (Kept::Tokens, 0));
        assert_eq!(kept("named", &[], "analytics: {context: some}\n"), (Kept::Full, 1));
        let key = Key::named("analytics.context").unwrap();
        let narrows = |new: &str, old: &str| {
            key.narrows(&Value::Text(new.to_owned()), &Value::Text(old.to_owned()))
        };
        assert!(narrows("off", "tokens") && narrows("tokens", "tokens"));
        assert!(!narrows("full", "tokens") && !narrows("tokens", "off"));
    }

    #[test]
    fn a_machine_is_called_by_its_operator_or_by_who_is_logged_in() {
        let named = |flags: &[&str], user: Option<&str>| {
            let settled = stack(&[], flags)
                .unwrap()
                .settle(Some(&content("analytics: {server_id: from-content}\n")));
            let user = user.map(str::to_owned);
            let environment = Environment { user, ..Environment::default() };
            assert_eq!(settled.diagnostics[0].finding.code, Code::ConfigRefused);
            settled.settings.analytics.server_id(&environment)
        };
        assert_eq!(named(&[], Some("ada")), "dev-ada");
        assert_eq!(named(&[], None), "dev-unknown");
        assert_eq!(named(&["analytics.server_id=build-7"], Some("ada")), "build-7");
        assert_eq!(named(&["analytics.server_id="], Some("ada")), "dev-ada");
    }

    #[test]
    fn content_never_loosens_the_sandbox_of_scripts_however_far_it_is_trusted() {
        for trust in ["named", "strict"] {
            let text = "scripts:\n  sandbox: off\n  roots: [/]\n  env: [AWS_SECRET_ACCESS_KEY]\n";
            let settled =
                stack(&[("SKILLS_TRUST", trust)], &[]).unwrap().settle(Some(&content(text)));
            let scripts = &settled.settings.scripts;
            assert_eq!(scripts.sandbox, super::super::SandboxMode::Auto);
            assert!(scripts.roots.is_empty() && scripts.environment.is_empty() && scripts.enabled);
            let refused = settled.diagnostics.iter();
            assert_eq!(refused.filter(|d| d.finding.code == Code::ConfigRefused).count(), 3);
        }
        let mine = stack(&[], &["scripts.sandbox=required", "scripts.roots=[/srv]"]).unwrap();
        let scripts = mine.settle(Some(&content("scripts: {sandbox: off}\n"))).settings.scripts;
        assert_eq!(scripts.sandbox, super::super::SandboxMode::Required);
        assert_eq!(scripts.roots, ["/srv"]);
    }

    #[test]
    fn named_content_applies_and_what_it_changes_about_scripts_is_said() {
        let settled = stack(&[], &[])
            .unwrap()
            .settle(Some(&content("scripts:\n  runners: {.rb: ruby}\n  enabled: true\n")));
        assert_eq!(settled.settings.scripts.runners.len(), 5);
        assert_eq!(settled.notices, ["/c/config.yaml sets scripts.runners to {.rb: ruby}"]);
        assert!(settled.named_by_content.contains(".rb"));
    }

    #[test]
    fn content_names_runners_by_their_name_only_and_an_operators_word_makes_them_the_operators() {
        for runner in ["/var/../bin/bash", "/bin/bash", "../bash", "x/y -c", "~/bash"] {
            let text = format!("scripts:\n  runners: {{.sh: '{runner}'}}\n");
            let settled = stack(&[], &[]).unwrap().settle(Some(&content(&text)));
            assert_eq!(settled.settings.scripts.runners[".sh"], "bash", "{runner}");
            assert_eq!(settled.diagnostics[0].finding.code, Code::ConfigRefused);
            assert!(settled.named_by_content.is_empty());
        }
        let text = "scripts:\n  runners: {.sh: bash, .lua: lua, .rb: ruby}\n";
        let settled = stack(&[], &["scripts.runners={.rb: /opt/ruby/bin/ruby}"]).unwrap();
        let settled = settled.settle(Some(&content(text)));
        assert_eq!(settled.settings.scripts.runners[".rb"], "/opt/ruby/bin/ruby");
        let named: Vec<&str> = settled.named_by_content.iter().map(String::as_str).collect();
        assert_eq!(named, [".lua"], "the default and the operator's are nobody else's");
    }
}
