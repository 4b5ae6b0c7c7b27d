//! C-04: how editors and git write. Whatever they do on the way, what they leave behind is in the next answer, and
//! half a file is never what stays.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Write as _,
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use skills_testkit::{Client, Home};

use crate::support::{Prompt, bundle, eventually, loaded, result, run, server, skill};

/// Longer than a burst of changes may last before it is taken in.
const PAUSE: Duration = Duration::from_millis(60);

/// A bundle and a tree skill: the names they are loaded by, and their files.
const BOTH: [(&str, &str); 2] = [("git", "git/SKILL.md"), ("deep/tree", "deep/tree.md")];

fn text(name: &str, words: &str) -> String {
    let body = format!("{words} begins.\n{}\n{words} ends.", "A line of many.\n".repeat(200));
    if name == "git" { bundle(name, words, &body) } else { skill("tree", words, &body) }
}

fn home() -> Home {
    let home = Home::with("");
    for (name, file) in BOTH {
        home.write(&format!("skills/{file}"), text(name, "First"));
    }
    home
}

/// Whether an answer is whole, and all of one version.
fn is_whole(answer: &str, words: &str) -> bool {
    answer.contains(&format!("{words} begins.")) && answer.contains(&format!("{words} ends."))
}

#[test]
fn c04_a_text_saved_by_renaming_is_in_the_next_answer() {
    let home = home();
    let mut prompt = Prompt::new(server(&home));
    for round in 0..10 {
        for (name, file) in BOTH {
            let words = format!("Saved {round}");
            let file = home.skills().join(file);
            let beside = file.with_extension(format!("md.tmp.{round}"));
            fs::write(&beside, text(name, &words)).unwrap();
            fs::rename(&beside, &file).unwrap();
            prompt.reads(name, &words);
        }
    }
    prompt.close();
}

/// How many skills a list says there are.
fn listed(client: &mut Client) -> String {
    let reply = client.call("skills_list", &json!({"limit": 100}));
    reply.text.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn c04_a_text_that_is_written_in_two_steps_is_not_gone_meanwhile_and_whole_after() {
    let home = home();
    let mut prompt = Prompt::new(server(&home));
    for round in 0..3 {
        for (name, file) in BOTH {
            let words = format!("Written {round}");
            let new = text(name, &words);
            let (half, rest) = new.split_at(new.len() / 2);
            let mut file = File::create(home.skills().join(file)).unwrap();
            for _ in 0..2 {
                let reply = prompt.client.call("skill", &json!({"name": name}));
                let retry = reply.is_error && reply.text.contains("Try again in a moment");
                assert!(
                    retry,
                    "nothing to read, and no reason to say that it is gone: {}",
                    reply.text
                );
                assert_eq!(listed(&mut prompt.client), "2 of 2 skills");
                thread::sleep(PAUSE);
            }
            file.write_all(half.as_bytes()).unwrap();
            // The server cannot know that it is half; but it must not be what stays. In one round no call comes in between.
            if round != 1 {
                assert!(loaded(&mut prompt.client, name).is_some());
            }
            thread::sleep(PAUSE);
            file.write_all(rest.as_bytes()).unwrap();
            drop(file);
            prompt.sees("the whole text", |client| {
                loaded(client, name).is_some_and(|text| is_whole(&text, &words))
            });
            prompt.reads(name, &words);
        }
    }
    prompt.close();
}

#[test]
fn a_text_that_is_changed_behind_our_back_is_in_the_next_answer() {
    let home = home();
    for (name, file) in BOTH {
        let other = home.path().join(name.replace('/', "-"));
        fs::hard_link(home.skills().join(file), other).unwrap();
    }
    let mut prompt = Prompt::new(server(&home));
    for (name, _) in BOTH {
        // By its other name, outside the root: the kernel reports nothing.
        fs::write(home.path().join(name.replace('/', "-")), text(name, "Second")).unwrap();
        prompt.says(name, "Second ends.");
        eventually("it is listed too", || {
            let reply = prompt.client.call("skills_list", &json!({"limit": 100}));
            reply.text.contains(&format!("- {name}: Second")).then_some(())
        });
    }
    prompt.close();
}

#[test]
fn c04_swap_files_and_backups_are_no_skills_and_hide_none() {
    let home = home();
    let mut prompt = Prompt::new(server(&home));
    assert_eq!(listed(&mut prompt.client), "2 of 2 skills");
    for (name, file) in BOTH {
        let file = home.skills().join(file);
        let folder = file.parent().unwrap();
        let own = file.file_name().unwrap().to_string_lossy();
        let litter =
            [format!(".{own}.swp"), format!("{own}~"), format!("{own}.bak"), "4913".into()];
        for litter in &litter {
            fs::write(folder.join(litter), text(name, "Litter")).unwrap();
            prompt.sees("no more skills", |client| listed(client) == "2 of 2 skills");
        }
        fs::write(&file, text(name, "Second")).unwrap();
        prompt.reads(name, "Second");
        for litter in &litter {
            fs::remove_file(folder.join(litter)).unwrap();
        }
        prompt.reads(name, "Second");
    }
    prompt.close();
}

#[test]
fn c04_a_text_moved_away_and_written_anew_is_in_the_next_answer() {
    let home = home();
    let mut prompt = Prompt::new(server(&home));
    for round in 0..6 {
        for (name, file) in BOTH {
            let words = format!("Anew {round}");
            let file = home.skills().join(file);
            let backup = file.with_extension("md~");
            fs::rename(&file, &backup).unwrap();
            // By turns a call comes in between, or the server has time to notice by itself.
            match round % 3 {
                0 => {}
                1 => prompt.misses(name),
                _ => thread::sleep(PAUSE),
            }
            fs::write(&file, text(name, &words)).unwrap();
            prompt.reads(name, &words);
            fs::remove_file(&backup).unwrap();
            prompt.reads(name, &words);
        }
    }
    prompt.close();
}

/// The git on this machine's `PATH`, without any configuration.
fn git(home: &Home, arguments: &[&str]) {
    let mut command = home.command("git");
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(home.skills());
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "gc.auto=0"]);
    let (code, out, complaint) = run(command.args(arguments));
    assert_eq!(code, 0, "git {arguments:?}: {out}{complaint}");
}

/// What all skills are described as, each once.
fn versions(client: &mut Client) -> BTreeSet<String> {
    let mut versions = BTreeSet::new();
    let mut arguments = json!({"limit": 1000});
    loop {
        let result = result(client, "skills_list", &arguments);
        let page = result.get("structuredContent").unwrap();
        let skills = page.get("skills").and_then(Value::as_array).unwrap();
        let described = skills.iter().filter_map(|one| one.pointer("/meta/description")?.as_str());
        versions.extend(described.map(str::to_owned));
        match page.get("nextCursor") {
            Some(cursor) => arguments = json!({"limit": 1000, "cursor": cursor}),
            None => return versions,
        }
    }
}

#[test]
fn c04_a_checkout_of_3000_skills_is_in_the_next_answer_whole() {
    let home = Home::with("");
    let write_all = |version: &str, kept: usize| {
        for number in 0..3_000 {
            let (group, name) = (number % 60, format!("s-{number}"));
            let folder = format!("skills/g-{group}/{name}");
            if number % 3_000 < kept {
                home.write(&format!("{folder}/SKILL.md"), bundle(&name, version, version));
            } else {
                fs::remove_dir_all(home.path().join(folder)).unwrap();
            }
        }
    };
    git(&home, &["init", "-q", "-b", "one"]);
    for (branch, kept) in [("one", 3_000), ("two", 2_900)] {
        write_all(&format!("Version {branch}"), kept);
        git(&home, &["checkout", "-q", "-B", branch]);
        git(&home, &["add", "."]);
        git(&home, &["commit", "-q", "-m", branch]);
    }
    let mut prompt = Prompt::new(server(&home));
    for branch in ["one", "two"] {
        git(&home, &["checkout", "-q", branch]);
        let wanted = BTreeSet::from([format!("Version {branch}")]);
        prompt.sees(branch, |client| versions(client) == wanted);
        prompt.says("s-7", &format!("Version {branch}"));
        if branch == "two" { prompt.misses("s-2950") } else { prompt.says("s-2950", "Version one") }
    }
    prompt.close();
}
