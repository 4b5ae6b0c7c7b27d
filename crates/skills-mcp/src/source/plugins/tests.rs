//! Which plugins are served, from records that Claude Code would write.

use std::os::unix::fs::symlink;

use serde_json::json;
use skills_testkit::Home;

use super::*;

const RECORD: &str = "user/.claude/plugins/installed_plugins.json";
const SETTINGS: &str = "user/.claude/settings.json";

/// A home `user`, a project `user/project` in it, and the administrator's file beside them.
fn read(home: &Home) -> Plugins {
    let environment = Environment {
        home: Some(home.path().join("user")),
        directory: home.path().join("user/project"),
        ..Environment::default()
    };
    PluginRecords::managed_by(&environment, &home.path().join("managed.json")).read()
}

fn write(home: &Home, file: &str, value: &Value) {
    home.write(file, value.to_string());
}

fn cache(home: &Home, plugin: &str) -> PathBuf {
    home.path().join("cache").join(plugin)
}

/// Installs and enables plugins for the user, as version 2 of the file has it.
fn install(home: &Home, plugins: &[&str]) {
    home.write("user/project/x", "");
    let installs: Map<String, Value> = plugins
        .iter()
        .map(|plugin| {
            let install = json!([{"scope": "user", "installPath": cache(home, plugin)}]);
            (format!("{plugin}@market"), install)
        })
        .collect();
    let enabled: Map<String, Value> =
        installs.keys().map(|id| (id.clone(), Value::Bool(true))).collect();
    write(home, RECORD, &json!({"version": 2, "plugins": installs}));
    write(home, SETTINGS, &json!({"enabledPlugins": enabled}));
}

fn skill(home: &Home, path: &str) {
    home.write(&format!("cache/{path}/SKILL.md"), "---\ndescription: x\n---\n");
}

/// Each enabled plugin's name and folders, from the cache on.
fn served(home: &Home, plugins: &Plugins) -> Vec<(String, Vec<String>)> {
    let below = |path: &PathBuf| {
        path.strip_prefix(home.path().join("cache")).unwrap().display().to_string()
    };
    let enabled = plugins.enabled.iter();
    enabled
        .map(|plugin| (plugin.name.to_string(), plugin.skills.iter().map(below).collect()))
        .collect()
}

fn one(name: &str, skills: &[&str]) -> Vec<(String, Vec<String>)> {
    vec![(name.to_owned(), skills.iter().map(|skill| (*skill).to_owned()).collect())]
}

/// `file:line: code: message`, the file from the home on.
fn findings(home: &Home, plugins: &Plugins) -> Vec<String> {
    let shown = |(file, finding): &(PathBuf, Finding)| {
        let file = file.strip_prefix(home.path()).unwrap().display();
        format!("{file}:{}: {}: {}", finding.at.line, finding.code.name(), finding.message)
            .replace(&home.path().display().to_string(), "")
    };
    plugins.diagnostics.iter().map(shown).collect()
}

#[test]
fn nothing_there_is_nothing_said() {
    let home = Home::new();
    let plugins = read(&home);
    assert!(plugins.enabled.is_empty() && plugins.disabled.is_empty());
    assert!(plugins.diagnostics.is_empty());
    assert!(installed(&Environment::default()).diagnostics.is_empty());
}

#[test]
fn version_1_has_an_object_where_version_2_has_a_list() {
    let home = Home::new();
    skill(&home, "pdf/skills/fill");
    skill(&home, "old/skills/x");
    install(&home, &["pdf"]);
    for installs in [
        json!({"version": 1, "plugins": {"pdf@market": {"installPath": cache(&home, "pdf")}}}),
        json!({"version": 2, "plugins": {"pdf@market": [{"scope": "user", "installPath": cache(&home, "pdf")}]}}),
    ] {
        write(&home, RECORD, &installs);
        let plugins = read(&home);
        assert_eq!(served(&home, &plugins), one("pdf", &["pdf/skills"]));
        let [plugin] = plugins.enabled.as_slice() else { panic!("{plugins:?}") };
        assert_eq!((plugin.id.as_str(), &plugin.root), ("pdf@market", &cache(&home, "pdf")));
        assert!(plugins.diagnostics.is_empty() && plugins.disabled.is_empty());
    }
}

#[test]
fn the_highest_settings_that_mention_a_plugin_decide() {
    let home = Home::new();
    skill(&home, "pdf/skills/fill");
    install(&home, &["pdf"]);
    let enabled = |home: &Home| {
        let plugins = read(home);
        assert!(plugins.diagnostics.is_empty(), "{plugins:?}");
        assert_eq!(plugins.enabled.len() + plugins.disabled.len(), 1);
        plugins.disabled.is_empty()
    };
    // From the lowest to the highest; each file is left with the contrary of the one below it.
    let mut below = false;
    for file in [
        SETTINGS,
        "user/project/.claude/settings.json",
        "user/project/.claude/settings.local.json",
        "managed.json",
    ] {
        write(&home, file, &json!({"enabledPlugins": {"pdf@market": false}}));
        assert!(!enabled(&home), "{file}");
        write(&home, file, &json!({"enabledPlugins": {"pdf@market": ["^1.0"]}}));
        assert!(enabled(&home), "{file}");
        write(&home, file, &json!({"enabledPlugins": {"other@market": false}, "model": "x"}));
        assert_eq!(enabled(&home), below, "{file}");
        below = !below;
        write(&home, file, &json!({"enabledPlugins": {"pdf@market": below}}));
    }
    assert_eq!(read(&home).disabled, ["pdf@market"]);
}

#[test]
fn installed_and_mentioned_nowhere_is_not_enabled() {
    let home = Home::new();
    skill(&home, "pdf/skills/fill");
    install(&home, &["pdf"]);
    for settings in [json!({}), json!({"enabledPlugins": null})] {
        write(&home, SETTINGS, &settings);
        let plugins = read(&home);
        assert!(plugins.enabled.is_empty() && plugins.diagnostics.is_empty());
        assert_eq!(plugins.disabled, ["pdf@market"]);
    }
}

#[test]
fn a_projects_install_counts_in_that_project_only_and_before_the_users() {
    let home = Home::new();
    for version in ["user", "team", "mine", "above", "other"] {
        skill(&home, &format!("{version}/skills/x"));
    }
    install(&home, &["pdf"]);
    let entry = |scope: &str, project: &str, path: &str| {
        let project = home.path().join(project);
        json!({"scope": scope, "projectPath": project, "installPath": cache(&home, path)})
    };
    let users = json!({"scope": "user", "installPath": cache(&home, "user")});
    let chosen = |installs: Value| {
        write(&home, RECORD, &json!({"version": 2, "plugins": {"pdf@market": installs}}));
        let plugins = read(&home);
        assert!(plugins.disabled.is_empty() && plugins.diagnostics.is_empty());
        served(&home, &plugins)
    };
    let other = entry("project", "user/wor", "other");
    let above = entry("project", "user", "above");
    let team = entry("project", "user/project", "team");
    let mine = entry("local", "user/project", "mine");
    assert_eq!(chosen(json!([other, users])), one("pdf", &["user/skills"]));
    assert_eq!(chosen(json!([above, users])), one("pdf", &["above/skills"]));
    assert_eq!(chosen(json!([users, above, team])), one("pdf", &["team/skills"]));
    assert_eq!(chosen(json!([team, mine, above])), one("pdf", &["mine/skills"]));
    assert!(chosen(json!([other])).is_empty());
    let lost = json!({"scope": "project", "installPath": cache(&home, "other")});
    let relative = json!({"scope": "project", "projectPath": ".", "installPath": "/"});
    assert!(chosen(json!([lost, relative])).is_empty());
}

// SOURCE-3
#[test]
fn the_cache_is_never_searched() {
    let home = Home::new();
    for version in ["1.0", "2.0"] {
        home.write(
            &format!("user/.claude/plugins/cache/market/x/{version}/skills/a/SKILL.md"),
            "x",
        );
    }
    install(&home, &[]);
    assert!(read(&home).enabled.is_empty());
}

#[test]
fn the_manifest_names_the_plugin_and_adds_folders() {
    let home = Home::new();
    skill(&home, "pdf/skills/fill");
    skill(&home, "pdf/more/sign");
    skill(&home, "pdf/deep/er/merge");
    install(&home, &["pdf"]);
    let manifest = |value: &Value| write(&home, "cache/pdf/.claude-plugin/plugin.json", value);
    manifest(&json!({"name": "paper", "skills": "./more/"}));
    assert_eq!(served(&home, &read(&home)), one("paper", &["pdf/skills", "pdf/more"]));
    // Nothing is looked into twice.
    manifest(&json!({"skills": ["./skills/fill", "deep/er", "./deep", "more", "./more"]}));
    assert_eq!(served(&home, &read(&home)), one("pdf", &["pdf/skills", "pdf/deep", "pdf/more"]));
    manifest(&json!({"skills": ["./"]}));
    assert_eq!(served(&home, &read(&home)), one("pdf", &["pdf"]));
}

#[test]
fn a_plugin_may_be_one_bundle_where_it_has_no_folder_of_them() {
    let home = Home::new();
    skill(&home, "lone");
    skill(&home, "both");
    skill(&home, "both/skills/x");
    home.write("cache/none/README.md", "x");
    install(&home, &["lone", "both", "none"]);
    let plugins = read(&home);
    assert_eq!(
        served(&home, &plugins),
        [one("both", &["both/skills"]), one("lone", &["lone"]), one("none", &[])].concat()
    );
    assert!(plugins.diagnostics.is_empty());
}

#[test]
fn a_folder_that_the_manifest_names_outside_the_plugin_is_refused() {
    let home = Home::new();
    skill(&home, "pdf/good/x");
    skill(&home, "secret/x");
    install(&home, &["pdf"]);
    let manifest = "cache/pdf/.claude-plugin/plugin.json";
    for (declared, code, why) in [
        ("../secret", "escapes", "the path contains '..'"),
        ("./good/../../secret", "escapes", "the path contains '..'"),
        ("/etc", "escapes", "the path is absolute"),
        ("C:\\x", "escapes", "the path is absolute"),
        ("~/x", "escapes", "the path starts with '~'"),
        ("/", "invalid", "the path is empty"),
        ("", "invalid", "the path is empty"),
        ("a//b", "invalid", "the path contains an empty or '.' segment"),
    ] {
        write(&home, manifest, &json!({"skills": [declared, "good"]}));
        let plugins = read(&home);
        assert_eq!(served(&home, &plugins), one("pdf", &["pdf/good"]), "{declared}");
        let said = format!("declaration-{code}: `skills`: `{declared}` is left out: {why}");
        assert_eq!(findings(&home, &plugins), [format!("{manifest}:0: {said}")]);
    }
    write(&home, manifest, &json!({"skills": ["gone", 7]}));
    assert_eq!(
        findings(&home, &read(&home)),
        [
            format!(
                "{manifest}:0: file-missing: `skills`: there is no folder `gone` in the plugin"
            ),
            format!("{manifest}:0: declaration-invalid: `skills` is not a path or a list of paths"),
        ]
    );
}

#[test]
fn a_link_out_of_the_plugin_is_refused_and_one_inside_is_not() {
    let home = Home::new();
    skill(&home, "pdf/good/x");
    skill(&home, "secret/x");
    home.write("cache/secret/plugin.json", r#"{"name": "stolen"}"#);
    home.write("cache/linked/x", "");
    install(&home, &["pdf", "linked"]);
    let manifest = json!({"skills": ["link", "alias"]});
    write(&home, "cache/pdf/.claude-plugin/plugin.json", &manifest);
    for (target, link) in [
        ("../secret", "pdf/link"),
        ("good", "pdf/alias"),
        ("../secret", "linked/skills"),
        ("../secret", "linked/.claude-plugin"),
    ] {
        symlink(target, cache(&home, link)).unwrap();
    }
    let plugins = read(&home);
    assert_eq!(served(&home, &plugins), [one("linked", &[]), one("pdf", &["pdf/alias"])].concat());
    assert_eq!(
        findings(&home, &plugins),
        ["linked/.claude-plugin/plugin.json", "linked/skills", "pdf/link"].map(|file| format!(
            "cache/{file}:0: link-refused: is a symbolic link that leads out of the plugin"
        ))
    );
}

#[test]
fn broken_files_cost_themselves_and_a_finding_with_its_line() {
    let home = Home::new();
    skill(&home, "pdf/skills/x");
    install(&home, &["pdf"]);
    home.write("managed.json", " \n");
    home.write("user/project/.claude/settings.local.json", "{\n  \"enabledPlugins\": {,\n}");
    home.write("user/project/.claude/settings.json", b"\xff\xfe");
    home.write("cache/pdf/.claude-plugin/plugin.json", "[1]");
    let plugins = read(&home);
    assert_eq!(served(&home, &plugins), one("pdf", &["pdf/skills"]));
    assert_eq!(
        findings(&home, &plugins),
        [
            "user/project/.claude/settings.local.json:2: unreadable: is not JSON: key must be a string",
            "user/project/.claude/settings.json:0: unreadable: cannot be read: stream did not contain valid UTF-8",
            "cache/pdf/.claude-plugin/plugin.json:0: unreadable: is not a JSON object",
        ]
    );
    home.write(RECORD, "{\"version\": 2,\n\"plugins\": {}");
    let plugins = read(&home);
    assert!(plugins.enabled.is_empty());
    assert_eq!(
        findings(&home, &plugins),
        [format!("{RECORD}:2: unreadable: is not JSON: EOF while parsing an object")]
    );
    home.write(RECORD, "\u{feff}{\"plugins\": []}");
    assert_eq!(
        findings(&home, &read(&home)),
        [format!("{RECORD}:0: field-invalid: `plugins` is not an object")]
    );
    home.write(RECORD, " ".repeat(256 * 1024 + 1));
    assert_eq!(
        findings(&home, &read(&home)),
        [format!("{RECORD}:0: unreadable: cannot be read: larger than 256 KiB")]
    );
}

#[test]
fn an_install_that_leads_nowhere_is_a_finding_with_the_way_out() {
    let home = Home::new();
    home.write("cache/file", "x");
    install(&home, &["file", "gone", "none", "relative"]);
    write(
        &home,
        RECORD,
        &json!({"version": 2, "plugins": {
            "relative@market": [{"installPath": "cache/pdf"}],
            "gone@market": [{"installPath": cache(&home, "gone")}],
            "file@market": [{"installPath": cache(&home, "file")}],
            "none@market": [{}],
            "off@market": [{"installPath": cache(&home, "gone")}],
        }}),
    );
    let plugins = read(&home);
    assert!(plugins.enabled.is_empty());
    assert_eq!(plugins.disabled, ["off@market"]);
    assert_eq!(
        findings(&home, &plugins),
        [
            format!("{RECORD}:0: unreadable: plugin `file@market`: there is no folder /cache/file"),
            format!("{RECORD}:0: unreadable: plugin `gone@market`: there is no folder /cache/gone"),
            format!("{RECORD}:0: field-missing: plugin `none@market`: has no `installPath`"),
            format!(
                "{RECORD}:0: field-invalid: plugin `relative@market`: `installPath` is not absolute: cache/pdf"
            ),
        ]
    );
    let hint = plugins.diagnostics.first().and_then(|(_, finding)| finding.hint.as_deref());
    assert_eq!(hint, Some("install it anew: `claude plugin install file@market`"));
}

#[test]
fn a_name_that_cannot_stand_before_a_skill_is_not_used() {
    let home = Home::new();
    skill(&home, "pdf/skills/x");
    install(&home, &["pdf"]);
    for name in [json!("a:b"), json!(""), json!(" a"), json!("a\nb"), json!(3)] {
        write(&home, "cache/pdf/.claude-plugin/plugin.json", &json!({"name": name}));
        let plugins = read(&home);
        assert_eq!(served(&home, &plugins), one("pdf", &["pdf/skills"]), "{name}");
        assert_eq!(
            findings(&home, &plugins),
            [
                "cache/pdf/.claude-plugin/plugin.json:0: field-invalid: `name` cannot stand before a skill's name; `pdf` is used"
            ]
        );
    }
    let installs = json!({"@market": {"installPath": cache(&home, "pdf")}});
    write(&home, RECORD, &json!({"version": 1, "plugins": installs}));
    write(&home, SETTINGS, &json!({"enabledPlugins": {"@market": true, "x@market": "yes"}}));
    let plugins = read(&home);
    assert!(plugins.enabled.is_empty());
    assert_eq!(
        findings(&home, &plugins),
        [
            "user/.claude/settings.json:0: field-invalid: `enabledPlugins`: `x@market` is not true or false",
            "cache/pdf/.claude-plugin/plugin.json:0: name-unusable: plugin `@market` has no usable name; not served",
        ]
    );
}

#[test]
fn variables_move_the_records() {
    let home = Home::new();
    skill(&home, "pdf/skills/x");
    install(&home, &["pdf"]);
    let mut environment = Environment {
        claude_config: Some(home.path().join("user/.claude")),
        directory: home.path().join("user"),
        ..Environment::default()
    };
    let managed = home.path().join("managed.json");
    assert_eq!(PluginRecords::managed_by(&environment, &managed).read().enabled.len(), 1);
    environment.plugin_dir = Some(home.path().join("elsewhere"));
    assert!(PluginRecords::managed_by(&environment, &managed).read().enabled.is_empty());
    let installs = json!({"pdf@market": {"installPath": cache(&home, "pdf")}});
    write(&home, "elsewhere/installed_plugins.json", &json!({"plugins": installs}));
    assert_eq!(PluginRecords::managed_by(&environment, &managed).read().enabled.len(), 1);
    // Started in the home folder, the project's settings are the user's: broken, they are one finding.
    home.write(SETTINGS, "{");
    assert_eq!(PluginRecords::managed_by(&environment, &managed).read().diagnostics.len(), 1);
}
