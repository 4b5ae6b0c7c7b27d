//! Completions in a real bash, zsh and fish, each installed where `docs/install.md` says, asked by the Tab key.

use std::{path::Path, process::Command};

use serde_json::{Value, json};
use skills_testkit::Home;

const SKILLS_MCP: &str = env!("CARGO_BIN_EXE_skills-mcp");
const PROMPT: &str = "ready> ";
/// Kills the line that was typed.
const CONTROL_U: &str = "\u{15}";
/// Typed before the Tab key, and the word that it then becomes.
const COMPLETED: [(&str, &str); 6] = [
    ("skills-mcp chec", "check"),
    ("skills-mcp check --stri", "--strict"),
    ("skills-mcp check --explain yaml-inv", "yaml-invalid"),
    ("skills-mcp connect claude-d", "claude-desktop"),
    ("skills-mcp config get matching.min_s", "matching.min_score"),
    ("skills-mcp mcp-server --tool-n", "--tool-names"),
];

/// Writes the completions of `shell` to `path` in the home.
fn install(home: &Home, shell: &str, path: &str) {
    let output = Command::new(SKILLS_MCP).args(["completions", shell]).output().unwrap();
    home.write(path, output.stdout);
}

/// Starts a shell on a terminal, types every row of [`COMPLETED`] and Tab, and waits for the whole word.
fn assert_completes(home: &Home, shell: &[&str]) {
    let mut waits_for = PROMPT;
    let mut steps: Vec<(&str, String)> = Vec::new();
    for (typed, completed) in COMPLETED {
        steps.push((waits_for, format!("{CONTROL_U}{typed}\t")));
        waits_for = completed;
    }
    steps.push((waits_for, format!("{CONTROL_U}exit\r")));
    let mut command = home.command("python3");
    command
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/terminal.py"))
        .args(["200", "120", &json!(steps).to_string()])
        .args(shell);
    let output = command.env("TERM", "xterm").output().unwrap();
    let ended: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(ended.get("left"), Some(&json!([])), "{ended}");
}

// PACKAGE-3
#[test]
fn bash_completes_commands_flags_and_values() {
    let home = Home::new();
    install(&home, "bash", ".local/share/bash-completion/completions/skills-mcp");
    home.write("rc", format!("PS1='{PROMPT}'\n. /usr/share/bash-completion/bash_completion\n"));
    assert_completes(&home, &["/bin/bash", "--noprofile", "--rcfile", "rc", "-i"]);
}

// PACKAGE-3
#[test]
fn zsh_completes_commands_flags_and_values() {
    let home = Home::new();
    install(&home, "zsh", "completions/_skills-mcp");
    home.write(
        ".zshrc",
        format!(
            "PS1='{PROMPT}'\nfpath=(~/completions $fpath)\nautoload -U compinit\ncompinit -u\n"
        ),
    );
    assert_completes(&home, &["/usr/bin/zsh", "-d", "-i"]);
}

// PACKAGE-3
#[test]
fn fish_completes_commands_flags_and_values() {
    let home = Home::new();
    install(&home, "fish", ".config/fish/completions/skills-mcp.fish");
    // fish completes only commands that are on the path.
    let folder = Path::new(SKILLS_MCP).parent().unwrap().display();
    for (typed, completed) in COMPLETED {
        // On a terminal fish draws only the characters that change; this command prints whole words.
        let mut fish = home.command("fish");
        fish.args(["-c", "complete -C $argv[1]", typed]).env("PATH", format!("/usr/bin:{folder}"));
        let shown = String::from_utf8(fish.output().unwrap().stdout).unwrap();
        assert!(shown.lines().any(|line| line.starts_with(completed)), "{typed}: {shown}");
    }
}
