//! Every way a call can be refused, and which of them a model can act on.

use std::borrow::Cow;

use serde_json::json;
use skills_core::{
    catalog::{Catalog, NameMatch, Skill},
    document::SkillText,
};

use super::Call;
use crate::store::ContentError;

/// A call that is not answered as asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// The model can act on it: a tool result with `isError`.
    Tool(String),
    /// The same for tools that answer in plain text.
    Plain(String),
    /// The request is malformed: a JSON-RPC error -32602.
    Params(String),
    /// A skill's text is not what was indexed: somebody is changing it. Worth another try with what is there then.
    Stale(String),
    /// Our fault: a JSON-RPC error -32603.
    Internal(String),
}

impl Refusal {
    /// A refusal that says what was asked, what is true and what to try.
    pub fn tool(message: impl Into<String>) -> Self {
        Self::Tool(message.into())
    }

    /// The text block of a tool error.
    pub fn text(message: &str) -> String {
        json!({"error": true, "message": message}).to_string()
    }
}

/// What a skill says.
pub(super) fn text(call: &Call, skill: &Skill) -> Result<SkillText, Refusal> {
    told(call, skill).map(|(_, text)| text)
}

/// A skill and what it says, both of one moment.
pub(super) fn told<'a>(
    call: &Call,
    skill: &'a Skill,
) -> Result<(Cow<'a, Skill>, SkillText), Refusal> {
    let told = match call.snapshot.text(skill) {
        Err(ContentError::Changed) if call.last_try => {
            call.snapshot.newest(skill).map(|(skill, text)| (Cow::Owned(skill), text))
        }
        text => text.map(|text| (Cow::Borrowed(skill), text)),
    };
    told.map_err(|error| {
        Refusal::Stale(format!(
            "Skill '{}' cannot be read now: its file {error}. Try again in a moment.",
            skill.identity
        ))
    })
}

/// The skill of this name, or a refusal with the full names of those that share it, else with near names.
pub(super) fn skill<'a>(catalog: &'a Catalog, asked: &str) -> Result<&'a Skill, Refusal> {
    catalog.find(asked).ok_or_else(|| match catalog.named(asked) {
        NameMatch::Several(skills) => {
            let names: Vec<&str> = skills.iter().map(|skill| &*skill.identity).collect();
            let names = names.join(", ");
            Refusal::Tool(format!("Skill '{asked:.200}' is ambiguous. Use one of: {names}."))
        }
        NameMatch::One(_) | NameMatch::NotFound => {
            Refusal::Tool(not_found("Skill", asked, catalog))
        }
    })
}

/// `Skill 'x' not found. Did you mean: a, b? Use list_skills to see what there is.`
pub(super) fn not_found(what: &str, asked: &str, catalog: &Catalog) -> String {
    // No name is that long, and comparing takes time in its length.
    let asked: String = asked.chars().take(200).collect();
    let near = catalog.near(&asked);
    let near = if near.is_empty() {
        String::new()
    } else {
        format!(" Did you mean: {}?", near.join(", "))
    };
    format!("{what} '{asked}' not found.{near} Use list_skills to see what there is.")
}
