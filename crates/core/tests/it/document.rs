//! One file's text → front matter, fields and findings: what is forgiven, what is refused, and where it says
//! so. Lines and columns are those of the file.

use proptest::prelude::*;
use skills_core::{
    document::{
        AssetKind, Dialect, Execution, MAX_FRONT_MATTER_BYTES, Parsed, SkillDocument, fixed,
    },
    route::tokenize,
};
use std::sync::Arc;

use crate::support::{self, body, findings, parse};

fn parsed(text: &str) -> Parsed {
    parse(text.as_bytes().to_vec(), Dialect::Tree)
}

/// The skill of a text that must be served without a word.
fn clean(text: &str) -> Arc<SkillDocument> {
    let parsed = parsed(text);
    assert_eq!(findings(&parsed), [""; 0], "{text}");
    parsed.skill.unwrap()
}

/// The skill of a text that is served, and what is said about it.
fn served(text: &str) -> (Arc<SkillDocument>, Vec<String>) {
    let parsed = parsed(text);
    let said = findings(&parsed);
    (parsed.skill.unwrap_or_else(|| panic!("not served: {said:?}")), said)
}

/// What is said about a text that must not be served.
fn refused(text: &str) -> Vec<String> {
    let parsed = parsed(text);
    assert!(parsed.skill.is_none(), "served: {text:.400}");
    findings(&parsed)
}

/// A skill with more lines of front matter, which start on line 4 of the file.
fn with(lines: &str) -> String {
    format!("---\nkeywords: [one]\ndescription: d\n{lines}---\nbody\n")
}

mod fences {
    use super::*;

    #[test]
    fn a_bom_and_crlf_are_ordinary_and_positions_still_count_lines() {
        let text = "\u{feff}---\r\nkeywords: [one]\r\ndescription: d\r\ninherit: no\r\n---\r\n\r\n# A\r\nb\r\n";
        let (skill, said) = served(text);
        assert_eq!(body(&skill.document), "# A\r\nb");
        assert_eq!(skill.fields.description, "d");
        assert_eq!(
            said,
            [
                "x.md:4:10 warning[field-invalid] `inherit` is `no`, not true or false; its default is \
              used | write true or false, without quotes"
            ]
        );
    }

    #[test]
    fn a_bom_and_crlf_are_served_as_they_are() {
        let text = "\u{feff}---\r\nkeywords: [one]\r\ndescription: d\r\n---\r\nbody\r\n";
        assert_eq!(support::text(&clean(text).document).whole(), text);
    }

    #[test]
    fn blanks_behind_a_fence_do_not_matter() {
        let skill = clean("---  \nkeywords: [one]\ndescription: d\n---\t \nbody");
        assert_eq!(body(&skill.document), "body");
    }

    #[test]
    fn a_fence_inside_a_block_scalar_is_text() {
        let skill = clean("---\nkeywords: [one]\ndescription: |\n  a\n  ---\n  b\n---\nbody\n");
        assert_eq!(skill.fields.description, "a\n---\nb");
        assert_eq!(body(&skill.document), "body");
    }

    #[test]
    fn a_rule_in_the_body_stays_in_the_body() {
        let skill = clean(&with("").replace("body", "a\n\n---\n\nb"));
        assert_eq!(body(&skill.document), "a\n\n---\n\nb");
    }

    #[test]
    fn the_body_keeps_its_first_indentation_and_loses_the_blank_lines_around_it() {
        let skill = clean(&with("").replace("body\n", "\n \n    code\n\n\n"));
        assert_eq!(body(&skill.document), "    code");
    }

    #[test]
    fn an_empty_body_is_a_skill_too() {
        assert_eq!(body(&clean("---\nkeywords: [one]\ndescription: d\n---").document), "");
    }

    #[test]
    fn a_missing_closing_fence_is_an_error_at_the_opening_one() {
        assert_eq!(
            refused("---\nkeywords: [one]\ndescription: d\n\nbody\n"),
            ["x.md:1:1 error[front-matter-unclosed] the front matter has no closing `---` line | \
              add a line with `---` after the last field"]
        );
    }

    #[test]
    fn blank_lines_and_comments_may_stand_above_the_fence() {
        let text =
            "\n<!-- where from -->\n---\nkeywords: [one]\ndescription: x\ninherit: no\n---\nbody\n";
        let (skill, found) = served(text);
        assert_eq!(body(&skill.document), "body");
        assert!(found[0].starts_with("x.md:6:"), "lines are the file's: {found:?}");
    }

    #[test]
    fn no_front_matter_is_only_worth_knowing() {
        for text in ["", "# Title\n", "----\na: 1\n---\n"] {
            assert_eq!(
                refused(text),
                ["x.md:0:0 info[front-matter-missing] no front matter, so this is not a skill | \
                  start the file with `---`, `keywords:` and `description:` lines, and `---`"],
                "{text:?}"
            );
        }
    }

    /// A text whose front matter has exactly this many bytes.
    fn of_size(bytes: usize) -> String {
        let fields = "keywords: [one]\ndescription: d\n";
        let filler = "#".repeat(bytes - fields.len() - 1);
        format!("---\n{fields}{filler}\n---\nbody\n")
    }

    // FILE-6
    #[test]
    fn front_matter_of_64_kib_is_read_and_a_byte_more_is_refused() {
        assert_eq!(body(&clean(&of_size(MAX_FRONT_MATTER_BYTES)).document), "body");
        assert_eq!(
            refused(&of_size(MAX_FRONT_MATTER_BYTES + 1)),
            [
                "x.md:1:1 error[front-matter-too-large] no closing `---` within 64 KiB of front matter \
              | close the front matter with `---`, or move text into the body"
            ]
        );
        assert_eq!(MAX_FRONT_MATTER_BYTES, 64 * 1024);
    }

    #[test]
    fn the_body_may_be_larger_than_the_front_matter() {
        let body = "word ".repeat(40_000);
        let skill = clean(&with("").replace("body", &body));
        assert_eq!(support::body(&skill.document), body.trim_end());
    }

    #[test]
    fn invalid_utf_8_is_an_error_on_its_line() {
        let mut bytes = b"---\nkeywords: [one]\ndescription: caf".to_vec();
        bytes.extend([0xe9, b'\n']);
        let parsed = parse(bytes, Dialect::Tree);
        assert!(parsed.skill.is_none());
        assert_eq!(
            findings(&parsed),
            ["x.md:3:1 error[not-utf8] not UTF-8 text (byte 36) | save the file as UTF-8"]
        );
    }
}

mod yaml {
    use super::*;

    const FEW_AND_FLAT: &str = "keep values few and flat";

    // FILE-6
    #[test]
    fn a_duplicate_key_is_refused_with_both_lines() {
        let said = refused(&with("priority: 1\ndescription: again\n"));
        assert_eq!(
            said,
            [
                "x.md:5:1 error[yaml-invalid] duplicate key `description`, first on line 3 | keep one of the two lines"
            ]
        );
    }

    // FILE-6
    #[test]
    fn sixteen_levels_are_read_and_seventeen_refused() {
        // The front matter itself is the first level.
        let nested =
            |levels: usize| with(&format!("x: {}{}\n", "[".repeat(levels), "]".repeat(levels)));
        clean(&nested(15));
        assert_eq!(
            refused(&nested(16)),
            [format!(
                "x.md:4:19 error[yaml-invalid] nested deeper than 16 levels | {FEW_AND_FLAT}"
            )]
        );
    }

    // FILE-6
    #[test]
    fn an_alias_bomb_is_refused() {
        let row = |level: usize| vec![format!("*a{}", level - 1); 10].join(",");
        let above: Vec<_> =
            (1..=8).map(|level| format!("a{level}: &a{level} [{}]\n", row(level))).collect();
        let bomb = format!("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n{}", above.concat());
        let said = refused(&with(&bomb));
        assert_eq!(said.len(), 1);
        assert!(
            said[0].contains("error[yaml-invalid] more than 4096 values, aliases expanded"),
            "{said:?}"
        );
    }

    #[test]
    fn an_alias_bomb_of_long_texts_is_refused() {
        // Few values, many bytes: 30 KiB of text, a thousand times over.
        let bomb = format!("a: &a {}\nb: [{}]\n", "x".repeat(30_000), vec!["*a"; 1_000].join(","));
        let said = refused(&with(&bomb));
        assert_eq!(said.len(), 1);
        assert!(
            said[0].contains("error[yaml-invalid] more than 64 KiB of text through aliases"),
            "{said:?}"
        );
    }

    #[test]
    fn a_modest_alias_is_read() {
        let skill = clean("---\nx: &k [react, auth]\nkeywords: *k\ndescription: d\n---\n");
        assert_eq!(skill.fields.keywords, ["react", "auth"]);
    }

    #[test]
    fn a_front_matter_that_is_no_mapping_is_refused() {
        let no_mapping = |what: &str, at: &str| {
            vec![format!(
                "x.md:{at} error[yaml-invalid] front matter is {what}, not `key: value` lines \
                 | write each field on a line of its own, as `key: value`"
            )]
        };
        assert_eq!(refused("---\n- a\n- b\n---\n"), no_mapping("a list", "2:1"));
        assert_eq!(refused("---\n\njust words\n---\n"), no_mapping("text", "3:1"));
        assert_eq!(refused("---\n42\n---\n"), no_mapping("a number", "2:1"));
    }

    #[test]
    fn an_empty_front_matter_lacks_both_required_fields() {
        for text in ["---\n---\nbody\n", "---\n\n---\nbody\n", "---\n# only a comment\n---\nbody\n"]
        {
            assert_eq!(
                refused(text),
                [
                    "x.md:2:1 error[field-missing] `keywords` is missing or empty | add a \
                     `keywords:` line to the front matter",
                    "x.md:2:1 error[field-missing] `description` is missing or empty | add a \
                     `description:` line to the front matter",
                ],
                "{text:?}"
            );
        }
    }

    // FILE-4
    #[test]
    fn an_unquoted_colon_is_mended_and_warned_about_on_its_line() {
        let text = "---\nkeywords: [one]\ndescription: Use when: asked\npriority: 3\ninherit: no\n---\nbody\n";
        let (skill, said) = served(text);
        assert_eq!(skill.fields.description, "Use when: asked");
        assert!((skill.fields.priority - 3.0).abs() < 1e-12);
        assert_eq!(said.len(), 2);
        assert!(
            said[0].starts_with("x.md:3:22 warning[yaml-repaired] not valid YAML ("),
            "{said:?}"
        );
        assert!(
            said[0].ends_with("), read anyway | put quotes around the value on this line"),
            "{said:?}"
        );
        assert!(said[1].starts_with("x.md:5:10 warning[field-invalid] `inherit`"), "{said:?}");
    }

    // FILE-5
    #[test]
    fn what_is_served_is_the_file_and_not_its_mended_copy() {
        let text = "---\nkeywords: [one]\ndescription: Use when: asked\n---\nbody\n";
        assert_eq!(support::text(&served(text).0.document).whole(), text);
    }

    #[test]
    fn repair_works_with_crlf_and_tabs_too() {
        let text = "---\r\nkeywords:\r\n\t- one\r\n\t- two\r\ndescription: a: b\r\n---\r\nbody\r\n";
        let (skill, said) = served(text);
        assert_eq!(skill.fields.keywords, ["one", "two"]);
        assert_eq!(skill.fields.description, "a: b");
        assert_eq!(said.len(), 1, "{said:?}");
    }

    // FILE-4
    #[test]
    fn where_repair_does_not_help_the_original_error_is_reported() {
        // Line 3 can be repaired, line 4 cannot; the reader is sent to line 3, where the parser gave up.
        let text = "---\nkeywords: [one]\ndescription: Use when: asked\nbroken: [\n---\nbody\n";
        let said = refused(text);
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("x.md:3:22 error[yaml-invalid] "), "{said:?}");
        assert!(
            said[0].ends_with(
                " | put quotes around a value that holds `: `, `#` or starts with a special character"
            ),
            "{said:?}"
        );
    }

    /// Lines with a usual mistake, the line that is named, what is said, and the lines that `check --fix` writes.
    #[rustfmt::skip]
    const USUAL_MISTAKES: &[(&str, u32, &str, &str)] = &[
        ("keywords:\n\t- pdf\ndescription: Fill it.", 3, "a tab as indentation", "keywords:\n  - pdf\ndescription: Fill it."),
        ("keywords: [pdf]\n description: Fill it.", 3, "a field that is indented", "keywords: [pdf]\ndescription: Fill it."),
        ("keywords:[pdf]\ndescription:Fill.", 2, "no blank behind the colon", "keywords: [pdf]\ndescription: Fill."),
        ("keywords: [pdf]\ndescription: \"Fill it.", 3, "a quote opens the value", "keywords: [pdf]\ndescription: \"Fill it.\""),
        ("keywords: [pdf]\ndescription: 'A form's field.'", 3, "an apostrophe ends", "keywords: [pdf]\ndescription: \"A form's field.\""),
        ("keywords: [pdf]\ndescription: Fill: forms", 3, "a colon and a blank within", "keywords: [pdf]\ndescription: \"Fill: forms\""),
        ("keywords: [pdf]\ndescription: Fill: it  # and more", 3, "a colon and a blank within", "keywords: [pdf]\ndescription: \"Fill: it\"  # and more"),
        ("keywords: [pdf]\ndescription: @team fills", 3, "first character", "keywords: [pdf]\ndescription: \"@team fills\""),
        ("keywords: [pdf]\ndescription: \"Fill\" it", 3, "text behind a closing quote", "keywords: [pdf]\ndescription: \"\\\"Fill\\\" it\""),
        ("keywords: [pdf]\ndescription: Fill it.\nUse it often.", 4, "a line that is no field", "keywords: [pdf]\ndescription: Fill it.\n  Use it often."),
    ];

    // FILE-4
    #[test]
    fn each_usual_mistake_has_its_own_sentence_and_its_correction() {
        for (front, line, sentence, corrected) in USUAL_MISTAKES {
            let text = format!("---\n{front}\n---\nbody\n");
            let (skill, said) = served(&text);
            assert!(!skill.fields.keywords.is_empty(), "{front}");
            assert!(said[0].starts_with(&format!("x.md:{line}:")), "{front}: {said:?}");
            assert!(said[0].contains(sentence) && said[0].contains(" | "), "{front}: {said:?}");
            let fixed = fixed(&text, Dialect::Tree, None);
            assert_eq!(fixed, Some(format!("---\n{corrected}\n---\nbody\n")), "{front}");
        }
        // Only its author knows where a list ends, so that it is not read anyway.
        let open = "---\nkeywords: [pdf, form\ndescription: Fill it.\n---\nbody\n";
        let closed = open.replace("form\n", "form]\n");
        assert_eq!(
            refused(open),
            ["x.md:2:1 error[yaml-invalid] a list is not closed | close it with `]`"]
        );
        assert_eq!(fixed(open, Dialect::Tree, None), Some(closed));
        // These have a sentence of their own and no certain correction.
        for (front, sentence) in [
            ("keywords: [pdf]\ndescription: [a]", "is a list, not text | write it as one text"),
            ("keywords: [a]\ndescription: b\ndescription: c", "keep one of the two lines"),
        ] {
            let text = format!("---\n{front}\n---\nbody\n");
            assert!(refused(&text)[0].contains(sentence), "{front}: {:?}", refused(&text));
            assert_eq!(fixed(&text, Dialect::Tree, None), None, "{front}");
        }
    }

    #[test]
    fn repair_does_not_make_a_refusal_pass() {
        // Each of these values is no scalar by itself only because it is refused.
        for lines in ["x: {a: 1, a: 2}\n", "x: [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]\n"] {
            assert!(refused(&with(lines))[0].contains("error[yaml-invalid]"), "{lines}");
            assert!(refused(&with(&format!("y: a: b\n{lines}")))[0].contains("4:"), "{lines}");
        }
    }

    #[test]
    fn repair_leaves_aliases_alone() {
        for list in ["[react, auth]", "\n  - react\n  - auth"] {
            let text =
                format!("---\nx: &k {list}\nkeywords: *k\ndescription: Use when: asked\n---\n");
            assert_eq!(served(&text).0.fields.keywords, ["react", "auth"]);
        }
    }
}

mod fields {
    use super::*;

    #[test]
    fn file_7_defaults() {
        let skill = clean("---\nkeywords: [one]\ndescription: d\n---\n");
        assert!(skill.fields.inherit);
        assert!(skill.fields.priority.abs() < f64::EPSILON);
        assert_eq!(skill.fields.assets, []);
        assert_eq!(skill.fields.scripts, []);

        let skill = clean(&with(
            "assets: [{file: a.ts, description: d}]\n\
             scripts: [{file: s.sh, description: d}, {file: t.sh, description: d, args: [{name: n, description: d}]}]\n",
        ));
        assert_eq!(skill.fields.assets[0].kind, AssetKind::Other);
        assert_eq!(skill.fields.scripts[0].execution, Execution::Claude);
        assert_eq!(skill.fields.scripts[0].arguments, []);
        assert!(skill.fields.scripts[1].arguments[0].required);
        assert_eq!(skill.fields.scripts[1].arguments[0].default, None);
    }

    #[test]
    fn nothing_written_behind_a_key_is_its_default() {
        for nothing in ["", "~", "null"] {
            let lines = format!(
                "inherit: {nothing}\npriority: {nothing}\nassets: {nothing}\nscripts: {nothing}\n"
            );
            let fields = &clean(&with(&lines)).fields;
            assert!(fields.inherit && fields.priority.abs() < f64::EPSILON);
            assert!(fields.assets.is_empty() && fields.scripts.is_empty());
        }
    }

    /// A front matter that has everything there is.
    const EVERYTHING: &str = r#"---
keywords:
  - react
  - composant
  - hook
  - jsx
  - tsx
  - frontend
description: "Règles de création de composants React"
inherit: true          # true = inclure le contenu de tous les parents
                       # false = ce skill est autonome
                       # absent = true par défaut
priority: 10           # poids en cas d'égalité de score (plus haut = prioritaire)
                       # absent = 0 par défaut
assets:                # optionnel — liste des assets associés avec métadonnées
  - file: assets/AuthProvider.tsx.template
    description: "Template de base pour un AuthProvider React"
    type: template     # template | config | example | schema | image | other
  - file: assets/auth-config.example.ts
    description: "Exemple de configuration auth complète"
    type: example
  - file: assets/auth-flow.svg
    description: "Diagramme du flux d'authentification"
    type: image
scripts:               # optionnel — liste des scripts associés avec métadonnées
  - file: scripts/scaffold-auth.sh
    description: "Génère la structure complète auth (provider, hooks, guard)"
    args:              # paramètres acceptés par le script
      - name: project_dir
        description: "Répertoire racine du projet"
        required: true
      - name: provider
        description: "Type de provider (firebase|auth0|custom)"
        required: false
        default: "custom"
    execution: claude   # claude = Claude lit et exécute via bash
                        # server = le serveur MCP exécute via run_script
                        # absent = claude par défaut
  - file: scripts/validate-auth-config.ts
    description: "Vérifie que la config auth du projet est valide"
    args:
      - name: config_path
        description: "Chemin vers le fichier de config auth"
        required: true
    execution: server   # exécuté par le serveur car besoin de ts-node
---

# Composants React
"#;

    #[test]
    fn file_7_a_front_matter_with_everything_is_read_without_a_word() {
        let skill = clean(EVERYTHING);
        let fields = &skill.fields;
        assert_eq!(fields.keywords, ["react", "composant", "hook", "jsx", "tsx", "frontend"]);
        assert_eq!(fields.description, "Règles de création de composants React");
        assert!((fields.priority - 10.0).abs() < f64::EPSILON);
        let assets: Vec<_> =
            fields.assets.iter().map(|a| (a.file.as_str(), a.kind.word())).collect();
        assert_eq!(
            assets,
            [
                ("assets/AuthProvider.tsx.template", "template"),
                ("assets/auth-config.example.ts", "example"),
                ("assets/auth-flow.svg", "image"),
            ]
        );
        let scripts: Vec<_> =
            fields.scripts.iter().map(|s| (s.file.as_str(), s.execution.word())).collect();
        assert_eq!(
            scripts,
            [("scripts/scaffold-auth.sh", "claude"), ("scripts/validate-auth-config.ts", "server")]
        );
        let provider = &fields.scripts[0].arguments[1];
        assert_eq!((provider.name.as_str(), provider.required), ("provider", false));
        assert_eq!(provider.default.as_deref(), Some("custom"));
        assert_eq!(body(&skill.document), "# Composants React");
    }

    // FILE-7
    #[test]
    fn keywords_of_any_scalar_type_are_words_as_they_were_written() {
        let (skill, said) = served(
            "---\nkeywords: [React, 1.10, 404, true, no, 2026-01-02, 'null', \" c d \"]\ndescription: d\n---\n",
        );
        assert_eq!(
            skill.fields.keywords,
            ["React", "1.10", "404", "true", "no", "2026-01-02", "null", "c d"]
        );
        assert!(said[0].contains("keyword `1.10`, `no`, `c d`: can never match"), "{said:?}");
    }

    // FILE-7
    #[test]
    fn a_bare_string_is_one_keyword() {
        let skill = clean("---\nkeywords: react native\ndescription: d\n---\n");
        assert_eq!(skill.fields.keywords, ["react native"]);
    }

    #[test]
    fn keywords_that_are_no_words_are_left_out_one_by_one() {
        let (skill, said) =
            served("---\nkeywords: [one, '', '  ', [a, b], {c: d}, ~]\ndescription: d\n---\n");
        assert_eq!(skill.fields.keywords, ["one"]);
        let left_out = |column: u32, what: &str| {
            format!(
                "x.md:2:{column} warning[field-invalid] a keyword is {what}, not a word; left out | \
                 write each keyword as a plain word"
            )
        };
        assert_eq!(
            said,
            [
                left_out(17, "text"),
                left_out(21, "text"),
                left_out(27, "a list"),
                left_out(35, "a map"),
                left_out(43, "nothing"),
            ]
        );
    }

    // FILE-1
    #[test]
    fn keywords_without_a_single_word_are_missing() {
        for list in ["[]", "['']", "[~]", "{a: b}", "''"] {
            let said = refused(&format!("---\ndescription: d\nkeywords: {list}\n---\n"));
            assert_eq!(
                said.last().unwrap(),
                "x.md:3:11 error[field-missing] `keywords` holds no keyword | list the words a \
                 request for this skill would contain; three or more work best",
                "{list}"
            );
        }
    }

    // FILE-1
    #[test]
    fn a_missing_or_empty_description_is_refused() {
        for line in
            ["", "description:\n", "description: ''\n", "description: '  '\n", "description: ~\n"]
        {
            let said = refused(&format!("---\nkeywords: [one]\n{line}---\n"));
            assert_eq!(said.len(), 1);
            assert!(
                said[0].contains("error[field-missing] `description` is missing or empty"),
                "{said:?}"
            );
        }
        assert_eq!(
            refused("---\nkeywords: [one]\ndescription: [a]\n---\n"),
            [
                "x.md:3:14 error[field-missing] `description` is a list, not text | write it as one text behind `description:`"
            ]
        );
    }

    #[test]
    fn a_key_that_is_nearly_right_is_pointed_out() {
        for (near, line) in [
            ("keyword", "keyword: [one]"),
            ("Keywords", "Keywords: [one]"),
            ("keywrods", "keywrods: [one]"),
        ] {
            assert_eq!(
                refused(&format!("---\ndescription: d\n{line}\n---\n")),
                [format!(
                    "x.md:2:1 error[field-missing] `keywords` is missing or empty | line 3 says \
                     `{near}`; write `keywords`"
                )]
            );
        }
    }

    #[test]
    fn every_missing_field_is_reported_at_once() {
        let said = refused("---\ntitle: x\n---\n");
        assert_eq!(said.len(), 2);
        assert!(said[0].contains("`keywords`") && said[1].contains("`description`"), "{said:?}");
    }

    #[test]
    fn inherit_that_is_no_boolean_is_diagnosed_and_true() {
        for written in ["\"false\"", "no", "off", "0", "'true'"] {
            let (skill, said) = served(&with(&format!("inherit: {written}\n")));
            let shown = written.trim_matches(['"', '\'']);
            assert!(skill.fields.inherit, "{written}");
            assert_eq!(
                said,
                [format!(
                    "x.md:4:10 warning[field-invalid] `inherit` is `{shown}`, not true or false; its \
                     default is used | write true or false, without quotes"
                )]
            );
        }
    }

    #[test]
    fn inherit_in_the_three_spellings_of_the_core_schema_is_read() {
        for written in ["false", "False", "FALSE"] {
            assert!(!clean(&with(&format!("inherit: {written}\n"))).fields.inherit, "{written}");
        }
    }

    #[test]
    fn a_priority_may_be_negative_or_a_fraction_but_not_text() {
        for (written, expected) in [("-3", -3.0), ("2.5", 2.5), ("1e2", 100.0), ("+4", 4.0)] {
            let priority = clean(&with(&format!("priority: {written}\n"))).fields.priority;
            assert!((priority - expected).abs() < f64::EPSILON, "{written}");
        }
        for written in ["high", "'10'", "[1]", ".inf", "-inf", ".nan", "1e999"] {
            let (skill, said) = served(&with(&format!("priority: {written}\n")));
            assert!(skill.fields.priority.abs() < f64::EPSILON, "{written}");
            assert!(
                said[0].starts_with("x.md:4:11 warning[field-invalid] `priority` is "),
                "{said:?}"
            );
        }
    }

    // FILE-8
    #[test]
    fn e08_a_priority_counts_within_a_hundred_either_way() {
        for (written, counts) in
            [("1e308", 100.0), ("100.5", 100.0), ("9223372036", 100.0), ("-1e9", -100.0)]
        {
            let (skill, said) = served(&with(&format!("priority: {written}\n")));
            assert!((skill.fields.priority - counts).abs() < f64::EPSILON, "{written}");
            assert_eq!(
                said,
                [format!(
                    "x.md:4:11 warning[priority-limited] `priority` is `{written}`, which counts as \
                     {counts} | a priority breaks ties; write a number from -100 to 100"
                )]
            );
        }
        let text = "---\nname: b\ndescription: d\npriority: 1e308\n---\n";
        let parsed = parse(text.into(), Dialect::Bundle);
        assert!((parsed.skill.unwrap().fields.priority - 100.0).abs() < f64::EPSILON);
        assert_eq!(parsed.findings[0].code.name(), "priority-limited");
    }

    /// What is said of these keywords: code and message.
    fn about(keywords: &str) -> Vec<String> {
        let text = format!("---\nkeywords: [{keywords}]\ndescription: d\n---\n");
        parsed(&text).findings.iter().map(|f| format!("{}: {}", f.code.name(), f.message)).collect()
    }

    // FILE-8
    #[test]
    fn e08_a_keyword_that_is_part_of_very_many_words_is_reported() {
        assert_eq!(
            about("react, ing, The, TION, tio"),
            [
                "keyword-broad: keyword `ing`, `The`, `TION` and 1 more: part of very many words, so \
              requests about anything match"
            ]
        );
        for broad in ["tion", "ment", "pre", "and", "que", "ique", "with", "ité"] {
            assert!(about(broad)[0].starts_with("keyword-broad"), "{broad}");
        }
        // Words of their own.
        assert!(about("form, log, port, work").is_empty(), "{:?}", about("form, log, port, work"));
        let long = "createfixaddupdatetestbuilddeployreviewwrite";
        assert!(about(long)[0].contains("longer than 40 characters"), "{:?}", about(long));
        // One finding for each kind, however many there are.
        assert_eq!(about(&"ing, ".repeat(1_000)).len(), 1);
    }

    #[test]
    fn e08_words_that_skills_are_about_are_not_reported() {
        for plain in [
            "api",
            "auth",
            "css",
            "sql",
            "git",
            "pdf",
            "test",
            "code",
            "data",
            "file",
            "node",
            "go",
            "r",
            "ts",
            "ui",
            "ai",
            "k8s",
            "web",
            "app",
            "tool",
            "page",
            "user",
            "docker",
            "node.js",
            ".net",
            "docker-compose",
            "user interface",
            "été-hiver",
            "logging",
            "authentication",
            "日本語",
        ] {
            assert_eq!(about(&format!("'{plain}'")), Vec::<String>::new(), "{plain}");
        }
    }

    // FILE-8
    #[test]
    fn a15_a_keyword_that_can_never_match_is_reported_with_a_hint() {
        let (_, said) = served("---\nkeywords: [sharp, 'C#', c++]\ndescription: d\n---\n");
        assert_eq!(
            said,
            ["x.md:2:19 warning[keyword-unmatchable] keyword `C#`, `c++`: can never match | in \
              requests `C#` is read as `c`; write `c`, or another word, such as `csharp` for `c#`"]
        );
        for never in ["f#", "g++", "r&d", "of", "a", "à", "--", "+", "c/c"] {
            assert!(about(&format!("'{never}'"))[0].starts_with("keyword-unmatchable"), "{never}");
        }
        let bundle = "---\nname: b\ndescription: d\nkeywords: c#, csharp\n---\n";
        let parsed = parse(bundle.into(), Dialect::Bundle);
        assert_eq!(parsed.findings[0].code.name(), "keyword-unmatchable");
    }

    #[test]
    fn a15_what_is_said_to_never_match_never_does_and_the_rest_can() {
        let words =
            ["c#", "c++", "of", "the", "node.js", "r", "r&d", "user interface", "x-y", "ing"];
        for word in words {
            let never = about(&format!("'{word}'")).iter().any(|said| said.contains("unmatchable"));
            let requests =
                [word.to_owned(), format!("{word}s"), format!("a{word}"), word.repeat(2)];
            let matched = requests.iter().any(|request| {
                tokenize(request).iter().any(|token| skills_core::route::matches(token, word))
            });
            assert_eq!(never, !matched, "{word}");
        }
    }

    #[test]
    fn keys_of_other_tools_are_left_alone() {
        clean(&with("name: x\nallowed-tools: [Read]\nmetadata: {a: {b: c}}\n"));
    }
}

mod declarations {
    use super::*;

    /// What is said about one entry of `assets`, and how many assets are left.
    fn asset(entry: &str) -> (usize, Vec<String>) {
        let (skill, said) = served(&with(&format!("assets:\n  - {entry}\n")));
        (skill.fields.assets.len(), said)
    }

    #[test]
    fn an_asset_without_file_or_description_is_left_out() {
        let no = |key: &str| {
            vec![format!(
                "x.md:5:5 warning[declaration-invalid] an asset has no `{key}`; left out | add \
                 `{key}:` to this entry"
            )]
        };
        assert_eq!(asset("{description: d}"), (0, no("file")));
        assert_eq!(asset("{file: '', description: d}"), (0, no("file")));
        assert_eq!(asset("{file: a.ts}"), (0, no("description")));
        assert_eq!(asset("{file: a.ts, description: ~}"), (0, no("description")));
        assert_eq!(asset("a.ts"), (0, no("file")));
    }

    #[test]
    fn one_bad_declaration_costs_only_itself() {
        let (skill, said) = served(&with(
            "assets:\n  - {file: a.ts, description: a}\n  - {file: b.ts}\n  - {file: c.ts, description: c}\n",
        ));
        let left: Vec<_> = skill.fields.assets.iter().map(|asset| asset.file.as_str()).collect();
        assert_eq!(left, ["a.ts", "c.ts"]);
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("x.md:6:5 "), "{said:?}");
    }

    // FILE-9
    #[test]
    fn a_file_outside_the_resource_folder_is_left_out() {
        let table = [
            ("../x.ts", "the path contains '..'"),
            ("assets/../../x.ts", "the path contains '..'"),
            ("/etc/passwd", "the path is absolute"),
            ("C:/x.ts", "the path is absolute"),
            ("..\\x.ts", "the path contains a backslash"),
            ("~/x.ts", "the path starts with '~'"),
            ("https://example.org/x.ts", "the path is a URL"),
            ("a//x.ts", "the path contains an empty or '.' segment"),
        ];
        for (file, why) in table {
            assert_eq!(
                asset(&format!("{{file: '{file}', description: d}}")),
                (
                    0,
                    vec![format!(
                        "x.md:5:12 warning[declaration-escapes] `{file}` is not a path inside the \
                         resource folder: {why} | write the path as it is seen from the skill's \
                         resource folder, such as `assets/x.ts`"
                    )]
                )
            );
        }
    }

    #[test]
    fn a_leading_dot_slash_is_the_same_file() {
        let (skill, said) = served(&with(
            "assets:\n  - {file: ./a.ts, description: first}\n  - {file: a.ts, description: second}\n",
        ));
        assert_eq!(skill.fields.assets.len(), 1);
        assert_eq!(skill.fields.assets[0].file.as_str(), "a.ts");
        assert_eq!(skill.fields.assets[0].description, "first");
        assert_eq!(
            said,
            [
                "x.md:6:5 warning[declaration-repeated] `a.ts` is declared twice under `assets`; the \
              first counts"
            ]
        );
    }

    // FILE-7
    #[test]
    fn an_unknown_asset_type_is_other() {
        let (skill, said) =
            served(&with("assets:\n  - {file: a.ts, description: d, type: picture}\n"));
        assert_eq!(skill.fields.assets[0].kind, AssetKind::Other);
        assert_eq!(
            said,
            ["x.md:5:40 warning[field-invalid] `type: picture` is unknown; its default is used | \
              use one of: template, config, example, schema, image, other"]
        );
    }

    #[test]
    fn file_7_every_asset_type_is_known() {
        for word in ["template", "config", "example", "schema", "image", "other"] {
            let skill =
                clean(&with(&format!("assets: [{{file: a, description: d, type: {word}}}]\n")));
            assert_eq!(skill.fields.assets[0].kind.word(), word);
        }
    }

    #[test]
    fn a_script_may_ask_for_the_network_and_for_variables_by_name() {
        let skill = clean(&with(
            "scripts:\n  - {file: a.sh, description: d, network: true, env: [API_TOKEN, _x1, API_TOKEN]}\n  - {file: b.sh, description: d}\n",
        ));
        let [asks, plain] = &skill.fields.scripts[..] else { panic!("two scripts") };
        assert!(asks.network && !plain.network);
        assert_eq!(asks.environment, ["API_TOKEN", "_x1"]);
        assert!(plain.environment.is_empty());
    }

    #[test]
    fn a_wrong_network_or_env_is_said_and_gives_nothing() {
        let (skill, said) = served(&with(
            "scripts:\n  - {file: a.sh, description: d, network: maybe, env: TOKEN}\n  - {file: b.sh, description: d, env: [A=B, 1X, [x], OK]}\n",
        ));
        let [first, second] = &skill.fields.scripts[..] else { panic!("two scripts") };
        assert!(!first.network && first.environment.is_empty());
        assert_eq!(second.environment, ["OK"]);
        assert_eq!(said.len(), 5, "{said:?}");
        assert!(said[0].contains("`network` is `maybe`, not true or false"), "{said:?}");
        assert!(said[1].contains("`env` is text, not a list of names"), "{said:?}");
        assert!(said[2].contains("`A=B` in `env` is no name of a variable"), "{said:?}");
    }

    // FILE-7
    #[test]
    fn an_unknown_execution_is_claude() {
        let (skill, said) =
            served(&with("scripts:\n  - {file: a.sh, description: d, execution: Server}\n"));
        assert_eq!(skill.fields.scripts[0].execution, Execution::Claude);
        assert_eq!(
            said,
            [
                "x.md:5:45 warning[field-invalid] `execution: Server` is unknown; its default is used \
              | use one of: claude, server"
            ]
        );
    }

    #[test]
    fn a_list_that_is_none_is_left_out_and_the_skill_served() {
        let (skill, said) = served(&with("assets: a.ts\nscripts: {file: a.sh}\n"));
        assert!(skill.fields.assets.is_empty() && skill.fields.scripts.is_empty());
        assert_eq!(
            said,
            [
                "x.md:4:9 warning[declaration-invalid] `assets` is text, not a list | write \
                 `assets:` and below it `- file: …` entries",
                "x.md:5:10 warning[declaration-invalid] `scripts` is a map, not a list | write \
                 `scripts:` and below it `- file: …` entries",
            ]
        );
    }

    #[test]
    fn a_script_without_file_or_description_is_left_out() {
        let (skill, said) = served(&with(
            "scripts:\n  - {file: a.sh}\n  - {description: d}\n  - {file: /a.sh, description: d}\n",
        ));
        assert!(skill.fields.scripts.is_empty());
        let codes: Vec<_> = said.iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
        assert_eq!(
            codes,
            [
                "warning[declaration-invalid]",
                "warning[declaration-invalid]",
                "warning[declaration-escapes]"
            ]
        );
    }

    #[test]
    fn a_bad_argument_is_left_out_and_its_script_kept() {
        let (skill, said) = served(&with(
            "scripts:\n  - file: a.sh\n    description: d\n    args:\n      \
             - {description: no name}\n      - {name: no_description}\n      \
             - {name: n, description: first, default: 3}\n      - {name: n, description: second}\n      \
             - {name: m, description: d, required: maybe}\n",
        ));
        let arguments = &skill.fields.scripts[0].arguments;
        let names: Vec<_> = arguments.iter().map(|arg| (arg.name.as_str(), arg.required)).collect();
        assert_eq!(names, [("n", true), ("m", true)]);
        assert_eq!(arguments[0].description, "first");
        assert_eq!(arguments[0].default.as_deref(), Some("3"));
        assert_eq!(
            said,
            [
                "x.md:8:9 warning[declaration-invalid] an argument has no `name`; left out | add \
                 `name:` to this entry",
                "x.md:9:9 warning[declaration-invalid] an argument has no `description`; left out | \
                 add `description:` to this entry",
                "x.md:11:9 warning[declaration-repeated] argument `n` is declared twice; the first \
                 counts",
                "x.md:12:45 warning[field-invalid] `required` is `maybe`, not true or false; its \
                 default is used | write true or false, without quotes",
            ]
        );
    }

    #[test]
    fn args_that_are_no_list_are_left_out() {
        let (skill, said) =
            served(&with("scripts:\n  - {file: a.sh, description: d, args: name}\n"));
        assert!(skill.fields.scripts[0].arguments.is_empty());
        assert_eq!(said, ["x.md:5:40 warning[declaration-invalid] `args` is text, not a list"]);
    }
}

/// Pieces that make YAML-shaped soup: most of it is broken, some of it is served.
fn soup() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "keywords: [one]\n",
        "description: d\n",
        "keywords:",
        "description: ",
        "assets:\n",
        "scripts: ",
        "  - file: a\n",
        "    description: d\n",
        "    args: [",
        "inherit: no\n",
        "priority: 1e5\n",
        "---\n",
        "---",
        "...\n",
        "&a ",
        "*a",
        ": ",
        "- ",
        "? ",
        "| \n",
        ">-\n",
        "'",
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        "#",
        "!!x ",
        "<<: ",
        "%",
        "@",
        "\t",
        " ",
        "\n",
        "\r\n",
        "\r",
        "\u{feff}",
        "é",
        "\u{85}",
        "\u{2028}",
        "\0",
        "\\",
        "x",
        "body\n",
    ]);
    (any::<bool>(), prop::collection::vec(pieces, 0..24)).prop_map(|(good, pieces)| {
        let soup = pieces.concat();
        // Half of them start like a skill, so that the fields' readers are reached too.
        if good {
            format!("---\nkeywords: [one]\ndescription: d\n{soup}\n---\n{soup}")
        } else {
            soup
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_024))]

    #[test]
    fn no_bytes_make_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        let parsed = parse(bytes, Dialect::Tree);
        prop_assert!(parsed.skill.is_some() || !parsed.findings.is_empty(), "skipped in silence");
    }

    #[test]
    fn a_served_document_is_its_own_bytes_and_its_body_a_part_of_them(text in soup()) {
        let parsed = parsed(&text);
        let lines = u32::try_from(text.split(['\n', '\r', '\u{85}', '\u{2028}']).count()).unwrap();
        for finding in &parsed.findings {
            prop_assert!(finding.at.line <= lines + 1, "{:?} is behind the end", finding);
        }
        match parsed.skill {
            Some(skill) => {
                let whole = support::text(&skill.document).whole().to_owned();
                prop_assert_eq!(&whole, &text);
                prop_assert!(text.contains(&body(&skill.document)));
                prop_assert!(!skill.fields.keywords.is_empty());
                prop_assert!(!skill.fields.description.is_empty());
            }
            None => prop_assert!(!parsed.findings.is_empty(), "skipped in silence"),
        }
    }
}
