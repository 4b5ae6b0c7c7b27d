//! `check` and `schema` as authors and build servers use them: findings, levels, formats, corrections.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    sync::mpsc,
};

use serde_json::{Value, json};
use skills_testkit::{Home, Remote, TEST_TIMEOUT};

use crate::support::{ROOT_TREE, bundle, client, example, run, server, skill};

/// Skills with one of most mistakes.
const MISTAKES: &str = "\
//- _root.md
---
keywords: [conventions, house, rules]
description: Rules for everything that we write or change here
---
Be kind.
//- ui/auth.md
---
keywords: [login]
description: Signing in with a session cookie in a browser
priorty: 10
owner: web
scripts:
  - file: scripts/build.rb
    description: Builds
    execution: server
---
See [the notes](assets/notes.md).
//- ui/auth/scripts/build.rb
puts 1
//- ui/auth/assets/lost.txt
x
//- pdf/SKILL.md
---
description: Use when: a PDF has to be read
allowed-tools: [Read, Grep]
---
Read it.
//- broken.md
---
keywords: [a1, b1, c1]
---
No description.
";

fn check(home: &Home, arguments: &[&str]) -> (i32, String, String) {
    run(server(home).arg("check").args(arguments))
}

fn report(home: &Home, arguments: &[&str]) -> Value {
    let (_, out, err) = check(home, &[&["--format", "json"], arguments].concat());
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"))
}

/// The codes of a report's findings, in their order.
fn codes(report: &Value) -> Vec<&str> {
    let findings = report.get("findings").unwrap().as_array().unwrap();
    findings.iter().map(|found| found.get("code").unwrap().as_str().unwrap()).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_else(|| panic!("{key}: {value}"))
}

#[test]
fn check_1_errors_come_first_and_the_verdict_last() {
    let home = Home::with(MISTAKES);
    let (code, out, err) = check(&home, &["--all"]);
    assert_eq!((code, err.as_str()), (1, ""));
    insta::assert_snapshot!("check", out);
    let (_, folded, _) = check(&home, &[]);
    assert!(!folded.contains("note[") && folded.contains("; --all shows the notes"), "{folded}");
}

// CHECK-1
#[test]
fn a_path_may_be_a_directory_a_skills_folder_or_a_file() {
    let home = Home::with(MISTAKES);
    home.write(
        "alone/pdf/SKILL.md",
        bundle("other", "All about PDF files, and forms in them", "Text"),
    );
    let found = |path: &str| codes(&report(&home, &[path])).join(" ");
    assert!(found("skills").starts_with("field-missing "), "{}", found("skills"));
    assert!(found(".").starts_with("field-missing "), "{}", found("."));
    let auth = "keywords-few field-misspelled script-not-runnable link-broken";
    assert!(found("skills/ui/auth.md").contains("script-not-runnable"));
    assert!(
        !found("skills/ui").contains("yaml-repaired") && !found("skills/pdf").contains("keywords")
    );
    for code in auth.split(' ') {
        assert!(found("skills/ui").contains(code), "{code}: {}", found("skills/ui"));
    }
    assert_eq!(found("alone/pdf"), "name-unconventional", "a folder is compared with its name");
    assert_eq!(found("alone/pdf/SKILL.md"), "name-unconventional");
}

#[test]
fn a_script_that_is_a_link_is_found_before_a_call_of_it_is_refused() {
    let home = Home::with(ROOT_TREE);
    let declared = "---\nkeywords: [a1, b2, c3]\ndescription: Runs.\nscripts:\n  - {file: scripts/x.sh, description: d, execution: server}\n---\nRun it.\n";
    home.write("skills/one.md", declared);
    home.write("skills/one/scripts/x.sh", "echo x\n");
    home.write("skills/two.md", declared);
    home.write("skills/two/x", "");
    std::os::unix::fs::symlink("../one/scripts", home.path().join("skills/two/scripts")).unwrap();
    let (_, out, _) = check(&home, &[]);
    let shown = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(shown.matches("is a symbolic link or behind one").count(), 1, "{out}");
    assert!(shown.contains("skills/two.md:5"), "{out}");
}

#[test]
fn check_2_exit_codes_say_what_happened() {
    let home = Home::with(ROOT_TREE);
    assert_eq!(check(&home, &[]).0, 0, "warnings alone pass");
    assert_eq!(check(&home, &["--strict"]).0, 1);
    home.write("skills/broken.md", "---\nkeywords: [a1]\n---\n");
    assert_eq!(check(&home, &[]).0, 1);
    home.write("empty/readme.txt", "");
    home.write("notes.txt", "x");
    for (arguments, message) in [
        (&["nowhere"][..], "there is no file or directory nowhere"),
        (&["notes.txt"], "notes.txt is no Markdown file"),
        (&["empty"], "there is no skill in empty"),
        (&["--explain", "keyword-few"], "there is no code `keyword-few`"),
        (&["--format", "xml"], "invalid value 'xml'"),
        (&["--fix", "--watch"], "cannot be used with"),
    ] {
        let (code, out, err) = check(&home, arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(message), "{err}");
    }
}

// CHECK-2
#[test]
fn the_example_is_clean() {
    let home = Home::new();
    let example = example();
    let (code, out, err) = check(&home, &[&example.to_string_lossy(), "--strict", "--all"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(out, "passed: 0 errors, 0 warnings in 10 skills\n");
}

/// Reads a workflow command by its grammar: `::name key=value,key=value::message`.
fn workflow_command(line: &str) -> Value {
    let (head, message) = line.strip_prefix("::").unwrap().split_once("::").unwrap();
    let (name, properties) = head.split_once(' ').unwrap();
    let plain = |text: &str| {
        text.replace("%2C", ",")
            .replace("%3A", ":")
            .replace("%0A", "\n")
            .replace("%0D", "\r")
            .replace("%25", "%")
    };
    let mut command = json!({"name": name, "message": plain(message)});
    for property in properties.split(',') {
        let (key, value) = property.split_once('=').unwrap();
        command.as_object_mut().unwrap().insert(key.to_owned(), json!(plain(value)));
    }
    command
}

#[test]
fn check_3_formats_say_the_same() {
    let home = Home::with(MISTAKES);
    home.write("skills/a, 100%: b.md", skill("x1", "One keyword", "Text"));
    let whole = report(&home, &[]);
    let findings = whole.get("findings").unwrap().as_array().unwrap();
    let (code, out, _) = check(&home, &["--format", "github", "--all"]);
    assert_eq!(code, 1);
    let mut lines: Vec<&str> = out.lines().collect();
    assert!(lines.pop().unwrap().starts_with("failed: "), "{out}");
    assert_eq!(lines.len(), findings.len());
    for (line, finding) in lines.iter().zip(findings) {
        let command = workflow_command(line);
        let level =
            if text(finding, "level") == "note" { "notice" } else { text(finding, "level") };
        assert_eq!(text(&command, "name"), level);
        assert_eq!(text(&command, "file"), text(finding, "file"));
        assert_eq!(text(&command, "title"), text(finding, "code"));
        assert!(text(&command, "message").starts_with(text(finding, "message")), "{line}");
        assert!(text(&command, "message").ends_with(text(finding, "help")), "{line}");
    }
    let (_, out, _) = check(&home, &["--format", "sarif"]);
    let log: Value = serde_json::from_str(&out).unwrap();
    let results = log.pointer("/runs/0/results").unwrap().as_array().unwrap();
    let of = |results: &[Value], key: &str| -> Vec<String> {
        results.iter().map(|result| text(result, key).to_owned()).collect()
    };
    assert_eq!(of(results, "ruleId"), of(findings, "code"));
    assert_eq!(of(results, "level"), of(findings, "level"));
}

/// What Python's XML parser reads in a report of `JUnit`: name and failure of each case.
fn junit_cases(home: &Home, xml: &str) -> Value {
    const READER: &str = "import sys, json, xml.etree.ElementTree as tree\n\
        root = tree.fromstring(sys.stdin.buffer.read())\n\
        suite = root.find('testsuite')\n\
        cases = [{'name': case.get('name'), 'failure': None if case.find('failure') is None else case.find('failure').get('type')} for case in suite]\n\
        print(json.dumps({'tests': int(suite.get('tests')), 'failures': int(suite.get('failures')), 'cases': cases}))";
    home.write("report.xml", xml);
    let file = fs::File::open(home.path().join("report.xml")).unwrap();
    let (code, out, err) = run(home.command("python3").args(["-c", READER]).stdin(file));
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

// CHECK-3
#[test]
fn junit_has_a_case_for_each_file() {
    let home = Home::with(MISTAKES);
    let (code, out, _) = check(&home, &["--format", "junit"]);
    assert_eq!(code, 1);
    let read = junit_cases(&home, &out);
    assert_eq!((read["tests"].as_u64(), read["failures"].as_u64()), (Some(4), Some(1)), "{read}");
    let failed = json!({"name": "skills/broken.md", "failure": "field-missing"});
    assert!(read["cases"].as_array().unwrap().contains(&failed), "{read}");
    let (_, strict, _) = check(&home, &["--format", "junit", "--strict"]);
    assert_eq!(junit_cases(&home, &strict)["failures"].as_u64(), Some(3), "{strict}");
}

#[test]
fn check_4_fix_corrects_what_is_certain_and_nothing_twice() {
    let home = Home::with(MISTAKES);
    let read = |path: &str| fs::read_to_string(home.path().join(path)).unwrap();
    let served = || {
        let mut client = client(&home);
        client.call("get_skill", &json!({"skill_path": "pdf"})).text
    };
    let before = served();
    let (_, out, err) = check(&home, &["--fix"]);
    assert_eq!(err, "");
    for line in [
        "--- a/skills/pdf/SKILL.md",
        "+name: pdf",
        "-description: Use when: a PDF has to be read",
        "+description: \"Use when: a PDF has to be read\"",
        "+allowed-tools: Read Grep",
        "+priority: 10",
    ] {
        assert!(out.lines().any(|shown| shown == line), "{line}\n{out}");
    }
    let fixed = read("skills/pdf/SKILL.md");
    assert_eq!(
        fixed,
        "---\nname: pdf\ndescription: \"Use when: a PDF has to be read\"\nallowed-tools: Read Grep\n---\nRead it.\n"
    );
    assert!(before.contains("Read it.") && served().contains("Read it."), "{before}");
    let left = codes(&report(&home, &[])).join(" ");
    for gone in ["yaml-repaired", "name-missing", "allowed-tools-form", "field-misspelled"] {
        assert!(!left.contains(gone), "{left}");
    }
    let (_, again, _) = check(&home, &["--fix"]);
    assert!(!again.contains("--- a/"), "{again}");
    assert_eq!(read("skills/pdf/SKILL.md"), fixed);
}

// CHECK-4
#[cfg(unix)]
#[test]
fn files_of_repositories_and_behind_links_are_left_alone() {
    let broken = "---\nname: pdf\ndescription: Use when: asked\n---\nText\n";
    let home =
        Home::with("//- own/SKILL.md\n---\nname: own\ndescription: All about this\n---\nText\n");
    home.write("elsewhere/pdf/SKILL.md", broken);
    std::os::unix::fs::symlink(home.path().join("elsewhere/pdf"), home.skills().join("pdf"))
        .unwrap();
    let (_, out, _) = check(&home, &["--fix"]);
    assert!(out.contains("skills/pdf/SKILL.md: left alone, a link leads to it"), "{out}");
    assert_eq!(fs::read_to_string(home.path().join("elsewhere/pdf/SKILL.md")).unwrap(), broken);
    assert_eq!(
        report(&home, &["--fix"])["fixed"],
        json!([]),
        "and a report is nothing but the report"
    );
    let remote = Remote::with(&home, "team", &format!("//- pdf/SKILL.md\n{broken}"));
    let (_, out, err) = run(server(&home).env_remove("SKILLS_DIR").args([
        "--repo",
        &remote.url(),
        "check",
        "--fix",
    ]));
    assert!(out.contains("left alone, it comes from a repository"), "{out}{err}");
}

#[test]
fn check_5_rules_change_what_a_code_counts() {
    let home = Home::with(ROOT_TREE);
    let counts = |home: &Home| report(home, &[])["counts"].clone();
    assert_eq!(counts(&home)["errors"], json!(0));
    home.write("config.yaml", "check:\n  rules: {keywords-few: error, file-missing: off}\n");
    let changed = report(&home, &[]);
    assert_eq!(changed["passed"], json!(false), "{changed}");
    assert!(!codes(&changed).contains(&"file-missing"), "{changed}");
    assert_eq!(check(&home, &["--set", "check.rules={keywords-few: note}"]).0, 0);
    home.write("config.yaml", "check:\n  rules: {keyword-few: error}\n");
    let (_, out, _) = check(&home, &[]);
    assert!(out.contains("there is no code `keyword-few`, did you mean `keywords-few`?"), "{out}");
}

#[test]
fn a_rule_that_is_wrong_is_reported_at_its_line_and_the_others_count() {
    let home = Home::with(ROOT_TREE);
    home.write(
        "config.yaml",
        "check:\n  rules:\n    nosuch-rule: error\n    keywords-few: error\n    file-missing: loud\n",
    );
    let found = report(&home, &[]);
    assert_eq!(found["passed"], json!(false), "{found}");
    assert!(codes(&found).contains(&"keywords-few"), "{found}");
    let (_, out, _) = check(&home, &[]);
    assert!(
        out.contains("config.yaml:3") && out.contains("there is no code `nosuch-rule`"),
        "{out}"
    );
    assert!(out.contains("config.yaml:5") && out.contains("level of `file-missing`"), "{out}");
}

#[test]
fn a_link_that_leads_nowhere_is_called_that() {
    let home = Home::with(ROOT_TREE);
    std::os::unix::fs::symlink("nosuch", home.path().join("skills/pdf.md")).unwrap();
    let (_, out, _) = check(&home, &[]);
    assert!(out.contains("is a symbolic link to `nosuch`, which does not exist"), "{out}");
    assert!(out.contains("remove the link, or correct it"), "{out}");
}

#[test]
fn what_standard_output_does_not_take_ends_the_command_with_3() {
    let home = Home::with(ROOT_TREE);
    for arguments in [
        &["check", "--format", "sarif"][..],
        &["list"],
        &["doctor", "--json"],
        &["--help"],
        &["-h"],
        &["help"],
        &["--version"],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output =
            server(&home).args(arguments).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {err}");
        assert!(err.contains("standard output: No space left on device"), "{err}");
    }
}

#[test]
fn check_6_watch_checks_again_when_a_file_changes() {
    let home = Home::with(
        "//- pdf/SKILL.md\n---\nname: pdf\ndescription: All about PDF files, and forms in them\n---\nText\n",
    );
    let mut child =
        server(&home).args(["check", "--watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let (sender, lines) = mpsc::channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    let wait_for = |expected: &str| loop {
        let line = lines.recv_timeout(TEST_TIMEOUT).unwrap_or_else(|_| panic!("no {expected}"));
        if line.contains(expected) {
            break;
        }
    };
    wait_for("passed: 0 errors, 0 warnings in 1 skill");
    home.write(
        "skills/pdf/SKILL.md",
        bundle("pdf", "All about PDF files, and forms in them", "[gone](x.md)"),
    );
    wait_for("warning[link-broken]");
    wait_for("passed: 0 errors, 1 warning in 1 skill");
    home.write("skills/pdf/x.md", "Here.");
    wait_for("passed: 0 errors, 0 warnings in 1 skill");
    let id = child.id().to_string();
    assert!(Command::new("/bin/kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    reader.join().unwrap();
}

#[test]
fn check_7_a_secret_is_not_repeated() {
    let secret = format!("ghp_{}", "q7Rt2WmZ9xKpL4vNcB8sYdJh3FgTuA5e6QwE");
    let home = Home::with(
        "//- pdf/SKILL.md\n---\nname: pdf\ndescription: All about PDF files, and forms in them\n---\nText\n",
    );
    home.write("skills/pdf/Text.sh", format!("export TOKEN={secret}\n"));
    for format in ["human", "json", "sarif", "github", "junit"] {
        let (code, out, err) = check(&home, &["--strict", "--format", format]);
        assert_eq!(code, 1, "{format}");
        assert!(out.contains("secret-likely") && !(out + &err).contains("q7Rt"), "{format}");
    }
}

#[test]
fn check_9_codes_are_explained() {
    let home = Home::new();
    let (code, out, err) = check(&home, &["--explain", "keywords-few"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for part in ["keywords-few (warning)", "Why: ", "Example:", "Fix: "] {
        assert!(out.contains(part), "{out}");
    }
}

// CHECK-1
#[test]
fn doctor_and_check_agree_on_what_is_lost() {
    let home = Home::with(ROOT_TREE);
    let doctor = || -> Value {
        serde_json::from_str(&run(server(&home).args(["doctor", "--json"])).1).unwrap()
    };
    assert_eq!(doctor()["healthy"], json!(true));
    home.write(
        "skills/odd.md",
        "---\nkeywords: [a1, b1, c1]\ndescription: x\ninherit: maybe\n---\n",
    );
    assert_eq!(doctor()["healthy"], json!(false), "a field that has no effect");
    fs::remove_file(home.path().join("skills/odd.md")).unwrap();
    home.write("skills/one.md", "---\nkeywords: [a1]\n---\n");
    home.write("skills/two/SKILL.md", "no front matter");
    home.write("skills/README.md", "# Not a skill\n");
    let found = doctor();
    assert_eq!(
        (&found["healthy"], &found["counts"]["skipped"]),
        (&json!(false), &json!(2)),
        "{found}"
    );
}
