//! Checks a call's arguments against the tool's schema, with messages that name the argument.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Refusal;

/// The schema of an argument type: an object that takes nothing it does not name.
pub(super) fn schema<T: JsonSchema>() -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.as_object().cloned().unwrap_or_default()
}

/// Reads checked arguments into their type.
pub(super) fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, Refusal> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| Refusal::Params(error.to_string()))
}

/// Refuses unknown, missing and wrongly typed arguments.
pub(super) fn check(
    tool: &str,
    schema: &Map<String, Value>,
    arguments: &Map<String, Value>,
) -> Result<(), Refusal> {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    for (name, value) in arguments {
        let Some(property) = properties.get(name) else {
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let takes = if known.is_empty() { "no arguments".to_owned() } else { known.join(", ") };
            return Err(Refusal::Params(format!(
                "{tool} has no argument '{name}'; it takes {takes}"
            )));
        };
        let expected = property.get("type").and_then(Value::as_str).unwrap_or_default();
        if !expected.is_empty() && expected != kind(value) {
            return Err(Refusal::Params(format!(
                "{tool}: '{name}' must be a {expected}, not {}",
                described(value)
            )));
        }
    }
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let missing: Vec<&str> = required.filter(|name| !arguments.contains_key(*name)).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(Refusal::Params(format!("{tool} needs {}", missing.join(" and "))))
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) | Value::Object(_) => format!("an {}", kind(value)),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => format!("a {}", kind(value)),
    }
}
