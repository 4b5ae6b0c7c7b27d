//! Files, scripts and tools: how often, how well, how fast.

use std::collections::BTreeMap;

use super::{
    AssetUse, CatalogSummary, Execution, Latency, Rate, ScriptUse, rate::DurationSpread,
    totals::sum,
};
use crate::tally::{CountKey, CountSum, Metric, Tally};

pub(super) fn assets(tally: &Tally) -> Vec<AssetUse> {
    let fetched = tally.iter().filter(|(key, _)| key.metric == Metric::AssetFetched);
    let row = |(key, sum): (&CountKey, &CountSum)| AssetUse {
        skill: key.subject.clone(),
        file: key.detail.clone(),
        fetched: sum.n,
        bytes: sum.total,
    };
    let mut rows: Vec<AssetUse> = fetched.map(row).collect();
    rows.sort_by(|a, b| {
        b.fetched.cmp(&a.fetched).then_with(|| (&a.skill, &a.file).cmp(&(&b.skill, &b.file)))
    });
    rows
}

/// What is known of one script.
#[derive(Default)]
struct ScriptCounts {
    failed: u64,
    refused: u64,
    fetched: u64,
    took: DurationSpread,
}

/// Adds what a metric says of a script.
type AddCount = fn(&mut ScriptCounts, u16, CountSum);

/// What each metric says of a script.
const SCRIPTS: &[(Metric, AddCount)] = &[
    (Metric::ScriptSucceeded, |script, bucket, sum| script.took.add(bucket, sum)),
    (Metric::ScriptFailed, |script, bucket, sum| {
        script.took.add(bucket, sum);
        script.failed += sum.n;
    }),
    (Metric::ScriptRefused, |script, _, sum| script.refused += sum.n),
    (Metric::ScriptFetched, |script, _, sum| script.fetched += sum.n),
];

/// Every script; what was only ever refused is one where the skill is known: a client can ask for any name.
pub(super) fn scripts(tally: &Tally, catalog: Option<&CatalogSummary>) -> Vec<ScriptUse> {
    let mut scripts: BTreeMap<(&str, &str), ScriptCounts> = BTreeMap::new();
    for (metric, add) in SCRIPTS {
        for (key, sum) in tally.iter().filter(|(key, _)| key.metric == *metric) {
            add(scripts.entry((&key.subject, &key.detail)).or_default(), key.bucket, *sum);
        }
    }
    let row = |((skill, file), script): ((&str, &str), ScriptCounts)| ScriptUse {
        skill: skill.to_owned(),
        file: file.to_owned(),
        runs: script.took.n(),
        failed: Rate::of(script.failed, script.took.n()),
        refused: script.refused,
        fetched: script.fetched,
        p50_ms: script.took.percentile(50),
        p95_ms: script.took.percentile(95),
    };
    let known = |skill: &str| catalog.is_none_or(|catalog| catalog.get(skill).is_some());
    let mut rows: Vec<ScriptUse> = scripts.into_iter().map(row).collect();
    rows.retain(|script| script.runs + script.fetched > 0 || known(&script.skill));
    // Stable: what was run as often stays in the order of its name.
    rows.sort_by_key(|script| std::cmp::Reverse((script.runs, script.fetched, script.refused)));
    rows
}

/// Who runs scripts.
pub(super) fn execution(tally: &Tally) -> Execution {
    let n = |metric| sum(tally, metric).n;
    let server = n(Metric::ScriptSucceeded) + n(Metric::ScriptFailed);
    let claude = n(Metric::ScriptFetched);
    Execution { server, claude, share: Rate::of(server, server + claude) }
}

/// How fast tools answer.
pub(super) fn latency(tally: &Tally) -> Vec<Latency> {
    let mut tools: BTreeMap<&str, DurationSpread> = BTreeMap::new();
    for (key, sum) in tally.iter().filter(|(key, _)| key.metric == Metric::Latency) {
        tools.entry(&key.subject).or_default().add(key.bucket, *sum);
    }
    let row = |(tool, took): (&str, DurationSpread)| Latency {
        tool: tool.to_owned(),
        calls: took.n(),
        p50_us: took.percentile(50),
        p95_us: took.percentile(95),
        p99_us: took.percentile(99),
    };
    let mut rows: Vec<Latency> = tools.into_iter().map(row).collect();
    rows.sort_by_key(|tool| std::cmp::Reverse(tool.calls));
    rows
}
