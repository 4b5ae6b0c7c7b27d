//! Tests of what a report advises.

use super::*;

#[test]
fn words_that_a_skill_has_are_not_proposed_and_a_split_vote_names_no_skill() {
    let mut events: Vec<RecordedEvent> =
        times(10, "no_match", &miss("apache certificate renewal", Some("ops/web")));
    events.extend(times(5, "no_match", &miss("kubernetes ingress", Some("ui/vue"))));
    events.extend(times(5, "no_match", &miss("kubernetes ingress", Some("ui/react"))));
    let report = report(events);
    let about = |word: &str| {
        report.misses.iter().find(|group| group.terms.contains(&word.to_owned())).unwrap()
    };
    assert_eq!(about("apache").keywords, ["renewal"]);
    assert_eq!((about("ingress").requests, &about("ingress").nearest), (10, &None));
}

#[test]
fn a03_from_the_third_useless_in_a_row_on_a_report_says_so() {
    let bad = json!({"skill_path": "ui/react", "useful": false});
    for (times_told, advised) in [(2, false), (3, true), (4, true)] {
        let report = report(times(times_told, "skill_feedback", &bad));
        let about = report.advice.iter().find(|advice| advice.kind == AdviceKind::ImproveSkill);
        assert_eq!(about.is_some(), advised, "{times_told}");
        if let Some(advice) = about {
            let seen = format!("The last {times_told} in a row said that it did not help.");
            assert_eq!((&advice.seen, advice.subject.as_str()), (&seen, "ui/react"));
        }
        assert_eq!(report.skills[0].is_repeatedly_useless(), advised);
    }
}

#[test]
fn each_kind_of_advice_has_its_reason() {
    let bad = json!({"skill_path": "ui/react", "useful": false});
    let mut events = times(20, "skill_feedback", &bad);
    events.extend(times(50, "skill_served", &served("ui/react", Some("react form"))));
    events.extend(times(
        100,
        "skill_searched",
        &json!({"shown": ["ops/web", "ui/react"], "total": 2}),
    ));
    let taken = json!({"skill_path": "ui/react", "was_shown": true});
    events.extend(times(40, "skill_served", &taken));
    let report = report(events);
    let about = |kind| report.advice.iter().find(|advice| advice.kind == kind).unwrap();
    let first = &report.advice[1];
    assert_eq!((first.kind, first.subject.as_str()), (AdviceKind::ImproveSkill, "ui/react"));
    assert_eq!(first.seen, "Only 0 of 20 said that it helped.");
    let retitle = about(AdviceKind::RetitleSkill);
    assert_eq!((retitle.subject.as_str(), retitle.skill.as_deref()), ("ops/web", Some("ops/web")));
    assert_eq!(
        retitle.seen,
        "Searches showed it 100 times and it was taken never; others are taken 20 times in 100."
    );
    assert_eq!(about(AdviceKind::FixFile).subject, "broken.md:1");
    let remove = about(AdviceKind::RemoveSkill);
    assert_eq!(remove.seen, "2 of 4 skills were not served once in 30 days.");
    assert_eq!(report.advice.last().unwrap().kind, AdviceKind::RemoveSkill);
}

#[test]
fn c07_everything_to_fix_is_named_and_files_come_first() {
    let bad = json!({"skill_path": "ui/react", "useful": false});
    let evidence = Evidence::of(times(20, "skill_feedback", &bad), period());
    let mut catalog = catalog();
    let finding = catalog.health.findings[0].clone();
    catalog.health.findings.extend((0..12).map(|_| finding.clone()));
    let report = UsageReport::of(&evidence, Some(&catalog), period(), REPORT_DAY);
    let kinds: Vec<AdviceKind> = report.advice.iter().map(|advice| advice.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == AdviceKind::FixFile).count(), 13);
    assert!(kinds[..3].iter().all(|kind| *kind == AdviceKind::FixFile), "{kinds:?}");
    assert_eq!(kinds[3], AdviceKind::ImproveSkill, "what else there is, is not lost among them");
}
