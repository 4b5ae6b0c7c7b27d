//! Every front matter field: its type, its default, and the finding when it is wrong.
//!
//! Two dialects share them. A tree skill needs `keywords` and `description`; a bundle (`SKILL.md`) needs
//! `description` alone, inherits nothing and declares nothing. Whatever else is wrong costs a finding and the
//! default. Files that other tools read too may hold any other key: those are left alone.

use serde::{Deserialize, Serialize};

use super::{
    declarations::{self, AssetDeclaration, ScriptDeclaration},
    field_table::{FieldKind, FieldRule, fields_of},
    keywords,
};
use crate::{
    diagnostic::{Code, Finding, is_invisible, one_line},
    yaml::YamlNode,
};

/// Which kind of file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Any Markdown file of a tree.
    Tree,
    /// The `SKILL.md` of a bundle.
    Bundle,
}

/// The fields of a skill, defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field that authors write")]
pub struct Fields {
    /// What a bundle calls itself; a tree skill is called by its path.
    pub name: Option<String>,
    /// What the keyword formula matches. A tree skill has at least one; none is empty.
    pub keywords: Vec<String>,
    /// Phrases that ask for this skill (`triggers`, `examples`), which the ranked search knows as clauses.
    pub phrases: Vec<String>,
    /// The purpose, with `when_to_use` behind it; never empty.
    pub description: String,
    /// How many bytes of it are `description` alone.
    pub own_description: usize,
    /// Whether ancestors' text, assets and scripts come along.
    pub inherit: bool,
    /// Breaks ties; a thousandth of it is added to the score. Within [`MAX_PRIORITY`].
    pub priority: f64,
    /// Declared assets, in their order.
    pub assets: Vec<AssetDeclaration>,
    /// Declared scripts, in their order.
    pub scripts: Vec<ScriptDeclaration>,
    /// Whether a bundle's front matter conforms to Agent Skills, but for its name's relation to the folder.
    pub conforming: bool,
    /// Whether people may call it by name (`user-invocable`).
    pub user_invocable: bool,
    /// Whether models may load it; otherwise only its user starts it (`disable-model-invocation: true`).
    pub model_invocable: bool,
    /// What it takes when it is called by name (`argument-hint`).
    pub argument_hint: Option<Box<str>>,
}

/// A priority counts up to this, above and below zero: a tenth of a score, which breaks ties and decides nothing alone.
pub const MAX_PRIORITY: f64 = 100.0;
/// A longer hint is cut.
const MAX_ARGUMENT_HINT_CHARS: usize = 200;

/// Reads the fields; `None` where a required one is missing, which the findings then say.
pub(super) fn read(
    front: &YamlNode,
    dialect: Dialect,
    findings: &mut Vec<Finding>,
) -> Option<Fields> {
    for rule in fields_of(dialect).filter(|rule| rule.kind == FieldKind::Words) {
        // A tree skill's keywords have findings of their own.
        if rule.name != "keywords" || dialect == Dialect::Bundle {
            findings.extend(invalid_words(front, rule));
        }
    }
    match dialect {
        Dialect::Tree => tree(front, findings),
        Dialect::Bundle => bundle(front, findings),
    }
}

/// The finding about a list of words that is none, or has something else in it.
fn invalid_words(front: &YamlNode, rule: &FieldRule) -> Option<Finding> {
    let node = front.get(rule.name).filter(|node| !rule.accepts(node))?;
    let name = rule.name;
    let other = node.items().and_then(|items| items.iter().find(|item| item.text().is_none()));
    let (at, message) = match other {
        Some(item) => {
            (item.at, format!("an entry of `{name}` is {}, not text; left out", item.kind()))
        }
        None => (
            node.at,
            format!("`{name}` is {}, not {}; it has no effect", node.kind(), rule.expected()),
        ),
    };
    let hint = format!("write `{name}: [first, second]`, or a line with `- ` for each");
    Some(Finding::new(Code::FieldInvalid, at, message).hint(hint))
}

fn bundle(front: &YamlNode, findings: &mut Vec<Finding>) -> Option<Fields> {
    if let Some(tools) = front.get("allowed-tools").filter(|tools| {
        tools.items().is_some() || tools.text().is_some_and(|text| tools_of(text).len() > 1)
    }) {
        let message = "`allowed-tools` is a list or has commas; other clients read words with blanks between them";
        let hint = match tools_as_words(tools) {
            Some(words) => format!("write `allowed-tools: {words}`"),
            None => "write the tools' names with blanks between them".to_owned(),
        };
        findings.push(Finding::new(Code::AllowedToolsForm, tools.at, message).hint(hint));
    }
    let (description, own_description) = description(front, findings)?;
    Some(Fields {
        name: bundle_name(front, findings),
        keywords: keywords::of_bundle(front, findings),
        phrases: phrases(front),
        description,
        own_description,
        inherit: false,
        priority: priority(front, findings),
        assets: Vec::new(),
        scripts: Vec::new(),
        conforming: false,
        user_invocable: user_invocable(front, findings),
        model_invocable: model_invocable(front, findings),
        argument_hint: argument_hint(front),
    })
}

fn user_invocable(front: &YamlNode, findings: &mut Vec<Finding>) -> bool {
    or_default(front, "user-invocable", "true or false", YamlNode::boolean, true, findings)
}

fn model_invocable(front: &YamlNode, findings: &mut Vec<Finding>) -> bool {
    let key = "disable-model-invocation";
    // Whoever writes the field wants to keep models out, also with a word that is no boolean.
    let unsaid = front.get(key).is_some();
    !or_default(front, key, "true or false", YamlNode::boolean, unsaid, findings)
}

/// The hint on one line. Authors write `[file]` without quotes, which is a list.
fn argument_hint(front: &YamlNode) -> Option<Box<str>> {
    let node = front.get("argument-hint")?;
    let text = match node.items() {
        Some(items) => {
            let words: Vec<&str> = items.iter().filter_map(YamlNode::text).collect();
            format!("[{}]", words.join(", "))
        }
        None => one_line(node.text()?),
    };
    let hint: String = text.chars().take(MAX_ARGUMENT_HINT_CHARS).collect();
    (!hint.is_empty()).then(|| hint.into())
}

/// The tools of a list or of a text with commas as words, where each is one.
pub(super) fn tools_as_words(tools: &YamlNode) -> Option<String> {
    let names: Vec<&str> = match tools.items() {
        Some(items) => items.iter().map(YamlNode::text).collect::<Option<_>>()?,
        None => tools_of(tools.text()?),
    };
    let names: Vec<&str> = names.into_iter().map(str::trim).collect();
    let is_word = |name: &&str| {
        !name.is_empty()
            && !name.contains([' ', '\t', '\n', ',', '#'])
            && name.matches('(').count() == name.matches(')').count()
    };
    names.iter().all(is_word).then(|| names.join(" "))
}

/// The tools of a text with commas. A comma in parentheses is a part of its tool: `Bash(a,b)`.
fn tools_of(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

/// The name as it is written, where it is one line of visible text.
fn bundle_name(front: &YamlNode, findings: &mut Vec<Finding>) -> Option<String> {
    let node = front.get("name").filter(|node| !node.is_null())?;
    let name = node.text().map(str::trim).filter(|name| !name.is_empty());
    let unusable = |c: char| c.is_control() || is_invisible(c);
    if name.is_none_or(|name| name.contains(unusable)) {
        let message = format!(
            "`name` is {}, not one line of visible text; the folder's name is used",
            node.kind()
        );
        findings.push(
            Finding::new(Code::NameInvalid, node.at, message).hint("write the folder's name"),
        );
        return None;
    }
    name.map(str::to_owned)
}

fn phrases(front: &YamlNode) -> Vec<String> {
    ["triggers", "examples"]
        .iter()
        .filter_map(|key| front.get(key))
        // A number or a boolean is no phrase.
        .filter(|node| node.items().is_some() || node.kind() == "text")
        .flat_map(keywords::words)
        .collect()
}

fn tree(front: &YamlNode, findings: &mut Vec<Finding>) -> Option<Fields> {
    let keywords = keywords::of_tree(front, findings);
    let description = description(front, findings);
    let (keywords, (description, own_description)) = (keywords?, description?);
    Some(Fields {
        name: None,
        keywords,
        phrases: phrases(front),
        description,
        own_description,
        inherit: or_default(front, "inherit", "true or false", YamlNode::boolean, true, findings),
        priority: priority(front, findings),
        assets: declarations::assets(front, findings),
        scripts: declarations::scripts(front, findings),
        conforming: false,
        user_invocable: user_invocable(front, findings),
        model_invocable: model_invocable(front, findings),
        argument_hint: argument_hint(front),
    })
}

fn priority(front: &YamlNode, findings: &mut Vec<Finding>) -> f64 {
    let written = or_default(front, "priority", "a number", YamlNode::number, 0.0, findings);
    let priority = written.clamp(-MAX_PRIORITY, MAX_PRIORITY);
    if let Some(node) = front.get("priority").filter(|_| written.abs() > MAX_PRIORITY) {
        let shown = node.text().unwrap_or_default();
        let message = format!("`priority` is `{shown:.20}`, which counts as {priority}");
        findings.push(
            Finding::new(Code::PriorityLimited, node.at, message)
                .hint("a priority breaks ties; write a number from -100 to 100"),
        );
    }
    priority
}

/// Reads the description and, as clients show it, `when_to_use` behind it; also returns how many bytes are the description's own.
fn description(front: &YamlNode, findings: &mut Vec<Finding>) -> Option<(String, usize)> {
    let mut description = required_text(front, "description", findings)?;
    let own = description.len();
    let when = front.get("when_to_use").map(|node| match node.items() {
        Some(_) => keywords::words(node).join("; "),
        None => node.text().unwrap_or_default().trim().to_owned(),
    });
    if let Some(when) = when.filter(|when| !when.is_empty()) {
        let is_sentence = description.ends_with(['.', '!', '?', '。']);
        description.push_str(if is_sentence { " " } else { ". " });
        description.push_str(&when);
    }
    Some((description, own))
}

fn required_text(front: &YamlNode, key: &str, findings: &mut Vec<Finding>) -> Option<String> {
    let node = front.get(key);
    let text = node.and_then(YamlNode::text).map(str::trim).filter(|text| !text.is_empty());
    if text.is_none() {
        findings.push(
            match node.filter(|node| node.items().is_some() || node.entries().is_some()) {
                Some(node) => Finding::new(
                    Code::FieldMissing,
                    node.at,
                    format!("`{key}` is {}, not text", node.kind()),
                )
                .hint(format!("write it as one text behind `{key}:`")),
                None => missing(front, key),
            },
        );
    }
    text.map(str::to_owned)
}

pub(super) fn missing(front: &YamlNode, key: &str) -> Finding {
    let near = front.entries().unwrap_or_default().iter().find(|entry| {
        entry.key != key && strsim::osa_distance(&entry.key.to_lowercase(), key) <= 2
    });
    let at = front.get(key).map_or(front.at, |node| node.at);
    let finding = Finding::new(Code::FieldMissing, at, format!("`{key}` is missing or empty"));
    match near {
        Some(entry) => {
            finding.hint(format!("line {} says `{}`; write `{key}`", entry.at.line, entry.key))
        }
        None => finding.hint(format!("add a `{key}:` line to the front matter")),
    }
}

/// A field that may be absent; a value of the wrong type costs a finding and counts as absent.
pub(super) fn or_default<T: Copy>(
    node: &YamlNode,
    key: &str,
    expected: &str,
    read: impl Fn(&YamlNode) -> Option<T>,
    default: T,
    findings: &mut Vec<Finding>,
) -> T {
    let Some(value) = node.get(key).filter(|value| !value.is_null()) else { return default };
    read(value).unwrap_or_else(|| {
        let shown =
            value.text().map_or_else(|| value.kind().to_owned(), |text| format!("`{text}`"));
        findings.push(
            Finding::new(
                Code::FieldInvalid,
                value.at,
                format!("`{key}` is {shown}, not {expected}; its default is used"),
            )
            .hint(format!("write {expected}, without quotes")),
        );
        default
    })
}
