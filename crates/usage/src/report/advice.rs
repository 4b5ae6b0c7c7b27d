//! What to fix: files that are not served first, then the rest by how many requests it would help.
//!
//! Every piece needs [`MIN_OBSERVATIONS`] observations, and a share needs its whole interval on the bad side. A file that cannot
//! be read needs none: it is known to be broken. Nor does a skill that was called useless again and again: that is said of
//! the latest feedback, and claims no share.

use std::cmp::Reverse;

use super::{
    Advice, AdviceKind, HealthFinding, MIN_OBSERVATIONS, Misses, SampleSize, ScriptUse, SkillUse,
    Unused, UsageReport, rate::real,
};

/// So many things are named; what shows a list says how many of them it leaves out.
const MAX_ADVICE: usize = 100;
/// So many files that are not served come first, and the others last: a list is often cut, and other things matter too.
const MAX_FIRST_FILES: usize = 3;
/// So many names stand for a list.
const MAX_NAMED: usize = 3;
/// A script of which more than this share fails is one to fix.
const MAX_FAILURE_SHARE: f64 = 0.1;
/// In a shorter period no skill is called unused.
const MIN_UNUSED_DAYS: u64 = 28;

/// What to do, and how many requests it would help.
type WeighedAdvice = (u64, Advice);

pub(super) fn of(report: &UsageReport) -> Vec<Advice> {
    let mut weighed: Vec<WeighedAdvice> = Vec::new();
    weighed
        .extend(report.misses.iter().filter_map(|group| missing(group, report.misses_looked_at)));
    weighed.extend(report.skills.iter().filter_map(useless));
    weighed.extend(untaken(&report.skills));
    weighed.extend(report.scripts.iter().filter_map(failing));
    weighed.extend(report.never_served.as_deref().and_then(|never| unused(report, never)));
    weighed.sort_by(|(helps, a), (helped, b)| {
        (Reverse(helps), a.kind as u8, &a.subject).cmp(&(Reverse(helped), b.kind as u8, &b.subject))
    });
    let mut files = broken(report);
    let rest = files.split_off(files.len().min(MAX_FIRST_FILES));
    let weighed = weighed.into_iter().map(|(_, advice)| advice);
    files.into_iter().chain(weighed).chain(rest).take(MAX_ADVICE).collect()
}

/// Requests that found nothing. Where only the latest were looked at, the others are taken to be alike.
fn missing(group: &Misses, looked: SampleSize) -> Option<WeighedAdvice> {
    if group.requests < MIN_OBSERVATIONS || group.terms.is_empty() {
        return None;
    }
    let subject = group.terms.join(", ");
    let seen = if looked.is_part() {
        let (n, latest) = (group.requests, looked.n);
        format!("{n} of the latest {latest} requests that found no skill are about {subject}")
    } else {
        format!("{} requests about {subject} found no skill", group.requests)
    };
    let helps = real(group.requests) * real(looked.of.max(1)) / real(looked.n.max(1));
    let near = group.nearest.as_ref().filter(|_| !group.keywords.is_empty());
    let advice = match near {
        Some(nearest) => Advice {
            kind: AdviceKind::AddKeywords,
            seen: format!("{seen}; {nearest} came nearest."),
            action: format!(
                "If {nearest} covers them, add to its keywords: {}.",
                group.keywords.join(", ")
            ),
            skill: Some(nearest.clone()),
            subject,
        },
        None => Advice {
            kind: AdviceKind::WriteSkill,
            seen: format!("{seen}."),
            action: "Write a skill for them, or say in a skill you have that it covers them."
                .to_owned(),
            skill: None,
            subject,
        },
    };
    Some((rounded(helps).max(group.requests), advice))
}

/// A skill that does not help, taken over all of its feedback, or of late.
fn useless(skill: &SkillUse) -> Option<WeighedAdvice> {
    let rate = skill.useful;
    let mostly = rate.high.is_some_and(|high| high < 0.5);
    let lately = skill.is_repeatedly_useless();
    if !mostly && !lately {
        return None;
    }
    let seen = if mostly {
        format!("Only {} of {} said that it helped.", rate.n, rate.of)
    } else {
        format!("The last {} in a row said that it did not help.", skill.useless_in_a_row)
    };
    // A few in a row say that something is wrong, and not how many it would help.
    let helps = if mostly || skill.useless_in_a_row >= MIN_OBSERVATIONS {
        let share = if lately { 1.0 } else { 1.0 - rate.share.unwrap_or(0.0) };
        rounded(real(skill.served.max(rate.of)) * share)
    } else {
        skill.useless_in_a_row
    };
    let advice = Advice {
        kind: AdviceKind::ImproveSkill,
        subject: skill.skill.clone(),
        seen,
        action: "Read the comments and fix the skill.".to_owned(),
        skill: Some(skill.skill.clone()),
    };
    Some((helps, advice))
}

/// Skills that searches show and agents do not load, compared with the others.
fn untaken(skills: &[SkillUse]) -> Vec<WeighedAdvice> {
    let shown: u64 = skills.iter().map(|skill| skill.shown).sum();
    let taken: u64 = skills.iter().map(|skill| skill.taken.n).sum();
    if taken < MIN_OBSERVATIONS || shown == 0 {
        return Vec::new();
    }
    let usual = real(taken) / real(shown);
    let untaken =
        skills.iter().filter(|skill| skill.taken.high.is_some_and(|high| high < usual / 2.0));
    let advice = |skill: &SkillUse| {
        let lost = rounded(real(skill.shown) * usual).saturating_sub(skill.taken.n);
        let seen = format!(
            "Searches showed it {} times and it was taken {}; others are taken {} times in 100.",
            skill.shown,
            match skill.taken.n {
                0 => "never".to_owned(),
                1 => "once".to_owned(),
                n => format!("{n} times"),
            },
            rounded(usual * 100.0)
        );
        let action = "Say in its description what it is for and when not to use it.".to_owned();
        let (subject, skill) = (skill.skill.clone(), Some(skill.skill.clone()));
        (lost, Advice { kind: AdviceKind::RetitleSkill, subject, seen, action, skill })
    };
    untaken.map(advice).collect()
}

/// A script that fails too often.
fn failing(script: &ScriptUse) -> Option<WeighedAdvice> {
    let failed = script.failed;
    failed.low.filter(|low| *low > MAX_FAILURE_SHARE)?;
    let advice = Advice {
        kind: AdviceKind::FixScript,
        subject: format!("{}: {}", script.skill, script.file),
        seen: format!("It failed in {} of {} runs.", failed.n, failed.of),
        action: "Run it by hand with `skills-mcp run` and fix it, or say what it needs.".to_owned(),
        skill: Some(script.skill.clone()),
    };
    Some((failed.n, advice))
}

/// Files that cost a skill.
fn broken(report: &UsageReport) -> Vec<Advice> {
    let Some(health) = &report.health else { return Vec::new() };
    let error = |finding: &&HealthFinding| finding.severity == "error";
    let advice = |finding: &HealthFinding| {
        let action = if finding.hint.is_empty() {
            "Fix the file; `skills-mcp doctor` shows the line.".to_owned()
        } else {
            format!("{}.", finding.hint.trim_end_matches('.'))
        };
        let seen = format!("It is not served: {}.", finding.message.trim_end_matches('.'));
        let (kind, subject) = (AdviceKind::FixFile, finding.place.clone());
        Advice { kind, subject, seen, action, skill: finding.skill.clone() }
    };
    health.findings.iter().filter(error).map(advice).collect()
}

/// Skills that are never used, where there was enough use to know.
fn unused(report: &UsageReport, never: &[Unused]) -> Option<WeighedAdvice> {
    let skills = report.health.as_ref().map_or(0, |health| health.skills);
    // What one client does not use, others may.
    let is_enough = report.client.is_none()
        && report.period.days >= MIN_UNUSED_DAYS
        && report.totals.served >= skills.max(1) * MIN_OBSERVATIONS;
    let first = never.first().filter(|_| is_enough)?;
    let (count, days) = (never.len(), report.period.days);
    let names: Vec<&str> =
        never.iter().take(MAX_NAMED).map(|unused| unused.skill.as_str()).collect();
    let more = count.saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let alone = count == 1;
    let advice = Advice {
        kind: AdviceKind::RemoveSkill,
        subject: format!("{}{more}", names.join(", ")),
        seen: format!(
            "{count} of {skills} skills {} not served once in {days} days.",
            if alone { "was" } else { "were" }
        ),
        action: format!(
            "Remove {it}, or give {it} the keywords that people use.",
            it = if alone { "it" } else { "them" }
        ),
        skill: alone.then(|| first.skill.clone()),
    };
    Some((0, advice))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of events, not below zero"
)]
fn rounded(number: f64) -> u64 {
    number.round() as u64
}
