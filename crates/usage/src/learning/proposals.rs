//! Proposals in words, for the terminal and the page alike.

use skills_core::{
    catalog::{Catalog, SkillId},
    route::authoring::{EditEffect, LearnedProposal, ProposalKind},
};

/// A proposal in words. Words of skills and requests are as they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalText {
    /// What to do, in a line.
    pub title: String,
    /// The words to add, or the sentence.
    pub lines: Vec<String>,
    /// What speaks for it.
    pub because: String,
    /// What it would change; none where it changes no front matter.
    pub effect: Option<String>,
}

impl ProposalText {
    /// The words of a proposal over this catalog.
    pub fn of(proposal: &LearnedProposal, catalog: &Catalog) -> Self {
        let file = |id: SkillId| catalog.skill(id).map_or("", |skill| skill.file.as_str());
        let label = |id: SkillId| catalog.skill(id).map_or("", |skill| &*skill.label);
        let evidence = match proposal.evidence {
            1 => "1 request".to_owned(),
            count => format!("{count} requests"),
        };
        match &proposal.kind {
            ProposalKind::Edit(edit) => {
                let keywords = edit.keywords.iter().map(|word| format!("keyword: {word}"));
                let triggers = edit.triggers.iter().map(|phrase| format!("trigger: {phrase}"));
                Self {
                    title: format!("{}: add to the front matter", file(edit.skill)),
                    lines: keywords.chain(triggers).collect(),
                    because: format!(
                        "{evidence} loaded it although another skill, or none, was shown first"
                    ),
                    effect: Some(effect(proposal.effect)),
                }
            }
            ProposalKind::Boundary { skill, other, sentence } => Self {
                title: format!("{}: say what {} is for", file(*skill), label(*other)),
                lines: vec![format!("in the text: {sentence}")],
                because: format!("{evidence} showed this skill first and loaded the other"),
                effect: None,
            },
            ProposalKind::NewSkill { words } => Self {
                title: format!("a skill to write, about {}", words.join(", ")),
                lines: Vec::new(),
                because: format!("{evidence} found nothing that fits"),
                effect: None,
            },
        }
    }
}

/// What an edit would change.
fn effect(effect: EditEffect) -> String {
    let EditEffect { found, lost, tests_fixed, tests_broken } = effect;
    let more = |count: usize, what: &str, one: &str, several: &str| match count {
        1 => format!("1 more {what} {one}"),
        count => format!("{count} more {what}s {several}"),
    };
    let found = more(found, "past request", "finds its skill first", "find their skills first");
    let mut parts = vec![format!("with it, {found}")];
    parts.push(match lost {
        0 => "none is lost".to_owned(),
        lost => format!("{lost} no longer do"),
    });
    if tests_fixed > 0 {
        parts.push(more(tests_fixed, "routing test", "passes", "pass"));
    }
    match tests_broken {
        0 => {}
        1 => parts.push("1 routing test breaks".to_owned()),
        broken => parts.push(format!("{broken} routing tests break")),
    }
    parts.join(", ")
}
