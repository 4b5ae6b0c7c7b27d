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

use super::ListingStyle;

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

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

/// Writes a number with its thousands apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A limit on the descriptions in an answer: the first hits show what their authors wrote, the others what they are.
#[derive(Debug, Clone, Copy)]
pub struct HitForm {
    max_chars: usize,
}

/// A model mostly takes one of the first five.
pub(super) const WHOLE_HITS: usize = 5;
/// The lengths that the first hit's description is cut to, the first that fits. Shorter ones lose the words that answer the request.
const HIT_CHARS: [usize; 3] = [600, 450, 300];
/// A first clause mostly fits.
pub(super) const OTHER_HIT_CHARS: usize = 60;
/// The hits of an answer cost at most about this, but for long names.
pub(super) const MAX_HITS_TOKENS: usize = 700;

impl HitForm {
    /// The form that shows most.
    pub const LONGEST: Self = Self { max_chars: 600 };

    /// Makes an answer in the longest form in which it costs at most `max_tokens`, or else in the shortest.
    pub(super) fn fitting<T>(
        max_tokens: usize,
        make: impl Fn(Self) -> T,
        cost: impl Fn(&T) -> usize,
    ) -> T {
        let [longer @ .., shortest] = HIT_CHARS.map(|max_chars| Self { max_chars });
        let fits = |made: &T| cost(made) <= max_tokens;
        longer.into_iter().map(&make).find(fits).unwrap_or_else(|| make(shortest))
    }

    /// Cuts the description of the hit at this place.
    pub fn about(self, place: usize, description: &str) -> String {
        let max_chars = if place < WHOLE_HITS {
            // Each later one is a little less likely the right one.
            self.max_chars * (WHOLE_HITS + 1 - place) / (WHOLE_HITS + 1)
        } else {
            OTHER_HIT_CHARS
        };
        shortened_to(&one_line(description), max_chars)
    }
}

/// A request with fewer words says little of what it is about.
const SHORT_REQUEST_WORDS: usize = 4;
/// Text without blanks between its words is judged by its length.
const SHORT_REQUEST_BYTES: usize = 30;

/// Says how a very short request would find better.
pub(super) fn better_request(request: &str) -> Option<&'static str> {
    let is_short = request.split_whitespace().count() < SHORT_REQUEST_WORDS
        && request.len() < SHORT_REQUEST_BYTES;
    is_short.then_some(
        "Pass the user's whole request and the product it is about to find better matches.",
    )
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

/// Cuts a description at the end of a sentence or clause, or else of a word.
pub(super) fn shortened_to(description: &str, max_chars: usize) -> String {
    let Some((limit, _)) = description.char_indices().nth(max_chars) else {
        return description.to_owned();
    };
    let head = description.get(..limit).unwrap_or(description);
    // A stump of a few letters says less than a clause that is cut.
    let long_enough = |at: &usize| *at >= limit / 4;
    let word = || head.rfind(' ').filter(long_enough);
    let clause = last_clause_end(description, limit).filter(long_enough);
    let end = clause.or_else(word).unwrap_or(limit);
    let cut = head.get(..end).unwrap_or(head).trim_end();
    if cut.ends_with(['.', '。']) { cut.to_owned() } else { format!("{cut}…") }
}

/// Finds where the last sentence or clause ends before `limit`, outside of quotes and brackets.
fn last_clause_end(text: &str, limit: usize) -> Option<usize> {
    let (mut end, mut depth, mut quote, mut before) = (None, 0_usize, None, ' ');
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next().filter(|(at, _)| *at < limit) {
        let next = chars.peek().map(|(_, next)| *next);
        let is_before_blank = next.is_some_and(char::is_whitespace);
        if quote.is_some() {
            let is_apostrophe = c == '\'' && next.is_some_and(char::is_alphanumeric);
            quote = quote.filter(|closing| c != *closing || is_apostrophe);
        } else {
            match c {
                '"' | '`' => quote = Some(c),
                '“' => quote = Some('”'),
                '「' => quote = Some('」'),
                '\'' if !before.is_alphanumeric() => quote = Some(c),
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ if depth > 0 => {}
                '.' if is_before_blank => end = Some(at + 1),
                '。' => end = Some(at + c.len_utf8()),
                ',' | ';' | ':' if is_before_blank => end = Some(at),
                '—' | '；' | '，' | '、' => end = Some(at),
                '-' | '–' if before == ' ' && is_before_blank => end = Some(at),
                _ => {}
            }
        }
        before = c;
    }
    end
}

#[cfg(test)]
mod tests {
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
        let others = "find the others with skills_search.";
        let mut last = usize::MAX;
        for share in [100, 60, 30, 10, 2] {
            let room = all * share / 100 + 60;
            let FittedList { text, is_whole } = entries.fitted(ListingStyle::List, room, others);
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
        let full = entries.fitted(ListingStyle::List, all * 60 / 100, others).text;
        assert!(
            full.lines().next().unwrap().len() > full.lines().last().unwrap().len(),
            "the first keeps its description"
        );
    }

    #[test]
    fn counts_have_their_thousands_apart() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn descriptions_are_not_cut_within_quotes_and_brackets() {
        let table = [
            (
                "Draws charts (bars, lines, and pies), never tables of numbers",
                40,
                "Draws charts (bars, lines, and pies)…",
            ),
            ("Draws charts, and \"quoted, at length, and\" more of it", 36, "Draws charts…"),
            ("It's one thing, and it isn't another one at all", 30, "It's one thing…"),
            ("画图。表格，数字，以及更多", 8, "画图。表格…"),
            ("Version 1.2 of the parser reads files", 20, "Version 1.2 of the…"),
        ];
        for (description, max_chars, expected) in table {
            assert_eq!(shortened_to(description, max_chars), expected, "{description}");
        }
    }

    // LISTING-6
    #[test]
    fn u05_what_is_listed_is_one_line_of_visible_text() {
        assert_eq!(one_line("a\nb\u{200b}c\u{202e} \u{1b}[2J d"), "a bc [2J d");
    }
}
