//! Which folder a named directory or repository stands for (finding A12), and where a project's directories are looked
//! for (finding A14).

use std::{fs, os::unix::fs::symlink, process::Command};

use serde_json::{Value, json};
use skills_testkit::{Client, Home, Remote};

use crate::{
    git::{follower, synced},
    support::{Prompt, bundle, doctored, listed_names, run, skill},
};

/// The paths of every skill that a command would serve.
fn paths(mut command: Command) -> Vec<String> {
    let (code, out, err) = run(command.args(["list", "--json"]));
    assert_eq!(code, 0, "{out}{err}");
    let listed: Value = serde_json::from_str(&out).unwrap();
    let mut paths = Vec::new();
    collect(listed.get("tree").unwrap(), &mut paths);
    paths.sort();
    paths
}

fn collect(node: &Value, paths: &mut Vec<String>) {
    let children = node.get("children").and_then(Value::as_array);
    let children = children.map(Vec::as_slice).unwrap_or_default();
    if children.is_empty() {
        paths.push(node.get("path").and_then(Value::as_str).unwrap_or_default().to_owned());
    }
    for child in children {
        collect(child, paths);
    }
}

// SOURCE-7
#[test]
fn a12_a_directory_and_a_repository_mean_the_same_folder_with_or_without_a_configuration() {
    let leaf = skill("orders", "Orders", "Text.");
    let inside: &[(&str, &str)] = &[("skills/_root.md", &leaf), ("skills/api/orders.md", &leaf)];
    let readme = ("README.md", "# Read me\n");
    let settings = ("config.yaml", "");
    let beside = ("billing/invoice.md", leaf.as_str());
    for (more, expected) in [
        (&[readme][..], &["api/orders"][..]),
        (&[readme, settings][..], &["api/orders"][..]),
        (&[beside, readme][..], &["billing/invoice", "skills/_root", "skills/api/orders"][..]),
        (&[beside, settings][..], &["billing/invoice", "skills/_root", "skills/api/orders"][..]),
    ] {
        let home = Home::new();
        let remote = Remote::empty(&home, "team");
        for (path, text) in inside.iter().chain(more) {
            home.write(&format!("named/{path}"), text);
            remote.write(path, text);
        }
        remote.commit_all();
        let mut named = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
        named.current_dir(home.path().join("named")).args(["--dir", "."]);
        assert_eq!(paths(named), expected);
        synced(&home, &remote.url());
        assert_eq!(paths(follower(&home, &remote.url())), expected);
    }
}

// SOURCE-7
#[test]
fn a12_the_first_skill_of_a_running_server_has_the_path_that_it_has_after_a_restart() {
    let home = Home::new();
    home.write("named/skills/.keep", "");
    let named = || {
        let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
        command.args(["--dir", &home.path().join("named").display().to_string()]);
        command
    };
    let mut client = Client::legacy(named(), "2025-11-25");
    let mut loads = |path: &str| !client.call("get_skill", &json!({"skill_path": path})).is_error;
    assert!(!loads("api/orders"));
    // As an editor makes a file.
    home.write("named/skills/api/orders.md", "");
    assert!(!loads("api/orders"));
    home.write("named/skills/api/orders.md", skill("orders", "Orders", "Text."));
    assert!(loads("api/orders") && !loads("skills/api/orders"));
    home.write("named/skills/api/invoices.md", skill("invoices", "Invoices", "Text."));
    assert!(loads("api/invoices"));
    assert_eq!(paths(named()), ["api/invoices", "api/orders"]);
    // With a skill beside it the whole folder is meant, until that skill goes.
    home.write("named/billing/late.md", skill("late", "Late", "Text."));
    client.call("refresh_skills", &json!({}));
    let mut loads = |path: &str| !client.call("get_skill", &json!({"skill_path": path})).is_error;
    assert!(loads("skills/api/orders") && loads("billing/late"));
    fs::remove_file(home.path().join("named/billing/late.md")).unwrap();
    assert!(loads("api/orders") && !loads("skills/api/orders"));
}

/// The server in a folder of a repository, with no source named.
fn inside(home: &Home, folder: &str) -> Command {
    home.write(&format!("{folder}/.keep"), "");
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.current_dir(home.path().join(folder));
    command
}

// SOURCE-2
#[test]
fn a14_from_a_folder_of_a_project_its_skills_are_found_and_the_nearest_wins() {
    let home = Home::new();
    let write = |place: &str, name: &str, words: &str| {
        home.write(&format!("{place}/{name}/SKILL.md"), bundle(name, words, words));
    };
    home.write("repo/.git/HEAD", "ref: refs/heads/main");
    write("repo/.agents/skills", "deploy", "of the repository");
    write("repo/.claude/skills", "review", "of the repository");
    write("repo/apps/.agents/skills", "deploy", "of the apps");
    write("outside/.agents/skills", "never", "of no project");
    write(".agents/skills", "deploy", "of the user");
    let mut prompt = Prompt::new(inside(&home, "repo/apps/web/src"));
    prompt.reads("deploy", "of the apps");
    prompt.reads("review", "of the repository");
    prompt.misses("never");
    // Each level is followed, and one that comes wins over those farther away.
    write("repo/apps/web/.agents/skills", "deploy", "of the web");
    prompt.reads("deploy", "of the web");
    fs::remove_dir_all(home.path().join("repo/apps/web/.agents")).unwrap();
    fs::remove_dir_all(home.path().join("repo/apps/.agents")).unwrap();
    prompt.reads("deploy", "of the repository");
    prompt.close();
    // Without a repository the start directory is all there is.
    fs::remove_dir_all(home.path().join("repo/.git")).unwrap();
    let mut prompt = Prompt::new(inside(&home, "repo/apps/web/src"));
    prompt.reads("deploy", "of the user");
    prompt.misses("review");
    prompt.close();
}

#[test]
fn a14_links_of_a_projects_directories_stay_in_the_repository() {
    let home = Home::new();
    home.write("repo/.git", "gitdir: elsewhere");
    home.write("repo/tools/inside/SKILL.md", bundle("inside", "d", "Inside."));
    home.write("elsewhere/far/SKILL.md", bundle("far", "d", "Far."));
    home.write("repo/app/.claude/skills/own/SKILL.md", bundle("own", "d", "Own."));
    let skills = home.path().join("repo/app/.claude/skills");
    symlink("../../../tools/inside", skills.join("inside")).unwrap();
    symlink(home.path().join("elsewhere/far"), skills.join("far")).unwrap();
    let mut client = Client::legacy(inside(&home, "repo/app"), "2025-11-25");
    let listing = crate::support::description(&mut client, "skill");
    assert_eq!(listed_names(&listing), ["inside", "own"]);
    let reply = client.call("skill", &json!({"name": "inside"}));
    assert!(reply.text.contains("Inside."), "{}", reply.text);
    let (_, found) = doctored(&mut inside(&home, "repo/app"));
    assert_eq!(found, ["far link-refused"]);
}

#[test]
fn e06_links_stay_in_the_repository_however_its_folders_are_called() {
    let home = Home::new();
    home.write("repo/.git/HEAD", "ref: refs/heads/main");
    home.write("private/diary/SKILL.md", bundle("diary", "d", "canary"));
    for folder in ["~pkg", "a\\b", "file:x", "c:d", "line\nend"] {
        let start = format!("repo/{folder}");
        home.write(&format!("{start}/.claude/skills/own/SKILL.md"), bundle("own", "d", "Own."));
        home.write(&format!("{start}/.agents/x"), "");
        let link = home.path().join(&start).join(".agents/skills");
        symlink(home.path().join("private"), link).unwrap();
        let mut client = Client::legacy(inside(&home, &start), "2025-11-25");
        let reply = client.call("skill", &json!({"name": "diary"}));
        assert!(reply.is_error && !reply.text.contains("canary"), "{folder}: {}", reply.text);
        let own = client.call("skill", &json!({"name": "own"}));
        let (_, _, log) = client.close();
        let unusable = folder.contains('\n');
        assert_eq!(own.text.contains("Own."), !unusable, "{folder}: {}", own.text);
        assert_eq!(log.contains("has a line break or is not UTF-8"), unusable, "{log}");
    }
}

#[test]
fn e06_a_home_that_is_a_repository_is_opened_to_no_project_in_it() {
    let home = Home::new();
    home.write(".git/HEAD", "ref: refs/heads/main");
    home.write(".ssh/id_ed25519", "canary");
    home.write("notes.txt", "canary");
    home.write("unpacked/.agents/skills/x/SKILL.md", bundle("x", "d", "Text."));
    let bundle = home.path().join("unpacked/.agents/skills/x");
    symlink("../../../../.ssh/id_ed25519", bundle.join("key.txt")).unwrap();
    symlink("../../../../notes.txt", bundle.join("notes.txt")).unwrap();
    let mut command = inside(&home, "unpacked");
    command.args(["--tools", "all"]);
    let mut client = Client::legacy(command, "2025-11-25");
    assert!(client.call("skill", &json!({"name": "x"})).text.contains("Text."));
    for file in ["key.txt", "notes.txt"] {
        let reply = client.call("get_asset", &json!({"skill_path": "x", "file": file}));
        assert!(reply.is_error && !reply.text.contains("canary"), "{}", reply.text);
    }
}

#[test]
fn e07_a_path_with_a_colon_does_not_take_a_name_from_a_plugin_or_another_source() {
    let home = Home::new();
    let real = [("deploy", bundle("deploy", "The plugin's", "Real."))];
    crate::support::install_plugins(&home, &[("acme", &real)]);
    let forged = |words: &str| skill(words, "Forged", "Forged.");
    home.write("first/acme:deploy.md", forged("one"));
    home.write("first/team:ui/auth.md", forged("two"));
    home.write("first/ui/auth.md", skill("first", "First", "The first's."));
    home.write("team/ui/auth.md", skill("team", "Team", "Real."));
    home.write(
        ".config/skills-mcp/config.yaml",
        "sources: [{dir: ~/first}, {dir: ~/team}, {agents: true}]\n",
    );
    let command = || crate::support::agents(&home, &["--tools", "all"]);
    let mut client = Client::legacy(command(), "2025-11-25");
    let mut text = |path: &str| client.call("get_skill", &json!({"skill_path": path})).text;
    assert!(text("team:ui/auth").contains("Real."));
    assert!(text("acme:deploy").contains("Real."));
    for path in ["first:acme:deploy", "first:team:ui/auth"] {
        assert!(text(path).contains("Forged."), "{path}: {}", text(path));
    }
    let (_, found) = doctored(&mut command());
    for file in ["acme:deploy.md", "team:ui/auth.md"] {
        assert!(found.contains(&format!("{file} path-shadowed")), "{found:?}");
    }
}

#[test]
fn e07_a_projects_skill_does_not_take_the_name_of_a_plugins() {
    let home = Home::new();
    let real = [("deploy", bundle("deploy", "The plugin's", "Real."))];
    crate::support::install_plugins(&home, &[("acme", &real)]);
    home.write("project/.claude/skills/ship/SKILL.md", bundle("acme:deploy", "Forged", "Forged."));
    let mut client =
        Client::legacy(crate::support::agents(&home, &["--tools", "all"]), "2025-11-25");
    for tool in [("skill", "name"), ("get_skill", "skill_path")] {
        let reply = client.call(tool.0, &json!({tool.1: "acme:deploy"}));
        assert!(reply.text.contains("Real.") && !reply.text.contains("Forged"), "{}", reply.text);
    }
    let reply = client.call("skill", &json!({"name": "ship"}));
    assert!(reply.text.contains("Forged."), "{}", reply.text);
    let (_, found) = doctored(&mut crate::support::agents(&home, &[]));
    assert_eq!(found, ["ship/SKILL.md name-invalid"]);
}

#[test]
fn a12_which_folder_is_meant_is_decided_again_while_a_server_runs() {
    let home = Home::new();
    home.write("d/skills/api/orders.md", skill("orders", "Orders", "Text."));
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.arg("--dir").arg(home.path().join("d"));
    let mut client = Client::legacy(command, "2025-11-25");
    let mut found = |context: &str| {
        assert_eq!(client.call("refresh_skills", &json!({})).json["success"], true);
        client.call("get_skill", &json!({"context": context})).json["skill_path"].clone()
    };
    assert_eq!(found("orders"), "api/orders");
    home.write("d/refunds.md", skill("refunds", "Refunds", "Text."));
    assert_eq!(found("refunds"), "refunds");
    assert_eq!(found("orders"), "skills/api/orders");
    fs::remove_file(home.path().join("d/refunds.md")).unwrap();
    assert_eq!(found("orders"), "api/orders");
}
