//! `connect` and `disconnect`: what they write into the files of clients, and what they leave alone.

use std::{
    fmt::Write as _,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use skills_mcp::clients::{CLIENTS, EntryFormat, KnownClient};
use skills_testkit::Home;

use crate::support::{example, ordinary, run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_skills-mcp");

/// A file of each client that has one, as a person would keep it: other servers, comments, styles of their own.
const KEPT: &[(&str, &str, &str)] = &[
    (
        "kiro",
        ".kiro/settings/mcp.json",
        "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n",
    ),
    (
        "claude-code",
        ".claude.json",
        "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"other\": {\"type\": \"http\", \"url\": \"https://example.org\"}\n  },\n  \"projects\": {}\n}",
    ),
    (
        "codex",
        ".codex/config.toml",
        "# my settings\nmodel = \"x\"   # the best\n\n[mcp_servers.other]\ncommand = \"other\"\nargs = ['a', \"b\"]\n\n[profiles.fast]\nmodel = \"y\"\n# the end\n",
    ),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        "{\r\n\t// servers\r\n\t\"servers\": {\r\n\t\t\"other\": { \"command\": \"x\" }, // mine\r\n\t},\r\n\t\"inputs\": [],\r\n}\r\n",
    ),
    ("cursor", ".cursor/mcp.json", "\u{feff}{\"mcpServers\":{\"other\":{\"command\":\"x\"}}}"),
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        "{\n    \"globalShortcut\": \"\"\n}\n",
    ),
    (
        "gemini",
        ".gemini/settings.json",
        "{\n  \"ui\": {\"theme\": \"dark\"}, // dark\n  /* no servers */\n}\n",
    ),
    (
        "opencode",
        ".config/opencode/opencode.jsonc",
        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"other\": {\"type\": \"remote\", \"url\": \"https://example.org\"} // mine\n  }\n}\n",
    ),
    (
        "copilot",
        ".copilot/mcp-config.json",
        "{\n  \"mcpServers\": {\n    \"other\": {\n      \"command\": \"x\",\n      \"tools\": [\"*\"]\n    }\n  }\n}\n",
    ),
    ("qwen", ".qwen/settings.json", "{\"$version\": 4, \"model\": {\"name\": \"x\"}}"),
    (
        "goose",
        ".config/goose/config.yaml",
        "GOOSE_PROVIDER: x # mine\nextensions:\n  # what comes with it\n  developer:\n    enabled: true\n    type: builtin\n\n# last\nGOOSE_MODE: auto\n",
    ),
    (
        "zed",
        ".config/zed/settings.json",
        "// Zed settings\n{\n  \"theme\": \"One\",\n  \"context_servers\": {\n    \"other\": {\"command\": \"x\", \"args\": []},\n  },\n}\n",
    ),
    (
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}",
    ),
    (
        "continue",
        ".continue/config.yaml",
        "name: mine\nversion: 0.0.1\nschema: v1\nmodels: []\nmcpServers:\n  - name: other\n    command: x\n# last\n",
    ),
    (
        "cline",
        ".cline/data/settings/cline_mcp_settings.json",
        "{\n  \"mcpServers\": {\n    \"other\": {\"transport\": {\"type\": \"stdio\", \"command\": \"x\"}}\n  }\n}\n",
    ),
    (
        "droid",
        ".factory/mcp.json",
        "{\n  \"mcpServers\": {\n    \"other\": {\"type\": \"stdio\", \"command\": \"x\"}\n  }\n}\n",
    ),
];

fn connect(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.command(PROGRAM);
    command.args(arguments).env("PATH", "/nowhere");
    fs::create_dir_all(home.path().join("project")).unwrap();
    command.current_dir(home.path().join("project"));
    command
}

/// Runs it to a good end: what it prints.
fn done(home: &Home, arguments: &[&str]) -> String {
    let (code, out, err) = run(&mut connect(home, arguments));
    assert_eq!((code, &*err), (0, ""), "{arguments:?}: {out}{err}");
    out
}

fn refused(home: &Home, arguments: &[&str]) -> (i32, String) {
    let (code, out, err) = run(&mut connect(home, arguments));
    assert_ne!(code, 0, "{arguments:?}: {out}{err}");
    (code, err)
}

/// The same command, whose program is called as ours is: an entry is recognised by that name.
fn under_our_name(home: &Home, command: &Command) -> Command {
    let (copy, named) = (home.path().join("program"), home.path().join("skills-mcp"));
    if copy.exists() {
        fs::rename(&copy, &named).unwrap();
    }
    let mut renamed = home.command(command.get_program());
    let renaming = |word| if word == copy.as_os_str() { named.as_os_str() } else { word };
    renamed.args(command.get_args().map(renaming));
    renamed
}

fn text(home: &Home, file: &str) -> String {
    fs::read_to_string(home.path().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn with_kept_files() -> Home {
    let home = Home::new();
    for (_, file, text) in KEPT {
        home.write(file, text);
    }
    home
}

#[test]
fn every_client_with_an_entry_is_tried_here() {
    let kept: Vec<&str> = KEPT.iter().map(|(id, ..)| *id).collect();
    let known = CLIENTS.iter().filter(|client| client.entry.is_some());
    for client in known {
        assert!(kept.contains(&client.id), "{} is not", client.id);
    }
}

// CONNECT-2, CONNECT-3, CONNECT-5
#[test]
fn every_file_gets_an_entry_once_keeps_the_rest_and_is_restored() {
    let home = with_kept_files();
    let source = example().canonicalize().unwrap();
    let source = source.to_str().unwrap();
    let arguments = ["--dir", source, "--tools", "tree", "connect", "--yes", "--no-verify"];
    let out = done(&home, &arguments);
    for (id, file, before) in KEPT {
        let client = KnownClient::of_id(id).unwrap();
        assert!(out.contains(&format!("{}: connected", client.name)), "{id}: {out}");
        let after = text(&home, file);
        // Commas may come between.
        let bare = |text: &str| text.replace([',', '\t', ' '], "").replace("\r\n", "\n");
        for line in before.lines().filter(|line| line.contains("other") || line.contains("//")) {
            let kept = bare(line.trim_end_matches(['}', '\n']));
            assert!(bare(&after).contains(&kept), "{id}: {kept:?} is gone from {after}");
        }
        assert!(after.contains(source) && after.contains("skills-mcp"), "{id}: {after}");
        assert_eq!(after.contains("\r\n"), before.contains("\r\n"), "{id}");
        assert_eq!(after.starts_with('\u{feff}'), before.starts_with('\u{feff}'), "{id}");
        if matches!(client.entry.unwrap().format, EntryFormat::McpServers) && !before.contains("/*")
        {
            let value: Value = serde_json::from_str(after.trim_start_matches('\u{feff}')).unwrap();
            let entry = value.pointer("/mcpServers/skills").unwrap();
            assert_eq!(entry.get("command"), Some(&json!(PROGRAM)), "{id}");
            let args = json!(["--dir", source, "--tools", "tree"]);
            assert_eq!(entry.get("args"), Some(&args), "{id}");
        }
    }
    let once: Vec<String> = KEPT.iter().map(|(_, file, _)| text(&home, file)).collect();
    let again = done(&home, &arguments);
    assert_eq!(again.matches("already connected").count(), KEPT.len(), "{again}");
    // A command line that says nothing of sources changes none.
    let plain = done(&home, &["connect", "--yes", "--no-verify"]);
    assert_eq!(plain.matches("already connected").count(), KEPT.len(), "{plain}");
    let twice: Vec<String> = KEPT.iter().map(|(_, file, _)| text(&home, file)).collect();
    assert_eq!(twice, once);
    done(&home, &["disconnect", "--yes"]);
    for (id, file, before) in KEPT {
        assert_eq!(text(&home, file), *before, "{id}");
    }
    let gone = done(&home, &["disconnect", "--yes"]);
    assert_eq!(gone.matches("not connected, nothing to remove").count(), KEPT.len(), "{gone}");
}

#[test]
fn what_is_written_looks_like_the_rest_of_the_file() {
    let home = with_kept_files();
    let mut command = connect(&home, &["--dir", "/", "connect", "--yes", "--no-verify"]);
    let (code, _, err) = run(command.env("SKILLS_TOOLS", "all").env("GITHUB_TOKEN", "x"));
    assert_eq!(code, 0, "{err}");
    let mut all = String::new();
    for (_, file, _) in KEPT {
        let shown = text(&home, file).replace(PROGRAM, "[program]");
        let shown = shown.replace('\t', "[tab]").replace('\r', "[cr]").replace('\u{feff}', "[bom]");
        writeln!(all, "==> {file} <==\n{shown}").unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn files_that_are_not_there_are_made_and_removed_again() {
    let home = Home::new();
    for (id, file, _) in KEPT {
        done(&home, &["connect", id, "--yes", "--no-verify"]);
        let file = if *id == "opencode" { ".config/opencode/opencode.json" } else { file };
        assert!(text(&home, file).contains(PROGRAM), "{id}");
        done(&home, &["disconnect", id, "--yes"]);
        assert!(!home.path().join(file).exists(), "{id}");
        // A folder of a client would say that it is on this machine.
        let (code, err) = refused(&home, &["connect", "--dry-run"]);
        assert!(code == 2 && err.contains("no client was found"), "{id}: {err}");
    }
    // A folder with something of another program's stays.
    home.write(".codeium/other", "");
    done(&home, &["connect", "windsurf", "claude-code", "--hook", "--yes", "--no-verify"]);
    done(&home, &["disconnect", "windsurf", "claude-code", "--yes"]);
    let is_there = |folder: &str| home.path().join(folder).exists();
    assert_eq!([".codeium/windsurf", ".codeium", ".claude"].map(is_there), [false, true, false]);
    done(&home, &["connect", "claude-code", "continue", "--project", "--yes", "--no-verify"]);
    for file in ["project/.mcp.json", "project/.continue/mcpServers/skills.yaml"] {
        let entry = text(&home, file);
        assert!(entry.contains("skills-mcp") && !entry.contains(PROGRAM), "{entry}");
    }
    done(&home, &["disconnect", "claude-code", "continue", "--yes"]);
    assert!(!home.path().join("project/.mcp.json").exists());
    assert_eq!(fs::read_dir(home.path().join("project")).unwrap().count(), 0);
}

// CONNECT-3
#[test]
fn connect_3_a_projects_file_has_nothing_of_one_persons_machine_and_doctor_repairs_it_there() {
    let home = Home::new();
    home.write("project/.git/HEAD", "");
    home.write(".claude.json", "{}");
    home.write(
        "project/skills/note/SKILL.md",
        "---\nname: note\ndescription: Take notes.\n---\nWrite.\n",
    );
    let said = done(
        &home,
        &["--dir", "skills", "connect", "claude-code", "--project", "--yes", "--no-verify"],
    );
    let entry: Value = serde_json::from_str(&text(&home, "project/.mcp.json")).unwrap();
    let ours = json!({"command": "skills-mcp", "args": ["--dir", "./skills"]});
    let shown = &entry["mcpServers"]["skills"];
    assert_eq!((&shown["command"], &shown["args"]), (&ours["command"], &ours["args"]), "{entry}");
    assert!(said.contains("`skills-mcp` is not on your PATH"), "{said}");
    let broken =
        text(&home, "project/.mcp.json").replace("\"skills-mcp\"", "\"/home/ada/bin/skills-mcp\"");
    home.write("project/.mcp.json", broken);
    let (_, out, _) = run(&mut connect(&home, &["--dir", "skills", "doctor"]));
    assert!(out.contains("connect claude-code --project"), "{out}");
}

// CONNECT-1
#[test]
fn a_client_that_loads_the_skills_by_itself_is_connected_only_by_its_name() {
    let home = Home::new();
    home.write(".claude.json", "{}");
    home.write(
        ".claude/skills/note/SKILL.md",
        "---\nname: note\ndescription: Take notes.\n---\nWrite.\n",
    );
    home.write(".codex/config.toml", "");
    let said = done(&home, &["connect", "--yes", "--no-verify"]);
    assert!(said.contains("Claude Code: loads these skills by itself"), "{said}");
    assert_eq!(text(&home, ".claude.json"), "{}");
    assert!(text(&home, ".codex/config.toml").contains("skills-mcp"), "{said}");
    done(&home, &["connect", "claude-code", "--yes", "--no-verify"]);
    assert!(text(&home, ".claude.json").contains("skills-mcp"));
}

#[test]
fn what_the_files_say_is_what_python_reads() {
    let home = with_kept_files();
    done(&home, &["--dir", "/", "connect", "--yes", "--no-verify"]);
    let script = "import json, sys, tomllib\n\
        codex = tomllib.load(open(sys.argv[1], 'rb'))['mcp_servers']\n\
        cursor = json.load(open(sys.argv[2], encoding='utf-8-sig'))['mcpServers']\n\
        print(json.dumps([codex['skills'], codex['other'], cursor['skills']]))";
    let mut python = home.command("python3");
    python.args(["-c", script]);
    python.args([".codex/config.toml", ".cursor/mcp.json"].map(|file| home.path().join(file)));
    let (code, out, err) = run(&mut python);
    assert_eq!(code, 0, "{err}");
    let read: Value = serde_json::from_str(&out).unwrap();
    let ours = json!({"command": PROGRAM, "args": ["--dir", "/"]});
    assert_eq!(read, json!([ours, {"command": "other", "args": ["a", "b"]}, ours]));
}

// CONNECT-3
#[test]
fn an_entry_of_ours_is_brought_up_to_date_under_its_own_name() {
    let home = Home::new();
    home.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"team\": {\"command\": \"npx\", \"args\": [\"-y\", \"@skills-mcp/server\", \"--repo\", \"https://example.org/x.git\"], \"env\": {\"GITHUB_TOKEN\": \"mine\", \"SKILLS_TOOLS\": \"all\"}, \"disabled\": false}}}",
    );
    done(&home, &["connect", "cursor", "--yes"]);
    let read: Value = serde_json::from_str(&text(&home, ".cursor/mcp.json")).unwrap();
    let env = json!({"GITHUB_TOKEN": "mine", "SKILLS_TOOLS": "all"});
    let entry = json!({"command": PROGRAM, "args": ["--repo", "https://example.org/x.git"], "env": env, "disabled": false});
    assert_eq!(read, json!({"mcpServers": {"team": entry}}));
    done(&home, &["--dir", "/", "connect", "cursor", "--yes"]);
    let read: Value = serde_json::from_str(&text(&home, ".cursor/mcp.json")).unwrap();
    assert_eq!(read.pointer("/mcpServers/team/args"), Some(&json!(["--dir", "/"])));
    assert_eq!(read.pointer("/mcpServers/team/env"), Some(&env), "they say nothing of sources");
    // Another server that has our name keeps it.
    home.write(".factory/mcp.json", "{\"mcpServers\": {\"skills\": {\"command\": \"theirs\"}}}");
    done(&home, &["connect", "droid", "--yes", "--no-verify"]);
    let read: Value = serde_json::from_str(&text(&home, ".factory/mcp.json")).unwrap();
    assert_eq!(read.pointer("/mcpServers/skills"), Some(&json!({"command": "theirs"})));
    assert!(read.pointer("/mcpServers/skills-2/command").is_some(), "{read}");
}

// CONNECT-3
#[test]
fn a_flag_changes_only_what_it_says_of_an_entry() {
    let home = Home::new();
    let repository = "https://github.com/your-org/skills.git";
    let mut entry = json!({
        "command": PROGRAM,
        "args": ["--repo", repository, "--set", "matching.min_score=0.3"],
        "env": {
            "ANALYTICS_ENDPOINT": "https://example.org", "SKILLS_TRUST": "strict",
            "SKILLS_BRANCH": "dev", "GITHUB_TOKEN": "mine", "A": "1",
        },
    });
    home.write(".cursor/mcp.json", json!({"mcpServers": {"s": entry}}).to_string());
    let after = |flags: &[&str]| {
        done(&home, &[flags, &["connect", "cursor", "--yes", "--no-verify"]].concat());
        let read: Value = serde_json::from_str(&text(&home, ".cursor/mcp.json")).unwrap();
        read.pointer("/mcpServers/s").unwrap().clone()
    };
    let flags = ["--tools", "flat"];
    entry["args"] =
        json!(["--repo", repository, "--set", "matching.min_score=0.3", "--tools", "flat"]);
    assert_eq!(after(&flags), entry);
    entry["args"] = json!(["--dir", "/", "--set", "matching.min_score=0.4", "--tools", "flat"]);
    entry["env"].as_object_mut().unwrap().remove("SKILLS_BRANCH");
    assert_eq!(after(&["--dir", "/", "--set", "matching.min_score=0.4"]), entry);
    assert_eq!(after(&flags), entry);
}

// CONNECT-3, CONNECT-6
#[test]
fn a_hook_that_is_there_is_brought_up_to_date_with_the_entry() {
    let home = Home::new();
    for folder in ["team", "first"] {
        home.write(&format!("{folder}/a/SKILL.md"), "---\nname: a\ndescription: A.\n---\nA.\n");
    }
    let folder = |name: &str| home.path().join(name).display().to_string();
    let (team, first) = (folder("team"), folder("first"));
    let clients = ["connect", "codex", "gemini", "--yes", "--no-verify"];
    done(&home, &[&["--dir", &*team], &clients[..], &["--hook"]].concat());
    let files = [".codex/hooks.json", ".gemini/settings.json"];
    let hooks = || files.map(|file| text(&home, file));
    let once = hooks();
    assert!(once.iter().all(|hook| hook.contains(&team)), "{once:?}");
    // Without flags the entries keep their sources, and the hooks have the same.
    for again in [clients.to_vec(), [&clients[..], &["--hook"]].concat()] {
        assert_eq!(done(&home, &again).matches("already connected").count(), 2);
        assert_eq!(hooks(), once);
    }
    let out = done(&home, &[&["--dir", &*first], &clients[..]].concat());
    assert!(out.contains("+++ ") && out.contains(".codex/hooks.json"), "{out}");
    assert!(out.contains("Codex runs the hook once you trust it"), "{out}");
    assert_eq!(hooks(), once.clone().map(|hook| hook.replace(&team, &first)));
    // A program that was elsewhere.
    home.write(".codex/hooks.json", once[0].replace(PROGRAM, "/gone/skills-mcp"));
    done(&home, &clients);
    assert_eq!(hooks()[0], once[0].replace(&team, &first));
    // One that is not there is not added, and a file that is not understood is left alone.
    for other in ["{}\n", "{oops"] {
        home.write(".codex/hooks.json", other);
        done(&home, &clients);
        assert_eq!(hooks()[0], other);
    }
}

// CONNECT-2
#[test]
fn a_file_that_is_not_understood_or_cannot_be_written_stays_as_it_is() {
    let home = Home::new();
    let broken = "{\n  \"mcpServers\": {\n    oops\n  }\n}\n";
    home.write(".cursor/mcp.json", broken);
    home.write(".codex/config.toml", "a = 1\na = 2\n");
    let (code, err) = refused(&home, &["connect", "cursor", "--yes"]);
    assert!(code == 2 && err.contains(".cursor/mcp.json:3: "), "{err}");
    let (_, err) = refused(&home, &["connect", "codex", "--yes"]);
    assert!(err.contains(".codex/config.toml:2: "), "{err}");
    assert_eq!(text(&home, ".cursor/mcp.json"), broken);
    assert_eq!(text(&home, ".codex/config.toml"), "a = 1\na = 2\n");
    // With others beside it, those are connected, and the mistake is still said.
    home.write(".qwen/settings.json", "{}");
    let (code, out, err) = run(&mut connect(&home, &["connect", "--yes", "--no-verify"]));
    assert!(
        code == 2 && out.contains("Qwen Code: connected") && err.contains("config.toml:2"),
        "{out}{err}"
    );
    assert!(out.contains("Cursor: not connected: ") && out.contains("mcp.json:3"), "{out}");
    assert!(out.contains("Codex: not connected; the reason is at the end"), "{out}");
    assert_eq!(format!("{out}{err}").matches("config.toml:2").count(), 1, "{out}{err}");
    assert!(err.contains("this file is as it was") && !err.contains("nothing was"), "{err}");
    // A file that may not be read.
    let file = home.path().join(".qwen/settings.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    let command = connect(&home, &["connect", "qwen", "--yes", "--no-verify"]);
    let (_, _, err) = run(&mut under_our_name(&home, &ordinary(&home, command)));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(err.contains("fix its permissions; this file is as it was"), "{err}");
    // A folder that may not be written.
    let old = "{\"mcpServers\": {}}";
    home.write(".gemini/settings.json", old);
    let folder = home.path().join(".gemini");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let command = connect(&home, &["connect", "gemini", "--yes", "--no-verify"]);
    let (code, _, err) = run(&mut under_our_name(&home, &ordinary(&home, command)));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(code == 3 && err.contains("settings.json: cannot be written"), "{code} {err}");
    assert_eq!(text(&home, ".gemini/settings.json"), old);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
}

// CONNECT-1
#[test]
fn without_a_terminal_a_yes_has_to_be_said_and_a_dry_run_writes_nothing() {
    let home = Home::new();
    let (code, err) = refused(&home, &["connect", "codex"]);
    assert!(code == 2 && err.contains("--yes") && err.contains("--dry-run"), "{err}");
    let shown = done(&home, &["connect", "codex", "--dry-run"]);
    assert!(shown.contains("+[mcp_servers.skills]"), "{shown}");
    assert!(!home.path().join(".codex").exists());
    let (code, err) = refused(&home, &["connect", "--yes"]);
    assert!(code == 2 && err.contains("no client was found") && err.contains("codex"), "{err}");
    let (code, err) = refused(&home, &["connect", "curser", "--yes"]);
    assert!(code == 2 && err.contains("did you mean cursor?"), "{err}");
    let (code, err) = refused(&home, &["--dir", "/not/there", "connect", "codex", "--yes"]);
    assert!(code == 2 && err.contains("/not/there"), "{err}");
}

// CONNECT-1
#[test]
fn a_person_is_asked_at_a_terminal() {
    let home = Home::new();
    home.write(".cursor/mcp.json", "{}");
    for (answer, is_written) in [("n\n", false), ("y\n", true)] {
        let steps = json!([["Write this? [y/N]", answer]]).to_string();
        let mut command = home.command("python3");
        command.arg("-c").arg(include_str!("terminal.py"));
        command.args(["80", "30", &steps, PROGRAM, "connect", "cursor"]).env("TERM", "xterm");
        let (_, out, err) = run(&mut command);
        let ended: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        assert_eq!(ended.get("code"), Some(&json!(0)), "{ended}");
        assert_eq!(text(&home, ".cursor/mcp.json").contains(PROGRAM), is_written, "{ended}");
    }
}

// CONNECT-4
#[test]
fn secrets_are_named_and_never_written() {
    let home = Home::new();
    let ids = ["codex", "gemini", "vscode", "claude-code", "windsurf", "copilot"];
    let mut command = connect(&home, &["connect", "--yes", "--no-verify"]);
    command.args(ids).env("GITHUB_TOKEN", "ghp_secret");
    command.env("SKILLS_REPO", "https://example.org/x.git");
    let (code, out, err) = run(&mut command);
    assert_eq!(code, 0, "{err}");
    let file = |id: &str| text(&home, KEPT.iter().find(|(kept, ..)| *kept == id).unwrap().1);
    for id in ids {
        assert!(!file(id).contains("ghp_secret"), "{id}");
        assert!(file(id).contains("https://example.org/x.git"), "{id}");
    }
    assert!(!out.contains("ghp_secret"));
    assert!(file("codex").contains("env_vars = [\"GITHUB_TOKEN\"]"));
    assert!(file("gemini").contains("\"GITHUB_TOKEN\": \"$GITHUB_TOKEN\""));
    assert!(file("vscode").contains("\"GITHUB_TOKEN\": \"${env:GITHUB_TOKEN}\""));
    assert!(!file("claude-code").contains("GITHUB_TOKEN"), "it passes all variables on");
    assert!(out.contains("Windsurf does not pass GITHUB_TOKEN on"), "{out}");
    assert!(out.contains("GitHub Copilot CLI does not pass GITHUB_TOKEN on"), "{out}");
    assert!(!file("copilot").contains("GITHUB_TOKEN"));
    let mut command = connect(&home, &["connect", "claude-desktop", "--yes", "--no-verify"]);
    command.env("ANALYTICS_TOKEN", "at_secret").env("ANALYTICS_ENDPOINT", "https://example.org");
    let (code, out, err) = run(&mut command);
    assert_eq!(code, 0, "{err}");
    let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("does not pass ANALYTICS_TOKEN on"), "{out}");
    assert!(said.contains(": usage events are sent without it, and the endpoint may"), "{out}");
    assert!(!out.contains("private repositories") && !out.contains("at_secret"), "{out}");
}

// CONNECT-5, CONNECT-6
#[test]
fn hooks_of_others_stay_and_a_plugin_of_ours_is_warned_of() {
    let home = Home::new();
    let theirs = "{\n  \"enabledPlugins\": {\"skills@skills-mcp\": true},\n  \"hooks\": {\n    \"UserPromptSubmit\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]}\n    ]\n  }\n}\n";
    home.write(".claude/settings.json", theirs);
    let arguments = [
        "--dir",
        "/",
        "connect",
        "claude-code",
        "copilot",
        "gemini",
        "--hook",
        "--yes",
        "--no-verify",
    ];
    let out = done(&home, &arguments);
    assert!(out.contains("each prompt gets two hints"), "{out}");
    let settings = text(&home, ".claude/settings.json");
    assert!(
        settings.contains("\"theirs\"") && settings.contains(" --dir / hook claude-code || true"),
        "{settings}"
    );
    assert!(text(&home, ".copilot/hooks/skills.json").contains("\"version\": 1"));
    let gemini: Value = serde_json::from_str(&text(&home, ".gemini/settings.json")).unwrap();
    assert_eq!(gemini.pointer("/hooks/BeforeAgent/0/hooks/0/timeout"), Some(&json!(5_000)));
    assert!(gemini.pointer("/mcpServers/skills").is_some());
    assert_eq!(done(&home, &arguments).matches("already connected").count(), 3);
    done(&home, &["disconnect", "claude-code", "copilot", "gemini", "--yes"]);
    assert_eq!(text(&home, ".claude/settings.json"), theirs);
    assert!(!home.path().join(".copilot/hooks/skills.json").exists());
    assert!(!home.path().join(".gemini/settings.json").exists());
}

// CONNECT-6
#[test]
fn a_rule_in_the_words_of_the_instructions_is_written_and_removed() {
    let home = Home::new();
    home.write("project/AGENTS.md", "# Rules\n\nBe kind.\n");
    let source = example().canonicalize().unwrap();
    let source = source.to_str().unwrap();
    let with = |more: &[&str]| {
        let mut arguments = vec!["--dir", source, "connect", "copilot", "--yes", "--no-verify"];
        arguments.extend(more);
        done(&home, &arguments)
    };
    with(&[]);
    assert!(!text(&home, "project/AGENTS.md").contains("skills-mcp:begin"), "it was not asked for");
    with(&["--rules"]);
    let rules = text(&home, "project/AGENTS.md");
    let block = rules.split("<!-- skills-mcp:begin -->\n").nth(1).unwrap();
    let block = block.split("<!-- skills-mcp:end -->").next().unwrap();
    assert_eq!(block.lines().count(), 2, "{block}");
    assert!(block.contains("`skills`") && block.contains("Before a task, call"), "{block}");
    with(&["--rules"]);
    assert_eq!(text(&home, "project/AGENTS.md"), rules);
    done(&home, &["disconnect", "copilot", "--yes"]);
    assert_eq!(text(&home, "project/AGENTS.md"), "# Rules\n\nBe kind.\n");
}

// CONNECT-3, CONNECT-5, CONNECT-6
#[test]
fn one_block_of_rules_serves_all_clients_and_goes_with_the_last_that_needs_it() {
    let home = Home::new();
    home.write("skills/note/SKILL.md", "---\nname: note\ndescription: Takes notes.\n---\nNote.\n");
    let skills = home.path().join("skills");
    let skills = skills.to_str().unwrap();
    let all = ["copilot", "continue", "cline", "zed", "codex"];
    let with = |clients: &[&str]| {
        let first = ["--dir", skills, "--tools", "skill", "connect", "--rules"];
        done(&home, &[&first, ["--yes", "--no-verify"].as_slice(), clients].concat())
    };
    let out = with(&all);
    assert_eq!(out.matches("+<!-- skills-mcp:begin -->").count(), 1, "{out}");
    let rules = text(&home, "project/AGENTS.md");
    assert!(rules.contains("call skill or load_skill with its `name`"), "{rules}");
    assert!(rules.contains("Where there is no such tool: before a task"), "{rules}");
    assert_eq!(rules.lines().count(), 4, "{rules}");
    for client in all {
        let again = with(&[client]);
        assert!(!again.contains("AGENTS.md"), "{again}");
    }
    assert_eq!(text(&home, "project/AGENTS.md"), rules);
    let out = done(&home, &["disconnect", "copilot", "continue", "--yes"]);
    assert!(out.contains("AGENTS.md keeps its two lines: "), "{out}");
    assert_eq!(text(&home, "project/AGENTS.md"), rules);
    let shown = done(&home, &["disconnect", "cline", "zed", "codex", "--dry-run"]);
    assert_eq!(shown.matches("-<!-- skills-mcp:begin -->").count(), 1, "{shown}");
    done(&home, &["disconnect", "cline", "zed", "--yes"]);
    assert_eq!(text(&home, "project/AGENTS.md"), rules);
    done(&home, &["disconnect", "codex", "--yes"]);
    assert!(!home.path().join("project/AGENTS.md").exists());
    // A client that shows its model the instructions, whose block a person asked for.
    with(&["gemini"]);
    done(&home, &["disconnect", "gemini", "--yes"]);
    assert!(!home.path().join("project/AGENTS.md").exists());
}

// CONNECT-2, CONNECT-5
#[test]
fn what_was_there_before_is_there_after_disconnect() {
    let home = Home::new();
    let cases = [
        ("{}", "{}"),
        ("{}\n", "{}\n"),
        ("{\"mcpServers\": {}}", "{\"mcpServers\": {}}"),
        ("{\n  \"mcpServers\": {}\n}\n", "{\n  \"mcpServers\": {}\n}\n"),
        ("", "{}"),
        ("\u{feff}", "\u{feff}{}"),
        ("// none yet\n", "// none yet\n{}\n"),
        ("{\n  // none yet\n}\n", "{\n  // none yet\n}\n"),
        (
            "{\"a\": 1, \"mcpServers\": {\n  // \"old\": {\"command\": \"x\"}\n}}",
            "{\"a\": 1, \"mcpServers\": {\n  // \"old\": {\"command\": \"x\"}\n}}",
        ),
    ];
    for (before, after) in cases {
        home.write(".cursor/mcp.json", before);
        done(&home, &["connect", "cursor", "--yes", "--no-verify"]);
        assert!(text(&home, ".cursor/mcp.json").contains(PROGRAM));
        done(&home, &["disconnect", "cursor", "--yes"]);
        assert_eq!(text(&home, ".cursor/mcp.json"), after, "{before}");
    }
    for (before, after) in [
        ("extensions:\n", "extensions: {}\n"),
        ("a: 1\nextensions: {}\n", "a: 1\nextensions: {}\n"),
    ] {
        home.write(".config/goose/config.yaml", before);
        done(&home, &["connect", "goose", "--yes", "--no-verify"]);
        assert!(text(&home, ".config/goose/config.yaml").contains(PROGRAM));
        done(&home, &["disconnect", "goose", "--yes"]);
        assert_eq!(text(&home, ".config/goose/config.yaml"), after);
    }
    home.write(".codex/config.toml", "");
    // The entry and the hook are in one file.
    home.write(".gemini/settings.json", "{}\n");
    done(&home, &["connect", "codex", "gemini", "--hook", "--yes", "--no-verify"]);
    let both = text(&home, ".gemini/settings.json");
    assert!(both.starts_with("{\"mcpServers\": {\n  \"skills\": {\n"), "{both}");
    assert!(both.contains("\n}, \"hooks\": {\n  \"BeforeAgent\": [\n"), "{both}");
    done(&home, &["disconnect", "codex", "gemini", "--yes"]);
    assert_eq!(text(&home, ".codex/config.toml"), "");
    assert_eq!(text(&home, ".gemini/settings.json"), "{}\n");
}

// CONNECT-2, CONNECT-5
#[test]
fn a_link_stays_a_link_whatever_its_target_says() {
    let home = Home::new();
    let link = home.path().join(".cursor/mcp.json");
    fs::create_dir_all(home.path().join(".cursor")).unwrap();
    symlink("../dot/mcp.json", &link).unwrap();
    // Its target is not there yet.
    done(&home, &["connect", "cursor", "--yes", "--no-verify"]);
    assert!(link.is_symlink());
    assert!(text(&home, "dot/mcp.json").contains(PROGRAM));
    done(&home, &["disconnect", "cursor", "--yes"]);
    assert!(link.is_symlink());
    assert_eq!(text(&home, "dot/mcp.json"), "{}\n");
}

// CONNECT-3, CONNECT-5
#[test]
fn an_entry_of_one_project_alone_is_named_and_removed() {
    let home = Home::new();
    let project = home.path().join("project").canonicalize().unwrap_or(home.path().join("project"));
    let theirs = json!({"other": {"command": "x"}});
    let with = |servers: Value| {
        let project = project.to_str().unwrap();
        format!(
            "{:#}\n",
            json!({"projects": {project: {"allowedTools": [], "mcpServers": servers}}})
        )
    };
    let mut servers = theirs.clone();
    servers["skills"] = json!({"command": PROGRAM, "args": []});
    home.write(".claude.json", with(servers));
    let out = done(&home, &["connect", "claude-code", "--yes", "--no-verify"]);
    assert!(out.contains("an entry `skills` for this server too (local)"), "{out}");
    let out = done(&home, &["disconnect", "claude-code", "--yes"]);
    assert!(out.contains("Claude Code: disconnected"), "{out}");
    assert_eq!(text(&home, ".claude.json"), with(theirs));
    // Its map is Claude Code's own.
    home.write(".claude.json", with(json!({"s": {"command": PROGRAM}})));
    done(&home, &["disconnect", "claude-code", "--yes"]);
    assert_eq!(text(&home, ".claude.json"), with(json!({})));
}

/// What `doctor` says in the end: the verdict and the next step.
fn verdict(home: &Home) -> (String, String) {
    let (_, out, err) = run(&mut connect(home, &["doctor", "--json"]));
    let said: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    let word = |key: &str| said.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    (word("verdict"), word("next"))
}

#[test]
fn an_entry_that_is_switched_off_is_not_called_connected() {
    let home = Home::new();
    home.write("skills/note/SKILL.md", "---\nname: note\ndescription: Takes notes.\n---\nNote.\n");
    done(&home, &["add", home.path().join("skills").to_str().unwrap()]);
    let codex = format!("[mcp_servers.skills]\ncommand = \"{PROGRAM}\"\nenabled = false\n");
    home.write(".codex/config.toml", &codex);
    let cursor = json!({"mcpServers": {"skills": {"command": "skills-mcp", "disabled": true}}});
    home.write(".cursor/mcp.json", format!("{cursor:#}"));
    let out = done(&home, &["connect", "codex", "cursor", "--yes", "--no-verify"]);
    let file = |name: &str| home.path().join(name).display().to_string();
    assert!(out.contains("Codex: its entry is there, nothing to change"), "{out}");
    assert!(out.contains("Cursor: its entry is written"), "{out}");
    let one_line = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let codex_line = format!("remove `enabled = false` in {}:3", file(".codex/config.toml"));
    let cursor_line = format!("remove `\"disabled\": true` in {}:5", file(".cursor/mcp.json"));
    for line in [codex_line, cursor_line] {
        assert!(one_line.contains(&format!("the entry is switched off: {line}")), "{line}: {out}");
    }
    assert_eq!(text(&home, ".codex/config.toml"), codex);
    let (said, _) = verdict(&home);
    assert!(said.contains("Codex and Cursor have entries that are switched off."), "{said}");
    done(&home, &["disconnect", "cursor", "--yes"]);
    let (said, _) = verdict(&home);
    let way = "Codex has an entry that is switched off: remove `enabled = false` in ~/.codex/config.toml:3.";
    assert!(said.contains(way), "{said}");
    // Where every entry says whether it is switched on, `connect` switches it on.
    let goose = format!("extensions:\n  skills:\n    cmd: {PROGRAM}\n    enabled: false\n");
    home.write(".config/goose/config.yaml", goose);
    fs::remove_dir_all(home.path().join(".codex")).unwrap();
    fs::remove_dir_all(home.path().join(".cursor")).unwrap();
    assert_eq!(verdict(&home).1, "skills-mcp connect goose");
    let out = done(&home, &["connect", "goose", "--yes", "--no-verify"]);
    assert!(out.contains("Goose: connected"), "{out}");
    assert!(!verdict(&home).0.contains("switched off"));
}

// CONNECT-3
#[test]
fn the_second_colleague_is_told_what_is_missing_and_changes_no_shared_entry() {
    let home = Home::new();
    home.write("project/.git/HEAD", "");
    home.write(".claude.json", "{}");
    let note = "---\nname: note\ndescription: Take notes.\n---\nWrite.\n";
    home.write("project/skills/note/SKILL.md", note);
    let entry = json!({"mcpServers": {"skills": {"command": "npx", "args": ["-y", "@skills-mcp/server", "--dir", "./skills"]}}});
    home.write("project/.mcp.json", entry.to_string());
    // Others have npx, so that it stays.
    let project = ["connect", "claude-code", "--project", "--yes", "--no-verify"];
    let said = done(&home, &project);
    assert_eq!(serde_json::from_str::<Value>(&text(&home, "project/.mcp.json")).unwrap(), entry);
    assert!(said.contains("`npx` is not on your PATH"), "{said}");
    home.write("project/.mcp.json", entry.to_string().replace("npx", "skills-mcp"));
    let out = run(&mut connect(&home, &["doctor"])).1;
    assert!(out.contains("starts `skills-mcp`, which is not on your PATH"), "{out}");
    assert!(out.contains("as the entry of Claude Code names them"), "{out}");
    let folder = Path::new(PROGRAM).parent().unwrap().display();
    assert_eq!(verdict(&home).1, format!("export PATH={folder}:$PATH"));
    // The user's entry of the same name does not hide the project's, which counts.
    done(&home, &["connect", "claude-code", "--user", "--yes", "--no-verify"]);
    assert_eq!(verdict(&home).1, format!("export PATH={folder}:$PATH"));
}

#[test]
fn doctor_looks_at_what_the_connected_client_serves() {
    let home = Home::new();
    home.write("content/note/SKILL.md", "---\nname: note\ndescription: Takes notes.\n---\nNote.\n");
    fs::create_dir_all(home.path().join(".codex")).unwrap();
    let folder = home.path().join("content").display().to_string();
    done(&home, &["--dir", &folder, "connect", "codex", "--yes", "--no-verify"]);
    let out = done(&home, &["doctor"]);
    assert!(
        out.contains("as the entry of Codex names them") && out.contains("1 skill in"),
        "{out}"
    );
    assert!(out.contains("connected, the same skills"), "{out}");
    let (said, next) = verdict(&home);
    assert!(said.starts_with("1 skill in 1 place."), "{said}");
    assert!(next.contains(&format!("--dir {folder} try")), "{next}");
    // What a command names itself counts.
    fs::create_dir_all(home.path().join("project/other")).unwrap();
    let (_, out, _) = run(&mut connect(&home, &["--dir", "other", "doctor"]));
    assert!(out.contains("connected, but to") && !out.contains("names them"), "{out}");
}

#[test]
fn the_next_step_for_an_entry_with_sources_of_its_own_changes_it() {
    let home = Home::new();
    home.write("skills/note/SKILL.md", "---\nname: note\ndescription: Takes notes.\n---\nNote.\n");
    done(&home, &["add", home.path().join("skills").to_str().unwrap()]);
    let entry = format!(
        "[mcp_servers.skills]\ncommand = \"{PROGRAM}\"\nargs = [\"--dir\", \"/gone/skills\"]\n"
    );
    home.write(".codex/config.toml", entry);
    let out = done(&home, &["connect", "codex", "--yes", "--no-verify"]);
    assert!(out.contains("the entry keeps --dir /gone/skills, which is not there"), "{out}");
    let (said, next) = verdict(&home);
    assert!(said.contains("Codex is connected to other skills."), "{said}");
    assert_eq!(next, "skills-mcp disconnect codex");
    done(&home, &["disconnect", "codex", "--yes"]);
    fs::create_dir_all(home.path().join(".codex")).unwrap();
    assert_eq!(verdict(&home).1, "skills-mcp connect codex");
    done(&home, &["connect", "codex", "--yes", "--no-verify"]);
    assert!(!verdict(&home).0.contains("Codex"), "{:?}", verdict(&home));
}

// A client starts the servers of a project's files before it says which there are.
#[test]
fn no_client_is_started_in_a_project() {
    let home = Home::new();
    home.write("bin/claude", "#!/bin/sh\necho \"skills: in $(pwd) $PWD $(ls -A) - Connected\"\n");
    let program = home.path().join("bin/claude");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    home.write("clone/.git/HEAD", "");
    home.write("clone/.mcp.json", r#"{"mcpServers": {"x": {"command": "sh", "args": []}}}"#);
    let clone = home.path().join("clone");
    let search = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let said = |scope: &str| {
        let mut command = connect(&home, &["connect", "claude-code", "--yes", scope]);
        let (code, out, err) =
            run(command.current_dir(&clone).env("PWD", &clone).env("PATH", &search));
        assert_eq!(code, 0, "{err}");
        out
    };
    let out = said("--user");
    assert!(out.contains("claude mcp list says: skills: in "), "{out}");
    assert!(!out.contains("clone"), "{out}");
    let out = said("--project");
    assert!(!out.contains("says:"), "{out}");
    assert!(out.split_whitespace().collect::<Vec<_>>().join(" ").contains(
        "Restart Claude Code, which reads its files at its start. `claude mcp list` shows its servers, and may start those of \
         this project."
    ), "{out}");
}

#[test]
fn a_link_out_of_a_project_is_not_written_through() {
    let home = Home::new();
    home.write(".bashrc", "mine\n");
    home.write("elsewhere/x", "");
    home.write("clone/.git/HEAD", "");
    let clone = home.path().join("clone");
    symlink(home.path().join(".bashrc"), clone.join("AGENTS.md")).unwrap();
    symlink(home.path().join("elsewhere"), clone.join(".cursor")).unwrap();
    let refused = |arguments: &[&str], written: &str| {
        let (code, out, err) = run(connect(&home, arguments).current_dir(&clone));
        let said =
            format!("a link leads out of the project, to {}", home.path().join(written).display());
        assert!(code != 0 && err.contains(&said), "{code} {out} {err}");
        assert!(err.contains("replace the link by a file"), "{err}");
    };
    refused(&["connect", "cursor", "--yes", "--project"], "elsewhere/mcp.json");
    refused(&["connect", "cursor", "--yes", "--rules"], ".bashrc");
    assert_eq!(fs::read_to_string(home.path().join(".bashrc")).unwrap(), "mine\n");
    assert_eq!(fs::read_dir(home.path().join("elsewhere")).unwrap().count(), 1);
    // A link that stays in the project is the project's own business.
    fs::remove_file(clone.join("AGENTS.md")).unwrap();
    symlink("CLAUDE.md", clone.join("AGENTS.md")).unwrap();
    run(connect(&home, &["connect", "cursor", "--yes", "--rules"]).current_dir(&clone));
    assert!(fs::read_to_string(clone.join("CLAUDE.md")).unwrap().contains("skills"));
}

#[test]
fn a_client_that_can_be_asked_is_asked_by_its_absolute_path() {
    let home = Home::new();
    let bin: PathBuf = home.path().join("bin");
    let said = "#!/bin/sh\n[ \"$*\" = 'mcp list' ] && echo \"skills: ok - Connected\"\n";
    home.write("bin/codex", said);
    fs::set_permissions(bin.join("codex"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = connect(&home, &["connect", "codex", "--yes"]);
    let (code, out, err) = run(command.env("PATH", format!("{}:/bin", bin.display())));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("codex mcp list says: skills: ok - Connected"), "{out}");
    let out = done(&home, &["connect", "cursor", "--yes"]);
    assert!(out.contains("Restart Cursor"), "{out}");
}
