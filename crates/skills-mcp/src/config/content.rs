//! [`ContentReview`]: which settings of a content's `config.yaml` apply, which are refused, which wait for the operator's
//! consent.

use std::{path::PathBuf, sync::Arc};

use skills_core::diagnostic::{Code, Diagnostic, Finding, Position};

use super::{
    consent::{Consent, PendingConsent, PinnedValues, may_change},
    keys::{ConfigKey, KEYS},
    layer::{InvalidValue, Layer, Setting, SettingOrigin},
    layers::ResolvedConfig,
    trust::{ContentPolicy, Trust},
    value::ConfigValue,
};

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

/// A source that may set something, as it is served now.
#[derive(Debug)]
pub struct ServedContent {
    /// Its keys in the record: its URL; or the path of its folder as the operator named it, and its real path, since content
    /// may put a link to another folder in its place.
    pub identities: Vec<String>,
    /// Its name among the sources.
    pub source: Arc<str>,
    /// Its `config.yaml`, where there is one.
    pub config: Option<ContentConfig>,
    /// Whether only a project's file names it: then nothing beyond the defaults applies before the operator agrees.
    pub of_project: bool,
    /// Whether it is a directory that the operator named: only the operator's machine changes it.
    pub is_own: bool,
}

impl ServedContent {
    /// What an operator calls it.
    pub fn identity(&self) -> &str {
        self.identities.first().map(String::as_str).unwrap_or_default()
    }

    /// Whether what it says of a key is put on record: a commit must not switch it on later. Of the operator's own directory only
    /// what is about analytics is; anything else holds as long as the directory says it.
    pub fn is_recorded(&self, key: &ConfigKey) -> bool {
        key.content.is_recorded() && (!self.is_own || key.name.starts_with("analytics."))
    }

    /// A finding in its `config.yaml`.
    fn diagnostic(&self, finding: Finding) -> Diagnostic {
        let file = self.config.as_ref().map(|config| config.file.to_string_lossy());
        finding.in_file(&self.source, &file.unwrap_or_default())
    }
}

/// What content asks for one key.
enum ContentRequest {
    /// A value, at this position.
    For(Position, ConfigValue),
    /// Nothing.
    LeftOut,
    /// An invalid value, or one that content may not set.
    Unusable,
}

/// A setting that content asks for beyond what is on record.
#[derive(Debug)]
pub(super) struct UnansweredRequest {
    key: &'static ConfigKey,
    at: Position,
    asked: ConfigValue,
    held: ConfigValue,
}

/// Applies one source's `config.yaml` to the configuration.
pub(super) struct ContentReview<'a> {
    resolved: &'a mut ResolvedConfig,
    served: &'a ServedContent,
    consent: &'a Consent,
    trust: Trust,
    /// The `config.yaml`, for messages.
    file: String,
    /// What will be on record.
    pins: PinnedValues,
}

impl<'a> ContentReview<'a> {
    pub(super) fn new(
        resolved: &'a mut ResolvedConfig,
        served: &'a ServedContent,
        consent: &'a Consent,
        trust: Trust,
    ) -> Self {
        let file = served.config.as_ref().map(|config| config.file.display().to_string());
        let pins = match consent {
            // What was agreed to in another mode does not loosen this one.
            Consent::Known(pins) if trust == Trust::Strict => pins.narrowing(),
            Consent::Known(pins) => pins.clone(),
            Consent::First | Consent::Unknown(_) => PinnedValues::default(),
        };
        let file = file.unwrap_or_else(|| "without config.yaml".to_owned());
        Self { resolved, served, consent, trust, file, pins }
    }

    /// Applies the file; returns what is to be on record, unless the file or the record cannot be read.
    pub(super) fn run(mut self) -> Option<PinnedValues> {
        let settings = match self.layer() {
            Ok(layer) => {
                self.unknown_keys(&layer);
                layer.settings
            }
            Err(finding) => {
                self.refuse_file(finding);
                return None;
            }
        };
        let mut mentioned: Vec<&str> = Vec::new();
        for setting in settings {
            let key = setting.key;
            mentioned.push(key.name);
            let ask = self.admit(setting);
            self.decide(key, ask);
        }
        for key in KEYS.iter().filter(|key| !mentioned.contains(&key.name)) {
            self.decide(key, ContentRequest::LeftOut);
        }
        self.turn_scripts_off();
        Some(self.pins).filter(|_| !matches!(self.consent, Consent::Unknown(_)))
    }

    fn layer(&self) -> Result<Layer, Finding> {
        let origin = SettingOrigin::Content(self.file.clone());
        let Some(config) = &self.served.config else {
            return Ok(Layer::new(origin));
        };
        let text = config.text.as_ref().map_err(|error| {
            Finding::whole(Code::ConfigInvalid, format!("cannot be read: {error}"))
        })?;
        Layer::from_yaml(origin, text)
            .map_err(|error| Finding::new(Code::ConfigInvalid, error.at, error.message))
    }

    fn unknown_keys(&mut self, layer: &Layer) {
        for (unknown, at) in &layer.unknown {
            let finding =
                Finding::new(Code::ConfigUnknownKey, *at, format!("there is no key `{unknown}`"));
            self.found(match ConfigKey::near(unknown) {
                Some(near) => finding.hint(format!("did you mean `{near}`?")),
                None => finding.hint("`skills-mcp config` lists every key"),
            });
        }
    }

    /// A file that cannot be read may have been meant to forbid something, so scripts are off and what it had narrowed
    /// stays narrow.
    fn refuse_file(&mut self, finding: Finding) {
        let reason = format!("{}: {}", self.place(finding.at), finding.message);
        self.resolved.scripts_off.get_or_insert(reason);
        self.found(
            finding.hint("the whole file is ignored, and scripts are off until it is fixed"),
        );
        for key in KEYS.iter().filter(|key| self.served.is_recorded(key)) {
            let (Some(on_record), Some(default)) = (self.pins.get(key), key.default_value()) else {
                continue;
            };
            if key.content == ContentPolicy::Fixed || key.narrows(&on_record, &default) {
                self.hold(key, on_record);
            }
        }
        self.turn_scripts_off();
    }

    /// What a line of the file asks for, if content may set it at all.
    fn admit(&mut self, setting: Setting) -> ContentRequest {
        let Setting { key, at, value } = setting;
        let value = match value {
            Ok(value) => value,
            Err(wrong) => {
                let InvalidValue { message, is_part } = wrong;
                let hint = if is_part {
                    "it is left out; the others count"
                } else if key.name.starts_with("scripts.") {
                    let reason = format!("{}: {message}", self.place(at));
                    self.resolved.scripts_off.get_or_insert(reason);
                    "it may have been meant to forbid something, so scripts are off until it is fixed"
                } else if self.served.is_recorded(key) {
                    "it counts as left out"
                } else {
                    "its default is used"
                };
                self.found(Finding::new(Code::ConfigInvalid, at, message).hint(hint));
                return ContentRequest::Unusable;
            }
        };
        let Some(why) = self.refused(key, &value) else {
            return ContentRequest::For(at, self.limited(key, at, value));
        };
        let message = format!("`{}` may not be set to {value} by content", key.name);
        let hint = format!("{why}; set it in your own configuration");
        self.found(Finding::new(Code::ConfigRefused, at, message).hint(hint));
        ContentRequest::Unusable
    }

    /// A number that content may set: the highest one in place of a higher one.
    fn limited(&mut self, key: &ConfigKey, at: Position, value: ConfigValue) -> ConfigValue {
        let Some(most) = key.content_max.map(ConfigValue::Count) else { return value };
        if value.is_within(&most) {
            return value;
        }
        let message = format!("`{}` is {most} instead of {value}: content sets no more", key.name);
        let hint = "set it in your own configuration where more is needed";
        self.found(Finding::new(Code::ConfigRefused, at, message).hint(hint));
        most
    }

    /// Why content may not set this value at all.
    fn refused(&self, key: &ConfigKey, value: &ConfigValue) -> Option<String> {
        let narrower = || key.default_value().is_some_and(|default| key.narrows(value, &default));
        let strict = self.trust == Trust::Strict;
        let never = match key.content {
            ContentPolicy::Operator => Some("only the operator sets it"),
            ContentPolicy::Fixed if strict => Some("SKILLS_TRUST=strict keeps it yours"),
            ContentPolicy::Pinned | ContentPolicy::Limited if strict && !narrower() => {
                Some("under SKILLS_TRUST=strict content may only tighten")
            }
            ContentPolicy::Free
            | ContentPolicy::Limited
            | ContentPolicy::Pinned
            | ContentPolicy::Fixed => None,
        };
        never.map(str::to_owned).or_else(|| key.kind.refused_from_content(value))
    }

    /// Applies what content asks for, or holds what is on record.
    fn decide(&mut self, key: &'static ConfigKey, ask: ContentRequest) {
        let Some(default) = key.default_value() else { return };
        let on_record = match self.consent {
            _ if !self.served.is_recorded(key) => None,
            Consent::First => None,
            Consent::Known(_) | Consent::Unknown(_) => self.pins.get(key),
        };
        let Some(on_record) = on_record else {
            if let ContentRequest::For(at, value) = ask {
                self.apply(key, at, value);
            }
            return;
        };
        match ask {
            ContentRequest::For(at, value)
                if may_change(key, &value.clone().over(&default), &on_record) =>
            {
                self.apply(key, at, value);
            }
            ContentRequest::For(at, value) => {
                self.wait(UnansweredRequest {
                    key,
                    at,
                    asked: value.over(&default),
                    held: on_record,
                });
            }
            ContentRequest::LeftOut | ContentRequest::Unusable if on_record == default => {}
            ContentRequest::LeftOut if may_change(key, &default, &on_record) => {
                self.pins.set(key, default);
            }
            // A mistake that turns something off does not go on record.
            ContentRequest::Unusable if may_change(key, &default, &on_record) => {}
            ContentRequest::LeftOut if key.content == ContentPolicy::Pinned => {
                let at = Position::default();
                self.wait(UnansweredRequest { key, at, asked: default, held: on_record });
            }
            ContentRequest::LeftOut | ContentRequest::Unusable => self.hold(key, on_record),
        }
    }

    /// Applies and records what content asks for.
    fn apply(&mut self, key: &'static ConfigKey, at: Position, value: ConfigValue) {
        let default = key.default_value();
        let watched = key.content.is_recorded() || key.name.starts_with("scripts.");
        if watched && default.as_ref() != Some(&value) {
            self.resolved.notices.push(format!("{} sets {} to {value}", self.file, key.name));
        }
        if self.served.is_recorded(key) {
            let whole =
                default.map_or_else(|| value.clone(), |default| value.clone().over(&default));
            self.pins.set(key, whole);
        }
        self.assign(key, value, SettingOrigin::Content(self.file.clone()).at(at));
    }

    /// Applies what is on record, whatever content asks for.
    fn hold(&mut self, key: &'static ConfigKey, value: ConfigValue) {
        self.assign(key, value, SettingOrigin::Pinned(self.file.clone()));
    }

    /// The same, until the operator agrees to what content asks for.
    fn wait(&mut self, unanswered: UnansweredRequest) {
        self.hold(unanswered.key, unanswered.held.clone());
        self.resolved.unanswered.push(unanswered);
    }

    fn assign(&mut self, key: &'static ConfigKey, value: ConfigValue, origin: SettingOrigin) {
        if let (ConfigValue::Commands(named), Some(ConfigValue::Commands(known))) =
            (&value, key.default_value())
        {
            let new =
                named.iter().filter(|(extension, command)| known.get(*extension) != Some(command));
            self.resolved.named_by_content.extend(new.map(|(extension, _)| extension.clone()));
        }
        self.resolved.assign(key, value, origin);
    }

    /// Turns scripts off where the file is invalid: a mistake under `scripts` may have been meant to forbid them.
    fn turn_scripts_off(&mut self) {
        if self.resolved.scripts_off.is_none() {
            return;
        }
        if let Some(key) = ConfigKey::named("scripts.enabled") {
            self.resolved.assign(
                key,
                ConfigValue::Flag(false),
                SettingOrigin::Invalid(self.file.clone()),
            );
        }
        self.resolved.notices.push(format!("{} is invalid, so scripts are off", self.file));
    }

    fn place(&self, at: Position) -> String {
        if at.line > 0 { format!("{}:{}", self.file, at.line) } else { self.file.clone() }
    }

    fn found(&mut self, finding: Finding) {
        self.resolved.diagnostics.push(self.served.diagnostic(finding));
    }
}

impl ResolvedConfig {
    /// Reports what waits for consent. Called after the operator's layers: a setting of theirs needs no consent.
    pub(super) fn report_unanswered(&mut self, served: &ServedContent, consent: &Consent) {
        for UnansweredRequest { key, at, asked, held } in std::mem::take(&mut self.unanswered) {
            if !matches!(self.find(key.name), Some((.., SettingOrigin::Pinned(_)))) {
                continue;
            }
            let (message, hint) = match consent {
                Consent::Unknown(why) => (
                    format!("`{}` stays {held} instead of {asked}: {why}", key.name),
                    "what content switches on goes on record first; fix that file, or set the key in your own configuration"
                        .to_owned(),
                ),
                Consent::First | Consent::Known(_) => (
                    format!(
                        "`{}` stays {held}, which is on record for this source, until you agree to {asked}",
                        key.name
                    ),
                    format!(
                        "`skills-mcp trust '{0}'` shows what the source asks for; with `--yes` it agrees to it",
                        served.identity()
                    ),
                ),
            };
            let finding = Finding::new(Code::ConfigWaiting, at, message).hint(hint);
            let diagnostic = served.diagnostic(finding);
            self.diagnostics.push(diagnostic.clone());
            self.waiting.push(PendingConsent { key, asked, held, diagnostic });
        }
    }
}
