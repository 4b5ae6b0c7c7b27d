//! [`RecentAnswers`]: answers that clients asked for lately, each with the snapshot that it is of.
//!
//! Agents of one team send the same server the same queries and load the same skills. Over one snapshot a query has one answer, so
//! the answer is kept until the snapshot is replaced. Not here: whether a snapshot is current, which the dispatcher finds out for
//! every call, and whether the file of a skill is still what was indexed (`skill`).

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use skills_core::{catalog::SkillId, route::ranked::Certainty};

use super::Reply;
use crate::store::Snapshot;

/// All answers of a kind take at most so many bytes; then all of them are forgotten.
const MAX_KEPT_BYTES: usize = 4 * 1024 * 1024;

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
    pub(super) certainty: Option<Certainty>,
}

/// What decides the answer that loads a bundle over a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct LoadKey {
    /// As of a search.
    pub(super) client: Option<&'static str>,
    pub(super) skill: SkillId,
    pub(super) from_line: usize,
}

/// The answer that loads a bundle, and what an event says of it.
#[derive(Debug)]
pub(super) struct LoadAnswer {
    pub(super) reply: Reply,
    pub(super) tokens: usize,
}

/// An answer of which it is known how much memory it takes.
pub(super) trait KeptAnswer {
    fn bytes(&self) -> usize;
}

impl KeptAnswer for SearchAnswer {
    fn bytes(&self) -> usize {
        2 * self.query.len() + self.reply.bytes() + 64 * self.shown.len()
    }
}

impl KeptAnswer for LoadAnswer {
    fn bytes(&self) -> usize {
        self.reply.bytes()
    }
}

/// The answers that are kept.
#[derive(Debug)]
pub(super) struct RecentAnswers<K, A>(Mutex<KeptAnswers<K, A>>);

#[derive(Debug)]
struct KeptAnswers<K, A> {
    /// Clients that may see different skills are answered from different snapshots.
    over: Vec<AnswersOver<K, A>>,
    bytes: usize,
}

/// The answers over one snapshot.
#[derive(Debug)]
struct AnswersOver<K, A> {
    snapshot: Weak<Snapshot>,
    answers: HashMap<K, Arc<A>>,
}

impl<K, A> Default for RecentAnswers<K, A> {
    fn default() -> Self {
        Self(Mutex::new(KeptAnswers { over: Vec::new(), bytes: 0 }))
    }
}

impl<K: Eq + Hash, A: KeptAnswer> RecentAnswers<K, A> {
    /// The answer that is kept, if one is.
    pub(super) fn find(&self, snapshot: &Arc<Snapshot>, key: &K) -> Option<Arc<A>> {
        self.lock().answers(snapshot)?.get(key).cloned()
    }

    /// Keeps an answer.
    pub(super) fn keep(&self, snapshot: &Arc<Snapshot>, key: K, answer: &Arc<A>) {
        self.lock().keep(snapshot, key, answer);
    }

    fn lock(&self) -> MutexGuard<'_, KeptAnswers<K, A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash, A: KeptAnswer> KeptAnswers<K, A> {
    fn answers(&mut self, snapshot: &Arc<Snapshot>) -> Option<&mut HashMap<K, Arc<A>>> {
        // The weak pointer keeps the address from being given to another snapshot.
        let is_over = |over: &&mut AnswersOver<K, A>| {
            std::ptr::eq(over.snapshot.as_ptr(), Arc::as_ptr(snapshot))
        };
        self.over.iter_mut().find(is_over).map(|over| &mut over.answers)
    }

    fn keep(&mut self, snapshot: &Arc<Snapshot>, key: K, answer: &Arc<A>) {
        let bytes = answer.bytes();
        if bytes > MAX_KEPT_BYTES {
            return;
        }
        if self.answers(snapshot).is_none() {
            self.over.retain(|over| over.snapshot.strong_count() > 0);
            let left = self.over.iter().flat_map(|over| over.answers.values());
            self.bytes = left.map(|answer| answer.bytes()).sum();
            let snapshot = Arc::downgrade(snapshot);
            self.over.push(AnswersOver { snapshot, answers: HashMap::new() });
        }
        if self.bytes + bytes > MAX_KEPT_BYTES {
            self.over.iter_mut().for_each(|over| over.answers.clear());
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
    use skills_testkit::wait_until;

    use super::*;
    use crate::{
        config::ConfigLayers,
        store::{Cause, Store},
    };

    fn snapshot() -> Arc<Snapshot> {
        Store::new(Vec::new(), ConfigLayers::default()).refresh(Cause::Start).snapshot
    }

    fn key(client: Option<&'static str>, from_line: usize) -> LoadKey {
        LoadKey { client, skill: SkillId::at(0), from_line }
    }

    fn answer(text: &str) -> Arc<LoadAnswer> {
        Arc::new(LoadAnswer { reply: Reply::text(text), tokens: 0 })
    }

    #[test]
    fn an_answer_is_of_its_key_and_its_snapshot() {
        let (recent, first, second) = (RecentAnswers::default(), snapshot(), snapshot());
        let found = |snapshot, key: LoadKey| {
            recent.find(snapshot, &key).map(|answer: Arc<LoadAnswer>| answer.reply.text.clone())
        };
        assert_eq!(found(&first, key(None, 1)), None);
        recent.keep(&first, key(None, 1), &answer("a"));
        recent.keep(&second, key(None, 1), &answer("b"));
        assert_eq!(found(&first, key(None, 1)).as_deref(), Some("a"));
        assert_eq!(found(&second, key(None, 1)).as_deref(), Some("b"));
        assert_eq!(found(&first, key(None, 2)), None);
        assert_eq!(found(&first, key(Some("codex"), 1)), None);
    }

    #[test]
    fn what_is_kept_has_a_limit_and_goes_with_its_snapshot() {
        let (recent, first) = (RecentAnswers::default(), snapshot());
        let large = answer(&"x".repeat(MAX_KEPT_BYTES / 3));
        for from_line in 0..10 {
            recent.keep(&first, key(None, from_line), &large);
            assert!(recent.lock().bytes <= MAX_KEPT_BYTES);
        }
        recent.keep(&first, key(None, 99), &answer(&"x".repeat(MAX_KEPT_BYTES + 1)));
        assert!(recent.find(&first, &key(None, 99)).is_none());
        let replaced = Arc::downgrade(&first);
        drop(first);
        // A thread of its store may still have it.
        wait_until("the snapshot is gone", || replaced.strong_count() == 0);
        recent.keep(&snapshot(), key(None, 1), &answer("a"));
        let kept = recent.lock();
        assert_eq!((kept.over.len(), kept.bytes), (1, 1));
    }
}
