//! What a person at a terminal sees: the overview, `doctor`, the help and lists, at 40 and at 80 columns, with colours and
//! without. The terminal is a real pseudo-terminal.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use serde_json::{Value, json};
use skills_testkit::{Client, Home, eventually};

use crate::support::{ROOT_TREE, agents, bundle, on_terminal, run, server};

/// Without what sets colours and weights.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split("\u{1b}[");
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (code, rest) = part.split_once('m').expect("only styles");
        assert!(code.chars().all(|c| c.is_ascii_digit() || c == ';'), "{code:?}");
        plain.push_str(rest);
    }
    plain
}

/// What the program shows on a terminal of this width, and how it ends: the same on every machine.
fn screen(home: &Home, columns: usize, mut command: Command) -> String {
    command.env("TERM", "xterm-256color");
    let ended = on_terminal(columns, &command, &[]);
    let shown = plain(ended.get("shown").and_then(Value::as_str).unwrap());
    for line in shown.lines() {
        // The test's own folder has a long name, and no path is broken.
        let is_path = line.contains("/.tmp") || line.ends_with("/SKILL.md:3:");
        assert!(is_path || line.chars().count() <= columns, "{columns}: {line:?} in\n{shown}");
    }
    let folder = home.path().file_name().unwrap().to_string_lossy().into_owned();
    let shown = shown
        .replace(&*home.path().to_string_lossy(), "<home>")
        .replace(&folder, "<folder>")
        .lines()
        .map(|line| match line.strip_prefix("skills-mcp 0.") {
            Some(_) => "skills-mcp <version>",
            None => line,
        })
        .collect::<Vec<_>>()
        .join("\n");
    let code = ended.get("code").and_then(Value::as_i64).unwrap();
    format!("exit {code}\n{}", without_sandbox(&shown))
}

/// What the sandbox of this machine is stands in the lines from `· scripts` to the next empty one.
fn without_sandbox(shown: &str) -> String {
    let mut kept = Vec::new();
    let mut is_left_out = false;
    for line in shown.lines() {
        is_left_out = (is_left_out || line.starts_with("  ·")) && !line.is_empty();
        if line.starts_with("  ·") {
            kept.push("  ·  <scripts>");
        } else if !is_left_out {
            kept.push(line);
        }
    }
    kept.join("\n")
}

fn both(name: &str, home: &Home, command: impl Fn() -> Command) {
    for columns in [40, 80] {
        insta::assert_snapshot!(format!("{name}_{columns}"), screen(home, columns, command()));
    }
}

/// A user with skills in two of the agents' directories.
fn user() -> Home {
    let home = Home::new();
    for name in ["pdf", "commits", "review"] {
        let text = bundle(name, &format!("Use it for {name}."), "Do it well.");
        home.write(&format!(".claude/skills/{name}/SKILL.md"), text);
    }
    home.write(
        "project/.agents/skills/deploy/SKILL.md",
        bundle("deploy", "How we deploy.", "Slowly."),
    );
    home
}

fn broken() -> Home {
    let home = user();
    home.write(
        ".claude/skills/broken/SKILL.md",
        "---\nname: broken\ndescription: x\nname: twice\n---\nText\n",
    );
    home.write(
        "project/.agents/skills/typo/SKILL.md",
        "---\nname: typo\ndescription: Use when: needed\n---\nText\n",
    );
    home.write(".claude/skills/README.md", "# No skill\n");
    home
}

fn lines(text: &str) -> usize {
    text.trim_end().lines().count()
}

#[test]
fn c05_doctor_is_one_screen_with_a_verdict() {
    let home = user();
    both("doctor_healthy", &home, || agents(&home, &["doctor"]));
    let shown = screen(&home, 80, agents(&home, &["doctor"]));
    assert!(shown.starts_with("exit 0\n") && lines(&shown) <= 25, "{shown}");
    assert!(shown.contains("4 skills in 2 places."), "{shown}");
}

#[test]
fn c05_doctor_shows_errors_first_and_then_the_way_out() {
    let home = broken();
    both("doctor_broken", &home, || agents(&home, &["doctor"]));
    let shown = screen(&home, 80, agents(&home, &["doctor"]));
    let first = shown.lines().find(|line| line.starts_with("  error")).unwrap();
    assert!(first.contains("broken/SKILL.md:4: "), "{shown}");
    assert!(shown.starts_with("exit 1\n") && shown.contains(", 1 broken."), "{shown}");
}

// EXIT-4
#[test]
fn c05_doctor_says_where_it_looked_when_there_is_nothing() {
    let home = Home::new();
    both("doctor_nothing", &home, || agents(&home, &["doctor"]));
    let (code, out, _) = run(&mut agents(&home, &["doctor"]));
    assert!(code == 1 && out.contains("~/.claude/skills") && out.contains("Next: "), "{out}");
    let (code, out, _) = run(&mut agents(&home, &["doctor", "--json"]));
    let examined: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &examined["healthy"]), (1, &json!(false)));
    assert!(examined["looked_in"].as_array().unwrap().len() >= 4, "{out}");
    assert!(examined["verdict"].as_str().unwrap().starts_with("No skills"), "{out}");
}

// EXIT-4
#[test]
fn c05_doctor_says_of_each_client_whether_it_knows_this_server() {
    let home = user();
    let program = env!("CARGO_BIN_EXE_skills-mcp");
    let codex = format!("[mcp_servers.skills]\ncommand = {program:?}\n");
    home.write(".codex/config.toml", codex);
    let entry = |command: &str, env: &Value| {
        json!({"mcpServers": {"skills": {"command": command, "env": env}}}).to_string()
    };
    home.write(".cursor/mcp.json", entry("/opt/gone/skills-mcp", &json!({})));
    let other = json!({"SKILLS_DIR": home.path().join("other")});
    home.write(".gemini/settings.json", entry(program, &other));
    home.write(".qwen/settings.json", "{}");
    let (code, out, _) = run(&mut agents(&home, &["doctor", "--json"]));
    let examined: Value = serde_json::from_str(&out).unwrap();
    let of = |id: &str| {
        let clients = examined["clients"].as_array().unwrap();
        clients.iter().find(|client| client["id"] == id).unwrap_or_else(|| panic!("{id}: {out}"))
    };
    assert_eq!(code, 0, "what clients lack is no fault of the skills: {out}");
    assert_eq!(of("codex")["entries"][0]["same_sources"], json!(true), "{out}");
    assert_eq!(of("cursor")["entries"][0]["command_is_there"], json!(false), "{out}");
    assert_eq!(of("gemini")["entries"][0]["sources"], json!(["~/other"]), "{out}");
    assert_eq!(
        (&of("gemini")["connected"], &of("qwen")["connected"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(examined["next"], "skills-mcp connect cursor");
    let verdict = examined["verdict"].as_str().unwrap();
    assert!(verdict.contains("Cursor starts a program that is gone."), "{verdict}");
    assert!(verdict.contains("Qwen Code"), "{verdict}");
    let shown = screen(&home, 80, agents(&home, &["doctor"]));
    assert!(lines(&shown) <= 25 && shown.contains("✓ Codex"), "{shown}");
    // Where a client is connected, what is broken comes before further clients.
    fs::remove_file(home.path().join(".cursor/mcp.json")).unwrap();
    home.write(".claude/skills/broken/SKILL.md", "---\nname: a\nname: b\n---\n");
    let (code, out, _) = run(&mut agents(&home, &["doctor"]));
    assert!(code == 1 && out.ends_with("Next: skills-mcp check\n"), "{out}");
    // Named sources are other sources to an entry without any.
    let mut command = agents(&home, &["--dir", "../.claude/skills", "doctor", "--json"]);
    let examined: Value = serde_json::from_str(&run(&mut command).1).unwrap();
    let codex = examined["clients"].as_array().unwrap().iter().find(|one| one["id"] == "codex");
    assert_eq!(codex.unwrap()["entries"][0]["same_sources"], json!(false), "{examined}");
}

#[test]
fn c05_a_repository_that_cannot_be_fetched_is_a_problem_with_a_next_step() {
    let home = Home::new();
    let url = format!("file://{}", home.path().join("gone.git").display());
    let (code, out, err) = run(&mut agents(&home, &["--repo", &url, "doctor"]));
    assert!(code == 1 && err.is_empty(), "{code} {out}{err}");
    assert!(
        out.contains("was not synced: ")
            && out.contains(&format!("Next: skills-mcp --repo {url} sync")),
        "{out}"
    );
}

#[test]
fn c05_a_client_that_loads_the_skills_itself_needs_no_entry() {
    let home = Home::new();
    home.write(".claude/skills/pdf/SKILL.md", bundle("pdf", "Reads PDFs.", "Read."));
    let (_, out, _) = run(&mut agents(&home, &["doctor"]));
    assert!(out.contains("Claude Code  loads these skills by itself"), "{out}");
    assert!(!out.contains("does not know this server"), "{out}");
}

#[test]
fn c05_doctor_stays_one_screen_however_much_is_wrong() {
    let home = Home::new();
    for number in 0..400 {
        let text = format!("---\nname: s{number}\ndescription: x\nname: again\n---\nText\n");
        home.write(&format!(".claude/skills/s{number}/SKILL.md"), text);
        let text = bundle(&format!("g{number}"), &format!("Good {number}."), "Text.");
        home.write(&format!("project/.agents/skills/g{number}/SKILL.md"), text);
    }
    let shown = screen(&home, 80, agents(&home, &["doctor"]));
    assert!(lines(&shown) <= 25, "{}:\n{shown}", lines(&shown));
    assert!(shown.contains("400 broken") && shown.contains(" more"), "{shown}");
    let overview = screen(&home, 80, agents(&home, &[]));
    assert!(lines(&overview) <= 25, "{}:\n{overview}", lines(&overview));
    let (_, all, _) = run(&mut agents(&home, &["doctor", "--all"]));
    assert!(all.matches("error[").count() >= 400, "{}", lines(&all));
}

// EXIT-3
#[test]
fn c05_the_bare_command_on_a_terminal_is_an_overview_and_on_pipes_a_server() {
    let home = user();
    both("bare", &home, || agents(&home, &[]));
    let nothing = Home::new();
    let shown = screen(&nothing, 80, agents(&nothing, &[]));
    assert!(shown.starts_with("exit 0\n") && shown.contains("No skills: "), "{shown}");
    let client = Client::legacy(agents(&home, &[]), "2025-11-25");
    assert_eq!(client.close().0.code(), Some(0));
    let (code, out, _) = run(agents(&home, &[]).stdin(std::process::Stdio::null()));
    assert_eq!((code, &*out), (0, ""), "it serves, and nothing but the protocol is printed");
}

#[test]
fn serve_on_a_terminal_waits_for_a_client_and_says_so() {
    let home = user();
    // The end of the input, as a client closes it.
    let steps = [("waiting for an MCP client", "\u{4}")];
    for level in ["info", "error"] {
        let ended = on_terminal(80, &agents(&home, &["serve", "--log", level]), &steps);
        let shown = ended["shown"].as_str().unwrap();
        assert_eq!((&ended["code"], &ended["left"]), (&json!(0), &json!([])), "{shown}");
        assert!(shown.contains("Ctrl-C ends it"), "{shown}");
    }
}

#[test]
fn c06_the_help_has_groups_and_headings_at_every_width() {
    let home = user();
    both("help", &home, || agents(&home, &["-h"]));
    both("help_list", &home, || agents(&home, &["list", "-h"]));
    let (_, long, _) = run(&mut agents(&home, &["list", "--help"]));
    for part in ["Sources:", "Presentation:", "Settings:", "Examples:", "claude-code", "gemini"] {
        assert!(long.contains(part), "{part}: {long}");
    }
    let (_, short, _) = run(&mut agents(&home, &["list", "-h"]));
    assert!(!short.contains("--listing-budget") && short.contains("--dir"), "{short}");
}

#[test]
fn c06_other_names_and_words_without_quotes_are_understood() {
    let home = Home::with(ROOT_TREE);
    let out = |arguments: &[&str]| {
        let (code, out, err) = run(server(&home).args(arguments));
        assert_eq!((code, &*err), (0, ""), "{arguments:?}");
        out
    };
    let tried = out(&["try", "sign in with react"]);
    assert_eq!(out(&["search", "sign", "in", "with", "react"]), tried);
    assert_eq!(out(&["try", "sign", "in", "--limit", "5", "with", "react"]), tried);
    assert_eq!(out(&["ls"]), out(&["list"]));
    assert_eq!(out(&["lint"]), out(&["check"]));
    assert!(out(&["demo", "write", "a", "Dockerfile"]).contains(r#""write a Dockerfile""#));
    let (_, bash, _) = run(server(&home).args(["completions", "bash"]));
    assert!(bash.contains("claude-code codex"), "values are completed");
}

#[test]
fn lists_and_settings_fit_a_narrow_terminal() {
    let home = Home::with(ROOT_TREE);
    both("list", &home, || {
        let mut command = server(&home);
        command.arg("list");
        command
    });
    both("config", &home, || {
        let mut command = server(&home);
        command.arg("config");
        command
    });
}

#[test]
fn reports_and_messages_are_broken_between_words() {
    let home = Home::with(ROOT_TREE);
    home.write(
        "skills/routing.yaml",
        "tests:\n  - request: Sign in with a session cookie\n    expect: ui/react/auth\n  - request: Bake a cake with chocolate\n    expect: ui/react/auth\n",
    );
    for (name, arguments) in [
        ("try", &["try", "sign", "in", "with", "a", "react", "session"][..]),
        ("demo", &["demo"]),
        ("demo_several", &["demo", "Implement authentication with session tokens"]),
        ("check", &["check"]),
        ("explain", &["check", "--explain", "yaml-invalid"]),
        ("why", &["why", "ui/react/auth"]),
        ("test", &["test"]),
        ("failure", &["config", "set", "matching.min_score", "7"]),
        ("unknown_code", &["check", "--explain", "zzzzzzzzzzzzzzz"]),
    ] {
        both(name, &home, || {
            let mut command = server(&home);
            command.args(arguments);
            command
        });
    }
    for columns in [40, 80] {
        // Its times differ from run to run.
        let mut command = server(&home);
        command.args(["doctor", "--all"]);
        screen(&home, columns, command);
        for arguments in [&["learn"][..], &["stats"], &["show", "ui/_index"]] {
            let mut command = server(&home);
            command.args(arguments);
            let shown = screen(&home, columns, command);
            assert!(shown.starts_with("exit 0\n"), "{shown}");
        }
    }
}

#[test]
fn the_overview_repeats_the_flags_that_it_was_given() {
    let home = user();
    let shown = screen(&home, 80, agents(&home, &["--dir", ".agents/skills"]));
    for command in ["try deploy", "doctor"] {
        let typed = format!("skills-mcp --dir .agents/skills {command}");
        assert!(shown.contains(&typed), "{typed}:\n{shown}");
    }
    assert!(shown.contains("  skills-mcp --help"), "{shown}");
}

#[test]
fn colours_are_for_terminals_and_for_people_who_want_them() {
    let home = broken();
    let mut command = agents(&home, &["doctor"]);
    command.env("TERM", "xterm-256color");
    let shown =
        |command: &Command| on_terminal(80, command, &[])["shown"].as_str().unwrap().to_owned();
    let coloured = shown(&command);
    assert!(
        coloured.contains("\u{1b}[31m") || coloured.contains("\u{1b}[1m\u{1b}[31m"),
        "{coloured:?}"
    );
    let without = shown(command.env("NO_COLOR", "1"));
    assert!(!without.contains('\u{1b}'), "{without:?}");
    assert_eq!(plain(&coloured), without);
    let (_, piped, _) = run(&mut agents(&home, &["doctor"]));
    assert!(!piped.contains('\u{1b}'), "{piped:?}");
    let (_, forced, _) = run(agents(&home, &["doctor"]).env("CLICOLOR_FORCE", "1"));
    assert_eq!(plain(&forced), piped);
    assert_ne!(forced, piped);
    let (_, _, refused) = run(agents(&home, &["show", "nope"]).env("CLICOLOR_FORCE", "1"));
    assert!(refused.contains('\u{1b}') && plain(&refused).starts_with("error: "), "{refused:?}");
}

#[test]
fn c07_dashboard_opens_the_browser_on_a_terminal_and_prints_the_address_last() {
    let home = broken();
    home.write(
        "bin/xdg-open",
        format!("#!/bin/sh\necho \"$1\" > '{}/opened'\n", home.path().display()),
    );
    let program = home.path().join("bin/xdg-open");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let opened = home.path().join("opened");
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let start = |arguments: &[&str]| {
        let mut command = agents(&home, arguments);
        command.env("PATH", &path);
        command
    };
    let ended = on_terminal(80, &start(&["dashboard"]), &[("opened in your browser", "\u{3}")]);
    let shown = plain(ended["shown"].as_str().unwrap());
    assert_eq!((&ended["code"], &ended["left"]), (&json!(0), &json!([])), "{shown}");
    let address = shown.lines().find(|line| line.starts_with("http://")).unwrap();
    eventually("the browser is opened", || {
        fs::read_to_string(&opened).ok().filter(|text| text.trim() == address)
    });
    let (before, _) = shown.split_once(address).unwrap();
    assert!(before.contains("broken/SKILL.md"), "{shown}");
    fs::remove_file(&opened).unwrap();
    let steps = [("http://", "\u{3}")];
    let ended = on_terminal(80, &start(&["dashboard", "--no-open"]), &steps);
    assert_eq!(ended["code"], json!(0));
    assert!(!opened.exists() && !ended["shown"].as_str().unwrap().contains("browser"), "{ended}");
}

#[test]
fn c08_messages_name_what_is_wrong_and_the_way_out() {
    let home = Home::with(ROOT_TREE);
    home.write(
        "skills/tool.md",
        "---\nkeywords: [a, b, c]\ndescription: x\nscripts:\n  - file: scripts/x.sh\n    description: y\n    execution: server\n    args:\n      - name: port\n        description: which port\n        required: true\n---\nText\n",
    );
    home.write("skills/tool/scripts/x.sh", "echo hi\n");
    let said = |arguments: &[&str]| {
        let (code, out, err) = run(server(&home).args(arguments));
        assert_eq!(out, "", "{arguments:?}");
        (code, err)
    };
    let (code, err) = said(&["stats", "--skill", "ui/react/aut"]);
    assert!(code == 2 && err.contains("did you mean ui/react/auth"), "{code} {err}");
    let (code, err) = said(&["stats", "--skill", "zzzzzz"]);
    assert!(code == 2 && err.contains("there is no skill `zzzzzz`"), "{code} {err}");
    let (code, err) = said(&["stats", "--since", "yesterday"]);
    assert!(code == 2 && err.contains("which is no day") && err.contains("2026-02-18"), "{err}");
    for more in [&[][..], &["--explain"]] {
        let (code, err) = said(&[&["run", "tool", "scripts/x.sh"], more].concat());
        assert!(code == 1 && err.contains("--arg NAME=VALUE"), "{code} {err}");
        assert!(err.contains("'port' (which port)") && !err.contains("in args"), "{err}");
    }
    let (code, out, _) = run(server(&home).env("SKILLS_DIR", "./skills/../skills").arg("config"));
    assert!(code == 0 && !out.contains("/./") && !out.contains("/../skills  "), "{out}");
}
