//! Reads a compose file as Docker Compose does: maps that are merged into others, variables, and a file that changes another.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use skills_core::yaml::{YamlNode, YamlValue, parse};

/// The variables of an environment, by name.
pub(crate) type Variables = BTreeMap<String, String>;

/// The variables that a `.env` file sets.
pub(crate) fn dotenv(text: &str) -> Variables {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pair = |line: &str| {
        let (name, value) = line.split_once('=').unwrap_or_else(|| panic!("{line}"));
        (name.to_owned(), value.trim_matches('\'').to_owned())
    };
    lines.map(pair).collect()
}

/// The names of the variables that a compose file needs.
pub(crate) fn names(text: &str) -> BTreeSet<String> {
    let starts = text.split("${").skip(1);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    starts.map(|rest| rest.chars().take_while(|c| is_name(*c)).collect()).collect()
}

/// A compose file with its variables filled in; else what is missing. Every scalar is text.
pub(crate) fn read(text: &str, variables: &Variables) -> Result<Value, String> {
    resolved(&parse(text).unwrap(), variables)
}

fn resolved(node: &YamlNode, variables: &Variables) -> Result<Value, String> {
    match &node.value {
        YamlValue::Scalar { text, .. } => filled(text, variables).map(Value::String),
        YamlValue::Sequence(items) => items.iter().map(|item| resolved(item, variables)).collect(),
        YamlValue::Mapping(entries) => {
            let mut map = Map::new();
            for entry in entries {
                let value = resolved(&entry.value, variables)?;
                if entry.key == "<<" {
                    let Value::Object(merged) = value else { panic!("`<<` merges a map") };
                    for (key, value) in merged {
                        map.entry(key).or_insert(value);
                    }
                } else {
                    map.insert(entry.key.clone(), value);
                }
            }
            Ok(Value::Object(map))
        }
    }
}

/// A text with `${NAME}`, `${NAME:-DEFAULT}` and `${NAME:?MESSAGE}` filled in.
fn filled(text: &str, variables: &Variables) -> Result<String, String> {
    let mut parts = text.split("${");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    assert!(!whole.contains('$'), "a variable without braces: {text}");
    for part in parts {
        let (variable, rest) = part.split_once('}').unwrap_or_else(|| panic!("{text}"));
        let (name, otherwise) = variable.split_once(':').unwrap_or((variable, ""));
        let value = variables.get(name).filter(|value| !value.is_empty());
        match (value, otherwise.strip_prefix('-')) {
            (Some(value), _) => whole.push_str(value),
            (None, Some(default)) => whole.push_str(default),
            (None, None) => return Err(format!("{name}: {}", otherwise.trim_start_matches('?'))),
        }
        assert!(!rest.contains('$'), "a variable without braces: {text}");
        whole.push_str(rest);
    }
    Ok(whole)
}

/// What a file becomes by another that changes it: maps are merged, lists grow, everything else is replaced.
pub(crate) fn changed(below: Value, above: Value) -> Value {
    match (below, above) {
        (Value::Object(mut below), Value::Object(above)) => {
            for (key, value) in above {
                let value = match below.remove(&key) {
                    Some(old) => changed(old, value),
                    None => value,
                };
                below.insert(key, value);
            }
            Value::Object(below)
        }
        (Value::Array(below), Value::Array(above)) => [below, above].concat().into(),
        (_, above) => above,
    }
}

/// The texts of a list.
pub(crate) fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().unwrap_or_else(|| panic!("a list, not {list}"));
    items.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

/// A value of the compose file.
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    value.pointer(path).unwrap_or_else(|| panic!("no {path} in {value}"))
}

/// The first text with the others in place of those that it has.
pub(crate) fn replaced(text: &str, places: &[(&str, String)]) -> String {
    places.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
