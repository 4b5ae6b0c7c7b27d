//! What an archive keeps of an event at most. Nothing is refused for its length: it is cut.
//!
//! A key of a database's index has a bound too, and one row that breaks it would cost its whole batch; so names are bound
//! in bytes. PostgreSQL has no character zero, so no archive keeps one.

use std::sync::Arc;

use crate::event::{Event, RecordedEvent};

const MAX_CONTEXT_CHARS: usize = 20_000;
/// Of feedback.
const MAX_COMMENT_CHARS: usize = 4_000;
/// Of a skill, a file, a server.
const MAX_NAME_BYTES: usize = 1_000;
/// Of a client, a tool, a mode, a version.
const MAX_WORD_BYTES: usize = 200;
/// How many names an event lists: what a search shows at most.
const MAX_LISTED_NAMES: usize = 25;
/// Of a request's text, for a report.
const MAX_BRIEF_CHARS: usize = 2_000;
/// A size, a number of tokens or a duration: more than that is a mistake, and sums of it stay within 63 bits.
const MAX_AMOUNT: u64 = 1_000_000_000;

/// Cuts an event to what is kept.
pub(super) fn cut(recorded: &mut RecordedEvent) {
    shared(&mut recorded.server_id, MAX_NAME_BYTES);
    let words = [
        &mut recorded.server_version,
        &mut recorded.tool,
        &mut recorded.client_name,
        &mut recorded.client_version,
    ];
    for word in words.into_iter().flatten() {
        shared(word, MAX_WORD_BYTES);
    }
    for word in [&mut recorded.skill_digest, &mut recorded.skill_commit].into_iter().flatten() {
        bytes(word, MAX_WORD_BYTES);
    }
    recorded.latency_us.iter_mut().for_each(amount);
    recorded.event.context_mut().into_iter().for_each(|context| text(context, MAX_CONTEXT_CHARS));
    match &mut recorded.event {
        Event::NoMatch(miss) => {
            name(&mut miss.closest_candidate);
            miss.certainty.iter_mut().for_each(|word| bytes(word, MAX_WORD_BYTES));
        }
        Event::Ambiguous(several) => {
            names(&mut several.candidates);
            several.certainty.iter_mut().for_each(|word| bytes(word, MAX_WORD_BYTES));
        }
        Event::SkillServed(served) => {
            bytes(&mut served.skill_path, MAX_NAME_BYTES);
            names(&mut served.matched_keywords);
            served.matched_by.iter_mut().for_each(|word| bytes(word, MAX_WORD_BYTES));
            names(&mut served.inherited_from);
            amount(&mut served.content_length_tokens);
        }
        Event::SkillSearched(search) => {
            names(&mut search.shown);
            search.certainty.iter_mut().for_each(|word| bytes(word, MAX_WORD_BYTES));
        }
        Event::AssetServed(asset) => {
            bytes(&mut asset.skill_path, MAX_NAME_BYTES);
            bytes(&mut asset.file, MAX_NAME_BYTES);
            bytes(&mut asset.asset_type, MAX_WORD_BYTES);
            name(&mut asset.declared_by);
            amount(&mut asset.size_bytes);
        }
        Event::ScriptExecuted(script) => {
            bytes(&mut script.skill_path, MAX_NAME_BYTES);
            bytes(&mut script.file, MAX_NAME_BYTES);
            bytes(&mut script.execution_mode, MAX_WORD_BYTES);
            names(&mut script.args_provided);
            name(&mut script.declared_by);
            amount(&mut script.duration_ms);
        }
        Event::SkillFeedback(feedback) => {
            bytes(&mut feedback.skill_path, MAX_NAME_BYTES);
            text(&mut feedback.comment, MAX_COMMENT_CHARS);
        }
        Event::Refresh(refresh) => {
            bytes(&mut refresh.mode, MAX_WORD_BYTES);
            refresh.commit_hash.iter_mut().for_each(|hash| bytes(hash, MAX_WORD_BYTES));
        }
    }
}

/// Cuts an event to what a report needs.
pub(super) fn brief(recorded: &mut RecordedEvent) {
    match &mut recorded.event {
        Event::NoMatch(miss) => text(&mut miss.context, MAX_BRIEF_CHARS),
        Event::Ambiguous(several) => text(&mut several.context, MAX_BRIEF_CHARS),
        Event::SkillServed(served) => text(&mut served.context, MAX_BRIEF_CHARS),
        Event::SkillSearched(search) => text(&mut search.context, MAX_BRIEF_CHARS),
        Event::AssetServed(_)
        | Event::ScriptExecuted(_)
        | Event::SkillFeedback(_)
        | Event::Refresh(_) => {}
    }
}

fn amount(amount: &mut u64) {
    *amount = (*amount).min(MAX_AMOUNT);
}

fn name(name: &mut Option<String>) {
    if let Some(name) = name {
        bytes(name, MAX_NAME_BYTES);
    }
}

fn names(names: &mut Vec<String>) {
    names.truncate(MAX_LISTED_NAMES);
    for name in names {
        bytes(name, MAX_NAME_BYTES);
    }
}

/// At most so many characters.
fn text(text: &mut Option<String>, most: usize) {
    let Some(text) = text else { return };
    // There are no more characters than bytes.
    if text.len() > most
        && let Some((end, _)) = text.char_indices().nth(most)
    {
        text.truncate(end);
    }
    without_zero(text);
}

/// At most so many bytes, whole characters.
fn bytes(text: &mut String, most: usize) {
    // First, since what stands for a zero is longer.
    without_zero(text);
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
    }
}

fn shared(text: &mut Arc<str>, most: usize) {
    if text.len() > most || text.contains('\0') {
        let mut own = String::from(&**text);
        bytes(&mut own, most);
        *text = own.into();
    }
}

fn without_zero(text: &mut String) {
    if text.contains('\0') {
        *text = text.replace('\0', "\u{fffd}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_too_long_is_cut_between_characters_and_the_rest_stays() {
        let long = "é".repeat(30_000);
        let posted = json!({
            "type": "skill_served", "timestamp": "2026-02-18T14:30:00Z", "server_id": "a\u{0}b",
            "data": {
                "context": long, "skill_path": format!("x{long}"), "content_length_tokens": u64::MAX,
                "matched_keywords": vec!["k"; 500],
            },
        });
        let mut recorded = RecordedEvent::read(&posted.to_string()).unwrap();
        cut(&mut recorded);
        assert_eq!(&*recorded.server_id, "a\u{fffd}b");
        assert_eq!(recorded.event.context().unwrap().chars().count(), MAX_CONTEXT_CHARS);
        assert_eq!(recorded.event.skill().unwrap().len(), 999);
        let Event::SkillServed(served) = &recorded.event else { panic!() };
        assert_eq!(
            (served.content_length_tokens, served.matched_keywords.len()),
            (MAX_AMOUNT, MAX_LISTED_NAMES)
        );
        let before = recorded.clone();
        cut(&mut recorded);
        assert_eq!(recorded, before);
        brief(&mut recorded);
        assert_eq!(recorded.event.context().unwrap().chars().count(), MAX_BRIEF_CHARS);
    }
}
