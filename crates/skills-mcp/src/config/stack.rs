//! [`Stack`]: ordered layers → [`Settled`]: every key's value with its origin, and what was wrong in content.

use std::collections::BTreeSet;

use skills_core::diagnostic::Diagnostic;

use super::{
    ConfigError, Environment, VARIABLES,
    consent::{Consent, Pins, Waiting},
    consent_file::ConsentFile,
    content::{Judge, ServedContent, Unanswered},
    file::{FileStamp, read_optional},
    keys::{KEYS, Key},
    layer::{Layer, Origin, Setting},
    settings::Settings,
    trust::Trust,
    value::Value,
};

/// What the operator says; read once, at the start. Content's layer is put beneath it at every scan.
#[derive(Debug, Default)]
pub struct Stack {
    /// User files, variables, flags: lowest first.
    operator: Vec<Layer>,
    /// How far content is trusted.
    pub trust: Trust,
    /// Things to say in the log, such as a key that does not exist.
    pub warnings: Vec<String>,
    /// What is on record for the sources.
    pub consent: ConsentFile,
    /// Whether what a source says when it is first served goes on record: only what serves writes it down.
    records: bool,
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
    /// What is wrong in content's file that turned scripts off.
    pub scripts_off: Option<String>,
    /// What content asks for and is not given until the operator agrees.
    pub waiting: Vec<Waiting>,
    /// What is to be on record for the source.
    pub pins: Option<Pins>,
    /// What content asks for, before it is known what the operator says.
    pub(super) asked: Vec<Unanswered>,
}

impl Stack {
    /// Reads the operator's layers. Anything wrong in them is an error.
    pub fn read(environment: &Environment, flags: &[String]) -> Result<Self, ConfigError> {
        let consent = ConsentFile::new(environment.home.as_deref());
        let mut stack = Self { trust: trust(environment)?, consent, ..Self::default() };
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

    /// The same for what serves: what a source says when it is first served goes on record.
    #[must_use]
    pub fn recording(mut self) -> Self {
        self.records = true;
        self
    }

    /// Which state of the record of consent this is.
    pub fn consent_stamp(&self) -> Option<FileStamp> {
        self.consent.stamp()
    }

    /// Settles every key, with what a source says beneath the operator's layers as if it were served for the first time.
    /// Never fails.
    pub fn settle(&self, served: Option<&ServedContent>) -> Settled {
        self.settle_with(served.map(|served| (served, &Consent::First)))
    }

    /// The same as far as the record of consent lets the source.
    pub fn settle_source(&self, served: Option<&ServedContent>) -> Settled {
        let Some(served) = served else { return self.settle(None) };
        let consent = self.consent.consent(&served.identity);
        let settled = self.settle_with(Some((served, &consent)));
        // Under strict trust content has less than it asks for, which is no reason to give it less later.
        if !self.records || self.trust == Trust::Strict {
            return settled;
        }
        self.record(served, &consent, settled)
    }

    fn record(&self, served: &ServedContent, consent: &Consent, mut settled: Settled) -> Settled {
        match (consent, &settled.pins) {
            (Consent::First, pins) => {
                // A file that cannot be read asks for nothing, and this is the time when it could have asked.
                let pins = pins.clone().unwrap_or_default();
                match self.consent.record_first(&served.identity, &pins) {
                    Ok(on_record) if on_record == pins => settled,
                    Ok(on_record) => self.settle_with(Some((served, &Consent::Known(on_record)))),
                    Err(why) => self.settle_with(Some((served, &Consent::Unknown(why)))),
                }
            }
            (Consent::Known(before), Some(pins)) if before != pins => {
                // What is narrower holds all the same, for as long as this server lives.
                if let Err(why) = self.consent.narrow(&served.identity, before, pins) {
                    settled.notices.push(why);
                }
                settled
            }
            _ => settled,
        }
    }

    fn settle_with(&self, content: Option<(&ServedContent, &Consent)>) -> Settled {
        let mut settled = Settled::defaults();
        if self.trust == Trust::Strict
            && let Some(key) = Key::named("scripts.network")
        {
            let off = Value::Text("off".to_owned());
            settled.assign(key, off, Origin::Environment("SKILLS_TRUST"));
        }
        if let Some((served, consent)) = content {
            settled.pins = Judge::new(&mut settled, served, consent, self.trust).take();
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
        if let Some((served, consent)) = content {
            settled.wait(served, consent);
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
            scripts_off: None,
            waiting: Vec::new(),
            pins: None,
            asked: Vec::new(),
        }
    }

    /// Maps are merged entry by entry, everything else is replaced.
    pub(super) fn assign(&mut self, key: &'static Key, value: Value, origin: Origin) {
        let Some(slot) = self.values.iter_mut().find(|(known, ..)| known.name == key.name) else {
            return;
        };
        slot.1 = value.over(&slot.1);
        slot.2 = origin;
    }
}

#[cfg(test)]
mod tests {
    use skills_core::diagnostic::Code;

    use super::*;
    use crate::{config::ContentConfig, event::Kept};

    fn content(text: &str) -> ServedContent {
        let config = ContentConfig {
            source: "team".into(),
            file: "/c/config.yaml".into(),
            text: Ok(text.to_owned()),
        };
        ServedContent { identity: "/c".into(), source: "team".into(), config: Some(config) }
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

    // CONFIG-1, CONFIG-2
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
    fn config_2_the_endpoint_variable_turns_analytics_on() {
        let settled = stack(&[("ANALYTICS_ENDPOINT", "https://hooks.example.org/x")], &[])
            .unwrap()
            .settle(None);
        assert!(settled.settings.analytics.enabled);
        assert_eq!(
            settled.settings.analytics.endpoint.as_deref(),
            Some("https://hooks.example.org/x")
        );
    }

    // CONFIG-3
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

    // CONFIG-4
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

    // CONFIG-4
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

    // CONFIG-6
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

    // EVENT-2
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

    // CONFIG-6
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

    /// What content comes to that was on record as this text asked for it.
    fn later(before: &str, now: &str, flags: &[&str]) -> Settled {
        let stack = stack(&[], flags).unwrap();
        let pins = stack.settle(Some(&content(before))).pins.unwrap();
        stack.settle_with(Some((&content(now), &Consent::Known(pins))))
    }

    fn waiting(settled: &Settled) -> Vec<&str> {
        settled.waiting.iter().map(|waiting| waiting.key.name).collect()
    }

    #[test]
    fn e05_a_later_commit_turns_nothing_on_and_sends_nothing_elsewhere() {
        let on = "analytics: {enabled: true, endpoint: 'https://a.org/x'}\n";
        let settled = later("{}\n", on, &[]);
        assert!(!settled.settings.analytics.enabled);
        assert_eq!(settled.settings.analytics.endpoint, None);
        assert_eq!(waiting(&settled), ["analytics.enabled", "analytics.endpoint"]);
        let found: Vec<String> = settled.diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(
            found[0],
            "/c/config.yaml:1:22: warning[config-waiting]: `analytics.enabled` stays false, which is on record for this source, until you agree to true"
        );
        assert_eq!(settled.pins, Some(Pins::default()), "and so does what is on record");
        // Elsewhere, with more of the request.
        let more = "analytics: {enabled: true, endpoint: 'https://b.org/x', context: full}\n";
        let tokens = "analytics: {enabled: true, endpoint: 'https://a.org/x', context: tokens}\n";
        let settled = later(tokens, more, &[]);
        let analytics = &settled.settings.analytics;
        assert!(analytics.enabled && analytics.endpoint_by_content);
        assert_eq!(analytics.endpoint.as_deref(), Some("https://a.org/x"));
        assert_eq!(analytics.context, Kept::Tokens);
        assert_eq!(waiting(&settled), ["analytics.endpoint", "analytics.context"]);
        // Less is always had, and is what is on record from then on.
        let settled = later(on, "analytics: {enabled: false, context: off}\n", &[]);
        assert!(!settled.settings.analytics.enabled && settled.waiting.is_empty());
        assert_eq!(settled.settings.analytics.endpoint, None);
        let kept: Vec<&str> =
            settled.pins.as_ref().unwrap().values().map(|(k, _)| k.name).collect();
        assert_eq!(kept, ["analytics.context"]);
        let off = "analytics: {context: off}\n";
        assert_eq!(later(off, "{}\n", &[]).settings.analytics.context, Kept::Off);
        // What the operator says needs nobody's consent.
        let settled = later("{}\n", on, &["analytics.enabled=true", "analytics.endpoint="]);
        assert!(settled.settings.analytics.enabled && settled.waiting.is_empty());
    }

    #[test]
    fn e05_a_later_commit_widens_no_script_and_keeps_no_correction_from_coming() {
        let before = "scripts: {enabled: false, allowed_extensions: [.sh], runners: {.sh: dash}}\n";
        let now = "scripts: {enabled: true, allowed_extensions: [.sh, .py], runners: {.sh: bash, .rb: ruby}}\nrefresh: {enabled: false, interval_minutes: 10080}\ngit: {branch: evil, timeout_seconds: 1}\n";
        let settled = later(before, now, &[]);
        let scripts = &settled.settings.scripts;
        assert!(!scripts.enabled);
        assert_eq!(scripts.allowed_extensions, [".sh"]);
        assert_eq!(scripts.runners.get(".sh").map(String::as_str), Some("dash"));
        assert!(!scripts.runners.contains_key(".rb"));
        assert!(
            settled.named_by_content.contains(".sh"),
            "content named it, when it was first served"
        );
        assert!(settled.settings.refresh.enabled);
        assert_eq!(settled.settings.git.branch, "main");
        assert_eq!(settled.waiting.len(), 7);
        let settled = later("git: {branch: next}\n", "{}\n", &[]);
        assert_eq!((settled.settings.git.branch.as_str(), settled.waiting.len()), ("next", 0));
        let settled = later("{}\n", "scripts: {enabled: maybe}\n", &[]);
        assert_eq!(settled.pins, Some(Pins::default()), "a mistake does not go on record");
    }

    #[test]
    fn e05_what_is_on_record_does_not_loosen_strict_trust() {
        let wide = "analytics: {enabled: true, context: tokens}\nscripts: {allowed_extensions: [.rb], runners: {.rb: ruby}}\ngit: {branch: next}\n";
        let pins = stack(&[], &[]).unwrap().settle(Some(&content(wide))).pins.unwrap();
        let strict = stack(&[("SKILLS_TRUST", "strict")], &[]).unwrap();
        for text in [wide, "{}\n", "scripts: {allowed_extensions: [.sh]}\n", "[\n"] {
            let known = Consent::Known(pins.clone());
            let settings = strict.settle_with(Some((&content(text), &known))).settings;
            assert!(!settings.analytics.enabled, "{text}");
            assert_eq!(settings.analytics.context, Kept::Tokens, "what is narrower stays: {text}");
            assert_eq!(settings.git.branch, "main", "{text}");
            assert!(!settings.scripts.runners.contains_key(".rb"), "{text}");
            assert!(!settings.scripts.allowed_extensions.contains(&".rb".to_owned()), "{text}");
        }
    }

    #[test]
    fn e05_without_a_record_content_may_only_narrow() {
        let stack = stack(&[], &[]).unwrap();
        let text = "analytics: {enabled: true, context: tokens}\nmatching: {max_results: 7}\n";
        let unknown = Consent::Unknown("/h/trust.json cannot be read: no".to_owned());
        let settled = stack.settle_with(Some((&content(text), &unknown)));
        assert!(!settled.settings.analytics.enabled);
        assert_eq!(settled.settings.analytics.context, Kept::Tokens);
        assert_eq!(settled.settings.matching.max_results, 7);
        assert_eq!((settled.pins, settled.waiting.len()), (None, 1));
        assert!(settled.diagnostics[0].finding.message.contains("/h/trust.json cannot be read"));
    }

    #[test]
    fn e10_under_strict_trust_no_script_has_a_network_unless_the_operator_says_so() {
        let network = |variables: &[(&'static str, &str)], flags: &[&str]| {
            let content = content("scripts: {network: declared}\n");
            stack(variables, flags).unwrap().settle(Some(&content)).settings.scripts.network
        };
        let strict = [("SKILLS_TRUST", "strict")];
        assert!(network(&[], &[]));
        assert!(!network(&strict, &[]));
        assert!(network(&strict, &["scripts.network=declared"]));
        assert!(!network(&[], &["scripts.network=off"]));
    }

    #[test]
    fn a06_what_is_wrong_says_that_scripts_are_off_and_why() {
        let settled =
            stack(&[], &[]).unwrap().settle(Some(&content("scripts: {enabled: maybe}\n")));
        assert!(!settled.settings.scripts.enabled);
        let finding = &settled.diagnostics[0].finding;
        assert_eq!(finding.message, "`scripts.enabled` is `maybe`, but must be true or false");
        assert!(finding.hint.as_deref().unwrap().contains("scripts are off until it is fixed"));
        assert_eq!(
            settled.scripts_off.as_deref(),
            Some("/c/config.yaml:1: `scripts.enabled` is `maybe`, but must be true or false")
        );
        assert_eq!(origin_of(&settled, "scripts.enabled").1, "/c/config.yaml is invalid");
    }
}
