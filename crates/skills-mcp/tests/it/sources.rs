//! Sources that people keep: `sources:` in the user's file and in a project's `.skills-mcp.yaml`, `add`, `remove`,
//! `list --sources`, `config set`, and `sync --locked` beside a lock file.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    process::Command,
};

use serde_json::{Value, json};
use skills_testkit::{Client, Home, Remote};

use crate::{
    sandbox::without_calls,
    support::{agents, bundle, eventually, on_terminal, ordinary, run, skill},
};

const USER_FILE: &str = ".config/skills-mcp/config.yaml";
const PROJECT_FILE: &str = "project/.skills-mcp.yaml";

/// A home with a folder of skills for the user and one in the project.
fn home() -> Home {
    let home = Home::new();
    home.write("team/skills/heron.md", skill("heron, ink, bird", "Draws a heron", "Use ink."));
    home.write("project/.git/HEAD", "ref: refs/heads/main\n");
    home.write("project/skills/otter.md", skill("otter, river, fur", "Draws an otter", "Wet fur."));
    home
}

/// `skills-mcp` in the project of this home.
fn command(home: &Home, arguments: &[&str]) -> Command {
    agents(home, arguments)
}

fn done(home: &Home, arguments: &[&str]) -> String {
    let (code, out, err) = run(&mut command(home, arguments));
    assert_eq!(code, 0, "{arguments:?}: {out}{err}");
    out
}

/// What a command prints that ends with this code.
fn done_with(home: &Home, arguments: &[&str], with: i32) -> String {
    let (code, out, err) = run(&mut command(home, arguments));
    assert_eq!(code, with, "{arguments:?}: {out}{err}");
    out
}

fn failed(home: &Home, arguments: &[&str], with: i32) -> String {
    let (code, out, err) = run(&mut command(home, arguments));
    assert_eq!(code, with, "{arguments:?}: {out}{err}");
    err
}

fn sources(home: &Home) -> Vec<Value> {
    let listed: Value =
        serde_json::from_str(&done(home, &["list", "--sources", "--json"])).unwrap();
    listed.get("sources").and_then(Value::as_array).unwrap().clone()
}

/// The names of the sources, as `list --sources` has them.
fn names(home: &Home) -> Vec<String> {
    let name = |source: &Value| source.get("name").and_then(Value::as_str).unwrap().to_owned();
    sources(home).iter().map(name).collect()
}

fn text(home: &Home, file: &str) -> String {
    fs::read_to_string(home.path().join(file)).unwrap()
}

/// Whether a server that is started now finds a skill, and what it logs.
fn serves(home: &Home, path: &str) -> (bool, String) {
    let mut client = Client::legacy(command(home, &["--tools", "all"]), "2025-11-25");
    let reply = client.call("get_skill", &json!({"skill_path": path}));
    let (_, _, log) = client.close();
    let bodies = ["Use ink.", "Wet fur.", "Use red."];
    (bodies.iter().any(|body| reply.text.contains(body)), log)
}

// SOURCE-10
#[test]
fn a_server_and_every_command_read_the_users_file() {
    let home = home();
    home.write(
        USER_FILE,
        "# mine\nsources:\n  - dir: ~/team/skills\n    name: birds\ntools: tree\n",
    );
    assert!(serves(&home, "heron").0);
    assert_eq!(names(&home), ["birds"]);
    let listed = sources(&home);
    assert!(listed[0]["origin"].as_str().unwrap().ends_with("config.yaml:3"), "{listed:?}");
    assert_eq!(listed[0]["skills"], 1);
    assert!(done(&home, &["list"]).contains("heron"));
    assert!(done(&home, &["try", "a heron in ink"]).contains("heron"));
    assert!(done(&home, &["check"]).contains("1 skill"));
    let doctor: Value = serde_json::from_str(&done(&home, &["doctor", "--json"])).unwrap();
    assert_eq!(doctor["sources"][0]["name"], "birds");
    let tools = doctor["protocol"][0]["tools"].to_string();
    assert!(tools.contains("get_skill") && !tools.contains("skills_search"), "{tools}");
    let mut client = Client::legacy(command(&home, &["--tools", "flat"]), "2025-11-25");
    let offered = client.request("tools/list", json!({})).to_string();
    assert!(offered.contains("skills_search"), "a flag wins: {offered}");
    let mut with_variable = command(&home, &["list", "--sources"]);
    let (_, out, _) = run(with_variable.env("SKILLS_DIR", home.path().join("project/skills")));
    assert!(out.contains("SKILLS_DIR") && !out.contains("birds"), "{out}");
}

// SOURCE-1
#[test]
fn what_may_be_given_several_times_counts_on_both_sides_of_the_command() {
    let home = home();
    let team = home.path().join("team").display().to_string();
    let listed = done(&home, &["--dir", &team, "list", "--sources", "--dir=skills"]);
    assert!(listed.find("team").unwrap() < listed.find("project").unwrap(), "{listed}");
    let set = |place: &str| format!("matching.{place}");
    let (first, second, third) = (set("min_score=0.9"), set("max_results=7"), set("learn=false"));
    let given = ["--set", &first, "config", "--set", &second, "get", "--set", &third];
    for (key, expected) in [("min_score", "0.9"), ("max_results", "7"), ("learn", "false")] {
        let shown = done(&home, &[&given[..], &[&set(key)]].concat());
        assert_eq!(shown.trim(), expected, "{key}");
    }
}

// SOURCE-10
#[test]
fn one_place_is_served_once_however_it_is_named() {
    let home = home();
    symlink(home.path().join("team"), home.path().join("link")).unwrap();
    let at = |path: &str| home.path().join(path).display().to_string();
    let (team, inner, link) = (at("team"), at("team/skills"), at("link"));
    for second in [&team, &inner, &link] {
        let given = ["--dir", &team, "--dir", second, "list", "--sources", "--json"];
        let (code, out, err) = run(&mut command(&home, &given));
        let listed: Value = serde_json::from_str(&out).unwrap();
        let found = listed.get("sources").and_then(Value::as_array).unwrap();
        assert_eq!((code, found.len()), (0, 1), "{second}: {out}{err}");
        let is_said = err.contains("is the folder of `team`, and is served once");
        // Which folder of a directory has its skills is known once it is opened, and that is in the log.
        assert!(is_said || *second == inner, "{err}");
    }
    home.write(USER_FILE, "sources:\n  - dir: ~/team\n  - dir: ~/team/skills\n");
    assert_eq!(names(&home), ["team"]);
    let (is_served, log) = serves(&home, "heron");
    assert!(is_served && log.contains("is served once"), "{log}");
    home.write(USER_FILE, "");
    done(&home, &["add", &team]);
    for again in [&inner, &link] {
        assert!(done(&home, &["add", again]).contains("is there already: "), "{again}");
    }
    assert_eq!(text(&home, USER_FILE).matches("dir:").count(), 1);
}

// SOURCE-10
#[test]
fn a_prompt_hook_and_doctor_see_what_the_files_name() {
    let home = home();
    let about = "Rotate the TLS certificates of the payment gateway with vault";
    home.write("project/more/vault/SKILL.md", bundle("vault-rotate", about, "With care."));
    home.write(USER_FILE, "sources:\n  - dir: ~/team/skills\n");
    home.write(PROJECT_FILE, "sources:\n  - dir: more\n");
    let prompt = json!({
        "prompt": "please rotate the TLS certificates of the payment gateway",
        "cwd": home.path().join("project/skills"),
    });
    home.write("prompt.json", prompt.to_string());
    // Clients start hooks in folders of their own: where the project is, the prompt says.
    let hooked = || {
        let mut hook = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
        let input = fs::File::open(home.path().join("prompt.json")).unwrap();
        let (code, out, err) = run(hook.args(["hook", "claude-code"]).stdin(input));
        assert_eq!((code, err.as_str()), (0, ""));
        out
    };
    assert_eq!(hooked(), "", "the project's file waits, and the hook says nothing of it");
    done(&home, &["trust", "--yes"]);
    let out = eventually("the hook speaks", || Some(hooked()).filter(|out| !out.is_empty()));
    assert!(out.contains("vault-rotate"), "{out}");
    let doctor: Value = serde_json::from_str(&done(&home, &["doctor", "--json"])).unwrap();
    let found: Vec<&str> = doctor["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| source["name"].as_str().unwrap())
        .collect();
    assert_eq!(found, ["more", "team"]);
    assert!(doctor["protocol"].as_array().unwrap().iter().all(|tried| tried["ok"] == true));
}

// SOURCE-10, CONFIG-3
#[test]
fn a_bad_entry_of_the_users_file_ends_every_command_with_its_line() {
    let home = home();
    for (entry, expected) in [
        ("- dri: ~/team", "config.yaml:2: unknown key `dri`; did you mean `dir`?"),
        ("- repo: ext::sh", "config.yaml:2: the URL is not https://"),
        ("- ~/team", "config.yaml:2: text instead of `dir: PATH`"),
    ] {
        home.write(USER_FILE, format!("sources:\n  {entry}\n"));
        for arguments in [&["list"][..], &["serve"], &["doctor"]] {
            let err = failed(&home, arguments, 2);
            assert!(err.contains(expected) && err.contains("hint: "), "{arguments:?}: {err}");
        }
    }
    home.write(USER_FILE, "sources:\n  - dir: ~/team/skills\ntools: trees\n");
    let err = failed(&home, &["tools"], 2);
    assert!(err.contains("`tools` in ") && err.contains("config.yaml:3 is `trees`"), "{err}");
}

// SOURCE-8, SOURCE-10
#[test]
fn a_folder_of_the_users_file_that_is_gone_takes_no_other_source_away() {
    let home = home();
    home.write(USER_FILE, "sources:\n  - dir: ~/gone\n  - dir: ~/team/skills\n");
    let (is_served, log) = serves(&home, "heron");
    assert!(is_served, "{log}");
    assert!(log.contains("config.yaml:2: there is no directory"), "{log}");
    assert_eq!(names(&home), ["team"]);
    done(&home, &["config"]);
    let doctor: Value = serde_json::from_str(&done_with(&home, &["doctor", "--json"], 1)).unwrap();
    let gone = home.path().join("gone").display().to_string();
    assert_eq!(doctor["next"], format!("skills-mcp remove {gone}"));
    assert!(doctor["warnings"].to_string().contains("so it is left out"), "{doctor}");
    let screen = done_with(&home, &["doctor"], 1);
    assert!(screen.contains("so it is left out"), "{screen}");
    // It is served once it is back, and nothing takes its place meanwhile.
    home.write("gone/otter.md", skill("otter, river, fur", "Draws an otter", "Wet fur."));
    assert!(serves(&home, "otter").0);
    fs::remove_dir_all(home.path().join("gone")).unwrap();
    done(&home, &["remove", &gone]);
    assert_eq!(text(&home, USER_FILE), "sources:\n  - dir: ~/team/skills\n");
    home.write(USER_FILE, "sources:\n  - dir: ~/gone\n");
    home.write(".claude/skills/pdf/SKILL.md", bundle("pdf", "Reads PDF files", "Use red."));
    assert_eq!(names(&home), Vec::<String>::new());
}

// SOURCE-8
#[test]
fn a_folder_of_the_users_file_that_cannot_be_read_is_a_problem_that_is_named() {
    let home = home();
    home.write(USER_FILE, "sources:\n  - dir: ~/team/skills\n");
    let team = home.path().join("team/skills");
    fs::set_permissions(&team, fs::Permissions::from_mode(0o000)).unwrap();
    let as_ordinary = |arguments: &[&str]| run(&mut ordinary(&home, command(&home, arguments)));
    let (code, _, err) = as_ordinary(&["list"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("config.yaml:2: ") && err.contains("cannot be read"), "{err}");
    let (code, out, err) = as_ordinary(&["doctor", "--json"]);
    assert_eq!(code, 1, "{out}{err}");
    let doctor: Value = serde_json::from_str(&out).unwrap();
    assert!(doctor["warnings"].to_string().contains("cannot be read"), "{doctor}");
    assert_eq!(doctor["next"], format!("chmod u+rx {}", team.display()));
    fs::set_permissions(&team, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn without_a_source_a_command_says_so_and_a_part_that_is_not_there_is_one_error_in_every_format() {
    let home = home();
    for arguments in [&["list"][..], &["try", "draw", "a", "heron"]] {
        let err = failed(&home, arguments, 2);
        assert!(err.contains("no named source and no agent's directory is there"), "{err}");
    }
    home.write(USER_FILE, "sources:\n  - dir: ~/team/skills\n");
    for arguments in [&["list", "hern"][..], &["list", "hern", "--json"]] {
        let err = failed(&home, arguments, 2);
        assert!(err.contains("there is no `hern`") && err.contains("heron"), "{err}");
    }
}

// SOURCE-11
#[test]
fn a_projects_file_is_ignored_until_the_person_says_yes_and_again_once_it_changes() {
    let home = home();
    home.write(PROJECT_FILE, "sources:\n  - dir: skills\n");
    let (found, log) = serves(&home, "otter");
    assert!(!found && log.contains("you have not agreed to it yet"), "{log}");
    assert_eq!(log.matches("you have not agreed").count(), 1, "{log}");
    let (_, _, err) = run(&mut command(&home, &["list", "--sources"]));
    assert!(err.contains("note: ") && err.contains("skills-mcp trust"), "{err}");
    let doctor: Value = serde_json::from_str(&done_with(&home, &["doctor", "--json"], 1)).unwrap();
    assert!(doctor["warnings"].to_string().contains("you have not agreed"), "{doctor}");
    assert_eq!(doctor["next"], "skills-mcp trust");
    let (code, out, _) = run(&mut command(&home, &["trust"]));
    assert!(code == 1 && out.contains("folder skills") && out.contains("not used"), "{out}");
    let (code, json, _) = run(&mut command(&home, &["trust", "--json"]));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, &json["project"]["waiting"]), (1, &json!(true)));

    let out = done(&home, &["trust", "--yes"]);
    assert!(out.contains("recorded"), "{out}");
    let (found, log) = serves(&home, "otter");
    assert!(found && !log.contains("agreed"), "{log}");
    assert!(done(&home, &["trust"]).contains("used: you agreed on"));

    home.write(PROJECT_FILE, "sources:\n  - dir: skills\n  - dir: more\n");
    let (found, log) = serves(&home, "otter");
    assert!(!found && log.contains("it has changed since you agreed"), "{log}");

    home.write(PROJECT_FILE, "sources:\n  - dir: skills\n");
    assert!(serves(&home, "otter").0, "the text that was agreed to");
    run(&mut command(&home, &["trust", "--revoke"]));
    assert!(!serves(&home, "otter").0);
}

// SOURCE-11
#[test]
fn a_yes_is_for_one_place_and_a_file_with_a_mistake_gets_none() {
    let home = home();
    home.write(PROJECT_FILE, "sources:\n  - dir: skills\n");
    done(&home, &["trust", "--yes"]);
    let copy = run(Command::new("cp").arg("-r").args(["project", "copy"]).current_dir(home.path()));
    assert_eq!(copy.0, 0);
    let mut other = command(&home, &["list", "--sources"]);
    let (_, out, err) = run(other.current_dir(home.path().join("copy")));
    assert!(err.contains("you have not agreed") && !out.contains("otter"), "{out}{err}");
    for (entry, expected) in [
        ("- dri: x", "yaml:2: unknown key `dri`; did you mean `dir`?"),
        ("- path: x", "yaml:2: unknown key `path`; the keys are dir, repo, agents, name, branch"),
        ("- repo: ext::sh -c id", "yaml:2: the URL holds white space"),
        ("- repo: https://user:secret@h.org/x.git", "yaml:2: the URL holds a user name"),
    ] {
        home.write(PROJECT_FILE, format!("sources:\n  {entry}\n"));
        assert!(failed(&home, &["trust", "--yes"], 2).contains(expected));
        let (code, _, _) = run(&mut command(&home, &["list", "--sources"]));
        assert_eq!(code, 0, "a project's mistake stops no command");
    }
}

// SOURCE-11
#[test]
fn a_projects_file_with_a_mistake_is_to_be_corrected_and_not_agreed_to() {
    let home = home();
    home.write(PROJECT_FILE, "sources:\n  - dir: [a]\n");
    let out = done_with(&home, &["trust"], 1);
    assert!(out.contains(".skills-mcp.yaml:2; then `skills-mcp trust`"), "{out}");
    assert!(out.contains("correct ") && !out.contains("trust --yes"), "{out}");
    failed(&home, &["trust", "--yes"], 2);
}

// SOURCE-11
#[test]
fn trust_says_which_entries_of_a_projects_file_are_left_out() {
    let home = home();
    let out = home.path().join("out");
    home.write("out/pdf/SKILL.md", "---\nname: pdf\ndescription: d\n---\n");
    home.write(PROJECT_FILE, "sources:\n  - dir: skills\n  - dir: ../out\n  - dir: gone\n");
    let shown = done(&home, &["trust", "--yes"]);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let outside = format!("line 3: {} is outside of the project, so it is left out", out.display());
    assert!(shown.contains(&outside), "{shown}");
    assert!(shown.contains("line 4: there is no directory"), "{shown}");
    assert!(!shown.contains("line 2:"), "{shown}");
}

// SOURCE-11
#[test]
fn on_a_terminal_trust_asks_and_only_a_yes_counts() {
    let home = home();
    home.write(PROJECT_FILE, "sources:\n  - dir: skills\n");
    let asked = |answer: &str| {
        let ended = on_terminal(40, &command(&home, &["trust"]), &[("names? [y/N]", answer)]);
        assert_eq!(ended["left"], json!([]), "{ended}");
        ended["code"].clone()
    };
    assert_eq!(asked("\n"), 1);
    assert!(!serves(&home, "otter").0);
    assert_eq!(asked("y\n"), 0);
    assert!(serves(&home, "otter").0);
}

// SOURCE-12
#[test]
fn a_projects_file_leads_to_nothing_outside_and_sets_nothing() {
    let home = home();
    home.write("secret/passwords.md", skill("passwords, secret, all", "Draws secrets", "hunter2"));
    home.write("project/note", "no folder");
    symlink(home.path().join("secret"), home.path().join("project/link")).unwrap();
    symlink(home.path().join("secret"), home.path().join("project/skills/inner")).unwrap();
    home.write(
        PROJECT_FILE,
        "sources:\n  - dir: ../secret\n  - dir: ~/secret\n  - dir: link\n  - dir: skills/../../secret\n  - dir: skills\n  - dir: note\nscripts:\n  sandbox: off\nanalytics:\n  enabled: true\n",
    );
    done(&home, &["trust", "--yes"]);
    assert_eq!(names(&home), ["project"], "what is inside of the project");
    let mut client = Client::legacy(command(&home, &[]), "2025-11-25");
    let reply = client.call("list_skills", &json!({}));
    assert!(reply.text.contains("otter") && !reply.text.contains("passwords"), "{}", reply.text);
    let (_, _, err) = run(&mut command(&home, &["config", "--json"]));
    assert_eq!(err.matches("is outside of the project").count(), 4, "{err}");
    assert!(err.contains("yaml:8: `scripts` is not read from a project's file"), "{err}");
    assert!(err.contains("`analytics` is not read"), "{err}");
    assert_eq!(done(&home, &["config", "get", "scripts.sandbox"]), "auto\n");

    // A folder that becomes a link afterwards leads nowhere, in a new server and in one that runs.
    fs::rename(home.path().join("project/skills"), home.path().join("project/was")).unwrap();
    symlink(home.path().join("secret"), home.path().join("project/skills")).unwrap();
    let reply = client.call("list_skills", &json!({}));
    assert!(!reply.text.contains("passwords"), "{}", reply.text);
    assert_eq!(names(&home), Vec::<String>::new());
    home.write(USER_FILE, "sources:\n  - dir: ~/secret\n");
    assert_eq!(names(&home), ["secret"], "what the user names too is the user's");
}

// SOURCE-12
#[test]
fn e06_a_projects_link_to_a_folder_of_the_users_is_not_trusted_where_it_leads_later() {
    let home = home();
    home.write("private/diary.md", skill("diary, private", "Draws a diary", "hunter2"));
    home.write("project/evil/fox.md", skill("fox, red", "Draws a fox", "Use red."));
    symlink(home.path().join("private"), home.path().join("project/evil/out")).unwrap();
    symlink(home.path().join("team/skills"), home.path().join("project/vendor")).unwrap();
    home.write(PROJECT_FILE, "sources:\n  - dir: vendor\n");
    home.write(USER_FILE, "sources:\n  - dir: ~/team/skills\n");
    done(&home, &["trust", "--yes"]);
    let mut client = Client::legacy(command(&home, &[]), "2025-11-25");
    assert!(client.call("list_skills", &json!({})).text.contains("heron"));
    fs::remove_file(home.path().join("project/vendor")).unwrap();
    symlink("evil", home.path().join("project/vendor")).unwrap();
    for tool in ["list_skills", "refresh_skills", "list_skills"] {
        let reply = client.call(tool, &json!({}));
        assert!(!reply.text.contains("diary") && !reply.text.contains("fox"), "{}", reply.text);
    }
    assert!(client.call("list_skills", &json!({})).text.contains("heron"));
}

// SOURCE-12, CONFIG-5
#[test]
fn e06_a_projects_folder_that_becomes_a_link_has_no_settings_of_another_folder() {
    let home = home();
    home.write("private/config.yaml", "hunter2: 1\nmatching:\n  min_score: 0.99\n");
    home.write("private/skills/x.md", "plain");
    home.write(PROJECT_FILE, "sources:\n  - dir: skills\n");
    done(&home, &["trust", "--yes"]);
    let mut client = Client::legacy(command(&home, &["--log", "debug"]), "2025-11-25");
    assert!(client.call("list_skills", &json!({})).text.contains("otter"));
    let (at, moved) = (home.path().join("project/skills"), home.path().join("project/was"));
    fs::rename(&at, moved).unwrap();
    for target in ["private", "private/skills"] {
        symlink(home.path().join(target), &at).unwrap();
        client.call("refresh_skills", &json!({}));
        let (_, out, err) = run(&mut command(&home, &["doctor"]));
        assert!(!out.contains("hunter2") && !err.contains("hunter2"), "{out}{err}");
        let score = done(&home, &["config", "get", "matching.min_score"]);
        assert!(!score.contains("0.99"), "{score}");
        fs::remove_file(&at).unwrap();
    }
    let (_, _, log) = client.close();
    assert!(!log.contains("hunter2"), "{log}");
}

// SOURCE-12, CONFIG-5
#[test]
fn what_a_projects_source_asks_for_waits_though_it_is_served_for_the_first_time() {
    let home = home();
    let asks = "analytics:\n  enabled: true\n  endpoint: https://events.example.org/x\nscripts:\n  timeout_seconds: 5\n";
    let otter = skill("otter, river", "Draws an otter", "Wet fur.");
    home.write("project/team/skills/otter.md", &otter);
    home.write("project/team/config.yaml", asks);
    let files = format!("//- config.yaml\n{asks}//- skills/otter.md\n{otter}");
    let remote = Remote::with(&home, "otters", &files);
    for entry in ["dir: team".to_owned(), format!("repo: {}", remote.url())] {
        home.write(PROJECT_FILE, format!("sources:\n  - {entry}\n"));
        let out = done_with(&home, &["trust", "--yes"], 1);
        assert!(
            out.contains("analytics.enabled") && out.contains("waits for your consent"),
            "{out}"
        );
        assert!(serves(&home, "otter").0, "{entry}");
        let get = |key: &str| done(&home, &["config", "get", key]);
        assert_eq!(get("analytics.enabled"), "false\n", "{entry}");
        assert_eq!(get("scripts.timeout_seconds"), "5\n", "what narrows applies");
        done(&home, &["trust", "--yes"]);
        assert_eq!(get("analytics.enabled"), "true\n", "{entry}");
    }
}

// SOURCE-12
#[test]
fn scripts_of_a_projects_source_need_the_sandbox() {
    let home = home();
    let tool = "---\nkeywords: [tool]\ndescription: Draws a tool\nscripts:\n  - file: scripts/x.sh\n    description: x\n    execution: server\n---\nUse it.\n";
    home.write("project/skills/tool.md", tool);
    home.write("project/skills/tool/scripts/x.sh", "echo ran\n");
    home.write(PROJECT_FILE, "sources:\n  - dir: skills\n");
    done(&home, &["trust", "--yes"]);
    let call = json!({"skill_path": "tool", "file": "scripts/x.sh", "args": {}});
    let ran = |server: Command| {
        let mut client = Client::legacy(server, "2025-11-25");
        let reply = client.call("run_script", &call);
        (reply.is_error, reply.text)
    };
    let (refused, text) = ran(without_calls(&home, &command(&home, &[]), &[444, 317]));
    assert!(refused && !text.contains("\"exit_code\""), "{text}");
    home.write(USER_FILE, "sources:\n  - dir: ~/project/skills\n");
    let (refused, text) = ran(without_calls(&home, &command(&home, &[]), &[444, 317]));
    assert!(!refused && text.contains("ran"), "named by the user it runs: {text}");
}

// SOURCE-10
#[test]
fn project_sources_come_first_and_two_of_one_name_get_a_number() {
    let home = home();
    home.write("own/team/heron.md", skill("heron, gold", "Draws another heron", "Use gold."));
    home.write("project/team/heron.md", skill("heron, ink", "Draws a heron", "Use ink."));
    home.write("own/user-claude/owl.md", skill("owl, night", "Draws an owl", "Use black."));
    home.write(
        USER_FILE,
        "sources:\n  - dir: ~/own/team\n  - agents: true\n  - dir: ~/own/user-claude\n",
    );
    home.write(PROJECT_FILE, "sources:\n  - dir: team\n");
    home.write(".claude/skills/fox/SKILL.md", bundle("fox", "Draws a fox", "Use red."));
    done(&home, &["trust", "--yes"]);
    assert_eq!(names(&home), ["team", "team-2", "user-claude-source", "user-claude"]);
    let listed = sources(&home);
    assert!(listed[0]["origin"].as_str().unwrap().ends_with(".skills-mcp.yaml:2"), "{listed:?}");
    let shown = done(&home, &["show", "heron"]);
    assert!(shown.contains("Use ink."), "{shown}");
    assert!(done(&home, &["show", "team-2:heron"]).contains("Use gold."));
}

// SOURCE-13
#[test]
fn add_and_remove_are_a_round_trip_that_leaves_every_byte() {
    let home = home();
    let before = "# my settings\nscripts:\n  timeout_seconds: 30   # slow machine\n\n# the end\n";
    home.write(USER_FILE, before);
    let file = home.path().join(USER_FILE);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let planned = done(&home, &["add", "../team/skills", "--dry-run"]);
    assert!(
        planned.contains("would add") && planned.contains("+   - dir: ~/team/skills"),
        "{planned}"
    );
    assert_eq!(text(&home, USER_FILE), before);
    let out = done(&home, &["add", "../team/skills", "--name", "birds"]);
    assert!(out.contains("1 skill") && out.contains("+     name: birds"), "{out}");
    let added = format!("{before}sources:\n  - dir: ~/team/skills\n    name: birds\n");
    assert_eq!(text(&home, USER_FILE), added);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(serves(&home, "heron").0);
    assert!(done(&home, &["add", "~/team/skills"]).contains("is there already"));
    assert_eq!(text(&home, USER_FILE), added, "twice is once");
    assert!(done(&home, &["remove", "birds"]).contains("- sources:"));
    assert_eq!(text(&home, USER_FILE), before);
    assert!(failed(&home, &["remove", "birds"], 2).contains("no file names a source `birds`"));
    fs::remove_file(&file).unwrap();
    done(&home, &["add", "../team/skills"]);
    done(&home, &["remove", "../team/skills"]);
    assert!(!file.exists(), "what add made is gone");
}

// SOURCE-13
#[test]
fn commands_that_change_a_file_at_the_same_time_wait_for_each_other() {
    let home = home();
    let folders: Vec<String> = (0..12).map(|number| format!("s{number}")).collect();
    for folder in &folders {
        home.write(&format!("{folder}/a.md"), skill("heron, ink, bird", "Draws", "Use ink."));
    }
    let paths: Vec<String> =
        folders.iter().map(|folder| home.path().join(folder).display().to_string()).collect();
    let all_at_once = |verb: &str| {
        let started: Vec<_> = paths
            .iter()
            .map(|path| {
                let mut command = command(&home, &[verb, path]);
                command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        for child in started {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    };
    all_at_once("add");
    let mut dirs: Vec<String> = text(&home, USER_FILE).lines().skip(1).map(str::to_owned).collect();
    dirs.sort();
    let mut expected: Vec<String> =
        folders.iter().map(|folder| format!("  - dir: ~/{folder}")).collect();
    expected.sort();
    assert_eq!(dirs, expected);
    done(&home, &["config", "set", "matching.min_score", "0.3"]);
    all_at_once("remove");
    assert_eq!(text(&home, USER_FILE), "matching:\n  min_score: 0.3\n");
}

// SOURCE-13
#[test]
fn a_list_that_is_empty_or_cannot_be_edited_is_no_reason_to_say_that_something_was_added() {
    let home = home();
    home.write(USER_FILE, "sources: []\n");
    done(&home, &["add", "../team/skills"]);
    assert_eq!(text(&home, USER_FILE), "sources:\n  - dir: ~/team/skills\n");
    home.write(USER_FILE, "sources: [{agents: true}]\n");
    let (code, out, err) = run(&mut command(&home, &["add", "../team/skills"]));
    assert_eq!((code, &*out), (2, ""), "{err}");
    assert!(err.contains("write this by hand:\nsources:\n  - dir: ~/team/skills"), "{err}");
}

// SOURCE-13
#[test]
fn add_takes_nothing_away_and_writes_nothing_that_cannot_be_served() {
    let home = home();
    home.write(".claude/skills/fox/SKILL.md", bundle("fox", "Draws a fox", "Use red."));
    home.write("empty/x", "");
    assert_eq!(names(&home), ["user-claude"]);
    let none = failed(&home, &["add", "../empty"], 1);
    assert!(none.contains("has no skills"), "{none}");
    assert!(failed(&home, &["add", "../gone"], 2).contains("there is no folder"));
    assert!(failed(&home, &["add", "https://u:p@h.org/x"], 2).contains("a user name or password"));
    assert!(failed(&home, &["add", "../team/skills", "--name", "a:b"], 2).contains("--name"));
    assert!(none.contains("nothing was written"), "{none}");
    assert!(!home.path().join(USER_FILE).exists());
    let out = done(&home, &["add", "../team/skills"]);
    assert!(out.contains("served as before"), "{out}");
    assert_eq!(text(&home, USER_FILE), "sources:\n  - dir: ~/team/skills\n  - agents: true\n");
    assert_eq!(names(&home), ["team", "user-claude"]);
    done(&home, &["remove", "agents"]);
    assert_eq!(names(&home), ["team"]);
    done(&home, &["add", "--agents"]);
    done(&home, &["remove", "team"]);
    assert!(!home.path().join(USER_FILE).exists(), "the agents' directories are served anyway");
    for broken in ["sources: [\n", "sources: {}\n", "a: b\n...\n", "sources: [{dir: x}]\n"] {
        home.write(USER_FILE, broken);
        let (code, _, err) = run(&mut command(&home, &["add", "../team/skills"]));
        assert!(code == 2 && err.contains("config.yaml"), "{broken}: {err}");
        assert_eq!(text(&home, USER_FILE), broken);
    }
}

// SOURCE-13
#[test]
fn a_repository_is_fetched_once_before_it_is_added() {
    let home = home();
    let heron = skill("heron, ink", "Draws a heron", "Use ink.");
    let remote = Remote::with(&home, "birds", &format!("//- heron.md\n{heron}"));
    remote.git(&["branch", "next"]);
    let url = remote.url();
    let out = done(&home, &["add", &url, "--branch", "next"]);
    assert!(out.contains("1 skill"), "{out}");
    assert_eq!(text(&home, USER_FILE), format!("sources:\n  - repo: {url}\n    branch: next\n"));
    let listed = sources(&home);
    assert_eq!(listed[0]["name"], "birds");
    assert_eq!(listed[0]["commit"].as_str().unwrap().len(), 40);
    assert!(failed(&home, &["add", &url], 2).contains("with another branch or commit"));
    assert!(done(&home, &["status"]).contains("birds"));
    assert_eq!(done(&home, &["sync"]).lines().count(), 2);
    assert!(serves(&home, "heron").0);
    done(&home, &["remove", &url]);
    let gone = format!("file://{}", home.path().join("gone.git").display());
    failed(&home, &["add", &gone], 3);
    assert!(!home.path().join(USER_FILE).exists());
}

#[test]
fn a_name_is_refused_where_it_could_not_be_used_and_never_dropped() {
    let home = home();
    let team = home.path().join("team/skills").display().to_string();
    let err = failed(&home, &["add", &team, "--name", "agents"], 2);
    assert!(err.contains("stands for the agents' directories"), "{err}");
    done(&home, &["add", &team]);
    done(&home, &["add", &team, "--name", "team"]);
    let err = failed(&home, &["add", &team, "--name", "good"], 2);
    assert!(err.contains("calls it `team`") && err.contains("`skills-mcp remove team`"), "{err}");
    assert!(failed(&home, &["add", &team, "--name", "a:b"], 2).contains("cannot be a source's"));
    assert_eq!(names(&home), ["team"]);
}

#[test]
fn what_cannot_be_added_has_a_way_out_that_helps() {
    let home = home();
    let nowhere = format!("file://{}/nowhere.git", home.path().display());
    let err = failed(&home, &["add", &nowhere], 3);
    assert!(err.contains("check the path, then run the command again"), "{err}");
    assert!(!err.contains("GITHUB_TOKEN") && !err.contains("skills-mcp sync"), "{err}");
    let err = failed(&home, &["add", "ftp://example.org/x.git"], 2);
    assert!(err.contains("is not https://, ssh://") && err.contains("git@example.org:"), "{err}");
    assert!(!err.contains("SKILLS_DIR"), "{err}");
}

// SOURCE-13
#[test]
fn add_project_writes_the_projects_file_and_its_author_agrees_to_it() {
    let home = home();
    home.write("project/deep/er/x", "");
    let deep = home.path().join("project/deep/er");
    let mut add = command(&home, &["add", "../../skills", "--project"]);
    let (code, out, err) = run(add.current_dir(&deep));
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(text(&home, PROJECT_FILE), "sources:\n  - dir: skills\n");
    let mode = fs::metadata(home.path().join(PROJECT_FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    assert!(serves(&home, "otter").0);
    let (_, out, _) = run(command(&home, &["list", "--sources"]).current_dir(&deep));
    assert!(out.contains("otter") || out.contains("project"), "{out}");
    let outside = failed(&home, &["add", "../team/skills", "--project"], 2);
    assert!(outside.contains("is outside of the project"), "{outside}");
    home.write(PROJECT_FILE, "sources:\n  - dir: skills\n# of another person\n");
    home.write("project/more/fox.md", skill("fox, red", "Draws a fox", "Use red."));
    done(&home, &["add", "more", "--project"]);
    assert!(!serves(&home, "fox").0, "what another person wrote is not agreed to by adding");
}

// SOURCE-10
#[test]
fn c3_owner_and_name_are_accepted_for_a_repository() {
    let home = home();
    home.write("project/acme/skills/x", "");
    // No request leaves this machine: git takes the proxy from the user's settings, and there is none.
    home.write(".gitconfig", "[http]\n\tproxy = http://127.0.0.1:9\n");
    for arguments in [&["--repo", "acme-org/skills", "list"][..], &["add", "acme-org/skills"]] {
        let err = failed(&home, arguments, 3);
        assert!(err.contains("https://github.com/acme-org/skills.git was not synced"), "{err}");
    }
    assert!(!home.path().join(USER_FILE).exists(), "what cannot be fetched is not added");
    let folder = failed(&home, &["--repo", "acme/skills", "list"], 2);
    assert!(folder.contains("--dir"), "a folder is called so: {folder}");
}

// GIT-8
#[test]
fn c3_sync_locked_takes_the_repositories_that_the_lock_names() {
    let home = home();
    let heron = skill("heron, ink", "Draws a heron", "Use ink.");
    let remote = Remote::with(&home, "birds", &format!("//- heron.md\n{heron}"));
    home.write(USER_FILE, format!("sources:\n  - repo: {}\n", remote.url()));
    assert!(done(&home, &["sync", "--lock"]).contains("wrote skills.lock"));
    remote.commit("//- fox.md\n---\nkeywords: [fox]\ndescription: Draws a fox\n---\nx\n");
    fs::remove_file(home.path().join(USER_FILE)).unwrap();
    fs::remove_dir_all(home.path().join(".skills-mcp")).unwrap();
    let out = done(&home, &["sync", "--locked"]);
    assert!(out.contains("as skills.lock says") && out.contains("1 skill"), "{out}");
    assert!(failed(&home, &["sync"], 2).contains("no repository is named"));
}

#[test]
fn c8_config_is_readable_in_forty_columns() {
    let home = home();
    let shown = on_terminal(40, &command(&home, &["config"]), &[]);
    let shown = shown["shown"].as_str().unwrap().replace("\u{1b}[2m", "").replace("\u{1b}[0m", "");
    let wide = |line: &&str| line.chars().count() > 40 && !line.contains('/');
    assert_eq!(shown.lines().filter(wide).collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(shown.contains("  matching.min_score\n    0.2  default\n    a skill must"), "{shown}");
}

// CONFIG-9
#[test]
fn a_setting_is_read_written_and_taken_out_with_its_comments_kept() {
    let home = home();
    let before = "# mine\nmatching:\n  min_score: 0.3  # strict\n";
    home.write(USER_FILE, before);
    assert_eq!(done(&home, &["config", "get", "matching.min_score"]), "0.3\n");
    let out = done(&home, &["config", "set", "matching.min_score", "0.4"]);
    assert!(out.contains("matching.min_score is 0.4") && out.contains("config.yaml:3"), "{out}");
    assert_eq!(text(&home, USER_FILE), before.replace("0.3", "0.4"));
    done(&home, &["config", "set", "scripts.runners", "{.sh: 'bash -e'}"]);
    done(&home, &["config", "set", "scripts.enabled", "false"]);
    done(&home, &["config", "set", "analytics.server_id", "build 7: x"]);
    assert_eq!(done(&home, &["config", "get", "analytics.server_id"]), "build 7: x\n");
    for key in ["scripts.runners", "scripts.enabled", "analytics.server_id"] {
        done(&home, &["config", "unset", key]);
    }
    assert_eq!(text(&home, USER_FILE), before.replace("0.3", "0.4"));
    let err = failed(&home, &["config", "set", "matching.min_scor", "1"], 2);
    assert!(err.contains("did you mean matching.min_score?"), "{err}");
    for (key, hint) in [("tools", "`skills-mcp tools` shows"), ("sources", "list --sources` shows")]
    {
        let err = failed(&home, &["config", "get", key], 2);
        assert!(err.contains(hint) && !err.contains("there is no key"), "{err}");
    }
    let err = failed(&home, &["config", "set", "matching.min_score", "7"], 2);
    assert!(err.contains("but must be a number from 0 to 1"), "{err}");
    assert_eq!(text(&home, USER_FILE), before.replace("0.3", "0.4"));
    let json = done(&home, &["config", "--json", "get", "matching.min_score"]);
    assert!(json.contains("\"value\":0.4"), "{json}");
    let mut overridden = command(&home, &["config", "set", "git.branch", "next"]);
    let (_, out, _) = run(overridden.env("SKILLS_BRANCH", "other"));
    assert!(out.contains("git.branch is other  SKILLS_BRANCH"), "{out}");
}
