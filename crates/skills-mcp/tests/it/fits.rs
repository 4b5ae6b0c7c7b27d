//! What clients receive fits what they pass on, the rest can be read, and names that other clients fill in are explained.

use std::fmt::Write as _;

use serde_json::{Value, json};
use skills_mcp::clients::CLIENTS;
use skills_testkit::{Client, Home};

use crate::support::server;

/// A text of many lines, some with quotation marks, in which each line is told apart.
fn long(lines: usize) -> String {
    (1..=lines).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{number}: say \"this\" and go on with what comes next, é");
        text
    })
}

fn home() -> Home {
    let home = Home::new();
    let front = "keywords: [long, text, words]\ndescription: A long text for those who read on";
    let assets = "assets:\n  - {file: assets/data.md, description: Much}\n  - {file: assets/small.md, description: Little}\n  - {file: assets/b.png, description: A picture}";
    home.write("skills/long.md", format!("---\n{front}\n{assets}\n---\n{}", long(3_000)));
    home.write("skills/long/assets/data.md", long(3_000));
    home.write("skills/long/assets/small.md", long(100));
    home.write("skills/long/assets/b.png", vec![0_u8; 400_000]);
    let bundle = "name: pack\ndescription: A bundle with a long text";
    home.write("skills/pack/SKILL.md", format!("---\n{bundle}\n---\n{}", long(3_000)));
    home
}

// ANSWER-9
#[test]
fn every_answer_fits_every_client_of_the_table() {
    let home = home();
    for (client, limit) in
        CLIENTS.iter().filter_map(|client| Some((client.id, client.handling?.answer.value)))
    {
        let mut command = server(&home);
        command.args(["--client", client, "--tools", "all"]);
        let mut connection = Client::legacy(command, "2025-11-25");
        for (tool, arguments) in [
            ("get_skill", json!({"skill_path": "long"})),
            ("get_skill", json!({"skill_path": "long", "include_assets": true})),
            ("get_skill", json!({"skill_path": "pack"})),
            ("skill", json!({"name": "pack"})),
            ("skill", json!({"name": "long"})),
            ("get_asset", json!({"skill_path": "long", "file": "assets/data.md"})),
            ("get_asset", json!({"skill_path": "long", "file": "assets/b.png"})),
        ] {
            let answer = connection.call(tool, &arguments);
            let chars = json!(answer.text).to_string().chars().count();
            assert!(chars <= limit, "{client} {tool} {arguments}: {chars} of {limit}");
            // What the contract does not limit is not cut early.
            let is_text = arguments["name"] == "pack" || arguments["file"] == "assets/data.md";
            let is_used = chars * 10 > limit.min(100_000) * 7;
            assert!(!is_text || is_used, "{client} {tool}: {chars} of {limit}");
        }
    }
}

// ANSWER-9, ASSET-1
#[test]
fn a_long_asset_is_read_to_its_end() {
    let home = home();
    let mut command = server(&home);
    command.args(["--client", "cline"]);
    let mut client = Client::legacy(command, "2025-11-25");
    let (mut read, mut from) = (String::new(), 1);
    loop {
        let ask = json!({"skill_path": "long", "file": "assets/data.md", "from_line": from});
        let answer = client.call("get_asset", &ask).json;
        let content = answer["content"].as_str().unwrap().to_owned();
        let Some((part, mark)) = content.split_once("\n\n[skills-mcp] Cut here") else {
            read.push_str(&content);
            break;
        };
        assert_eq!(answer["truncated"], true);
        let next = mark.rsplit(' ').next().unwrap().trim_end_matches('.');
        from = next.parse::<usize>().unwrap();
        read = read + part + "\n";
    }
    assert_eq!(read, long(3_000));
    let picture = json!({"skill_path": "long", "file": "assets/b.png"});
    let refused = client.call("get_asset", &picture);
    assert!(refused.is_error && refused.text.contains("assets/b.png"), "{}", refused.text);
    // A client that is not known gets the whole file, and may ask for a part.
    let mut client = Client::legacy(server(&home), "2025-11-25");
    let ask =
        |from: usize| json!({"skill_path": "long", "file": "assets/data.md", "from_line": from});
    assert_eq!(client.call("get_asset", &ask(1)).json["content"], long(3_000));
    let part = client.call("get_asset", &ask(2_999)).json;
    assert!(part["content"].as_str().unwrap().starts_with("2999: say"), "{part}");
    assert_eq!(part["truncated"], Value::Bool(true));
}

// SKILL-2
#[test]
fn names_that_other_clients_fill_in_are_explained_above_the_text() {
    let home = Home::new();
    let text = "Run ${CLAUDE_PLUGIN_ROOT}/bin/x and {baseDir}/run.sh for $ARGUMENTS.";
    let skill = format!("---\nname: act\ndescription: Acts as it is told to\n---\n{text}\n");
    home.write("skills/p/.claude-plugin/plugin.json", r#"{"name": "tools"}"#);
    home.write("skills/p/skills/act/SKILL.md", &skill);
    home.write(
        "skills/plain/SKILL.md",
        "---\nname: plain\ndescription: Says $5 and {x} only\n---\n$5 {x}\n",
    );
    let mut command = server(&home);
    command.args(["--tools", "all"]);
    let mut client = Client::legacy(command, "2025-11-25");
    let root = home.skills().join("p").display().to_string();
    let names = format!(
        "In the text, `${{CLAUDE_PLUGIN_ROOT}}` is {root}; `{{baseDir}}` is {root}/skills/act; `$ARGUMENTS` is what the user asked for."
    );
    for name in ["act", "tools:act"] {
        let loaded = client.call("skill", &json!({"name": name})).text;
        assert_eq!(
            loaded,
            format!("Loading: act\nBase directory: {root}/skills/act\n{names}\n\n{skill}")
        );
    }
    let got = client.call("get_skill", &json!({"skill_path": "act"})).json;
    assert_eq!(got["names"], names);
    assert!(got["content"].as_str().unwrap().contains(text), "the text stays as it is");
    let loaded = client.call("skill", &json!({"name": "plain"})).text;
    assert!(!loaded.contains("In the text"), "{loaded}");
}
