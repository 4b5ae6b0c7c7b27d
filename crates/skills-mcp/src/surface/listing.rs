//! The list of skills in the `skill` tool's description, as much of it as the budget holds.
//!
//! Over budget, descriptions are shortened at the end of a sentence or clause, then left out, then whole entries are,
//! always from the end of the precedence order; and the list says how many there are.

use serde_json::Value;
pub(super) use skills_core::diagnostic::one_line;
use skills_core::{
    catalog::{Catalog, Skill, SkillKind},
    estimate,
};

use super::{ListingStyle, ServerProfile, skills_search};

/// A shortened description is about this long.
const SHORT_CHARS: usize = 90;

/// One skill as it is listed: one line of visible text each.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) location: &'static str,
}

/// The skills that may be listed, by precedence.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// The first ones: all, or more than there is room for.
    pub(super) first: Vec<Entry>,
    /// How many skills there are.
    pub(super) total: usize,
    /// How many more the client loads itself.
    pub(super) native: usize,
    /// The first name of a plugin's skill, wherever it stands.
    pub(super) qualified: Option<String>,
}

/// What is listed cannot cost less than this: a name and the break behind it.
const LEAST_TOKENS: usize = 2;

impl Entries {
    /// Every skill that models are offered by precedence: its source, then its name. Bundles before tree skills, which have tools of their own.
    /// Those for which `room` tokens cannot be enough are left out: with ten thousand skills, nearly all. So are those of
    /// sources that the client loads itself, which `native` has by their numbers.
    pub(super) fn of(catalog: &Catalog, room: Option<usize>, native: &[bool]) -> Self {
        let order = |a: &&Skill, b: &&Skill| {
            let place = |skill: &Skill| (skill.kind == SkillKind::Tree, skill.source);
            place(a).cmp(&place(b)).then_with(|| a.label.cmp(&b.label))
        };
        let mut skills: Vec<&Skill> =
            catalog.skills().filter(|skill| skill.is_for_models()).collect();
        let all = skills.len();
        skills.retain(|skill| native.get(skill.source) != Some(&true));
        let total = skills.len();
        let qualified = skills.iter().copied().filter(|skill| skill.label.contains(':'));
        let qualified = qualified.min_by(|a, b| order(a, b)).map(|skill| one_line(&skill.label));
        if let Some(most) = room.map(|room| room / LEAST_TOKENS + 1).filter(|most| *most < total) {
            skills.select_nth_unstable_by(most, order);
            skills.truncate(most);
        }
        skills.sort_unstable_by(order);
        let location = |skill: &Skill| {
            catalog.sources().get(skill.source).map_or("source", |source| source.origin.location())
        };
        let entry = |skill: &Skill| Entry {
            name: one_line(&skill.label),
            description: one_line(&skill.fields().description),
            location: location(skill),
        };
        Self {
            first: skills.into_iter().map(entry).collect(),
            total,
            native: all - total,
            qualified,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The whole list.
    pub(super) fn whole(&self, style: ListingStyle) -> String {
        lines(self.first.iter().map(|entry| line(entry, Form::Full, style)))
    }

    /// Whether the whole list costs at most `room` tokens. Looks no further than it has to.
    pub(super) fn fits(&self, style: ListingStyle, room: usize) -> bool {
        prefix(&self.first, Form::Full, style, room) == self.total
    }

    /// As much of the list as `room` tokens hold. What was left out altogether is said before the list, because clients cut
    /// long texts at their end.
    pub(super) fn fitted(&self, style: ListingStyle, room: usize, others: &str) -> FittedList {
        let Self { first, total, .. } = self;
        // The best form in which every skill has a place; what is left goes to the first ones, one form better.
        for form in [Form::Short, Form::Name] {
            if prefix(first, form, style, room) == *total {
                let text = lines(graded(first, form, style, room).into_iter());
                return FittedList { text, is_whole: true };
            }
        }
        let note_room = room.saturating_sub(cost(&note(*total, *total, others)));
        let shown = prefix(first, Form::Name, style, note_room);
        let names = first.iter().take(shown).map(|entry| line(entry, Form::Name, style));
        let text = lines([note(shown, *total, others)].into_iter().chain(names));
        FittedList { text, is_whole: false }
    }
}

/// As much of a list as there is room for.
#[derive(Debug)]
pub(super) struct FittedList {
    pub(super) text: String,
    /// Whether every skill is named in it.
    pub(super) is_whole: bool,
}

/// Every skill in this form, and as many of the first ones as fit in the next better one.
fn graded(entries: &[Entry], form: Form, style: ListingStyle, room: usize) -> Vec<String> {
    let better = if form == Form::Name { Form::Short } else { Form::Full };
    let mut lines: Vec<String> = entries.iter().map(|entry| line(entry, form, style)).collect();
    let mut total: usize = lines.iter().map(|line| cost(line)).sum();
    for (entry, shown) in entries.iter().zip(&mut lines) {
        let longer = line(entry, better, style);
        total = total + cost(&longer) - cost(shown);
        if total > room {
            break;
        }
        *shown = longer;
    }
    lines
}

/// How many of the first skills fit in this form.
fn prefix(entries: &[Entry], form: Form, style: ListingStyle, room: usize) -> usize {
    let mut total = 0;
    let fits = |entry: &&Entry| {
        total += cost(&line(entry, form, style));
        total <= room
    };
    entries.iter().take_while(fits).count()
}

/// A line's tokens, as it is spelled in JSON, with the break behind it.
fn cost(line: &str) -> usize {
    estimate::tokens(Value::from(line).to_string().trim_matches('"')) + 1
}

/// What is said of skills that are not listed.
fn note(shown: usize, of: usize, others: &str) -> String {
    format!("{shown} of {of} skills are shown; {others}")
}

/// How to come by the others, where a search is offered.
pub(super) fn others(profile: &ServerProfile) -> String {
    format!("find the others with {}.", profile.tool_name(&skills_search::TOOL))
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

/// A description beside others in an answer is about this long.
const CLIPPED_CHARS: usize = 200;

/// A description for an answer with several skills: one line, cut at a clause's end where it is long.
pub(super) fn clipped(description: &str) -> String {
    shortened_to(&one_line(description), CLIPPED_CHARS)
}

/// How much of a skill is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Full,
    Short,
    Name,
}

fn line(entry: &Entry, form: Form, style: ListingStyle) -> String {
    let description = match form {
        Form::Full => Some(entry.description.clone()),
        Form::Short => Some(shortened(&entry.description)),
        Form::Name => None,
    };
    match (style, description) {
        (ListingStyle::List, Some(description)) => format!("- {}: {description}", entry.name),
        (ListingStyle::List, None) => format!("- {}", entry.name),
        (ListingStyle::Xml, Some(description)) => format!(
            "<skill>\n<name>{}</name>\n<description>{}</description>\n<location>{}</location>\n</skill>",
            escaped(&entry.name),
            escaped(&description),
            entry.location
        ),
        (ListingStyle::Xml, None) => {
            format!("<skill><name>{}</name></skill>", escaped(&entry.name))
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A description of about a line.
pub(super) fn shortened(description: &str) -> String {
    shortened_to(description, SHORT_CHARS)
}

/// The description up to the end of a sentence, else of a clause, else of a word.
pub(super) fn shortened_to(description: &str, max_chars: usize) -> String {
    if description.chars().count() <= max_chars {
        return description.to_owned();
    }
    let head: String = description.chars().take(max_chars).collect();
    let sentence = head.rfind(". ").map(|at| at + 1);
    let clause = || head.rfind([',', ';', ':', '—', '。', '，']);
    let word = || head.rfind(' ');
    // A stump of a few letters says less than a whole clause that runs a little on.
    let long_enough = |at: &usize| *at >= max_chars / 4;
    let end = sentence
        .filter(long_enough)
        .or_else(|| clause().filter(long_enough))
        .or_else(|| word().filter(long_enough));
    let cut = head.get(..end.unwrap_or(head.len())).unwrap_or(&head).trim_end();
    if cut.ends_with('.') { cut.to_owned() } else { format!("{cut}…") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn entry(name: &str, description: &str) -> Entry {
        Entry { name: name.to_owned(), description: description.to_owned(), location: "project" }
    }

    fn entries(first: Vec<Entry>) -> Entries {
        Entries { total: first.len(), first, native: 0, qualified: None }
    }

    // LISTING-2
    #[test]
    fn listing_1_a_skill_is_listed_in_xml_or_on_a_line() {
        let entries = entries(vec![entry("git", "Commit <safely> & often")]);
        assert_eq!(
            entries.whole(ListingStyle::Xml),
            "<skill>\n<name>git</name>\n<description>Commit &lt;safely&gt; &amp; often</description>\n<location>project</location>\n</skill>"
        );
        assert_eq!(entries.whole(ListingStyle::List), "- git: Commit <safely> & often");
    }

    #[test]
    fn descriptions_end_with_a_sentence_a_clause_or_a_word() {
        let sentence =
            format!("Does one thing and does it well. {}", "More words follow here ".repeat(10));
        assert_eq!(shortened(&sentence), "Does one thing and does it well.");
        let clause =
            format!("Does one thing and does it well, {}", "more words follow here ".repeat(10));
        assert_eq!(shortened(&clause), "Does one thing and does it well…");
        let words = "word ".repeat(40);
        assert!(shortened(&words).ends_with("word…") && shortened(&words).len() < 100);
    }

    #[test]
    fn listing_4_the_list_shrinks_from_its_end_and_says_so() {
        let long = format!(
            "Handles a matter of some importance. {}",
            "It explains at length what to do. ".repeat(5)
        );
        let entries = entries((0..50).map(|n| entry(&format!("skill-{n:02}"), &long)).collect());
        let all = estimate::tokens(&entries.whole(ListingStyle::List));
        let others = others(&ServerProfile::skills_mcp(false, Arc::default()));
        let mut last = usize::MAX;
        for share in [100, 60, 30, 10, 2] {
            let room = all * share / 100 + 60;
            let FittedList { text, is_whole } = entries.fitted(ListingStyle::List, room, &others);
            assert!(
                estimate::tokens(&text) <= room,
                "{share}%: {} of {room}",
                estimate::tokens(&text)
            );
            let shown = text.matches("- skill-").count();
            assert!(shown <= last && text.contains("- skill-00"));
            last = shown;
            assert_eq!(shown == 50, is_whole);
            assert_eq!(
                shown < 50,
                text.starts_with(&format!(
                    "{shown} of 50 skills are shown; find the others with skills_search.\n"
                ))
            );
        }
        let full = entries.fitted(ListingStyle::List, all * 60 / 100, &others).text;
        assert!(
            full.lines().next().unwrap().len() > full.lines().last().unwrap().len(),
            "the first keeps its description"
        );
    }

    // LISTING-6
    #[test]
    fn u05_what_is_listed_is_one_line_of_visible_text() {
        assert_eq!(one_line("a\nb\u{200b}c\u{202e} \u{1b}[2J d"), "a bc [2J d");
    }
}
