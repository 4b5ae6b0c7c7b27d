//! [`ConfigLayers`]: ordered layers → [`ResolvedConfig`]: every key's value with its origin, and diagnostics about content.

use std::collections::BTreeSet;

use skills_core::diagnostic::Diagnostic;

use super::{
    ConfigError, Environment, VARIABLES,
    consent::{Consent, PendingConsent, PinnedValues},
    consent_file::ConsentFile,
    content::{ContentReview, ServedContent, UnansweredRequest},
    file::{FileStamp, read_users_file},
    keys::{ConfigKey, KEYS},
    layer::{Layer, Setting, SettingOrigin},
    settings::Settings,
    source_list::LIST_KEYS,
    trust::Trust,
    value::ConfigValue,
};

/// The operator's layers, read once at the start. Content's layer goes beneath them at every refresh.
#[derive(Debug, Default)]
pub struct ConfigLayers {
    /// User files, variables, flags: lowest first.
    operator: Vec<Layer>,
    /// How far content is trusted.
    pub trust: Trust,
    /// Warnings for the log, such as a key that does not exist.
    pub warnings: Vec<String>,
    /// What is on record for the sources.
    pub consent: ConsentFile,
    /// Whether a source's settings go on record when it is first served: only a server records them.
    records: bool,
}

/// A key with its value and where that came from.
pub(super) type ResolvedValue = (&'static ConfigKey, ConfigValue, SettingOrigin);

/// The configuration that the layers result in.
#[derive(Debug)]
pub struct ResolvedConfig {
    /// The values, typed.
    pub settings: Settings,
    /// Every key with its value and where that came from, in the order of the table.
    pub values: Vec<ResolvedValue>,
    /// What is wrong in content's file.
    pub diagnostics: Vec<Diagnostic>,
    /// What content changed that an operator should know of.
    pub notices: Vec<String>,
    /// Extensions whose runner only content named: the sandbox does not open the folders around such a runner.
    pub named_by_content: BTreeSet<String>,
    /// What is wrong in content's file that turned scripts off.
    pub scripts_off: Option<String>,
    /// What content asks for and is not given until the operator agrees.
    pub waiting: Vec<PendingConsent>,
    /// What will be on record for the source.
    pub pins: Option<PinnedValues>,
    /// What content asks for, before the operator's layers are applied.
    pub(super) unanswered: Vec<UnansweredRequest>,
}

impl ConfigLayers {
    /// Reads the operator's layers. Anything wrong in them is an error.
    pub fn read(environment: &Environment, flags: &[String]) -> Result<Self, ConfigError> {
        let consent = ConsentFile::new(environment.home.as_deref());
        let mut stack = Self { trust: trust(environment)?, consent, ..Self::default() };
        for file in environment.user_files() {
            let name = file.display().to_string();
            let text = read_users_file(&file).map_err(|error| ConfigError::Unreadable {
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
            let mut layer = Layer::new(SettingOrigin::Environment(variable.name));
            for (name, fixed) in variable.sets {
                if let Some(key) = ConfigKey::named(name) {
                    layer.set(key, fixed.unwrap_or(text));
                }
            }
            self.push(layer)?;
        }
        Ok(())
    }

    /// Adds a layer of the operator; an invalid value is an error, an unknown key a warning.
    fn push(&mut self, layer: Layer) -> Result<(), ConfigError> {
        for (name, at) in &layer.unknown {
            let near = did_you_mean(name);
            self.warnings.push(format!("{}:{}: unknown key `{name}`{near}", layer.origin, at.line));
        }
        for Setting { at, value, .. } in &layer.settings {
            if let Err(wrong) = value {
                let place = if at.line > 0 {
                    format!("{}:{}", layer.origin, at.line)
                } else {
                    layer.origin.to_string()
                };
                return Err(ConfigError::Value { place, message: wrong.message.clone() });
            }
        }
        self.operator.push(layer);
        Ok(())
    }

    /// The same for a server, which records a source's settings when it is first served.
    #[must_use]
    pub fn recording(mut self) -> Self {
        self.records = true;
        self
    }

    /// The current state of the record of consent.
    pub fn consent_stamp(&self) -> Option<FileStamp> {
        self.consent.stamp()
    }

    /// Resolves every key, with a source's settings beneath the operator's layers, as if the source were served for the
    /// first time. Never fails.
    pub fn resolve(&self, served: Option<&ServedContent>) -> ResolvedConfig {
        self.resolve_with(served.map(|served| (served, &Consent::First)))
    }

    /// The same, limited by the record of consent for the source.
    pub fn resolve_source(&self, served: Option<&ServedContent>) -> ResolvedConfig {
        let Some(served) = served else { return self.resolve(None) };
        let mut consent = self.consent.consent(&served.identities);
        // The operator did not name a project's source, so that serving it first is no consent.
        if served.of_project && consent == Consent::First {
            consent = Consent::Known(PinnedValues::default());
        }
        let resolved = self.resolve_with(Some((served, &consent)));
        // Under strict trust content gets less than it asks for, which must not limit it later.
        if !self.records || self.trust == Trust::Strict {
            return resolved;
        }
        self.record_consent(served, &consent, resolved)
    }

    fn record_consent(
        &self,
        served: &ServedContent,
        consent: &Consent,
        mut resolved: ResolvedConfig,
    ) -> ResolvedConfig {
        match (consent, &resolved.pins) {
            (Consent::First, pins) => {
                // A file that cannot be read asks for nothing, and that goes on record.
                let pins = pins.clone().unwrap_or_default();
                match self.consent.record_first(&served.identities, &pins) {
                    Ok(on_record) if on_record == pins => resolved,
                    Ok(on_record) => self.resolve_with(Some((served, &Consent::Known(on_record)))),
                    Err(why) => self.resolve_with(Some((served, &Consent::Unknown(why)))),
                }
            }
            (Consent::Known(before), Some(pins)) if before != pins => {
                // The narrower values apply all the same, for as long as this server runs.
                if let Err(why) = self.consent.narrow(&served.identities, before, pins) {
                    resolved.notices.push(why);
                }
                resolved
            }
            _ => resolved,
        }
    }

    fn resolve_with(&self, content: Option<(&ServedContent, &Consent)>) -> ResolvedConfig {
        let mut resolved = ResolvedConfig::defaults();
        if self.trust == Trust::Strict
            && let Some(key) = ConfigKey::named("scripts.network")
        {
            let off = ConfigValue::Text("off".to_owned());
            resolved.assign(key, off, SettingOrigin::Environment("SKILLS_TRUST"));
        }
        if let Some((served, consent)) = content {
            resolved.pins = ContentReview::new(&mut resolved, served, consent, self.trust).run();
        }
        for layer in &self.operator {
            for Setting { key, at, value } in &layer.settings {
                if let Ok(value) = value {
                    if let ConfigValue::Commands(commands) = value {
                        resolved.named_by_content.retain(|known| !commands.contains_key(known));
                    }
                    resolved.assign(key, value.clone(), layer.origin.at(*at));
                }
            }
        }
        if let Some((served, consent)) = content {
            resolved.report_unanswered(served, consent);
        }
        resolved.settings = Settings::of(&resolved.values);
        resolved
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

/// `; did you mean …?` where a key is near to this name.
fn did_you_mean(name: &str) -> String {
    ConfigKey::near(name).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

fn user_layer(file: String, text: &str) -> Result<Layer, ConfigError> {
    let mut layer = Layer::from_yaml(SettingOrigin::User(file.clone()), text)
        .map_err(|error| ConfigError::syntax(file, error))?;
    // What is no setting is read by `source_list`.
    layer
        .unknown
        .retain(|(name, _)| !LIST_KEYS.contains(&name.split('.').next().unwrap_or_default()));
    Ok(layer)
}

fn flag_layer(flags: &[String]) -> Result<Layer, ConfigError> {
    let mut layer = Layer::new(SettingOrigin::Flag);
    for flag in flags {
        let wrong = |message: String| ConfigError::Flag { written: flag.clone(), message };
        let (name, text) =
            flag.split_once('=').ok_or_else(|| wrong("there is no `=`".to_owned()))?;
        let name = name.trim();
        let key = ConfigKey::named(name)
            .ok_or_else(|| wrong(format!("there is no key `{name}`{}", did_you_mean(name))))?;
        layer.set(key, text);
    }
    Ok(layer)
}

impl ResolvedConfig {
    /// Whether both have the same values, origins, diagnostics and notices.
    pub fn is_same(&self, other: &Self) -> bool {
        let same = |(a, b): (&ResolvedValue, &ResolvedValue)| a.1 == b.1 && a.2 == b.2;
        self.values.iter().zip(&other.values).all(same)
            && self.diagnostics == other.diagnostics
            && self.notices == other.notices
    }

    fn defaults() -> Self {
        let values: Vec<ResolvedValue> = KEYS
            .iter()
            .filter_map(|key| Some((key, key.default_value()?, SettingOrigin::Default)))
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
            unanswered: Vec::new(),
        }
    }

    /// A key's value and origin.
    pub(super) fn find(&self, name: &str) -> Option<&ResolvedValue> {
        self.values.iter().find(|(key, ..)| key.name == name)
    }

    /// Maps are merged entry by entry, everything else is replaced.
    pub(super) fn assign(
        &mut self,
        key: &'static ConfigKey,
        value: ConfigValue,
        origin: SettingOrigin,
    ) {
        let Some(slot) = self.values.iter_mut().find(|(known, ..)| known.name == key.name) else {
            return;
        };
        slot.1 = value.over(&slot.1);
        slot.2 = origin;
    }
}

#[cfg(test)]
mod tests;
