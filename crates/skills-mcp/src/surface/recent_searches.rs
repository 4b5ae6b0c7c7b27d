//! [`RecentSearches`]: the answers of searches that clients asked for lately, each with the snapshot that it is of.
//!
//! Agents of one team send the same server the same queries, and of the short calls a search takes longest. Over one snapshot a
//! query has one answer, so the answer is kept until the snapshot is replaced. Not here: whether a snapshot is current, which
//! the dispatcher finds out for every call.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use super::{Refusal, Reply};
use crate::store::Snapshot;

/// All that is kept takes at most so many bytes; then all of it is forgotten.
const MAX_KEPT_BYTES: usize = 4 * 1024 * 1024;
/// The answer to a longer query is not kept: no second client writes the same.
const MAX_KEPT_QUERY_BYTES: usize = 1_000;

/// What decides the answer to a search over a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SearchKey {
    /// The id of the client in the table of clients, if it is there: it decides the words.
    pub(super) client: Option<&'static str>,
    pub(super) query: String,
    pub(super) limit: usize,
    pub(super) explain: bool,
}

/// The answer to a search, and what an event says of it.
#[derive(Debug)]
pub(super) struct SearchAnswer {
    pub(super) reply: Reply,
    pub(super) query: String,
    /// The identities of the skills that it shows, best first.
    pub(super) shown: Vec<Arc<str>>,
    /// How many skills there would have been.
    pub(super) total: usize,
    pub(super) confident: Option<bool>,
}

impl SearchAnswer {
    fn bytes(&self) -> usize {
        let structured = self.reply.structured.as_ref().map_or(0, |json| json.get().len());
        2 * self.query.len() + self.reply.text.len() + structured + 64 * self.shown.len()
    }
}

/// The answers that are kept.
#[derive(Debug, Default)]
pub(super) struct RecentSearches(Mutex<KeptSearches>);

/// The answers over one snapshot.
type KeptAnswers = HashMap<SearchKey, Arc<SearchAnswer>>;

#[derive(Debug, Default)]
struct KeptSearches {
    /// Clients that may see different skills are answered from different snapshots.
    over: Vec<(Weak<Snapshot>, KeptAnswers)>,
    bytes: usize,
}

impl RecentSearches {
    /// The answer that is kept for a search over a snapshot, else the one that `search` gives.
    pub(super) fn find_or_make(
        &self,
        snapshot: &Arc<Snapshot>,
        key: SearchKey,
        search: impl FnOnce() -> Result<SearchAnswer, Refusal>,
    ) -> Result<Arc<SearchAnswer>, Refusal> {
        let known = self.lock().answers(snapshot).and_then(|answers| answers.get(&key).cloned());
        if let Some(known) = known {
            return Ok(known);
        }
        let answer = Arc::new(search()?);
        if key.query.len() <= MAX_KEPT_QUERY_BYTES {
            self.lock().keep(snapshot, key, &answer);
        }
        Ok(answer)
    }

    fn lock(&self) -> MutexGuard<'_, KeptSearches> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptSearches {
    fn answers(&mut self, snapshot: &Arc<Snapshot>) -> Option<&mut KeptAnswers> {
        // The weak pointer keeps the address from being given to another snapshot.
        let is_over = |over: &Weak<Snapshot>| std::ptr::eq(over.as_ptr(), Arc::as_ptr(snapshot));
        self.over.iter_mut().find(|(over, _)| is_over(over)).map(|(_, answers)| answers)
    }

    fn keep(&mut self, snapshot: &Arc<Snapshot>, key: SearchKey, answer: &Arc<SearchAnswer>) {
        let bytes = answer.bytes();
        if self.answers(snapshot).is_none() {
            self.over.retain(|(over, _)| over.strong_count() > 0);
            let left = self.over.iter().flat_map(|(_, answers)| answers.values());
            self.bytes = left.map(|answer| answer.bytes()).sum();
            self.over.push((Arc::downgrade(snapshot), HashMap::new()));
        }
        if self.bytes + bytes > MAX_KEPT_BYTES {
            self.over.iter_mut().for_each(|(_, answers)| answers.clear());
            self.bytes = 0;
        }
        if let Some(answers) = self.answers(snapshot)
            && answers.insert(key, Arc::clone(answer)).is_none()
        {
            self.bytes += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::ConfigLayers,
        store::{Cause, Store},
    };

    fn snapshot() -> Arc<Snapshot> {
        Store::new(Vec::new(), ConfigLayers::default()).refresh(Cause::Start).snapshot
    }

    fn key(query: &str) -> SearchKey {
        SearchKey { client: None, query: query.to_owned(), limit: 10, explain: false }
    }

    fn answer(text: &str) -> SearchAnswer {
        SearchAnswer {
            reply: Reply::text(text),
            query: String::new(),
            shown: Vec::new(),
            total: 0,
            confident: None,
        }
    }

    #[test]
    fn an_answer_is_of_its_query_and_its_snapshot() {
        let (recent, first, second) = (RecentSearches::default(), snapshot(), snapshot());
        let ask = |snapshot, query, made| {
            recent
                .find_or_make(snapshot, key(query), || Ok(answer(made)))
                .unwrap()
                .reply
                .text
                .clone()
        };
        assert_eq!(ask(&first, "tea", "a"), "a");
        assert_eq!(ask(&first, "tea", "b"), "a");
        assert_eq!(ask(&first, "coffee", "c"), "c");
        assert_eq!(ask(&second, "tea", "d"), "d");
        let other = SearchKey { client: Some("codex"), ..key("tea") };
        let other = recent.find_or_make(&first, other, || Ok(answer("e"))).unwrap();
        assert_eq!(other.reply.text, "e");
        let long = "x".repeat(MAX_KEPT_QUERY_BYTES + 1);
        assert_eq!(ask(&first, &long, "f"), "f");
        assert_eq!(ask(&first, &long, "g"), "g");
    }

    #[test]
    fn what_is_kept_has_a_limit_and_goes_with_its_snapshot() {
        let (recent, first) = (RecentSearches::default(), snapshot());
        let large = "x".repeat(MAX_KEPT_BYTES / 3);
        for number in 0..10 {
            let query = key(&number.to_string());
            recent.find_or_make(&first, query, || Ok(answer(&large))).unwrap();
            assert!(recent.lock().bytes <= MAX_KEPT_BYTES);
        }
        drop(first);
        recent.find_or_make(&snapshot(), key("tea"), || Ok(answer("a"))).unwrap();
        assert_eq!((recent.lock().over.len(), recent.lock().bytes), (1, 1));
    }
}
