//! A change is in the answer to the very next call: any kind of change, to both kinds of skills, wherever they go.
//!
//! Nothing is waited for. Editors are in `editors`, links and roots in `links`, what is done without a watch in
//! `fallback`.

use std::{fs, path::Path, process::Command, time::Duration};

use serde_json::{Value, json};
use skills_testkit::{Client, Home};

use crate::support::{Prompt, bundle, client, run, server, skill};

const SKILLS: usize = 200;
const ROUNDS: usize = 300;
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// A skill in a folder of its own.
#[derive(Clone)]
struct Known {
    folder: String,
    /// `SKILL.md` of a bundle, `t.md` of a tree skill.
    file: &'static str,
    mark: String,
}

impl Known {
    fn new(folder: String, is_bundle: bool, mark: String) -> Self {
        Self { folder, file: if is_bundle { "SKILL.md" } else { "t.md" }, mark }
    }

    fn is_bundle(&self) -> bool {
        self.file == "SKILL.md"
    }

    fn path(&self) -> String {
        if self.is_bundle() { self.folder.clone() } else { format!("{}/t", self.folder) }
    }

    /// What it is called where it is loaded: bundles without a name by their folder.
    fn label(&self) -> String {
        let path = self.path();
        let last = path.rsplit('/').next().unwrap_or(&path).to_owned();
        if self.is_bundle() { last } else { path }
    }

    fn write(&self, home: &Home) {
        self.write_as(home, self.file);
    }

    fn write_as(&self, home: &Home, file: &str) {
        let text =
            skill(&self.mark, &format!("About {}", self.mark), &format!("Says {}.", self.mark));
        home.write(&format!("skills/{}/{file}", self.folder), text);
    }

    /// Whether an answer shows it, in its place and as it is now. There are four ways to ask.
    fn is_shown(&self, client: &mut Client, way: usize) -> bool {
        let mark = &self.mark;
        match way % 4 {
            0 => {
                let reply = client.call("skill", &json!({"name": self.label()}));
                !reply.is_error && reply.text.trim_end().ends_with(&format!("Says {mark}."))
            }
            1 => {
                let reply = client.call("get_skill", &json!({"skill_path": self.path()}));
                let content = reply.json.get("content").and_then(Value::as_str);
                content.is_some_and(|content| content.ends_with(&format!("Says {mark}.")))
            }
            2 => {
                let reply = client.call("list_skills", &json!({"path": self.path()}));
                let node = format!("\"path\":\"{}\",\"description\":\"About {mark}\"", self.path());
                reply.text.contains(&node)
            }
            _ => {
                let query = json!({"query": mark, "match": "ranked", "limit": 1});
                let line = format!("- {}: About {mark}", self.label());
                client.call("skills_search", &query).text.lines().any(|found| found == line)
            }
        }
    }
}

fn home_of(skills: &[Known]) -> Home {
    let home = Home::with("");
    for skill in skills {
        skill.write(&home);
    }
    home
}

/// What was changed, and how.
struct Change {
    how: &'static str,
    /// The skill that is not where it was.
    was: Option<Known>,
    /// The skill as it is now.
    is: Option<Known>,
}

/// Makes one change to one of those skills, or adds one.
fn change(home: &Home, round: usize, skills: &mut Vec<Known>) -> Change {
    let is_bundle = (round / 6).is_multiple_of(2);
    let mark = format!("m{round}x");
    let mut of_kind =
        (0..skills.len()).filter(|at| skills.get(*at).unwrap().is_bundle() == is_bundle);
    let at = of_kind.nth(round * 7 % 50).unwrap();
    let folder = |known: &Known| home.skills().join(&known.folder);
    if matches!(round % 6, 2 | 3) {
        let below = if round % 6 == 3 { "x/y/" } else { "" };
        let added = Known::new(format!("new-{round}/{below}n-{round}"), is_bundle, mark);
        added.write(home);
        skills.push(added.clone());
        return Change { how: "added", was: None, is: Some(added) };
    }
    let was = skills.remove(at);
    let (how, is) = match round % 6 {
        0 => {
            let edited = Known { mark, ..was.clone() };
            edited.write(home);
            ("edited in place", edited)
        }
        1 => {
            let edited = Known { mark, ..was.clone() };
            edited.write_as(home, "t.md.tmp");
            fs::rename(folder(&was).join("t.md.tmp"), folder(&was).join(was.file)).unwrap();
            ("edited by renaming", edited)
        }
        4 => {
            fs::remove_dir_all(folder(&was)).unwrap();
            return Change { how: "deleted", was: Some(was), is: None };
        }
        _ => {
            // By turns to a name before and behind the one it had.
            let to = if (round / 12).is_multiple_of(2) { "a" } else { "z" };
            let moved = Known { folder: format!("{to}-{round}"), ..was.clone() };
            fs::rename(folder(&was), folder(&moved)).unwrap();
            ("renamed", moved)
        }
    };
    skills.insert(at, is.clone());
    Change { how, was: Some(was), is: Some(is) }
}

// FRESH-1
#[test]
fn a_change_of_any_kind_is_in_the_next_answer_300_times_among_200_skills() {
    let known = |number: usize| {
        Known::new(format!("k-{number:03}"), number.is_multiple_of(2), format!("s{number}x"))
    };
    let mut skills: Vec<Known> = (0..SKILLS).map(known).collect();
    let home = home_of(&skills);
    let mut prompt = Prompt::new(server(&home));
    for round in 0..ROUNDS {
        let Change { how, was, is } = change(&home, round, &mut skills);
        let what = |known: &Known| format!("round {round}: {} {how}", known.path());
        // The first question is the one that counts; the second, whether the old is gone as well.
        if let Some(is) = &is {
            prompt.sees(&what(is), |client| is.is_shown(client, round / 12));
        }
        if let Some(was) = &was {
            prompt.sees(&what(was), |client| !was.is_shown(client, round / 12));
        }
    }
    // One that has just been started knows nothing of all that went before.
    let mut anew = Prompt::new(server(&home));
    for (tool, arguments, shown) in [
        ("list_skills", json!({}), "k-"),
        ("skills_list", json!({"limit": 1000, "includeBody": true}), "m297x"),
    ] {
        let kept = prompt.client.call(tool, &arguments).text;
        assert_eq!(kept, anew.client.call(tool, &arguments).text, "{tool}");
        assert!(kept.contains(shown), "{tool}");
    }
    let (late, log) = prompt.close();
    // On a busy machine some are late; if most are, it is not the machine.
    assert!(late * 2 <= ROUNDS, "late {late} times: {log}");
    assert!(!log.contains("changes are not watched"), "{log}");
}

fn two_sources(home: &Home) -> Command {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.args(["--dir", "one", "--dir", "two"]);
    command
}

#[test]
fn folders_moved_out_and_in_and_between_sources_are_followed() {
    let home = Home::new();
    let at = |path: &str| home.path().join(path);
    let write = |path: &str, words: &str| {
        home.write(&format!("{path}/SKILL.md"), bundle("git", words, words));
    };
    let go = |from: &str, to: &str| fs::rename(at(from), at(to)).unwrap();
    write("one/team/deep/git", "first");
    home.write("one/team/deep/tree.md", skill("tree", "Grows.", "Grows."));
    home.write("two/other.md", skill("other", "d", "Stays."));
    let mut prompt = Prompt::new(two_sources(&home));
    prompt.reads("git", "first");
    // Out of the source; and edited there.
    go("one/team", "aside");
    prompt.misses("git");
    prompt.misses("team/deep/tree");
    write("aside/deep/git", "second");
    prompt.misses("git");
    // In again under another name, edited after that.
    go("aside", "one/a-team");
    prompt.reads("git", "second");
    prompt.reads("a-team/deep/tree", "Grows.");
    write("one/a-team/deep/git", "third");
    prompt.reads("git", "third");
    // To the other source and back, and to another depth, edited at each place.
    for (round, (from, to)) in
        [("one/a-team", "two/team"), ("two/team", "one/z-team"), ("one/z-team/deep", "two/deep")]
            .into_iter()
            .enumerate()
    {
        go(from, to);
        let git = at(to).join("git").exists();
        let folder = if git { to.to_owned() } else { format!("{to}/deep") };
        prompt.says("git", &format!("Base directory: {}/git", at(&folder).display()));
        write(&format!("{folder}/git"), &format!("round {round}"));
        prompt.reads("git", &format!("round {round}"));
        home.write(&format!("{folder}/new-{round}.md"), skill("new", "New.", "New."));
        let path = folder.split_once('/').map_or("", |(_, path)| path).to_owned();
        prompt.reads(&format!("{path}/new-{round}"), "New.");
    }
    // Single files.
    for (name, file, outside) in
        [("other", "two/other.md", "other.md"), ("git", "two/deep/git/SKILL.md", "git.md")]
    {
        go(file, outside);
        prompt.misses(name);
        go(outside, file);
        prompt.says(name, "Base directory");
    }
    // Two that change places.
    home.write("one/x/git/SKILL.md", bundle("left", "left", "left"));
    home.write("one/y/git/SKILL.md", bundle("right", "right", "right"));
    prompt.reads("right", "right");
    go("one/x", "one/between");
    go("one/y", "one/x");
    go("one/between", "one/y");
    prompt.says("left", &format!("Base directory: {}", at("one/y/git").display()));
    home.write("one/y/git/SKILL.md", bundle("left", "left, edited", "left, edited"));
    prompt.reads("left", "left, edited");
    home.write("one/x/git/SKILL.md", bundle("right", "right, edited", "right, edited"));
    prompt.reads("right", "right, edited");
    prompt.close();
}

/// The names of a skill's assets and scripts that are there.
fn files_of(client: &mut Client, path: &str) -> Vec<String> {
    let reply = client.call("get_skill", &json!({"skill_path": path}));
    let lists = ["assets", "scripts"].map(|list| reply.json.get(list).unwrap().as_array().unwrap());
    let name = |one: &Value| one.get("file").and_then(Value::as_str).unwrap().to_owned();
    lists.into_iter().flatten().map(name).collect()
}

#[test]
fn a_declared_file_that_comes_or_goes_is_in_the_next_answer() {
    let declares = "---\nkeywords: [declares]\ndescription: d\nassets:\n  - file: assets/a.txt\n    description: d\n\
        scripts:\n  - file: scripts/run.sh\n    description: d\n---\nText.\n";
    let home = Home::with("");
    home.write("skills/deep/declares.md", declares);
    let mut prompt = Prompt::new(server(&home));
    let asset = json!({"skill_path": "deep/declares", "file": "assets/a.txt"});
    let path = "deep/declares";
    let folder = home.skills().join(path);
    let files = |folder: &Path| folder.join("assets/a.txt");
    for round in 0..3 {
        prompt.sees("nothing yet", |client| files_of(client, path).is_empty());
        assert!(prompt.client.call("get_asset", &asset).is_error);
        let text = format!("asset of round {round}");
        home.write(&format!("skills/{path}/assets/a.txt"), &text);
        prompt.sees("the asset", |client| client.call("get_asset", &asset).text.contains(&text));
        prompt.sees("its name", |client| files_of(client, path) == ["assets/a.txt"]);
        home.write(&format!("skills/{path}/scripts/run.sh"), "echo");
        prompt.sees("the script", |client| files_of(client, path).len() == 2);
        fs::remove_file(files(&folder)).unwrap();
        prompt.sees("no asset", |client| client.call("get_asset", &asset).is_error);
        prompt.sees("only the script", |client| files_of(client, path) == ["scripts/run.sh"]);
        fs::remove_dir_all(&folder).unwrap();
    }
    // A bundle's files are those that there are.
    home.write("skills/git/SKILL.md", bundle("git", "Commit", "See `notes/a.md`."));
    prompt.says("git", "notes/a.md");
    let note = json!({"skill_path": "git", "file": "notes/a.md"});
    assert!(prompt.client.call("get_asset", &note).is_error);
    home.write("skills/git/notes/a.md", "A note.");
    prompt.sees("the note", |client| client.call("get_asset", &note).text.contains("A note."));
    prompt.close();
}

/// Everything here leaves the skills as they are.
const UNSEEN: &str = "\
    touch git/SKILL.md && touch -d 2001-01-01 deep/tree.md && chmod 600 deep/tree.md \
    && chmod 700 deep && chmod 755 deep && mkdir empty && rmdir empty && mkdir stays \
    && echo x > notes.txt && echo y > notes.txt && rm notes.txt && echo x > deep/tree.md.swp \
    && mkdir -p .git/objects && echo x > .git/objects/x \
    && cp git/SKILL.md git/copy && mv git/copy git/SKILL.md && touch config.yaml";

#[test]
fn a_change_that_no_client_can_see_is_neither_notified_nor_logged() {
    let home = Home::with("");
    home.write("skills/git/SKILL.md", bundle("git", "Commit", "Small steps."));
    home.write("skills/deep/tree.md", skill("tree", "Grows.", "Grows."));
    let mut client = client(&home);
    let listed = client.call("list_skills", &json!({})).text;
    assert!(listed.contains("deep/tree"), "{listed}");
    // First something that can be seen, so that silence is no deafness.
    home.write("skills/git/SKILL.md", bundle("git", "Commit boldly", "Small steps."));
    client.notification(TOOLS_CHANGED);
    let listed = client.call("list_skills", &json!({})).text;
    let (code, _, complaint) =
        run(Command::new("sh").current_dir(home.skills()).args(["-c", UNSEEN]));
    assert_eq!(code, 0, "{complaint}");
    assert_eq!(client.call("list_skills", &json!({})).text, listed);
    // Twice the quiet time and more: what has not come by then does not come.
    assert_eq!(client.arrivals(Duration::from_millis(1_300)), Vec::<Value>::new());
    assert_eq!(client.call("list_skills", &json!({})).text, listed);
    let (_, _, log) = client.close();
    let indexed: Vec<&str> = log.lines().filter(|line| line.contains(" indexed ")).collect();
    assert_eq!(indexed.len(), 2, "the start and one edit: {log}");
    assert_eq!(log.matches(TOOLS_CHANGED).count(), 1, "{log}");
}
