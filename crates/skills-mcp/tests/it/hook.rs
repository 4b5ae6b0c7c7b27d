//! `skills-mcp hook`: names a skill when it is sure, and never fails or slows a prompt.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use skills_testkit::{Home, eventually};

use crate::support::{agents, bundle, example, server};

const EVERYDAY: &str = include_str!("../data/everyday_prompts.txt");

/// Runs a hook: exit code, standard output, standard error.
fn hooked(command: &mut Command, input: &str) -> (i32, String, String) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A hook that reads nothing is no fault.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// A home whose project has bundles about different things.
fn home() -> Home {
    let home = Home::new();
    for (name, about) in [
        ("vault-rotate", "Rotate the TLS certificates of the payment gateway with vault"),
        ("release-notes", "Write release notes from merged pull requests, grouped by area"),
        ("release-blog", "Write a release blog post from merged pull requests, for customers"),
        ("sql-review", "Review SQL migrations for locks, missing indexes and unsafe defaults"),
        ("a11y-audit", "Audit a page for accessibility with axe and a screen reader"),
        ("heron", "Draw a heron in ink"),
        ("pdf-forms", "Fill and sign PDF forms"),
        ("k8s-debug", "Debug crashing Kubernetes pods: events, probes, limits"),
    ] {
        let body = "Follow these steps with care.";
        home.write(&format!("project/.agents/skills/{name}/SKILL.md"), bundle(name, about, body));
    }
    // No client loads this directory by itself.
    let about = "Press flowers between sheets of paper";
    home.write(".agent/skills/herbarium/SKILL.md", bundle("herbarium", about, "Dry."));
    home
}

// CLIENT-7
#[test]
fn client_7_the_hook_is_silent_where_the_client_loads_all_skills_by_itself() {
    let home = home();
    said(&home, "codex", ROTATE);
    fs::remove_dir_all(home.path().join(".agent")).unwrap();
    assert_eq!(ask(&home, "codex", "alone", ROTATE), "");
    // Claude Code does not read this directory.
    said(&home, "claude-code", ROTATE);
}

/// What the hook says in a conversation that it speaks in, and which that is. On a busy machine it may come to its time limit,
/// and then a prompt goes on without a hint.
fn said(home: &Home, client: &str, prompt: &str) -> (String, String) {
    eventually("the hook speaks", || {
        let session = format!("{client}-{:?}", std::time::Instant::now());
        let out = ask(home, client, &session, prompt);
        (!out.is_empty()).then_some((session, out))
    })
}

fn ask(home: &Home, client: &str, session: &str, prompt: &str) -> String {
    let input =
        json!({"prompt": prompt, "session_id": session, "cwd": home.path().join("project")});
    let (code, out, err) = hooked(&mut agents(home, &["hook", client]), &input.to_string());
    assert_eq!((code, err.as_str()), (0, ""), "{prompt}");
    out
}

const ROTATE: &str = "please rotate the TLS certificates of the payment gateway";

// HOOK-1, HOOK-2
#[test]
fn one_sure_hit_is_named_in_the_clients_own_format_and_once_per_conversation() {
    let home = home();
    for client in
        ["claude-code", "codex", "qwen", "droid", "gemini", "copilot", "opencode", "cline"]
    {
        let (session, out) = said(&home, client, ROTATE);
        let answer: Value = serde_json::from_str(&out).unwrap();
        let own = &answer["hookSpecificOutput"];
        let text = match client {
            "copilot" | "opencode" | "cline" => &answer["additionalContext"],
            "gemini" => {
                assert_eq!(own["hookEventName"], "BeforeAgent");
                &own["additionalContext"]
            }
            _ => {
                assert_eq!(own["hookEventName"], "UserPromptSubmit");
                &own["additionalContext"]
            }
        };
        let text = text.as_str().unwrap();
        let load =
            if matches!(client, "codex" | "gemini" | "cline") { "skill" } else { "load_skill" };
        assert!(text.contains(&format!("{load} name \"vault-rotate\"")), "{client}: {text}");
        assert_eq!(answer.as_object().unwrap().len(), 1, "{answer}");
        assert!(skills_core::estimate::tokens(text) <= 80, "{text}");
        assert_eq!(ask(&home, client, &session, ROTATE), "", "{client} says it twice");
    }
}

// HOOK-1
#[test]
fn a_near_tie_names_up_to_three_and_what_tells_them_apart() {
    let home = home();
    let (_, out) = said(&home, "claude-code", "write about the release from merged pull requests");
    let answer: Value = serde_json::from_str(&out).unwrap();
    let text = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
    assert!((2..=3).contains(&lines.len()), "{text}");
    assert!(text.contains("release-notes") && text.contains("release-blog"), "{text}");
    assert!(text.contains("grouped by area") || text.contains("customers"), "{text}");
    assert!(skills_core::estimate::tokens(text) <= 80, "{text}");
}

// HOOK-1
#[test]
fn everyday_prompts_are_left_alone() {
    let home = home();
    let spoken = |prompt: &&str| !ask(&home, "claude-code", "everyday", prompt).is_empty();
    let loud: Vec<&str> = EVERYDAY.lines().filter(spoken).collect();
    assert_eq!(EVERYDAY.lines().count(), 100);
    assert!(loud.len() <= 5, "{loud:?}");
}

#[test]
fn a_tree_skill_is_named_by_its_path() {
    let home = Home::new();
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.arg("--dir").arg(example()).args(["hook", "claude-code"]);
    let prompt = json!({"prompt": "sign in to a React app with a session cookie"});
    let out = eventually("the hook speaks", || {
        let (code, out, err) = hooked(&mut command, &prompt.to_string());
        assert_eq!((code, err.as_str()), (0, ""));
        (!out.is_empty()).then_some(out)
    });
    assert!(out.contains("get_skill skill_path"), "{out}");
}

// HOOK-3
#[test]
fn whatever_is_wrong_the_prompt_goes_on() {
    let home = home();
    let good = json!({"prompt": ROTATE, "session_id": "s", "cwd": home.path().join("project")})
        .to_string();
    let silent = |command: &mut Command, input: &str, what: &str| {
        assert_eq!(hooked(command, input), (0, String::new(), String::new()), "{what}");
    };
    for (what, input) in [
        ("nothing", ""),
        ("no JSON", "prompt: x"),
        ("no prompt", "{}"),
        ("a prompt of another kind", "{\"prompt\": 7}"),
        ("not UTF-8", "\u{fffd}{"),
        ("an empty prompt", "{\"prompt\": \"\"}"),
    ] {
        silent(&mut agents(&home, &["hook", "claude-code"]), input, what);
    }
    silent(&mut agents(&home, &["hook", "clod-code"]), &good, "an unknown client");
    silent(&mut agents(&home, &["--no-such-flag", "hook", "claude-code"]), &good, "a wrong flag");
    silent(&mut agents(&home, &["hook"]), &good, "no client");
    silent(
        &mut agents(&home, &["--dir", "/nowhere", "hook", "claude-code"]),
        &good,
        "a missing source",
    );
    silent(
        &mut agents(&home, &["--set", "no.such=1", "hook", "claude-code"]),
        &good,
        "a wrong setting",
    );
    silent(server(&home).args(["hook", "claude-code"]), &good, "a missing catalog");
    let mut homeless = agents(&home, &["hook", "claude-code"]);
    silent(homeless.env_remove("HOME"), &good, "no place to remember what was said");
    // The folder of the record is a file.
    home.write(".skills-mcp/hints", "");
    silent(&mut agents(&home, &["hook", "claude-code"]), &good, "no record");
}

#[test]
fn clients_with_a_plugin_of_claude_code_get_their_own_format_and_names() {
    let home = home();
    let spoken = |command: &mut Command, own: Value| {
        let mut input = json!({"prompt": ROTATE, "cwd": home.path().join("project")});
        input.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        eventually("the hook speaks", || {
            let (code, out, _) = hooked(command, &input.to_string());
            assert_eq!(code, 0);
            (!out.is_empty()).then_some(out)
        })
    };
    let codex = spoken(&mut agents(&home, &["hook", "claude-code"]), json!({"turn_id": 3}));
    assert!(codex.contains("UserPromptSubmit") && codex.contains(": skill name"), "{codex}");
    let mut command = agents(&home, &["hook", "claude-code"]);
    let copilot = spoken(command.env("COPILOT_CLI", "1"), json!({"timestamp": 1}));
    let answer: Value = serde_json::from_str(&copilot).unwrap();
    assert!(answer["additionalContext"].is_string(), "{copilot}");
}

#[test]
fn a_changed_skill_is_found_by_the_next_prompt_and_an_old_cache_does_no_harm() {
    let home = home();
    said(&home, "claude-code", ROTATE);
    assert_eq!(fs::read_dir(home.path().join(".skills-mcp/cache")).unwrap().count(), 1);
    said(&home, "claude-code", ROTATE);
    let zeppelin = "paint the zeppelin in stripes of red and white";
    assert_eq!(ask(&home, "claude-code", "before", zeppelin), "");
    let about = "Paint a zeppelin in red and white stripes";
    home.write("project/.agents/skills/zeppelin/SKILL.md", bundle("zeppelin", about, "Steps."));
    assert!(said(&home, "claude-code", zeppelin).1.contains("zeppelin"));
    fs::remove_dir_all(home.path().join("project/.agents/skills/zeppelin")).unwrap();
    assert_eq!(ask(&home, "claude-code", "after", zeppelin), "");
}
