//! [`ConfigValue`]: the value of a key.

use std::{collections::BTreeMap, fmt};

use serde_json::Value as Json;

/// A valid value of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum ConfigValue {
    /// A boolean.
    Flag(bool),
    /// A number from 0 to 1.
    Share(f64),
    /// A whole number.
    Count(u64),
    /// A text.
    Text(String),
    /// A list of words.
    Words(Vec<String>),
    /// Extension → command.
    Commands(BTreeMap<String, String>),
    /// Code of a diagnostic → level.
    Rules(BTreeMap<String, String>),
}

impl ConfigValue {
    /// Whether this only narrows what `other` allows.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Flag(new), Self::Flag(old)) => !new || *old,
            (Self::Share(new), Self::Share(old)) => new <= old,
            (Self::Count(new), Self::Count(old)) => new <= old,
            (Self::Words(new), Self::Words(old)) => new.iter().all(|word| old.contains(word)),
            (Self::Commands(new), Self::Commands(old)) => {
                new.iter().all(|(extension, command)| old.get(extension) == Some(command))
            }
            _ => false,
        }
    }

    /// This value over the one below it: maps are merged entry by entry, everything else is replaced.
    #[must_use]
    pub(super) fn over(self, below: &Self) -> Self {
        match (below, self) {
            (Self::Commands(below), Self::Commands(above)) => {
                Self::Commands(below.clone().into_iter().chain(above).collect())
            }
            (Self::Rules(below), Self::Rules(above)) => {
                Self::Rules(below.clone().into_iter().chain(above).collect())
            }
            (_, value) => value,
        }
    }

    /// Exactly as it is, secrets of a URL included: for a record that only its owner reads.
    pub(super) fn json(&self) -> Json {
        match self {
            Self::Flag(flag) => Json::from(*flag),
            Self::Share(share) => Json::from(*share),
            Self::Count(count) => Json::from(*count),
            Self::Text(text) => Json::from(text.as_str()),
            Self::Words(words) => Json::from(words.clone()),
            Self::Commands(pairs) | Self::Rules(pairs) => Json::Object(
                pairs
                    .iter()
                    .map(|(key, value)| (key.clone(), Json::from(value.as_str())))
                    .collect(),
            ),
        }
    }

    /// Whether a command in it names its program by a path.
    pub(super) fn has_program_path(&self) -> bool {
        let program =
            |command: &String| command.split_whitespace().next().unwrap_or_default().to_owned();
        matches!(self, Self::Commands(commands) if commands.values().any(|command| {
            program(command).contains(['/', '\\'])
        }))
    }
}

/// The value for display: parts of a URL that may be a secret are left out.
impl fmt::Display for ConfigValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Share(share) => write!(f, "{share}"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Text(text) if text.is_empty() => f.write_str("\"\""),
            Self::Text(text) => f.write_str(&without_userinfo(text)),
            Self::Words(words) => write!(f, "[{}]", words.join(", ")),
            Self::Commands(pairs) | Self::Rules(pairs) => {
                let pairs: Vec<String> =
                    pairs.iter().map(|(name, value)| format!("{name}: {value}")).collect();
                write!(f, "{{{}}}", pairs.join(", "))
            }
        }
    }
}

/// A URL without the name and password in it, and without its query: people put tokens into both.
pub fn without_userinfo(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (place, query) = rest.split_once('?').map_or((rest, ""), |(place, _)| (place, "?…"));
    let (host, path) = place
        .split_once('/')
        .map_or((place, String::new()), |(host, path)| (host, format!("/{path}")));
    let host =
        host.rsplit_once('@').map_or_else(|| host.to_owned(), |(_, host)| format!("…@{host}"));
    format!("{scheme}://{host}{path}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_passwords_and_queries_of_urls_are_not_shown() {
        let shown = |text| without_userinfo(text);
        assert_eq!(shown("https://x-access-token:ghp_SECRET@h.org/x.git"), "https://…@h.org/x.git");
        assert_eq!(shown("https://h.org/x?token=SECRET"), "https://h.org/x?…");
        assert_eq!(shown("https://h.org"), "https://h.org");
        assert_eq!(shown("/a/b@c"), "/a/b@c");
    }
}
