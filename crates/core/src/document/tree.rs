//! Every front matter field of a tree skill: its type, its default, and what is said when it is wrong.
//!
//! `keywords` and `description` are required; whatever else is wrong costs a finding and the default. Files
//! that other tools read too may hold any other key: those are left alone.

use crate::{
    diagnostic::{Code, Finding, Position},
    relpath::{Escape, RelPath},
    yaml::Node,
};

/// The fields of a tree skill, defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeFields {
    /// What the keyword formula matches; never empty, nor is any of them.
    pub keywords: Vec<String>,
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

/// One entry of `assets`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetDeclaration {
    /// Below the skill's resource folder.
    pub file: RelPath,
    /// When to use it.
    pub description: String,
    /// What it is.
    pub kind: AssetKind,
    /// Where it is declared.
    pub at: Position,
}

/// One entry of `scripts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptDeclaration {
    /// Below the skill's resource folder.
    pub file: RelPath,
    /// When to use it.
    pub description: String,
    /// What it takes.
    pub arguments: Vec<Argument>,
    /// Who runs it.
    pub execution: Execution,
    /// Where it is declared.
    pub at: Position,
}

/// One argument of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// What it means.
    pub description: String,
    /// Whether a run without it is refused.
    pub required: bool,
    /// What is taken where it is not given.
    pub default: Option<String>,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $name {
            /// The word as it is written in front matter and answers.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Every word, for messages.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            fn read(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

words! {
    /// What an asset is.
    AssetKind {
        /// A file to copy and fill in.
        Template = "template",
        /// A configuration file.
        Config = "config",
        /// An example to read.
        Example = "example",
        /// A schema.
        Schema = "schema",
        /// A picture.
        Image = "image",
        /// Anything else.
        Other = "other",
    }
}

words! {
    /// Who runs a script.
    Execution {
        /// The agent fetches it with `get_asset` and runs it itself.
        Claude = "claude",
        /// The server runs it, through `run_script`.
        Server = "server",
    }
}

/// Reads the fields; `None` where a required one is missing, which the findings then say.
pub(super) fn read(front: &Node, findings: &mut Vec<Finding>) -> Option<TreeFields> {
    let keywords = keywords(front, findings);
    let description = required_text(front, "description", findings);
    let (keywords, description) = (keywords?, description?);
    Some(TreeFields {
        keywords,
        description,
        inherit: or_default(front, "inherit", "true or false", Node::boolean, true, findings),
        priority: or_default(front, "priority", "a number", Node::number, 0.0, findings),
        assets: declarations(front, "assets", asset, |asset| &asset.file, findings),
        scripts: declarations(front, "scripts", script, |script| &script.file, findings),
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
fn or_default<T: Copy>(
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

/// The entries of `assets` or `scripts` that are declared well; each of the others costs a finding.
fn declarations<T>(
    front: &Node,
    key: &str,
    read: impl Fn(&Node, &mut Vec<Finding>) -> Result<T, Finding>,
    file: impl Fn(&T) -> &RelPath,
    findings: &mut Vec<Finding>,
) -> Vec<T> {
    let Some(node) = front.get(key).filter(|node| !node.is_null()) else { return Vec::new() };
    let Some(items) = node.items() else {
        findings.push(
            Finding::new(
                Code::DeclarationInvalid,
                node.at,
                format!("`{key}` is {}, not a list", node.kind()),
            )
            .hint(format!("write `{key}:` and below it `- file: …` entries")),
        );
        return Vec::new();
    };
    let mut declared: Vec<T> = Vec::with_capacity(items.len());
    for item in items {
        match read(item, findings) {
            Ok(one) if declared.iter().any(|other| file(other) == file(&one)) => {
                findings.push(Finding::new(
                    Code::DeclarationRepeated,
                    item.at,
                    format!("`{}` is declared twice under `{key}`; the first counts", file(&one)),
                ));
            }
            Ok(one) => declared.push(one),
            Err(finding) => findings.push(finding),
        }
    }
    declared
}

fn asset(node: &Node, findings: &mut Vec<Finding>) -> Result<AssetDeclaration, Finding> {
    Ok(AssetDeclaration {
        file: file(node, "an asset")?,
        description: text(node, "description", "an asset")?,
        kind: word(node, "type", AssetKind::WORDS, AssetKind::read, AssetKind::Other, findings),
        at: node.at,
    })
}

fn script(node: &Node, findings: &mut Vec<Finding>) -> Result<ScriptDeclaration, Finding> {
    Ok(ScriptDeclaration {
        file: file(node, "a script")?,
        description: text(node, "description", "a script")?,
        arguments: arguments(node, findings),
        execution: word(
            node,
            "execution",
            Execution::WORDS,
            Execution::read,
            Execution::Claude,
            findings,
        ),
        at: node.at,
    })
}

fn arguments(script: &Node, findings: &mut Vec<Finding>) -> Vec<Argument> {
    let Some(node) = script.get("args").filter(|node| !node.is_null()) else { return Vec::new() };
    let Some(items) = node.items() else {
        findings.push(Finding::new(
            Code::DeclarationInvalid,
            node.at,
            format!("`args` is {}, not a list", node.kind()),
        ));
        return Vec::new();
    };
    let mut declared: Vec<Argument> = Vec::with_capacity(items.len());
    for item in items {
        match argument(item, findings) {
            Ok(one) if declared.iter().any(|other| other.name == one.name) => {
                findings.push(Finding::new(
                    Code::DeclarationRepeated,
                    item.at,
                    format!("argument `{}` is declared twice; the first counts", one.name),
                ));
            }
            Ok(one) => declared.push(one),
            Err(finding) => findings.push(finding),
        }
    }
    declared
}

fn argument(node: &Node, findings: &mut Vec<Finding>) -> Result<Argument, Finding> {
    let default = node.get("default").and_then(Node::text).map(str::to_owned);
    Ok(Argument {
        name: text(node, "name", "an argument")?,
        description: text(node, "description", "an argument")?,
        required: or_default(node, "required", "true or false", Node::boolean, true, findings),
        default,
    })
}

fn text(node: &Node, key: &str, what: &str) -> Result<String, Finding> {
    let written = node.get(key).and_then(Node::text).map(str::trim).filter(|text| !text.is_empty());
    written.map(str::to_owned).ok_or_else(|| {
        Finding::new(Code::DeclarationInvalid, node.at, format!("{what} has no `{key}`; left out"))
            .hint(format!("add `{key}:` to this entry"))
    })
}

fn file(node: &Node, what: &str) -> Result<RelPath, Finding> {
    let written = text(node, "file", what)?;
    let at = node.get("file").map_or(node.at, |file| file.at);
    RelPath::parse(&written).map_err(|escape: Escape| {
        Finding::new(
            Code::DeclarationEscapes,
            at,
            format!("`{written}` is not a path inside the resource folder: {escape}"),
        )
        .hint(
            "write the path as it is seen from the skill's resource folder, such as `assets/x.ts`",
        )
    })
}

fn word<T>(
    node: &Node,
    key: &str,
    words: &[&str],
    read: impl Fn(&str) -> Option<T>,
    default: T,
    findings: &mut Vec<Finding>,
) -> T {
    let Some(value) = node.get(key).filter(|value| !value.is_null()) else { return default };
    value.text().and_then(read).unwrap_or_else(|| {
        let written = value.text().unwrap_or(value.kind());
        findings.push(
            Finding::new(
                Code::FieldInvalid,
                value.at,
                format!("`{key}: {written}` is unknown; its default is used"),
            )
            .hint(format!("use one of: {}", words.join(", "))),
        );
        default
    })
}
