//! How long the core takes: reading one file, building and indexing a catalog, taking in a change, routing a request,
//! resolving a skill, making, changing and asking the ranked index. The content is made up, deterministically: three
//! levels below a root, six keywords a skill from a
//! vocabulary of four hundred words, bodies of two kilobytes.
//!
//! Run with `cargo bench -p skills-core`; figures compare only on one machine.

use std::{collections::HashMap, hint::black_box, sync::Arc, time::Duration};

use criterion::{BatchSize, BenchmarkGroup, BenchmarkId, Criterion, measurement::WallTime};
use skills_core::{
    catalog::{Catalog, Delta, FileEntry, Folder, FolderItem, Origin, Skill, SourceScan, Stamp},
    document::{Dialect, Parsed},
    relpath::RelPath,
    resolve::{TextLimit, inherited_from, resolve},
    route::{
        Matching, Router,
        ranked::{self, RankedIndex, Tokenizer},
    },
};

const SIZES: [usize; 2] = [1_000, 10_000];
const REQUEST: &str =
    "Create a React component for the lorapel and l'authentification of mivesto users";
const DEEP: &str = "area-3/topic-7/skill-973";

/// A small generator of numbers, so that every run measures the same content.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % end
    }
}

/// Four hundred words: every first half with every second half.
fn vocabulary() -> Vec<String> {
    const FIRST: [&str; 20] = [
        "re", "lora", "mi", "au", "compo", "ser", "da", "tes", "con", "ro", "ve", "pi", "mo", "ga",
        "fla", "tri", "no", "ke", "sta", "bu",
    ];
    const SECOND: [&str; 20] = [
        "act", "pel", "vesto", "then", "nent", "ver", "tabase", "ting", "fig", "uter", "ctor",
        "line", "del", "teway", "sk", "gger", "de", "rnel", "ge", "ild",
    ];
    FIRST
        .iter()
        .flat_map(|first| SECOND.iter().map(move |second| format!("{first}{second}")))
        .collect()
}

/// The text of one skill of about two kilobytes.
fn text(numbers: &mut Numbers, words: &[String]) -> String {
    let mut pick = |count: usize| -> Vec<&str> {
        let word = |_| words.get(numbers.below(words.len())).map_or("", String::as_str);
        (0..count).map(word).collect()
    };
    let mut text = format!(
        "---\nkeywords: [{}]\ndescription: \"How we do {}\"\npriority: 3\n---\n\n# {}\n",
        pick(6).join(", "),
        pick(4).join(" "),
        pick(2).join(" "),
    );
    while text.len() < 2_048 {
        text.extend(["\n- ", &pick(12).join(" "), ".\n"]);
    }
    text
}

/// This many files: a root, ten areas of ten topics each, and skills in the topics.
fn files(count: usize) -> Vec<(RelPath, String)> {
    let mut paths = vec!["_root.md".to_owned()];
    for area in 0..10 {
        paths.push(format!("area-{area}/_index.md"));
        paths.extend((0..10).map(|topic| format!("area-{area}/topic-{topic}/_index.md")));
    }
    let skills = count.saturating_sub(paths.len());
    let skill = |n: usize| format!("area-{}/topic-{}/skill-{n}.md", n % 10, n / 10 % 10);
    paths.extend((0..skills).map(|n| skill(n + 100)));
    let (mut numbers, words) = (Numbers(42), vocabulary());
    let file = |path: String| Some((RelPath::parse(&path).ok()?, text(&mut numbers, &words)));
    paths.into_iter().filter_map(file).collect()
}

/// What a walk finds, without the disk.
fn scan_findings(files: &[(RelPath, String)]) -> Folder {
    let mut root = Folder::default();
    for (path, text) in files {
        root.put(path, Some(FolderItem::File(entry(text))));
    }
    root
}

fn entry(text: &str) -> FileEntry {
    let bytes = text.len() as u64;
    FileEntry::Regular {
        bytes,
        stamp: Stamp::of(&text.bytes().map(i128::from).collect::<Vec<_>>()),
    }
}

/// Every file parsed: what reading gives.
type Texts = HashMap<RelPath, Arc<Parsed>>;

fn parsed(files: &[(RelPath, String)]) -> Texts {
    let parse = |text: &String| Arc::new(Parsed::read(text.clone().into_bytes(), Dialect::Tree));
    files.iter().map(|(path, text)| (path.clone(), parse(text))).collect()
}

/// The next catalog of the one source.
fn refreshed(catalog: &Catalog, root: &Arc<Folder>, texts: &Texts) -> (Catalog, Delta) {
    let scan = SourceScan::new("main".into(), Origin::Named, Arc::clone(root));
    let update = catalog.update(0, &scan);
    let parsed = update.files().iter().filter_map(|(file, _)| texts.get(file).cloned()).collect();
    catalog.with(update, parsed)
}

fn document(criterion: &mut Criterion) {
    let text = text(&mut Numbers(7), &vocabulary()).into_bytes();
    criterion.bench_function("parse one document", |bench| {
        let parse = |text| Parsed::read(text, Dialect::Tree);
        bench.iter_batched(|| text.clone(), parse, BatchSize::SmallInput);
    });
}

fn catalogs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("skills");
    group.sample_size(20).measurement_time(Duration::from_secs(4));
    for size in SIZES {
        let files = files(size);
        let (root, texts) = (Arc::new(scan_findings(&files)), parsed(&files));
        let (catalog, _) = refreshed(&Catalog::default(), &root, &texts);
        let router = Router::new(&catalog);
        assert_eq!(catalog.len(), size);
        group.bench_function(BenchmarkId::new("parse every file", size), |bench| {
            bench.iter_with_large_drop(|| parsed(&files));
        });
        group.bench_function(BenchmarkId::new("build the catalog", size), |bench| {
            bench.iter_with_large_drop(|| refreshed(&Catalog::default(), &root, &texts));
        });
        changed(&mut group, &files, (&root, &texts), (&catalog, &router));
        group.bench_function(BenchmarkId::new("index the keywords", size), |bench| {
            bench.iter_with_large_drop(|| Router::new(&catalog));
        });
        group.bench_function(BenchmarkId::new("route a request", size), |bench| {
            bench.iter(|| router.route(&catalog, black_box(REQUEST), &Matching::default()));
        });
        assert!(catalog.find(DEEP).is_some(), "the content has changed");
        let Some(skill) = catalog.find(DEEP) else { continue };
        assert_eq!(catalog.ancestors(skill).count(), 3);
        group.bench_function(BenchmarkId::new("resolve a skill four deep", size), |bench| {
            let texts: HashMap<&RelPath, &String> = files.iter().map(|(a, b)| (a, b)).collect();
            let read = |skill: &Skill| {
                let text = texts.get(&skill.file).map(|text| text.as_bytes().to_vec());
                text.and_then(|text| skill.document().text(text))
            };
            bench.iter(|| {
                let skill = black_box(skill);
                let inherited = inherited_from(&catalog, skill);
                let inherited: Option<Vec<_>> =
                    inherited.into_iter().map(|skill| Some((skill, read(skill)?))).collect();
                Some(
                    resolve(skill, &read(skill)?, &inherited?, 1, TextLimit::of_tokens(8_000))
                        .content
                        .tokens,
                )
            });
        });
        group.bench_function(BenchmarkId::new("find by name", size), |bench| {
            bench.iter(|| catalog.find(black_box(DEEP)).is_some());
        });
        group.bench_function(BenchmarkId::new("near names", size), |bench| {
            bench.iter(|| catalog.near(black_box("area-3/skil-973")));
        });
        group.bench_function(BenchmarkId::new("draw the tree", size), |bench| {
            bench.iter_with_large_drop(|| catalog.tree());
        });
    }
    group.finish();
}

/// One file of many says something else, and another one is new: what that costs, index included.
fn changed(
    group: &mut BenchmarkGroup<'_, WallTime>,
    files: &[(RelPath, String)],
    (root, texts): (&Arc<Folder>, &Texts),
    (catalog, router): (&Catalog, &Router),
) {
    let (mut root, mut texts) = (Folder::clone(root), texts.clone());
    let edits = ["area-3/topic-7/skill-973.md", "area-3/topic-7/skill-new.md"];
    for path in edits.into_iter().filter_map(|path| RelPath::parse(path).ok()) {
        let text = text(&mut Numbers(99), &vocabulary());
        root.put(&path, Some(FolderItem::File(entry(&text))));
        texts.insert(path, Arc::new(Parsed::read(text.into_bytes(), Dialect::Tree)));
    }
    let root = Arc::new(root);
    group.bench_function(BenchmarkId::new("take in two changes", files.len()), |bench| {
        bench.iter_with_large_drop(|| {
            let (next, delta) = refreshed(catalog, &root, &texts);
            let router = router.with(&next, &delta.numbers);
            (next, router)
        });
    });
}

/// What the ranked index is made of.
fn ranked_entries(count: usize) -> Vec<Option<Arc<ranked::SearchEntry>>> {
    let mut tokenizer = Tokenizer::new();
    let entry = |(path, text): (RelPath, String)| {
        let (_, description) = text.split_once("description: ").unwrap_or_default();
        let (description, body) = description.split_once("\n---\n").unwrap_or_default();
        let text = ranked::SearchText { name: path.as_str(), description, body, clauses: &[] };
        Some(Arc::new(ranked::SearchEntry::read(&text, &mut tokenizer)))
    };
    files(count).into_iter().map(entry).collect()
}

fn ranked_index(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ranked");
    group.sample_size(20).measurement_time(Duration::from_secs(4));
    for size in SIZES {
        group.bench_function(BenchmarkId::new("read", size), |bench| {
            bench.iter_with_large_drop(|| ranked_entries(size));
        });
        let entries = ranked_entries(size);
        group.bench_function(BenchmarkId::new("index", size), |bench| {
            bench.iter_with_large_drop(|| RankedIndex::new(entries.iter().cloned()));
        });
        let index = RankedIndex::new(entries.iter().cloned());
        let change = || (size / 2, entries.first().cloned().flatten());
        group.bench_function(BenchmarkId::new("change one", size), |bench| {
            bench.iter(|| index.with([change()]));
        });
        group.bench_function(BenchmarkId::new("merge one", size), |bench| {
            let changed = index.with([change()]);
            bench.iter_with_large_drop(|| changed.merged());
        });
        group.bench_function(BenchmarkId::new("search", size), |bench| {
            bench.iter(|| index.search(black_box(REQUEST), 10));
        });
        let changed = index.with(entries.iter().take(100).cloned().enumerate());
        group.bench_function(BenchmarkId::new("search with 100 changes", size), |bench| {
            bench.iter(|| changed.search(black_box(REQUEST), 10));
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    document(&mut criterion);
    catalogs(&mut criterion);
    ranked_index(&mut criterion);
    criterion.final_summary();
}
