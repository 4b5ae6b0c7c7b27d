//! SARIF 2.1.0, which code scanners exchange and GitHub's code scanning reads.

use serde_json::{Value, json};

use super::{Annotation, level_name};

/// One rule that annotations refer to.
#[derive(Debug)]
pub(in crate::cli) struct SarifRule {
    /// The code of its annotations.
    pub(in crate::cli) id: &'static str,
    /// What it means, in one sentence.
    pub(in crate::cli) meaning: &'static str,
    /// The explanation, as Markdown.
    pub(in crate::cli) help: String,
    /// The level where no configuration changes it.
    pub(in crate::cli) level: &'static str,
}

/// The log of one run.
pub(in crate::cli) fn log(rules: &[SarifRule], annotations: &[Annotation]) -> Value {
    let described: Vec<Value> = rules
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": {"text": rule.meaning},
                "help": {"text": rule.help, "markdown": rule.help},
                "defaultConfiguration": {"level": rule.level},
            })
        })
        .collect();
    let results: Vec<Value> =
        annotations.iter().map(|annotation| result(rules, annotation)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "skills-mcp",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": described,
            }},
            // Columns count characters, not UTF-16 units.
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(rules: &[SarifRule], annotation: &Annotation) -> Value {
    let mut result = json!({
        "ruleId": annotation.code,
        "level": level_name(annotation.level),
        "message": {"text": annotation.whole_message()},
    });
    if let Some(object) = result.as_object_mut() {
        if let Some(index) = rules.iter().position(|rule| rule.id == annotation.code) {
            object.insert("ruleIndex".to_owned(), json!(index));
        }
        if !annotation.file.is_empty() {
            let mut place = json!({"artifactLocation": {"uri": uri(&annotation.file)}});
            if annotation.line > 0
                && let Some(place) = place.as_object_mut()
            {
                let column = annotation.column.max(1);
                let region = json!({"startLine": annotation.line, "startColumn": column});
                place.insert("region".to_owned(), region);
            }
            object.insert("locations".to_owned(), json!([{"physicalLocation": place}]));
        }
    }
    result
}

/// A path as a URI reference: everything but unreserved characters and `/` is percent-encoded.
fn uri(path: &str) -> String {
    use std::fmt::Write as _;

    let mut uri = String::with_capacity(path.len());
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~') {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_points_at_its_rule_and_its_place() {
        let rules = [SarifRule {
            id: "field-invalid",
            meaning: "a field is wrong",
            help: "Write it right.".to_owned(),
            level: "warning",
        }];
        let log = log(&rules, &[super::super::sample()]);
        let at = |pointer: &str| log.pointer(pointer).cloned().unwrap();
        let place = "/runs/0/results/0/locations/0/physicalLocation";
        assert_eq!(at("/runs/0/results/0/ruleIndex"), json!(0));
        assert_eq!(at(&format!("{place}/artifactLocation/uri")), json!("ui/a%2Cb%3A%20100%25.md"));
        assert_eq!(at(&format!("{place}/region")), json!({"startLine": 3, "startColumn": 7}));
    }
}
