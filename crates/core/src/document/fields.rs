//! Every front matter field: its type, its default, and what is said when it is wrong.
//!
//! Two dialects share them. A tree skill needs `keywords` and `description`; a bundle (`SKILL.md`) needs
//! `description` alone, inherits nothing and declares nothing. Whatever else is wrong costs a finding and the
//! default. Files that other tools read too may hold any other key: those are left alone.

use super::declarations::{self, AssetDeclaration, ScriptDeclaration};
use crate::{
    diagnostic::{Code, Finding, is_invisible},
    yaml::Node,
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
#[derive(Debug, Clone, PartialEq)]
pub struct Fields {
    /// What a bundle calls itself; a tree skill is called by its path.
    pub name: Option<String>,
    /// What the keyword formula matches. A tree skill has at least one; none is empty.
    pub keywords: Vec<String>,
    /// Phrases that ask for this skill (`triggers`, `examples`), which the ranked search knows as clauses.
    pub phrases: Vec<String>,
    /// One sentence; never empty.
    pub description: String,
    /// Whether ancestors' text, assets and scripts come along.
    pub inherit: bool,
    /// Breaks ties; a thousandth of it is added to the score.
    pub priority: f64,
    /// Declared assets, in their order.
    pub assets: Vec<AssetDeclaration>,
    /// Declared scripts, in their order.
    pub scripts: Vec<ScriptDeclaration>,
}

/// No keyword needs more, and matching takes time in every length there is.
const MAX_KEYWORD_CHARS: usize = 100;

/// Reads the fields; `None` where a required one is missing, which the findings then say.
pub(super) fn read(front: &Node, dialect: Dialect, findings: &mut Vec<Finding>) -> Option<Fields> {
    match dialect {
        Dialect::Tree => tree(front, findings),
        Dialect::Bundle => bundle(front, findings),
    }
}

fn bundle(front: &Node, findings: &mut Vec<Finding>) -> Option<Fields> {
    if let Some(tools) = front.get("allowed-tools").filter(|tools| {
        tools.items().is_some() || tools.text().is_some_and(|text| text.contains(','))
    }) {
        let message = "`allowed-tools` is a list or has commas; other clients read words with blanks between them";
        findings.push(
            Finding::new(Code::AllowedToolsForm, tools.at, message)
                .hint("write `allowed-tools: Read Grep`"),
        );
    }
    let description = required_text(front, "description", findings)?;
    let keywords = front.get("keywords").filter(|node| !node.is_null());
    Some(Fields {
        name: bundle_name(front, findings),
        keywords: keywords
            .map(words)
            .unwrap_or_default()
            .into_iter()
            .filter(|word| word.chars().nth(MAX_KEYWORD_CHARS).is_none())
            .collect(),
        phrases: phrases(front),
        description,
        inherit: false,
        priority: or_default(front, "priority", "a number", Node::number, 0.0, findings),
        assets: Vec::new(),
        scripts: Vec::new(),
    })
}

/// The name as it is written, where it is one line of visible text.
fn bundle_name(front: &Node, findings: &mut Vec<Finding>) -> Option<String> {
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

/// The words of a list, a bare word, or a comma-separated line; what is no word is passed over.
fn words(node: &Node) -> Vec<String> {
    let split = |text: &str| {
        text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    match node.items() {
        Some(items) => items
            .iter()
            .filter_map(Node::text)
            .map(|word| word.trim().to_owned())
            .filter(|word| !word.is_empty())
            .collect(),
        None => node.text().map(split).unwrap_or_default(),
    }
}

fn phrases(front: &Node) -> Vec<String> {
    ["triggers", "examples"].iter().filter_map(|key| front.get(key)).flat_map(words).collect()
}

fn tree(front: &Node, findings: &mut Vec<Finding>) -> Option<Fields> {
    let keywords = keywords(front, findings);
    let description = required_text(front, "description", findings);
    let (keywords, description) = (keywords?, description?);
    Some(Fields {
        name: None,
        keywords,
        phrases: phrases(front),
        description,
        inherit: or_default(front, "inherit", "true or false", Node::boolean, true, findings),
        priority: or_default(front, "priority", "a number", Node::number, 0.0, findings),
        assets: declarations::assets(front, findings),
        scripts: declarations::scripts(front, findings),
    })
}

/// A list of words; a bare word counts as a list of one, numbers and booleans as their text.
fn keywords(front: &Node, findings: &mut Vec<Finding>) -> Option<Vec<String>> {
    let Some(node) = front.get("keywords").filter(|node| !node.is_null()) else {
        findings.push(missing(front, "keywords"));
        return None;
    };
    let items = node.items().unwrap_or(std::slice::from_ref(node));
    let mut words = Vec::with_capacity(items.len());
    for item in items {
        match item.text().map(str::trim).filter(|text| !text.is_empty()) {
            Some(word) if word.chars().nth(MAX_KEYWORD_CHARS).is_some() => findings.push(
                Finding::new(
                    Code::FieldInvalid,
                    item.at,
                    "a keyword is longer than any word; left out",
                )
                .hint("write single words or short names"),
            ),
            Some(word) => words.push(word.to_owned()),
            None => findings.push(
                Finding::new(
                    Code::FieldInvalid,
                    item.at,
                    format!("a keyword is {}, not a word; left out", item.kind()),
                )
                .hint("write each keyword as a plain word"),
            ),
        }
    }
    if words.is_empty() {
        findings.push(
            Finding::new(Code::FieldMissing, node.at, "`keywords` holds no keyword").hint(
                "list the words a request for this skill would contain; three or more work best",
            ),
        );
        return None;
    }
    Some(words)
}

fn required_text(front: &Node, key: &str, findings: &mut Vec<Finding>) -> Option<String> {
    let node = front.get(key);
    let text = node.and_then(Node::text).map(str::trim).filter(|text| !text.is_empty());
    if text.is_none() {
        findings.push(
            match node.filter(|node| node.items().is_some() || node.entries().is_some()) {
                Some(node) => Finding::new(
                    Code::FieldMissing,
                    node.at,
                    format!("`{key}` is {}, not text", node.kind()),
                ),
                None => missing(front, key),
            },
        );
    }
    text.map(str::to_owned)
}

fn missing(front: &Node, key: &str) -> Finding {
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
    node: &Node,
    key: &str,
    expected: &str,
    read: impl Fn(&Node) -> Option<T>,
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
