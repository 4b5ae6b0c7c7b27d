//! A bundle's front matter as JSON, verbatim: every field, with the values of YAML 1.2's core schema. Clients parse the file again
//! and compare.

use serde_json::{Map, Number, Value};
use skills_core::yaml::{CoreScalar, YamlNode, YamlValue};

/// The JSON of a node that conforms; a number that JSON does not have is null.
pub(super) fn json(node: &YamlNode) -> Value {
    match &node.value {
        YamlValue::Sequence(items) => Value::Array(items.iter().map(json).collect()),
        YamlValue::Mapping(entries) => {
            let fields = entries.iter().map(|entry| (entry.key.clone(), json(&entry.value)));
            Value::Object(fields.collect::<Map<String, Value>>())
        }
        YamlValue::Scalar { .. } => match node.core() {
            Some(CoreScalar::Boolean(value)) => Value::Bool(value),
            Some(CoreScalar::Integer(number)) => Value::Number(number.into()),
            Some(CoreScalar::Float(number)) => {
                Number::from_f64(number).map_or(Value::Null, Value::Number)
            }
            Some(CoreScalar::Text(text)) => Value::String(text.to_owned()),
            Some(CoreScalar::Null) | None => Value::Null,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use skills_core::document::written_front_matter;

    // EXT-3
    #[test]
    fn every_field_is_there_with_its_value() {
        let text = "---\nname: a\nyes: yes\nversion: 1.10\nempty:\nlist: [014, 0x1F, 'x', true]\ndeep: {when: 2026-01-02, big: 1e3}\ntext: |\n  one\n  two\n---\n";
        assert_eq!(
            super::json(&written_front_matter(text).unwrap()),
            json!({
                "name": "a", "yes": "yes", "version": 1.1, "empty": null, "list": [14, 31, "x", true],
                "deep": {"when": "2026-01-02", "big": 1000}, "text": "one\ntwo\n",
            })
        );
    }
}
