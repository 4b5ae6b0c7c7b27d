//! Plugins that are enabled, disabled, installed, changed and removed while the server runs (finding A2).

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    time::Duration,
};

use serde_json::{Value, json};
use skills_testkit::{Client, Home};

use crate::support::{
    Prompt, agents, agents_client, bundle, doctored, eventually, install_plugins, loaded,
};

const SETTINGS: &str = ".claude/settings.json";
const RECORD: &str = ".claude/plugins/installed_plugins.json";
const CACHE: &str = ".claude/plugins/cache/market";

/// Two plugins, both installed and enabled, and a skill of the user's own.
fn home() -> Home {
    let home = Home::new();
    home.write(".claude/skills/own/SKILL.md", bundle("own", "mine", "mine"));
    let fill = [("fill", bundle("fill", "forms", "forms"))];
    let draw = [("draw", bundle("draw", "charts", "charts"))];
    install_plugins(&home, &[("pdf", &fill), ("art", &draw)]);
    home
}

/// Writes which plugins are enabled.
fn enable(home: &Home, file: &str, plugins: &[(&str, bool)]) {
    let enabled: serde_json::Map<String, Value> =
        plugins.iter().map(|(name, on)| (format!("{name}@market"), json!(on))).collect();
    home.write(file, json!({"enabledPlugins": enabled}).to_string());
}

// FRESH-4
#[test]
fn a02_a_plugin_that_is_enabled_or_disabled_is_in_the_next_answer() {
    let home = home();
    let mut prompt = Prompt::new(agents(&home, &[]));
    prompt.reads("pdf:fill", "forms");
    prompt.reads("art:draw", "charts");
    for _ in 0..3 {
        enable(&home, SETTINGS, &[("pdf", false), ("art", true)]);
        prompt.misses("pdf:fill");
        prompt.reads("art:draw", "charts");
        enable(&home, SETTINGS, &[("pdf", true), ("art", false)]);
        prompt.reads("pdf:fill", "forms");
        prompt.misses("art:draw");
        enable(&home, SETTINGS, &[("pdf", true), ("art", true)]);
        prompt.reads("art:draw", "charts");
        prompt.reads("own", "mine");
    }
    // A project's settings count before the user's, from the moment that they are there.
    for file in ["project/.claude/settings.json", "project/.claude/settings.local.json"] {
        enable(&home, file, &[("pdf", false)]);
        prompt.misses("pdf:fill");
        fs::remove_file(home.path().join(file)).unwrap();
        prompt.reads("pdf:fill", "forms");
    }
    // As editors write it.
    home.write(".claude/new", json!({"enabledPlugins": {"art@market": true}}).to_string());
    fs::rename(home.path().join(".claude/new"), home.path().join(SETTINGS)).unwrap();
    prompt.misses("pdf:fill");
    prompt.reads("art:draw", "charts");
    prompt.close();
}

#[test]
fn e05_settings_of_a_project_count_only_in_a_folder_and_a_file_of_its_own() {
    let home = home();
    enable(&home, SETTINGS, &[("pdf", false), ("art", true)]);
    enable(&home, "elsewhere.json", &[("pdf", true)]);
    home.write("project/.claude/x", "");
    let file = home.path().join("project/.claude/settings.json");
    symlink(home.path().join("elsewhere.json"), &file).unwrap();
    let has = |name: &str| {
        let reply = agents_client(&home, &[]).call("skill", &json!({"name": name}));
        !reply.is_error
    };
    assert!(!has("pdf:fill") && has("art:draw"), "a link out of the project");
    let (_, found) = doctored(&mut agents(&home, &[]));
    assert!(found.iter().any(|found| found.contains("link-refused")), "{found:?}");
    fs::remove_file(&file).unwrap();
    enable(&home, "project/.claude/settings.json", &[("pdf", true)]);
    assert!(has("pdf:fill"));
    // In a folder like `/tmp` any user could have written the file.
    let shared = fs::Permissions::from_mode(0o1777);
    fs::set_permissions(home.path().join("project"), shared).unwrap();
    assert!(!has("pdf:fill") && has("art:draw"), "a folder of all users");
}

// FRESH-4
#[test]
fn a02_a_plugin_that_is_installed_changed_or_removed_is_in_the_next_answer() {
    let home = home();
    let at = |path: &str| home.path().join(path);
    fs::rename(at(RECORD), at("record.json")).unwrap();
    let mut prompt = Prompt::new(agents(&home, &[]));
    prompt.misses("pdf:fill");
    fs::rename(at("record.json"), at(RECORD)).unwrap();
    prompt.reads("pdf:fill", "forms");
    // What a plugin holds is watched like any source.
    let skill = |name: &str| format!("{CACHE}/pdf/1.0.0/skills/{name}/SKILL.md");
    home.write(&skill("fill"), bundle("fill", "edited", "edited"));
    prompt.reads("pdf:fill", "edited");
    home.write(&skill("sign"), bundle("sign", "added", "added"));
    prompt.reads("pdf:sign", "added");
    // The manifest, which names the plugin and adds folders.
    home.write(&format!("{CACHE}/pdf/1.0.0/more/stamp/SKILL.md"), bundle("stamp", "more", "more"));
    let manifest = format!("{CACHE}/pdf/1.0.0/.claude-plugin/plugin.json");
    home.write(&manifest, json!({"name": "paper", "skills": "./more"}).to_string());
    prompt.reads("paper:stamp", "more");
    prompt.reads("paper:fill", "edited");
    prompt.misses("pdf:fill");
    home.write(&manifest, json!({"name": "pdf"}).to_string());
    prompt.reads("pdf:fill", "edited");
    prompt.misses("paper:stamp");
    // An update leads the record elsewhere, and the old version goes.
    home.write(&format!("{CACHE}/pdf/2.0.0/skills/fill/SKILL.md"), bundle("fill", "two", "two"));
    let record = fs::read_to_string(at(RECORD)).unwrap().replace("pdf/1.0.0", "pdf/2.0.0");
    home.write(RECORD, record);
    prompt.reads("pdf:fill", "two");
    prompt.misses("pdf:sign");
    fs::remove_dir_all(at(&format!("{CACHE}/pdf"))).unwrap();
    prompt.misses("pdf:fill");
    prompt.reads("art:draw", "charts");
    home.write(&format!("{CACHE}/pdf/2.0.0/skills/fill/SKILL.md"), bundle("fill", "back", "back"));
    prompt.reads("pdf:fill", "back");
    prompt.close();
}

#[test]
fn a02_without_watching_a_plugin_is_seen_within_the_stated_second() {
    let home = home();
    let mut client = agents_client(&home, &["--tools", "all", "--set", "refresh.watch=false"]);
    assert!(loaded(&mut client, "pdf:fill").is_some());
    for enabled in [false, true, false] {
        enable(&home, SETTINGS, &[("pdf", enabled)]);
        // The records are looked at before every answer, watched or not.
        assert_eq!(loaded(&mut client, "pdf:fill").is_some(), enabled);
    }
    enable(&home, SETTINGS, &[("pdf", true)]);
    assert!(loaded(&mut client, "pdf:fill").is_some());
    let skill = format!("{CACHE}/pdf/1.0.0/skills/late/SKILL.md");
    home.write(&skill, bundle("late", "came", "came"));
    eventually("a skill of a plugin that is not watched", || loaded(&mut client, "pdf:late"));
    let manifest = format!("{CACHE}/pdf/1.0.0/.claude-plugin/plugin.json");
    home.write(&manifest, json!({"name": "paper"}).to_string());
    eventually("a manifest that is not watched", || loaded(&mut client, "paper:late"));
}

#[test]
fn a02_broken_settings_keep_the_last_state_and_say_so() {
    let home = home();
    let mut prompt = Prompt::new(agents(&home, &[]));
    enable(&home, SETTINGS, &[("pdf", true), ("art", false)]);
    prompt.reads("pdf:fill", "forms");
    prompt.misses("art:draw");
    for broken in ["{\"enabledPlugins\": {\"pdf@mar", "[1]", "", "\u{1}"] {
        home.write(SETTINGS, broken);
        prompt.reads("pdf:fill", "forms");
        prompt.misses("art:draw");
    }
    // The others count as they are.
    enable(&home, "project/.claude/settings.json", &[("art", true)]);
    prompt.reads("art:draw", "charts");
    home.write(RECORD, "{");
    prompt.reads("pdf:fill", "forms");
    enable(&home, SETTINGS, &[("pdf", false)]);
    prompt.misses("pdf:fill");
    let (_, log) = prompt.close();
    assert!(log.contains("settings.json") && log.contains("still counts"), "{log}");
    // A server that starts with a broken record has no last state, and says what is wrong.
    let (_, found) = doctored(&mut agents(&home, &[]));
    assert!(
        found.iter().any(|one| one.ends_with("installed_plugins.json unreadable")),
        "{found:?}"
    );
}

#[test]
fn a02_clients_are_notified_of_a_plugin_without_a_call() {
    let home = home();
    let mut client = Client::legacy(agents(&home, &["--tools", "skill"]), "2025-11-25");
    assert!(loaded(&mut client, "pdf:fill").is_some());
    enable(&home, SETTINGS, &[("pdf", false), ("art", true)]);
    client.set_timeout(Duration::from_mins(1));
    client.notification("notifications/tools/list_changed");
    assert!(loaded(&mut client, "pdf:fill").is_none());
}
