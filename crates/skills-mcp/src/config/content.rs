//! What content says, judged: what applies, what is refused, what waits for the operator's consent.

use std::{path::PathBuf, sync::Arc};

use skills_core::diagnostic::{Code, Diagnostic, Finding, Position};

use super::{
    consent::{Consent, Pins, Waiting, may_change},
    keys::{KEYS, Key},
    layer::{Layer, Origin, Setting},
    stack::Settled,
    trust::{ContentPolicy, Trust},
    value::Value,
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
    /// What it is called in the record: its URL, or where its folder really is.
    pub identity: String,
    /// Its name among the sources.
    pub source: Arc<str>,
    /// Its `config.yaml`, where there is one.
    pub config: Option<ContentConfig>,
}

impl ServedContent {
    /// A finding in its `config.yaml`.
    fn diagnostic(&self, finding: Finding) -> Diagnostic {
        let file = self.config.as_ref().map(|config| config.file.to_string_lossy());
        finding.in_file(&self.source, &file.unwrap_or_default())
    }
}

/// What content says about one key.
enum Ask {
    /// This, at this place.
    For(Position, Value),
    /// Nothing.
    LeftOut,
    /// Something that is no value, or that content may not say.
    Unusable,
}

/// What content asks for beyond what is on record.
#[derive(Debug)]
pub(super) struct Unanswered {
    key: &'static Key,
    at: Position,
    asked: Value,
    held: Value,
}

/// Content that is being judged.
pub(super) struct Judge<'a> {
    settled: &'a mut Settled,
    served: &'a ServedContent,
    consent: &'a Consent,
    trust: Trust,
    /// The `config.yaml`, for messages.
    file: String,
    /// What is to be on record.
    pins: Pins,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        settled: &'a mut Settled,
        served: &'a ServedContent,
        consent: &'a Consent,
        trust: Trust,
    ) -> Self {
        let file = served.config.as_ref().map(|config| config.file.display().to_string());
        let pins = match consent {
            // What was agreed to in another mode does not loosen this one.
            Consent::Known(pins) if trust == Trust::Strict => pins.narrowing(),
            Consent::Known(pins) => pins.clone(),
            Consent::First | Consent::Unknown(_) => Pins::default(),
        };
        let file = file.unwrap_or_else(|| "without config.yaml".to_owned());
        Self { settled, served, consent, trust, file, pins }
    }

    /// Takes what content says; what is to be on record for it, where that can be said.
    pub(super) fn take(mut self) -> Option<Pins> {
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
        let mut said: Vec<&str> = Vec::new();
        for setting in settings {
            let key = setting.key;
            said.push(key.name);
            let ask = self.admit(setting);
            self.decide(key, ask);
        }
        for key in KEYS.iter().filter(|key| !said.contains(&key.name)) {
            self.decide(key, Ask::LeftOut);
        }
        self.turn_scripts_off();
        Some(self.pins).filter(|_| !matches!(self.consent, Consent::Unknown(_)))
    }

    fn layer(&self) -> Result<Layer, Finding> {
        let origin = Origin::Content(self.file.clone());
        let Some(config) = &self.served.config else {
            return Ok(Layer { origin, settings: Vec::new(), unknown: Vec::new() });
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
            self.found(match Key::near(unknown) {
                Some(near) => finding.hint(format!("did you mean `{near}`?")),
                None => finding.hint("`skills-mcp config` lists every key"),
            });
        }
    }

    /// A file that cannot be read may have wanted to forbid something, so scripts stay off, and so does what it had
    /// narrowed.
    fn refuse_file(&mut self, finding: Finding) {
        let reason = format!("{}: {}", self.place(finding.at), finding.message);
        self.settled.scripts_off.get_or_insert(reason);
        self.found(
            finding.hint("the whole file is ignored, and scripts are off until it is fixed"),
        );
        for key in KEYS.iter().filter(|key| key.content.is_recorded()) {
            let (Some(on_record), Some(default)) = (self.pins.get(key), key.default_value()) else {
                continue;
            };
            if key.content == ContentPolicy::Fixed || key.narrows(&on_record, &default) {
                self.hold(key, on_record);
            }
        }
        self.turn_scripts_off();
    }

    /// What a line of the file asks for, if content may ask for it at all.
    fn admit(&mut self, setting: Setting) -> Ask {
        let Setting { key, at, value } = setting;
        let value = match value {
            Ok(value) => value,
            Err(wrong) => {
                let message = format!(
                    "`{}` is `{}`, but must be {}",
                    key.name, wrong.written, wrong.expected
                );
                let hint = if key.name.starts_with("scripts.") {
                    let reason = format!("{}: {message}", self.place(at));
                    self.settled.scripts_off.get_or_insert(reason);
                    "it may have been meant to forbid something, so scripts are off until it is fixed"
                } else if key.content.is_recorded() {
                    "it counts as left out"
                } else {
                    "its default is used"
                };
                self.found(Finding::new(Code::ConfigInvalid, at, message).hint(hint));
                return Ask::Unusable;
            }
        };
        let Some(why) = self.refused(key, &value) else { return Ask::For(at, value) };
        let message = format!("`{}` may not be set to {value} by content", key.name);
        let hint = format!("{why}; set it in your own configuration");
        self.found(Finding::new(Code::ConfigRefused, at, message).hint(hint));
        Ask::Unusable
    }

    /// Why content may not say this at all.
    fn refused(&self, key: &Key, value: &Value) -> Option<String> {
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
    fn decide(&mut self, key: &'static Key, ask: Ask) {
        let Some(default) = key.default_value() else { return };
        let on_record = match self.consent {
            _ if !key.content.is_recorded() => None,
            Consent::First => None,
            Consent::Known(_) | Consent::Unknown(_) => self.pins.get(key),
        };
        let Some(on_record) = on_record else {
            if let Ask::For(at, value) = ask {
                self.apply(key, at, value);
            }
            return;
        };
        match ask {
            Ask::For(at, value) if may_change(key, &value.clone().over(&default), &on_record) => {
                self.apply(key, at, value);
            }
            Ask::For(at, value) => {
                self.wait(Unanswered { key, at, asked: value.over(&default), held: on_record });
            }
            Ask::LeftOut | Ask::Unusable if on_record == default => {}
            Ask::LeftOut if may_change(key, &default, &on_record) => self.pins.set(key, default),
            // It does not go on record that a mistake switched something off.
            Ask::Unusable if may_change(key, &default, &on_record) => {}
            Ask::LeftOut if key.content == ContentPolicy::Pinned => {
                let at = Position::default();
                self.wait(Unanswered { key, at, asked: default, held: on_record });
            }
            Ask::LeftOut | Ask::Unusable => self.hold(key, on_record),
        }
    }

    /// What content asks for holds from now on.
    fn apply(&mut self, key: &'static Key, at: Position, value: Value) {
        let default = key.default_value();
        let watched = key.content.is_recorded() || key.name.starts_with("scripts.");
        if watched && default.as_ref() != Some(&value) {
            self.settled.notices.push(format!("{} sets {} to {value}", self.file, key.name));
        }
        if key.content.is_recorded() {
            let whole =
                default.map_or_else(|| value.clone(), |default| value.clone().over(&default));
            self.pins.set(key, whole);
        }
        self.assign(key, value, Origin::Content(self.file.clone()).at(at));
    }

    /// What is on record holds, whatever content says.
    fn hold(&mut self, key: &'static Key, value: Value) {
        self.assign(key, value, Origin::Pinned(self.file.clone()));
    }

    /// The same, until the operator agrees to what content asks for.
    fn wait(&mut self, unanswered: Unanswered) {
        self.hold(unanswered.key, unanswered.held.clone());
        self.settled.asked.push(unanswered);
    }

    fn assign(&mut self, key: &'static Key, value: Value, origin: Origin) {
        if let (Value::Commands(named), Some(Value::Commands(known))) =
            (&value, key.default_value())
        {
            let new =
                named.iter().filter(|(extension, command)| known.get(*extension) != Some(command));
            self.settled.named_by_content.extend(new.map(|(extension, _)| extension.clone()));
        }
        self.settled.assign(key, value, origin);
    }

    /// Whatever else content says: a mistake under `scripts` may have been meant to forbid them.
    fn turn_scripts_off(&mut self) {
        if self.settled.scripts_off.is_none() {
            return;
        }
        if let Some(key) = Key::named("scripts.enabled") {
            self.settled.assign(key, Value::Flag(false), Origin::Invalid(self.file.clone()));
        }
        self.settled.notices.push(format!("{} is invalid, so scripts are off", self.file));
    }

    fn place(&self, at: Position) -> String {
        if at.line > 0 { format!("{}:{}", self.file, at.line) } else { self.file.clone() }
    }

    fn found(&mut self, finding: Finding) {
        self.settled.diagnostics.push(self.served.diagnostic(finding));
    }
}

impl Settled {
    /// What waits for consent, once it is known what the operator says: what they decided needs none.
    pub(super) fn wait(&mut self, served: &ServedContent, consent: &Consent) {
        for Unanswered { key, at, asked, held } in std::mem::take(&mut self.asked) {
            let origin = self.values.iter().find(|(known, ..)| known.name == key.name);
            if !matches!(origin, Some((.., Origin::Pinned(_)))) {
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
                        served.identity
                    ),
                ),
            };
            let finding = Finding::new(Code::ConfigWaiting, at, message).hint(hint);
            let diagnostic = served.diagnostic(finding);
            self.diagnostics.push(diagnostic.clone());
            self.waiting.push(Waiting { key, asked, held, diagnostic });
        }
    }
}
