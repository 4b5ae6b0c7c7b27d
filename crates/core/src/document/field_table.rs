//! The table of front matter fields: name, kind of value, which layout reads it, and what it is for.
//!
//! The check for misspelled fields, the repair of their names and the JSON Schema derive from it; a test compares it with
//! what `fields` and `declarations` read. Not here: reading a value.

use super::{
    declarations::{AssetKind, Execution},
    fields::Dialect,
};
use crate::yaml::{YamlEntry, YamlNode};

/// The kind of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// Text in one or more lines.
    Text,
    /// Text of at most so many characters.
    ShortText(usize),
    /// A list of words, or one word.
    Words,
    /// `true` or `false`.
    Flag,
    /// A number.
    Number,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of names.
    Names,
    /// Names of tools with blanks between them.
    Tools,
    /// A map of names to texts.
    TextMap,
    /// Whatever a script takes: text, a number, a boolean.
    Scalar,
    /// A list of entries with these fields.
    Entries(&'static [FieldRule]),
}

/// Whether a layout reads a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldUse {
    /// A skill without it is skipped.
    Required,
    /// It may be left out.
    Optional,
    /// It has no effect.
    Ignored,
}

/// One front matter field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldRule {
    /// Its name.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: FieldKind,
    /// What a tree skill does with it; in an entry of a list, what the entry does with it.
    pub tree: FieldUse,
    /// What a bundle does with it.
    pub bundle: FieldUse,
    /// Whether the Agent Skills format has it.
    pub standard: bool,
    /// What it is for.
    pub about: &'static str,
}

use FieldUse::{Ignored, Optional, Required};

/// The fields of a skill.
pub const FIELDS: &[FieldRule] = &[
    FieldRule {
        standard: true,
        ..rule(
            "name",
            FieldKind::ShortText(64),
            Ignored,
            Optional,
            "what a bundle is called: its folder's name, in lower-case words with hyphens",
        )
    },
    FieldRule {
        standard: true,
        ..rule(
            "description",
            FieldKind::ShortText(1024),
            Required,
            Required,
            "what the skill is for and when to use it",
        )
    },
    rule(
        "keywords",
        FieldKind::Words,
        Required,
        Optional,
        "the words that requests for this skill contain; three or more work best",
    ),
    rule("triggers", FieldKind::Words, Optional, Optional, "phrases that ask for this skill"),
    rule("examples", FieldKind::Words, Optional, Optional, "requests that this skill answers"),
    rule(
        "tests",
        FieldKind::Words,
        Optional,
        Optional,
        "requests that must find this skill when the skills are tested",
    ),
    rule(
        "inherit",
        FieldKind::Flag,
        Optional,
        Ignored,
        "whether the rules of the folders above come along; default true",
    ),
    rule(
        "priority",
        FieldKind::Number,
        Optional,
        Optional,
        "breaks ties between skills, from -100 to 100; default 0",
    ),
    rule(
        "assets",
        FieldKind::Entries(ASSET_FIELDS),
        Optional,
        Ignored,
        "files of the skill's resource folder that agents may read",
    ),
    rule(
        "scripts",
        FieldKind::Entries(SCRIPT_FIELDS),
        Optional,
        Ignored,
        "scripts of the skill's resource folder",
    ),
    FieldRule {
        standard: true,
        ..rule("license", FieldKind::Text, Ignored, Optional, "the licence of the skill")
    },
    FieldRule {
        standard: true,
        ..rule(
            "compatibility",
            FieldKind::ShortText(500),
            Ignored,
            Optional,
            "what the skill needs of its environment",
        )
    },
    FieldRule {
        standard: true,
        ..rule(
            "metadata",
            FieldKind::TextMap,
            Ignored,
            Optional,
            "anything else, as a map of names to texts",
        )
    },
    FieldRule {
        standard: true,
        ..rule(
            "allowed-tools",
            FieldKind::Tools,
            Ignored,
            Optional,
            "tools that the skill may use, with blanks between them",
        )
    },
];

/// The fields of an entry of `assets`.
pub const ASSET_FIELDS: &[FieldRule] = &[
    entry("file", FieldKind::Text, Required, "the file's path below the resource folder"),
    entry("description", FieldKind::Text, Required, "when to use the file"),
    entry("type", FieldKind::Word(AssetKind::WORDS), Optional, "what the file is; default other"),
];

/// The fields of an entry of `scripts`.
pub const SCRIPT_FIELDS: &[FieldRule] = &[
    entry("file", FieldKind::Text, Required, "the script's path below the resource folder"),
    entry("description", FieldKind::Text, Required, "when to use the script"),
    entry(
        "args",
        FieldKind::Entries(ARGUMENT_FIELDS),
        Optional,
        "the arguments that the script takes",
    ),
    entry(
        "execution",
        FieldKind::Word(Execution::WORDS),
        Optional,
        "who runs the script: the agent (claude) or the server; default claude",
    ),
    entry(
        "network",
        FieldKind::Flag,
        Optional,
        "whether the script needs the network; default false",
    ),
    entry("env", FieldKind::Names, Optional, "environment variables that the script needs"),
];

/// The fields of an entry of `args`.
pub const ARGUMENT_FIELDS: &[FieldRule] = &[
    entry("name", FieldKind::Text, Required, "the argument's name"),
    entry("description", FieldKind::Text, Required, "what the argument means"),
    entry(
        "required",
        FieldKind::Flag,
        Optional,
        "whether a run without it is refused; default true",
    ),
    entry("default", FieldKind::Scalar, Optional, "the value where none is given"),
];

/// Fields that clients read in a `SKILL.md` and the Agent Skills format does not have.
pub const CLIENT_FIELDS: &[&str] = &[
    "agent",
    "argument-hint",
    "arguments",
    "context",
    "disable-model-invocation",
    "disallowed-tools",
    "effort",
    "hooks",
    "model",
    "paths",
    "shell",
    "tools",
    "user-invocable",
    "when_to_use",
];

const fn rule(
    name: &'static str,
    kind: FieldKind,
    tree: FieldUse,
    bundle: FieldUse,
    about: &'static str,
) -> FieldRule {
    FieldRule { name, kind, tree, bundle, standard: false, about }
}

const fn entry(
    name: &'static str,
    kind: FieldKind,
    tree: FieldUse,
    about: &'static str,
) -> FieldRule {
    rule(name, kind, tree, Ignored, about)
}

impl FieldRule {
    /// What this layout does with the field.
    pub fn used_by(&self, dialect: Dialect) -> FieldUse {
        match dialect {
            Dialect::Tree => self.tree,
            Dialect::Bundle => self.bundle,
        }
    }

    /// Whether a value is of the field's kind. An empty value counts as left out.
    pub fn accepts(&self, value: &YamlNode) -> bool {
        let is_text = |node: &YamlNode| node.text().is_some();
        let all = |is: &dyn Fn(&YamlNode) -> bool| {
            value.items().is_some_and(|items| items.iter().all(is))
        };
        value.is_null()
            || match self.kind {
                FieldKind::Text | FieldKind::Tools | FieldKind::Scalar => is_text(value),
                FieldKind::ShortText(max) => {
                    value.text().is_some_and(|text| text.trim().chars().nth(max).is_none())
                }
                FieldKind::Words => value.kind() == "text" || all(&is_text),
                FieldKind::Names => all(&is_text),
                FieldKind::Flag => value.boolean().is_some(),
                FieldKind::Number => value.number().is_some(),
                FieldKind::Word(words) => value.text().is_some_and(|word| words.contains(&word)),
                FieldKind::TextMap => {
                    value.entries().is_some() && Self::first_not_text(value).is_none()
                }
                FieldKind::Entries(_) => all(&|item| item.entries().is_some()),
            }
    }

    /// The first entry of a map that other readers do not take for text.
    pub fn first_not_text(map: &YamlNode) -> Option<&YamlEntry> {
        map.entries()?.iter().find(|entry| entry.value.kind() != "text")
    }

    /// The kind of its values, in words.
    pub fn expected(&self) -> String {
        match self.kind {
            FieldKind::Text => "text".to_owned(),
            FieldKind::ShortText(max) => format!("text of at most {max} characters"),
            FieldKind::Words => "a list of words".to_owned(),
            FieldKind::Flag => "true or false".to_owned(),
            FieldKind::Number => "a number".to_owned(),
            FieldKind::Word(words) => format!("one of {}", words.join(", ")),
            FieldKind::Names => "a list of names".to_owned(),
            FieldKind::Tools => "words with blanks between them".to_owned(),
            FieldKind::TextMap => "a map of names to texts".to_owned(),
            FieldKind::Scalar => "text, a number or a boolean".to_owned(),
            FieldKind::Entries(_) => "a list of entries".to_owned(),
        }
    }
}

/// The rules of the fields that a skill of this layout reads.
pub fn fields_of(dialect: Dialect) -> impl Iterator<Item = &'static FieldRule> {
    FIELDS.iter().filter(move |rule| rule.used_by(dialect) != Ignored)
}

/// The rule whose name is almost this one, where exactly one is.
pub fn near_field<'a>(
    written: &str,
    rules: impl Iterator<Item = &'a FieldRule>,
) -> Option<&'a FieldRule> {
    let key = written.to_lowercase().replace('_', "-");
    let close = |rule: &&FieldRule| {
        let allowed = if rule.name.len() <= 4 { 1 } else { 2 };
        strsim::osa_distance(&key, rule.name) <= allowed
    };
    let mut close_rules = rules.filter(close);
    let first = close_rules.next().filter(|_| !CLIENT_FIELDS.contains(&written))?;
    close_rules.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{document::front_matter, yaml};

    #[test]
    fn near_misses_lead_to_their_field_and_other_names_to_none() {
        let near =
            |written: &str, dialect| near_field(written, fields_of(dialect)).map(|rule| rule.name);
        for (written, field) in [
            ("priorty", "priority"),
            ("inherits", "inherit"),
            ("asset", "assets"),
            ("trigger", "triggers"),
            ("descripton", "description"),
            ("Keywords", "keywords"),
        ] {
            assert_eq!(near(written, Dialect::Tree), Some(field), "{written}");
        }
        assert_eq!(near("allowed_tools", Dialect::Bundle), Some("allowed-tools"));
        assert_eq!(near("licence", Dialect::Bundle), Some("license"));
        for written in ["tags", "version", "author", "title", "owner", "model", "tools", "asset"] {
            assert_eq!(near(written, Dialect::Bundle), None, "{written}");
        }
    }

    /// The table says of every field that is read what the reader does: a value of the wrong kind costs a finding.
    #[test]
    fn the_table_and_the_reader_agree() {
        let wrong = |kind: FieldKind| match kind {
            FieldKind::Text | FieldKind::ShortText(_) | FieldKind::Scalar => "[a, b]",
            FieldKind::Flag | FieldKind::Number | FieldKind::Word(_) => "nonsense",
            FieldKind::Names | FieldKind::Entries(_) => "{a: b}",
            FieldKind::Words => "[{a: b}]",
            FieldKind::Tools => "[Read]",
            FieldKind::TextMap => "text",
        };
        for rule in FIELDS {
            assert!(!rule.accepts(&yaml::parse(wrong(rule.kind)).unwrap()), "{}", rule.name);
            // What only other programs read is not read here.
            let unread = ["license", "compatibility", "metadata"];
            let dialects = [Dialect::Tree, Dialect::Bundle];
            for dialect in dialects
                .into_iter()
                .filter(|dialect| rule.used_by(*dialect) != Ignored && !unread.contains(&rule.name))
            {
                let others = [("keywords", "[one, two, three]"), ("description", "All")];
                let others = others.iter().filter(|(name, _)| *name != rule.name);
                let mut text = format!("---\n{}: {}\n", rule.name, wrong(rule.kind));
                for (name, value) in others {
                    text.extend([name, ": ", value, "\n"]);
                }
                text.push_str("---\nBody\n");
                let parsed = super::super::Parsed::read(text.clone().into_bytes(), dialect);
                assert!(!parsed.findings.is_empty(), "{dialect:?} {}", rule.name);
                assert_eq!(
                    parsed.skill.is_none(),
                    rule.used_by(dialect) == Required,
                    "{dialect:?} {}",
                    rule.name
                );
                assert!(front_matter(&text, dialect).is_some());
            }
        }
    }

    #[test]
    fn a_list_of_words_is_no_map_and_no_number() {
        let codes = |dialect, line: &str| -> Vec<String> {
            let keywords =
                if dialect == Dialect::Tree { "keywords: [one, two, three]\n" } else { "" };
            let text = format!("---\nname: x\n{keywords}description: All\n{line}\n---\nBody\n");
            let parsed = super::super::Parsed::read(text.into_bytes(), dialect);
            assert!(parsed.skill.is_some(), "{line}");
            let invalid = |one: &&crate::diagnostic::Finding| {
                one.code == crate::diagnostic::Code::FieldInvalid
            };
            parsed.findings.iter().filter(invalid).map(|one| one.message.clone()).collect()
        };
        for (dialect, line, expected) in [
            (Dialect::Bundle, "keywords: {a: b}", "`keywords` is a map"),
            (Dialect::Bundle, "triggers: 3", "`triggers` is a number"),
            (Dialect::Bundle, "triggers: {x: y}", "`triggers` is a map"),
            (Dialect::Tree, "triggers: 3", "`triggers` is a number"),
            (Dialect::Tree, "examples: [a, {b: c}]", "an entry of `examples` is a map"),
        ] {
            let found = codes(dialect, line);
            assert!(found.len() == 1 && found[0].starts_with(expected), "{line}: {found:?}");
        }
        for line in ["triggers: one, two", "examples: [404, on]", "triggers:"] {
            assert_eq!(codes(Dialect::Bundle, line), Vec::<String>::new(), "{line}");
        }
    }
}
