//! [`Call`]: what a tool works with, from its first line to its last, and what every tool looks up in it.

use std::{borrow::Cow, sync::Arc};

use skills_core::{
    catalog::{Catalog, NameMatch, Skill},
    document::SkillText,
    resolve::{Resolved, TextLimit, inherited_from, resolve},
    route::{DecidedBy, KeywordHit},
};

use super::{
    Refusal, ServerProfile, Session,
    published::PublishedSkills,
    recent_answers::{LoadAnswer, LoadKey, RecentAnswers, SearchAnswer, SearchKey},
};
use crate::{
    event::{Event, Sink, SkillServed, VersionedEvent},
    script::{Caller, Runs},
    store::{ContentError, Snapshot, Store},
};

/// No name is longer, and comparing names takes time in their length.
const MAX_NAME_CHARS: usize = 200;

/// The answers of the calls that a team makes most.
#[derive(Debug, Default)]
pub(super) struct Recent {
    pub(super) searches: RecentAnswers<SearchKey, SearchAnswer>,
    pub(super) loads: RecentAnswers<LoadKey, LoadAnswer>,
}

/// One call of a tool.
#[derive(Debug, Clone)]
pub struct Call {
    /// The catalog and settings, the same from start to end.
    pub snapshot: Arc<Snapshot>,
    /// For the one tool that refreshes.
    pub store: Arc<Store>,
    /// For the addresses of published skills.
    pub(super) published: Arc<PublishedSkills>,
    /// Answers that may be given again, where several clients are served.
    pub(super) recent: Option<Arc<Recent>>,
    /// Where events go.
    pub sink: Sink,
    /// What this client did before.
    pub session: Arc<Session>,
    /// How the server presents itself to the client.
    pub profile: Arc<ServerProfile>,
    /// For the one tool that runs something.
    pub runs: Arc<Runs>,
    /// Who waits for the answer.
    pub caller: Caller,
    /// Whether a text that changed since it was indexed is served as it is now. Set on the last of several tries: the
    /// file changes faster than it is indexed.
    pub accept_changed: bool,
}

impl Call {
    /// The catalog.
    pub(super) fn catalog(&self) -> &Catalog {
        &self.snapshot.catalog
    }

    /// The address of a skill's folder, where the skill is published.
    pub(super) fn address(&self, skill: &Skill) -> Option<String> {
        let addresses = self.published.addresses(&self.snapshot);
        addresses.of(skill.id).map(|published| published.root.to_string())
    }

    /// The skill of this name, or a refusal with the full names of those that share it, else with near names.
    pub(super) fn skill(&self, name: &str) -> Result<&Skill, Refusal> {
        let catalog = self.catalog();
        if let Some(skill) = catalog.find(name) {
            return Ok(skill);
        }
        match self.named(name) {
            NameMatch::One(skill) => Ok(skill),
            NameMatch::Several(skills) => {
                let names: Vec<&str> = skills.iter().map(|skill| &*skill.identity).collect();
                let names = names.join(", ");
                let message = format!("Skill '{name:.200}' is ambiguous. Use one of: {names}.");
                Err(Refusal::Tool(message))
            }
            NameMatch::NotFound => Err(Refusal::Tool(self.not_found("Skill", name))),
        }
    }

    /// Looks up a name; of several skills that share it, only those that are offered count.
    pub(super) fn named(&self, name: &str) -> NameMatch<'_> {
        let NameMatch::Several(mut skills) = self.catalog().named(name) else {
            return self.catalog().named(name);
        };
        let first = skills.first().copied();
        skills.retain(|skill| self.profile.offers_skill(skill));
        match (skills.as_slice(), first) {
            ([only], _) => NameMatch::One(only),
            ([], Some(first)) => NameMatch::One(first),
            _ => NameMatch::Several(skills),
        }
    }

    /// Says why a model may not load a skill and how its user starts it; `None` if it may.
    pub(super) fn only_its_user_starts(&self, skill: &Skill) -> Option<String> {
        let way = if skill.fields().user_invocable {
            format!("If the task needs it, ask the user to start it: prompt `{}`.", skill.label)
        } else {
            "Its author offers no prompt for it either.".to_owned()
        };
        let why = "only its user starts it (`disable-model-invocation` in its front matter)";
        (!self.profile.offers_skill(skill))
            .then(|| format!("Skill '{}': {why}. {way}", skill.label))
    }

    /// Keeps the names of skills that are offered.
    pub(super) fn offered<'a>(&self, mut near: Vec<&'a str>) -> Vec<&'a str> {
        let is_offered = |skill| self.profile.offers_skill(skill);
        near.retain(|name| self.catalog().find(name).is_none_or(is_offered));
        near
    }

    /// `Skill 'x' not found. Did you mean: a, b? Use list_skills to see what there is.`
    pub(super) fn not_found(&self, what: &str, name: &str) -> String {
        let name: String = name.chars().take(MAX_NAME_CHARS).collect();
        let near = self.offered(self.catalog().near(&name));
        let near = if near.is_empty() {
            String::new()
        } else {
            format!(" Did you mean: {}?", near.join(", "))
        };
        format!("{what} '{name}' not found.{near} Use list_skills to see what there is.")
    }

    /// A skill's text.
    pub(super) fn text(&self, skill: &Skill) -> Result<SkillText, Refusal> {
        self.skill_and_text(skill).map(|(_, text)| text)
    }

    /// A skill and its text, both of one moment.
    pub(super) fn skill_and_text<'a>(
        &self,
        skill: &'a Skill,
    ) -> Result<(Cow<'a, Skill>, SkillText), Refusal> {
        let read = match self.snapshot.text(skill) {
            Err(ContentError::Changed) if self.accept_changed => {
                self.snapshot.newest(skill).map(|(skill, text)| (Cow::Owned(skill), text))
            }
            text => text.map(|text| (Cow::Borrowed(skill), text)),
        };
        read.map_err(|error| {
            Refusal::Stale(format!(
                "Skill '{}' cannot be read now: its file {error}. Try again in a moment.",
                skill.identity
            ))
        })
    }

    /// What events call a skill: the same for all callers, also where this one calls it otherwise.
    pub(super) fn recorded(&self, skill: &Skill) -> String {
        self.catalog().recorded_identity(skill).to_string()
    }

    /// The event of a skill that was served: how it was asked for, and the hit that found it and what decided for it, where words did.
    pub(super) fn skill_served(
        &self,
        skill: &Skill,
        ancestors: &[&Skill],
        tokens: usize,
        context: Option<&str>,
        found: Option<(&KeywordHit, DecidedBy)>,
    ) -> VersionedEvent {
        let (was_ambiguous, offered_for) = self.session.chose(&skill.identity);
        let shown_for = self.session.was_shown(&skill.identity);
        let was_shown = shown_for.is_some();
        // A skill that is loaded by its name after a search or an offer is loaded for that request.
        let before = || offered_for.or(shown_for).map(|request| request.to_string());
        Event::SkillServed(SkillServed {
            context: context.map(str::to_owned).or_else(before),
            skill_path: self.recorded(skill),
            score: found.map(|(hit, _)| hit.score.rounded()),
            matched_keywords: found.map(|(hit, _)| hit.matched.clone()).unwrap_or_default(),
            matched_by: found.map(|(_, by)| by.word().to_owned()),
            was_ambiguous,
            inherited_from: ancestors.iter().map(|above| self.recorded(above)).collect(),
            content_length_tokens: tokens as u64,
            was_shown,
        })
        .about(self.snapshot.version(skill))
    }

    /// Limits a text beside which an answer has `reserved_chars`, if the client's limit is known.
    pub(super) fn text_limit(&self, reserved_chars: usize) -> Option<TextLimit> {
        let chars = self.profile.max_answer_chars()?.saturating_sub(reserved_chars);
        Some(TextLimit { tokens: usize::MAX, chars })
    }

    /// Composes all that an agent receives with a skill, its own text from this line on, beside `reserved_chars` of an answer.
    pub(super) fn resolve<'a>(
        &'a self,
        skill: &'a Skill,
        from_line: usize,
        reserved_chars: usize,
    ) -> Result<Resolved<'a>, Refusal> {
        let with_text = |skill: &'a Skill| Ok((skill, self.text(skill)?));
        let inherited = inherited_from(self.catalog(), skill).into_iter().map(with_text);
        let inherited = inherited.collect::<Result<Vec<_>, Refusal>>()?;
        let set = TextLimit::of_tokens(self.snapshot.settings().content.max_tokens);
        let known = self.text_limit(reserved_chars);
        let limit = known.map_or(set, |known| TextLimit { chars: known.chars, ..set });
        Ok(resolve(skill, &self.text(skill)?, &inherited, from_line, limit))
    }
}
