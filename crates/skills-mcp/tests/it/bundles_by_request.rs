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
