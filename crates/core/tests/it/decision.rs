//! A request → a decision by both engines, on a catalog small enough to read.

use std::sync::Arc;

use skills_core::{
    catalog::Catalog,
    route::{
        Deciders, Decision, Matching, Router, clauses,
        ranked::{RankedIndex, SearchEntry, SearchText},
        search_text,
    },
};

use crate::support::{catalog, text};

const OFFICE: &str = r"
//- forms/pdf.md
---
keywords: [pdf, form, signature]
description: Fill in PDF forms. Use when a form has to be filled in, flattened or signed.
---
# Filling in a form
Open the form with pypdf, set its fields, flatten it.
//- forms/web.md
---
keywords: [html, form, validation]
description: Build HTML forms with validation. Use when a page asks for input.
---
Label each input.
//- data/charts.md
---
keywords: [chart, histogram, axis]
description: Draw charts of tables. Use when numbers have to be shown as a bar chart, line chart or histogram.
---
Label the axes.
//- data/export.md
---
keywords: [nightly, warehouse, snapshot]
description: Export tables to a warehouse. Use when the nightly export stops, or a snapshot is missing rows.
---
Look at the scheduler first.
//- plain/SKILL.md
---
name: wine-cellar
description: Choose wine for a dinner with guests. Use when somebody asks which bottle goes with a roast.
---
Ask what is for dinner.
";

fn index(catalog: &Catalog) -> RankedIndex {
    let entry = |skill: &skills_core::catalog::Skill| {
        let words = clauses(skill);
        let text = text(skill.document());
        Arc::new(SearchEntry::new(&SearchText { body: text.body(), ..search_text(skill, &words) }))
    };
    let mut entries = vec![None; catalog.end()];
    for skill in catalog.skills() {
        entries[skill.id.index()] = Some(entry(skill));
    }
    RankedIndex::new(entries)
}

/// The decision in a line: `load PATH by WHAT`, or `offer` with the candidates and what is said of them.
fn decided_with(request: &str, matching: &Matching) -> String {
    let catalog = catalog(OFFICE);
    let index = index(&catalog);
    let name = |id| catalog.skill(id).unwrap().identity.to_string();
    match Router::new(&catalog).decide(&catalog, || &index, request, matching) {
        Decision::Load(hit, by) => format!("load {} by {}", name(hit.skill), by.word()),
        Decision::Offer(offer) => {
            let candidates = offer.candidates.iter();
            let candidates: Vec<String> = candidates
                .map(|one| format!("{} {}", name(one.hit.skill), one.by.word()))
                .collect();
            let matched = if offer.has_match { "ambiguous" } else { "no_match" };
            let doubt = if offer.is_unsure { " unsure" } else { "" };
            let closest = offer.closest.map(|hit| format!(", closest {}", name(hit.skill)));
            let closest = closest.unwrap_or_default();
            format!("offer {matched}{doubt} [{}]{closest}", candidates.join(", "))
        }
    }
}

fn decided(request: &str) -> String {
    decided_with(request, &Matching::default())
}

// GET-8
#[test]
fn a_skill_is_loaded_that_is_named_or_that_both_engines_agree_on() {
    assert_eq!(decided("data/charts"), "load data/charts by path");
    assert_eq!(decided("fill in and sign this pdf form"), "load forms/pdf by both");
    // Short, and in the author's words.
    assert_eq!(decided("nightly snapshot"), "load data/export by both");
}

#[test]
fn the_ranked_search_loads_alone_where_it_is_sure_of_a_whole_request() {
    let request = "Our guests come for dinner tonight: which bottle of wine goes with a roast?";
    assert_eq!(decided(request), "load plain by ranked");
}

#[test]
fn the_formula_loads_alone_only_where_the_ranked_search_finds_nothing() {
    // The keyword is a part of the word.
    assert_eq!(decided("histogrammes"), "load data/charts by keywords");
}

#[test]
fn what_is_not_sure_is_offered_in_the_ranked_order() {
    let offered = decided("make a form for me");
    assert!(offered.starts_with("offer ambiguous"), "{offered}");
    assert!(
        offered.contains("forms/pdf ranked") && offered.contains("forms/web ranked"),
        "{offered}"
    );
    let offered = decided("the bottle");
    assert!(
        offered.starts_with("offer no_match") && offered.contains("[plain ranked]"),
        "{offered}"
    );
    assert!(offered.ends_with("closest plain"), "{offered}");
}

#[test]
fn everyday_words_are_offered_with_a_doubt() {
    let offered = decided(
        "no, the other one: please look at the scheduler again and tell me what you think about dinner plans",
    );
    assert!(offered.contains("unsure"), "{offered}");
    assert_eq!(decided("thanks, that works"), "offer no_match []");
}

#[test]
fn what_the_request_excludes_by_name_is_not_offered() {
    let request =
        "which bottle of wine goes with a roast for our guests, not the wine-cellar skill";
    assert!(!decided(request).contains("plain"), "{}", decided(request));
}

#[test]
fn keywords_alone_decide_where_the_operator_says_so() {
    let alone = Matching { deciders: Deciders::Keywords, max_results: 3, ..Matching::default() };
    assert_eq!(
        decided_with("a form", &alone),
        "offer ambiguous [forms/pdf keywords, forms/web keywords]"
    );
    assert_eq!(decided_with("a pdf form", &alone), "load forms/pdf by keywords");
    let request = "Our guests come for dinner tonight: which bottle of wine goes with a roast?";
    assert_eq!(decided_with(request, &alone), "offer no_match []");
}
