//! How long the core takes: reading one file, building and indexing a catalog, routing a request, resolving a
//! skill. The content is made up, deterministically: three levels below a root, six keywords a skill from a
//! vocabulary of four hundred words, bodies of two kilobytes.
//!
//! Run with `cargo bench -p skills-core`; figures compare only on one machine.

use std::{collections::BTreeMap, hint::black_box, sync::Arc, time::Duration};

use criterion::{BatchSize, BenchmarkId, Criterion};
use skills_core::{
    catalog::{Catalog, Entry, Folder, Intake, Origin},
    document::{Dialect, Parsed},
    relpath::RelPath,
    resolve::resolve,
    route::{Matching, Router},
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

/// A source's walk and reading, without the disk.
fn intake(files: &[(RelPath, String)]) -> Arc<Intake> {
    let mut root = Folder::default();
    for (path, text) in files {
        root.insert(path, Entry::Regular { bytes: text.len() as u64 });
    }
    let texts: BTreeMap<&RelPath, &String> =
        files.iter().map(|(path, text)| (path, text)).collect();
    let read = |(path, dialect): (RelPath, Dialect)| {
        let bytes = texts.get(&path).map(|text| text.as_bytes().to_vec()).unwrap_or_default();
        (path, Arc::new(Parsed::read(bytes, dialect)))
    };
    Arc::new(Intake::new("main".into(), Origin::Named, root, Vec::new(), |wanted| {
        wanted.into_iter().map(read).collect()
    }))
}

fn document(criterion: &mut Criterion) {
    let text = text(&mut Numbers(7), &vocabulary()).into_bytes();
    criterion.bench_function("parse one document", |bench| {
        bench.iter_batched(|| text.clone(), Parsed::tree, BatchSize::SmallInput);
    });
}

fn catalogs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("skills");
    group.sample_size(20).measurement_time(Duration::from_secs(4));
    for size in SIZES {
        let files = files(size);
        let intakes = [intake(&files)];
        let catalog = Catalog::build(&intakes);
        let router = Router::new(&catalog);
        assert_eq!(catalog.skills().len(), size);
        group.bench_function(BenchmarkId::new("read and lay out", size), |bench| {
            bench.iter_with_large_drop(|| intake(&files));
        });
        group.bench_function(BenchmarkId::new("build the catalog", size), |bench| {
            bench.iter_with_large_drop(|| Catalog::build(&intakes));
        });
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
            bench.iter(|| resolve(&catalog, black_box(skill), 8_000));
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

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    document(&mut criterion);
    catalogs(&mut criterion);
    criterion.final_summary();
}
