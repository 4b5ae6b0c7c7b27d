//! A request's text → a verdict: the formula and thresholds of ROUTE-1 to ROUTE-8, and a plain implementation of
//! both that the index must agree with.

use proptest::prelude::*;
use skills_core::{
    catalog::Catalog,
    route::{Deciders, KeywordHit, Matching, RouteVerdict, Router, Score},
};

use crate::support::{catalog_from, catalog_of};

/// A catalog of `(path, keywords, priority)`.
fn skills(skills: &[(&str, &[&str], i32)]) -> Catalog {
    let file = |(path, keywords, priority): &(&str, &[&str], i32)| {
        let keywords: Vec<_> = keywords.iter().map(|word| format!("\"{word}\"")).collect();
        let text = format!(
            "---\nkeywords: [{}]\ndescription: d\npriority: {priority}\n---\n",
            keywords.join(", ")
        );
        (format!("{path}.md"), text)
    };
    catalog_from(&skills.iter().map(file).collect())
}

/// The settings with which the formula decides alone.
fn formula_alone() -> Matching {
    Matching { deciders: Deciders::Keywords, max_results: 3, ..Matching::default() }
}

fn route(catalog: &Catalog, context: &str) -> RouteVerdict {
    route_with(catalog, context, &formula_alone())
}

fn route_with(catalog: &Catalog, context: &str, matching: &Matching) -> RouteVerdict {
    Router::new(catalog).route(catalog, context, matching)
}

/// `path score [matched]`.
fn shown(catalog: &Catalog, hit: &KeywordHit) -> String {
    let identity = &catalog.skill(hit.skill).unwrap().identity;
    format!("{identity} {} [{}]", hit.score.rounded(), hit.matched.join(" "))
}

/// The verdict in one line.
fn said(catalog: &Catalog, verdict: &RouteVerdict) -> String {
    match verdict {
        RouteVerdict::NoMatch { closest: None } => "none".to_owned(),
        RouteVerdict::NoMatch { closest: Some(hit) } => {
            format!("none, closest {}", shown(catalog, hit))
        }
        RouteVerdict::Match(hit) => format!("match {}", shown(catalog, hit)),
        RouteVerdict::Ambiguous(hits) => {
            let hits: Vec<_> = hits.iter().map(|hit| shown(catalog, hit)).collect();
            format!("ambiguous {}", hits.join(", "))
        }
    }
}

fn verdict(catalog: &Catalog, context: &str) -> String {
    said(catalog, &route(catalog, context))
}

mod formula {
    use super::*;

    #[test]
    fn route_2_a_word_matches_a_keyword_by_this_table() {
        let table = [
            ("react", "react", true),
            ("authentication", "auth", true),
            ("auth", "authentication", true),
            ("react", "reactjs", true),
            ("go", "golang", false),
            ("ts", "ts", true),
            // Short on either side means equality.
            ("golang", "go", false),
            ("json", "js", false),
            ("clé", "clés", true),
            ("éé", "ééé", false),
        ];
        for (token, keyword, matches) in table {
            let catalog = skills(&[("s", &[keyword], 0)]);
            let expected =
                if matches { format!("match s 1 [{keyword}]") } else { "none".to_owned() };
            assert_eq!(verdict(&catalog, token), expected, "{token} / {keyword}");
        }
    }

    // ROUTE-3
    #[test]
    fn the_score_is_the_share_of_keywords_matched_plus_a_thousandth_of_the_priority() {
        let words: [&str; 8] =
            ["React", "auth", "component", "hook", "login", "session", "token", "oauth"];
        let catalog = skills(&[("s", &words, 10)]);
        let RouteVerdict::Match(hit) = route(&catalog, "react component with a session token")
        else {
            panic!("no match")
        };
        assert_eq!(hit.matched, ["React", "component", "session", "token"]);
        assert_eq!(hit.base, Score::share(4, 8));
        assert_eq!(hit.score, Score::new(0.51));
    }

    // ROUTE-4
    #[test]
    fn matched_keywords_keep_their_authors_spelling_and_order() {
        let catalog = skills(&[("s", &["Zoo", "API-Gateway", "zzz", "Auth"], 0)]);
        assert_eq!(
            verdict(&catalog, "AUTH for the api-gateway of the zoo"),
            "match s 0.75 [Zoo API-Gateway Auth]"
        );
    }

    #[test]
    fn a_keyword_of_several_words_is_matched_by_any_of_them() {
        let catalog = skills(&[("s", &["machine learning", "node.js"], 0)]);
        assert_eq!(verdict(&catalog, "learning node"), "match s 1 [machine learning node.js]");
    }

    // ROUTE-4
    #[test]
    fn a_keyword_counts_once_however_many_tokens_match_it() {
        let catalog = skills(&[("s", &["auth", "x1", "x2", "x3"], 0)]);
        assert_eq!(verdict(&catalog, "auth authentication authorize"), "match s 0.25 [auth]");
    }

    // ROUTE-4
    #[test]
    fn a_repeated_keyword_counts_as_often_as_it_is_written() {
        let catalog = skills(&[("s", &["react", "React", "vue"], 0)]);
        assert_eq!(verdict(&catalog, "react"), "match s 0.6667 [react React]");
        assert_eq!(verdict(&catalog, "vue"), "match s 0.3333 [vue]");
    }

    // ROUTE-1
    #[test]
    fn a_french_request_is_read_through_its_apostrophes() {
        let catalog = skills(&[
            ("auth", &["authentification", "écran"], 0),
            ("other", &["lauthentification", "dauthentification"], 0),
        ]);
        for request in
            ["Crée l'écran d'authentification qu'on m'a demandé", "CRÉE L’ÉCRAN D’AUTHENTIFICATION"]
        {
            // The other's keywords contain `authentification`, so they match too, but not because of the elision.
            assert_eq!(
                verdict(&catalog, request),
                "ambiguous auth 1 [authentification écran], other 1 [lauthentification \
                 dauthentification]"
            );
        }
        assert_eq!(verdict(&catalog, "l'écran"), "match auth 0.5 [écran]");
    }

    #[test]
    fn punctuation_separates_and_the_hyphen_does_not() {
        let catalog = skills(&[("s", &["docker-compose"], 0), ("t", &["yaml"], 0)]);
        assert_eq!(verdict(&catalog, "(docker-compose)!"), "match s 1 [docker-compose]");
        assert_eq!(verdict(&catalog, "config.yaml:12"), "match t 1 [yaml]");
    }
}

mod thresholds {
    use super::*;

    /// A skill's keywords of which the first `matched` contain `hit`.
    fn words(matched: usize, total: usize) -> Vec<String> {
        let word = |n| if n < matched { format!("hit{n}") } else { format!("none{n}") };
        (0..total).map(word).collect()
    }

    /// A catalog of `(path, matched, total, priority)`, for the request `hit`.
    fn scored(entries: &[(&str, usize, usize, i32)]) -> Catalog {
        let words: Vec<Vec<String>> = entries.iter().map(|e| words(e.1, e.2)).collect();
        let words: Vec<Vec<&str>> =
            words.iter().map(|words| words.iter().map(String::as_str).collect()).collect();
        let entries: Vec<_> = entries
            .iter()
            .zip(&words)
            .map(|((path, _, _, priority), words)| (*path, words.as_slice(), *priority))
            .collect();
        skills(&entries)
    }

    /// Paths and scores of the verdict on the request `hit`.
    fn judged(entries: &[(&str, usize, usize, i32)], matching: &Matching) -> String {
        let catalog = scored(entries);
        let said = said(&catalog, &route_with(&catalog, "hit", matching));
        let mut words = String::new();
        let mut inside = false;
        for c in said.chars() {
            inside = (inside || c == '[') && c != ']';
            if !inside && c != ']' {
                words.push(c);
            }
        }
        words.trim_end().replace(" ,", ",")
    }

    fn default(entries: &[(&str, usize, usize, i32)]) -> String {
        judged(entries, &formula_alone())
    }

    // ROUTE-5
    #[test]
    fn route_7_defaults() {
        let Matching { min_score, max_results, ambiguity_threshold, .. } = Matching::default();
        assert!((min_score - 0.2).abs() < f64::EPSILON);
        assert!((ambiguity_threshold - 0.1).abs() < f64::EPSILON);
        assert_eq!(max_results, 5);
    }

    #[test]
    fn one_result_is_a_match_and_none_is_no_match() {
        assert_eq!(default(&[("a", 1, 2, 0), ("b", 0, 2, 0)]), "match a 0.5");
        assert_eq!(default(&[("a", 0, 2, 0)]), "none");
    }

    // ROUTE-5
    #[test]
    fn a_score_equal_to_min_score_stays_and_one_below_goes() {
        assert_eq!(default(&[("a", 1, 5, 0)]), "match a 0.2");
        assert_eq!(default(&[("a", 1, 6, 0)]), "none, closest a 0.1667");
        // At every edge that a share can hit, whatever floats make of it.
        for total in 1..=40 {
            for matched in 1..=total {
                #[expect(clippy::cast_precision_loss, reason = "both are below 41")]
                let min_score = matched as f64 / total as f64;
                let matching = Matching { min_score, ..formula_alone() };
                let verdict = judged(&[("a", matched, total, 0)], &matching);
                assert!(verdict.starts_with("match"), "{matched} of {total}: {verdict}");
            }
        }
    }

    // ROUTE-5
    #[test]
    fn min_score_looks_at_the_base_before_priority() {
        assert_eq!(default(&[("a", 1, 6, 100)]), "none, closest a 0.2667");
        // A negative priority costs places, never the result.
        assert_eq!(default(&[("a", 1, 4, -100)]), "match a 0.15");
    }

    // ROUTE-7
    #[test]
    fn a_gap_equal_to_the_threshold_is_not_ambiguous() {
        assert_eq!(default(&[("a", 6, 10, 0), ("b", 5, 10, 0)]), "match a 0.6");
        assert_eq!(default(&[("a", 7, 10, 0), ("b", 6, 10, 0)]), "match a 0.7");
        assert_eq!(default(&[("a", 3, 10, 0), ("b", 1, 5, 0)]), "match a 0.3");
        assert_eq!(default(&[("a", 1, 2, 100), ("b", 1, 2, 0)]), "match a 0.6");
        assert_eq!(default(&[("a", 1, 2, 99), ("b", 1, 2, 0)]), "ambiguous a 0.599, b 0.5");
    }

    // ROUTE-6
    #[test]
    fn ranking_and_gap_use_the_final_score() {
        assert_eq!(default(&[("a", 1, 2, 0), ("b", 1, 2, 5)]), "ambiguous b 0.505, a 0.5");
        assert_eq!(default(&[("a", 1, 2, -50), ("b", 1, 2, 100)]), "match b 0.6");
        // 0.65 against 0.5 + 0.06: the priority narrows the gap.
        assert_eq!(default(&[("a", 13, 20, 0), ("b", 10, 20, 60)]), "ambiguous a 0.65, b 0.56");
    }

    // ROUTE-6
    #[test]
    fn ties_go_by_path() {
        assert_eq!(
            default(&[("c", 1, 2, 0), ("a-b", 1, 2, 0), ("a", 1, 2, 0)]),
            "ambiguous a 0.5, a-b 0.5, c 0.5"
        );
    }

    // ROUTE-6
    #[test]
    fn between_sources_the_first_named_comes_first_in_a_tie() {
        let text = "//- a.md\n---\nkeywords: [hit]\ndescription: d\n---\n";
        let catalog = catalog_of(&[("z", text), ("y", text)]);
        assert_eq!(verdict(&catalog, "hit"), "ambiguous a 1 [hit], y:a 1 [hit]");
    }

    // ROUTE-7
    #[test]
    fn an_ambiguous_answer_names_at_most_max_results() {
        let entries =
            [("a", 1, 2, 0), ("b", 1, 2, 4), ("c", 1, 4, 0), ("d", 1, 2, 2), ("e", 1, 3, 0)];
        let results =
            |max_results| judged(&entries, &Matching { max_results, ..Matching::default() });
        assert_eq!(results(3), "ambiguous b 0.504, d 0.502, a 0.5");
        assert_eq!(results(9), "ambiguous b 0.504, d 0.502, a 0.5, e 0.3333, c 0.25");
    }

    // ROUTE-7
    #[test]
    fn a15_an_ambiguous_answer_names_at_least_two() {
        let entries = [("a", 1, 2, 0), ("b", 1, 2, 4), ("d", 1, 2, 2)];
        let one = Matching { max_results: 1, ..Matching::default() };
        assert_eq!(judged(&entries, &one), "ambiguous b 0.504, d 0.502");
        assert_eq!(judged(&[("a", 1, 2, 0)], &one), "match a 0.5");
    }

    #[test]
    fn e08_no_priority_makes_more_than_a_tenth_of_a_score() {
        for (priority, score) in [(i32::MAX, "0.6"), (101, "0.6"), (100, "0.6"), (-101, "0.4")] {
            assert_eq!(default(&[("a", 1, 2, priority)]), format!("match a {score}"));
        }
        // What everything in a request matches wins by its keywords, or not at all.
        assert_eq!(default(&[("a", 1, 2, i32::MAX), ("b", 4, 5, 0)]), "match b 0.8");
    }

    #[test]
    fn a_threshold_of_zero_is_never_ambiguous() {
        let matching = Matching { ambiguity_threshold: 0.0, ..Matching::default() };
        assert_eq!(judged(&[("a", 1, 2, 0), ("b", 1, 2, 0)], &matching), "match a 0.5");
    }

    // ROUTE-5
    #[test]
    fn a_min_score_of_zero_still_wants_a_matched_keyword() {
        let matching = Matching { min_score: 0.0, ..Matching::default() };
        assert_eq!(judged(&[("a", 0, 2, 50), ("b", 1, 40, 0)], &matching), "match b 0.025");
    }

    #[test]
    fn the_closest_below_min_score_is_the_best_base_and_then_the_best_final_score() {
        assert_eq!(
            default(&[("a", 1, 8, 900), ("b", 1, 7, 0), ("c", 1, 7, 1), ("d", 0, 3, 0)]),
            "none, closest c 0.1439"
        );
        let RouteVerdict::NoMatch { closest: Some(hit) } =
            route(&scored(&[("a", 1, 8, 100)]), "hit")
        else {
            panic!("not close")
        };
        assert_eq!((hit.base, hit.matched), (Score::share(1, 8), vec!["hit0".to_owned()]));
    }

    #[test]
    fn a_request_without_words_matches_nothing() {
        let catalog = scored(&[("a", 1, 1, 0)]);
        for request in ["", "   ", "the of à les", "!?… — --", "\u{301}"] {
            assert_eq!(verdict(&catalog, request), "none", "{request:?}");
        }
        assert_eq!(verdict(&Catalog::default(), "hit"), "none");
    }
}

/// The formula as the contract writes it, over whole numbers: every skill, every keyword, every token.
mod naive {
    /// Scores count in sixtieths of a thousandth: shares of up to six keywords and thousandths are whole.
    const ONE: i64 = 60_000;

    #[derive(Debug)]
    pub(super) struct Skill {
        pub(super) path: String,
        pub(super) keywords: Vec<String>,
        pub(super) priority: i32,
    }

    /// In thousandths.
    #[derive(Debug, Clone, Copy)]
    pub(super) struct Thresholds {
        pub(super) min_score: u16,
        pub(super) ambiguity_threshold: u16,
        pub(super) max_results: usize,
    }

    fn tokens(request: &str) -> Vec<String> {
        let spaced: String = request
            .to_lowercase()
            .chars()
            .map(|c| if c.is_alphanumeric() || c == '-' { c } else { ' ' })
            .collect();
        let mut tokens: Vec<String> = Vec::new();
        for word in spaced.split_whitespace() {
            // `a` is the only stop word that the alphabet of the test can spell; a lone dash is punctuation.
            let counts = word != "a" && word.contains(char::is_alphanumeric);
            if counts && !tokens.iter().any(|token| token == word) {
                tokens.push(word.to_owned());
            }
        }
        tokens
    }

    /// `(kind, [path and matched keywords])`.
    pub(super) fn route(
        skills: &[Skill],
        request: &str,
        thresholds: Thresholds,
    ) -> (&'static str, Vec<(String, Vec<String>)>) {
        let tokens = tokens(request);
        let mut scored = Vec::new();
        for skill in skills {
            let matched: Vec<String> = skill
                .keywords
                .iter()
                .filter(|keyword| {
                    let keyword = keyword.to_lowercase();
                    tokens.iter().any(|token| skills_core::route::matches(token, &keyword))
                })
                .cloned()
                .collect();
            let share = |part: usize, whole: usize| {
                i64::try_from(part).unwrap() * ONE / i64::try_from(whole).unwrap()
            };
            let base = share(matched.len(), skill.keywords.len());
            let last = base + i64::from(skill.priority.clamp(-100, 100)) * ONE / 1_000;
            if base > 0 {
                scored.push((last, base, skill.path.clone(), matched));
            }
        }
        scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
        let mut enough = scored.clone();
        enough.retain(|one| one.1 >= i64::from(thresholds.min_score) * ONE / 1_000);
        let named = |list: Vec<(i64, i64, String, Vec<String>)>| {
            list.into_iter().map(|(_, _, path, matched)| (path, matched)).collect()
        };
        match enough.as_slice() {
            [] => {
                // Best base; of equal ones the first in the order of final scores and paths.
                scored.sort_by_key(|one| -one.1);
                scored.truncate(1);
                ("none", named(scored))
            }
            [one, two, ..]
                if one.0 - two.0 < i64::from(thresholds.ambiguity_threshold) * ONE / 1_000 =>
            {
                enough.truncate(thresholds.max_results.max(2));
                ("ambiguous", named(enough))
            }
            [_, ..] => {
                enough.truncate(1);
                ("match", named(enough))
            }
        }
    }
}

/// The index's answer in the naive one's shape.
fn indexed(
    catalog: &Catalog,
    request: &str,
    matching: &Matching,
) -> (&'static str, Vec<(String, Vec<String>)>) {
    let named = |hits: Vec<KeywordHit>| {
        hits.into_iter()
            .map(|hit| (catalog.skill(hit.skill).unwrap().identity.to_string(), hit.matched))
            .collect()
    };
    match route_with(catalog, request, matching) {
        RouteVerdict::NoMatch { closest } => ("none", named(closest.into_iter().collect())),
        RouteVerdict::Match(hit) => ("match", named(vec![hit])),
        RouteVerdict::Ambiguous(hits) => ("ambiguous", named(hits)),
    }
}

// Few letters, so that words collide, contain each other, and are short often.
const WORD: &str = "[abcé-]{1,6}";
const KEYWORD: &str = "[abcéÉA-]{1,6}";

fn some_skills() -> impl Strategy<Value = Vec<naive::Skill>> {
    let keywords = prop::collection::vec(KEYWORD, 1..=6);
    // Priorities that bring gaps to the edges of the thresholds.
    let priority = prop::sample::select(vec![0, 0, 0, 1, 10, 50, 100, -50, 200]);
    let one = (keywords, priority);
    prop::collection::vec(one, 0..12).prop_map(|ones| {
        let skill = |(number, (keywords, priority))| naive::Skill {
            path: format!("s{number:02}"),
            keywords,
            priority,
        };
        ones.into_iter().enumerate().map(skill).collect()
    })
}

fn a_request() -> impl Strategy<Value = String> {
    let separator = prop::sample::select(vec![" ", "  ", "'", ", ", "/", "_"]);
    prop::collection::vec((WORD, separator), 0..6).prop_map(|words| {
        words.into_iter().flat_map(|(word, end)| [word, end.to_owned()]).collect()
    })
}

fn thresholds() -> impl Strategy<Value = naive::Thresholds> {
    let min_score = prop::sample::select(vec![0, 200, 250, 500, 1_000]);
    let gap = prop::sample::select(vec![0, 50, 100, 250, 1_000]);
    (min_score, gap, 1..5_usize).prop_map(|(min_score, ambiguity_threshold, max_results)| {
        naive::Thresholds { min_score, ambiguity_threshold, max_results }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_048))]

    // ROUTE-2, ROUTE-3, ROUTE-5, ROUTE-6, ROUTE-7
    #[test]
    fn the_index_agrees_with_a_plain_reading_of_the_formula(
        some in some_skills(), request in a_request(), thresholds in thresholds()
    ) {
        let words: Vec<Vec<&str>> =
            some.iter().map(|s| s.keywords.iter().map(String::as_str).collect()).collect();
        let listed: Vec<_> = some
            .iter()
            .zip(&words)
            .map(|(skill, words)| (skill.path.as_str(), words.as_slice(), skill.priority))
            .collect();
        let catalog = skills(&listed);
        prop_assert_eq!(catalog.len(), some.len());
        let matching = Matching {
            min_score: f64::from(thresholds.min_score) / 1_000.0,
            ambiguity_threshold: f64::from(thresholds.ambiguity_threshold) / 1_000.0,
            max_results: thresholds.max_results,
            deciders: Deciders::Keywords,
        };
        prop_assert_eq!(
            indexed(&catalog, &request, &matching),
            naive::route(&some, &request, thresholds)
        );
    }
}
