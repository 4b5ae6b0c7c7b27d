//! A chain of skills → one text with a heading for each (COMPOSE-1), kept within a budget (COMPOSE-4).

use crate::{
    catalog::Skill,
    document::{
        Text,
        headings::{MARK, quoted},
    },
    estimate,
};

/// The text an agent reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composed {
    /// The text.
    pub text: String,
    /// Whether something was left out to stay within the budget.
    pub truncated: bool,
    /// Its estimated tokens.
    pub tokens: usize,
}

/// A skill and its body, in which no line looks like one of our headings.
#[derive(Debug)]
pub(super) struct Section<'a> {
    skill: &'a Skill,
    body: String,
}

impl<'a> Section<'a> {
    pub(super) fn new(skill: &'a Skill, text: &Text) -> Self {
        Self { skill, body: quoted(text.body()).into_owned() }
    }
}

/// Joins the sections, the most general first. Over budget, the skill itself is kept whole first, then its
/// ancestors from near to far as they fit; one that does not fit keeps its heading and a line that says how to
/// load it. A skill that does not inherit is its own text, without headings.
pub(super) fn compose(ancestors: &[Section<'_>], own: &Section<'_>, max_tokens: usize) -> Composed {
    let whole = whole(ancestors, own);
    let tokens = estimate::tokens(&whole);
    if tokens <= max_tokens {
        return Composed { text: whole, truncated: false, tokens };
    }
    let text = if own.skill.fields().inherit {
        fitted(ancestors, own, max_tokens)
    } else {
        cut(own, max_tokens)
    };
    let tokens = estimate::tokens(&text);
    Composed { text, truncated: true, tokens }
}

fn whole(ancestors: &[Section<'_>], own: &Section<'_>) -> String {
    if !own.skill.fields().inherit {
        return own.body.clone();
    }
    let sections: Vec<String> =
        ancestors.iter().chain([own]).map(|one| section(one.skill, &one.body)).collect();
    sections.join("\n\n")
}

fn section(skill: &Skill, content: &str) -> String {
    format!("=== {} (from {}) ===\n\n{content}", skill.path.title(), skill.file)
}

fn fitted(ancestors: &[Section<'_>], own: &Section<'_>, max_tokens: usize) -> String {
    let stubs: Vec<String> =
        ancestors.iter().map(|above| section(above.skill, &left_out(above))).collect();
    // Every ancestor costs at least its stub and the blank line behind it, so the budget starts from there.
    let reserved: usize = stubs.iter().map(|stub| estimate::tokens(stub) + 1).sum();
    let own_text = section(own.skill, &own.body);
    let own_tokens = estimate::tokens(&own_text);
    let mut left = max_tokens.saturating_sub(reserved);
    // The skill itself is cut only where it is over by itself; a few notes above it are worth going over.
    let own_text = if own_tokens <= max_tokens {
        own_text
    } else {
        let heading = estimate::tokens(&section(own.skill, ""));
        section(own.skill, &cut(own, left.saturating_sub(heading)))
    };
    left = left.saturating_sub(estimate::tokens(&own_text));
    let mut sections = vec![own_text];
    for (above, stub) in ancestors.iter().zip(stubs).rev() {
        let full = section(above.skill, &above.body);
        let extra = estimate::tokens(&full).saturating_sub(estimate::tokens(&stub));
        if extra <= left {
            left -= extra;
            sections.push(full);
        } else {
            sections.push(stub);
        }
    }
    sections.reverse();
    sections.join("\n\n")
}

fn left_out(own: &Section<'_>) -> String {
    let tokens = estimate::tokens(&own.body);
    format!(
        "{MARK} Left out to stay within the budget: about {tokens} tokens. \
         Load it by its path, \"{}\".",
        own.skill.identity
    )
}

/// As many whole lines of the skill's own text as fit, and a line that says so.
fn cut(own: &Section<'_>, max_tokens: usize) -> String {
    let body = &own.body;
    let total = estimate::tokens(body);
    let mark = format!(
        "{MARK} Cut here to stay within the budget: this skill is about {total} tokens. \
         Split it into smaller skills, or raise content.max_tokens."
    );
    let mut kept = 0;
    let mut end = 0;
    let room = max_tokens.saturating_sub(estimate::tokens(&mark));
    for line in body.split_inclusive('\n') {
        kept += estimate::tokens(line);
        if kept > room {
            break;
        }
        end += line.len();
    }
    let head = body.get(..end).unwrap_or_default().trim_end();
    if head.is_empty() { mark } else { format!("{head}\n\n{mark}") }
}
