//! `skills-mcp test` and `try --expect`: whether requests find what they should.

use std::process::Command;

use serde_json::Value;
use skills_testkit::Home;

use crate::support::{ROOT_TREE, bundle, example, run, server, skill};

fn tested(home: &Home, arguments: &[&str]) -> (i32, String, String) {
    run(server(home).arg("test").args(arguments))
}

/// A home with the tree and these tests.
fn home(tests: &str) -> Home {
    let home = Home::with(ROOT_TREE);
    home.write("skills/routing.yaml", tests);
    home
}

// TEST-2
#[test]
fn the_example_content_passes_its_own_tests() {
    let home = Home::new();
    let (code, out, err) = run(server(&home).arg("test").arg(example()));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.ends_with("All 11 tests pass.\n"), "{out}");
}

const MIXED: &str = "\
- request: react login with a session
  expect: ui/react/auth
- request: login session
  expect: api/auth
  within: 2
- request: keyboard shortcuts for a frontend
  expect: ui/react/_index
- request: jwt login for the api
  not: api/auth
- request: tell me a joke
  expect: none
";

// TEST-2
#[test]
fn a_failure_says_what_won_and_by_which_words() {
    let home = home(MIXED);
    let (code, out, _) = tested(&home, &[]);
    assert_eq!(code, 1, "{out}");
    insta::assert_snapshot!("routing_test_failures", out);
}

// TEST-1
#[test]
fn mistakes_in_a_file_of_tests_have_their_line_and_column_and_exit_with_2() {
    let home = home("- request: login\n  expct: api/auth\n- request: login\n  expect: api/autt\n");
    home.write(
        "skills/ui/react/auth.md",
        "---\nkeywords: [react]\ndescription: d\ntests: {a: b}\n---\nx\n",
    );
    let (code, out, _) = tested(&home, &[]);
    assert_eq!(code, 2);
    assert_eq!(
        out,
        "skills/routing.yaml:2:3: error: there is no field `expct` in a test\n   write `expect`\n\
         skills/ui/react/auth.md:4:8: error: a test of this skill is a map, not a request\n   \
         write each test as the text of a request; `routing.yaml` takes `expect`, `not` and `within`\n"
    );
    home.write("skills/routing.yaml", "- request: login\n  expect: api/autt\n");
    home.write("skills/ui/react/auth.md", skill("react", "d", "x"));
    let (code, out, _) = tested(&home, &["--format", "github"]);
    assert_eq!(code, 2);
    assert_eq!(
        out,
        "::error file=skills/routing.yaml,line=1,col=3,title=routing-test-invalid::there is no skill `api/autt`%0Adid you mean api/auth, ui/react/auth?\n"
    );
    home.write("skills/routing.yaml", "# later\n");
    let (code, _, err) = tested(&home, &[]);
    assert_eq!((code, err.contains("there are no routing tests")), (2, true), "{err}");
    let (code, _, err) = tested(&home, &["nowhere"]);
    assert_eq!((code, err.contains("there is no file or directory nowhere")), (2, true), "{err}");
}

// TEST-1
#[test]
fn requests_in_front_matter_must_find_their_skill_and_a_file_of_tests_can_be_named() {
    let home = Home::with("");
    home.write(
        "skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Fill forms\ntests:\n  - fill a form\n  - merge two files\n---\nx\n",
    );
    home.write("skills/merge/SKILL.md", bundle("merge", "Merge files", "x"));
    let (code, out, _) = tested(&home, &[]);
    assert_eq!(code, 1);
    assert!(out.contains("FAIL skills/pdf/SKILL.md:6:5\n   “merge two files”\n"), "{out}");
    assert!(out.ends_with("1 of 2 tests fails.\n"), "{out}");
    home.write("own.yaml", "tests:\n  - {request: merge files, expect: merge}\n");
    let (code, out, _) = tested(&home, &["own.yaml"]);
    assert_eq!((code, out.ends_with("The test passes.\n")), (0, true), "{out}");
}

/// What a Python program prints that parses standard input.
fn parsed(program: &str, input: &str) -> String {
    use std::{io::Write as _, process::Stdio};

    let mut child = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

// TEST-4
#[test]
fn every_format_is_parsed_back() {
    let home = home(&MIXED.replace("tell me a joke", "\"quote <me> & 'him' \\e[31m\""));
    let (code, out, _) = tested(&home, &["--format", "junit"]);
    assert_eq!(code, 1);
    let counts = "import sys, xml.etree.ElementTree as t\nr = t.fromstring(sys.stdin.read())\ns = r.find('testsuite')\nprint(s.get('tests'), s.get('failures'), len(r.findall('.//failure')), r.findall('.//testcase')[0].get('name'))";
    assert_eq!(parsed(counts, &out), "5 2 2 react login with a session");
    let (_, out, _) = tested(&home, &["--format", "json"]);
    let results: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&results["passed"], &results["failed"]), (&3.into(), &2.into()), "{results}");
    assert_eq!(results["scores"]["requests"], 3);
    assert_eq!(results["tests"][2]["line"], 6);
    let (_, out, _) = tested(&home, &["--format", "github"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 2, "{out}");
    assert!(
        lines[0].starts_with(
            "::error file=skills/routing.yaml,line=6,col=3,title=routing-test-failed::"
        )
    );
}

// TEST-5
#[test]
fn try_says_whether_one_request_finds_what_is_expected() {
    let home = Home::with(ROOT_TREE);
    let tried = |expect: &str| {
        run(server(&home).args(["try", "jwt login for the api", "--expect", expect]))
    };
    let (code, out, _) = tried("api/auth");
    assert_eq!((code, out.ends_with("As expected\n   api/auth\n")), (0, true), "{out}");
    let (code, out, _) = tried("ui/react/auth");
    assert_eq!(code, 1);
    assert!(out.contains("expected ui/react/auth; api/auth comes first"), "{out}");
    let (code, _, err) = tried("ui/react/aut");
    assert_eq!(code, 2);
    assert!(
        err.contains("--expect: there is no skill `ui/react/aut`") && err.contains("did you mean"),
        "{err}"
    );
}
