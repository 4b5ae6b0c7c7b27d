//! Git sources: what GIT-1 to GIT-8 promise, with real repositories over `file://` and over HTTP on this machine.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skills_testkit::{Client, GitServerBehaviour, Home, PROMPT_TIMEOUT, Remote};

use crate::support::{bundle, eventually, run, skill};

const ONE: &str = "\
//- skills/ui/auth.md
---
keywords: [react, login, session]
description: Signing in
---
The first text.
";

/// The real binary over a repository, in this home.
pub(crate) fn follower(home: &Home, url: &str) -> Command {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.env("SKILLS_REPO", url);
    command
}

/// A client that has shaken hands with it.
pub(crate) fn following(home: &Home, url: &str) -> Client {
    Client::legacy(follower(home, url), "2025-11-25")
}

/// Where this home keeps the only repository that it follows.
pub(crate) fn kept(home: &Home) -> PathBuf {
    let content = home.path().join(".skills-mcp/content");
    let mut found = fs::read_dir(&content).unwrap().map(|entry| entry.unwrap().path());
    let first = found.next().unwrap();
    assert!(found.next().is_none(), "more than one repository is kept");
    first
}

/// What `get_skill` says of a skill, once it says anything.
pub(crate) fn text_of(client: &mut Client, path: &str) -> Option<String> {
    let reply = client.call("get_skill", &json!({"skill_path": path}));
    reply.json.get("content").and_then(Value::as_str).map(str::to_owned)
}

/// Waits until a skill says this.
pub(crate) fn says(client: &mut Client, path: &str, text: &str) {
    eventually(&format!("{path} says {text}"), || {
        text_of(client, path).filter(|content| content.contains(text))
    });
}

/// Refreshes, once no sync of the server's own runs.
pub(crate) fn refresh(client: &mut Client) -> Value {
    eventually("no other sync runs", || {
        let answer = client.call("refresh_skills", &json!({})).json;
        (!answer.to_string().contains("already running")).then_some(answer)
    })
}

/// Syncs once, so that there is a cache.
pub(crate) fn synced(home: &Home, url: &str) {
    let (code, out, err) = run(follower(home, url).arg("sync"));
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn git_1_a_repository_is_cloned_and_served() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let mut client = following(&home, &remote.url());
    says(&mut client, "ui/auth", "The first text.");
    let tree = client.call("list_skills", &json!({})).json;
    assert!(tree.to_string().contains("ui/auth"), "{tree}");
    assert!(kept(&home).join("mirror.git/shallow").is_file(), "the copy has no history");
}

// GIT-3
#[test]
fn the_first_call_waits_for_a_first_clone_and_says_after_two_seconds_that_it_is_running() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    // On a busy machine a clone may take longer.
    eventually("a first call waits for the clone", || {
        let mut client = following(&Home::new(), &remote.url());
        let first = client.call("get_skill", &json!({"context": "ui/auth"}));
        first.text.contains("The first text.").then_some(())
    });
    let server = remote.serve();
    server.behave(GitServerBehaviour::Stall);
    let mut client = following(&home, &server.url());
    let tools = client.request("tools/list", json!({}));
    assert!(tools.to_string().contains("get_skill"), "{tools}");
    let reply = client.call("get_skill", &json!({"context": "react login"}));
    assert!(reply.is_error, "{}", reply.text);
    assert!(reply.text.contains("the first sync of http://127.0.0.1:"), "{}", reply.text);
    assert!(reply.text.contains("is running"), "{}", reply.text);
    let started = Instant::now();
    client.call("get_skill", &json!({"context": "react login"}));
    assert!(started.elapsed() < PROMPT_TIMEOUT, "{:?}", started.elapsed());
    server.behave(GitServerBehaviour::Open);
    says(&mut client, "ui/auth", "The first text.");
}

#[test]
fn report_4_refresh_skills_fetches_and_says_what_came() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    synced(&home, &remote.url());
    let mut client = following(&home, &remote.url());
    says(&mut client, "ui/auth", "The first text.");
    let commit = remote.commit(&format!(
        "//- skills/ui/auth.md\n{}//- skills/api.md\n{}//- README.md\nnot ours\n",
        skill("react, login, session", "Signing in", "The second text."),
        skill("api", "An API", "x"),
    ));
    let answer = refresh(&mut client);
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(answer["commit_hash"], commit.as_str());
    assert_eq!(answer["files_changed"], 2);
    assert_eq!(answer["skills_reindexed"], 2);
    assert!(answer["last_sync"].as_str().is_some_and(|time| time.ends_with('Z')), "{answer}");
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["success", "commit_hash", "files_changed", "skills_reindexed", "last_sync"]);
    says(&mut client, "ui/auth", "The second text.");
    let again = refresh(&mut client);
    assert_eq!((&again["success"], &again["files_changed"]), (&json!(true), &json!(0)));
}

// REPORT-4
#[test]
fn git_2_network_down_at_startup_the_cache_is_served() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    synced(&home, &remote.url());
    fs::rename(remote.path(), remote.path().with_extension("away")).unwrap();
    // The interval has passed since.
    forget_when(&home);
    let mut client = following(&home, &remote.url());
    says(&mut client, "ui/auth", "The first text.");
    let answer = refresh(&mut client);
    assert_eq!(answer["success"], false, "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(
        message.contains("still served") && message.contains("no such repository"),
        "{message}"
    );
    assert!(text_of(&mut client, "ui/auth").is_some());
    let (_, _, log) = client.close();
    assert!(log.contains("not synced") && log.contains("still served"), "{log}");
}

#[test]
fn report_4_network_down_at_refresh_is_said_and_tried_again() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let server = remote.serve();
    let mut client = following(&home, &server.url());
    says(&mut client, "ui/auth", "The first text.");
    server.behave(GitServerBehaviour::Status(503));
    let answer = refresh(&mut client);
    assert_eq!(answer["success"], false);
    assert!(answer["message"].as_str().unwrap().contains("cannot be reached"), "{answer}");
    assert_eq!(answer["commit_hash"], remote.git(&["rev-parse", "HEAD"]).as_str());
    server.behave(GitServerBehaviour::Open);
    assert_eq!(refresh(&mut client)["success"], true);
}

#[test]
fn report_5_a_second_refresh_while_one_runs_is_answered_at_once() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let server = remote.serve();
    let mut client = following(&home, &server.url());
    says(&mut client, "ui/auth", "The first text.");
    // The first sync of its own is over.
    refresh(&mut client);
    server.behave(GitServerBehaviour::Stall);
    let asked = server.requests().len();
    let first = client.ask("tools/call", json!({"name": "refresh_skills", "arguments": {}}));
    eventually("the first refresh asks", || (server.requests().len() > asked).then_some(()));
    let started = Instant::now();
    let second = client.call("refresh_skills", &json!({})).json;
    assert_eq!(second["success"], false);
    assert!(second["message"].as_str().unwrap().contains("already running"), "{second}");
    assert!(started.elapsed() < PROMPT_TIMEOUT, "{:?}", started.elapsed());
    assert!(text_of(&mut client, "ui/auth").is_some(), "other calls go on");
    server.behave(GitServerBehaviour::Open);
    assert!(client.answer(first).get("result").is_some());
}

// REPORT-4
#[test]
fn git_5_an_expired_token_is_told_with_the_way_to_renew_it() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let server = remote.serve();
    server.behave(GitServerBehaviour::Password("good".into()));
    let mut command = follower(&home, &server.url());
    command.env("GITHUB_TOKEN", "good");
    let mut client = Client::legacy(command, "2025-11-25");
    says(&mut client, "ui/auth", "The first text.");
    server.behave(GitServerBehaviour::Password("another".into()));
    let answer = refresh(&mut client);
    assert_eq!(answer["success"], false, "{answer}");
    let message = answer["message"].as_str().unwrap();
    for part in ["GITHUB_TOKEN", "expired", "still served", "gh auth token", "skills-mcp sync"] {
        assert!(message.contains(part), "no {part} in {message}");
    }
    assert!(text_of(&mut client, "ui/auth").is_some());
}

#[test]
fn git_5_the_credential_helper_of_the_machine_is_asked_without_a_token() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let server = remote.serve();
    server.behave(GitServerBehaviour::Password("from-helper".into()));
    let helper = "!f() { echo username=x-access-token; echo password=from-helper; }; f";
    home.write(".gitconfig", format!("[credential]\n\thelper = \"{helper}\"\n"));
    let (code, out, err) = run(follower(&home, &server.url()).env("GITHUB_TOKEN", "").arg("sync"));
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn git_1_a_repository_without_skills_is_served_and_matches_nothing() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", "//- README.md\nnothing yet\n");
    let mut client = following(&home, &remote.url());
    let answer = eventually("the first sync ends", || {
        let reply = client.call("get_skill", &json!({"context": "react login"}));
        (!reply.is_error).then_some(reply.json)
    });
    assert_eq!(answer["no_match"], true, "{answer}");
}

#[test]
fn a_repository_without_a_commit_is_told_of() {
    let home = Home::new();
    let remote = Remote::empty(&home, "team");
    let (code, _, err) = run(follower(&home, &remote.url()).arg("sync"));
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("there is no branch `main`") && err.contains("is empty"), "{err}");
    let mut client = following(&home, &remote.url());
    let reply = eventually("the failure is told", || {
        let reply = client.call("get_skill", &json!({"context": "x"}));
        reply.text.contains("failed").then_some(reply)
    });
    assert!(reply.is_error && reply.text.contains("there is no branch"), "{}", reply.text);
}

// GIT-4
#[test]
fn without_a_main_the_repositorys_own_branch_is_followed_unless_one_is_named() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    remote.git(&["branch", "-m", "main", "master"]);
    let (code, out, err) = run(follower(&home, &remote.url()).arg("sync"));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("its own branch `master`, since there is no `main`"), "{out}");
    let mut client = following(&home, &remote.url());
    says(&mut client, "ui/auth", "The first text.");
    let text = skill("react, login, session", "Signing in", "The second text.");
    remote.commit(&format!("//- skills/ui/auth.md\n{text}"));
    assert_eq!(refresh(&mut client)["success"], true);
    says(&mut client, "ui/auth", "The second text.");
    for named in ["main", "nope"] {
        let mut command = follower(&home, &remote.url());
        let (code, _, err) = run(command.env("SKILLS_BRANCH", named).arg("sync"));
        assert!(code == 1 && err.contains("there are master"), "{named}: {err}");
    }
}

// GIT-4
#[test]
fn a_missing_branch_lists_up_to_ten_that_exist() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    for number in 0..12 {
        remote.git(&["branch", &format!("topic-{number:02}")]);
    }
    let (code, _, err) =
        run(follower(&home, &remote.url()).env("SKILLS_BRANCH", "nope").arg("sync"));
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("there is no branch `nope`; there are main, topic-00, "), "{err}");
    assert!(err.contains("topic-08") && !err.contains("topic-09"), "{err}");
}

// GIT-4
#[test]
fn branches_and_commits_can_be_named_in_the_url_the_variable_and_the_content() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let first = remote.git(&["rev-parse", "HEAD"]);
    remote.git(&["checkout", "-q", "-b", "next"]);
    let next = remote.commit(&format!("//- skills/next.md\n{}", skill("next", "Next", "n")));
    remote.git(&["checkout", "-q", "main"]);
    let main = remote.commit("//- config.yaml\ngit:\n  branch: next\n");
    let commit = |command: &mut Command| {
        let (code, out, err) = run(command.args(["status", "--json", "--offline"]));
        assert_eq!(code, 0, "{out}{err}");
        let status: Value = serde_json::from_str(&out).unwrap();
        status["sources"][0]["commit"].as_str().unwrap().to_owned()
    };
    let at = |wanted: &str| follower(&home, &format!("{}{wanted}", remote.url()));
    for (wanted, expected) in [("#next", &next), ("#main", &main), (&format!("@{first}"), &first)] {
        synced(&home, &format!("{}{wanted}", remote.url()));
        assert_eq!(&commit(&mut at(wanted)), expected, "{wanted}");
    }
    run(at("").env("SKILLS_BRANCH", "next").arg("sync"));
    assert_eq!(commit(at("").env("SKILLS_BRANCH", "next")), next);
    // The content of main says to follow another branch, and the operator names none.
    synced(&home, &remote.url());
    assert_eq!(commit(&mut at("")), main);
    synced(&home, &remote.url());
    assert_eq!(commit(&mut at("")), next);
}

#[test]
fn force_pushes_and_unrelated_histories_converge() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    remote.commit(&format!("//- skills/two.md\n{}", skill("two", "Two", "t")));
    let mut client = following(&home, &remote.url());
    says(&mut client, "two", "t");
    remote.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let answer = refresh(&mut client);
    assert_eq!(
        (&answer["success"], &answer["skills_reindexed"]),
        (&json!(true), &json!(1)),
        "{answer}"
    );
    remote.git(&["checkout", "-q", "--orphan", "fresh"]);
    remote.git(&["rm", "-rfq", "."]);
    remote.commit(&format!("//- skills/other.md\n{}", skill("other", "Other", "o")));
    remote.git(&["branch", "-M", "fresh", "main"]);
    assert_eq!(refresh(&mut client)["success"], true);
    says(&mut client, "other", "o");
    assert!(text_of(&mut client, "ui/auth").is_none());
}

#[test]
fn a_branch_that_is_deleted_or_renamed_is_served_from_the_cache_and_told_of() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let mut command = follower(&home, &remote.url());
    command.env("SKILLS_BRANCH", "main");
    let mut client = Client::legacy(command, "2025-11-25");
    says(&mut client, "ui/auth", "The first text.");
    remote.git(&["branch", "-m", "main", "trunk"]);
    let answer = refresh(&mut client);
    assert_eq!(answer["success"], false);
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("no branch `main`; there are trunk"), "{message}");
    assert!(text_of(&mut client, "ui/auth").is_some());
}

// GIT-7
#[test]
fn a_config_that_does_not_parse_keeps_the_commit_before() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let first = remote.git(&["rev-parse", "HEAD"]);
    let mut client = following(&home, &remote.url());
    says(&mut client, "ui/auth", "The first text.");
    remote.commit(&format!(
        "//- config.yaml\nmatching: [unclosed\n//- skills/ui/auth.md\n{}",
        skill("react", "Signing in", "The bad commit.")
    ));
    let answer = refresh(&mut client);
    assert_eq!(answer["success"], false);
    assert!(answer["message"].as_str().unwrap().contains("config.yaml:"), "{answer}");
    assert_eq!(answer["commit_hash"], first.as_str());
    assert!(text_of(&mut client, "ui/auth").unwrap().contains("The first text."));
    remote.commit("//- config.yaml\nmatching: {min_score: 0.3}\n");
    assert_eq!(refresh(&mut client)["success"], true);
    says(&mut client, "ui/auth", "The bad commit.");
}

// GIT-1
#[test]
fn bundles_and_a_root_without_a_skills_folder_are_served() {
    let home = Home::new();
    let remote = Remote::empty(&home, "team");
    remote.commit(&format!(
        "//- pdf/SKILL.md\n{}//- pdf/forms.md\nForms.\n//- config.yaml\nmatching: {{max_results: 7}}\n",
        bundle("pdf", "Reads PDFs", "Use the tool.")
    ));
    let mut client = following(&home, &remote.url());
    says(&mut client, "pdf", "Use the tool.");
    let reply = client.call("skill", &json!({"name": "pdf"}));
    let base = reply.text.lines().find_map(|line| line.strip_prefix("Base directory: ")).unwrap();
    assert!(Path::new(base).join("forms.md").is_file(), "{base}");
    assert!(base.contains("/generations/"), "agents are given a folder that stays: {base}");
    let (_, out, _) = run(follower(&home, &remote.url()).args(["config", "--json"]));
    let config: Value = serde_json::from_str(&out).unwrap();
    assert!(out.contains("max_results") && config.to_string().contains("config.yaml"), "{out}");
}

#[test]
fn a_sparse_source_fetches_the_skills_and_nothing_else() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    remote.write("big/data.bin", vec![7_u8; 300_000]);
    let blob = remote.git(&["hash-object", "-w", "big/data.bin"]);
    remote.commit_all();
    let (code, out, err) =
        run(follower(&home, &remote.url()).args(["sync", "--set", "git.sparse_checkout=true"]));
    assert_eq!(code, 0, "{out}{err}");
    let has = |blob: &str| {
        let mut command = home.command("git");
        command.env("GIT_NO_LAZY_FETCH", "1").arg("--git-dir").arg(kept(&home).join("mirror.git"));
        run(command.args(["cat-file", "-e", blob])).0 == 0
    };
    assert!(!has(&blob), "a file outside skills/ was fetched");
    let mut client = following(&home, &remote.url());
    says(&mut client, "ui/auth", "The first text.");
    remote.commit(&format!("//- skills/two.md\n{}", skill("two", "Two", "t")));
    let (code, out, err) =
        run(follower(&home, &remote.url()).args(["sync", "--set", "git.sparse_checkout=true"]));
    assert_eq!(code, 0, "{out}{err}");
    says(&mut client, "two", "t");
}

#[test]
fn several_repositories_and_directories_are_one_catalog() {
    let home = Home::with(&format!("//- local.md\n{}", skill("local", "Local", "l")));
    let (a, b) = (Remote::with(&home, "a", ONE), Remote::with(&home, "b", ONE));
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.args(["--dir", "skills", "--repo", &a.url(), "--repo", &b.url()]);
    let mut client = Client::legacy(command, "2025-11-25");
    says(&mut client, "local", "l");
    says(&mut client, "ui/auth", "The first text.");
    says(&mut client, "b:ui/auth", "The first text.");
    let answer = refresh(&mut client);
    assert_eq!(answer["sources"].as_object().unwrap().len(), 2, "{answer}");
}

// GIT-8
#[test]
fn within_the_interval_the_remote_is_asked_once_for_all_processes() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let server = remote.serve();
    for _ in 0..3 {
        let mut client = following(&home, &server.url());
        says(&mut client, "ui/auth", "The first text.");
    }
    assert_eq!(server.fetches(), 1, "{:?}", server.requests());
    forget_when(&home);
    let _client = following(&home, &server.url());
    eventually("after the interval it is asked again", || (server.fetches() == 2).then_some(()));
}

#[test]
fn clients_are_told_of_what_a_sync_brings() {
    let home = Home::new();
    let remote = Remote::empty(&home, "team");
    remote.commit(&format!("//- skills/pdf/SKILL.md\n{}", bundle("pdf", "Reads PDFs", "x")));
    let mut client = following(&home, &remote.url());
    says(&mut client, "pdf", "x");
    client.request("tools/list", json!({}));
    client.arrivals(Duration::from_millis(700));
    remote.commit(&format!("//- skills/csv/SKILL.md\n{}", bundle("csv", "Reads CSVs", "x")));
    assert_eq!(refresh(&mut client)["success"], true);
    client.notification("notifications/tools/list_changed");
}

// GIT-8
#[test]
fn a_lock_file_holds_a_build_to_what_was_reviewed() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let first = remote.git(&["rev-parse", "HEAD"]);
    let at = |arguments: &[&str]| run(follower(&home, &remote.url()).args(arguments));
    let (code, _, err) = at(&["sync", "--locked"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("skills.lock") && err.contains("sync --lock"), "{err}");
    assert_eq!(at(&["sync", "--lock"]).0, 0);
    let lock: Value =
        serde_json::from_slice(&fs::read(home.path().join("skills.lock")).unwrap()).unwrap();
    assert_eq!(lock["sources"][0]["commit"], first.as_str());
    assert!(lock["sources"][0]["skills"]["ui/auth"].as_str().unwrap().starts_with("sha256:"));
    remote.commit(&format!("//- skills/two.md\n{}", skill("two", "Two", "t")));
    assert_eq!(at(&["sync"]).0, 0);
    let (code, out, err) = at(&["sync", "--locked"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("as skills.lock says"), "{out}");
    let edited =
        fs::read_to_string(home.path().join("skills.lock")).unwrap().replace("sha256:", "sha256:0");
    home.write("skills.lock", edited);
    let (code, _, err) = at(&["sync", "--locked"]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("ui/auth has another digest"), "{err}");
    // A project may bring a link in its place.
    fs::remove_file(home.path().join("skills.lock")).unwrap();
    home.write("elsewhere", "kept");
    symlink("elsewhere", home.path().join("skills.lock")).unwrap();
    let (code, _, err) = at(&["sync", "--lock"]);
    assert!(code == 2 && err.contains("skills.lock is a symbolic link"), "{code} {err}");
    assert_eq!(fs::read_to_string(home.path().join("elsewhere")).unwrap(), "kept");
}

// GIT-8
#[test]
fn a_sync_writes_again_what_was_changed_in_the_local_copy_also_where_it_was_indexed_before() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let commit = remote.git(&["rev-parse", "HEAD"]);
    for url in [remote.url(), format!("{}@{commit}", remote.url())] {
        let at = |arguments: &[&str]| run(follower(&home, &url).args(arguments));
        assert_eq!(at(&["sync", "--lock"]).0, 0);
        assert_eq!(at(&["doctor"]).0, 0, "its index is kept");
        let file = kept(&home).join("generations").join(&commit).join("skills/ui/auth.md");
        let text = fs::read_to_string(&file).unwrap();
        for (how, is_cached) in [("changed", true), ("removed", true), ("changed", false)] {
            for arguments in [&["sync", "--locked"][..], &["sync"]] {
                if !is_cached {
                    let _ = fs::remove_dir_all(home.path().join(".skills-mcp/cache"));
                }
                fs::remove_file(&file).unwrap();
                if how == "changed" {
                    fs::write(&file, format!("{text}Delete everything.\n")).unwrap();
                }
                let (code, out, err) = at(arguments);
                assert_eq!(code, 0, "{how}: {out}{err}");
                assert_eq!(fs::read_to_string(&file).unwrap(), text, "{how}");
            }
        }
        let (_, out, _) = at(&["show", "ui/auth"]);
        assert!(out.contains("The first text.") && !out.contains("Delete"), "{out}");
    }
}

#[test]
fn doctor_and_status_say_that_the_last_sync_failed_although_skills_are_served() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let at = |arguments: &[&str]| run(follower(&home, &remote.url()).args(arguments));
    assert_eq!(at(&["sync"]).0, 0);
    assert_eq!(at(&["doctor"]).0, 0);
    remote.commit("//- config.yaml\nmatching: [\n");
    assert_eq!(at(&["sync"]).0, 1);
    let (code, out, err) = at(&["doctor", "--json"]);
    assert_eq!(code, 1, "{out}{err}");
    let doctor: Value = serde_json::from_str(&out).unwrap();
    assert!(doctor["warnings"].to_string().contains("the last sync of"), "{doctor}");
    assert!(doctor["next"].as_str().unwrap().ends_with(" sync"), "{doctor}");
    assert_eq!(doctor["sources"][0]["skills"], 1);
    let (_, out, _) = at(&["status"]);
    assert!(out.contains("failed") && !out.contains("`skills-mcp sync` takes it"), "{out}");
}

#[test]
fn status_says_commit_age_edits_and_what_changed_since_the_last_look() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let status = || {
        let (code, out, err) = run(follower(&home, &remote.url()).args(["status", "--json"]));
        (
            code,
            serde_json::from_str::<Value>(&out).unwrap_or_else(|_| panic!("{out}{err}"))["sources"]
                [0]
            .clone(),
        )
    };
    let (code, before) = status();
    assert_eq!((code, &before["commit"]), (1, &Value::Null));
    synced(&home, &remote.url());
    let (code, first) = status();
    assert_eq!((code, &first["up_to_date"]), (0, &json!(true)), "{first}");
    assert!(first["age_seconds"].as_u64().unwrap() < 60);
    let commit = remote.commit(&format!("//- skills/two.md\n{}", skill("two", "Two", "t")));
    let (_, behind) = status();
    assert_eq!((&behind["up_to_date"], &behind["remote_commit"]), (&json!(false), &json!(commit)));
    synced(&home, &remote.url());
    let (_, now) = status();
    assert_eq!(now["changed"], json!(["skills/two.md"]), "{now}");
    assert_eq!(now["changed_since"], first["commit"]);
    let file = kept(&home).join("generations").join(&commit).join("skills/two.md");
    fs::remove_file(&file).unwrap();
    fs::write(&file, "edited").unwrap();
    fs::write(file.with_file_name("added.md"), "x").unwrap();
    let (code, edited) = status();
    assert_eq!(edited["local_edits"], json!(["skills/added.md", "skills/two.md"]));
    assert_eq!(code, 1);
    let (_, out, _) = run(follower(&home, &remote.url()).arg("status"));
    assert!(out.contains("edited in the local copy") && out.contains("the same commit"), "{out}");
}

#[test]
fn old_generations_stay_a_day_and_while_a_server_uses_them_and_then_go() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let first = remote.git(&["rev-parse", "HEAD"]);
    let mut client = following(&home, &remote.url());
    says(&mut client, "ui/auth", "The first text.");
    let generations = kept(&home).join("generations");
    let change = |number: usize| {
        remote.commit(&format!("//- skills/n.md\n{}", skill("n", "N", &format!("text {number}"))));
        synced(&home, &remote.url());
    };
    let age = |commit: &str| {
        let lease = generations.join(format!("{commit}.lease"));
        assert_eq!(run(Command::new("touch").args(["-d", "25 hours ago"]).arg(lease)).0, 0);
    };
    change(1);
    assert!(generations.join(&first).is_dir(), "it is not a day old");
    age(&first);
    change(2);
    assert!(generations.join(&first).is_dir(), "a server that served it lives");
    says(&mut client, "n", "text 2");
    drop(client);
    change(3);
    assert!(!generations.join(&first).exists(), "no server uses it any more");
    assert!(!generations.join(format!("{first}.lease")).exists());
    let current = remote.git(&["rev-parse", "HEAD"]);
    assert!(generations.join(current).is_dir());
}

#[test]
fn a_server_that_leaves_during_a_fetch_leaves_at_once_and_nothing_behind() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let server = remote.serve();
    server.behave(GitServerBehaviour::Stall);
    let client = following(&home, &server.url());
    eventually("it asks", || (!server.requests().is_empty()).then_some(()));
    let children = || run(Command::new("pgrep").args(["-f", &server.base()])).1;
    assert!(!children().is_empty());
    let (status, took, _) = client.close();
    assert!(status.success());
    assert!(took < PROMPT_TIMEOUT, "{took:?}");
    eventually("no git is left", || children().is_empty().then_some(()));
}

#[test]
fn a_sync_that_changes_three_of_many_files_reads_three_and_no_call_sees_two_commits() {
    const MANY: usize = 5_000;
    let home = Home::new();
    let remote = Remote::empty(&home, "team");
    let file = |number: usize, text: &str| {
        let name = format!("skills/g{}/s{number}.md", number % 100);
        remote.write(&name, skill(&format!("k{number}, common"), "One of many", text));
    };
    (0..MANY).for_each(|number| file(number, "generation one"));
    remote.commit_all();
    synced(&home, &remote.url());
    let mut client = following(&home, &remote.url());
    says(&mut client, "g1/s1", "generation one");
    for number in [1, 2, 3] {
        file(number, "generation two");
    }
    remote.commit_all();
    let sync =
        follower(&home, &remote.url()).arg("sync").stdout(std::process::Stdio::null()).spawn();
    let mut sync = sync.unwrap();
    let (mut worst, mut seen) = (Duration::ZERO, false);
    while !seen {
        let started = Instant::now();
        let first = text_of(&mut client, "g1/s1").unwrap();
        worst = worst.max(started.elapsed());
        seen = first.contains("generation two");
        let last = text_of(&mut client, "g3/s3").unwrap();
        assert!(!seen || last.contains("generation two"), "two commits mixed");
    }
    assert!(sync.wait().unwrap().success());
    // `benches` measure how long: ten milliseconds where it is built for speed.
    assert!(worst < PROMPT_TIMEOUT, "a call took {worst:?}");
    println!("the longest call took {worst:?}");
    let (_, _, log) = client.close();
    let line = log.lines().rfind(|line| line.contains("indexed")).unwrap();
    assert!(line.contains("changed=3") && line.contains("added=0"), "{line}");
}

// GIT-2
#[test]
fn with_a_cache_a_stalled_remote_does_not_slow_the_start() {
    let home = Home::new();
    let remote = Remote::with(&home, "team", ONE);
    let server = remote.serve();
    synced(&home, &server.url());
    let start = || {
        let started = Instant::now();
        let mut client = following(&home, &server.url());
        assert!(text_of(&mut client, "ui/auth").is_some(), "the cache is served at once");
        started.elapsed()
    };
    let quiet = (0..5).map(|_| start()).min().unwrap();
    server.behave(GitServerBehaviour::Stall);
    forget_when(&home);
    let stalled = (0..5).map(|_| start()).min().unwrap();
    println!("quiet {quiet:?}, stalled {stalled:?}");
    assert!(stalled < quiet + PROMPT_TIMEOUT, "{stalled:?} after {quiet:?}");
}

/// Makes the last sync one of long ago.
fn forget_when(home: &Home) {
    let wanted = kept(home).join("wanted");
    for entry in fs::read_dir(wanted).unwrap() {
        let file = entry.unwrap().path().join("state.json");
        let mut state: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        state.as_object_mut().unwrap().insert("fetched_at".to_owned(), json!(1));
        fs::write(&file, state.to_string()).unwrap();
    }
}
