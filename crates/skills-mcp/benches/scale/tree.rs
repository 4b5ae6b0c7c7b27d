//! The tree door at several sizes: `get_skill` by a request in words and by path.

use serde_json::json;
use skills_testkit::Home;

use super::{
    figures::{by_turns, megabytes, ratio, sample, shown, time},
    machine, serving,
};

const ROUNDS: usize = 2_000;

/// The columns of [`measure`].
pub(super) const COLUMNS: [(&str, &str); 11] = [
    ("skills", ""),
    ("start to", "tools/list"),
    ("first", "get_skill"),
    ("ping", "p50"),
    ("by request", "p50"),
    ("by request", "p99"),
    ("by request", "÷ ping"),
    ("by path", "p50"),
    ("by path", "p99"),
    ("by path", "÷ ping"),
    ("memory", "now"),
];

/// A row for a tree of so many skills.
pub(super) fn measure(skills: usize) -> Vec<String> {
    let home = Home::new();
    write(&home, skills);
    let starts = sample(9, |_| drop(serving::start(&home, "tree", skills)));
    let mut client = serving::start(&home, "tree", skills).client;
    let first = time(|| drop(client.call("get_skill", &json!({"context": "start"}))));
    let [ping, by_request, by_path] = by_turns(ROUNDS, |turn, round| {
        let asked = match turn {
            0 => return drop(client.request("ping", json!({}))),
            1 => json!({"context": request(round, skills)}),
            _ => json!({"skill_path": path(round * 7 % skills)}),
        };
        client.call("get_skill", &asked);
    });
    vec![
        skills.to_string(),
        shown(starts.p50()),
        shown(first),
        shown(ping.p50()),
        shown(by_request.p50()),
        shown(by_request.p99()),
        ratio(by_request.p50(), ping.p50()),
        shown(by_path.p50()),
        shown(by_path.p99()),
        ratio(by_path.p50(), ping.p50()),
        megabytes(machine::resident(client.pid())),
    ]
}

fn request(round: usize, skills: usize) -> String {
    let (topic, area) = (round % skills, round % 20);
    format!("please update the topic{topic} part of the area{area} module")
}

/// Where skill number `n` lies: twenty areas, each with folders of ten.
fn path(n: usize) -> String {
    format!("{}/skill{n}", group(n))
}

fn group(n: usize) -> String {
    format!("area{}/group{}", n % 20, n / 200)
}

/// A tree of skills with six keywords, three ancestors and two kilobytes each; the same every time.
fn write(home: &Home, skills: usize) {
    let body = "Prefer the simple thing that can be explained in one sentence to a colleague.\n"
        .repeat(26);
    let file = |keywords: &str, what: &str| {
        format!("---\nkeywords: [{keywords}]\ndescription: About {what}\n---\n# {what}\n\n{body}")
    };
    home.write("skills/_root.md", file("conventions, house", "everything"));
    for n in 0..skills {
        let area = format!("area{}", n % 20);
        if n < 20 {
            let overview = file(&format!("{area}, overview, start"), &area);
            home.write(&format!("skills/{area}/_index.md"), overview);
        }
        let keywords = format!(
            "topic{n}, word{}, term{}, {area}, detail{}, kind{}",
            n % 97,
            n % 389,
            n % 1013,
            n % 7
        );
        let text = file(&keywords, &format!("topic{n}"));
        home.write(&format!("skills/{}.md", path(n)), text);
    }
}
