//! What people see: the commands' output, their exit codes, their mistakes.

use serde_json::Value;
use skills_testkit::Home;

use crate::support::{ROOT_TREE, example, run, server};

/// Output with the home's path and times replaced, so that it is the same everywhere.
fn scrubbed(home: &Home, text: &str) -> String {
    let folder = home.path().file_name().unwrap().to_string_lossy();
    let text = text
        .replace(&*home.path().to_string_lossy(), "<home>")
        .replace(&*folder, "<folder>")
        .replace(env!("CARGO_PKG_VERSION"), "<version>");
    let text = text.replace(env!("CARGO_BIN_EXE_skills-mcp"), "<binary>");
    text.lines()
        .map(|line| match line.rsplit_once(" in ") {
            Some((head, tail)) if tail.ends_with(" ms") => format!("{head} in <ms>"),
            _ if line.contains("sandbox of this machine: ") => {
                format!("{}: <rung>", line.split(": ").next().unwrap())
            }
            _ => line.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn shown(home: &Home, arguments: &[&str]) -> String {
    let (code, out, err) = run(server(home).args(arguments));
    assert_eq!(err, "", "{arguments:?}");
    format!("exit {code}\n{}", scrubbed(home, &out))
}

#[test]
fn list_draws_the_tree() {
    let home = Home::with(ROOT_TREE);
    insta::assert_snapshot!("list", shown(&home, &["list"]));
    insta::assert_snapshot!("list_part", shown(&home, &["list", "ui"]));
}

#[test]
fn show_prints_what_an_agent_receives() {
    let home = Home::with(ROOT_TREE);
    insta::assert_snapshot!("show", shown(&home, &["show", "ui/react/auth"]));
}

// CONFIG-1
#[test]
fn config_says_where_each_value_comes_from() {
    let home = Home::with(ROOT_TREE);
    home.write("config.yaml", "matching:\n  min_score: 0.3\nscripts:\n  runners: {.rb: ruby}\n");
    insta::assert_snapshot!("config", shown(&home, &["config", "--set", "content.max_tokens=500"]));
}

// EXIT-2
#[test]
fn doctor_explains_what_is_wrong() {
    let home = Home::with(ROOT_TREE);
    home.write("skills/broken.md", "---\nkeywords: [a]\ndescription: x\nkeywords: [b]\n---\n");
    home.write("skills/typo.md", "---\nkeyword: [a]\ndescription: Use when: needed\n---\n");
    home.write("config.yaml", "matching: {min_scor: 1}\n");
    insta::assert_snapshot!("doctor", shown(&home, &["doctor"]));
    insta::assert_snapshot!("doctor_all", shown(&home, &["doctor", "--all"]));
}

#[test]
fn demo_shows_the_right_skill_from_a_sentence_and_the_client_entry() {
    let home = Home::new();
    let (code, out, err) = run(server(&home)
        .env_remove("SKILLS_DIR")
        .args(["demo", "Create a React login component with authentication"]));
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!("demo", scrubbed(&home, &out));
    let (_, several, _) =
        run(server(&home).args(["demo", "Implement authentication with session tokens"]));
    assert!(several.contains("Multiple skills match") && several.contains("api/auth"), "{several}");
    let (_, nothing, _) = run(server(&home).args(["demo", "Configure an nginx reverse proxy"]));
    assert!(nothing.contains("Probably no skill fits"), "{nothing}");
    let (_, whole, _) =
        run(server(&home).args(["demo", "--full", "Write a Dockerfile for a Node service"]));
    assert!(
        whole.contains("=== DEPLOY > DOCKER (from deploy/docker.md) ===")
            && !whole.contains("more lines"),
        "{whole}"
    );
}

#[test]
fn demo_leaves_nothing_behind() {
    let home = Home::new();
    home.write("tmp/.keep", "");
    let (code, ..) = run(server(&home).env("TMPDIR", home.path().join("tmp")).arg("demo"));
    assert_eq!(code, 0);
    assert_eq!(std::fs::read_dir(home.path().join("tmp")).unwrap().count(), 1);
}

#[test]
fn json_is_for_machines_everywhere() {
    let home = Home::with(ROOT_TREE);
    for arguments in [
        &["list", "--json"][..],
        &["list", "ui", "--json"],
        &["show", "ui/react/auth", "--json"],
        &["config", "--json"],
        &["doctor", "--json"],
        &["demo", "--json"],
    ] {
        let (code, out, err) = run(server(&home).args(arguments));
        assert_eq!((code, err.as_str()), (0, ""), "{arguments:?}");
        let value: Value = serde_json::from_str(&out)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {out}"));
        assert!(value.is_object(), "{arguments:?}");
    }
}

// EXIT-2
#[test]
fn mistakes_are_answered_with_the_way_out() {
    let home = Home::with(ROOT_TREE);
    let said = |arguments: &[&str]| {
        let (code, out, err) = run(server(&home).args(arguments));
        assert_eq!(out, "", "{arguments:?}");
        format!("exit {code}\n{err}")
    };
    assert_eq!(
        said(&["show", "ui/raect/auth"]),
        "exit 2\nerror: there is no skill `ui/raect/auth`\nhint: did you mean ui/react/auth, api/auth, ui/react/_index?\n"
    );
    assert_eq!(
        said(&["list", "zzz"]),
        "exit 2\nerror: there is no `zzz`\nhint: `skills-mcp list` draws the whole tree\n"
    );
    assert_eq!(
        said(&["list", "--log", "loud"]),
        "exit 2\nerror: SKILLS_LOG or --log is `loud`\nhint: use error, warn, info, debug or trace\n"
    );
    let (code, _, err) = run(server(&home).env_remove("SKILLS_DIR").arg("list"));
    assert_eq!(code, 2);
    assert!(err.contains("no named source") && err.contains("--dir PATH"), "{err}");
    let empty = Home::with("//- .keep\n");
    let (code, out, _) = run(server(&empty).arg("list"));
    assert!(code == 0 && out.contains("0 skills\nno skills yet: add a folder"), "{out}");
    assert_eq!(
        said(&["config", "--set", "matching.min_score=x"]),
        "exit 2\nerror: --set: `matching.min_score` is `x`, but must be a number from 0 to 1\nhint: correct it, or remove it to use the default\n"
    );
    let (code, _, err) = run(server(&home).arg("lisst"));
    assert!(code == 2 && err.contains("list"), "{err}");
}

#[test]
fn a_reader_who_goes_away_is_no_error() {
    let home = Home::with(ROOT_TREE);
    let mut shell = home.command("sh");
    shell.env("SKILLS_DIR", example()).args([
        "-c",
        &format!("'{}' show ui/react/auth | head -n 1", env!("CARGO_BIN_EXE_skills-mcp")),
    ]);
    let (code, out, err) = run(&mut shell);
    assert_eq!((code, err.as_str(), out.lines().count()), (0, "", 1));
}

#[test]
fn a_repository_stands_for_its_skills_folder() {
    let home = Home::new();
    let (_, out, _) = run(server(&home).env("SKILLS_DIR", example()).args(["list", "--json"]));
    assert!(out.contains("\"path\":\"ui/react/auth\""), "{out}");
}

// SK-7
#[test]
fn sk_is_the_same_program() {
    let home = Home::with(ROOT_TREE);
    let mut command = home.command(env!("CARGO_BIN_EXE_sk"));
    let (code, out, _) = run(command.env("SKILLS_DIR", home.skills()).args(["list", "--json"]));
    assert!(code == 0 && out.contains("ui/react/auth"));
    let (_, version, _) = run(home.command(env!("CARGO_BIN_EXE_sk")).arg("--version"));
    assert!(version.starts_with("sk "), "{version}");
}

#[test]
fn list_all_says_what_is_not_served_also_to_machines() {
    let home = Home::with(ROOT_TREE);
    home.write("skills/README.md", "# Not a skill\n");
    home.write("skills/a/SKILL.md", "---\nname: pdf\ndescription: One\n---\n");
    home.write("skills/b/SKILL.md", "---\nname: pdf\ndescription: Two\n---\n");
    let (code, out, _) = run(server(&home).args(["list", "--all"]));
    assert_eq!(code, 0);
    assert!(
        out.contains("served as b") && out.contains("README.md: info[front-matter-missing]"),
        "{out}"
    );
    let (_, out, _) = run(server(&home).args(["list", "--all", "--json"]));
    let all: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(all["shadowed"][0]["served_as"], "b");
    assert_eq!(all["not_served"][0]["code"], "front-matter-missing");
}

#[test]
fn demo_and_doctor_are_not_led_astray_by_settings() {
    let home = Home::with(ROOT_TREE);
    home.write(".skills-mcp/config.yaml", "matching: {min_score: 1.0}\nmatchng: {x: 1}\n");
    let (code, out, err) = run(server(&home).env("SKILLS_TOOLS", "skill").arg("demo"));
    assert!(code == 0 && out.contains("← ui/react/auth"), "{out}{err}");
    let (_, out, _) = run(server(&home).args(["doctor", "--json", "--tools", "all"]));
    let doctor: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(doctor["protocol"][0]["tools"].as_array().unwrap().len(), 9);
    assert!(
        doctor["warnings"][0].as_str().unwrap().contains("unknown key `matchng"),
        "{}",
        doctor["warnings"]
    );
    let (code, _, err) = run(server(&home).args(["doctor", "--tools", "bogus"]));
    assert!(code == 2 && err.contains("there is no tool set `bogus`"), "{err}");
}

// CONFIG-7
#[test]
fn a_password_in_a_url_is_not_shown() {
    let home = Home::with(ROOT_TREE);
    let (code, out, _) =
        run(server(&home).env("ANALYTICS_ENDPOINT", "https://u:canary@h.org/x").arg("config"));
    assert!(code == 0 && out.contains("https://…@h.org/x") && !out.contains("canary"), "{out}");
}
