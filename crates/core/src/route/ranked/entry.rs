//! One skill, tokenised: [`SearchEntry`]. It knows nothing of other skills, so it can be made anywhere and shared by
//! catalogs that differ in others.

use super::{
    clauses::clauses,
    counts::{Field, FieldTerm, PackedTerms, TermCounts},
    term::TermHash,
    tokens::Tokenizer,
    varint::{VarInts, push_varint, to_u32},
    words::without_contractions,
};

/// Each text is indexed up to this many characters.
const MAX_FIELD_CHARS: usize = 30_000;
/// A word that authors expect in requests counts as much as three of the description.
const AUTHORED_WEIGHT: usize = 3;
/// A clause is shown up to this many characters.
const MAX_SHOWN_CLAUSE_CHARS: usize = 160;

/// The texts that one skill is found by.
#[derive(Debug, Clone, Copy, Default)]
pub struct SearchText<'a> {
    /// What it is called.
    pub name: &'a str,
    /// What it is for.
    pub description: &'a str,
    /// What it says: Markdown.
    pub body: &'a str,
    /// Its author's triggers, examples and keywords. Each counts as a clause and as description.
    pub clauses: &'a [String],
}

impl<'a> SearchText<'a> {
    /// The text of a clause that a search named, as its author wrote it, shortened. An index keeps no texts, so this
    /// value is made again to show a hit. The body does not matter here.
    pub fn clause(&self, number: usize) -> Option<&'a str> {
        let mut all = self.all_clauses();
        let found = if number == SearchEntry::NAME_CLAUSE { None } else { all.nth(number) };
        found.map(|clause| first(clause.trim(), MAX_SHOWN_CLAUSE_CHARS))
    }

    /// Every clause in the order of an entry's, those without a term included, so that they can be counted without
    /// tokenising.
    fn all_clauses(&self) -> impl Iterator<Item = &'a str> {
        let name = first(self.name, MAX_FIELD_CHARS);
        let described = clauses(first(self.description, MAX_FIELD_CHARS)).into_iter();
        [name, name].into_iter().chain(described).chain(self.authored())
    }

    fn authored(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let mut left = MAX_FIELD_CHARS;
        self.clauses.iter().map(move |clause| {
            let clause = first(clause, left);
            left -= clause.chars().count();
            clause
        })
    }
}

/// One skill, tokenised once, by itself.
///
/// An index over it keeps what it needs, and not the entry: it can be dropped then.
#[derive(Debug)]
pub struct SearchEntry {
    /// The terms of name, description and clauses: few, and read again for each candidate.
    offered: PackedTerms,
    /// The terms that only the body has.
    further: PackedTerms,
    lengths: FieldLengths,
    /// The terms of the name, joined form included; then of each clause, of which the name is the first. Each is
    /// the bytes of the list, then the list, which is the steps between ascending places in `offered`.
    clauses: Box<[u8]>,
    /// The terms of past requests, ascending, each with its share of the requests' occurrences. Most entries have none.
    past: Box<[(TermHash, f64)]>,
}

/// How many terms each field has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FieldLengths {
    pub(super) description: u32,
    pub(super) body: u32,
}

/// The positions of one clause's terms among those offered, ascending, as steps.
#[derive(Debug, Clone, Default)]
pub(super) struct Clause<'a>(pub(super) VarInts<'a>);

impl Clause<'_> {
    /// The sum of these values, given by position, over the terms of the clause.
    pub(super) fn sum(self, by_place: &[f64]) -> f64 {
        let mut place = 0;
        self.0
            .filter_map(|step| {
                place += step as usize;
                by_place.get(place)
            })
            .sum()
    }
}

impl SearchEntry {
    /// The place of the whole name among [`Self::clauses`].
    pub(super) const NAME_CLAUSE: usize = 0;

    /// Tokenises a skill.
    pub fn new(text: &SearchText<'_>) -> Self {
        Self::read(text, &mut Tokenizer::new())
    }

    /// Tokenises one of many skills: the same entry, in half the time, because the tokenizer has cached most words.
    pub fn read(text: &SearchText<'_>, tokenizer: &mut Tokenizer) -> Self {
        Draft::new(text, tokenizer).pack()
    }

    /// Tokenises a skill that was loaded for these requests before. Their phrases count as clauses, and their words as a field
    /// of its own. An index keeps them only as long as the entry is fresh: a merge leaves the field out.
    pub fn with_past(text: &SearchText<'_>, past: &[String], tokenizer: &mut Tokenizer) -> Self {
        let mut draft = Draft::new(text, tokenizer);
        draft.past(past);
        draft.pack()
    }

    /// How often past requests have a term, per request.
    pub(super) fn past(&self, term: TermHash) -> f64 {
        let found = self.past.binary_search_by_key(&term, |(other, _)| *other);
        found.ok().and_then(|at| self.past.get(at)).map_or(0.0, |(_, share)| *share)
    }

    pub(super) fn lengths(&self) -> FieldLengths {
        self.lengths
    }

    /// Every term with its counts: two ascending runs.
    pub(super) fn terms(&self) -> [impl Iterator<Item = (TermHash, TermCounts)>; 2] {
        [self.offered.counted(), self.further.counted()]
    }

    /// About how many bytes it takes to list this skill under all its terms.
    pub(super) fn listed_len(&self) -> usize {
        self.offered.listed_len() + self.further.listed_len()
    }

    /// Calls `found` with the number of each of these terms, which must ascend, that occurs in it.
    pub(super) fn find(
        &self,
        terms: &[(TermHash, usize)],
        mut found: impl FnMut(usize, TermCounts),
    ) {
        self.offered.find(terms, &mut found);
        self.further.find(terms, &mut found);
    }

    /// The terms of name, description and clauses, ascending.
    pub(super) fn offered(&self) -> impl Iterator<Item = TermHash> {
        self.offered.iter()
    }

    /// First the whole name, joined form included; then the clauses, of which the name is the first.
    pub(super) fn clauses(&self) -> impl Iterator<Item = Clause<'_>> {
        let mut numbers = VarInts(&self.clauses);
        std::iter::from_fn(move || {
            let bytes = numbers.next()?;
            numbers.within(bytes).map(Clause)
        })
    }
}

/// An entry while its texts are read.
struct Draft<'a> {
    tokenizer: &'a mut Tokenizer,
    found: Vec<FieldTerm>,
    lengths: FieldLengths,
    clauses: Vec<Vec<TermHash>>,
    past: Vec<(TermHash, f64)>,
}

impl<'a> Draft<'a> {
    fn new(text: &SearchText<'_>, tokenizer: &'a mut Tokenizer) -> Self {
        let mut draft = Self {
            tokenizer,
            found: Vec::new(),
            lengths: FieldLengths::default(),
            clauses: Vec::new(),
            past: Vec::new(),
        };
        draft.name(first(text.name, MAX_FIELD_CHARS));
        let description = first(text.description, MAX_FIELD_CHARS);
        draft.lengths.description = draft.read(description, Field::Description);
        for clause in clauses(description) {
            draft.clause(clause);
        }
        for clause in text.authored() {
            draft.authored(clause);
        }
        draft.lengths.body = draft.read(first(text.body, MAX_FIELD_CHARS), Field::Body);
        draft
    }

    /// Counts a field's terms.
    fn read(&mut self, text: &str, field: Field) -> u32 {
        let before = self.found.len();
        self.tokenizer.scan(&without_contractions(text), &mut |token| {
            self.found.push(FieldTerm::new(token.term, field));
        });
        to_u32(self.found.len() - before)
    }

    fn name(&mut self, name: &str) {
        let is_gap = |c: char| matches!(c, '-' | '_' | '/' | ':');
        let spaced = name.replace(is_gap, " ");
        self.read(&spaced, Field::Name);
        let own: Vec<TermHash> = self.found.iter().map(|found| found.term()).collect();
        let mut whole = own.clone();
        let parts = spaced.split_whitespace().filter(|part| part.contains(char::is_alphanumeric));
        if (2..=3).contains(&parts.clone().count()) {
            let letters = parts.flat_map(|part| part.split(|c: char| !c.is_alphanumeric()));
            let joined = self.tokenizer.term(letters);
            self.found.push(FieldTerm::new(joined, Field::Name));
            whole.push(joined);
        }
        self.clauses.push(distinct(whole));
        self.clauses.push(distinct(own));
    }

    /// Reads an author's trigger, example or keyword. It counts as description too: a skill must be found by a keyword that its
    /// text does not repeat.
    fn authored(&mut self, clause: &str) {
        let before = self.found.len();
        self.lengths.description += self.read(clause, Field::Description);
        let read = before..self.found.len();
        for _ in 1..AUTHORED_WEIGHT {
            self.found.extend_from_within(read.clone());
        }
        self.clause(clause);
    }

    fn clause(&mut self, clause: &str) {
        let mut terms = Vec::new();
        self.tokenizer.scan(&without_contractions(clause), &mut |token| terms.push(token.term));
        self.found.extend(terms.iter().map(|term| FieldTerm::new(*term, Field::Clause)));
        self.clauses.push(distinct(terms));
    }

    fn past(&mut self, requests: &[String]) {
        let mut terms = Vec::new();
        for request in requests {
            let request = first(request, MAX_FIELD_CHARS);
            for clause in clauses(request) {
                self.clause(clause);
            }
            self.tokenizer
                .scan(&without_contractions(request), &mut |token| terms.push(token.term));
        }
        // Words that only cutting makes are found by clauses alone, like those of a description.
        self.found.extend(terms.iter().map(|term| FieldTerm::new(*term, Field::Clause)));
        terms.sort_unstable();
        let requests = f64::from(to_u32(requests.len().max(1)));
        let share =
            |same: &[TermHash]| Some((*same.first()?, f64::from(to_u32(same.len())) / requests));
        self.past = terms.chunk_by(|a, b| a == b).filter_map(share).collect();
    }

    fn pack(mut self) -> SearchEntry {
        self.found.sort_unstable();
        let (mut offered, mut further) = (Vec::new(), Vec::new());
        for same in self.found.chunk_by(|a, b| a.term() == b.term()) {
            let counts = TermCounts::of(same.iter().map(|found| found.field()));
            if let Some(first) = same.first() {
                let list = if first.field() < Field::Body { &mut offered } else { &mut further };
                list.push((first.term(), counts));
            }
        }
        let offered = PackedTerms::new(&offered);
        let mut clauses = Vec::new();
        for own in &self.clauses {
            let steps = steps(own, &offered);
            push_varint(&mut clauses, to_u32(steps.len()));
            clauses.extend(steps);
        }
        SearchEntry {
            offered,
            further: PackedTerms::new(&further),
            lengths: self.lengths,
            clauses: clauses.into(),
            past: self.past.into(),
        }
    }
}

/// The steps between the places that ascending `own` terms have among those offered.
fn steps(own: &[TermHash], offered: &PackedTerms) -> Vec<u8> {
    let mut steps = Vec::with_capacity(own.len());
    let mut last = 0;
    for place in own.iter().filter_map(|term| offered.place(*term)) {
        push_varint(&mut steps, to_u32(place - last));
        last = place;
    }
    steps
}

fn distinct(mut terms: Vec<TermHash>) -> Vec<TermHash> {
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// The first `count` characters.
fn first(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or_default()
}
