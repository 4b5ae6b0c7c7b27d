//! `schema`: the JSON Schema (draft 2020-12) of the files that authors write, made from the tables that read them.
//!
//! The copies in `schema/` are what this prints; a test compares them. Not here: reading the files.

use serde_json::{Map, Value, json};
use skills_core::{
    diagnostic::Code,
    document::{Dialect, FieldKind, FieldRule, FieldUse, fields_of},
};

use super::{Output, config::plain};
use crate::config::{ConfigKey, KEYS, SOURCE_FIELDS, ValueKind};

#[derive(clap::Args)]
pub(super) struct SchemaOptions {
    /// Which file
    #[arg(value_enum)]
    file: SchemaFile,
}

/// A file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SchemaFile {
    /// The front matter of a skill
    FrontMatter,
    /// `config.yaml`
    Config,
    /// `routing.yaml`
    Routing,
    /// `.skills-mcp.yaml` of a project
    Project,
}

impl SchemaFile {
    /// Every file that has a schema, with its name.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("front-matter", Self::FrontMatter),
        ("config", Self::Config),
        ("routing", Self::Routing),
        ("project", Self::Project),
    ];

    /// The schema.
    pub fn schema(self) -> Value {
        match self {
            Self::FrontMatter => front_matter(),
            Self::Config => config(),
            Self::Routing => routing(),
            Self::Project => project(),
        }
    }

    /// The schema as `schema` prints it.
    pub fn printed(self) -> String {
        serde_json::to_string_pretty(&self.schema()).unwrap_or_default()
    }
}

pub(super) fn run(options: &SchemaOptions) {
    Output::new().json_text(&options.file.printed());
}

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The front matter of either layout; each has a definition of its own.
fn front_matter() -> Value {
    json!({
        "$schema": DRAFT,
        "title": "Front matter of a skill",
        "description": "A bundle (SKILL.md) or a tree skill (any other Markdown file) that skills-mcp serves.",
        "anyOf": [{"$ref": "#/$defs/tree"}, {"$ref": "#/$defs/bundle"}],
        "$defs": {
            "tree": layout("Tree skill", Dialect::Tree),
            "bundle": layout("Bundle", Dialect::Bundle),
        },
    })
}

/// The fields of one layout. Other fields are allowed: other programs read the file too.
fn layout(title: &str, dialect: Dialect) -> Value {
    let rules: Vec<&FieldRule> = fields_of(dialect).collect();
    let is_required = |rule: &&FieldRule| rule.used_by(dialect) == FieldUse::Required;
    object(title, &rules, is_required)
}

fn object(title: &str, rules: &[&FieldRule], is_required: impl Fn(&&FieldRule) -> bool) -> Value {
    let properties: Map<String, Value> =
        rules.iter().map(|rule| (rule.name.to_owned(), field(rule, is_required(rule)))).collect();
    let required: Vec<&str> =
        rules.iter().filter(|rule| is_required(rule)).map(|rule| rule.name).collect();
    json!({"title": title, "type": "object", "required": required, "properties": properties})
}

/// The values of a field. An empty value counts as left out, where the field may be.
fn field(rule: &FieldRule, required: bool) -> Value {
    let scalar = json!({"type": ["string", "number", "boolean"]});
    let words = if required {
        json!({"type": "array", "items": scalar, "minItems": 1})
    } else {
        json!({"type": "array", "items": scalar})
    };
    let at_least = usize::from(required);
    let schema = match rule.kind {
        FieldKind::Text | FieldKind::Tools => json!({"type": "string", "minLength": at_least}),
        FieldKind::ShortText(max) => {
            json!({"type": "string", "minLength": at_least, "maxLength": max})
        }
        FieldKind::Words => json!({"anyOf": [scalar, words]}),
        FieldKind::Flag => json!({"type": "boolean"}),
        FieldKind::Number => json!({"type": "number"}),
        FieldKind::Word(words) => json!({"enum": words}),
        FieldKind::Names => json!({"type": "array", "items": {"type": "string"}}),
        FieldKind::TextMap => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        FieldKind::Scalar => scalar,
        FieldKind::Entries(rules) => {
            let rules: Vec<&FieldRule> = rules.iter().collect();
            let is_required = |rule: &&FieldRule| rule.tree == FieldUse::Required;
            json!({"type": "array", "items": object(rule.name, &rules, is_required)})
        }
    };
    if required {
        return described(schema, rule.about);
    }
    described(json!({"anyOf": [schema, {"type": "null"}]}), rule.about)
}

/// The schema with what its value is for.
fn described(mut schema: Value, about: &str) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".to_owned(), json!(about));
    }
    schema
}

/// `config.yaml`: groups of keys, from the table of keys.
fn config() -> Value {
    let mut groups: Map<String, Value> = Map::new();
    for key in KEYS {
        let Some((group, name)) = key.name.split_once('.') else { continue };
        let keys = groups.entry(group).or_insert_with(
            || json!({"type": ["object", "null"], "properties": {}, "additionalProperties": false}),
        );
        if let Some(properties) = keys.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert(name.to_owned(), value(key));
        }
    }
    groups.insert("sources".to_owned(), sources());
    groups.insert("tools".to_owned(), tools());
    json!({
        "$schema": DRAFT,
        "title": "config.yaml of skills-mcp",
        "type": ["object", "null"],
        "properties": groups,
        "additionalProperties": false,
    })
}

/// `.skills-mcp.yaml`: sources and tool sets, and no setting.
fn project() -> Value {
    json!({
        "$schema": DRAFT,
        "title": ".skills-mcp.yaml of a project",
        "type": ["object", "null"],
        "properties": {"sources": sources(), "tools": tools()},
        "additionalProperties": false,
    })
}

/// `sources:`, from the table of fields.
fn sources() -> Value {
    let field = |(name, about): &(&str, &str)| {
        let schema = match *name {
            "agents" => json!({"type": "boolean"}),
            "name" => json!({"type": "string", "minLength": 1, "maxLength": 64}),
            "commit" => json!({"type": "string", "pattern": "^([0-9A-Fa-f]{40}|[0-9A-Fa-f]{64})$"}),
            _ => json!({"type": "string", "minLength": 1}),
        };
        ((*name).to_owned(), described(schema, about))
    };
    let fields: Map<String, Value> = SOURCE_FIELDS.iter().map(field).collect();
    let kinds: Vec<Value> =
        ["dir", "repo", "agents"].iter().map(|kind| json!({"required": [kind]})).collect();
    let entry = json!({
        "type": "object",
        "properties": fields,
        "oneOf": kinds,
        "dependentRequired": {"branch": ["repo"], "commit": ["repo"]},
        "additionalProperties": false,
    });
    let about = "what is served where no flag or variable names a source: your own file and a project's .skills-mcp.yaml have it, content does not";
    described(json!({"type": ["array", "null"], "items": entry}), about)
}

/// `tools:`.
fn tools() -> Value {
    let schema = json!({"anyOf": [
        {"type": ["string", "null"]},
        {"type": "array", "items": {"type": "string"}},
    ]});
    described(
        schema,
        "the tool sets to offer, as with --tools; your own file and a project's have it",
    )
}

/// The values of a key.
fn value(key: &ConfigKey) -> Value {
    let list =
        |pattern: &str| json!({"type": "array", "items": {"type": "string", "pattern": pattern}});
    let mut schema = match key.kind {
        ValueKind::Flag => json!({"type": "boolean"}),
        ValueKind::Share => json!({"type": "number", "minimum": 0, "maximum": 1}),
        ValueKind::Count(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
        ValueKind::Text => json!({"type": "string", "minLength": 1}),
        ValueKind::History => json!({"type": "string", "pattern": "\\.jsonl$"}),
        ValueKind::Url => json!({"type": ["string", "null"], "pattern": "^(https?://\\S*)?$"}),
        ValueKind::Name => json!({"type": ["string", "null"], "maxLength": 64}),
        ValueKind::Extensions => list("^\\.[A-Za-z0-9]+$"),
        ValueKind::Commands => json!({
            "type": "object",
            "propertyNames": {"pattern": "^\\.[A-Za-z0-9]+$"},
            "additionalProperties": {"type": "string", "minLength": 1},
        }),
        ValueKind::Word(words) => json!({"enum": words}),
        ValueKind::Folders => list("^(/|~$|~/)"),
        ValueKind::Variables => list("^[A-Za-z_][A-Za-z0-9_]*$"),
        ValueKind::Rules => {
            let codes: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
            json!({
                "type": "object",
                "propertyNames": {"enum": codes},
                "additionalProperties": {"enum": ["off", "note", "warning", "error"]},
            })
        }
    };
    if let (Some(schema), Some(default)) = (schema.as_object_mut(), key.default_value()) {
        schema.insert("default".to_owned(), plain(&default));
    }
    described(schema, key.about)
}

/// `routing.yaml`: a list of tests, or `tests:` with one.
fn routing() -> Value {
    let fields = [
        ("request", json!({"type": "string", "minLength": 1}), "what a person asks for"),
        (
            "expect",
            json!({"type": "string", "minLength": 1}),
            "the path or name of the skill that must be found, or `none`",
        ),
        (
            "not",
            json!({"type": "string", "minLength": 1}),
            "the path or name of a skill that must not be found",
        ),
        (
            "within",
            json!({"type": "integer", "minimum": 1, "default": 1}),
            "the expected skill is among so many first results of the ranked search",
        ),
    ];
    let properties: Map<String, Value> = fields
        .into_iter()
        .map(|(name, schema, about)| (name.to_owned(), described(schema, about)))
        .collect();
    json!({
        "$schema": DRAFT,
        "title": "Routing tests of skills-mcp",
        "anyOf": [
            {"$ref": "#/$defs/tests"},
            {
                "type": "object",
                "required": ["tests"],
                "properties": {"tests": {"$ref": "#/$defs/tests"}},
                "additionalProperties": false,
            },
        ],
        "$defs": {
            "tests": {"type": "array", "items": {"$ref": "#/$defs/test"}},
            "test": {
                "type": "object",
                "required": ["request"],
                "anyOf": [{"required": ["expect"]}, {"required": ["not"]}],
                "properties": properties,
                "additionalProperties": false,
            },
        },
    })
}
