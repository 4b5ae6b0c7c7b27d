//! Checks a call's arguments against the tool's schema, with messages that name the argument.

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Refusal;

/// Longer queries are refused.
const MAX_QUERY_CHARS: usize = skills_core::route::MAX_REQUEST_CHARS;

/// The schema of an argument type: an object that takes nothing it does not name.
pub(super) fn schema<T: JsonSchema>() -> Map<String, Value> {
    // `uint` and `double` are formats that only the library knows.
    let plain = RecursiveTransform(|schema: &mut Schema| drop(schema.remove("format")));
    let mut settings = SchemaSettings::draft2020_12().with_transform(plain);
    settings.meta_schema = None;
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    object(schema.to_value())
}

/// A schema as clients are shown it.
pub(super) fn object(mut schema: Value) -> Map<String, Value> {
    name_properties(&mut schema);
    if let Value::Object(schema) = schema { schema } else { Map::new() }
}

/// Gives every schema of an object its `properties`, be they none: some clients and models' APIs refuse a tool, or the
/// whole server, where one has none.
fn name_properties(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("type").is_some_and(is_object) && !members.contains_key("properties") {
                members.insert("properties".to_owned(), Value::Object(Map::new()));
            }
            members.values_mut().for_each(name_properties);
        }
        Value::Array(items) => items.iter_mut().for_each(name_properties),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a schema's `type` is an object's: the word, or a list with it.
fn is_object(kind: &Value) -> bool {
    let is = |kind: &Value| kind.as_str() == Some("object");
    is(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is))
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
                "{tool} has no argument '{name:.200}'; it takes {takes}"
            )));
        };
        if let Some(wrong) = wrong(property, value) {
            return Err(Refusal::Params(format!("{tool}: '{name}' must be {wrong}")));
        }
    }
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let described = |name: &str| {
        let kind = properties.get(name).and_then(|property| property.get("type"));
        let note = if kind.is_some_and(is_object) { " (an object; {} for none)" } else { "" };
        format!("{name}{note}")
    };
    let missing: Vec<String> =
        required.filter(|name| !arguments.contains_key(*name)).map(described).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(Refusal::Params(format!("{tool} needs {}", missing.join(" and "))))
    }
}

/// Refuses a query over the limit, which the schema does not name: every word there costs every client.
pub(super) fn refuse_long_query(query: &str) -> Result<(), Refusal> {
    if query.chars().nth(MAX_QUERY_CHARS).is_none() {
        return Ok(());
    }
    let message = format!(
        "The query is over {MAX_QUERY_CHARS} characters. Say what is looked for in a sentence."
    );
    Err(Refusal::Plain(message))
}

/// What a value should have been, where it is not what the schema says.
fn wrong(property: &Value, value: &Value) -> Option<String> {
    let number = |key: &str| property.get(key).and_then(Value::as_u64);
    let expected = property.get("type").and_then(Value::as_str).unwrap_or_default();
    let fits = match expected {
        "" => true,
        "integer" => value.is_u64() || value.is_i64(),
        _ => expected == kind(value),
    };
    if !fits {
        let article = if expected == "integer" { "an" } else { "a" };
        return Some(format!("{article} {expected}, not {}", described(value)));
    }
    if let (Some(min), Some(max)) = (number("minimum"), number("maximum"))
        && !value.as_u64().is_some_and(|given| (min..=max).contains(&given))
    {
        return Some(format!("a whole number from {min} to {max}"));
    }
    if number("minLength").is_some_and(|min| min > 0)
        && value.as_str().is_some_and(|text| text.trim().is_empty())
    {
        return Some("some text, not empty".to_owned());
    }
    let words: Vec<&str> = property
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !words.is_empty() && value.as_str().is_none_or(|word| !words.contains(&word)) {
        return Some(format!("one of {}", words.join(", ")));
    }
    None
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::surface::TOOLS;

    /// Every schema of an object in a schema that has no `properties`, by its place.
    fn lacking(schema: &Value, place: &str, found: &mut Vec<String>) {
        match schema {
            Value::Object(members) => {
                let properties = members.get("properties").is_some_and(Value::is_object);
                if members.get("type").is_some_and(is_object) && !properties {
                    found.push(place.to_owned());
                }
                for (key, value) in members {
                    lacking(value, &format!("{place}/{key}"), found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| lacking(item, place, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn a09_every_object_schema_of_every_tool_has_properties() {
        let mut found = Vec::new();
        for tool in TOOLS {
            let schemas = [Some((tool.input)()), tool.output.map(|output| output())];
            for schema in schemas.into_iter().flatten() {
                assert_eq!(schema.get("type"), Some(&json!("object")), "{}", tool.name);
                lacking(&Value::Object(schema), tool.name, &mut found);
            }
        }
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn a09_nested_objects_get_properties_and_what_has_them_keeps_them() {
        let schema = object(json!({
            "type": "object",
            "additionalProperties": {"type": ["object", "null"]},
            "$defs": {"x": {"type": "object", "properties": {"type": {"type": "string"}}}},
        }));
        assert_eq!(
            Value::Object(schema),
            json!({
                "type": "object",
                "properties": {},
                "additionalProperties": {"type": ["object", "null"], "properties": {}},
                "$defs": {"x": {"type": "object", "properties": {"type": {"type": "string"}}}},
            })
        );
    }
}
