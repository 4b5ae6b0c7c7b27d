//! The skills about this program that it brings itself: served on request, found by what people ask, true, and never in the way.

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use skills_testkit::{Client, Home};

use crate::support::{
    agents, bundle, eventually, example, install_plugins, loaded, run, server, with_all_tools,
};

const EVERYDAY: &str = include_str!("../data/everyday_prompts.txt");
const OWN: [&str; 4] =
    ["skills-mcp-authoring", "skills-mcp-routing", "skills-mcp-server", "skills-mcp-wording"];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("own-skills")
}

/// The names of our own skills among those that are served.
fn own(command: &mut Command) -> Vec<String> {
    let mut client = Client::legacy(
        with_all_tools(std::mem::replace(command, Command::new("true"))),
        "2025-11-25",
    );
    let listed = client.call("skills_list", &json!({"limit": 1000})).text;
    let names =
        listed.lines().filter_map(|line| Some(line.strip_prefix("- ")?.split_once(": ")?.0));
    let mut names: Vec<String> =
        names.filter(|name| name.starts_with("skills-mcp-")).map(str::to_owned).collect();
    names.sort();
    names
}

// OWN-1
#[test]
fn our_own_skills_are_served_beside_everything_else_where_they_are_asked_for() {
    let home = Home::new();
    home.write("skills/theirs/SKILL.md", bundle("theirs", "Their skill", "Text."));
    assert_eq!(own(server(&home).env("SKILLS_DIR", example())), Vec::<String>::new());
    assert_eq!(own(server(&home).env("SKILLS_WITH_OWN_SKILLS", "false")), Vec::<String>::new());
    assert!(!home.path().join(".skills-mcp/own-skills").exists());
    assert_eq!(own(server(&home).env("SKILLS_DIR", example()).arg("--with-own-skills")), OWN);
    assert_eq!(own(server(&home).env("SKILLS_WITH_OWN_SKILLS", "true")), OWN);
    assert_eq!(own(&mut agents(&home, &["--with-own-skills"])), OWN);
    assert_eq!(own(&mut agents(&home, &["--no-default-dirs", "--with-own-skills"])), OWN);
    let mut command = server(&home);
    command.env("SKILLS_DIR", example()).args(["--with-own-skills", "list", "--json"]);
    let (code, out, err) = run(&mut command);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("ui/react") && OWN.iter().all(|name| out.contains(name)), "{out}");
}

// OWN-2
#[test]
fn a_skill_of_the_user_comes_before_ours_of_the_same_name() {
    let theirs = || bundle("skills-mcp-server", "How we run the server", "Ask the platform team.");
    let named = Home::new();
    named.write("skills/ops/SKILL.md", theirs());
    let user = Home::new();
    user.write(".agents/skills/skills-mcp-server/SKILL.md", theirs());
    let plugin = Home::new();
    install_plugins(&plugin, &[("skills-mcp", &[("skills-mcp-server", theirs())])]);
    for (command, name) in [
        (server(&named), "skills-mcp-server"),
        (agents(&user, &[]), "skills-mcp-server"),
        (agents(&plugin, &[]), "skills-mcp:skills-mcp-server"),
    ] {
        let mut command = with_all_tools(command);
        command.arg("--with-own-skills");
        let mut client = Client::legacy(command, "2025-11-25");
        let text = loaded(&mut client, name).unwrap_or_default();
        assert!(text.contains("Ask the platform team."), "{name}: {text}");
        let other = loaded(&mut client, "skills-mcp-routing").unwrap_or_default();
        assert!(other.contains("# Why was that skill found, or not?"), "{other}");
    }
}

// OWN-1
#[test]
fn a_home_that_cannot_be_written_costs_our_own_skills_and_nothing_else() {
    let home = Home::new();
    home.write("skills/theirs/SKILL.md", bundle("theirs", "Their skill", "Text."));
    home.write(".skills-mcp", "no folder");
    let mut command = server(&home);
    command.arg("--with-own-skills");
    let mut client = Client::legacy(with_all_tools(command), "2025-11-25");
    assert!(loaded(&mut client, "theirs").is_some());
    assert!(loaded(&mut client, "skills-mcp-server").is_none());
    let (status, _, log) = client.close();
    assert!(status.success() && log.contains("own-skills"), "{log}");
}

// OWN-3
#[test]
fn our_own_skills_have_no_finding_and_pass_their_routing_tests() {
    let home = Home::new();
    let mut check = server(&home);
    check.env_remove("SKILLS_DIR").args(["check", "--strict", "--all", "--format", "json"]);
    let (code, out, err) = run(check.arg(folder()));
    assert_eq!(code, 0, "{out}{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report.get("findings"), Some(&json!([])));
    assert_eq!(report.get("skills"), Some(&json!(OWN.len())));
    let (code, out, err) = run(server(&home).env_remove("SKILLS_DIR").arg("test").arg(folder()));
    assert_eq!(code, 0, "{out}{err}");
    // Also beside other skills.
    let mut command = server(&home);
    command.env("SKILLS_DIR", example()).arg("--with-own-skills").args(["try", "--expect"]);
    let (code, out, err) =
        run(command.args(["skills-mcp-routing", "why was the wrong skill loaded for my request"]));
    assert_eq!(code, 0, "{out}{err}");
}

// OWN-3
#[test]
fn our_own_skills_are_no_reason_to_speak_at_an_everyday_prompt() {
    let home = Home::new();
    let said = |prompt: &str| {
        let mut command = agents(&home, &["--with-own-skills", "hook", "claude-code"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = json!({"prompt": prompt, "session_id": prompt});
        let _ = child.stdin.take().unwrap().write_all(input.to_string().as_bytes());
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    eventually("the hook speaks", || {
        said("why was the wrong skill loaded for my request")
            .contains("skills-mcp-routing")
            .then_some(())
    });
    let spoke: Vec<&str> = EVERYDAY.lines().filter(|prompt| !said(prompt).is_empty()).collect();
    assert_eq!(spoke, Vec::<&str>::new());
}

/// The commands in backticks and code blocks of a skill: the words after `skills-mcp`.
fn commands(text: &str) -> Vec<Vec<String>> {
    let rest = text.split("skills-mcp ").skip(1);
    let command = |rest: &str| -> Vec<String> {
        let line = rest.lines().next().unwrap_or_default();
        let line = line.split('`').next().unwrap_or_default();
        let line = line.split("   ").next().unwrap_or_default();
        line.split_whitespace().map(str::to_owned).collect()
    };
    rest.map(command).filter(|words| !words.is_empty()).collect()
}

// OWN-3
#[test]
fn commands_and_flags_that_our_own_skills_name_exist() {
    let home = Home::new();
    let (_, shared, _) = run(server(&home).arg("--help"));
    let known = shared.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let known: BTreeSet<&str> = known.filter(|word| !word.is_empty()).collect();
    let mut seen = BTreeSet::new();
    for name in OWN {
        let text = fs::read_to_string(folder().join(name).join("SKILL.md")).unwrap();
        let body = text.splitn(3, "---\n").nth(2).unwrap();
        for words in commands(body) {
            let Some(command) = words.iter().find(|word| known.contains(word.as_str())) else {
                let prose = words.iter().all(|word| !word.starts_with('-'));
                assert!(prose, "{name}: skills-mcp {}", words.join(" "));
                continue;
            };
            let (code, help, _) = run(server(&home).args([command, "--help"]));
            assert_eq!(code, 0, "{name}: {command}");
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                let flag = flag.trim_end_matches([',', ':']);
                let exists = help.contains(flag) || shared.contains(flag);
                assert!(exists, "{name}: skills-mcp {command} has no {flag}");
            }
            seen.insert(command.clone());
        }
    }
    assert!(seen.len() >= 15, "{seen:?}");
}
