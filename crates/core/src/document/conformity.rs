//! Whether a bundle's front matter conforms to Agent Skills, so that it can be published verbatim and every client that reads it
//! again finds the same values.
//!
//! One client refuses a whole list for one entry that does not conform, so that the check is strict where reading is lenient.
//! Not here: the name's relation to its folder, and the files beside it, which the catalog knows.

use crate::{
    diagnostic::{Code, Finding, Position},
    yaml::{CoreScalar, YamlNode, YamlValue},
};

/// A description is at most so long.
pub(crate) const MAX_DESCRIPTION_CHARS: usize = 1_024;
const MAX_COMPATIBILITY_CHARS: usize = 500;

/// Whether the front matter conforms. Where no other finding says why not, this adds one.
pub(super) fn check(front: &YamlNode, text: &str, findings: &mut Vec<Finding>) -> bool {
    let is_known = |finding: &Finding| {
        matches!(finding.code, Code::YamlRepaired | Code::NameInvalid)
            || (finding.code == Code::AllowedToolsForm
                && front.get("allowed-tools").is_some_and(|tools| tools.items().is_some()))
    };
    if findings.iter().any(is_known) {
        return false;
    }
    let Some((at, problem)) = problem(front, text) else { return true };
    let finding = Finding::new(Code::NotConforming, at, problem);
    findings.push(finding.hint("resources and the Skills extension publish it once this is right"));
    false
}

/// The first thing that does not conform, and where.
fn problem(front: &YamlNode, text: &str) -> Option<(Position, String)> {
    let opening = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !opening.starts_with("---\n") && !opening.starts_with("---\r\n") {
        return Some((Position::default(), "the first line is not `---` alone".to_owned()));
    }
    let fields = front.entries().unwrap_or_default();
    fields
        .iter()
        .find_map(|field| field_problem(&field.key, &field.value))
        .or_else(|| unequal(front))
}

/// What is wrong with a field that Agent Skills defines.
fn field_problem(key: &str, value: &YamlNode) -> Option<(Position, String)> {
    let text = match value.core() {
        Some(CoreScalar::Text(text)) => Some(text),
        Some(_) | None => None,
    };
    let is_within = |limit: usize| text.is_some_and(|text| text.chars().count() <= limit);
    let wanted = match key {
        // A name that is no name at all has a finding of its own.
        "name" if text.is_none_or(|text| text.trim() != text) => "text without blanks around it",
        "description" if !is_within(MAX_DESCRIPTION_CHARS) => "text of at most 1,024 characters",
        "license" | "allowed-tools" if text.is_none() => "text",
        "compatibility" if !is_within(MAX_COMPATIBILITY_CHARS) || text == Some("") => {
            "text of at most 500 characters"
        }
        "metadata" => {
            let is_text = |value: &YamlNode| matches!(value.core(), Some(CoreScalar::Text(_)));
            let Some(entries) = value.entries() else { return Some(unlike(key, value, "a map")) };
            let wrong = entries.iter().find(|entry| !is_text(&entry.value))?;
            return Some(unlike(
                &format!("metadata.{}", wrong.key),
                &wrong.value,
                "text in quotes",
            ));
        }
        _ => return None,
    };
    Some(unlike(key, value, wanted))
}

fn unlike(key: &str, value: &YamlNode, wanted: &str) -> (Position, String) {
    let is = match value.core() {
        Some(CoreScalar::Text(text)) => format!("text of {} characters", text.chars().count()),
        Some(_) | None => value.kind().to_owned(),
    };
    (value.at, format!("`{key}` is {is}; Agent Skills wants {wanted}"))
}

/// The first value that readers of YAML or JSON do not all read alike.
fn unequal(node: &YamlNode) -> Option<(Position, String)> {
    if node.tagged {
        return Some((node.at, "a YAML tag, which readers take differently".to_owned()));
    }
    match &node.value {
        YamlValue::Scalar { .. } => match node.core() {
            Some(CoreScalar::Float(number)) if !number.is_finite() => {
                Some((node.at, "a number that JSON does not have".to_owned()))
            }
            Some(_) | None => None,
        },
        YamlValue::Sequence(items) => items.iter().find_map(unequal),
        YamlValue::Mapping(entries) => entries.iter().find_map(|entry| {
            let key = (!entry.is_text).then(|| {
                (entry.at, format!("the key `{}` is not text; put quotes around it", entry.key))
            });
            key.or_else(|| unequal(&entry.value))
        }),
    }
}

#[cfg(test)]
mod tests {
    use crate::document::{Dialect, Parsed};

    /// Whether a front matter conforms, and what is said of it.
    fn checked(text: &str) -> (bool, Vec<String>) {
        let parsed = Parsed::read(text.as_bytes().to_vec(), Dialect::Bundle);
        let findings = parsed.findings.iter().map(|found| {
            format!(
                "{}:{} {}: {}",
                found.at.line,
                found.at.column,
                found.code.name(),
                found.message
            )
        });
        (parsed.skill.unwrap().fields.conforming, findings.collect())
    }

    fn with(fields: &str) -> String {
        format!("---\nname: a\ndescription: b\n{fields}---\ntext\n")
    }

    // EXT-2
    #[test]
    fn what_agent_skills_allows_conforms() {
        for fields in [
            "",
            "license: MIT\ncompatibility: any\nallowed-tools: Read Grep\nmetadata:\n  version: '1.0'\n",
            "other: [1, {a: ~}, 2026-01-02]\nuser-invocable: false\n",
            "anchored: &x {a: 1}\nagain: *x\n",
        ] {
            assert_eq!(checked(&with(fields)), (true, vec![]), "{fields}");
        }
        assert!(checked("\u{feff}---\r\nname: a\r\ndescription: b\r\n---\r\n").0);
    }

    // EXT-2
    #[test]
    fn what_does_not_conform_is_named_with_its_line() {
        let long = "é".repeat(1_025);
        let table = [
            (
                with("license: ~\n"),
                "4:10 not-conforming: `license` is nothing; Agent Skills wants text",
            ),
            (
                with("compatibility: ''\n"),
                "4:16 not-conforming: `compatibility` is text of 0 characters; Agent Skills wants text of at most 500 characters",
            ),
            (
                with("metadata: [a]\n"),
                "4:11 not-conforming: `metadata` is a list; Agent Skills wants a map",
            ),
            (
                with("metadata:\n  version: 1.0\n"),
                "5:12 not-conforming: `metadata.version` is a number; Agent Skills wants text in quotes",
            ),
            (
                with("x: !!int '3'\n"),
                "4:4 not-conforming: a YAML tag, which readers take differently",
            ),
            (with("x: .inf\n"), "4:4 not-conforming: a number that JSON does not have"),
            (
                with("x:\n  1: y\n"),
                "5:3 not-conforming: the key `1` is not text; put quotes around it",
            ),
            (
                format!("---\nname: a\ndescription: {long}\n---\n"),
                "3:14 not-conforming: `description` is text of 1025 characters; Agent Skills wants text of at most 1,024 characters",
            ),
            (
                "---\nname: 5\ndescription: b\n---\n".to_owned(),
                "2:7 not-conforming: `name` is a number; Agent Skills wants text without blanks around it",
            ),
            (
                "\n---\nname: a\ndescription: b\n---\n".to_owned(),
                "0:0 not-conforming: the first line is not `---` alone",
            ),
        ];
        for (text, said) in table {
            assert_eq!(checked(&text), (false, vec![said.to_owned()]), "{text:.80}");
        }
    }

    #[test]
    fn what_another_finding_says_is_not_said_twice() {
        for (fields, code) in
            [("allowed-tools: [Read]\n", "allowed-tools-form"), ("x: y: z\n", "yaml-repaired")]
        {
            let (conforming, findings) = checked(&with(fields));
            assert!(
                !conforming && findings.len() == 1 && findings[0].contains(code),
                "{findings:?}"
            );
        }
        let (conforming, findings) = checked(&with("allowed-tools: Read, Grep\n"));
        assert!(conforming && findings.len() == 1, "{findings:?}");
    }
}
