//! Skills as prompts, which clients show as commands: every skill that people may call by name.
//!
//! `user-invocable: false` in the front matter hides one. With an `argument-hint` the prompt has an argument.

use sha2::{Digest as _, Sha256};
use skills_core::{
    catalog::{NameMatch, Skill, SkillKind},
    diagnostic::one_line,
    document::ContentDigest,
    estimate,
    resolve::has_files,
};

use super::{
    Refusal,
    cursor::PagedList,
    host_names::{SKILL_FOLDER, filled_in},
    published::{Publication, composed, text_of},
};
use crate::event::{Event, Sink, SkillServed};

/// So many prompts are on one page.
const MAX_PROMPTS_ON_PAGE: usize = 1_000;
/// The one argument of a prompt.
pub const PROMPT_ARGUMENT: &str = "arguments";
/// More is not put into a text, which may have it in many places.
const MAX_ARGUMENT_BYTES: usize = 64 * 1024;

/// A prompt as it is listed.
#[derive(Debug)]
pub struct ListedPrompt {
    /// The skill's name, `plugin:name` for a plugin's; a tree skill's path.
    pub name: String,
    /// What the skill is for.
    pub description: String,
    /// What the argument means, where the prompt has one.
    pub argument: Option<String>,
}

impl ListedPrompt {
    fn of(skill: &Skill) -> Self {
        Self {
            name: skill.label.to_string(),
            description: one_line(&skill.fields().description),
            argument: skill.fields().argument_hint.as_deref().map(str::to_owned),
        }
    }
}

impl Publication {
    /// A page of prompts, and the cursor of the next.
    pub fn prompts(
        &self,
        cursor: Option<&str>,
    ) -> Result<(Vec<ListedPrompt>, Option<String>), Refusal> {
        let after = PagedList::Prompts.key(cursor)?;
        let is_after = |skill: &&Skill| after.as_deref().is_none_or(|last| &*skill.label > last);
        let mut rest: Vec<&Skill> = self.invocable().filter(is_after).collect();
        rest.sort_unstable_by(|a, b| a.label.cmp(&b.label));
        let page = rest.get(..rest.len().min(MAX_PROMPTS_ON_PAGE)).unwrap_or_default();
        let last = page.last().filter(|_| page.len() < rest.len());
        let next = last.map(|last| PagedList::Prompts.cursor(&last.label));
        Ok((page.iter().map(|skill| ListedPrompt::of(skill)).collect(), next))
    }

    /// What a prompt says to the model, and what it is for.
    pub fn prompt(
        &self,
        name: &str,
        arguments: Option<&str>,
        sink: &Sink,
    ) -> Result<(String, String), Refusal> {
        if arguments.is_some_and(|arguments| arguments.len() > MAX_ARGUMENT_BYTES) {
            let message =
                format!("the arguments are over {MAX_ARGUMENT_BYTES} bytes; say it shorter");
            return Err(Refusal::Params(message));
        }
        let found = match self.snapshot.catalog.named(name) {
            NameMatch::One(skill) => Some(skill),
            NameMatch::Several(_) | NameMatch::NotFound => None,
        };
        let skill = found.filter(|skill| skill.fields().user_invocable).ok_or_else(|| {
            let shown: String = one_line(name).chars().take(200).collect();
            Refusal::Params(format!("there is no prompt '{shown}'; prompts/list has what there is"))
        })?;
        let (body, ancestors) = match skill.kind {
            SkillKind::Bundle => (text_of(&self.snapshot, skill)?.body().to_owned(), Vec::new()),
            SkillKind::Tree => {
                let resolved = composed(&self.snapshot, skill)?;
                (resolved.content.text, resolved.ancestors)
            }
        };
        let text = self.with_files(skill, filled_in(&body, arguments));
        let recorded = |skill: &Skill| self.snapshot.catalog.recorded_identity(skill).to_string();
        sink.record(|| {
            Event::SkillServed(SkillServed {
                context: None,
                skill_path: recorded(skill),
                score: None,
                matched_keywords: Vec::new(),
                matched_by: None,
                was_ambiguous: false,
                inherited_from: ancestors.iter().map(|above| recorded(above)).collect(),
                content_length_tokens: estimate::tokens(&text) as u64,
                was_shown: false,
            })
            .about(self.snapshot.version(skill))
        });
        Ok((text, one_line(&skill.fields().description)))
    }

    /// The same for two snapshots only where the list of prompts is.
    pub fn prompts_digest(&self) -> ContentDigest {
        let mut all = Sha256::new();
        for skill in self.invocable() {
            let fields = skill.fields();
            let hint = fields.argument_hint.as_deref().unwrap_or_default();
            for text in [&*skill.label, &*fields.description, hint] {
                all.update(text);
                all.update([0]);
            }
        }
        all.finalize().into()
    }

    /// The skills that people may call by name.
    pub(super) fn invocable(&self) -> impl Iterator<Item = &Skill> {
        self.snapshot.catalog.skills().filter(|skill| skill.fields().user_invocable)
    }

    /// The text, and where the skill's other files are, if it has any.
    fn with_files(&self, skill: &Skill, text: String) -> String {
        let address = self.addresses.of(skill.id);
        match address.filter(|_| has_files(&self.snapshot.catalog, skill)) {
            Some(address) => {
                let text = text.replace(SKILL_FOLDER, &address.root);
                format!("{text}\n\nFiles of this skill are resources below {}/", address.root)
            }
            None => text,
        }
    }
}
