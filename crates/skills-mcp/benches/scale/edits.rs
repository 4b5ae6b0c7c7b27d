//! An author saves, an agent asks: does the very next answer show it, and when is a client told?

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::json;
use skills_testkit::{Client, Reply};

use super::{
    corpus::{Corpus, bundle, name, save},
    figures::{Figures, NONE, shown},
    serving,
};

/// The columns of [`measure`].
pub(super) const COLUMNS: [(&str, &str); 7] = [
    ("edit, call", "rounds"),
    ("edit, call", "stale"),
    ("edit, call", "p50"),
    ("edit, call", "p99"),
    ("edit, call", "max"),
    ("edit, call", "late"),
    ("notified", "p50"),
];

const CHANGED: &str = "notifications/tools/list_changed";
/// A notification that has not come by now does not come.
const PATIENCE: Duration = Duration::from_secs(3);
/// Changes that come within half a second of each other are one notification; after this, none is on its way.
const QUIET: Duration = Duration::from_secs(1);

/// Changes this corpus so many times, each followed by a call. A multiple of five leaves as many skills as there were.
pub(super) fn measure(corpus: &mut Corpus, rounds: usize) -> Vec<String> {
    let rounds = rounds.next_multiple_of(5);
    let skills = corpus.folders.len();
    let mut client = serving::start(&corpus.home, "skill,flat", skills).client;
    let mut taken = Vec::with_capacity(rounds);
    let mut stale = 0;
    let mut shown_last = false;
    for round in 0..rounds {
        let asked = change(corpus, round);
        let started = Instant::now();
        let reply = client.call("skill", &json!({"name": asked.name}));
        taken.push(started.elapsed());
        shown_last = asked.shown_by(&reply) && (shown_last || !asked.follows);
        stale += usize::from(!shown_last);
        if let Some(folder) = asked.passing {
            fs::remove_dir_all(corpus.place(&folder)).expect("what was made goes again");
        }
    }
    let (_, _, log) = client.close();
    let taken = Figures::of(taken);
    vec![
        rounds.to_string(),
        stale.to_string(),
        shown(taken.p50()),
        shown(taken.p99()),
        shown(taken.max()),
        late(&log).to_owned(),
        notified(corpus),
    ]
}

/// What to ask for after a change, and how the answer shows it.
struct Asked {
    name: String,
    /// What the answer must say; nothing if the skill must not be found.
    says: Option<String>,
    /// It undoes the last change, and proves nothing if that one was not shown.
    follows: bool,
    /// A folder that is only here for this round.
    passing: Option<String>,
}

impl Asked {
    fn shown_by(&self, reply: &Reply) -> bool {
        match &self.says {
            Some(says) => !reply.is_error && reply.text.contains(says),
            None => reply.is_error && reply.text.contains("not found"),
        }
    }
}

/// One change, by turns: a text is edited, a skill is added, it is deleted, a folder is renamed, a nest is made.
fn change(corpus: &mut Corpus, round: usize) -> Asked {
    let says = format!("This is what round {round} says.");
    let number = round * 7 % corpus.folders.len();
    let added = |round: usize| format!("added-in-round-{round}");
    match round % 5 {
        0 => {
            edit(corpus, number, &says, round.is_multiple_of(2));
            Asked { name: name(number), says: Some(says), follows: false, passing: None }
        }
        1 => {
            add(corpus, &added(round), &added(round), &says);
            Asked { name: added(round), says: Some(says), follows: false, passing: None }
        }
        2 => {
            fs::remove_dir_all(corpus.place(&added(round - 1))).expect("the last one added");
            Asked { name: added(round - 1), says: None, follows: true, passing: None }
        }
        3 => {
            let folder = format!("{}-moved-{round}", name(number));
            let last = corpus.folders.get_mut(number).expect("a skill of this number");
            let last = std::mem::replace(last, folder.clone());
            fs::rename(corpus.place(&last), corpus.place(&folder)).expect("the folder moves");
            Asked {
                name: name(number),
                says: Some(format!("{}\n", corpus.place(&folder).display())),
                follows: false,
                passing: None,
            }
        }
        _ => {
            let nest = format!("nest-{round}");
            add(corpus, &format!("{nest}/of/skills/{}", added(round)), &added(round), &says);
            Asked { name: added(round), says: Some(says), follows: false, passing: Some(nest) }
        }
    }
}

/// Edits a skill so that its text says this, and its description stays.
pub(super) fn edit(corpus: &Corpus, number: usize, says: &str, over: bool) {
    let folder = corpus.folders.get(number).expect("a skill of this number");
    let file = corpus.place(folder).join("SKILL.md");
    let text = fs::read_to_string(&file).expect("a skill's file");
    let kept = text.split("\nThis is what round").next().unwrap_or(&text);
    save(&file, &format!("{kept}\n{says}\n"), over);
}

fn add(corpus: &Corpus, folder: &str, name: &str, says: &str) {
    let folder = corpus.place(folder);
    fs::create_dir_all(&folder).expect("a new folder");
    let text = bundle(name, "Came while the server ran", &format!("# {name}\n\n{says}\n"));
    save(&folder.join("SKILL.md"), &text, false);
}

/// How many answers the server says it gave before it was sure: the last `late=` of its log.
pub(super) fn late(log: &str) -> &str {
    let said = log.rsplit_once("late=").map(|(_, rest)| rest);
    said.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next())
        .filter(|count| !count.is_empty())
        .unwrap_or(NONE)
}

/// How long until a client is told of a new skill that is the first of the listing, whatever is shown of the others.
fn notified(corpus: &Corpus) -> String {
    let skills = corpus.folders.len();
    let mut client = serving::start(&corpus.home, "skill,flat", skills).client;
    let mut taken = Vec::new();
    for round in 0..5 {
        drain(&mut client);
        let folder = format!("aa-first-{round}");
        let started = Instant::now();
        add(corpus, &folder, &folder, "Comes before all others.");
        if client.notified(CHANGED, PATIENCE).is_none() {
            break;
        }
        taken.push(started.elapsed());
    }
    for round in 0..5 {
        let folder = corpus.place(&format!("aa-first-{round}"));
        if folder.exists() {
            fs::remove_dir_all(folder).expect("what was made goes again");
        }
    }
    if taken.len() < 5 { "none".to_owned() } else { shown(Figures::of(taken).p50()) }
}

/// Lets pass what is still on its way.
fn drain(client: &mut Client) {
    while client.notified(CHANGED, QUIET).is_some() {}
}
