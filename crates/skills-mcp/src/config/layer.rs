//! One layer: what was written in one place, read but not yet judged.

use std::fmt;

use skills_core::{
    diagnostic::Position,
    yaml::{self, Entry, Node, YamlError},
};

use super::{keys::Key, value::Value};

/// Who wrote a value, lowest precedence first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// `config.yaml` of the content.
    Content(String),
    /// What was pinned when the content was first served; its `config.yaml` asks for something else now.
    Pinned(String),
    /// Nobody: the content's `config.yaml` is invalid here.
    Invalid(String),
    /// The user's own file.
    User(String),
    /// A variable.
    Environment(&'static str),
    /// `--set`.
    Flag,
}

impl Origin {
    /// The same origin with the line a value stands on, where it is a file.
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

impl fmt::Display for Origin {
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

/// What one place says.
#[derive(Debug)]
pub struct Layer {
    /// Who says it.
    pub origin: Origin,
    /// Keys that exist.
    pub settings: Vec<Setting>,
    /// Keys that do not.
    pub unknown: Vec<(String, Position)>,
}

/// One key with what was written for it.
#[derive(Debug)]
pub struct Setting {
    /// Which key.
    pub key: &'static Key,
    /// Where in its file.
    pub at: Position,
    /// The value, or what is expected instead of what was written.
    pub value: Result<Value, Wrong>,
}

/// A value that is not one.
#[derive(Debug)]
pub struct Wrong {
    /// What was written.
    pub written: String,
    /// What is expected.
    pub expected: String,
}

impl Layer {
    /// Reads a `config.yaml`.
    pub fn from_yaml(origin: Origin, text: &str) -> Result<Self, YamlError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let root = yaml::parse(text)?;
        let mut layer = Self { origin, settings: Vec::new(), unknown: Vec::new() };
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
                Some(entries) => entries.iter().for_each(|entry| layer.take(&group.key, entry)),
                None if !is_group(&group.key) => layer.unknown.push((group.key.clone(), group.at)),
                None if group.value.is_null() => {}
                None => layer.misshapen(group),
            }
        }
        Ok(layer)
    }

    fn take(&mut self, group: &str, entry: &Entry) {
        let name = format!("{group}.{}", entry.key);
        match Key::named(&name) {
            Some(key) => {
                let value = key
                    .read(&entry.value)
                    .map_err(|expected| Wrong { written: written(&entry.value), expected });
                self.settings.push(Setting { key, at: entry.value.at, value });
            }
            None => self.unknown.push((name, entry.at)),
        }
    }

    /// A group that is a value: every key of it is wrong, so that `scripts: false` does not leave scripts on.
    fn misshapen(&mut self, group: &Entry) {
        let prefix = format!("{}.", group.key);
        for key in super::KEYS.iter().filter(|key| key.name.starts_with(&prefix)).take(1) {
            let expected = format!(
                "`{}:` with `{}` below it",
                group.key,
                key.name.trim_start_matches(&prefix)
            );
            let value = Err(Wrong { written: written(&group.value), expected });
            self.settings.push(Setting { key, at: group.value.at, value });
        }
    }

    /// One key set by a variable or a flag.
    pub(super) fn set(&mut self, key: &'static Key, text: &str) {
        let value =
            key.read_text(text).map_err(|expected| Wrong { written: text.to_owned(), expected });
        self.settings.push(Setting { key, at: Position::default(), value });
    }
}

fn is_group(name: &str) -> bool {
    super::KEYS.iter().any(|key| key.name.split('.').next() == Some(name))
}

fn written(node: &Node) -> String {
    node.text().map_or_else(|| node.kind().to_owned(), str::to_owned)
}
