//! The ranked index of a snapshot: made beside the calls, kept ready while few skills change, made exact later.
//!
//! Not here: how it ranks (core), and when it is made (`schedule`).

use std::sync::{Arc, OnceLock};

use skills_core::{
    catalog::{Kind, Skill, SkillId},
    document::Text,
    route::ranked::{self, Entry, Ranked, Ranking, Tokenizer},
};

use super::{Snapshot, Store, request::RefreshRequest};
use crate::source::map;

/// The index is made in so many parts, so that only the entries of one part are in memory.
const INDEX_PARTS: usize = 5;

impl Store {
    /// Makes the ranked index ready, and exact if more skills than this have changed since it last was. Changes that are
    /// published meanwhile are added to the index that was made, so that it need not be made again.
    pub(super) fn index(&self, max_pending: usize) {
        let Some(indexed) = self.known() else { return };
        let ranked = match indexed.ranked.get() {
            Some(ranked) if ranked.pending() <= max_pending => return,
            Some(ranked) => ranked.merged(),
            None => indexed.ranked().clone(),
        };
        loop {
            let Some(old) = self.known() else { return };
            if old.ranked.get().is_some_and(|known| known.is_same(&ranked)) {
                return;
            }
            let new = Arc::new(old.indexed_by(&ranked, &indexed));
            let replace = |reply| RefreshRequest::Replace { old, new, reply };
            // Without an answer there is no refresher, and nothing to replace.
            if self.ask(replace).unwrap_or(true) {
                return;
            }
        }
    }
}

impl Snapshot {
    /// The skills that a request most likely means.
    pub fn search(&self, query: &str, limit: usize) -> Ranking {
        let mut ranking = self.ranked().search(query, limit);
        // Numbers are given as skills come; what is as good as another goes by its place.
        let place = |hit: &ranked::Hit| {
            let skill = self.catalog.skill(SkillId::at(hit.entry));
            skill.map(|skill| (skill.source, skill.kind, &skill.path))
        };
        ranking
            .hits
            .sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| place(a).cmp(&place(b))));
        ranking
    }

    /// Whether the ranked index is ready.
    pub fn is_indexed(&self) -> bool {
        self.ranked.get().is_some()
    }

    /// The ranked index. Made beside the first calls; a search that comes earlier waits for it.
    pub(super) fn ranked(&self) -> &Ranked {
        self.ranked.get_or_init(|| {
            let numbers: Vec<SkillId> = (0..self.catalog.end()).map(SkillId::at).collect();
            numbers.chunks(numbers.len().div_ceil(INDEX_PARTS).max(1)).fold(
                Ranked::default(),
                |ranked, part| {
                    let entries = map(part, Tokenizer::new, |tokenizer, number| {
                        (number.index(), self.entry(*number, tokenizer))
                    });
                    ranked.with(entries).merged()
                },
            )
        })
    }

    /// Makes the index from the one before: these skills changed since.
    pub(super) fn index_after(&self, before: &Ranked, changed: impl Iterator<Item = SkillId>) {
        let mut tokenizer = Tokenizer::new();
        let changed = changed.map(|number| (number.index(), self.entry(number, &mut tokenizer)));
        // Unset: this snapshot is not published yet.
        let _ = self.ranked.set(before.with(changed));
    }

    /// The same snapshot with an index that was made over an earlier one.
    pub(super) fn indexed_by(&self, ranked: &Ranked, over: &Self) -> Self {
        let Self { catalog, router, settled, roots, consent, .. } = self;
        let next = Self {
            catalog: catalog.clone(),
            router: router.clone(),
            settled: Arc::clone(settled),
            roots: roots.clone(),
            consent: *consent,
            ranked: OnceLock::new(),
        };
        next.index_after(ranked, catalog.changed_since(&over.catalog).into_iter());
        next
    }

    /// A skill as the index takes it; without its text if that cannot be read now, until the watch reports it.
    fn entry(&self, number: SkillId, tokenizer: &mut Tokenizer) -> Option<Arc<Entry>> {
        let skill = self.catalog.skill(number)?;
        let text = self.text(skill).ok();
        let body = text.as_ref().map(Text::body).unwrap_or_default();
        let clauses = clauses(skill);
        Some(Arc::new(Entry::read(&ranked::Text { body, ..offered(skill, &clauses) }, tokenizer)))
    }
}

/// The clause of a skill that a search found it by.
pub fn clause_of(skill: &Skill, number: usize) -> Option<String> {
    offered(skill, &clauses(skill)).clause(number).map(str::to_owned)
}

fn clauses(skill: &Skill) -> Vec<String> {
    let fields = skill.fields();
    fields.phrases.iter().chain(&fields.keywords).cloned().collect()
}

/// What a skill offers to be found by, beside its text.
fn offered<'a>(skill: &'a Skill, clauses: &'a [String]) -> ranked::Text<'a> {
    let fields = skill.fields();
    let name = match skill.kind {
        Kind::Bundle => fields.name.as_deref().unwrap_or(skill.path.name()),
        Kind::Tree => &skill.identity,
    };
    ranked::Text { name, description: &fields.description, body: "", clauses }
}
