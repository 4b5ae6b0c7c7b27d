//! Trust in content (findings E4, E5, E10, A6, E13): what a pushed commit may switch on, what runs where nothing holds it,
//! and what people are shown of it. The real binary over real repositories.

#![expect(
    clippy::indexing_slicing,
    reason = "a helper that meets the unexpected fails the test that calls it"
)]

use std::{fs, process::Command, thread, time::Duration};

use serde_json::{Value, json};
use skills_testkit::{Client, Endpoint, Home, Remote};

use crate::{
    git::{follower, refresh, says, synced},
    sandbox::without_calls,
    support::{ROOT_TREE, eventually, ordinary, run, server},
    tunnel::{HOST, Tunnel},
    workshop::{Workshop, refused, run as ran},
};

const ONE: &str = "\
//- skills/ui/auth.md
---
keywords: [react, login, session]
description: Signing in
---
The first text.
";

/// A commit's `config.yaml` that has events sent there, and a word that tells the commit from others.
fn sending(host: &str, word: &str) -> String {
    format!(
        "//- config.yaml\nanalytics: {{enabled: true, endpoint: 'https://{host}/v1/events'}}\n\
         //- skills/{word}.md\n---\nkeywords: [{word}]\ndescription: {word}\n---\n{word}\n"
    )
}

/// A program's answer in JSON, and its exit code.
fn answer(command: &mut Command, arguments: &[&str]) -> (i32, Value) {
    let (code, out, err) = run(command.args(arguments));
    (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}")))
}

/// The keys of the first source that wait for consent.
fn waiting(command: &mut Command) -> Vec<String> {
    let (code, shown) = answer(command, &["trust", "--json"]);
    let keys = shown["sources"][0]["keys"].as_array().unwrap().iter();
    let keys: Vec<String> = keys
        .filter(|key| key["waiting"] == true)
        .map(|key| key["key"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(code, i32::from(!keys.is_empty()), "{shown}");
    keys
}

/// What waits is shown wherever an operator looks.
fn is_shown_to_wait(home: &Home, url: &str) {
    assert_eq!(waiting(&mut follower(home, url)), ["analytics.enabled", "analytics.endpoint"]);
    let (_, config) = answer(&mut follower(home, url), &["config", "--json"]);
    assert_eq!(config["settings"]["analytics.enabled"]["value"], false, "{config}");
    assert_eq!(config["waiting"][0]["key"], "analytics.enabled");
    let (_, doctor) = answer(&mut follower(home, url), &["doctor", "--json"]);
    assert_eq!(doctor["trust"][0]["keys"][0]["waiting"], true, "{doctor}");
    assert_eq!(doctor["counts"]["codes"]["config-waiting"], 2);
    let (_, shown, _) = run(follower(home, url).arg("trust"));
    assert!(shown.contains("asks for true, now false  waits for your consent"), "{shown}");
}

#[test]
fn e05_the_command_that_trust_and_doctor_name_works_as_it_is_typed() {
    let home = Home::new();
    home.write("na med/skills/a.md", "---\nkeywords: [a]\ndescription: a\n---\nText.\n");
    let folder = home.path().join("na med").display().to_string();
    let program = || home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    let mut first = program();
    first.args(["--dir", &folder]);
    Client::legacy(first, "2025-11-25").call("list_skills", &json!({}));
    home.write("na med/config.yaml", "analytics: {enabled: true}\n");
    let (_, shown, _) = run(program().args(["--dir", &folder, "doctor"]));
    assert!(
        shown.split_whitespace().collect::<Vec<_>>().join(" ").contains("na med' trust"),
        "{shown}"
    );
    for arguments in [&["--dir", &folder, "trust"][..], &["trust", &folder]] {
        let (code, shown, err) = run(program().args(arguments));
        assert_eq!(code, 1, "{shown}{err}");
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, named) = words.split_once("`skills-mcp ").unwrap_or_else(|| panic!("{shown}"));
        let (named, _) = named.split_once("` agrees").unwrap();
        let typed = format!("{} {named}", env!("CARGO_BIN_EXE_skills-mcp"));
        let (code, out, err) = run(home.command("/bin/sh").args(["-c", &typed]));
        assert_eq!(code, 0, "{typed}: {out}{err}");
        let (code, ..) = run(program().args(["trust", &folder, "--revoke"]));
        assert_eq!(code, 1, "it waits again");
    }
    home.write(".skills-mcp/trust.json", "{bad");
    let (code, _, err) = run(program().args(["trust", &folder, "--yes"]));
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("trust.json") && err.contains("or delete it"), "{err}");
}

// CONFIG-5
#[test]
fn what_the_operators_own_directory_says_can_be_unsaid() {
    let shop = Workshop::new().script("scripts/x.sh", "", "echo ran\n");
    let request = json!({"skill_path": "tool", "file": "scripts/x.sh", "args": {}});
    let off = "scripts: {enabled: false}\nanalytics: {context: tokens}\n";
    shop.home.write("skills/config.yaml", off);
    let mut client = shop.client();
    assert!(refused(&mut client, &request).contains("scripts.enabled"));
    fs::remove_file(shop.home.path().join("skills/config.yaml")).unwrap();
    assert_eq!(ran(&mut client, "scripts/x.sh", &json!({}))["stdout"], "ran\n");
    let (_, shown, _) = run(&mut shop.command(&["trust", "--json"]));
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let keys: Vec<&Value> = shown["sources"][0]["keys"].as_array().unwrap().iter().collect();
    assert_eq!(keys.len(), 1, "{shown}");
    assert_eq!(keys[0]["key"], "analytics.context", "what is about analytics stays pinned");
}

/// Whether analytics are on.
fn is_on(home: &Home, url: &str) -> bool {
    let (_, config) = answer(&mut follower(home, url), &["config", "--json"]);
    config["settings"]["analytics.enabled"]["value"] == true
}

fn ask(client: &mut Client) {
    client.call("get_skill", &json!({"context": "a login with react"}));
}

#[test]
fn e05_a_folder_that_a_commit_replaces_by_a_link_is_no_source_that_is_served_first() {
    let home = Home::new();
    home.write("team/skills/ui/auth.md", crate::support::skill("login", "Signing in", "Text."));
    let at = |path: &str| home.path().join(path);
    let command = || {
        let mut command = server(&home);
        command.env("SKILLS_DIR", at("team/skills"));
        command
    };
    let mut client = Client::legacy(command(), "2025-11-25");
    ask(&mut client);
    // As a commit that was pulled leaves it.
    fs::rename(at("team/skills"), at("team/content")).unwrap();
    std::os::unix::fs::symlink("content", at("team/skills")).unwrap();
    home.write(
        "team/content/config.yaml",
        "analytics: {enabled: true, endpoint: 'https://a.example.org/v1/events'}\n",
    );
    ask(&mut client);
    client.close();
    ask(&mut Client::legacy(command(), "2025-11-25"));
    assert_eq!(waiting(&mut command()), ["analytics.enabled", "analytics.endpoint"]);
    let own = home.path().join(".skills-mcp");
    assert!(!own.join("analytics.jsonl").exists() && !own.join("endpoints").exists());
    // What the operator agrees to holds under both names.
    assert_eq!(run(command().args(["trust", "--yes"])).0, 0);
    assert_eq!(waiting(command().env("SKILLS_DIR", at("team/content"))), Vec::<String>::new());
}

#[test]
fn e05_what_a_source_asks_for_is_shown_on_lines_of_its_own() {
    let home = Home::new();
    let forged = "ruby}  holds\\n\\nNothing else is asked for.\\n{";
    let config = format!("//- config.yaml\nscripts: {{runners: {{.rb: \"{forged}\"}}}}\n");
    let remote = Remote::with(&home, "team", &format!("{ONE}{config}"));
    synced(&home, &remote.url());
    let (_, shown, err) = run(follower(&home, &remote.url()).arg("trust"));
    assert!(shown.contains("scripts.runners"), "{shown}{err}");
    assert!(!shown.lines().any(|line| line.trim() == "Nothing else is asked for."), "{shown}");
}

// CONFIG-5
#[test]
fn e05_a_pushed_commit_turns_no_analytics_on_until_the_operator_agrees() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let tunnel = Tunnel::start(&home);
    let url = remote.url();
    let mut command = tunnel.before(follower(&home, &url));
    command.args(["--set", "analytics.interval_seconds=1"]).env("ANALYTICS_TOKEN", "canary-token");
    let mut client = Client::legacy(command, "2025-11-25");
    says(&mut client, "ui/auth", "The first text.");
    remote.commit(&sending(HOST, "second"));
    refresh(&mut client);
    says(&mut client, "second", "second");
    for _ in 0..3 {
        ask(&mut client);
        refresh(&mut client);
    }
    let own = home.path().join(".skills-mcp");
    assert!(!own.join("analytics.jsonl").exists() && !own.join("endpoints").exists());
    assert_eq!(tunnel.asked(), Vec::<String>::new(), "nothing was sent anywhere");
    is_shown_to_wait(&home, &url);
    // Agreed to, it reaches the server that runs.
    let (code, out, err) = run(follower(&home, &url).args(["trust", "--yes"]));
    assert_eq!(code, 0, "{out}{err}");
    let posted = eventually("an event at the endpoint", || {
        ask(&mut client);
        tunnel.endpoint.posted().first().cloned()
    });
    assert_eq!(posted.headers.get("authorization"), None, "the operator's token is not for it");
    // Elsewhere is another matter.
    remote.commit(&sending("elsewhere.example.org", "third"));
    refresh(&mut client);
    says(&mut client, "third", "third");
    let before = tunnel.endpoint.ids().len();
    eventually("more events at the endpoint that was agreed to", || {
        ask(&mut client);
        (tunnel.endpoint.ids().len() > before).then_some(())
    });
    assert_eq!(waiting(&mut follower(&home, &url)), ["analytics.endpoint"]);
    // Off is always had, and on again is not.
    remote.commit("//- config.yaml\n{}\n//- skills/fourth.md\n---\nkeywords: [f]\ndescription: f\n---\nfourth\n");
    refresh(&mut client);
    says(&mut client, "fourth", "fourth");
    assert!(!is_on(&home, &url));
    remote.commit(&sending(HOST, "fifth"));
    refresh(&mut client);
    says(&mut client, "fifth", "fifth");
    assert!(!is_on(&home, &url));
    let (_, _, log) = client.close();
    assert!(
        tunnel.asked().iter().all(|host| *host == format!("{HOST}:443")),
        "{:?}",
        tunnel.asked()
    );
    let warnings =
        log.matches("until you agree to https://elsewhere.example.org/v1/events").count();
    assert_eq!(warnings, 1, "a change is said once: {log}");
    assert!(!log.contains("canary"), "{log}");
}

#[test]
fn e05_what_a_source_asks_for_when_it_is_first_served_holds_and_can_be_taken_back() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", &format!("{ONE}{}", sending(HOST, "first")));
    let tunnel = Tunnel::start(&home);
    let url = remote.url();
    synced(&home, &url);
    let (code, before) = answer(&mut follower(&home, &url), &["trust", "--json"]);
    assert_eq!((code, &before["sources"][0]["since"]), (0, &Value::Null), "not served yet");
    let mut command = tunnel.before(follower(&home, &url));
    command.args(["--set", "analytics.interval_seconds=1"]);
    let mut client = Client::legacy(command, "2025-11-25");
    says(&mut client, "first", "first");
    eventually("an event", || {
        ask(&mut client);
        tunnel.endpoint.posted().first().cloned()
    });
    let (code, shown) = answer(&mut follower(&home, &url), &["trust", "--json"]);
    assert_eq!((code, &shown["sources"][0]["agreed"]), (0, &json!(false)), "{shown}");
    assert_eq!(shown["sources"][0]["source"], json!(url), "{shown}");
    // By its URL, from where nothing is named, as an operator whose client names it would.
    let (_, out, err) =
        run(home.command(env!("CARGO_BIN_EXE_skills-mcp")).args(["trust", &url, "--revoke"]));
    assert!(out.contains("asks for true, now false  waits for your consent"), "{out}{err}");
    assert!(!is_on(&home, &url));
    // The server that runs has heard of it with its next call.
    ask(&mut client);
    let history = home.path().join(".skills-mcp/analytics.jsonl");
    let kept = || fs::read_to_string(&history).unwrap().lines().count();
    let (_, _, log) = client.close();
    let at_the_end = kept();
    let mut client = Client::legacy(follower(&home, &url), "2025-11-25");
    says(&mut client, "first", "first");
    ask(&mut client);
    client.close();
    assert_eq!(kept(), at_the_end, "{log}");
    assert!(log.contains("sets analytics.enabled to true"), "what holds is said too: {log}");
    assert!(log.contains("`analytics.enabled` stays false"), "{log}");
}

#[test]
fn e05_what_is_unsent_when_consent_is_taken_back_stays() {
    let home = Home::with(ROOT_TREE);
    let tunnel = Tunnel::start(&home);
    home.write(
        "config.yaml",
        format!("analytics: {{enabled: true, endpoint: 'https://{HOST}/v1/events'}}\n"),
    );
    let start = |seconds: u32| {
        let mut command = tunnel.before(server(&home));
        command.args(["--set", &format!("analytics.interval_seconds={seconds}")]);
        Client::legacy(command, "2025-11-25")
    };
    let mut client = start(3600);
    ask(&mut client);
    eventually("an event is kept", || {
        home.path().join(".skills-mcp/endpoints").exists().then_some(())
    });
    run(server(&home).args(["trust", "--revoke"]));
    ask(&mut client);
    client.close();
    assert_eq!(tunnel.asked(), Vec::<String>::new(), "a server that ends sends what it may");
    // With it given again, what was kept is sent.
    run(server(&home).args(["trust", "--yes"]));
    let client = start(1);
    eventually("the event that was kept", || (tunnel.endpoint.ids().len() == 1).then_some(()));
    client.close();
}

#[test]
fn e05_content_names_no_address_of_this_machine_or_network() {
    let home = Home::with(ROOT_TREE);
    let local = Endpoint::start();
    let port = local.url().rsplit(':').next().unwrap().to_owned();
    for (number, endpoint) in [
        local.url(),
        format!("https://127.0.0.1:{port}"),
        format!("https://localhost:{port}"),
        format!("https://[::ffff:127.0.0.1]:{port}"),
        format!("https://2130706433:{port}"),
        "https://169.254.169.254/latest".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let config = format!("analytics: {{enabled: true, endpoint: '{endpoint}'}}\n");
        let place = format!("content-{number}");
        home.write(&format!("{place}/config.yaml"), config);
        home.write(&format!("{place}/a.md"), "---\nkeywords: [login]\ndescription: d\n---\nx\n");
        let mut command = server(&home);
        command.env("SKILLS_DIR", home.path().join(&place));
        command.args(["--set", "analytics.interval_seconds=1"]);
        let mut client = Client::legacy(command, "2025-11-25");
        ask(&mut client);
        let (_, _, log) = client.close();
        assert!(log.contains("`analytics.endpoint` may not be set"), "{endpoint}: {log}");
    }
    assert_eq!(local.posted().len(), 0);
    assert!(!home.path().join(".skills-mcp/endpoints").exists());
    // The operator's own may be anything.
    let mut command = server(&home);
    command.env("ANALYTICS_ENDPOINT", local.url());
    let mut client = Client::legacy(command, "2025-11-25");
    ask(&mut client);
    client.close();
    eventually("the operator's event", || local.posted().first().cloned());
}

#[test]
fn e05_a_record_that_cannot_be_used_keeps_content_from_switching_on_and_stops_nothing() {
    let served = |home: &Home, command: Command| {
        let mut client = Client::legacy(command, "2025-11-25");
        ask(&mut client);
        assert!(
            client.call("get_skill", &json!({"skill_path": "ui/react/auth"})).json["content"]
                .is_string()
        );
        let (status, _, log) = client.close();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains("`analytics.enabled` stays false instead of true"), "{log}");
        assert!(!home.path().join(".skills-mcp/analytics.jsonl").exists());
        log
    };
    let home = Home::with(ROOT_TREE);
    home.write("config.yaml", "analytics: {enabled: true}\n");
    home.write(".skills-mcp/trust.json", "{torn");
    let log = served(&home, server(&home));
    assert!(log.contains(".skills-mcp/trust.json cannot be read"), "{log}");
    let (_, out, _) = run(server(&home).args(["doctor", "--all"]));
    assert!(out.contains("trust.json cannot be read"), "{out}");
    let (code, _, err) = run(server(&home).args(["trust", "--yes"]));
    assert!(code == 3 && err.contains("trust.json") && err.contains("delete it"), "{code} {err}");
    let path = home.path().join(".skills-mcp/trust.json");
    assert_eq!(fs::read_to_string(path).unwrap(), "{torn", "it is not overwritten");
    // A home that takes nothing, and no home at all.
    let home = Home::with(ROOT_TREE);
    home.write("config.yaml", "analytics: {enabled: true}\n");
    let mut command = server(&home);
    command.arg("--dir").arg(home.skills());
    let log = served(&home, ordinary(&home, command));
    assert!(log.contains("trust.json cannot be written"), "{log}");
    let mut command = server(&home);
    command.env_remove("HOME");
    assert!(served(&home, command).contains("there is no home folder to record consent in"));
    let (code, _, err) = run(server(&home).env_remove("HOME").args(["trust", "--yes"]));
    assert!(code == 3 && err.contains("; set HOME") && !err.contains("delete it"), "{code} {err}");
}

#[test]
fn e05_servers_that_start_together_share_one_record() {
    let home = Home::with(ROOT_TREE);
    home.write("config.yaml", "analytics: {enabled: true}\n");
    let other = home.path().join("other");
    home.write("other/a.md", "---\nkeywords: [login]\ndescription: d\n---\nx\n");
    thread::scope(|scope| {
        for number in 0..8 {
            let mut command = server(&home);
            if number % 2 == 1 {
                command.env("SKILLS_DIR", &other);
            }
            scope.spawn(move || {
                let mut client = Client::legacy(command, "2025-11-25");
                client.set_timeout(Duration::from_mins(1));
                ask(&mut client);
                client.close()
            });
        }
    });
    let text = fs::read_to_string(home.path().join(".skills-mcp/trust.json")).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    let sources = record["sources"].as_object().unwrap();
    assert_eq!(sources.len(), 2, "{record}");
    let real = home.skills().canonicalize().unwrap();
    assert_eq!(sources[real.to_str().unwrap()]["values"], json!({"analytics.enabled": true}));
}

#[test]
fn e05_a_pushed_commit_neither_leads_to_another_branch_nor_stops_the_fetching() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let mut client = Client::legacy(follower(&home, &remote.url()), "2025-11-25");
    says(&mut client, "ui/auth", "The first text.");
    remote.git(&["checkout", "-q", "-b", "evil"]);
    remote.commit("//- skills/evil.md\n---\nkeywords: [e]\ndescription: e\n---\nevil\n");
    remote.git(&["checkout", "-q", "main"]);
    remote.commit("//- config.yaml\ngit: {branch: evil, timeout_seconds: 1}\nrefresh: {enabled: false}\n//- skills/two.md\n---\nkeywords: [t]\ndescription: t\n---\ntwo\n");
    refresh(&mut client);
    says(&mut client, "two", "two");
    // Its correction arrives.
    remote.commit("//- config.yaml\n{}\n//- skills/three.md\n---\nkeywords: [t]\ndescription: t\n---\nthree\n");
    refresh(&mut client);
    says(&mut client, "three", "three");
    let (_, _, log) = client.close();
    for key in ["git.branch", "git.timeout_seconds", "refresh.enabled"] {
        assert!(log.contains(&format!("`{key}` stays")), "{key}: {log}");
    }
}

/// Serves a directory until it has answered a request with this skill.
fn serve_once(home: &Home, word: &str) {
    let mut client = Client::legacy(directory(home), "2025-11-25");
    let answer = client.call("get_skill", &json!({"context": word}));
    assert!(answer.json["content"].as_str().unwrap().ends_with(word), "{answer:?}");
    client.close();
}

fn directory(home: &Home) -> Command {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.arg("--dir").arg(home.path().join("d"));
    command
}

fn one_word(word: &str) -> String {
    format!("---\nkeywords: [{word}]\ndescription: {word}\n---\n{word}\n")
}

const SENDS: &str = "analytics: {enabled: true, endpoint: 'https://events.example.org/v1'}\n";

#[test]
fn e05_a_directory_whose_first_configuration_cannot_be_read_has_been_served_for_the_first_time() {
    let home = Home::new();
    home.write("d/apples.md", one_word("apples"));
    home.write("d/config.yaml", "a: [\n");
    serve_once(&home, "apples");
    home.write("d/config.yaml", SENDS);
    serve_once(&home, "apples");
    assert_eq!(waiting(&mut directory(&home)), ["analytics.enabled", "analytics.endpoint"]);
}

#[test]
fn e05_a_change_of_layout_makes_no_new_source_of_a_directory() {
    // From the folder in it to the whole directory, and back.
    for [first, second] in [["skills/apples.md", "pears.md"], ["apples.md", "skills/pears.md"]] {
        let home = Home::new();
        home.write(&format!("d/{first}"), one_word("apples"));
        serve_once(&home, "apples");
        fs::remove_file(home.path().join("d").join(first)).unwrap();
        home.write(&format!("d/{second}"), one_word("pears"));
        home.write("d/config.yaml", SENDS);
        serve_once(&home, "pears");
        let waiting = waiting(&mut directory(&home));
        assert_eq!(waiting, ["analytics.enabled", "analytics.endpoint"], "{second}");
    }
}

// E4

/// A script that tells whether it runs, of a repository or of a directory.
fn script() -> String {
    "//- skills/tool.md\n---\nkeywords: [tool]\ndescription: A tool\nscripts:\n  - {file: scripts/x.sh, description: X, execution: server}\n---\nUse it.\n//- skills/tool/scripts/x.sh\necho ran\n"
        .to_owned()
}

// SCRIPT-12
#[test]
fn e04_where_nothing_holds_it_a_repositorys_script_is_refused_and_a_named_directorys_runs_with_a_warning()
 {
    let request = json!({"skill_path": "tool", "file": "scripts/x.sh", "args": {}});
    let home = Home::new();
    let remote = Remote::with(&home, "team", &script());
    let checkout = remote.work().join("skills");
    synced(&home, &remote.url());
    home.write("project/x", "");
    let start = |sandbox: &str, calls: &[u32], source: &[&str]| {
        let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
        command.current_dir(home.path().join("project")).args(source);
        command.args(["--set", &format!("scripts.sandbox={sandbox}")]);
        Client::legacy(without_calls(&home, &command, calls), "2025-11-25")
    };
    let repository = ["--repo", &remote.url()];
    let directory = ["--dir", checkout.to_str().unwrap()];
    // Landlock, seccomp, both.
    for (calls, rung) in [(&[444][..], "seccomp"), (&[317], "landlock-v"), (&[444, 317], "none")] {
        let mut client = start("auto", calls, &repository);
        says(&mut client, "tool", "Use it.");
        let message = refused(&mut client, &request);
        assert!(message.contains("runs only where the sandbox holds"), "{message}");
        assert!(
            message.contains(&format!("gives {rung}")) && message.contains("--dir"),
            "{message}"
        );
        let mut client = start("auto", calls, &directory);
        let answer = ran(&mut client, "scripts/x.sh", &json!({}));
        assert!(answer["sandbox"].as_str().unwrap().starts_with(rung), "{answer}");
        assert_eq!(answer["stdout"], "ran\n");
        let (_, _, log) = client.close();
        let warning = log.lines().find(|line| line.contains("this machine does not hold it"));
        assert!(warning.is_some_and(|line| line.contains("WARN")), "{log}");
        for source in [&repository, &directory] {
            let mut client = start("required", calls, source);
            says(&mut client, "tool", "Use it.");
            let message = refused(&mut client, &request);
            assert!(message.contains("scripts.sandbox is `required`"), "{message}");
        }
    }
    // The operator's word is the last one; and where all of it holds, nothing is refused or said.
    let mut client = start("off", &[444, 317], &repository);
    says(&mut client, "tool", "Use it.");
    assert_eq!(ran(&mut client, "scripts/x.sh", &json!({}))["sandbox"], "none");
    let mut client = start("auto", &[], &repository);
    says(&mut client, "tool", "Use it.");
    assert_ne!(ran(&mut client, "scripts/x.sh", &json!({}))["sandbox"], "none");
    let (_, _, log) = client.close();
    assert!(!log.contains("does not hold it"), "{log}");
}

#[test]
fn e04_doctor_and_explain_say_what_would_be_refused() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", &script());
    synced(&home, &remote.url());
    let without = |arguments: &[&str]| {
        let mut command = follower(&home, &remote.url());
        command.args(["--repo", &remote.url()]).args(arguments);
        run(&mut without_calls(&home, &command, &[444, 317])).1
    };
    let explained = without(&["run", "tool", "scripts/x.sh", "--explain"]);
    assert!(explained.contains("gives none, so it would be refused: "), "{explained}");
    let examined = without(&["doctor", "--all"]);
    assert!(examined.contains("scripts of repositories and plugins are refused"), "{examined}");
}

// E10

#[test]
fn e10_the_operator_takes_the_network_from_scripts_that_declare_it() {
    let shop = || {
        Workshop::new().script(
            "scripts/x.sh",
            "network: true",
            "exec 3<>/dev/tcp/127.0.0.1/$(cat port) && echo connected\n",
        )
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let outcome = |shop: &Workshop, trust: &str| {
        shop.home.write("project/port", &port);
        let mut command = shop.command(&[]);
        command.env("SKILLS_TRUST", trust);
        let answer = ran(&mut Client::legacy(command, "2025-11-25"), "scripts/x.sh", &json!({}));
        let said = answer["note"].as_str().unwrap_or_default().contains("scripts.network is off");
        (answer["stdout"] == "connected\n", said)
    };
    assert_eq!(outcome(&shop(), "named"), (true, false));
    let off = shop().set("scripts.network=off");
    assert_eq!(outcome(&off, "named"), (false, true));
    assert_eq!(outcome(&shop(), "strict"), (false, true));
    assert_eq!(outcome(&shop().set("scripts.network=declared"), "strict"), (true, false));
    let (_, out, _) = run(&mut off.command(&["run", "tool", "scripts/x.sh", "--explain"]));
    assert!(out.contains("no: it declares one, and scripts.network is off"), "{out}");
    // Not content's to say.
    let shop = shop();
    shop.home.write("skills/config.yaml", "scripts: {network: off}\n");
    assert_eq!(outcome(&shop, "named"), (true, false));
}

// A6

// SCRIPT-4
#[test]
fn a06_scripts_that_a_mistake_turned_off_say_so_everywhere() {
    let shop = Workshop::new().script("scripts/x.sh", "", "echo ran\n");
    shop.home.write("skills/config.yaml", "scripts:\n  enabled: maybe\n");
    let request = json!({"skill_path": "tool", "file": "scripts/x.sh", "args": {}});
    let mut client = shop.client();
    let message = refused(&mut client, &request);
    assert!(
        message.contains("config.yaml:2: `scripts.enabled` is `maybe`, but must be true or false"),
        "{message}"
    );
    assert!(
        message.contains("until it is fixed") && !message.contains("was set to false"),
        "{message}"
    );
    let (_, out, _) = run(&mut shop.command(&["doctor", "--all"]));
    assert!(out.contains("scripts are off until it is fixed"), "{out}");
    assert!(!out.contains("its default is used"), "{out}");
    // Once fixed, they run: a mistake does not go on record.
    shop.home.write("skills/config.yaml", "scripts:\n  enabled: true\n");
    assert_eq!(ran(&mut client, "scripts/x.sh", &json!({}))["stdout"], "ran\n");
}

// E13

#[test]
fn e13_no_command_prints_a_raw_control_or_invisible_character() {
    let shop = Workshop::new().script(
        "scripts/x.sh",
        "args:\n  - {name: \"a\\e[31m\\u202e\", description: \"d\\u009b\\u202e\\e[2J\"}\nenv: [\"E\\e[31m\"]",
        "printf 'a\\302\\233b\\342\\200\\256c'\n",
    );
    let evil = "\u{9b}31m\u{202e}\u{200b}";
    shop.home.write(
        "skills/evil.md",
        format!(
            "---\nkeywords: [login, \"k{evil}\"]\ndescription: \"d{evil}\"\n---\nBody {evil}\n"
        ),
    );
    shop.home.write(
        &format!("skills/n{evil}.md"),
        format!("---\nkeywords: []\ndescription: \"d{evil}\"\n---\nx\n"),
    );
    shop.home.write("skills/config.yaml", format!("matching: {{min_score: \"{evil}\"}}\n"));
    let raw = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{200b}');
    let mut shown = 0;
    for arguments in [
        &["list", "--json"][..],
        &["list", "--all", "--json"],
        &["show", "evil", "--json"],
        &["try", "login", "--json"],
        &["why", "evil", "--json"],
        &["config", "--json"],
        &["doctor", "--json"],
        &["trust", "--json"],
        &["run", "tool", "scripts/x.sh", "--explain"],
        &["run", "tool", "scripts/x.sh", "--explain", "--json"],
        &["run", "tool", "scripts/x.sh", "--json"],
        &["run", "tool", "scripts/x.sh", "--arg", "b\u{1b}[31m\u{202e}=1"],
        &["show", "n\u{1b}[31m\u{202e}"],
    ] {
        let (_, out, err) = run(&mut shop.command(arguments));
        for text in [&out, &err] {
            assert!(!text.contains(raw), "{arguments:?}: {text:?}");
        }
        shown += usize::from((out + &err).to_lowercase().contains("202e"));
        if arguments.last() == Some(&"--json") {
            let (_, out, _) = run(&mut shop.command(arguments));
            assert!(out.is_empty() || serde_json::from_str::<Value>(&out).is_ok(), "{out}");
        }
    }
    assert!(shown >= 6, "only {shown} commands had anything to show");
}
