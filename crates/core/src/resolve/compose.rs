//! A chain of skills → one text with a heading for each (COMPOSE-1), kept within a budget (COMPOSE-4).

use crate::{
    catalog::Skill,
    document::{
        SkillText,
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

/// A skill of the chain with its body, in which no line looks like one of ours.
#[derive(Debug)]
pub(super) struct SkillSection<'a> {
    skill: &'a Skill,
    body: String,
}

impl<'a> SkillSection<'a> {
    pub(super) fn new(skill: &'a Skill, text: &SkillText) -> Self {
        Self { skill, body: quoted(text.body()).into_owned() }
    }

    pub(super) fn body(&self) -> &str {
        &self.body
    }

    fn whole(&self) -> String {
        self.with(&self.body)
    }

    /// The section's heading above this content.
    fn with(&self, content: &str) -> String {
        format!("=== {} (from {}) ===\n\n{content}", self.skill.path.title(), self.skill.file)
    }

    /// The section where its body does not fit.
    fn stub(&self) -> String {
        let tokens = estimate::tokens(&self.body);
        self.with(&format!(
            "{MARK} Left out to stay within the budget: about {tokens} tokens. \
             Load it by its path, \"{}\".",
            self.skill.identity
        ))
    }
}

/// Joins the sections, the most general first. Over budget, the skill itself is kept whole first, then its
/// ancestors from near to far as they fit; one that does not fit keeps its heading and a line that says how to
/// load it. A skill that does not inherit is its own text, without headings.
pub(super) fn compose(
    ancestors: &[SkillSection<'_>],
    own: &SkillSection<'_>,
    max_tokens: usize,
) -> Composed {
    let inherits = own.skill.fields().inherit;
    let whole = if inherits {
        let sections: Vec<String> =
            ancestors.iter().chain([own]).map(SkillSection::whole).collect();
        sections.join("\n\n")
    } else {
        own.body.clone()
    };
    let tokens = estimate::tokens(&whole);
    if tokens <= max_tokens {
        return Composed { text: whole, truncated: false, tokens };
    }
    let text =
        if inherits { fitted(ancestors, own, max_tokens) } else { cut(&own.body, max_tokens) };
    let tokens = estimate::tokens(&text);
    Composed { text, truncated: true, tokens }
}

fn fitted(ancestors: &[SkillSection<'_>], own: &SkillSection<'_>, max_tokens: usize) -> String {
    let stubs: Vec<String> = ancestors.iter().map(SkillSection::stub).collect();
    // Every ancestor costs at least its stub and the blank line behind it, so the budget starts from there.
    let reserved: usize = stubs.iter().map(|stub| estimate::tokens(stub) + 1).sum();
    let mut left = max_tokens.saturating_sub(reserved);
    let whole = own.whole();
    // The skill itself is cut only where it is over by itself; a few notes above it are worth going over.
    let own = if estimate::tokens(&whole) <= max_tokens {
        whole
    } else {
        let heading = estimate::tokens(&own.with(""));
        own.with(&cut(&own.body, left.saturating_sub(heading)))
    };
    left = left.saturating_sub(estimate::tokens(&own));
    let mut sections = vec![own];
    for (above, stub) in ancestors.iter().zip(stubs).rev() {
        let full = above.whole();
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

fn cut(body: &str, max_tokens: usize) -> String {
    lines_from(body, 1, max_tokens).text
}

/// A text from one of its lines on, the first being 1: as many whole lines as fit, and a line that says where the rest begins.
pub fn lines_from(text: &str, from_line: usize, max_tokens: usize) -> Composed {
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let first = from_line.saturating_sub(1).min(all.len());
    let lines = all.get(first..).unwrap_or_default();
    let whole = lines.concat();
    let tokens = estimate::tokens(&whole);
    if tokens <= max_tokens {
        return Composed { text: whole, truncated: first > 0, tokens };
    }
    let mark = |next: usize| {
        format!(
            "{MARK} Cut here to stay within the limit: the text has {} lines. The rest begins at line {next}; \
             to read it, repeat this call with from_line: {next}.",
            all.len()
        )
    };
    let room = max_tokens.saturating_sub(estimate::tokens(&mark(all.len())));
    let mut kept = 0;
    let fits = |line: &&&str| {
        kept += estimate::tokens(line);
        kept <= room
    };
    let fitting = lines.iter().take_while(fits).count();
    let (head, next) = match (fitting, lines.first()) {
        // Not even one line fits, so it is cut itself: what is left of it is lost, the lines behind it are not.
        // Its beginning alone may look like a heading.
        (0, Some(line)) => {
            let start: String = line.chars().take(room).collect();
            (quoted(&start).into_owned(), first + 2)
        }
        (fitting, _) => {
            (lines.iter().take(fitting).copied().collect::<String>(), first + fitting + 1)
        }
    };
    let (head, mark) = (head.trim_end(), mark(next));
    let text = if head.is_empty() { mark } else { format!("{head}\n\n{mark}") };
    let tokens = estimate::tokens(&text);
    Composed { text, truncated: true, tokens }
}
