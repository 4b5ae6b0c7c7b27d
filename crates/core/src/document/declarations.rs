//! What a tree skill declares in `assets` and `scripts`, each entry with its own validation.

use serde::{Deserialize, Serialize};

use super::fields::or_default;
use crate::{
    diagnostic::{Code, Finding, Position},
    relpath::{RelPath, RelPathError},
    yaml::YamlNode,
};

/// One entry of `assets`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptDeclaration {
    /// Below the skill's resource folder.
    pub file: RelPath,
    /// When to use it.
    pub description: String,
    /// What it takes.
    pub arguments: Vec<Argument>,
    /// Who runs it.
    pub execution: Execution,
    /// Whether it needs the network when the server runs it.
    pub network: bool,
    /// Variables of the machine that it declares; the operator decides which it receives.
    pub environment: Vec<String>,
    /// Where it is declared.
    pub at: Position,
}

/// One argument of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// The assets that are declared well.
pub(super) fn assets(front: &YamlNode, findings: &mut Vec<Finding>) -> Vec<AssetDeclaration> {
    declarations(front, "assets", asset, |asset| &asset.file, findings)
}

/// The scripts that are declared well.
pub(super) fn scripts(front: &YamlNode, findings: &mut Vec<Finding>) -> Vec<ScriptDeclaration> {
    declarations(front, "scripts", script, |script| &script.file, findings)
}

/// The entries of `assets` or `scripts` that are declared well; each of the others costs a finding.
fn declarations<T>(
    front: &YamlNode,
    key: &str,
    read: impl Fn(&YamlNode, &mut Vec<Finding>) -> Result<T, Finding>,
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

fn asset(node: &YamlNode, findings: &mut Vec<Finding>) -> Result<AssetDeclaration, Finding> {
    Ok(AssetDeclaration {
        file: file(node, "an asset")?,
        description: text(node, "description", "an asset")?,
        kind: word(node, "type", AssetKind::WORDS, AssetKind::read, AssetKind::Other, findings),
        at: node.at,
    })
}

fn script(node: &YamlNode, findings: &mut Vec<Finding>) -> Result<ScriptDeclaration, Finding> {
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
        network: or_default(node, "network", "true or false", YamlNode::boolean, false, findings),
        environment: environment(node, findings),
        at: node.at,
    })
}

/// Names of variables; a name no system could have costs a finding.
fn environment(script: &YamlNode, findings: &mut Vec<Finding>) -> Vec<String> {
    let Some(node) = script.get("env").filter(|node| !node.is_null()) else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    let mut wrong = |at: Position, message: String| {
        findings.push(
            Finding::new(Code::FieldInvalid, at, message)
                .hint("write the names of variables, such as `env: [API_TOKEN]`; values never stand in content"),
        );
    };
    let Some(items) = node.items() else {
        wrong(node.at, format!("`env` is {}, not a list of names", node.kind()));
        return names;
    };
    for item in items {
        match item.text() {
            Some(name) if is_variable_name(name) && !names.iter().any(|known| known == name) => {
                names.push(name.to_owned());
            }
            Some(name) if is_variable_name(name) => {}
            Some(name) => wrong(item.at, format!("`{name}` in `env` is no name of a variable")),
            None => wrong(item.at, format!("an entry of `env` is {}, not a name", item.kind())),
        }
    }
    names
}

/// Whether this is a name of an environment variable: letters, digits and underscores, no digit first.
pub fn is_variable_name(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.starts_with(|c: char| !c.is_ascii_digit())
}

fn arguments(script: &YamlNode, findings: &mut Vec<Finding>) -> Vec<Argument> {
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

fn argument(node: &YamlNode, findings: &mut Vec<Finding>) -> Result<Argument, Finding> {
    let default = node.get("default").and_then(YamlNode::text).map(str::to_owned);
    Ok(Argument {
        name: text(node, "name", "an argument")?,
        description: text(node, "description", "an argument")?,
        required: or_default(node, "required", "true or false", YamlNode::boolean, true, findings),
        default,
    })
}

fn text(node: &YamlNode, key: &str, what: &str) -> Result<String, Finding> {
    let written =
        node.get(key).and_then(YamlNode::text).map(str::trim).filter(|text| !text.is_empty());
    written.map(str::to_owned).ok_or_else(|| {
        Finding::new(Code::DeclarationInvalid, node.at, format!("{what} has no `{key}`; left out"))
            .hint(format!("add `{key}:` to this entry"))
    })
}

fn file(node: &YamlNode, what: &str) -> Result<RelPath, Finding> {
    let written = text(node, "file", what)?;
    let at = node.get("file").map_or(node.at, |file| file.at);
    RelPath::parse(&written).map_err(|escape: RelPathError| {
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
    node: &YamlNode,
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
