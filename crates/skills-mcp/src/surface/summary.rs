//! A skill as the flat tools show it (FLAT-1).

use serde::Serialize;
use skills_core::catalog::{Skill, SkillKind};

use super::{Call, ToolSet};

/// One skill.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    install_name: String,
    meta: Meta,
    skill_path: String,
    skill_file: String,
    /// What it is loaded by, where a tool that loads it is offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    load_name: Option<String>,
}

#[derive(Serialize)]
struct Meta {
    name: String,
    description: String,
}

impl Summary {
    pub(super) fn of(call: &Call, skill: &Skill) -> Self {
        let name = match skill.kind {
            SkillKind::Bundle => {
                skill.fields().name.clone().unwrap_or_else(|| skill.path.name().to_owned())
            }
            SkillKind::Tree => skill.identity.to_string(),
        };
        let install_name = match skill.kind {
            SkillKind::Bundle => skill.path.to_string(),
            SkillKind::Tree => skill.identity.to_string(),
        };
        let offers = |tool_set| call.profile.offers(tool_set, &call.snapshot);
        let loads = offers(ToolSet::Skill) || offers(ToolSet::Tree);
        let (skill_path, skill_file) = match call.profile.remote {
            None => call.snapshot.locate(skill, &call.profile.environment.directory),
            Some(_) => match call.address(skill) {
                Some(folder) => (folder.clone(), format!("{folder}/SKILL.md")),
                None => (skill.path.to_string(), skill.file.to_string()),
            },
        };
        Self {
            install_name,
            meta: Meta { name, description: skill.fields().description.clone() },
            skill_path,
            skill_file,
            load_name: loads.then(|| skill.label.to_string()),
        }
    }
}

impl Summary {
    /// What the skill is called where it is loaded.
    pub(super) fn name(&self) -> &str {
        self.load_name.as_deref().unwrap_or(&self.install_name)
    }

    /// Its file.
    pub(super) fn file(&self) -> &str {
        &self.skill_file
    }

    /// What it is for.
    pub(super) fn description(&self) -> &str {
        &self.meta.description
    }
}

/// Everything a flat tool looks at: install name, name, description and text.
pub(super) fn haystack(skill: &Skill, body: &str) -> String {
    let name = skill.fields().name.as_deref().unwrap_or_default();
    format!("{}\n{name}\n{}\n{body}", skill.path, skill.fields().description).to_lowercase()
}
