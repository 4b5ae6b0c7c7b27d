//! The words of a prompt hook: which skill fits what the user has just asked for, and the call that loads it.

use skills_core::{
    catalog::{Skill, SkillKind},
    estimate,
};

use super::{
    ServerProfile, ToolSet, ToolSets, get_skill,
    listing::{one_line, shortened_to},
    skill,
};
use crate::store::CachedSkill;

/// A hint costs at most so many tokens.
const MAX_HINT_TOKENS: usize = 80;
/// Descriptions have these lengths, the first that fits.
const DESCRIPTION_CHARS: [usize; 4] = [120, 80, 50, 0];

/// A skill as a hint names it.
#[derive(Debug, Clone)]
pub struct HintedSkill {
    kind: SkillKind,
    /// Its identity.
    pub identity: String,
    label: String,
    description: String,
}

impl From<&Skill> for HintedSkill {
    fn from(skill: &Skill) -> Self {
        Self {
            kind: skill.kind,
            identity: one_line(&skill.identity),
            label: one_line(&skill.label),
            description: one_line(&skill.fields().description),
        }
    }
}

impl From<CachedSkill> for HintedSkill {
    fn from(skill: CachedSkill) -> Self {
        Self {
            kind: skill.kind,
            identity: one_line(&skill.identity),
            label: one_line(&skill.label),
            description: one_line(&skill.description),
        }
    }
}

/// The hint that names these skills, the likeliest first; none where not even their names fit.
pub fn hint(profile: &ServerProfile, skills: &[HintedSkill]) -> Option<String> {
    // Fewer skills where their names are long.
    (1..=skills.len()).rev().find_map(|count| {
        let skills = skills.get(..count)?;
        let worded = DESCRIPTION_CHARS.iter().map(|chars| worded(profile, skills, *chars));
        worded.into_iter().find(|text| estimate::tokens(text) <= MAX_HINT_TOKENS)
    })
}

fn worded(profile: &ServerProfile, skills: &[HintedSkill], chars: usize) -> String {
    let about = |skill: &HintedSkill| {
        let description = shortened_to(&skill.description, chars);
        if chars == 0 || description.is_empty() {
            String::new()
        } else {
            format!(": {description}")
        }
    };
    match skills {
        [only] => {
            let call = call(profile, only);
            format!("A skill fits this task{}\nLoad it before you start: {call}.", about(only))
        }
        several => {
            let lines: Vec<String> = several
                .iter()
                .map(|skill| format!("- {}{}", call(profile, skill), about(skill)))
                .collect();
            format!(
                "If one of these skills fits this task, load it before you start:\n{}",
                lines.join("\n")
            )
        }
    }
}

/// The call that loads a skill, in the tool set that the server offers for it.
fn call(profile: &ServerProfile, skill: &HintedSkill) -> String {
    let tree = match &profile.tool_sets {
        ToolSets::Automatic => profile.named && skill.kind == SkillKind::Tree,
        ToolSets::Chosen(tool_sets) => !tool_sets.contains(&ToolSet::Skill),
    };
    if tree {
        format!("{} skill_path \"{}\"", get_skill::TOOL.name, skill.identity)
    } else {
        format!("{} name \"{}\"", profile.tool_name(&skill::TOOL), skill.label)
    }
}
