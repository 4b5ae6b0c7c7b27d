//! What learning from use is worth: half of the requests of each skill are history, the other half is the future.
//!
//! `cargo bench --bench learn -- --corpus DIR --requests FILE`: DIR has a folder with a `SKILL.md` for each skill, a line of FILE
//! is JSON with `query` and `gold` (names of folders). Each half is the history once, and both runs are added up. The first table
//! is for the examples that `skills-mcp learn` proposes, the second for what a server learns by itself.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench prints, and fails where something is wrong"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::Arc,
    time::Instant,
};

use serde::Deserialize;
use skills_core::{
    catalog::{Catalog, FileEntry, Folder, FolderItem, Origin, Skill, SkillId, SourceScan, Stamp},
    document::{Dialect, Parsed},
    relpath::RelPath,
    route::{
        Matching, Router,
        authoring::{PastRequest, PastSkill, ProposedExamples, Routes, propose_examples},
        clauses,
        ranked::{RankedIndex, SearchEntry, SearchText, Tokenizer},
        search_text,
    },
};

#[derive(Deserialize)]
struct Request {
    query: String,
    #[serde(default)]
    gold: Vec<String>,
}

fn main() {
    let option = |name: &str| std::env::args().skip_while(|word| word != name).nth(1);
    let (Some(corpus), Some(requests)) = (option("--corpus"), option("--requests")) else {
        println!("nothing to measure without --corpus DIR --requests FILE");
        return;
    };
    let corpus = Corpus::read(&corpus);
    let text = fs::read_to_string(requests).unwrap();
    let requests: Vec<Request> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (title, learn) in [
        ("proposals of `learn`", by_proposals as fn(&Corpus, &[PastRequest]) -> RankedIndex),
        ("learned locally", by_itself),
    ] {
        println!(
            "\n{title}:\n\n| future requests | n | hit@1 | recall@3 | hit@1 then | recall@3 then |\n|---|---|---|---|---|---|"
        );
        let mut tables = [Table::default(), Table::default()];
        for half in 0..2 {
            simulate(&corpus, &requests, half, learn, &mut tables);
        }
        tables[0].print("of skills with history");
        tables[1].print("of skills without");
    }
}

/// The skills with their texts and indexes.
struct Corpus {
    catalog: Catalog,
    bodies: BTreeMap<SkillId, String>,
    router: Router,
    ranked: RankedIndex,
}

impl Corpus {
    fn read(folder: &str) -> Self {
        let mut texts = BTreeMap::new();
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if let Ok(text) = fs::read_to_string(entry.path().join("SKILL.md")) {
                texts.insert(format!("{}/SKILL.md", entry.file_name().to_str().unwrap()), text);
            }
        }
        let mut root = Folder::default();
        for (path, text) in &texts {
            let entry = FileEntry::Regular { bytes: text.len() as u64, stamp: Stamp::of(&[1]) };
            root.put(&RelPath::parse(path).unwrap(), Some(FolderItem::File(entry)));
        }
        let scan = SourceScan::new("corpus".into(), Origin::Named, Arc::new(root));
        let empty = Catalog::default();
        let update = empty.update(0, &scan);
        let read = |(file, dialect): &(RelPath, Dialect)| {
            Arc::new(Parsed::read(texts[file.as_str()].clone().into_bytes(), *dialect))
        };
        let parsed = update.files().iter().map(read).collect();
        let (catalog, _) = empty.with(update, parsed);
        let body = |skill: &Skill| {
            let bytes = texts[skill.file.as_str()].clone().into_bytes();
            (skill.id, skill.document().text(bytes).unwrap().body().to_owned())
        };
        let bodies: BTreeMap<SkillId, String> = catalog.skills().map(body).collect();
        let mut entries = vec![None; catalog.end()];
        let mut tokenizer = Tokenizer::new();
        for skill in catalog.skills() {
            let words = clauses(skill);
            let text = SearchText { body: &bodies[&skill.id], ..search_text(skill, &words) };
            entries[skill.id.index()] = Some(Arc::new(SearchEntry::read(&text, &mut tokenizer)));
        }
        let (router, ranked) = (Router::new(&catalog), RankedIndex::new(entries));
        Self { catalog, bodies, router, ranked }
    }

    fn routes(&self) -> Routes<'_> {
        let (router, ranked) = (self.router.clone(), self.ranked.clone());
        Routes::new(&self.catalog, router, ranked, Matching::default())
    }
}

#[derive(Default)]
struct Table {
    requests: usize,
    /// First and within three, before and after.
    counts: [usize; 4],
}

impl Table {
    fn print(&self, what: &str) {
        let share = |count: usize| count as f64 * 100.0 / self.requests.max(1) as f64;
        let [a, b, c, d] = self.counts.map(share);
        println!(
            "| {what} | {} | {a:.1} | {b:.1} | {c:.1} ({:+.1}) | {d:.1} ({:+.1}) |",
            self.requests,
            c - a,
            d - b
        );
    }
}

/// Every second request of each skill that has two or more is history.
fn simulate(
    corpus: &Corpus,
    requests: &[Request],
    half: usize,
    learn: fn(&Corpus, &[PastRequest]) -> RankedIndex,
    tables: &mut [Table; 2],
) {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut history, mut future) = (Vec::new(), Vec::new());
    for request in requests {
        let gold = request.gold[0].as_str();
        let turn = seen.entry(gold).or_default();
        let several = requests.iter().filter(|other| other.gold[0] == gold).count() > 1;
        if several && *turn % 2 == half {
            history
                .push(PastRequest { request: request.query.clone(), skill: Some(gold.to_owned()) });
        } else {
            future.push(request);
        }
        *turn += 1;
    }
    let known: BTreeSet<String> = history.iter().filter_map(|past| past.skill.clone()).collect();
    let after = learn(corpus, &history);
    for request in future {
        let table = &mut tables[usize::from(!known.contains(&request.gold[0]))];
        table.requests += 1;
        let gold: Vec<usize> = request
            .gold
            .iter()
            .filter_map(|name| corpus.catalog.find(name))
            .map(|skill| skill.id.index())
            .collect();
        for (side, index) in [&corpus.ranked, &after].into_iter().enumerate() {
            let hits = index.search(&request.query, 3).hits;
            let place = hits.iter().position(|hit| gold.contains(&hit.entry));
            table.counts[side * 2] += usize::from(place == Some(0));
            table.counts[side * 2 + 1] += usize::from(place.is_some());
        }
    }
}

/// The index after all proposed examples were added.
fn by_proposals(corpus: &Corpus, history: &[PastRequest]) -> RankedIndex {
    let started = Instant::now();
    let proposals = propose_examples(&corpus.routes(), history);
    let examples: usize = proposals.iter().map(|proposal| proposal.requests.len()).sum();
    println!(
        "<!-- {} past requests, {examples} examples for {} skills, {:.0?} -->",
        history.len(),
        proposals.len(),
        started.elapsed(),
    );
    let mut tokenizer = Tokenizer::new();
    let entry = |proposal: &ProposedExamples| {
        let skill = corpus.catalog.skill(proposal.skill).unwrap();
        let mut words = clauses(skill);
        words.extend(proposal.requests.iter().cloned());
        let text = SearchText { body: &corpus.bodies[&skill.id], ..search_text(skill, &words) };
        (skill.id.index(), Some(Arc::new(SearchEntry::read(&text, &mut tokenizer))))
    };
    let entries: Vec<_> = proposals.iter().map(entry).collect();
    corpus.ranked.with(entries).merged()
}

/// The index with past requests as clauses and as a field.
fn by_itself(corpus: &Corpus, history: &[PastRequest]) -> RankedIndex {
    let mut tokenizer = Tokenizer::new();
    let entry = |past: &PastSkill| {
        let skill = corpus.catalog.skill(past.skill).unwrap();
        let words = clauses(skill);
        let text = SearchText { body: &corpus.bodies[&skill.id], ..search_text(skill, &words) };
        let requests: Vec<String> =
            past.requests.iter().map(|(request, _)| request.clone()).collect();
        let entry = SearchEntry::with_past(&text, &requests, &mut tokenizer);
        (skill.id.index(), Some(Arc::new(entry)))
    };
    let entries: Vec<_> = PastSkill::all(history, &corpus.catalog).iter().map(entry).collect();
    corpus.ranked.with(entries)
}
