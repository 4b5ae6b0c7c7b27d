//! The requests of a skill's own evals, which count as its `examples` in the ranked search.
//!
//! Their shape is the one that nearly all authors use: a list, at the top or under `evals`, of objects with `prompt` or `query`,
//! and `should_trigger: false` where the skill must not answer. Whatever else is there is passed over.

use serde_json::Value;
use skills_core::{catalog::Skill, route::clauses};

use super::Snapshot;

/// A larger file is not a list of requests.
const MAX_EVAL_BYTES: usize = 1024 * 1024;
/// Twenty requests find nearly as much as all.
const MAX_REQUESTS: usize = 20;
/// The beginning of a request says what it asks for.
const MAX_REQUEST_CHARS: usize = 200;

impl Snapshot {
    /// Collects the clauses that a skill is found by beside its name, description and text: its author's, and its evals' requests.
    pub(super) fn clauses(&self, skill: &Skill) -> Vec<String> {
        let read = |(file, _): &_| self.read(skill, file, MAX_EVAL_BYTES).ok();
        let evals = skill.evals.iter().filter_map(read).flat_map(|bytes| requests(&bytes));
        clauses(skill).into_iter().chain(evals.take(MAX_REQUESTS)).collect()
    }
}

fn requests(json: &[u8]) -> Vec<String> {
    let request = |eval: &Value| {
        let triggers = eval.get("should_trigger") != Some(&Value::Bool(false));
        let text = eval.get("prompt").or_else(|| eval.get("query"))?.as_str()?.trim();
        (triggers && !text.is_empty()).then(|| text.chars().take(MAX_REQUEST_CHARS).collect())
    };
    let parsed: Value = serde_json::from_slice(json).unwrap_or_default();
    let evals = parsed.as_array().or_else(|| parsed.get("evals")?.as_array());
    evals.into_iter().flatten().filter_map(request).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_from_both_shapes_but_for_those_that_must_not_trigger() {
        let list = br#"[{"query": "one"}, {"prompt": "two", "should_trigger": true}, 3, {"query": "no", "should_trigger": false}]"#;
        assert_eq!(requests(list), ["one", "two"]);
        let wrapped =
            br#"{"skill": "x", "evals": [{"id": 1, "prompt": " three "}, {"prompt": ""}]}"#;
        assert_eq!(requests(wrapped), ["three"]);
        assert!(requests(b"{\"evals\": 1}").is_empty() && requests(b"not JSON").is_empty());
        let long = format!("[{{\"prompt\": \"{}\"}}]", "é".repeat(300));
        assert_eq!(requests(long.as_bytes())[0].chars().count(), MAX_REQUEST_CHARS);
    }
}
