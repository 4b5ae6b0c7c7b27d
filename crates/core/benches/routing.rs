//! How often requests find the right skill, over real skills and real requests.
//!
//! `cargo bench -p skills-core --bench routing -- --corpus DIR --requests FILE [--negatives FILE] [--form whole|six|product]
//! [--sizes 50,200] [--tree] [--learn]`: DIR has a folder with a `SKILL.md` for each skill. A line of the first file is JSON with
//! `query` and `gold` (names of folders), of the second with `query`, `must_not_be_first` and, where no skill fits, `none_fits`.
//! Smaller sizes are random parts. `--form` makes each request its first six telling words, or adds the publisher's name, which
//! stands before `--` in a folder's name. `--tree` turns the bundles into tree skills with keywords. `--learn` prints what it is
//! worth to know half of the requests of each skill.

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
        search, search_text,
    },
};

const EVERYDAY: &str = include_str!("../../skills-mcp/tests/data/everyday_prompts.txt");
const SHORT_WORDS: &[&str] = &[
    "a", "an", "the", "to", "of", "in", "for", "on", "with", "and", "or", "is", "it", "my", "i",
    "me", "we", "our", "this", "that", "please", "can", "you", "how", "do", "does", "what",
    "which", "from", "as", "at", "be", "have", "has", "need", "want", "create", "make", "use",
    "using", "when", "user", "skill",
];

#[derive(Deserialize, Clone)]
struct Request {
    query: String,
    #[serde(default)]
    gold: Vec<String>,
    #[serde(default)]
    must_not_be_first: Vec<String>,
    #[serde(default)]
    none_fits: bool,
}

fn main() {
    let option = |name: &str| std::env::args().skip_while(|word| word != name).nth(1);
    let has = |name: &str| std::env::args().any(|word| word == name);
    let (Some(corpus), Some(requests)) = (option("--corpus"), option("--requests")) else {
        println!("nothing to measure without --corpus DIR --requests FILE");
        return;
    };
    let texts = texts(&corpus, has("--tree"));
    let mut requests = read(&requests);
    let negatives = option("--negatives").map(|path| read(&path)).unwrap_or_default();
    let form = option("--form");
    for request in &mut requests {
        request.query = formed(request, form.as_deref());
    }
    if has("--learn") {
        return learning(&Bed::new(&texts), &requests);
    }
    println!(
        "| skills | requests | first | among 5 | loaded | loaded wrong | loaded or offered | hook names | right | \
         forbidden named | none fits, named | everyday: loaded, named | right one absent: loaded, named |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    let sizes = option("--sizes").unwrap_or_default();
    let parts = sizes.split(',').filter_map(|size| size.parse().ok());
    for size in [texts.len()].into_iter().chain(parts) {
        let rounds = if size == texts.len() { 1 } else { 5 };
        let mut outcome = Outcome::default();
        for round in 0..rounds {
            let bed = Bed::new(&part(&texts, &requests, size, round));
            outcome.add(&bed, &requests, &negatives);
        }
        outcome.print(size);
    }
}

fn read(path: &str) -> Vec<Request> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn formed(request: &Request, form: Option<&str>) -> String {
    let query = &request.query;
    match form {
        Some("six") => {
            let is_short = |word: &&str| SHORT_WORDS.contains(&&*word.to_lowercase());
            let words = query.split(|c: char| !c.is_alphanumeric() && !"._+#-".contains(c));
            let words = words.map(|word| word.trim_matches(['.', '-', '_', '+', '#']));
            let telling = words.filter(|word| word.len() > 1 && !is_short(word)).take(6);
            telling.collect::<Vec<_>>().join(" ")
        }
        Some("product") => match request.gold.first().and_then(|gold| gold.split_once("--")) {
            Some((publisher, _)) => format!("{query}\n{publisher}"),
            None => query.clone(),
        },
        _ => query.clone(),
    }
}

/// The skills by their names in requests.
fn texts(folder: &str, tree: bool) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let Ok(bytes) = fs::read(entry.path().join("SKILL.md")) else { continue };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let made = if tree { as_tree(&name, bytes) } else { Some(text) };
        texts.extend(made.map(|text| (name, text)));
    }
    texts
}

/// A bundle as a tree skill: its author's keywords, or the words of its name and the first ones of its description.
fn as_tree(name: &str, bytes: Vec<u8>) -> Option<String> {
    let (parsed, text) = Parsed::with_text(bytes, Dialect::Bundle);
    let (skill, text) = (parsed.skill?, text?);
    let fields = &skill.fields;
    let authored: Vec<&String> = fields.keywords.iter().chain(&fields.phrases).collect();
    let chosen = || {
        let own = name.rsplit("--").next().unwrap().split('-');
        let words = own.chain(fields.description.split(|c: char| !c.is_alphanumeric()));
        let telling = |word: &String| word.len() > 2 && !SHORT_WORDS.contains(&word.as_str());
        let mut seen = BTreeSet::new();
        let words = words.map(str::to_lowercase).filter(telling);
        words.filter(|word| seen.insert(word.clone())).take(6).collect::<Vec<String>>()
    };
    let keywords = if authored.len() > 1 {
        serde_json::to_string(&authored).unwrap()
    } else {
        serde_json::to_string(&chosen()).unwrap()
    };
    let description = serde_json::to_string(&fields.description).unwrap();
    Some(format!("---\nkeywords: {keywords}\ndescription: {description}\n---\n{}", text.body()))
}

/// A part of `size` skills, a fifth of them right for some request, chosen by a number that looks random.
fn part(
    texts: &BTreeMap<String, String>,
    requests: &[Request],
    size: usize,
    round: u64,
) -> BTreeMap<String, String> {
    if size == texts.len() {
        return texts.clone();
    }
    let gold: BTreeSet<&str> =
        requests.iter().flat_map(|one| &one.gold).map(String::as_str).collect();
    let order = |name: &str| {
        let mut hash = round.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash ^ hash >> 29
    };
    let mut chosen: Vec<(&String, &String)> = texts.iter().collect();
    chosen.sort_by_key(|(name, _)| order(name));
    let (mut right, mut others): (Vec<_>, Vec<_>) =
        chosen.into_iter().partition(|(name, _)| gold.contains(name.as_str()));
    right.truncate((size / 5).max(4));
    others.truncate(size - right.len().min(size));
    right.append(&mut others);
    right.into_iter().map(|(name, text)| (name.clone(), text.clone())).collect()
}

/// Skills with their indexes.
struct Bed {
    catalog: Catalog,
    bodies: BTreeMap<SkillId, String>,
    router: Router,
    ranked: RankedIndex,
}

impl Bed {
    fn new(texts: &BTreeMap<String, String>) -> Self {
        let file = |(name, text): (&String, &String)| {
            let is_tree = text.starts_with("---\nkeywords: [");
            let path = if is_tree {
                format!("{}.md", name.replace("--", "/"))
            } else {
                format!("{name}/SKILL.md")
            };
            (path, text.clone())
        };
        let files: BTreeMap<String, String> = texts.iter().map(file).collect();
        let mut root = Folder::default();
        for (path, text) in &files {
            let entry = FileEntry::Regular { bytes: text.len() as u64, stamp: Stamp::of(&[1]) };
            root.put(&RelPath::parse(path).unwrap(), Some(FolderItem::File(entry)));
        }
        let scan = SourceScan::new("corpus".into(), Origin::Named, Arc::new(root));
        let empty = Catalog::default();
        let update = empty.update(0, &scan);
        let read = |(file, dialect): &(RelPath, Dialect)| {
            Arc::new(Parsed::read(files[file.as_str()].clone().into_bytes(), *dialect))
        };
        let parsed = update.files().iter().map(read).collect();
        let (catalog, _) = empty.with(update, parsed);
        let body = |skill: &Skill| {
            let bytes = files[skill.file.as_str()].clone().into_bytes();
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

    /// Whether one of these names is the skill's.
    fn is_one(&self, skill: SkillId, names: &[String]) -> bool {
        let path =
            self.catalog.skill(skill).map(|skill| skill.path.to_string()).unwrap_or_default();
        names.iter().any(|name| *name == path || name.replace("--", "/") == path)
    }

    fn has(&self, name: &str) -> bool {
        self.catalog.find(name).or_else(|| self.catalog.find(&name.replace("--", "/"))).is_some()
    }

    fn routes(&self) -> Routes<'_> {
        let (router, ranked) = (self.router.clone(), self.ranked.clone());
        Routes::new(&self.catalog, router, ranked, Matching::default())
    }
}

#[derive(Default)]
struct Outcome {
    asked: usize,
    first: usize,
    fifth: usize,
    loaded: usize,
    loaded_wrong: usize,
    reached: usize,
    named: usize,
    named_right: usize,
    near_misses: usize,
    forbidden: usize,
    unfit: usize,
    unfit_named: usize,
    everyday: usize,
    everyday_loaded: usize,
    everyday_named: usize,
    absent: usize,
    absent_loaded: usize,
    absent_named: usize,
}

impl Outcome {
    fn add(&mut self, bed: &Bed, requests: &[Request], negatives: &[Request]) {
        let count = |yes: bool| usize::from(yes);
        let decide = |query: &str| {
            bed.router.decide(&bed.catalog, || &bed.ranked, query, &Matching::default())
        };
        let ids = |query: &str, limit: usize| -> Vec<SkillId> {
            let hits = search(&bed.catalog, &bed.ranked, query, limit).hits;
            hits.iter().map(|hit| SkillId::at(hit.entry)).collect()
        };
        let named = |query: &str| -> Vec<SkillId> {
            let suggested = search(&bed.catalog, &bed.ranked, query, 6).suggested();
            ids(query, 6).into_iter().take(suggested).collect()
        };
        for request in requests {
            let decision = decide(&request.query);
            let named = named(&request.query);
            if !request.gold.iter().any(|gold| bed.has(gold)) {
                self.absent += 1;
                self.absent_loaded += count(decision.loaded().is_some());
                self.absent_named += count(!named.is_empty());
                continue;
            }
            let is_right = |skill: &SkillId| bed.is_one(*skill, &request.gold);
            let found = ids(&request.query, 5);
            self.asked += 1;
            self.first += count(found.first().is_some_and(is_right));
            self.fifth += count(found.iter().any(is_right));
            let loaded = decision.loaded();
            self.loaded += count(loaded.as_ref().is_some_and(is_right));
            self.loaded_wrong += count(loaded.as_ref().is_some_and(|one| !is_right(one)));
            self.reached += count(decision.shown().any(|one| is_right(&one)));
            self.named += count(!named.is_empty());
            self.named_right += count(named.iter().any(is_right));
        }
        for negative in negatives {
            let named = named(&negative.query);
            if negative.none_fits {
                self.unfit += 1;
                self.unfit_named += count(!named.is_empty());
            }
            self.near_misses += 1;
            let is_forbidden = |skill: &SkillId| bed.is_one(*skill, &negative.must_not_be_first);
            self.forbidden += count(named.iter().any(is_forbidden));
        }
        for prompt in EVERYDAY.lines() {
            self.everyday += 1;
            self.everyday_loaded += count(decide(prompt).loaded().is_some());
            self.everyday_named += count(!named(prompt).is_empty());
        }
    }

    fn print(&self, size: usize) {
        let share = |part: usize, of: usize| format!("{:.3}", part as f64 / of.max(1) as f64);
        let of_asked = |part: usize| share(part, self.asked);
        println!(
            "| {size} | {} | {} | {} | {} | {} | {} | {} | {} | {} of {} | {} of {} | {}, {} of {} | {}, {} of {} |",
            self.asked,
            of_asked(self.first),
            of_asked(self.fifth),
            of_asked(self.loaded),
            of_asked(self.loaded_wrong),
            of_asked(self.reached),
            of_asked(self.named),
            share(self.named_right, self.named),
            self.forbidden,
            self.near_misses,
            self.unfit_named,
            self.unfit,
            self.everyday_loaded,
            self.everyday_named,
            self.everyday,
            self.absent_loaded,
            self.absent_named,
            self.absent,
        );
    }
}

/// Prints what it is worth to know half of the requests of each skill: as the examples that `learn` proposes, and learned from use.
fn learning(bed: &Bed, requests: &[Request]) {
    for (title, learn) in [
        ("proposals of `learn`", by_proposals as fn(&Bed, &[PastRequest]) -> RankedIndex),
        ("learned from use", by_itself),
    ] {
        println!(
            "\n{title}:\n\n| future requests | n | hit@1 | recall@3 | hit@1 then | recall@3 then |\n|---|---|---|---|---|---|"
        );
        let mut tables = [Table::default(), Table::default()];
        for half in 0..2 {
            simulate(bed, requests, half, learn, &mut tables);
        }
        tables[0].print("of skills with history");
        tables[1].print("of skills without");
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
    bed: &Bed,
    requests: &[Request],
    half: usize,
    learn: fn(&Bed, &[PastRequest]) -> RankedIndex,
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
    let after = learn(bed, &history);
    for request in future {
        let table = &mut tables[usize::from(!known.contains(&request.gold[0]))];
        table.requests += 1;
        let gold: Vec<usize> = request
            .gold
            .iter()
            .filter_map(|name| bed.catalog.find(name))
            .map(|skill| skill.id.index())
            .collect();
        for (side, index) in [&bed.ranked, &after].into_iter().enumerate() {
            let hits = index.search(&request.query, 3).hits;
            let place = hits.iter().position(|hit| gold.contains(&hit.entry));
            table.counts[side * 2] += usize::from(place == Some(0));
            table.counts[side * 2 + 1] += usize::from(place.is_some());
        }
    }
}

/// The index after all proposed examples were added.
fn by_proposals(bed: &Bed, history: &[PastRequest]) -> RankedIndex {
    let started = Instant::now();
    let proposals = propose_examples(&bed.routes(), history);
    let examples: usize = proposals.iter().map(|proposal| proposal.requests.len()).sum();
    println!(
        "<!-- {} past requests, {examples} examples for {} skills, {:.0?} -->",
        history.len(),
        proposals.len(),
        started.elapsed(),
    );
    let mut tokenizer = Tokenizer::new();
    let entry = |proposal: &ProposedExamples| {
        let skill = bed.catalog.skill(proposal.skill).unwrap();
        let mut words = clauses(skill);
        words.extend(proposal.requests.iter().cloned());
        let text = SearchText { body: &bed.bodies[&skill.id], ..search_text(skill, &words) };
        (skill.id.index(), Some(Arc::new(SearchEntry::read(&text, &mut tokenizer))))
    };
    let entries: Vec<_> = proposals.iter().map(entry).collect();
    bed.ranked.with(entries).merged()
}

/// The index with past requests as clauses and as a field.
fn by_itself(bed: &Bed, history: &[PastRequest]) -> RankedIndex {
    let mut tokenizer = Tokenizer::new();
    let entry = |past: &PastSkill| {
        let skill = bed.catalog.skill(past.skill).unwrap();
        let words = clauses(skill);
        let text = SearchText { body: &bed.bodies[&skill.id], ..search_text(skill, &words) };
        let requests: Vec<String> =
            past.requests.iter().map(|(request, _)| request.clone()).collect();
        let entry = SearchEntry::with_past(&text, &requests, &mut tokenizer);
        (skill.id.index(), Some(Arc::new(entry)))
    };
    let entries: Vec<_> = PastSkill::all(history, &bed.catalog).iter().map(entry).collect();
    bed.ranked.with(entries)
}
