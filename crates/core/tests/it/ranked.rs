//! A request → skills by rank: the arithmetic on a corpus small enough to do by hand, and what holds for every
//! corpus. How often the right skill comes first among thousands is measured elsewhere, on real requests.

use std::sync::Arc;

use proptest::prelude::*;
use skills_core::route::ranked::{
    Certainty, RankedIndex, Ranking, SearchEntry, SearchHit, SearchScope, SearchText, Tokenizer,
};

/// An index over `(name, description, body)`.
fn ranked(skills: &[(&str, &str, &str)]) -> RankedIndex {
    let skills = skills.iter().map(|(name, description, body)| entry(name, description, body, &[]));
    RankedIndex::new(skills.map(Some))
}

fn entry(name: &str, description: &str, body: &str, clauses: &[&str]) -> Arc<SearchEntry> {
    let clauses: Vec<String> = clauses.iter().map(|&clause| clause.to_owned()).collect();
    Arc::new(SearchEntry::new(&SearchText { name, description, body, clauses: &clauses }))
}

fn order(ranking: &Ranking) -> Vec<usize> {
    ranking.hits.iter().map(|hit| hit.entry).collect()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
}

const OFFICE: [(&str, &str, &str); 4] = [
    ("pdf-forms", "Fill PDF forms, or merge files.", "# Merge\nfill pdf"),
    ("deploy", "Deploy files.", "ship files"),
    ("spreadsheets", "Edit tables (xlsx, csv) and charts", "Open the workbook."),
    ("third-party-audit", "Review third-party packages: licences, advisories", "npm, cargo"),
];

mod arithmetic {
    use super::*;

    /// Two skills and the request `merge pdf files`; N = 2, every weight in the request is 1.
    ///
    /// | field | A: pdf-forms | B: deploy | mean length |
    /// |---|---|---|---|
    /// | name | pdf form pdfform | deploy | |
    /// | description | fill pdf form merg file | deploy file | 3.5 |
    /// | body | merg fill pdf | ship file | 2.5 |
    ///
    /// merg and pdf are in one skill, file in two:
    ///   worth(1) = ln(1 + 1.5/1.5) + 2 = 2.693147, worth(2) = ln(1 + 0.5/2.5) + 2 = 2.182322
    /// One occurrence counts, in A:
    ///   description 3 / (0.8 + 0.2·5/3.5) = 2.763158, body 1 / (0.25 + 0.75·3/2.5) = 0.869565, name 3
    /// and in B: description 3 / (0.8 + 0.2·2/3.5) = 3.281250, body 1 / (0.25 + 0.75·2/2.5) = 1.176471.
    /// BM25F, frequency / (3 + frequency) times worth:
    ///   A merg: 2.763158 + 0.869565     = 3.632723 → 1.475029
    ///   A pdf:  3 + 2.763158 + 0.869565 = 6.632723 → 1.854398
    ///   A file: 2.763158                           → 1.046318, in all 4.375745
    ///   B file: 3.281250 + 1.176471     = 4.457721 → 1.304444
    /// Name: A has pdf of pdf, form, pdfform: 1/3; B nothing.
    /// Clauses, mass²/total:
    ///   A {pdf form}: 2.693147² / 5.386294 = 1.346574; {fill pdf form}: 2.693147² / 8.079442 = 0.897716;
    ///     {merg file}: 4.875469² / 4.875469 = 4.875469; root of the sum of squares 5.137056
    ///   B {deploy file}: 2.182322² / 4.875469 = 0.976835
    /// Coverage: A all; B file of merg, pdf, file: 2.182322/7.568616 = 0.288338.
    /// Scores: A 1 + 0.2/3 + 0.25 + 0.2; B 1.304444/4.375745 + 0 + 0.25·0.976835/5.137056 + 0.2·0.288338.
    #[test]
    fn two_skills_by_hand() {
        let ranking = ranked(&OFFICE[..2]).search("merge pdf files", 10);
        assert_eq!((ranking.total, order(&ranking)), (2, vec![0, 1]));
        assert_eq!(ranking.certainty(), Certainty::Sure);
        let [a, b] = ranking.hits.as_slice() else { panic!("{ranking:?}") };
        for (found, expected) in [
            (a.bm25, 1.0),
            (a.name, 0.2 / 3.0),
            (a.clauses, 0.25),
            (a.coverage, 0.2),
            (a.score, 1.516_666_667),
        ] {
            close(found, expected);
        }
        close(b.bm25, 0.298_107_883_855);
        close(b.name, 0.0);
        close(b.clauses, 0.047_538_642_558);
        close(b.coverage, 0.057_667_652_328);
        close(b.score, 0.403_314_178_741);
    }

    /// Two skills of one length, N = 2. `alpha` is in both, `beta` in one:
    ///   worth 2.182322 and 2.693147
    /// The request quotes `alpha`, so it counts 0.1; weights are roots:
    ///   alpha √0.1 · 2.182322 = 0.690111, beta 2.693147, together 3.383258
    /// All frequencies are equal, so bm25 is 0.690111/3.383258. Clauses {alpha beta} and {alpha gamma} have the
    /// same total, so their terms are as the squares of those.
    #[test]
    fn a_damped_word_counts_the_root_of_its_weight() {
        let index = ranked(&[("x", "alpha beta", ""), ("y", "alpha gamma", "")]);
        let quoted = "\"alpha said the fox to the crow in the garden\" beta";
        let ranking = index.search(quoted, 10);
        assert_eq!(order(&ranking), [0, 1]);
        close(ranking.hits[1].bm25, 0.690_110_7 / 3.383_257_9);
        close(ranking.hits[1].clauses, 0.25 * (0.690_110_7_f64 / 3.383_257_9).powi(2));
    }

    #[test]
    fn the_terms_add_up_to_the_score() {
        for hit in ranked(&OFFICE).search("merge third-party files with charts", 10).hits {
            close(hit.score, hit.bm25 + hit.name + hit.clauses + hit.coverage);
        }
    }
}

mod finding {
    use super::*;

    fn first(query: &str) -> Option<usize> {
        ranked(&OFFICE).search(query, 10).hits.first().map(|hit| hit.entry)
    }

    #[test]
    fn words_are_found_in_whatever_form_they_come() {
        let table = [
            ("merging a PDF", 0),
            ("deployed", 1),
            ("a chart of the table", 2),
            ("thirdparty audits", 3),
            ("third party", 3),
            ("ThirdPartyAudit", 3),
            ("fix sales.xlsx", 2),
        ];
        for (query, expected) in table {
            assert_eq!(first(query), Some(expected), "{query}");
        }
    }

    #[test]
    fn a_quoted_passage_does_not_outweigh_the_task() {
        let passage = "merge the pdf files, fill the pdf forms, merge";
        assert_eq!(first(&format!("edit a table {passage}")), Some(0));
        assert_eq!(first(&format!("edit a table: \"{passage}\"")), Some(2));
    }

    #[test]
    fn a_file_extension_weighs_more_than_a_word() {
        let index = ranked(&[("one", "alpha", "csv"), ("two", "beta", "alpha")]);
        let plain = index.search("beta csv", 2);
        let named = index.search("beta a.csv", 2);
        assert_eq!((order(&plain), order(&named)), (vec![1, 0], vec![1, 0]));
        assert!(named.hits[1].bm25 > plain.hits[1].bm25);
    }

    fn finds_nothing(ranking: &Ranking) -> bool {
        (ranking.total, ranking.certainty(), ranking.hits.len()) == (0, Certainty::Unsure, 0)
    }

    #[test]
    fn unknown_words_change_nothing() {
        let index = ranked(&OFFICE);
        let mut with = index.search("qwertz merge files asdfgh", 10);
        let without = index.search("merge files", 10);
        // But for how much of the request could be found.
        assert!(with.evidence.unwrap().possible > without.evidence.unwrap().possible);
        with.evidence = without.evidence;
        assert_eq!(with, without);
        with = index.search("qwertz asdfgh", 10);
        assert!(finds_nothing(&with));
    }

    #[test]
    fn nothing_asked_or_nothing_there_is_nothing_found() {
        for query in ["", "  ", "the of à", "?!"] {
            assert!(finds_nothing(&ranked(&OFFICE).search(query, 10)), "{query}");
        }
        let empty = RankedIndex::new([]);
        assert!(empty.is_empty() && finds_nothing(&empty.search("merge", 10)));
        let blank = ranked(&[("", "", "")]);
        assert!(blank.len() == 1 && finds_nothing(&blank.search("merge", 10)));
    }

    #[test]
    fn authors_words_are_clauses_and_findable() {
        let clauses = ["the", "rotate my keys", "oauth"].map(str::to_owned);
        let one =
            SearchText { name: "one", description: "Does things", body: "", clauses: &clauses };
        let index = RankedIndex::new([
            Some(Arc::new(SearchEntry::new(&one))),
            Some(entry("two", "Does keys and other things to rotate", "", &[])),
        ]);
        let ranking = index.search("please rotate my keys", 10);
        assert_eq!(order(&ranking), [0, 1]);
        assert_eq!(ranking.hits[0].clause.and_then(|n| one.clause(n)), Some("rotate my keys"));
        let ranking = index.search("oauth", 10);
        assert_eq!((ranking.total, order(&ranking)), (1, vec![0]));
    }

    #[test]
    fn a_body_counts_up_to_a_bound() {
        let index = ranked(&[("a", "x", &("é ".repeat(15_000) + "beyond"))]);
        assert_eq!(index.search("beyond", 10).total, 0);
    }
}

mod answers {
    use super::*;

    fn hit(query: &str, entry: usize) -> SearchHit {
        let hits = ranked(&OFFICE).search(query, 10).hits;
        hits.into_iter().find(|hit| hit.entry == entry).unwrap()
    }

    #[test]
    fn matched_terms_are_the_requests_words_that_occur() {
        let found = hit("Merging the third-party PDF; merging FILES, then ship", 0);
        assert_eq!(found.matched_terms, ["merging", "pdf", "files"]);
        let found = hit("audit third-party packages of a ThirdParty", 3);
        assert_eq!(found.matched_terms, ["audit", "third-party", "packages", "thirdparty"]);
    }

    #[test]
    fn the_clause_that_matched_best_comes_as_written() {
        let table = [
            ("merge files", 0, Some("merge files")),
            ("fill a pdf form", 0, Some("Fill PDF forms")),
            ("deploy", 1, Some("deploy")),
            ("cargo advisories", 3, Some("advisories")),
            // Only the body has it.
            ("npm", 3, None),
        ];
        for (query, entry, expected) in table {
            let (name, description, ..) = OFFICE[entry];
            let text = SearchText { name, description, ..SearchText::default() };
            let clause = hit(query, entry).clause.and_then(|number| text.clause(number));
            assert_eq!(clause, expected, "{query}");
        }
    }

    #[test]
    fn a_clause_that_the_text_does_not_have_is_none() {
        let text = SearchText { name: "x", description: "one, the, two", ..SearchText::default() };
        let shown: Vec<_> = (0..6).map(|number| text.clause(number)).collect();
        assert_eq!(shown, [None, Some("x"), Some("one"), Some("the"), Some("two"), None]);
    }

    #[test]
    fn a_long_clause_is_cut_between_characters() {
        let long = "é".repeat(100) + " merge " + &"à".repeat(100);
        let ranking = ranked(&[("x", &long, "")]).search("merge", 1);
        let text = SearchText { name: "x", description: &long, ..SearchText::default() };
        let clause = text.clause(ranking.hits[0].clause.unwrap()).unwrap();
        assert_eq!(clause.chars().count(), 160);
        assert!(long.starts_with(clause));
    }

    #[test]
    fn the_limit_cuts_the_hits_but_not_the_count_nor_the_evidence() {
        let index = ranked(&[("a", "tea", ""), ("b", "tea", ""), ("c", "tea", "")]);
        let all = index.search("tea", 3).evidence;
        for limit in [0, 1, 2, 3, 4] {
            let ranking = index.search("tea", limit);
            assert_eq!((ranking.total, ranking.hits.len()), (3, limit.min(3)));
            assert_eq!(ranking.evidence, all);
        }
    }

    // FLAT-6
    #[test]
    fn a_search_is_sure_of_a_lead_with_evidence_and_unsure_of_scattered_words() {
        let index = ranked(&OFFICE);
        assert_eq!(index.search("merge pdf files", 1).certainty(), Certainty::Sure);
        let twins = ranked(&[("a", "tea", "milk"), ("b", "tea", "milk water")]);
        let ranking = twins.search("tea milk", 2);
        let [a, b] = ranking.hits.as_slice() else { panic!("{ranking:?}") };
        assert!(a.score > b.score && ranking.certainty() == Certainty::Several);
        let everyday = "could you have a look at what the cargo of last week said about charts";
        assert_eq!(index.search(everyday, 2).certainty(), Certainty::Unsure);
        assert_eq!(index.search("merge pdf files", 1).suggested(), 1);
        assert_eq!(index.search(everyday, 1).suggested(), 0);
    }

    #[test]
    fn what_a_scope_leaves_out_is_no_hit_and_no_evidence() {
        let index = ranked(&OFFICE);
        let others = SearchScope { has: &|entry| entry != 0, order: &|a, b| b.cmp(&a) };
        let ranking = index.search_in("merge pdf files", 10, others);
        assert_eq!((order(&ranking), ranking.total), (vec![1], 2));
        assert_eq!(ranking.certainty(), Certainty::Unsure);
        let twins = ranked(&[("a", "tea", ""), ("b", "tea", "")]);
        let backwards = SearchScope { has: &|_| true, order: &|a, b| b.cmp(&a) };
        assert_eq!(order(&twins.search_in("tea", 1, backwards)), [1]);
    }
}

mod order {
    use super::*;

    #[test]
    fn ties_go_to_the_smaller_number() {
        let same = vec![("tea", "make tea", "water"); 300];
        let ranking = ranked(&same).search("tea water", 1_000);
        assert_eq!(ranking.total, 300);
        // No more than the candidates of the closer look, and of equals the first.
        assert_eq!(order(&ranking), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn skills_far_apart_and_words_said_often_are_kept() {
        let often = "tea ".repeat(200);
        let mut skills = vec![("x", "milk", "water"); 1_000];
        skills[300].2 = "tea water";
        skills[450].1 = "tea";
        skills[999].2 = &often;
        let index = ranked(&skills);
        let ranking = index.search("tea", 10);
        assert_eq!((ranking.total, order(&ranking)), (3, vec![450, 999, 300]));
        assert_eq!(index.search("milk water", 10).total, 1_000);
    }

    #[test]
    fn the_order_of_the_catalog_does_not_matter() {
        let query = "merge third-party files, edit charts, ship";
        let there: Vec<_> = ranked(&OFFICE).search(query, 10).hits;
        let mut backwards = OFFICE;
        backwards.reverse();
        let back: Vec<_> = ranked(&backwards).search(query, 10).hits;
        let shown = |skills: &[(&str, &str, &str)], hits: &[SearchHit]| -> Vec<_> {
            let one = |hit: &SearchHit| (skills[hit.entry].0.to_owned(), hit.score.to_bits());
            hits.iter().map(one).collect()
        };
        assert_eq!(there.len(), 4);
        assert_eq!(shown(&OFFICE, &there), shown(&backwards, &back));
    }

    #[test]
    fn entries_are_the_same_from_a_tokenizer_that_has_met_other_words() {
        let query = "merge third-party files, edit charts, ship";
        let mut tokenizer = Tokenizer::new();
        let shared = OFFICE.map(|(name, description, body)| {
            let text = SearchText { name, description, body, clauses: &[] };
            Some(Arc::new(SearchEntry::read(&text, &mut tokenizer)))
        });
        assert_eq!(RankedIndex::new(shared).search(query, 10), ranked(&OFFICE).search(query, 10));
    }
}

mod changes {
    use super::*;

    fn office() -> RankedIndex {
        ranked(&OFFICE)
    }

    /// So many words that no skill has.
    fn words(count: usize) -> String {
        let words: Vec<String> = (0..count).map(|n| format!("word{n}")).collect();
        words.join(" ")
    }

    fn totals(index: &RankedIndex, query: &str) -> (usize, Vec<usize>) {
        let ranking = index.search(query, 100);
        let mut found = order(&ranking);
        found.sort_unstable();
        (ranking.total, found)
    }

    #[test]
    fn what_is_gone_is_no_hit_and_what_is_fresh_is_one() {
        let (base, brew) = (office(), entry("brew", "Make files of tea", "kettle", &["samovar"]));
        let index = base.with([(1, None), (3, Some(Arc::clone(&brew))), (9, Some(brew))]);
        assert_eq!((index.pending(), index.len(), base.len()), (3, 4, 4));
        for index in [&index, &index.merged()] {
            for (query, expected) in [
                ("ship", vec![]),
                ("npm audit", vec![]),
                ("samovar", vec![3, 9]),
                ("kettle", vec![3, 9]),
                ("files", vec![0, 3, 9]),
            ] {
                assert_eq!(totals(index, query), (expected.len(), expected), "{query}");
            }
        }
        assert_eq!(totals(&base, "samovar ship"), (1, vec![1]));
    }

    #[test]
    fn fresh_hits_tell_their_words_and_clause() {
        let text = SearchText {
            name: "brew",
            description: "Make tea, or coffee",
            ..SearchText::default()
        };
        let index = office().with([(0, Some(Arc::new(SearchEntry::new(&text))))]);
        let many = words(80);
        for query in ["merge COFFEE and tea", &format!("{many} merge COFFEE and tea")] {
            let hits = index.search(query, 1).hits;
            assert_eq!(
                (hits[0].entry, &*hits[0].matched_terms),
                (0, &["coffee", "tea"].map(String::from)[..])
            );
            let clause = hits[0].clause.and_then(|number| text.clause(number));
            assert_eq!(clause, Some("coffee"));
        }
    }

    #[test]
    fn numbers_may_have_holes() {
        let skills = OFFICE.iter().map(|(name, about, body)| Some(entry(name, about, body, &[])));
        let apart = RankedIndex::new(skills.flat_map(|skill| [None, skill, None]));
        let query = "merge third-party files, edit charts, ship";
        let mut expected = office().search(query, 10);
        for hit in &mut expected.hits {
            hit.entry = hit.entry * 3 + 1;
        }
        assert_eq!((apart.len(), apart.search(query, 10)), (4, expected));
    }

    #[test]
    fn entries_and_indexes_can_be_made_and_shared_by_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<SearchEntry>();
        shared::<RankedIndex>();
    }

    #[test]
    fn an_index_can_start_from_nothing() {
        let skills = OFFICE.iter().map(|(name, about, body)| Some(entry(name, about, body, &[])));
        let index = RankedIndex::default().with(skills.enumerate());
        let query = "merge third-party files, edit charts, ship";
        assert_eq!(totals(&index, query), totals(&office(), query));
        assert_eq!(index.merged().search(query, 10), office().search(query, 10));
    }

    #[test]
    fn words_far_back_in_a_long_request_are_matched() {
        let hits = office().search(&(words(200) + " merge pdf"), 10).hits;
        assert_eq!(hits[0].matched_terms, ["merge", "pdf"]);
    }
}

/// Text with what the rules look at in it, and anything else.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        3 => "[a-d]{1,2}",
        1 => "[A-Za-z0-9_.+#/-]{1,12}",
        1 => "['\"‘’“”(),;: \n—#`-]{1,4}",
        1 => "[ÀéßİŉﬁΣ認証テ・]{1,4}(ing|s|ed|ly)?",
        1 => any::<String>(),
    ];
    prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn any_text_is_ranked(
        skills in prop::collection::vec((text(), text(), text(), prop::collection::vec(text(), 0..3)), 0..8),
        query in text(),
        limit in 0_usize..12,
    ) {
        let entries = skills.iter().map(|(name, description, body, clauses)| {
            Some(Arc::new(SearchEntry::new(&SearchText { name, description, body, clauses })))
        });
        let index = RankedIndex::new(entries);
        let ranking = index.search(&query, limit);
        prop_assert_eq!(ranking.hits.len(), ranking.total.min(limit));
        prop_assert!(ranking.total <= skills.len());
        prop_assert!(ranking.hits.is_sorted_by(|a, b| a.score >= b.score));
        for hit in &ranking.hits {
            prop_assert!(hit.entry < skills.len());
            prop_assert!((0.0..=1.0).contains(&hit.bm25) && hit.bm25 > 0.0);
            prop_assert!((0.0..=0.2).contains(&hit.name) && (0.0..=0.4).contains(&hit.clauses));
            prop_assert!(hit.clause.is_some() == (hit.clauses > 0.0));
            let (name, description, _, clauses) = &skills[hit.entry];
            let text = SearchText { name, description, body: "", clauses };
            let clause = hit.clause.map(|number| text.clause(number));
            prop_assert!(clause.is_none_or(|words| words.is_some_and(|words| !words.is_empty())));
        }
        prop_assert_eq!(index.search(&query, limit), ranking);
    }

    #[test]
    fn what_is_merged_ranks_as_what_is_built_at_once(
        first in prop::collection::vec(prop::option::of((text(), text(), text())), 0..8),
        scripts in prop::collection::vec(
            prop::collection::vec((0_usize..12, prop::option::of((text(), text(), text()))), 0..6),
            0..4,
        ),
        query in text(),
    ) {
        let of = |(name, description, body): &(String, String, String)| entry(name, description, body, &[]);
        let mut last: Vec<_> = first.iter().map(|texts| texts.as_ref().map(of)).collect();
        let mut index = RankedIndex::new(last.iter().cloned());
        last.resize(12, None);
        for script in &scripts {
            let changes = script.iter().map(|(number, texts)| (*number, texts.as_ref().map(of)));
            for (number, entry) in changes.clone() {
                last[number] = entry;
            }
            index = index.with(changes);
        }
        let expected = RankedIndex::new(last).search(&query, 20);
        prop_assert_eq!(index.merged().search(&query, 20), expected.clone());
        let found = index.search(&query, 20);
        let set = |ranking: &Ranking| {
            let mut set: Vec<_> =
                ranking.hits.iter().map(|hit| (hit.entry, hit.matched_terms.clone())).collect();
            set.sort_unstable();
            set
        };
        prop_assert_eq!((found.total, set(&found)), (expected.total, set(&expected)));
    }

    /// No stop word is that long.
    #[test]
    fn a_skill_is_found_by_its_name(name in "[b-z]{8,12}", description in text(), body in text()) {
        let index = RankedIndex::new([Some(entry(&name, &description, &body, &[]))]);
        prop_assert_eq!(index.search(&name, 1).total, 1);
    }
}

mod families {
    use skills_core::route::ranked::Family;

    use super::*;

    const COPY: [(&str, &str, &str); 5] = [
        ("copy-writing", "Write marketing copy for a landing page, headlines, pricing, value", ""),
        ("copy-editing", "Edit marketing copy for a landing page, headlines, pricing, proof", ""),
        (
            "copy-writing-pro",
            "Write marketing copy for a landing page, headlines, pricing, value",
            "",
        ),
        ("deploy", "Ship containers to the cluster", ""),
        ("kubernetes", "Operate pods", "marketing copy"),
    ];

    fn places(families: &[Family]) -> Vec<Vec<(usize, Vec<usize>)>> {
        let member = |member: &skills_core::route::ranked::FamilyMember| {
            (member.place, member.duplicates.clone())
        };
        families.iter().map(|family| family.members.iter().map(member).collect()).collect()
    }

    // FAMILY-1
    #[test]
    fn siblings_stand_together_and_near_duplicates_in_one() {
        let index = ranked(&COPY);
        let families = index.families(&[3, 0, 4, 1, 2]);
        assert_eq!(
            places(&families),
            [vec![(0, vec![])], vec![(1, vec![4]), (3, vec![])], vec![(2, vec![])]]
        );
        let clause = |skill: usize, number: usize| {
            let (name, description, body) = COPY[skill];
            SearchText { name, description, body, clauses: &[] }.clause(number)
        };
        let telling = |skill: usize, member: usize| {
            let telling = &families[1].members[member].telling;
            telling.iter().filter_map(|number| clause(skill, *number)).collect::<Vec<_>>()
        };
        assert_eq!(telling(0, 0), ["value", "Write marketing copy for a landing page"]);
        assert_eq!(telling(1, 1), ["proof", "Edit marketing copy for a landing page"]);
        assert!(families[0].members[0].telling.is_empty(), "alone, there is nothing to tell apart");
    }

    #[test]
    fn fresh_skills_are_in_the_same_families_as_indexed_ones() {
        let built = ranked(&COPY);
        let (name, description, body) = COPY[1];
        let fresh = ranked(&[COPY[0], ("x", "y", ""), COPY[2], COPY[3], COPY[4]])
            .with([(1, Some(entry(name, description, body, &[])))]);
        let all = [0, 1, 2, 3, 4, 9];
        assert_eq!(fresh.families(&all), built.families(&all));
    }

    proptest! {
        #[test]
        fn every_hit_is_in_one_family(texts in prop::collection::vec("[a-d ,]{0,16}", 0..12)) {
            let index = RankedIndex::new(texts.iter().map(|text| Some(entry("x", text, "", &[]))));
            let all: Vec<usize> = (0..texts.len()).collect();
            let families = index.families(&all);
            let members = families.iter().flat_map(|family| &family.members);
            let mut seen: Vec<usize> = members
                .flat_map(|member| member.duplicates.iter().copied().chain([member.place]))
                .collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, all);
        }
    }
}
