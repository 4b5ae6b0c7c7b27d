//! Skills that lie in the folder of another: a token that does not see them has none of their files.

use serde_json::json;
use skills_testkit::{Home, Listening};

use super::{EVERYTHING, UI_ONLY, call, secret_file, send, serving, text};
use crate::support::{bundle, skill};

// HTTP-9, LAYOUT-1
#[test]
fn a_bundle_that_holds_hidden_skills_gives_none_of_their_files_on_any_surface() {
    let home = Home::new();
    let write = |path: &str, text: String| home.write(&format!("skills/{path}"), text);
    write("SKILL.md", bundle("shelf", "All that is on the shelf", "Look around."));
    write("map.txt", "A map.\n".to_owned());
    write("deal/SKILL.md", bundle("deal", "Hidden", "Zanzibar."));
    write("deal/plan.txt", "Zanzibar.\n".to_owned());
    write("payroll/salary.md", skill("salary", "Payroll", "Zanzibar."));
    write("payroll/salary/assets/list.txt", "Zanzibar.\n".to_owned());
    write("tools/outer/SKILL.md", bundle("outer", "Holds another", "Look inside."));
    write("tools/outer/own.txt", "Own.\n".to_owned());
    write("tools/outer/inner/SKILL.md", bundle("inner", "Hidden", "Zanzibar."));
    write("tools/outer/inner/plan.txt", "Zanzibar.\n".to_owned());
    let tokens = format!("ada = {EVERYTHING}\nui-team = {UI_ONLY} shelf outer\n");
    let file = secret_file(&home, "tokens", &tokens);
    let mut command = serving(&home, &["--token-file", &file, "--rate-limit", "0"]);
    command.env("SKILLS_TOOLS", "all");
    let server = Listening::start(command);
    #[cfg(feature = "browse")]
    let page = |path: &str| {
        let host = server.address().to_string();
        let bearer = format!("Bearer {UI_ONLY}");
        let headers = [("Host", &*host), ("Authorization", &*bearer)];
        skills_testkit::http_request(server.address(), "GET", path, &headers, b"").unwrap()
    };
    let hidden = |name: &str| match name {
        "shelf" => vec![
            "deal/SKILL.md",
            "deal/plan.txt",
            "payroll/salary.md",
            "payroll/salary/assets/list.txt",
            "tools/outer/inner/plan.txt",
        ],
        _ => vec!["inner/SKILL.md", "inner/plan.txt"],
    };
    let says = |what: &str, body: &str| {
        let body = body.to_lowercase();
        assert!(!body.contains("zanzibar") && !body.contains("plan.txt"), "{what}: {body}");
        assert!(!body.contains("salary") && !body.contains("deal/"), "{what}: {body}");
    };
    for (name, path, own) in [("shelf", "shelf", "map.txt"), ("outer", "tools/outer", "own.txt")] {
        let asset = |file: &str| json!({"skill_path": path, "file": file});
        let read = |file: &str| json!({"uri": format!("skill://{name}/{file}")});
        let own_text = call(&server, UI_ONLY, "get_asset", &asset(own));
        assert_ne!(own_text["isError"], true, "{own_text}");
        assert_eq!(send(&server, UI_ONLY, "resources/read", &read(own)).status, 200);
        for file in hidden(name) {
            let refused = call(&server, UI_ONLY, "get_asset", &asset(file));
            assert_eq!(refused["isError"], true, "{refused}");
            says("get_asset", &text(&refused).replace(file, ""));
            let refused = send(&server, UI_ONLY, "resources/read", &read(file));
            assert!(refused.body.contains("\"error\""), "{refused:?}");
            says("resources/read", &refused.body.replace(file, ""));
            #[cfg(feature = "browse")]
            {
                let shown = page(&format!("/skills/{path}?file={file}"));
                assert_eq!(shown.status, 404, "{file}");
                assert!(!shown.body.contains("Zanzibar"), "{shown:?}");
            }
        }
        for (method, params) in [
            ("resources/list", json!({})),
            ("resources/directory/read", json!({"uri": format!("skill://{name}")})),
            ("skills/list", json!({})),
            ("skills/get", json!({"uri": format!("skill://{name}/SKILL.md")})),
            ("prompts/get", json!({"name": name})),
        ] {
            says(method, &send(&server, UI_ONLY, method, &params).body);
        }
        for (tool, arguments) in [
            ("get_skill", json!({"skill_path": path, "include_assets": true})),
            ("skill", json!({"name": name})),
            ("list_skills", json!({"path": path})),
        ] {
            says(tool, &call(&server, UI_ONLY, tool, &arguments).to_string());
        }
        #[cfg(feature = "browse")]
        says("page", &page(&format!("/skills/{path}")).body);
    }
    // Who sees both finds a nested bundle's files in the outer one too; the one at the top has none of any other's.
    let asset = |path: &str, file: &str| {
        call(&server, EVERYTHING, "get_asset", &json!({"skill_path": path, "file": file}))
    };
    assert_ne!(asset("tools/outer", "inner/plan.txt")["isError"], true);
    assert_eq!(asset("shelf", "deal/plan.txt")["isError"], true);
}
