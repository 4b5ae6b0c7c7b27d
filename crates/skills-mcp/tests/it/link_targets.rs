//! Where links may lead: to whole skills and folders of skills, inside their root, where the operator allows, and nowhere
//! else (findings E6 and E13).

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use serde_json::json;
use skills_testkit::{Client, Home};

use crate::{
    hostile::diagnostics,
    support::{Prompt, agents_client, bundle, client, doctored, server, skill, with_all_tools},
};

const CANARY: &str = "canary-2e6b17";

/// Where programs keep secrets, below the home folder.
const SECRETS: &[&str] = &[
    ".ssh/id_ed25519",
    ".ssh/config",
    ".gnupg/private-keys-v1.d/key",
    ".aws/credentials",
    ".azure/msal_token_cache.json",
    ".kube/config",
    ".docker/config.json",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".gitconfig",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".claude.json",
    ".claude/.credentials.json",
    ".claude/history.jsonl",
    ".claude/projects/x/session.jsonl",
    ".codex/auth.json",
    ".codex/history.jsonl",
    ".gemini/oauth_creds.json",
    ".config/github-copilot/apps.json",
    ".config/gh/hosts.yml",
    ".config/glab-cli/config.yml",
    ".config/hub",
    ".config/gcloud/application_default_credentials.json",
    ".config/doctl/config.yaml",
    ".config/hcloud/cli.toml",
    ".config/sops/age/keys.txt",
    ".config/age/identity.txt",
    ".config/rclone/rclone.conf",
    ".config/op/config",
    ".config/Bitwarden CLI/data.json",
    ".config/pypoetry/auth.toml",
    ".config/composer/auth.json",
    ".config/google-chrome/Default/Cookies",
    ".config/google-chrome/Default/Login Data",
    ".config/chromium/Default/Cookies",
    ".config/Slack/Cookies",
    ".config/Signal/config.json",
    ".config/Code/User/globalStorage/state.vscdb",
    ".mozilla/firefox/x.default/logins.json",
    ".mozilla/firefox/x.default/cookies.sqlite",
    ".local/share/keyrings/login.keyring",
    ".local/share/kwalletd/kdewallet.kwl",
    ".local/share/fish/fish_history",
    ".local/share/opencode/auth.json",
    ".password-store/mail.gpg",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".rediscli_auth",
    ".env",
    "work/service/.env",
    "work/service/secrets.yaml",
    "Documents/recovery-codes.txt",
    "Downloads/client_secret.json",
    ".skills-mcp/analytics.jsonl",
];

fn link(home: &Home, target: impl AsRef<Path>, name: &str) {
    let link = home.skills().join(name);
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(home.path().join(target), link).unwrap();
}

/// A skill that declares these files, and a bundle, whose files are all its own.
fn victims(home: &Home, declared: &[String]) {
    let asset = |file: &String| format!("  - file: \"{file}\"\n    description: d\n");
    let assets = declared.iter().map(asset).collect::<Vec<String>>().concat();
    home.write(
        "skills/declares.md",
        format!("---\nkeywords: [zimbel]\ndescription: d\nassets:\n{assets}---\nText.\n"),
    );
    home.write("skills/declares/own.txt", "own");
    home.write("skills/b/SKILL.md", bundle("b", "d", "Bundle."));
}

/// Asks for every one of these files of both skills, and for all that is known: nothing holds the canary.
fn assert_closed(client: &mut Client, files: &[String]) {
    for skill in ["declares", "b"] {
        for file in files {
            let reply = client.call("get_asset", &json!({"skill_path": skill, "file": file}));
            assert!(reply.is_error, "{skill} {file}: {}", reply.text);
            assert!(!reply.text.contains(CANARY), "{skill} {file}: {}", reply.text);
        }
    }
    for (tool, arguments) in [
        ("list_skills", json!({})),
        ("skills_list", json!({"limit": 1000})),
        ("skills_search", json!({"query": "zimbel text"})),
        ("get_skill", json!({"skill_path": "declares", "include_assets": true})),
    ] {
        let reply = client.call(tool, &arguments);
        assert!(!reply.text.contains(CANARY), "{tool}: {}", reply.text);
    }
}

// SOURCE-9
#[test]
fn e06_no_known_place_of_secrets_is_read_through_a_link() {
    let home = Home::with("");
    let mut files = Vec::new();
    for (number, place) in SECRETS.iter().enumerate() {
        home.write(place, format!("{CANARY}\n"));
        let (above, name) = place.rsplit_once('/').unwrap_or(("", place));
        // The file itself, and the folder that it lies in.
        files.extend([format!("file-{number}.txt"), format!("folder-{number}/{name}")]);
        for skill in ["declares", "b"] {
            link(&home, place, &format!("{skill}/file-{number}.txt"));
            link(&home, above, &format!("{skill}/folder-{number}"));
        }
        link(&home, place, &format!("skill-{number}.md"));
        link(&home, place, &format!("bundle-{number}/SKILL.md"));
        link(&home, above, &format!("folder-{number}"));
    }
    victims(&home, &files);
    let mut client = Client::legacy(with_all_tools(server(&home)), "2025-11-25");
    assert_closed(&mut client, &files);
    let (exit, found) = diagnostics(&home);
    assert_eq!(exit, 1);
    assert!(!format!("{found:?}").contains(CANARY));
    let refused = found.iter().filter(|one| one["code"] == "link-refused").count();
    assert_eq!(refused, SECRETS.len() * 7, "each link is named");
    let hint = found.iter().find(|one| one["file"] == "b/file-0.txt").unwrap();
    assert!(hint.to_string().contains("links.allow"), "{hint}");
}

#[test]
fn e06_a_file_that_is_replaced_by_a_link_after_the_start_is_not_read() {
    let home = Home::with("");
    let files: Vec<String> = (0..SECRETS.len()).map(|number| format!("{number}.txt")).collect();
    victims(&home, &files);
    for (place, file) in SECRETS.iter().zip(&files) {
        home.write(place, CANARY);
        home.write(&format!("skills/declares/{file}"), "plain");
        home.write(&format!("skills/b/{file}"), "plain");
    }
    let mut client = Client::legacy(with_all_tools(server(&home)), "2025-11-25");
    for (place, file) in SECRETS.iter().zip(&files) {
        for skill in ["declares", "b"] {
            let asked = json!({"skill_path": skill, "file": file});
            assert_eq!(client.call("get_asset", &asked).json["content"], "plain");
            let path = home.skills().join(skill).join(file);
            fs::remove_file(&path).unwrap();
            symlink(home.path().join(place), &path).unwrap();
        }
    }
    assert_closed(&mut client, &files);
}

#[test]
fn e06_a_link_in_place_of_the_skills_of_a_served_folder_leads_where_it_would_after_a_restart() {
    let home = Home::new();
    let diary = skill("diary", "d", CANARY);
    home.write("private/diary.md", &diary);
    // No folder of skills: the skill in it is beside other things.
    home.write("mixed/notes.txt", "plain");
    home.write("mixed/deep/down/here/diary.md", &diary);
    let at = |path: &str| home.path().join(path);
    for (trust, target) in [("strict", "private"), ("strict", "mixed"), ("named", "mixed")] {
        home.write("team/skills/git.md", skill("brindle", "d", "Text."));
        let mut command = server(&home);
        command.env("SKILLS_DIR", at("team")).env("SKILLS_TRUST", trust);
        let mut client = Client::legacy(command, "2025-11-25");
        assert!(client.call("list_skills", &json!({})).text.contains("brindle"));
        fs::remove_dir_all(at("team/skills")).unwrap();
        symlink(at(target), at("team/skills")).unwrap();
        for path in ["diary", "deep/down/here/diary", "git"] {
            let reply = client.call("get_skill", &json!({"skill_path": path}));
            assert!(!reply.text.contains(CANARY), "{trust}, {target}: {}", reply.text);
        }
        for tool in ["list_skills", "refresh_skills", "list_skills"] {
            let reply = client.call(tool, &json!({}));
            assert!(!reply.text.contains("diary"), "{trust}, {target}: {}", reply.text);
        }
        fs::remove_file(at("team/skills")).unwrap();
    }
    // What a person links into place is a folder of skills, and is served at once.
    home.write("team/skills/git.md", skill("brindle", "d", "Text."));
    let mut command = server(&home);
    command.env("SKILLS_DIR", at("team"));
    let mut client = Client::legacy(command, "2025-11-25");
    assert!(client.call("list_skills", &json!({})).text.contains("brindle"));
    fs::remove_dir_all(at("team/skills")).unwrap();
    symlink(at("private"), at("team/skills")).unwrap();
    assert!(client.call("list_skills", &json!({})).text.contains("diary"));
}

#[test]
fn e06_no_link_leads_into_the_repository_that_a_source_is_a_checkout_of() {
    let home = Home::new();
    let names = ["git", "hg", "svn"];
    let files: Vec<String> = names.iter().map(|name| format!("{name}/config")).collect();
    let declared = files.iter().map(|file| format!("{{file: {file}, description: d}}"));
    let declared = format!("assets: [{}]", declared.collect::<Vec<_>>().join(", "));
    home.write(
        "team/declares.md",
        format!("---\nkeywords: [brindle]\ndescription: d\n{declared}\n---\nText.\n"),
    );
    home.write("team/b/SKILL.md", "---\nname: b\ndescription: d\n---\n");
    home.write("team/declares/x", "");
    for name in names {
        home.write(
            &format!("team/.{name}/config"),
            format!("url = https://x:{CANARY}@h.example\n"),
        );
        for skill in ["declares", "b"] {
            let link = home.path().join("team").join(skill).join(name);
            symlink(format!("../.{name}"), link).unwrap();
        }
    }
    for trust in ["named", "strict"] {
        let mut command = server(&home);
        command.args(["--tools", "all"]).env("SKILLS_TRUST", trust);
        command.env("SKILLS_DIR", home.path().join("team"));
        assert_closed(&mut Client::legacy(command, "2025-11-25"), &files);
    }
}

#[test]
fn e06_links_that_are_exchanged_all_the_time_lead_to_no_secret() {
    let home = Home::with("");
    victims(&home, &["x.txt".to_owned(), "pdf/x.txt".to_owned()]);
    for folder in ["skills/declares", "skills/b", "work/pdf"] {
        home.write(&format!("{folder}/x.txt"), "plain");
    }
    home.write("work/pdf/SKILL.md", bundle("pdf", "d", "Text."));
    home.write(".config/app/x.txt", CANARY);
    home.write("skills/b/pdf/x.txt", "plain");
    let mut client = client(&home);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let skills = home.skills();
            for round in 0_usize.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let folder = if round % 2 == 0 { "work/pdf" } else { ".config/app" };
                for (name, target) in
                    [("b/x.txt", "x.txt"), ("declares/x.txt", "x.txt"), ("pdf", "")]
                {
                    let new = skills.join("new");
                    symlink(home.path().join(folder).join(target), &new).unwrap();
                    fs::rename(&new, skills.join(name)).unwrap();
                }
            }
        });
        for _ in 0..200 {
            for (skill, file) in [("b", "x.txt"), ("declares", "x.txt"), ("pdf", "x.txt")] {
                let reply = client.call("get_asset", &json!({"skill_path": skill, "file": file}));
                assert!(!reply.text.contains(CANARY), "{skill}: {}", reply.text);
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn e06_skills_that_people_link_into_place_are_served_and_followed() {
    let home = Home::with("");
    home.write("work/pdf/SKILL.md", bundle("pdf", "whole", "whole"));
    home.write("work/pdf/forms.txt", "of a skill");
    home.write("work/team/git/SKILL.md", bundle("git", "of a team", "of a team"));
    home.write("work/tree/deep/_index.md", skill("deep", "category", "category"));
    home.write("work/tree/deep/leaf.md", skill("leaf", "below", "below"));
    home.write("work/one.md", skill("one", "alone", "alone"));
    home.write("work/later/notes.txt", "nothing yet");
    home.write("work/club/notes.txt", "nothing yet");
    for (target, name) in [
        ("work/pdf", "pdf"),
        ("work/team", "team"),
        ("work/tree", "tree"),
        ("work/one.md", "one.md"),
        ("work/later", "later"),
        ("work/club", "club"),
    ] {
        link(&home, target, name);
    }
    symlink("../pdf", home.path().join("work/team/again")).unwrap();
    let mut prompt = Prompt::new(server(&home));
    prompt.reads("git", "of a team");
    for (name, words) in [("tree/deep/leaf", "below"), ("one", "alone"), ("pdf", "whole")] {
        prompt.reads(name, words);
    }
    let asked = json!({"skill_path": "pdf", "file": "forms.txt"});
    assert_eq!(prompt.client.call("get_asset", &asked).json["content"], "of a skill");
    // What is no skill yet is one as soon as it is.
    prompt.misses("later");
    home.write("work/later/SKILL.md", bundle("later", "came", "came"));
    prompt.reads("later", "came");
    home.write("work/later/SKILL.md", bundle("later", "edited", "edited"));
    prompt.reads("later", "edited");
    fs::create_dir(home.path().join("work/club/golf")).unwrap();
    prompt.misses("golf");
    home.write("work/club/golf/SKILL.md", bundle("golf", "came too", "came too"));
    prompt.reads("golf", "came too");
    // And none any more when it is not.
    fs::remove_file(home.path().join("work/later/SKILL.md")).unwrap();
    prompt.misses("later");
    prompt.close();
}

#[test]
fn e06_skills_of_one_source_share_files_by_links() {
    let home = Home::with("");
    home.write("skills/shared/brand.css", "shared");
    for name in ["a", "b"] {
        home.write(&format!("skills/{name}/SKILL.md"), bundle(name, "d", "Text."));
    }
    symlink("../shared/brand.css", home.skills().join("a/brand.css")).unwrap();
    link(&home, "skills/shared", "b/assets");
    let mut client = client(&home);
    for (skill, file) in [("a", "brand.css"), ("b", "assets/brand.css")] {
        let reply = client.call("get_asset", &json!({"skill_path": skill, "file": file}));
        assert_eq!(reply.json["content"], "shared", "{}", reply.text);
    }
    assert_eq!(diagnostics(&home), (0, vec![]));
}

// SOURCE-9
#[test]
fn e06_a_users_directory_follows_links_to_skills_and_to_nothing_else() {
    let home = Home::new();
    home.write("work/pdf/SKILL.md", bundle("pdf", "d", "Linked."));
    home.write(".config/app/token", CANARY);
    home.write(".claude/skills/own/SKILL.md", bundle("own", "d", "Own."));
    let user = home.path().join(".claude/skills");
    symlink(home.path().join("work/pdf"), user.join("pdf")).unwrap();
    symlink(home.path().join(".config/app/token"), user.join("own/token")).unwrap();
    symlink(home.path().join(".config/app"), user.join("own/assets")).unwrap();
    let mut client = agents_client(&home, &["--tools", "all"]);
    let loaded = client.call("skill", &json!({"name": "pdf"}));
    assert!(loaded.text.contains("Linked."), "{}", loaded.text);
    for file in ["token", "assets/token"] {
        let reply = client.call("get_asset", &json!({"skill_path": "own", "file": file}));
        assert!(reply.is_error && !reply.text.contains(CANARY), "{}", reply.text);
    }
}

// SOURCE-9
#[test]
fn e06_the_operator_allows_folders_and_content_does_not() {
    let home = Home::with("");
    home.write("brand/logo.txt", "of the brand");
    home.write("brand/.ssh/id", CANARY);
    home.write("skills/b/SKILL.md", bundle("b", "d", "Text."));
    link(&home, "brand", "b/assets");
    link(&home, "brand/logo.txt", "b/logo.txt");
    let asked = |command: Command, file: &str| {
        let mut client = Client::legacy(command, "2025-11-25");
        client.call("get_asset", &json!({"skill_path": "b", "file": file}))
    };
    home.write("skills/config.yaml", "links:\n  allow: [/]\n");
    for file in ["logo.txt", "assets/logo.txt"] {
        assert!(asked(server(&home), file).is_error, "{file}");
    }
    let (_, found) = doctored(&mut server(&home));
    assert!(found.iter().any(|one| one.ends_with("config-refused")), "{found:?}");
    home.write(".config/skills-mcp/config.yaml", "links:\n  allow: [~/brand]\n");
    for file in ["logo.txt", "assets/logo.txt"] {
        let reply = asked(server(&home), file);
        assert_eq!(reply.json["content"], "of the brand", "{}", reply.text);
    }
    let reply = asked(server(&home), "assets/.ssh/id");
    assert!(reply.is_error && !reply.text.contains(CANARY), "{}", reply.text);
    let mut strict = server(&home);
    strict.env("SKILLS_TRUST", "strict");
    assert!(asked(strict, "logo.txt").is_error);
}

#[test]
fn e06_a_configuration_of_content_is_no_link_out_of_its_folder() {
    let home = Home::with("");
    home.write("skills/git.md", skill("brindle", "d", "Text."));
    home.write("elsewhere/settings.yaml", format!("{CANARY}: 1\nmatching:\n  min_score: 0.99\n"));
    link(&home, "elsewhere/settings.yaml", "config.yaml");
    let (exit, found) = diagnostics(&home);
    assert_eq!(exit, 1);
    assert!(!format!("{found:?}").contains(CANARY), "{found:?}");
    assert_eq!(found.first().unwrap()["code"], "config-invalid");
    // Inside its folder it may lead where it likes.
    fs::remove_file(home.skills().join("config.yaml")).unwrap();
    home.write("skills/shared/settings.yaml", "matching:\n  min_score: 0.99\n");
    symlink("shared/settings.yaml", home.skills().join("config.yaml")).unwrap();
    assert_eq!(diagnostics(&home), (0, vec![]));
}

#[test]
fn e13_a_link_to_the_root_the_home_or_a_folder_above_is_refused_and_nothing_below_is_looked_at() {
    let home = Home::with("");
    home.write("skills/deep/git.md", skill("brindle", "d", "Text."));
    // The home folder even looks like a folder of skills.
    home.write("trap/SKILL.md", bundle("trap", "d", CANARY));
    for folder in 0..50 {
        for file in 0..20 {
            home.write(&format!("many/{folder}/{file}.md"), "plain");
        }
    }
    link(&home, "/", "disk");
    link(&home, "", "home");
    link(&home, home.path().parent().unwrap(), "above");
    link(&home, "/usr", "usr");
    symlink("../..", home.skills().join("deep/up")).unwrap();
    let mut client = client(&home);
    let tree = client.call("list_skills", &json!({}));
    assert_eq!(tree.json["tree"]["children"].as_array().unwrap().len(), 1, "{}", tree.text);
    let (exit, found) = diagnostics(&home);
    let brief: Vec<String> = found
        .iter()
        .map(|one| format!("{} {}", one["file"].as_str().unwrap(), one["code"].as_str().unwrap()))
        .collect();
    // One word on each link, and none on anything below one.
    let expected = ["above", "deep/up", "disk", "home", "usr"].map(|f| format!("{f} link-refused"));
    assert_eq!((exit, brief), (1, expected.to_vec()));
}
