//! [`Layer`]: the settings of one place (a file, a variable, the flags), read but not yet applied.

use std::{collections::BTreeMap, fmt};

use skills_core::{
    diagnostic::Position,
    yaml::{self, YamlEntry, YamlError, YamlNode, YamlValue},
};

use super::{
    keys::ConfigKey,
    kind::{ValueKind, rule},
    value::ConfigValue,
};

/// Where a value comes from, lowest precedence first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// Built in.
    Default,
    /// `config.yaml` of the content.
    Content(String),
    /// Pinned when the content was first served; its `config.yaml` asks for something else now.
    Pinned(String),
    /// The content's `config.yaml` is invalid, which turned this off.
    Invalid(String),
    /// The user's own file.
    User(String),
    /// A variable.
    Environment(&'static str),
    /// `--set`.
    Flag,
}

impl SettingOrigin {
    /// The same origin with a value's line, where it is a file.
    #[must_use]
    pub fn at(&self, at: Position) -> Self {
        match self {
            Self::Content(file) => Self::Content(format!("{file}:{}", at.line)),
            Self::User(file) => Self::User(format!("{file}:{}", at.line)),
            Self::Default
            | Self::Pinned(_)
            | Self::Invalid(_)
            | Self::Environment(_)
            | Self::Flag => self.clone(),
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Content(file) | Self::User(file) => f.write_str(file),
            Self::Pinned(file) => write!(f, "pinned; see `skills-mcp trust` ({file})"),
            Self::Invalid(file) => write!(f, "{file} is invalid"),
            Self::Environment(variable) => f.write_str(variable),
            Self::Flag => f.write_str("--set"),
        }
    }
}

/// The settings of one place.
#[derive(Debug)]
pub struct Layer {
    /// Which place.
    pub origin: SettingOrigin,
    /// Keys that exist.
    pub settings: Vec<Setting>,
    /// Keys that do not.
    pub unknown: Vec<(String, Position)>,
}

/// One key with what was written for it.
#[derive(Debug)]
pub struct Setting {
    /// Which key.
    pub key: &'static ConfigKey,
    /// Where in its file.
    pub at: Position,
    /// The value, or what is expected instead of what was written.
    pub value: Result<ConfigValue, InvalidValue>,
}

/// A value that its key does not accept.
#[derive(Debug)]
pub struct InvalidValue {
    /// What is wrong with it.
    pub message: String,
    /// Whether it is a part of the value, and the other parts count.
    pub is_part: bool,
}

impl InvalidValue {
    fn whole(key: &ConfigKey, written: &str, expected: &str) -> Self {
        let message = format!("`{}` is `{written}`, but must be {expected}", key.name);
        Self { message, is_part: false }
    }
}

impl Layer {
    pub(super) fn new(origin: SettingOrigin) -> Self {
        Self { origin, settings: Vec::new(), unknown: Vec::new() }
    }

    /// Reads a `config.yaml`.
    pub fn from_yaml(origin: SettingOrigin, text: &str) -> Result<Self, YamlError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let root = yaml::parse(text)?;
        let mut layer = Self::new(origin);
        if root.is_null() {
            return Ok(layer);
        }
        let Some(groups) = root.entries() else {
            return Err(YamlError {
                at: root.at,
                message: format!("{} instead of `key: value` lines", root.kind()),
                refused: true,
            });
        };
        for group in groups {
            match group.value.entries() {
                Some(entries) => {
                    for entry in entries {
                        layer.read_entry(&group.key, entry);
                    }
                }
                None if !is_group(&group.key) => layer.unknown.push((group.key.clone(), group.at)),
                None if group.value.is_null() => {}
                None => layer.reject_group(group),
            }
        }
        Ok(layer)
    }

    fn read_entry(&mut self, group: &str, entry: &YamlEntry) {
        let name = format!("{group}.{}", entry.key);
        let Some(key) = ConfigKey::named(&name) else {
            self.unknown.push((name, entry.at));
            return;
        };
        let at = entry.value.at;
        if let Some(rules) = entry.value.entries().filter(|_| key.kind == ValueKind::Rules) {
            self.read_rules(key, at, rules);
            return;
        }
        let invalid =
            |expected: String| InvalidValue::whole(key, &written(&entry.value), &expected);
        let value = key.read(&entry.value).map_err(invalid);
        self.settings.push(Setting { key, at, value });
    }

    /// The rules that are right count, whatever is wrong with another: a misspelled code must not switch off all of them.
    fn read_rules(&mut self, key: &'static ConfigKey, at: Position, entries: &[YamlEntry]) {
        let mut rules = BTreeMap::new();
        let mut wrong = Vec::new();
        for entry in entries {
            match rule(entry) {
                Ok((code, level)) => drop(rules.insert(code, level)),
                Err((at, message)) => {
                    let value = Err(InvalidValue { message, is_part: true });
                    wrong.push(Setting { key, at, value });
                }
            }
        }
        self.settings.push(Setting { key, at, value: Ok(ConfigValue::Rules(rules)) });
        self.settings.extend(wrong);
    }

    /// A group that is a value counts as an invalid value of its first key, so that `scripts: false` does not leave
    /// scripts on.
    fn reject_group(&mut self, group: &YamlEntry) {
        let prefix = format!("{}.", group.key);
        if let Some(key) = super::KEYS.iter().find(|key| key.name.starts_with(&prefix)) {
            let expected = format!(
                "`{}:` with `{}` below it",
                group.key,
                key.name.trim_start_matches(&prefix)
            );
            let value = Err(InvalidValue::whole(key, &written(&group.value), &expected));
            self.settings.push(Setting { key, at: group.value.at, value });
        }
    }

    /// One key set by a variable or a flag.
    pub(super) fn set(&mut self, key: &'static ConfigKey, text: &str) {
        let value =
            key.read_text(text).map_err(|expected| InvalidValue::whole(key, text, &expected));
        self.settings.push(Setting { key, at: Position::default(), value });
    }
}

fn is_group(name: &str) -> bool {
    super::KEYS.iter().any(|key| key.name.split('.').next() == Some(name))
}

fn written(node: &YamlNode) -> String {
    match &node.value {
        // Text is what is wrong with it.
        YamlValue::Scalar { text, plain: false } => format!("\"{text}\""),
        YamlValue::Scalar { .. } | YamlValue::Sequence(_) | YamlValue::Mapping(_) => {
            node.text().map_or_else(|| node.kind().to_owned(), str::to_owned)
        }
    }
}
