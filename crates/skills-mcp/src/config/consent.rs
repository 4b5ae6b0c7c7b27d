//! What is on record for a source: the values that applied when it was first served, narrowed since by its own commits
//! or changed by the operator's consent. Pure; `consent_file` keeps the record in a file.
//!
//! Only values that differ from a key's default are recorded.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use skills_core::{diagnostic::Diagnostic, yaml};

use super::{
    keys::{ConfigKey, KEYS},
    trust::ContentPolicy,
    value::ConfigValue,
};

/// The recorded values of one source, by key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PinnedValues(BTreeMap<&'static str, ConfigValue>);

impl PinnedValues {
    /// What is on record for a key: its default where nothing is.
    pub fn get(&self, key: &ConfigKey) -> Option<ConfigValue> {
        self.0.get(key.name).cloned().or_else(|| key.default_value())
    }

    /// Records a value.
    pub(super) fn set(&mut self, key: &'static ConfigKey, value: ConfigValue) {
        if key.default_value().as_ref() == Some(&value) {
            self.0.remove(key.name);
        } else {
            self.0.insert(key.name, value);
        }
    }

    /// Every value that differs from its default, in the order of the table.
    pub fn values(&self) -> impl Iterator<Item = (&'static ConfigKey, &ConfigValue)> {
        KEYS.iter().filter_map(|key| Some((key, self.0.get(key.name)?)))
    }

    /// Of these values only those that narrow the default: what content may always have.
    #[must_use]
    pub fn narrowing(&self) -> Self {
        let narrows = |name: &str, value: &ConfigValue| {
            let key = ConfigKey::named(name).filter(|key| key.content == ContentPolicy::Pinned);
            key.and_then(|key| Some(key.narrows(value, &key.default_value()?))).unwrap_or(false)
        };
        let values = self.0.iter().filter(|(name, value)| narrows(name, value));
        Self(values.map(|(name, value)| (*name, value.clone())).collect())
    }

    /// The values as the file has them.
    pub(super) fn json(&self) -> BTreeMap<String, Json> {
        self.0.iter().map(|(name, value)| ((*name).to_owned(), value.json())).collect()
    }

    /// Reads the values of the file; an invalid value is an error that names its key. A key that is no longer recorded is
    /// skipped.
    pub(super) fn read(values: &BTreeMap<String, Json>) -> Result<Self, String> {
        let mut pins = Self::default();
        for (name, value) in values {
            let Some(key) = ConfigKey::named(name).filter(|key| key.content.is_recorded()) else {
                continue;
            };
            let node = yaml::parse(&value.to_string()).ok();
            let value = node.and_then(|node| key.read(&node).ok());
            pins.set(key, value.ok_or_else(|| format!("`{name}` has no value of its kind"))?);
        }
        Ok(pins)
    }
}

/// The operator's consent to a source.
#[derive(Debug, Clone, PartialEq)]
pub enum Consent {
    /// The source was never served: what it asks for now applies, and goes on record.
    First,
    /// This is on record.
    Known(PinnedValues),
    /// The record cannot be read or written, for this reason: content may only narrow the defaults.
    Unknown(String),
}

/// A setting that a source asks for and that does not apply until the operator agrees.
#[derive(Debug, Clone)]
pub struct PendingConsent {
    /// The key.
    pub key: &'static ConfigKey,
    /// What the source asks for.
    pub asked: ConfigValue,
    /// What applies instead.
    pub held: ConfigValue,
    /// The same as a finding in the source's `config.yaml`.
    pub diagnostic: Diagnostic,
}

impl PendingConsent {
    /// Whether the key applies to each source by itself, and not only to the first one: how it is fetched.
    pub fn is_of_its_source(&self) -> bool {
        ["git.", "refresh."].iter().any(|group| self.key.name.starts_with(group))
    }
}

/// Whether a source may change what is on record without the operator's consent.
pub(super) fn may_change(key: &ConfigKey, asked: &ConfigValue, on_record: &ConfigValue) -> bool {
    asked == on_record || (key.content == ContentPolicy::Pinned && key.narrows(asked, on_record))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> &'static ConfigKey {
        ConfigKey::named(name).unwrap()
    }

    fn value(name: &str, text: &str) -> ConfigValue {
        key(name).read_text(text).unwrap()
    }

    // CONFIG-5
    #[test]
    fn e05_a_later_commit_may_narrow_what_is_pinned_and_nothing_else() {
        for (name, asked, on_record, may) in [
            ("analytics.enabled", "false", "true", true),
            ("analytics.enabled", "true", "false", false),
            ("analytics.endpoint", "", "https://a.org/x", true),
            ("analytics.endpoint", "https://b.org/x", "https://a.org/x", false),
            ("analytics.endpoint", "https://a.org/x", "", false),
            ("analytics.context", "tokens", "full", true),
            ("analytics.context", "off", "tokens", true),
            ("analytics.context", "full", "off", false),
            ("analytics.file", "b.jsonl", "a.jsonl", false),
            ("scripts.enabled", "true", "false", false),
            ("scripts.allowed_extensions", "[.sh]", "[.sh, .py]", true),
            ("scripts.allowed_extensions", "[.sh, .rb]", "[.sh, .py]", false),
            ("scripts.runners", "{.sh: bash}", "{.sh: bash, .rb: ruby}", true),
            ("scripts.runners", "{.sh: evil}", "{.sh: bash}", false),
            ("git.branch", "next", "main", false),
            ("refresh.enabled", "false", "true", false),
            ("refresh.interval_minutes", "10080", "15", false),
            ("git.timeout_seconds", "1", "120", false),
        ] {
            let (asked, on_record) = (value(name, asked), value(name, on_record));
            assert_eq!(may_change(key(name), &asked, &on_record), may, "{name}: {asked}");
        }
    }

    #[test]
    fn a_record_reads_back_as_it_was_written() {
        let mut pins = PinnedValues::default();
        for (name, text) in [
            ("analytics.enabled", "true"),
            ("analytics.endpoint", "https://u:p@a.org/x?y=\"z\"#\u{1f600}"),
            ("analytics.context", "tokens"),
            ("scripts.allowed_extensions", "[.sh]"),
            ("scripts.runners", "{.sh: 'bash -e', .rb: ruby}"),
            ("refresh.interval_minutes", "60"),
        ] {
            pins.set(key(name), value(name, text));
        }
        assert_eq!(PinnedValues::read(&pins.json()), Ok(pins.clone()));
        assert_eq!(pins.values().count(), 6);
        pins.set(key("analytics.enabled"), ConfigValue::Flag(false));
        assert_eq!(pins.values().count(), 5, "the default is not written down");
        let wrong = BTreeMap::from([("analytics.enabled".to_owned(), Json::from("maybe"))]);
        assert!(PinnedValues::read(&wrong).unwrap_err().contains("analytics.enabled"));
        let gone = BTreeMap::from([("analytics.gone".to_owned(), Json::from(1))]);
        assert_eq!(PinnedValues::read(&gone), Ok(PinnedValues::default()));
    }
}
