//! [`ConfigTree`]: the content of a client's configuration file, whatever its format, with the place of each value in the text.
//!
//! The text is read only here, so that two texts can be compared by what they say. Not here: changing a text.

use std::ops::Range;

use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use skills_core::yaml::{self, YamlNode, YamlValue};
use toml_edit::{Document, Item, Table, Value};

/// The languages of configuration files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileLanguage {
    /// JSON, with comments and trailing commas if there are any.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// Why a text was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

/// One value and its place in the text.
#[derive(Debug, Clone)]
pub(super) struct ConfigTree {
    pub(super) value: TreeValue,
    /// Its first and last byte; of YAML, and of a table of TOML, only the start is known.
    pub(super) range: Range<usize>,
}

/// What a value is. Two are equal if they say the same, wherever they stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TreeValue {
    Text(String),
    /// A number, a boolean, a date or nothing, as it is written.
    Bare(String),
    List(Vec<ConfigTree>),
    Map(Vec<TreeMember>),
}

/// A key of a map with its value.
#[derive(Debug, Clone)]
pub(super) struct TreeMember {
    pub(super) key: String,
    /// Where the key starts.
    pub(super) start: usize,
    pub(super) value: ConfigTree,
}

impl PartialEq for ConfigTree {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for ConfigTree {}

impl PartialEq for TreeMember {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.value == other.value
    }
}

impl Eq for TreeMember {}

impl ConfigTree {
    /// What a text says. An empty text is an empty map.
    pub(super) fn parse(text: &str, language: FileLanguage) -> Result<Self, TreeError> {
        let empty = Self { value: TreeValue::Map(Vec::new()), range: 0..text.len() };
        match language {
            FileLanguage::Json => Ok(json(text)?.unwrap_or(empty)),
            FileLanguage::Toml => {
                let document = Document::parse(text).map_err(|error| TreeError {
                    line: line_at(text, error.span().map_or(0, |span| span.start)),
                    message: error.message().trim().replace('\n', ", "),
                })?;
                Ok(of_table(text, document.as_table()))
            }
            FileLanguage::Yaml => {
                let node = yaml::parse(text).map_err(|error| TreeError {
                    line: usize::try_from(error.at.line).unwrap_or_default(),
                    message: error.message,
                })?;
                Ok(if node.is_null() { empty } else { of_yaml(text, &node) })
            }
        }
    }

    pub(super) fn members(&self) -> Option<&[TreeMember]> {
        if let TreeValue::Map(members) = &self.value { Some(members) } else { None }
    }

    pub(super) fn items(&self) -> Option<&[Self]> {
        if let TreeValue::List(items) = &self.value { Some(items) } else { None }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let TreeValue::Text(text) = &self.value { Some(text) } else { None }
    }

    /// Whether it is written as this word without quotes.
    pub(super) fn is_bare(&self, word: &str) -> bool {
        matches!(&self.value, TreeValue::Bare(bare) if bare == word)
    }

    /// The last member of this key, which is the one that clients take.
    pub(super) fn member(&self, key: &str) -> Option<&TreeMember> {
        self.members()?.iter().rev().find(|member| member.key == key)
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        Some(&self.member(key)?.value)
    }

    /// The value at the end of these keys.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |tree, key| tree.get(key))
    }

    /// The texts of a list.
    pub(super) fn texts(&self) -> Vec<String> {
        let items = self.items().unwrap_or_default();
        items.iter().filter_map(|item| item.text().map(str::to_owned)).collect()
    }
}

/// A text without the byte order mark that some editors begin a file with, and the mark.
pub(super) fn without_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => (rest, "\u{feff}"),
        None => (text, ""),
    }
}

/// The line of a byte, from 1.
pub(super) fn line_at(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

fn json(text: &str) -> Result<Option<ConfigTree>, TreeError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| {
        TreeError { line: error.line_display(), message: error.kind().to_string().to_lowercase() }
    })?;
    Ok(parsed.value.map(of_json))
}

fn of_json(value: ast::Value<'_>) -> ConfigTree {
    let place = |range: jsonc_parser::common::Range| range.start..range.end;
    match value {
        ast::Value::StringLit(found) => ConfigTree {
            value: TreeValue::Text(found.value.into_owned()),
            range: place(found.range),
        },
        ast::Value::NumberLit(found) => {
            ConfigTree { value: TreeValue::Bare(found.value.to_owned()), range: place(found.range) }
        }
        ast::Value::BooleanLit(found) => ConfigTree {
            value: TreeValue::Bare(found.value.to_string()),
            range: place(found.range),
        },
        ast::Value::NullKeyword(found) => {
            ConfigTree { value: TreeValue::Bare("null".to_owned()), range: place(found.range) }
        }
        ast::Value::Array(found) => {
            let items = found.elements.into_iter().map(of_json).collect();
            ConfigTree { value: TreeValue::List(items), range: place(found.range) }
        }
        ast::Value::Object(found) => {
            let members = found.properties.into_iter().map(|property| TreeMember {
                start: property.range.start,
                key: property.name.into_string(),
                value: of_json(property.value),
            });
            ConfigTree { value: TreeValue::Map(members.collect()), range: place(found.range) }
        }
    }
}

fn of_table(text: &str, table: &Table) -> ConfigTree {
    let members = table.iter().map(|(key, item)| {
        let start = table.key(key).and_then(toml_edit::Key::span).map_or(0, |span| span.start);
        TreeMember { key: key.to_owned(), start, value: of_item(text, item) }
    });
    let value = TreeValue::Map(members.collect());
    ConfigTree { value, range: table.span().unwrap_or_default() }
}

fn of_item(text: &str, item: &Item) -> ConfigTree {
    match item {
        Item::None => ConfigTree { value: TreeValue::Bare(String::new()), range: 0..0 },
        Item::Value(value) => of_toml(text, value),
        Item::Table(table) => of_table(text, table),
        Item::ArrayOfTables(tables) => {
            let items = tables.iter().map(|table| of_table(text, table)).collect();
            ConfigTree { value: TreeValue::List(items), range: tables.span().unwrap_or_default() }
        }
    }
}

fn of_toml(text: &str, value: &Value) -> ConfigTree {
    let range = value.span().unwrap_or_default();
    let tree = match value {
        Value::String(found) => TreeValue::Text(found.value().clone()),
        Value::Array(found) => {
            TreeValue::List(found.iter().map(|item| of_toml(text, item)).collect())
        }
        Value::InlineTable(found) => {
            let member = |(key, value): (&str, &Value)| {
                let start =
                    found.key(key).and_then(toml_edit::Key::span).map_or(0, |span| span.start);
                TreeMember { key: key.to_owned(), start, value: of_toml(text, value) }
            };
            TreeValue::Map(found.iter().map(member).collect())
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {
            TreeValue::Bare(text.get(range.clone()).unwrap_or_default().to_owned())
        }
    };
    ConfigTree { value: tree, range }
}

fn of_yaml(text: &str, node: &YamlNode) -> ConfigTree {
    let value = match &node.value {
        YamlValue::Scalar { text, plain: true } if !is_word(node) => TreeValue::Bare(text.clone()),
        YamlValue::Scalar { text, .. } => TreeValue::Text(text.clone()),
        YamlValue::Sequence(items) => {
            TreeValue::List(items.iter().map(|item| of_yaml(text, item)).collect())
        }
        YamlValue::Mapping(entries) => {
            let member = |entry: &yaml::YamlEntry| TreeMember {
                key: entry.key.clone(),
                start: byte_at(text, entry.at),
                value: of_yaml(text, &entry.value),
            };
            TreeValue::Map(entries.iter().map(member).collect())
        }
    };
    let start = byte_at(text, node.at);
    ConfigTree { value, range: start..start }
}

/// Whether a plain scalar is text, and not a number, a boolean or nothing.
fn is_word(node: &YamlNode) -> bool {
    matches!(node.core(), Some(yaml::CoreScalar::Text(_)))
}

fn byte_at(text: &str, at: skills_core::diagnostic::Position) -> usize {
    let line = usize::try_from(at.line).unwrap_or_default().saturating_sub(1);
    let column = usize::try_from(at.column).unwrap_or_default().saturating_sub(1);
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines.by_ref().take(line).map(str::len).sum();
    let inside: usize =
        lines.next().unwrap_or_default().chars().take(column).map(char::len_utf8).sum();
    before + inside
}
