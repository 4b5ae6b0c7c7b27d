//! One skill, tokenised: [`Entry`]. It knows nothing of other skills, so it can be made anywhere and shared by
//! catalogs that differ in others.

use super::{
    clauses::clauses,
    numbers::{Numbers, narrow, put},
    tokens::{Term, Tokenizer, spoken},
};

/// Each text is considered up to this many characters.
const LONGEST: usize = 30_000;
/// A clause is shown up to this many characters.
const LONGEST_SHOWN: usize = 160;

/// What one skill offers to be found by.
#[derive(Debug, Clone, Copy, Default)]
pub struct Text<'a> {
    /// What it is called.
    pub name: &'a str,
    /// What it is for.
    pub description: &'a str,
    /// What it says: Markdown.
    pub body: &'a str,
    /// Its author's triggers, examples and keywords. Each counts as a further clause of the description.
    pub clauses: &'a [String],
}

/// One skill, tokenised once, by itself.
#[derive(Debug)]
pub struct Entry {
    /// The terms of name, description and clauses: few, and looked at again for each candidate.
    offered: Terms,
    /// The terms that only the body has.
    further: Terms,
    lengths: Lengths,
    /// The terms of the name, then of each clause: length of the text, bytes of the list, then the list, which
    /// is the steps between ascending places in `offered`.
    clauses: Box<[u8]>,
    /// The texts of the clauses, one behind the other.
    texts: Box<str>,
}

/// Terms, ascending, and how often each occurs.
#[derive(Debug)]
struct Terms {
    terms: Box<[PackedTerm]>,
    /// In the order of the terms, as [`Counts::put`] writes it.
    counts: Box<[u8]>,
}

impl Terms {
    fn new(found: &[(Term, Counts)]) -> Self {
        let mut counts = Vec::new();
        found.iter().for_each(|(_, count)| count.put(&mut counts));
        Self { terms: found.iter().map(|(term, _)| pack(*term)).collect(), counts: counts.into() }
    }

    fn iter(&self) -> impl Iterator<Item = (Term, Counts)> {
        let mut counts = Numbers(&self.counts);
        self.terms.iter().map_while(move |term| Some((unpack(*term), Counts::read(&mut counts)?)))
    }

    fn place(&self, term: Term) -> Option<usize> {
        self.terms.binary_search(&pack(term)).ok()
    }
}

/// Forty bits, the highest first.
type PackedTerm = [u8; 5];

fn pack(term: Term) -> PackedTerm {
    let [_, _, _, packed @ ..] = term.bits().to_be_bytes();
    packed
}

fn unpack([a, b, c, d, e]: PackedTerm) -> Term {
    Term::from_bits(u64::from_be_bytes([0, 0, 0, a, b, c, d, e]))
}

/// How many terms each field has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lengths {
    pub(super) description: u32,
    pub(super) headings: u32,
    pub(super) body: u32,
}

/// How often a term occurs in each field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) name: u16,
    pub(super) description: u16,
    pub(super) headings: u16,
    pub(super) body: u16,
}

impl Counts {
    pub(super) const NONE: Self = Self { name: 0, description: 0, headings: 0, body: 0 };

    pub(super) fn only_body(self) -> bool {
        Self { body: 0, ..self } == Self::NONE
    }

    /// Most terms occur in the body only: one byte then.
    fn put(self, bytes: &mut Vec<u8>) {
        let elsewhere = !self.only_body();
        put(bytes, u32::from(self.body) << 1 | u32::from(elsewhere));
        if elsewhere {
            for count in [self.name, self.description, self.headings] {
                put(bytes, u32::from(count));
            }
        }
    }

    fn read(numbers: &mut Numbers<'_>) -> Option<Self> {
        let body = numbers.next()?;
        let mut counts = Self { body: u16::try_from(body >> 1).ok()?, ..Self::NONE };
        if body & 1 == 1 {
            for count in [&mut counts.name, &mut counts.description, &mut counts.headings] {
                *count = u16::try_from(numbers.next()?).ok()?;
            }
        }
        Some(counts)
    }

    fn of(fields: impl Iterator<Item = Field>) -> Self {
        let mut counts = Self::NONE;
        for field in fields {
            let count = match field {
                Field::Name => &mut counts.name,
                Field::Description => &mut counts.description,
                Field::Headings => &mut counts.headings,
                Field::Body => &mut counts.body,
                Field::Clause => continue,
            };
            *count = count.saturating_add(1);
        }
        counts
    }
}

/// Where a term was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    Name,
    Description,
    /// In a clause. Its terms are the description's, but for a word that the cut made.
    Clause,
    Headings,
    Body,
}

/// One clause of an entry.
#[derive(Debug, Clone)]
pub(super) struct Clause<'a> {
    /// As the author wrote it, shortened.
    pub(super) text: &'a str,
    steps: Numbers<'a>,
}

impl Clause<'_> {
    /// Where its terms stand among [`Entry::offered`], ascending.
    pub(super) fn places(self) -> impl Iterator<Item = usize> {
        self.steps.scan(0, |place, step| {
            *place += step as usize;
            Some(*place)
        })
    }
}

impl Entry {
    /// Tokenises a skill.
    pub fn new(text: &Text<'_>) -> Self {
        Draft::new(text).pack()
    }

    pub(super) fn lengths(&self) -> Lengths {
        self.lengths
    }

    /// Every term that occurs, with its counts: two ascending runs.
    pub(super) fn terms(&self) -> [impl Iterator<Item = (Term, Counts)>; 2] {
        [self.offered.iter(), self.further.iter()]
    }

    /// Whether it has a term.
    pub(super) fn has(&self, term: Term) -> bool {
        self.offered.place(term).or_else(|| self.further.place(term)).is_some()
    }

    /// The terms of name, description and clauses, ascending.
    pub(super) fn offered(&self) -> impl Iterator<Item = Term> {
        self.offered.terms.iter().copied().map(unpack)
    }

    /// First the whole name, joined form included, without a text; then the clauses, of which the name is the
    /// first.
    pub(super) fn clauses(&self) -> impl Iterator<Item = Clause<'_>> {
        let mut numbers = Numbers(&self.clauses);
        let mut texts = &*self.texts;
        std::iter::from_fn(move || {
            let length = numbers.next()?;
            let bytes = numbers.next()?;
            let steps = numbers.within(bytes)?;
            let (text, rest) = texts.split_at_checked(length as usize)?;
            texts = rest;
            Some(Clause { text, steps })
        })
    }
}

/// An entry while its texts are read.
struct Draft<'a> {
    tokenizer: Tokenizer,
    found: Vec<(Term, Field)>,
    lengths: Lengths,
    clauses: Vec<(&'a str, Vec<Term>)>,
}

impl<'a> Draft<'a> {
    fn new(text: &Text<'a>) -> Self {
        let mut draft = Self {
            tokenizer: Tokenizer::new(),
            found: Vec::new(),
            lengths: Lengths::default(),
            clauses: Vec::new(),
        };
        draft.name(first(text.name, LONGEST));
        let description = first(text.description, LONGEST);
        draft.lengths.description = draft.read(description, Field::Description);
        for clause in clauses(description) {
            draft.clause(clause);
        }
        draft.authored(text.clauses);
        let body = first(text.body, LONGEST);
        for heading in headings(body) {
            draft.lengths.headings += draft.read(heading, Field::Headings);
        }
        draft.lengths.body = draft.read(body, Field::Body);
        draft
    }

    /// Counts a field's terms.
    fn read(&mut self, text: &str, field: Field) -> u32 {
        let before = self.found.len();
        self.tokenizer.scan(&spoken(text), &mut |token| self.found.push((token.term, field)));
        narrow(self.found.len() - before)
    }

    fn name(&mut self, name: &'a str) {
        let is_gap = |c: char| matches!(c, '-' | '_' | '/' | ':');
        let spaced = name.replace(is_gap, " ");
        self.read(&spaced, Field::Name);
        let own: Vec<Term> = self.found.iter().map(|(term, _)| *term).collect();
        let parts: Vec<&str> = spaced.split_whitespace().collect();
        let mut whole = own.clone();
        if (2..=3).contains(&parts.len()) {
            let joined = self.tokenizer.term(parts);
            self.found.push((joined, Field::Name));
            whole.push(joined);
        }
        self.clauses.push(("", distinct(whole)));
        self.clauses.push((name, distinct(own)));
    }

    /// Authors' own words count as description too: a skill must be found by a keyword that its text does not
    /// repeat.
    fn authored(&mut self, clauses: &'a [String]) {
        let mut left = LONGEST;
        for clause in clauses {
            let clause = first(clause, left);
            left -= clause.chars().count();
            self.lengths.description += self.read(clause, Field::Description);
            self.clause(clause);
        }
    }

    fn clause(&mut self, clause: &'a str) {
        let mut terms = Vec::new();
        self.tokenizer.scan(&spoken(clause), &mut |token| terms.push(token.term));
        if !terms.is_empty() {
            self.found.extend(terms.iter().map(|term| (*term, Field::Clause)));
            self.clauses.push((clause, distinct(terms)));
        }
    }

    fn pack(mut self) -> Entry {
        self.found.sort_unstable();
        let (mut offered, mut further) = (Vec::new(), Vec::new());
        for same in self.found.chunk_by(|(a, _), (b, _)| a == b) {
            let counts = Counts::of(same.iter().map(|(_, field)| *field));
            if let Some((term, field)) = same.first() {
                let list = if *field < Field::Headings { &mut offered } else { &mut further };
                list.push((*term, counts));
            }
        }
        let offered = Terms::new(&offered);
        let mut texts = String::new();
        let mut clauses = Vec::new();
        for (text, own) in &self.clauses {
            let text = first(text.trim(), LONGEST_SHOWN);
            texts.push_str(text);
            put(&mut clauses, narrow(text.len()));
            let steps = steps(own, &offered);
            put(&mut clauses, narrow(steps.len()));
            clauses.extend(steps);
        }
        Entry {
            offered,
            further: Terms::new(&further),
            lengths: self.lengths,
            clauses: clauses.into(),
            texts: texts.into(),
        }
    }
}

/// The steps between the places that ascending `own` terms have among those offered.
fn steps(own: &[Term], offered: &Terms) -> Vec<u8> {
    let mut steps = Vec::with_capacity(own.len());
    let mut last = 0;
    for place in own.iter().filter_map(|term| offered.place(*term)) {
        put(&mut steps, narrow(place - last));
        last = place;
    }
    steps
}

fn distinct(mut terms: Vec<Term>) -> Vec<Term> {
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// The first `count` characters.
fn first(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or_default()
}

/// The texts of headings of the first four levels, outside fences.
fn headings(body: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    body.lines().filter_map(move |line| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        let text = line.trim_start_matches('#');
        let level = line.len() - text.len();
        (!fenced && (1..=4).contains(&level) && text.starts_with(char::is_whitespace))
            .then_some(text)
    })
}
