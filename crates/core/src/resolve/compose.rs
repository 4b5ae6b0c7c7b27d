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

/// How long a text may be: in estimated tokens, which cost context, and in characters as JSON writes them, of which a client passes
/// so many on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLimit {
    /// Estimated tokens.
    pub tokens: usize,
    /// Characters, a line break or a quotation mark counting as two.
    pub chars: usize,
}

/// The cost of a text as long as its limit. Costs add up: the parts of a text cost at least as much as the whole.
const LIMIT_COST: usize = 1_000_000;

impl TextLimit {
    /// A limit of tokens alone.
    pub fn of_tokens(tokens: usize) -> Self {
        Self { tokens, chars: usize::MAX }
    }

    fn cost(self, text: &str) -> usize {
        self.cost_with(text, || estimate::tokens(text))
    }

    /// The cost of a text, whose tokens are counted only if they are limited.
    fn cost_with(self, text: &str, tokens: impl FnOnce() -> usize) -> usize {
        let share =
            |length: usize, limit: usize| length.saturating_mul(LIMIT_COST).div_ceil(limit.max(1));
        let tokens = if self.tokens == usize::MAX { 0 } else { share(tokens(), self.tokens) };
        let chars = if self.chars == usize::MAX { 0 } else { share(json_chars(text), self.chars) };
        tokens.max(chars)
    }

    fn holds(self, text: &str) -> bool {
        self.cost(text) <= LIMIT_COST
    }
}

/// The characters of a text as JSON writes it.
pub fn json_chars(text: &str) -> usize {
    let escaped = |c: char| match c {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        c if c.is_ascii_control() => 6,
        _ => 1,
    };
    text.chars().map(escaped).sum()
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
    limit: TextLimit,
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
    if limit.cost_with(&whole, || tokens) <= LIMIT_COST {
        return Composed { text: whole, truncated: false, tokens };
    }
    let text =
        if inherits { fitted(ancestors, own, limit) } else { cut(&own.body, limit, LIMIT_COST) };
    let tokens = estimate::tokens(&text);
    Composed { text, truncated: true, tokens }
}

fn fitted(ancestors: &[SkillSection<'_>], own: &SkillSection<'_>, limit: TextLimit) -> String {
    let stubs: Vec<String> = ancestors.iter().map(SkillSection::stub).collect();
    // Every ancestor costs at least its stub and the blank line behind it, so the budget starts from there.
    let reserved: usize = stubs.iter().map(|stub| limit.cost(stub) + limit.cost("\n\n")).sum();
    let mut left = LIMIT_COST.saturating_sub(reserved);
    let whole = own.whole();
    // The skill itself is cut only where it is over by itself; a few notes above it are worth going over.
    let own = if limit.holds(&whole) {
        whole
    } else {
        let heading = limit.cost(&own.with(""));
        own.with(&cut(&own.body, limit, left.saturating_sub(heading)))
    };
    left = left.saturating_sub(limit.cost(&own));
    let mut sections = vec![own];
    for (above, stub) in ancestors.iter().zip(stubs).rev() {
        let full = above.whole();
        let extra = limit.cost(&full).saturating_sub(limit.cost(&stub));
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

fn cut(body: &str, limit: TextLimit, room: usize) -> String {
    lines_within(body, 1, limit, room).text
}

/// A text from one of its lines on, the first being 1: as many whole lines as fit, and a line that says where the rest begins.
pub fn lines_from(text: &str, from_line: usize, limit: TextLimit) -> Composed {
    lines_within(text, from_line, limit, LIMIT_COST)
}

/// Like [`lines_from`], within a part of the limit.
fn lines_within(text: &str, from_line: usize, limit: TextLimit, room: usize) -> Composed {
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let first = from_line.saturating_sub(1).min(all.len());
    let lines = all.get(first..).unwrap_or_default();
    let whole = lines.concat();
    if limit.cost(&whole) <= room {
        let tokens = estimate::tokens(&whole);
        return Composed { text: whole, truncated: first > 0, tokens };
    }
    let mark = |next: usize| {
        format!(
            "{MARK} Cut here to stay within the limit: the text has {} lines. The rest begins at line {next}; \
             to read it, repeat this call with from_line: {next}.",
            all.len()
        )
    };
    let room = room.saturating_sub(limit.cost(&mark(all.len())) + limit.cost("\n\n"));
    let mut kept = 0;
    let fits = |line: &&&str| {
        kept += limit.cost(line);
        kept <= room
    };
    let fitting = lines.iter().take_while(fits).count();
    let (head, next) = match (fitting, lines.first()) {
        // Not even one line fits, so it is cut itself: what is left of it is lost, the lines behind it are not.
        // Its beginning alone may look like a heading.
        (0, Some(line)) => {
            let chars = limit.tokens.min(limit.chars / 2);
            let chars = usize::try_from(chars as u128 * room as u128 / LIMIT_COST as u128);
            let start: String = line.chars().take(chars.unwrap_or_default()).collect();
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
