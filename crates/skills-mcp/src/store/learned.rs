//! [`LearnedRequests`]: what skills were loaded for before, as the ranked search takes it (LEARN-1).
//!
//! Past requests lie over the index and never in it: what is kept for the next process is what authors wrote, and a history that
//! is gone leaves nothing behind. Not here: where the history is read, and how often.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use skills_core::{
    catalog::{Skill, SkillId},
    document::{ContentDigest, SkillText},
    route::{
        authoring::PastRequest,
        ranked::{RankedIndex, SearchEntry, SearchText, Tokenizer},
        search_text,
    },
};

use super::{Index, Snapshot, Store, index::Unindexed, refresher::RefreshRequest};
use crate::source::{Bodies, map};

/// So many requests of a skill are learned from, the latest ones.
const MAX_LEARNED_REQUESTS: usize = 20;
/// So many skills learn, those with the most requests. Each costs a search one or two microseconds.
const MAX_LEARNED_SKILLS: usize = 200;
/// So much of a request is learned from.
const MAX_LEARNED_CHARS: usize = 1_000;

/// The requests that skills were loaded for.
#[derive(Debug)]
pub struct LearnedRequests {
    /// By the skill's identity, oldest first.
    requests: BTreeMap<String, Vec<String>>,
    /// The entries that were made of them, each for one state of a skill's file.
    entries: Mutex<HashMap<SkillId, (ContentDigest, Arc<SearchEntry>)>>,
}

impl LearnedRequests {
    /// From a history, oldest first; none where it holds nothing to learn from.
    pub fn of(past: &[PastRequest]) -> Option<Self> {
        let mut requests: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for PastRequest { request, skill } in past {
            let Some(skill) = skill else { continue };
            let request: String = request.chars().take(MAX_LEARNED_CHARS).collect();
            let known = requests.entry(skill.clone()).or_default();
            // What was asked again is the latest.
            known.retain(|known| *known != request);
            known.push(request);
        }
        for known in requests.values_mut() {
            let over = known.len().saturating_sub(MAX_LEARNED_REQUESTS);
            known.drain(..over);
        }
        if requests.len() > MAX_LEARNED_SKILLS {
            let mut sizes: Vec<(usize, String)> =
                requests.iter().map(|(skill, known)| (known.len(), skill.clone())).collect();
            sizes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
            for (_, skill) in sizes.into_iter().skip(MAX_LEARNED_SKILLS) {
                requests.remove(&skill);
            }
        }
        (!requests.is_empty()).then(|| Self { requests, entries: Mutex::default() })
    }

    /// Whether both say the same.
    pub fn is_same(&self, other: &Self) -> bool {
        self.requests == other.requests
    }

    /// How many requests a skill learns from.
    pub fn count(&self, skill: &Skill) -> usize {
        self.requests.get(&*skill.identity).map_or(0, Vec::len)
    }

    /// The entries of all skills that are there.
    fn entries<'a>(&'a self, snapshot: &Snapshot) -> Vec<(usize, Option<Arc<SearchEntry>>)> {
        let find = |(identity, requests): (&'a String, &'a Vec<String>)| {
            let skill = snapshot.catalog.find(identity).filter(|skill| skill.is_for_models())?;
            (*skill.identity == *identity.as_str()).then_some((skill, requests))
        };
        let skills: Vec<(&Skill, &Vec<String>)> = self.requests.iter().filter_map(find).collect();
        let made = map(&skills, Tokenizer::new, |tokenizer, (skill, requests)| {
            let entry = self.known_entry(skill).unwrap_or_else(|| {
                let text = snapshot.text(skill).ok();
                let body = text.as_ref().map(SkillText::body).unwrap_or_default();
                let words = snapshot.clauses(skill);
                let text = SearchText { body, ..search_text(skill, &words) };
                Arc::new(SearchEntry::with_past(&text, requests, tokenizer))
            });
            (*skill, entry)
        });
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.clear();
        for (skill, entry) in &made {
            entries.insert(skill.id, (*skill.document().digest(), Arc::clone(entry)));
        }
        made.into_iter().map(|(skill, entry)| (skill.id.index(), Some(entry))).collect()
    }

    /// The entry that was made of the skill as it is.
    fn known_entry(&self, skill: &Skill) -> Option<Arc<SearchEntry>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let (digest, entry) = entries.get(&skill.id)?;
        (digest == skill.document().digest()).then(|| Arc::clone(entry))
    }
}

impl Store {
    /// Learns from these requests, or forgets all. Blocks until the index is made.
    pub fn learn(&self, learned: Option<&Arc<LearnedRequests>>) {
        loop {
            let Some(old) = self.known() else { return };
            let new = Arc::new(old.with_learned(learned.cloned()));
            new.searched();
            let replace = |reply| RefreshRequest::Replace { old, new, reply };
            // Without an answer there is no refresher, and nothing to replace.
            if self.ask(replace).unwrap_or(true) {
                return;
            }
        }
    }
}

impl Snapshot {
    /// The index that searches use: the authors' words, and past requests where there are any.
    pub(super) fn searched(&self) -> &RankedIndex {
        let ranked = self.ranked();
        match &self.index.learned {
            None => ranked,
            Some(learned) => {
                self.index.with_learned.get_or_init(|| ranked.with(learned.entries(self)))
            }
        }
    }

    /// How many past requests a skill learns from.
    pub fn learned_from(&self, skill: &Skill) -> usize {
        self.index.learned.as_ref().map_or(0, |learned| learned.count(skill))
    }

    fn with_learned(&self, learned: Option<Arc<LearnedRequests>>) -> Self {
        let base = self.ranked().clone();
        let unindexed =
            Unindexed { base, changed: Vec::new(), bodies: Bodies::default(), exact: false };
        let next = Self {
            catalog: self.catalog.clone(),
            router: self.router.clone(),
            config: Arc::clone(&self.config),
            roots: self.roots.clone(),
            consent: self.consent,
            index: Index::new(unindexed, learned),
            access: self.access.clone(),
        };
        next.ranked();
        next
    }
}
