//! Skills that lie in the folder of another: a token that does not see them has none of their files.

use serde_json::{Value, json};
use skills_testkit::{Home, Listening};

use super::{EVERYTHING, UI_ONLY, call, secret_file, send, serving, text};
use crate::support::{bundle, skill};

/// A bundle at the top with skills of every kind beside it, and a bundle in a bundle.
fn home() -> Home {
    let home = Home::new();
    let write = |path: &str, text: &str| home.write(&format!("skills/{path}"), text);
    write("SKILL.md", &bundle("shelf", "All that is on the shelf", "Look around."));
    write("map.txt", "A map.\n");
    write("deal/SKILL.md", &bundle("deal", "Hidden", "Zanzibar."));
    write("deal/plan.txt", "Zanzibar.\n");
    write("payroll/salary.md", &skill("salary", "Payroll", "Zanzibar."));
    write("payroll/salary/assets/list.txt", "Zanzibar.\n");
    write("tools/outer/SKILL.md", &bundle("outer", "Holds another", "Look inside."));
    write("tools/outer/own.txt", "Own.\n");
    write("tools/outer/inner/SKILL.md", &bundle("inner", "Hidden", "Zanzibar."));
    write("tools/outer/inner/plan.txt", "Zanzibar.\n");
    home
}

/// A server whose limited token sees the two bundles that hold others.
fn started(home: &Home) -> Listening {
    let tokens = format!("ada = {EVERYTHING}\nui-team = {UI_ONLY} shelf outer\n");
    let file = secret_file(home, "tokens", &tokens);
    let mut command = serving(home, &["--token-file", &file, "--rate-limit", "0"]);
    command.env("SKILLS_TOOLS", "all");
    Listening::start(command)
}

/// Each of the two: name, path, a file of its own, and files of hidden skills below it.
const HOLDERS: [(&str, &str, &str, &[&str]); 2] = [
    (
        "shelf",
        "shelf",
        "map.txt",
        &[
            "deal/SKILL.md",
            "deal/plan.txt",
            "payroll/salary.md",
            "payroll/salary/assets/list.txt",
            "tools/outer/inner/plan.txt",
        ],
    ),
    ("outer", "tools/outer", "own.txt", &["inner/SKILL.md", "inner/plan.txt"]),
];

fn asset(server: &Listening, token: &str, path: &str, file: &str) -> Value {
    call(server, token, "get_asset", &json!({"skill_path": path, "file": file}))
}

#[cfg(feature = "browse")]
fn page(server: &Listening, path: &str) -> skills_testkit::HttpAnswer {
    let (host, bearer) = (server.address().to_string(), format!("Bearer {UI_ONLY}"));
    let headers = [("Host", &*host), ("Authorization", &*bearer)];
    skills_testkit::http_request(server.address(), "GET", path, &headers, b"").unwrap()
}

/// Nothing of what is hidden.
fn check(what: &str, answer: &str) {
    let answer = answer.to_lowercase();
    for hidden in ["zanzibar", "plan.txt", "salary", "deal/"] {
        assert!(!answer.contains(hidden), "{what}: {hidden} in {answer}");
    }
}

// HTTP-9, LAYOUT-1
#[test]
fn a_bundle_gives_no_file_of_a_hidden_skill_that_it_holds() {
    let home = home();
    let server = started(&home);
    for (name, path, own, hidden) in HOLDERS {
        let read = |file: &str| {
            let uri = format!("skill://{name}/{file}");
            send(&server, UI_ONLY, "resources/read", &json!({"uri": uri}))
        };
        assert_ne!(asset(&server, UI_ONLY, path, own)["isError"], true);
        assert_eq!(read(own).status, 200);
        for file in hidden {
            let refused = asset(&server, UI_ONLY, path, file);
            assert_eq!(refused["isError"], true, "{refused}");
            check("get_asset", &text(&refused).replace(file, ""));
            let refused = read(file);
            assert!(refused.body.contains("\"error\""), "{refused:?}");
            check("resources/read", &refused.body.replace(file, ""));
            #[cfg(feature = "browse")]
            {
                let shown = page(&server, &format!("/skills/{path}?file={file}"));
                assert_eq!(shown.status, 404, "{file}");
                assert!(!shown.body.contains("Zanzibar"), "{shown:?}");
            }
        }
    }
    // Who sees both finds a nested bundle's files in the outer one too; the one at the top has none of any other's.
    let of_all = |path: &str, file: &str| asset(&server, EVERYTHING, path, file);
    assert_ne!(of_all("tools/outer", "inner/plan.txt")["isError"], true);
    assert_eq!(of_all("shelf", "deal/plan.txt")["isError"], true);
}

// HTTP-9, LAYOUT-1
#[test]
fn no_list_names_a_file_of_a_hidden_skill() {
    let home = home();
    let server = started(&home);
    for (name, path, _, _) in HOLDERS {
        for (method, params) in [
            ("resources/list", json!({})),
            ("resources/directory/read", json!({"uri": format!("skill://{name}")})),
            ("skills/list", json!({})),
            ("skills/get", json!({"uri": format!("skill://{name}/SKILL.md")})),
            ("prompts/get", json!({"name": name})),
        ] {
            let answer = send(&server, UI_ONLY, method, &params);
            assert_eq!(answer.status, 200, "{method}: {answer:?}");
            check(method, &answer.body);
        }
        for (tool, arguments) in [
            ("get_skill", json!({"skill_path": path, "include_assets": true})),
            ("skill", json!({"name": name})),
            ("list_skills", json!({"path": path})),
        ] {
            check(tool, &call(&server, UI_ONLY, tool, &arguments).to_string());
        }
        #[cfg(feature = "browse")]
        check("page", &page(&server, &format!("/skills/{path}")).body);
    }
}
