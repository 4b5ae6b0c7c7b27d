//! One row for every skill that something happened to.

use std::collections::{BTreeMap, HashMap};

use super::{CatalogSummary, Rate, SkillUse};
use crate::{
    archive::Evidence,
    event::{Event, RecordedEvent},
    tally::{CountSum, Metric, Tally},
};

pub(super) fn of(evidence: &Evidence, catalog: Option<&CatalogSummary>) -> Vec<SkillUse> {
    let in_a_row = useless_in_a_row(&evidence.recent);
    let row = |(skill, sums): (&str, HashMap<Metric, CountSum>)| {
        let sum = |metric| sums.get(&metric).copied().unwrap_or_default();
        let (served, shown) = (sum(Metric::Served), sum(Metric::Shown).n);
        let useful = sum(Metric::Useful).n;
        SkillUse {
            skill: skill.to_owned(),
            known: catalog.map(|catalog| catalog.get(skill).is_some()),
            served: served.n,
            tokens: served.total,
            loaded: sum(Metric::Loaded).n,
            useful: Rate::of(useful, useful + sum(Metric::Useless).n),
            useless_in_a_row: in_a_row.get(skill).copied().unwrap_or(0),
            shown,
            taken: Rate::of(sum(Metric::Taken).n, shown),
            tied: sum(Metric::Tied).n,
            chosen: sum(Metric::Chosen).n,
            nearly: sum(Metric::Missed).n,
        }
    };
    let mut rows: Vec<SkillUse> = by_skill(&evidence.tally).into_iter().map(row).collect();
    rows.sort_by(|a, b| {
        (b.served, b.shown).cmp(&(a.served, a.shown)).then_with(|| a.skill.cmp(&b.skill))
    });
    rows
}

fn by_skill(tally: &Tally) -> BTreeMap<&str, HashMap<Metric, CountSum>> {
    let mut skills: BTreeMap<&str, HashMap<Metric, CountSum>> = BTreeMap::new();
    for (key, sum) in tally {
        let of_a_skill = matches!(
            key.metric,
            Metric::Served
                | Metric::Loaded
                | Metric::Chosen
                | Metric::Tied
                | Metric::Shown
                | Metric::Taken
                | Metric::Missed
                | Metric::Useful
                | Metric::Useless
        );
        // A request that nothing came near has no skill.
        if of_a_skill && !key.subject.is_empty() {
            skills.entry(&key.subject).or_default().entry(key.metric).or_default().add(*sum);
        }
    }
    skills
}

/// How often the latest feedback in a row called a skill useless; `recent` is newest first.
fn useless_in_a_row(recent: &[RecordedEvent]) -> HashMap<&str, u64> {
    // A skill that was once called useful has no more to come.
    let mut rows: HashMap<&str, (u64, bool)> = HashMap::new();
    for recorded in recent {
        if let Event::SkillFeedback(feedback) = &recorded.event {
            let (row, over) = rows.entry(&feedback.skill_path).or_default();
            *over |= feedback.useful;
            *row += u64::from(!*over);
        }
    }
    rows.into_iter().map(|(skill, (row, _))| (skill, row)).collect()
}
