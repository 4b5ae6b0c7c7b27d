//! Lints of front matter fields: misspelled, unknown, and what the Agent Skills format says of a bundle's.

use super::CheckedSkill;
use crate::{
    catalog::SkillKind,
    diagnostic::{Code, Finding, Position},
    document::{
        CLIENT_FIELDS, Dialect, FIELDS, FieldKind, FieldRule, FieldUse, fields_of, near_field,
    },
    yaml::YamlNode,
};

pub(super) fn lint(checked: &CheckedSkill<'_>, front: &YamlNode, found: &mut Vec<Finding>) {
    let dialect = checked.dialect();
    let known: Vec<&FieldRule> = fields_of(dialect).collect();
    names(front, &known, "", dialect, found);
    if dialect == Dialect::Bundle {
        forms(front, found);
        found.extend(name_of_root(checked, front));
    }
}

/// Findings about names of fields, at the top and in the entries of lists.
fn names(
    node: &YamlNode,
    known: &[&FieldRule],
    within: &str,
    dialect: Dialect,
    found: &mut Vec<Finding>,
) {
    for entry in node.entries().unwrap_or_default() {
        let key = entry.key.as_str();
        if let Some(rule) = known.iter().find(|rule| rule.name == key) {
            if let FieldKind::Entries(rules) = rule.kind {
                let rules: Vec<&FieldRule> = rules.iter().collect();
                for item in entry.value.items().unwrap_or_default() {
                    names(item, &rules, rule.name, dialect, found);
                }
            }
            let nonstandard = dialect == Dialect::Bundle && within.is_empty() && !rule.standard;
            if nonstandard {
                found.push(outside(key, entry.at));
            }
            continue;
        }
        found.push(unknown(node, key, entry.at, known, within, dialect));
    }
}

/// The finding about a field that this layout does not read.
fn unknown(
    node: &YamlNode,
    key: &str,
    at: Position,
    known: &[&FieldRule],
    within: &str,
    dialect: Dialect,
) -> Finding {
    if dialect == Dialect::Bundle && CLIENT_FIELDS.contains(&key) {
        return outside(key, at);
    }
    let elsewhere = FIELDS.iter().any(|rule| rule.name == key && rule.tree != rule.bundle);
    if within.is_empty() && elsewhere {
        let (this, other) = match dialect {
            Dialect::Tree => ("a tree skill", "a bundle"),
            Dialect::Bundle => ("a bundle", "a tree skill"),
        };
        let message = format!("`{key}` has no effect in {this}; only {other} has it");
        return Finding::new(Code::FieldUnknown, at, message)
            .hint("remove it, or leave it for other programs");
    }
    let near = near_field(key, known.iter().copied());
    if let Some(rule) = near.filter(|rule| {
        rule.used_by(Dialect::Tree) != FieldUse::Ignored
            || rule.used_by(dialect) != FieldUse::Ignored
    }) {
        let message = format!("there is no field `{key}`, so it has no effect");
        let finding = Finding::new(Code::FieldMisspelled, at, message);
        return if node.get(rule.name).is_some() {
            finding.hint(format!("`{}` is there already; join the two", rule.name))
        } else {
            finding.hint(format!("write `{}`", rule.name))
        };
    }
    let place =
        if within.is_empty() { String::new() } else { format!(" in an entry of `{within}`") };
    let names: Vec<&str> = known.iter().map(|rule| rule.name).collect();
    Finding::new(Code::FieldUnknown, at, format!("`{key}`{place} is not known and has no effect"))
        .hint(format!("known are {}", names.join(", ")))
}

fn outside(key: &str, at: Position) -> Finding {
    Finding::new(Code::FieldNonstandard, at, format!("`{key}` is no field of the Agent Skills format"))
        .hint("the format's own validator refuses the file, and other clients may not read the field; `metadata` may hold anything")
}

/// Findings about the values of standard fields that the server itself does not need in that form.
fn forms(front: &YamlNode, found: &mut Vec<Finding>) {
    // `description` has limits of its own, and names and tools have findings of their own.
    let apart = ["name", "description", "allowed-tools"];
    for rule in FIELDS.iter().filter(|rule| rule.standard && !apart.contains(&rule.name)) {
        let Some(value) = front.get(rule.name).filter(|value| !rule.accepts(value)) else {
            continue;
        };
        let wrong = FieldRule::first_not_text(value).filter(|_| rule.kind == FieldKind::TextMap);
        let name = rule.name;
        let (at, message) = if let Some(entry) = wrong {
            let (key, kind) = (&entry.key, entry.value.kind());
            (entry.at, format!("`{key}` in `{name}` is {kind}, not text"))
        } else {
            (value.at, format!("`{name}` is {}, not {}", shown(value), rule.expected()))
        };
        let hint = "put texts that look like numbers or booleans in quotes, and keep maps flat";
        found.push(Finding::new(Code::FieldForm, at, message).hint(hint));
    }
}

fn shown(value: &YamlNode) -> String {
    match value.text() {
        Some(text) => format!("text of {} characters", text.trim().chars().count()),
        None => value.kind().to_owned(),
    }
}

/// The name of a bundle at the top of its source, which the catalog cannot compare with a folder.
fn name_of_root(checked: &CheckedSkill<'_>, front: &YamlNode) -> Option<Finding> {
    let folder = checked.source_folder?;
    let skill = checked.skill;
    let at_top = skill.kind == SkillKind::Bundle && skill.file.folder().is_root();
    let name = skill.fields().name.as_deref().filter(|name| at_top && *name != folder)?;
    let at = front.get("name").map(|node| node.at).unwrap_or_default();
    Some(
        Finding::new(
            Code::NameUnconventional,
            at,
            format!("`{name}` in a folder called `{folder}`"),
        )
        .hint("use the folder's name, in lower-case words with hyphens"),
    )
}
