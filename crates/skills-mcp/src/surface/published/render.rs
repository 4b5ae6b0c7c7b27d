//! A tree skill as a bundle: its `SKILL.md` is a front matter made for it and the text that `get_skill` composes.

use skills_core::{
    catalog::Skill,
    diagnostic::one_line,
    document::SkillText,
    resolve::{Resolved, TextLimit, inherited_from, resolve},
};

use crate::{
    store::{ContentError, Snapshot},
    surface::Refusal,
};

/// What Agent Skills allows a description.
const MAX_DESCRIPTION_CHARS: usize = 1_024;

/// A skill's text, if it is what was indexed; another try may find it.
pub(in crate::surface) fn text_of(
    snapshot: &Snapshot,
    skill: &Skill,
) -> Result<SkillText, Refusal> {
    snapshot.text(skill).map_err(|error| unread(skill, &error))
}

/// What to say of a file that cannot be read at this moment.
pub(super) fn unread(skill: &Skill, error: &ContentError) -> Refusal {
    Refusal::Stale(format!(
        "Skill '{}' cannot be read now: a file of it {error}. Try again in a moment.",
        skill.identity
    ))
}

/// Everything that `get_skill` would answer with, for a client without a limit.
pub(in crate::surface) fn composed<'a>(
    snapshot: &'a Snapshot,
    skill: &'a Skill,
) -> Result<Resolved<'a>, Refusal> {
    let with_text = |skill: &'a Skill| Ok((skill, text_of(snapshot, skill)?));
    let inherited = inherited_from(&snapshot.catalog, skill).into_iter().map(with_text);
    let inherited = inherited.collect::<Result<Vec<_>, Refusal>>()?;
    let limit = TextLimit::of_tokens(snapshot.settings().content.max_tokens);
    Ok(resolve(skill, &text_of(snapshot, skill)?, &inherited, 1, limit))
}

/// The description of a tree skill on one line, as long as it may be.
pub(super) fn description(skill: &Skill) -> String {
    let whole = one_line(&skill.fields().description);
    if whole.chars().count() <= MAX_DESCRIPTION_CHARS {
        return whole;
    }
    whole.chars().take(MAX_DESCRIPTION_CHARS - 1).chain(['…']).collect()
}

/// The `SKILL.md` of a tree skill.
pub(super) fn rendered(snapshot: &Snapshot, skill: &Skill, name: &str) -> Result<String, Refusal> {
    let text = composed(snapshot, skill)?.content.text;
    // A JSON string is a YAML string in quotes.
    let description = serde_json::Value::String(description(skill));
    Ok(format!("---\nname: {name}\ndescription: {description}\n---\n\n{text}\n"))
}
