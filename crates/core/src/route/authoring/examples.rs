//! Past requests → requests for the `examples` of a skill that was loaded although another one was shown first.
//!
//! A whole request teaches a search more than its telling words do. Not here: where the history is kept, and how a file is
//! edited (`patch`).

use std::collections::BTreeSet;

use super::{PastRequest, PastSkill, Routes};
use crate::{
    catalog::SkillId,
    route::{stem, tokenize},
};

/// More requests of one skill hardly find more, and an author reads each of them.
const MAX_PROPOSED_EXAMPLES: usize = 10;
/// A longer request is cut at a word: what it asks for stands at its beginning.
const MAX_EXAMPLE_CHARS: usize = 200;
/// Looks at as many hits as an agent is shown.
const SEARCHED_HITS: usize = 10;

/// Requests that an author may add to the `examples` of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedExamples {
    /// The skill.
    pub skill: SkillId,
    /// The requests, each on one line, the most different ones first.
    pub requests: Vec<String>,
    /// How often such a request loaded the skill.
    pub evidence: usize,
}

/// Proposes examples from a history; those with the most evidence come first.
pub fn propose_examples(routes: &Routes<'_>, past: &[PastRequest]) -> Vec<ProposedExamples> {
    let mut proposals = Vec::new();
    for PastSkill { skill, requests } in PastSkill::all(past, routes.catalog) {
        let Some(known) = routes.catalog.skill(skill).filter(|skill| skill.is_for_models()) else {
            continue;
        };
        let known: BTreeSet<BTreeSet<String>> =
            known.fields().phrases.iter().map(|phrase| stems(phrase)).collect();
        let mut missed = Vec::new();
        let mut evidence = 0;
        for (request, count) in requests {
            if routes.route(&request, SEARCHED_HITS).shown().next() == Some(skill) {
                continue;
            }
            evidence += count;
            let example = cut(&request);
            let words = stems(&example);
            if !words.is_empty() && !known.contains(&words) {
                missed.push((example, words));
            }
        }
        let requests = most_different(missed);
        if !requests.is_empty() {
            proposals.push(ProposedExamples { skill, requests, evidence });
        }
    }
    // Stable: equals stay in the order of the catalog.
    proposals.sort_by_key(|proposal| std::cmp::Reverse(proposal.evidence));
    proposals
}

/// Chooses requests one by one, each the one that shares the least words with those chosen before; of equals the earlier.
fn most_different(mut left: Vec<(String, BTreeSet<String>)>) -> Vec<String> {
    let mut chosen: Vec<(String, BTreeSet<String>)> = Vec::new();
    while !left.is_empty() && chosen.len() < MAX_PROPOSED_EXAMPLES {
        let nearest = |words: &BTreeSet<String>| {
            chosen.iter().map(|(_, other)| similarity(words, other)).fold(0.0, f64::max)
        };
        let similarities = left.iter().map(|(_, words)| nearest(words)).enumerate();
        let least = similarities.min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((place, similarity)) = least else { break };
        if similarity >= 1.0 {
            break;
        }
        chosen.push(left.remove(place));
    }
    chosen.into_iter().map(|(request, _)| request).collect()
}

/// Divides the words that both have by all their words.
#[expect(clippy::cast_precision_loss, reason = "a request has far fewer words than 2^52")]
fn similarity(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    a.intersection(b).count() as f64 / a.union(b).count().max(1) as f64
}

fn stems(text: &str) -> BTreeSet<String> {
    tokenize(text).iter().map(|word| stem(word)).collect()
}

/// The beginning of a request, cut between words.
fn cut(request: &str) -> String {
    let mut short = String::new();
    for word in request.split_whitespace() {
        if short.chars().count() + word.chars().count() >= MAX_EXAMPLE_CHARS {
            break;
        }
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    // LEARN-2
    #[test]
    fn the_most_different_requests_are_chosen_and_none_twice() {
        let all = ["merge the files", "files to merge", "sign a form", "merge some files", "draw"];
        let all = all.map(|request| (request.to_owned(), stems(request)));
        assert_eq!(most_different(all.to_vec()), ["merge the files", "sign a form", "draw"]);
        let many = (0..30).map(|number| format!("request{number}"));
        let many = many.map(|request| (request.clone(), stems(&request))).collect();
        assert_eq!(most_different(many).len(), MAX_PROPOSED_EXAMPLES);
        assert!(cut(&"word ".repeat(100)).chars().count() <= MAX_EXAMPLE_CHARS);
    }
}
