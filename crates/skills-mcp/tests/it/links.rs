//! A change behind a link, and a root that goes and comes back, is in the answer to the very next call.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde_json::json;
use skills_testkit::Home;

use crate::support::{Prompt, agents, bundle, server};

fn leaf(words: &str) -> String {
    crate::support::skill("leaf", words, words)
}

fn git(words: &str) -> String {
    bundle("git", words, words)
}

/// Leads a link elsewhere at one stroke, as deployments do.
fn lead(link: &Path, target: impl AsRef<Path>) {
    let new = link.with_extension("new");
    symlink(target, &new).unwrap();
    fs::rename(new, link).unwrap();
}

// FRESH-1
#[test]
fn a_change_in_a_linked_folder_is_in_the_next_answer() {
    let home = Home::with("//- own.md\n");
    home.write("elsewhere/git/SKILL.md", git("first"));
    home.write("elsewhere/tree/leaf.md", leaf("Grows."));
    let link = |name: &str, target: &str| {
        symlink(home.path().join(target), home.skills().join(name)).unwrap();
    };
    link("git", "elsewhere/git");
    link("tree", "elsewhere/tree");
    let mut prompt = Prompt::new(server(&home));
    prompt.reads("git", "first");
    for round in 0..5 {
        home.write("elsewhere/git/SKILL.md", git(&format!("in place {round}")));
        prompt.reads("git", &format!("in place {round}"));
        home.write("elsewhere/git/new", git(&format!("renamed {round}")));
        let folder = home.path().join("elsewhere/git");
        fs::rename(folder.join("new"), folder.join("SKILL.md")).unwrap();
        prompt.reads("git", &format!("renamed {round}"));
        home.write(&format!("elsewhere/tree/a/b/c-{round}.md"), leaf("Deep."));
        prompt.reads(&format!("tree/a/b/c-{round}"), "Deep.");
        fs::remove_dir_all(home.path().join("elsewhere/tree/a")).unwrap();
        prompt.misses(&format!("tree/a/b/c-{round}"));
        prompt.reads("tree/leaf", "Grows.");
    }
    // The folder itself goes, and another comes.
    fs::rename(home.path().join("elsewhere/tree"), home.path().join("aside")).unwrap();
    prompt.misses("tree/leaf");
    prompt.close();
}

#[test]
fn a_change_of_a_linked_file_is_in_the_next_answer() {
    let home = Home::with("");
    home.write("elsewhere/git.md", git("first"));
    home.write("skills/git/notes.md", "notes");
    let target = home.path().join("elsewhere/git.md");
    symlink(&target, home.skills().join("git/SKILL.md")).unwrap();
    let mut prompt = Prompt::new(server(&home));
    prompt.reads("git", "first");
    for round in 0..5 {
        home.write("elsewhere/git.md", git(&format!("in place {round}")));
        prompt.reads("git", &format!("in place {round}"));
        home.write("elsewhere/new", git(&format!("renamed {round}")));
        fs::rename(home.path().join("elsewhere/new"), &target).unwrap();
        prompt.reads("git", &format!("renamed {round}"));
        home.write("elsewhere/git.md", git(&format!("in place again {round}")));
        prompt.reads("git", &format!("in place again {round}"));
    }
    prompt.close();
}

#[test]
fn a_link_that_is_led_elsewhere_or_removed_is_in_the_next_answer() {
    let home = Home::with("");
    for version in ["one", "two"] {
        home.write(&format!("{version}/SKILL.md"), git(version));
        home.write(&format!("{version}.md"), leaf(version));
    }
    let at = |path: &str| home.path().join(path);
    let (folder, file) = (home.skills().join("git"), home.skills().join("deep/leaf.md"));
    fs::create_dir(home.skills().join("deep")).unwrap();
    symlink(at("one"), &folder).unwrap();
    symlink(at("one.md"), &file).unwrap();
    let mut prompt = Prompt::new(server(&home));
    prompt.reads("git", "one");
    for version in ["two", "one", "two"] {
        lead(&folder, at(version));
        prompt.reads("git", version);
        home.write(&format!("{version}/SKILL.md"), git(&format!("edited {version}")));
        prompt.reads("git", &format!("edited {version}"));
        lead(&file, at(&format!("{version}.md")));
        prompt.reads("deep/leaf", version);
        home.write(&format!("{version}.md"), leaf(&format!("edited {version}")));
        prompt.reads("deep/leaf", &format!("edited {version}"));
        for (link, target, name) in
            [(&folder, at(version), "git"), (&file, at(&format!("{version}.md")), "deep/leaf")]
        {
            fs::remove_file(link).unwrap();
            prompt.misses(name);
            symlink(target, link).unwrap();
            prompt.reads(name, &format!("edited {version}"));
        }
    }
    prompt.close();
}

#[test]
fn two_links_to_one_folder_both_show_its_changes_and_one_without_the_other() {
    let home = Home::with("");
    home.write("elsewhere/leaf.md", leaf("first"));
    let target = home.path().join("elsewhere");
    let links: Vec<PathBuf> = ["a", "b"].map(|name| home.skills().join(name)).to_vec();
    for link in &links {
        symlink(&target, link).unwrap();
    }
    let mut prompt = Prompt::new(server(&home));
    let edit = |prompt: &mut Prompt, words: &str, names: &[&str]| {
        home.write("elsewhere/leaf.md", leaf(words));
        for name in names {
            prompt.reads(name, words);
        }
    };
    edit(&mut prompt, "both", &["a/leaf", "b/leaf"]);
    edit(&mut prompt, "both again", &["b/leaf", "a/leaf"]);
    for (gone, left) in [(0, "b/leaf"), (1, "a/leaf")] {
        fs::remove_file(&links[gone]).unwrap();
        prompt.misses(if gone == 0 { "a/leaf" } else { "b/leaf" });
        edit(&mut prompt, &format!("only {left}"), &[left]);
        symlink(&target, &links[gone]).unwrap();
        edit(&mut prompt, &format!("both after {gone}"), &["a/leaf", "b/leaf"]);
    }
    prompt.close();
}

#[test]
fn a_target_that_appears_behind_a_link_is_in_the_next_answer() {
    let home = Home::with("");
    home.write("skills/git/notes.md", "notes");
    let at = |path: &str| home.path().join(path);
    symlink(at("elsewhere/git.md"), at("skills/git/SKILL.md")).unwrap();
    symlink(at("elsewhere/tree"), at("skills/tree")).unwrap();
    let mut prompt = Prompt::new(server(&home));
    for round in 0..3 {
        prompt.misses("git");
        prompt.misses("tree/leaf");
        let words = format!("appeared {round}");
        home.write("elsewhere/git.md", git(&words));
        prompt.reads("git", &words);
        home.write("elsewhere/tree/leaf.md", leaf(&words));
        prompt.reads("tree/leaf", &words);
        // As editors and git do it, with a call in between.
        fs::rename(at("elsewhere/git.md"), at("elsewhere/git.md~")).unwrap();
        prompt.misses("git");
        home.write("elsewhere/git.md", git(&format!("anew {round}")));
        prompt.reads("git", &format!("anew {round}"));
        fs::remove_dir_all(at("elsewhere")).unwrap();
    }
    prompt.close();
}

#[test]
fn a_link_on_the_way_to_a_target_that_is_led_elsewhere_is_in_the_next_answer() {
    let home = Home::with("");
    let at = |path: &str| home.path().join(path);
    for version in ["one", "two"] {
        home.write(&format!("{version}/git/SKILL.md"), git(version));
        home.write(&format!("{version}/leaf.md"), leaf(version));
    }
    symlink(at("one"), at("current")).unwrap();
    symlink(at("current/git"), at("skills/git")).unwrap();
    fs::create_dir(at("skills/deep")).unwrap();
    symlink(at("current/leaf.md"), at("skills/deep/leaf.md")).unwrap();
    let mut prompt = Prompt::new(server(&home));
    prompt.reads("git", "one");
    for version in ["two", "one", "two"] {
        lead(&at("current"), at(version));
        prompt.reads("git", version);
        prompt.reads("deep/leaf", version);
        home.write(&format!("{version}/git/SKILL.md"), git(&format!("edited {version}")));
        prompt.reads("git", &format!("edited {version}"));
    }
    // A folder on the way that is another one.
    fs::rename(at("two"), at("aside")).unwrap();
    prompt.misses("git");
    fs::rename(at("one"), at("two")).unwrap();
    prompt.reads("git", "edited one");
    prompt.close();
}

// Roots.

#[test]
fn f15_a_root_removed_and_made_again_is_in_the_next_answer() {
    let home = Home::with("");
    let mut prompt = Prompt::new(server(&home));
    for round in 0..5 {
        home.write("skills/deep/git/SKILL.md", git(&format!("made {round}")));
        prompt.reads("git", &format!("made {round}"));
        home.write("skills/deep/git/SKILL.md", git(&format!("edited {round}")));
        prompt.reads("git", &format!("edited {round}"));
        fs::remove_dir_all(home.skills()).unwrap();
        // By turns it is noticed in between.
        if round % 2 == 0 {
            prompt.misses("git");
        }
    }
    prompt.close();
}

#[test]
fn f15_a_root_below_a_renamed_folder_is_in_the_next_answer() {
    let home = Home::new();
    let at = |path: &str| home.path().join(path);
    home.write("far/above/root/git/SKILL.md", git("first"));
    home.write("other/above/root/git/SKILL.md", git("other"));
    let mut command = server(&home);
    command.env("SKILLS_DIR", at("far/above/root"));
    let mut prompt = Prompt::new(command);
    prompt.reads("git", "first");
    for round in 0..3 {
        fs::rename(at("far"), at("aside")).unwrap();
        prompt.misses("git");
        home.write("aside/above/root/git/SKILL.md", git(&format!("aside {round}")));
        fs::rename(at("other"), at("far")).unwrap();
        prompt.reads("git", "other");
        home.write("far/above/root/git/SKILL.md", git(&format!("edited {round}")));
        prompt.reads("git", &format!("edited {round}"));
        home.write("far/above/root/git/SKILL.md", git("other"));
        // Both before the next call.
        fs::rename(at("far"), at("other")).unwrap();
        fs::rename(at("aside"), at("far")).unwrap();
        prompt.reads("git", &format!("aside {round}"));
        home.write("far/above/root/git/SKILL.md", git(&format!("back {round}")));
        prompt.reads("git", &format!("back {round}"));
    }
    prompt.close();
}

#[test]
fn directories_of_agents_that_appear_are_in_the_next_answer() {
    let home = Home::new();
    let mut prompt = Prompt::new(agents(&home, &[]));
    let places = [".claude", "project/.claude", "project/.agents"];
    for round in 0..2 {
        for (number, place) in places.iter().enumerate() {
            let name = format!("s-{number}");
            let saying = |words: &str| bundle(&name, words, words);
            prompt.misses(&name);
            let file = format!("{place}/skills/{name}/SKILL.md");
            home.write(&file, saying(&format!("made {round}")));
            prompt.reads(&name, &format!("made {round}"));
            home.write(&file, saying(&format!("edited {round}")));
            prompt.reads(&name, &format!("edited {round}"));
        }
        for (number, place) in places.iter().enumerate() {
            fs::remove_dir_all(home.path().join(place)).unwrap();
            prompt.misses(&format!("s-{number}"));
        }
    }
    prompt.close();
}

#[test]
fn a_file_that_thousands_of_links_lead_to_costs_one_walk_of_their_folder() {
    const LINKS: usize = 3_000;
    let home = Home::with("");
    home.write("skills/a/SKILL.md", bundle("a", "first", "first"));
    home.write("skills/a/target", "one\n");
    for number in 0..LINKS {
        lead(&home.skills().join(format!("a/link-{number}")), "target");
    }
    let mut prompt = Prompt::new(server(&home));
    prompt.reads("a", "first");
    let mut target = fs::OpenOptions::new().append(true).open(home.skills().join("a/target"));
    target.as_mut().unwrap().write_all(b"two\n").unwrap();
    home.write("skills/b/SKILL.md", bundle("b", "second", "second"));
    prompt.reads("b", "second");
    fs::remove_dir_all(home.skills().join("a")).unwrap();
    prompt.misses("a");
    prompt.close();
}

// Configuration.

// FRESH-4
#[test]
fn a_configuration_that_comes_changes_or_goes_is_obeyed_by_the_next_call() {
    for place in ["skills/config.yaml", "config.yaml"] {
        let home = Home::with("");
        home.write("skills/git.md", crate::support::skill("brindle, wistle, other", "d", "Text."));
        let mut prompt = Prompt::new(server(&home));
        let mut obeys = |strict: bool| {
            prompt.sees(&format!("strict: {strict}"), |client| {
                let reply = client.call("get_skill", &json!({"context": "brindle something else"}));
                assert!(!reply.is_error, "{}", reply.text);
                (reply.json["no_match"] == true) == strict
            });
        };
        obeys(false);
        for _ in 0..3 {
            home.write(place, "matching:\n  min_score: 0.99\n");
            obeys(true);
            home.write(place, "matching:\n  min_score: 0.01\n");
            obeys(false);
            home.write(&format!("{place}.new"), "matching:\n  min_score: 0.98\n");
            let file = home.path().join(place);
            fs::rename(file.with_extension("yaml.new"), &file).unwrap();
            obeys(true);
            fs::remove_file(&file).unwrap();
            obeys(false);
        }
        prompt.close();
    }
}
