//! Bundles through `get_skill`: what their authors wrote to be found by, and all that a model needs to read their files.

use serde_json::{Value, json};
use skills_testkit::{Client, Home};

use crate::support::{run, server};

/// Four bundles: one with files, one with evals, one with `when_to_use`, one more.
fn shelf() -> Home {
    let home = Home::new();
    home.write(
        "skills/forms/SKILL.md",
        "---\nname: forms\ndescription: Fill in PDF forms.\n---\nRun scripts/fill.py, see reference.md.\n",
    );
    home.write("skills/forms/scripts/fill.py", "print('filled')\n");
    home.write("skills/forms/reference.md", "Fields.\n");
    home.write(
        "skills/ledger/SKILL.md",
        "---\nname: ledger\ndescription: Close the books.\n---\nCheck twice.\n",
    );
    home.write(
        "skills/ledger/evals/evals.json",
        r#"{"skill_name": "ledger", "evals": [{"prompt": "why does the zeppelin account not balance in march"},
            {"prompt": "paint my zeppelin in gouache", "should_trigger": false}]}"#,
    );
    home.write(
        "skills/kites/SKILL.md",
        "---\nname: kites\ndescription: Build kites\nwhen_to_use:\n  - somebody mentions a paraglider\n  - the wind is strong\n---\nGlue.\n",
    );
    home.write("skills/note/SKILL.md", "---\nname: note\ndescription: Take notes.\n---\nWrite.\n");
    home
}

fn found(client: &mut Client, query: &str) -> Value {
    client.call("get_skill", &json!({"context": query})).json
}

// GET-2
#[test]
fn get_2_a_bundle_comes_with_its_folder_and_its_files() {
    let home = shelf();
    let mut client = Client::legacy(server(&home), "2025-06-18");
    let loaded = client.call("get_skill", &json!({"skill_path": "forms"})).json;
    assert_eq!(loaded["files"], json!(["reference.md", "scripts/fill.py"]), "{loaded}");
    let folder = std::path::Path::new(loaded["base_directory"].as_str().unwrap());
    for file in loaded["files"].as_array().unwrap() {
        let file = file.as_str().unwrap();
        let on_disk = std::fs::read_to_string(folder.join(file)).unwrap();
        let fetched = client.call("get_asset", &json!({"skill_path": "forms", "file": file})).json;
        assert_eq!(fetched["content"], on_disk, "{file}");
    }
    let tree = client.call("get_skill", &json!({"skill_path": "note"})).json;
    assert_eq!(tree.get("files"), None, "{tree}");
}

// CLIENT-5
#[test]
fn client_5_a_long_list_of_files_leaves_room_for_the_text_and_says_how_many_there_are() {
    let home = shelf();
    home.write(
        "skills/long/SKILL.md",
        format!(
            "---\nname: long\ndescription: Long.\n---\n{}",
            "A line of the text.\n".repeat(900)
        ),
    );
    for number in 0..400 {
        home.write(&format!("skills/long/references/chapter-{number:03}.md"), "x");
    }
    let mut command = server(&home);
    command.args(["--client", "cline"]);
    let mut client = Client::legacy(command, "2025-06-18");
    let whole = client.call("get_skill", &json!({"skill_path": "long"}));
    let (files, more) = (whole.json["files"].as_array().unwrap(), &whole.json["more_files"]);
    assert!(whole.text.chars().count() <= 8_000 && !files.is_empty(), "{}", whole.text);
    assert_eq!(files.len() as u64 + more.as_u64().unwrap(), 400);
    let rest = client.call("get_skill", &json!({"skill_path": "long", "from_line": 200}));
    assert_eq!(rest.json.get("files"), None);
}

// GET-8, TOOLS-3
#[test]
fn get_8_where_keywords_decide_bundles_are_found_by_the_search() {
    let home = shelf();
    let mut command = server(&home);
    command.args(["--client", "claude-code", "--set", "matching.decide=keywords"]);
    let mut client = Client::spawn(command);
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = client.request("initialize", hello);
    let instructions = hello["result"]["instructions"].as_str().unwrap();
    assert!(instructions.contains("call skills_search with `query`"), "{instructions}");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let tools = client.request("tools/list", json!({}));
    assert!(tools.to_string().contains("\"skills_search\""), "{tools}");
}

// FLAT-6
#[test]
fn flat_6_an_unsure_search_says_so_first_and_an_excluded_skill_is_not_found() {
    let home = shelf();
    home.write(
        "skills/web-forms/SKILL.md",
        "---\nname: web-forms\ndescription: Build forms for web pages.\n---\nLabel.\n",
    );
    let mut command = server(&home);
    command.args(["--tools", "flat"]);
    let mut client = Client::legacy(command, "2025-06-18");
    let mut text = |query: &str| client.call("skills_search", &json!({"query": query})).text;
    let unsure =
        text("what did you say about the strong coffee and the notes of yesterday evening");
    assert!(unsure.starts_with("Probably none of 5 skills fits"), "{unsure}");
    let found = text("build forms for my web pages");
    assert!(found.contains("- web-forms:"), "{found}");
    let without = text("build forms for my web pages, not web-forms");
    assert!(!without.contains("- web-forms:"), "{without}");
}

// FLAT-6
#[test]
fn flat_6_a_skill_is_found_by_its_own_evals_and_by_when_to_use() {
    let home = shelf();
    let mut client = Client::legacy(server(&home), "2025-06-18");
    let first = |client: &mut Client, query: &str| {
        let answer = found(client, query);
        answer["skill_path"]
            .as_str()
            .or(answer["candidates"][0]["skill_path"].as_str())
            .map(str::to_owned)
    };
    let balance = "the zeppelin account does not balance";
    assert_eq!(first(&mut client, balance).as_deref(), Some("ledger"));
    assert_eq!(first(&mut client, "gouache"), None, "it must not trigger");
    assert_eq!(first(&mut client, "my paraglider").as_deref(), Some("kites"));
    let listed = client.call("list_skills", &json!({})).text;
    let shown = "Build kites. somebody mentions a paraglider; the wind is strong";
    assert!(listed.contains(shown), "{listed}");
    // A changed eval counts at once, as any other file does; and for the next process too.
    home.write(
        "skills/ledger/evals/evals.json",
        r#"[{"query": "reconcile the dirigible invoices"}]"#,
    );
    assert_eq!(first(&mut client, "dirigible invoices").as_deref(), Some("ledger"));
    assert_eq!(first(&mut client, "zeppelin"), None);
    client.close();
    home.write("skills/note/trigger-eval.json", r#"[{"query": "jot down what the captain said"}]"#);
    let (_, out, _) = run(server(&home).args(["try", "what the captain said", "--json"]));
    let tried: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(tried["hits"][0]["skill"], "note", "{tried}");
}
