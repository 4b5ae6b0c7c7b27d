//! The ranked index of a snapshot: made beside the calls, kept ready while few skills change, made exact later.
//!
//! Not here: how it ranks (core), and when it is made (`schedule`).

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use skills_core::{
    catalog::{Catalog, Skill, SkillId},
    document::{ContentDigest, SkillText},
    route::{
        authoring::Routes,
        clauses,
        ranked::{self, Family, RankedIndex, Ranking, SearchEntry, Tokenizer},
        search, search_text,
    },
};

use super::{LearnedRequests, Snapshot, Store, refresher::RefreshRequest};
use crate::source::{Bodies, PreparedThreads, Slab, both, map_prepared};

/// An index that is ready stays ready if at most so many skills have changed: a call may be waiting.
pub(super) const MAX_INDEXED_AT_ONCE: usize = 256;
/// More skills than that are added in so many parts, so that only the entries of two parts are in memory.
const INDEX_PARTS: usize = 5;

/// The ranked index, or what it is to be made of.
#[derive(Debug)]
pub(super) struct Index {
    ranked: OnceLock<RankedIndex>,
    /// Taken when the index is made.
    unindexed: Mutex<Option<Unindexed>>,
    /// How many skills were read to make it.
    read: AtomicUsize,
    /// What skills were loaded for before, where that counts.
    pub(super) learned: Option<Arc<LearnedRequests>>,
    /// The index with that.
    pub(super) with_learned: OnceLock<RankedIndex>,
}

/// What an index is made of.
#[derive(Debug)]
pub(super) struct Unindexed {
    /// The index before.
    pub(super) base: RankedIndex,
    /// The skills that changed since.
    pub(super) changed: Vec<SkillId>,
    /// What those say that were read meanwhile.
    pub(super) bodies: Bodies,
    /// Whether the index is to be exact, however few skills changed.
    pub(super) exact: bool,
}

impl Index {
    pub(super) fn new(unindexed: Unindexed, learned: Option<Arc<LearnedRequests>>) -> Self {
        Self {
            ranked: OnceLock::new(),
            unindexed: Mutex::new(Some(unindexed)),
            read: AtomicUsize::new(0),
            learned,
            with_learned: OnceLock::new(),
        }
    }

    fn take_unindexed(&self) -> Option<Unindexed> {
        self.unindexed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Unindexed {
    /// Every skill of a catalog.
    pub(super) fn all(catalog: &Catalog) -> Self {
        let changed = (0..catalog.end()).map(SkillId::at).collect();
        Self { base: RankedIndex::default(), changed, bodies: Bodies::default(), exact: true }
    }
}

impl Store {
    /// Makes the ranked index ready, and exact if more skills than this have changed since it last was. Changes that are
    /// published meanwhile are added to the index that was made, so that it need not be made again.
    pub(super) fn index(&self, max_pending: usize) {
        let Some(indexed) = self.known() else { return };
        let ranked = match indexed.ready_index() {
            Some(ranked) if ranked.pending() <= max_pending => return,
            Some(ranked) => ranked.merged(),
            None => indexed.ranked().clone(),
        };
        loop {
            let Some(old) = self.known() else { return };
            if old.ready_index().is_some_and(|known| known.is_same(&ranked)) {
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

impl Store {
    /// Keeps what is known for the next process, once the index over it is exact.
    pub(super) fn save(&self) {
        let snapshot = self
            .known()
            .filter(|snapshot| snapshot.ready_index().is_some_and(|ranked| ranked.pending() == 0));
        if let (Some(cache), Some(snapshot)) = (&self.cache, snapshot) {
            cache.save(&snapshot);
        }
    }

    /// The same of a process that ends, where it had to read many skills: the next one need not.
    pub fn save_index(&self, snapshot: &Snapshot) {
        let has_read_many = snapshot.index.read.load(Ordering::Relaxed) > MAX_INDEXED_AT_ONCE;
        if let Some(cache) = self.cache.as_ref().filter(|_| has_read_many) {
            cache.save(snapshot);
        }
    }
}

impl Snapshot {
    /// The skills that a request most likely means.
    pub fn search(&self, query: &str, limit: usize) -> Ranking {
        search(&self.catalog, self.searched(), query, limit)
    }

    /// How many skills a search looks through.
    pub fn searched_skills(&self) -> usize {
        self.ranked().len()
    }

    /// What requests find here by what authors wrote, to be tried with changes.
    pub fn routes(&self) -> Routes<'_> {
        let matching = self.settings().matching;
        Routes::new(&self.catalog, self.router.clone(), self.ranked().clone(), matching)
    }

    /// Puts hits, best first, into families: those that say much the same, and what tells each apart.
    pub fn families(&self, entries: &[usize]) -> Vec<Family> {
        self.ranked().families(entries)
    }

    /// The same where every one of them is shown.
    pub fn whole_families(&self, entries: &[usize]) -> Vec<Family> {
        self.ranked().whole_families(entries)
    }

    /// Whether the ranked index is ready.
    pub fn is_indexed(&self) -> bool {
        self.ready_index().is_some()
    }

    pub(super) fn ready_index(&self) -> Option<&RankedIndex> {
        self.index.ranked.get()
    }

    /// The ranked index. Made beside the first calls; a search that comes earlier waits for it.
    pub(super) fn ranked(&self) -> &RankedIndex {
        self.index.ranked.get_or_init(|| {
            let unindexed = self.index.take_unindexed();
            let unindexed = unindexed.unwrap_or_else(|| Unindexed::all(&self.catalog));
            self.index.read.store(unindexed.changed.len(), Ordering::Relaxed);
            self.indexed(unindexed)
        })
    }

    /// The same snapshot with an index that was made over an earlier one.
    pub(super) fn indexed_by(&self, ranked: &RankedIndex, over: &Self) -> Self {
        let Self { catalog, router, config, roots, consent, index, access } = self;
        let bodies = index.take_unindexed().map(|unindexed| unindexed.bodies).unwrap_or_default();
        let changed = catalog.changed_since(&over.catalog).into_iter().collect();
        let unindexed = Unindexed { base: ranked.clone(), changed, bodies, exact: false };
        let next = Self {
            catalog: catalog.clone(),
            router: router.clone(),
            config: Arc::clone(config),
            roots: roots.clone(),
            consent: *consent,
            index: Index::new(unindexed, index.learned.clone()),
            access: access.clone(),
        };
        next.ranked();
        next
    }

    fn indexed(&self, Unindexed { base, changed, bodies, exact }: Unindexed) -> RankedIndex {
        let exact = exact || base.is_empty() || changed.len() > MAX_INDEXED_AT_ONCE;
        let mut unread = Unread::default();
        let mut gone = Vec::new();
        for number in changed {
            match self.catalog.skill(number) {
                Some(skill) => unread.0.push((*skill.document().digest(), number)),
                None => gone.push((number.index(), None)),
            }
        }
        unread.0.sort_unstable();
        let mut growing = GrowingIndex { ranked: base.with(gone), waiting: Vec::new(), exact };
        // The next part has mostly the same words.
        let tokenizers = PreparedThreads::default();
        // The last first, and each part is dropped when it is tokenized.
        let mut slabs = bodies.into_slabs();
        let part = slabs.len().div_ceil(INDEX_PARTS).max(1);
        let mut read = Vec::new();
        while !slabs.is_empty() {
            let part = slabs.split_off(slabs.len().saturating_sub(part));
            let bodies = part.iter().flat_map(Slab::bodies);
            let texts: Vec<(SkillId, &str)> = bodies
                .flat_map(|(digest, body)| unread.of(digest).map(move |number| (number, body)))
                .collect();
            read.extend(texts.iter().map(|(number, _)| *number));
            growing.add(|| {
                map_prepared(&texts, &tokenizers, Tokenizer::new, |tokenizer, (number, body)| {
                    (number.index(), self.entry(*number, body, tokenizer))
                })
            });
        }
        let unread = unread.without(read);
        for part in unread.chunks(unread.len().div_ceil(INDEX_PARTS).max(MAX_INDEXED_AT_ONCE)) {
            growing.add(|| {
                map_prepared(part, &tokenizers, Tokenizer::new, |tokenizer, number| {
                    // Without its text if that cannot be read now, until the watch reports it.
                    let text = self.catalog.skill(*number).and_then(|skill| self.text(skill).ok());
                    let body = text.as_ref().map(SkillText::body).unwrap_or_default();
                    (number.index(), self.entry(*number, body, tokenizer))
                })
            });
        }
        growing.grown()
    }

    /// A skill as the index takes it; none where only its user starts it.
    fn entry(
        &self,
        number: SkillId,
        body: &str,
        tokenizer: &mut Tokenizer,
    ) -> Option<Arc<SearchEntry>> {
        let skill = self.catalog.skill(number).filter(|skill| skill.is_for_models())?;
        let clauses = self.clauses(skill);
        Some(Arc::new(SearchEntry::read(
            &ranked::SearchText { body, ..search_text(skill, &clauses) },
            tokenizer,
        )))
    }
}

/// An index that grows part by part. A part is merged into it while the next one is read, since merging takes one core.
struct GrowingIndex {
    ranked: RankedIndex,
    /// The part that is not merged yet.
    waiting: Vec<(usize, Option<Arc<SearchEntry>>)>,
    exact: bool,
}

impl GrowingIndex {
    /// Adds the skills that `read` gives.
    fn add(&mut self, read: impl FnOnce() -> Vec<(usize, Option<Arc<SearchEntry>>)>) {
        if self.waiting.is_empty() {
            self.waiting = read();
        } else {
            (self.ranked, self.waiting) = both(|| self.grown(), read);
        }
    }

    /// The index with the part that is waiting.
    fn grown(&self) -> RankedIndex {
        if self.exact {
            self.ranked.merged_with(&self.waiting)
        } else {
            self.ranked.with(self.waiting.iter().cloned())
        }
    }
}

/// Skills that are not in the index, by the digests of their files, ascending.
#[derive(Debug, Default)]
struct Unread(Vec<(ContentDigest, SkillId)>);

impl Unread {
    /// The skills with this digest.
    fn of(&self, digest: &ContentDigest) -> impl Iterator<Item = SkillId> {
        let first = self.0.partition_point(|(other, _)| other < digest);
        let same = self.0.iter().skip(first).take_while(move |(other, _)| other == digest);
        same.map(|(_, number)| *number)
    }

    /// The numbers of those that are not among these.
    fn without(self, mut read: Vec<SkillId>) -> Vec<SkillId> {
        read.sort_unstable();
        let mut numbers: Vec<SkillId> = self.0.into_iter().map(|(_, number)| number).collect();
        numbers.retain(|number| read.binary_search(number).is_err());
        numbers.sort_unstable();
        numbers
    }
}

/// The clause of a skill that a search found it by.
pub fn clause_of(skill: &Skill, number: usize) -> Option<String> {
    search_text(skill, &clauses(skill)).clause(number).map(str::to_owned)
}
