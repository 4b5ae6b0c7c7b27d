//! A source or a commit of which a token sees nothing: no page, address or event tells of it.

use std::fs;

use serde_json::{Value, json};
use skills_testkit::{Home, Listening, wait_until};
#[cfg(feature = "browse")]
use skills_testkit::{HttpAnswer, http_request};

#[cfg(feature = "browse")]
use super::EVERYTHING;
use super::{UI_ONLY, call, secret_file, send};
use crate::support::{bundle, skill};

/// Two sources whose names give the same address; the second has what a token sees, under a path that the first has too.
fn two_sources(home: &Home) -> Listening {
    home.write("deal/Team/ui/x.md", skill("first", "Of the first source", "Zanzibar."));
    home.write("deal/Team/config.yaml", "matching:\n  min_score: lots\nsecret-key-name: 1\n");
    home.write("open/team/ui/x.md", skill("second", "Of the second source", "Second."));
    home.write("open/team/pdf/SKILL.md", bundle("pdf", "Fills forms", "Fill $ARGUMENTS."));
    home.write("open/team/config.yaml", "matching:\n  min_score: 0.3\n");
    let tokens = format!("ada = token-of-ada-0123456789\nui-team = {UI_ONLY} team:\n");
    let file = secret_file(home, "tokens", &tokens);
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    for name in ["deal/Team", "open/team"] {
        command.arg("--dir").arg(home.path().join(name));
    }
    command.args(["--tools", "all", "--set", "analytics.enabled=true"]);
    command.args(["serve", "--http", "127.0.0.1:0", "--token-file", &file, "--rate-limit", "0"]);
    Listening::start(command)
}

#[cfg(feature = "browse")]
fn page(server: &Listening, token: &str, path: &str) -> HttpAnswer {
    let (host, bearer) = (server.address().to_string(), format!("Bearer {token}"));
    let headers = [("Host", &*host), ("Authorization", &*bearer)];
    http_request(server.address(), "GET", path, &headers, b"").unwrap()
}

// HTTP-9, HTTP-10, HTTP-14
#[cfg(feature = "browse")]
#[test]
fn pages_show_a_limited_token_no_other_source_and_every_token_no_path_of_the_server() {
    let home = Home::new();
    let server = two_sources(&home);
    let place = home.path().to_string_lossy().into_owned();
    for path in ["/skills", "/skills?view=list", "/skills?view=findings", "/skills/ui/x"] {
        let limited = page(&server, UI_ONLY, path);
        assert_eq!(limited.status, 200, "{path}");
        for hidden in ["Team", "deal", "config.yaml", "secret-key-name", &place] {
            assert!(!limited.body.contains(hidden), "{path}: {hidden} in {}", limited.body);
        }
        let whole = page(&server, EVERYTHING, path);
        assert!(whole.status == 200 && !whole.body.contains(&place), "{path}: {}", whole.body);
    }
    let findings = page(&server, EVERYTHING, "/skills?view=findings").body;
    assert!(findings.contains("secret-key-name") && findings.contains("config.yaml"), "{findings}");
}

// HTTP-9
#[test]
fn addresses_and_events_of_a_limited_token() {
    let home = Home::new();
    let server = two_sources(&home);
    let listed = send(&server, UI_ONLY, "resources/list", &json!({})).body;
    assert!(listed.contains("skill://tree.team/ui-x/SKILL.md"), "as without the other: {listed}");
    // For this token `ui/x` is the one that it sees; events call that as everybody does.
    call(&server, UI_ONLY, "get_skill", &json!({"skill_path": "ui/x"}));
    call(&server, UI_ONLY, "report_usage", &json!({"skill_path": "ui/x", "useful": true}));
    call(&server, UI_ONLY, "skills_search", &json!({"query": "second source"}));
    let history = home.path().join(".skills-mcp/analytics.jsonl");
    let events = || {
        let text = fs::read_to_string(&history).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<Value>>()
    };
    wait_until("three events are written", || events().len() >= 3);
    let written = events();
    for event in &written {
        let said = event.to_string();
        assert!(said.contains("\"team:ui/x\"") && !said.contains("\"ui/x\""), "{said}");
    }
}

#[test]
fn a_client_that_does_not_say_its_name_is_recorded_without_one() {
    let home = Home::new();
    let server = two_sources(&home);
    let arguments = json!({"name": "get_skill", "arguments": {"skill_path": "ui/x"}});
    send(&server, EVERYTHING, "tools/call", &arguments);
    let mut followed = arguments;
    followed["_meta"] = json!({"progressToken": 7});
    send(&server, EVERYTHING, "tools/call", &followed);
    let history = home.path().join(".skills-mcp/analytics.jsonl");
    let events = || fs::read_to_string(&history).unwrap_or_default();
    send(&server, EVERYTHING, "prompts/get", &json!({"name": "pdf"}));
    wait_until("three events are written", || events().lines().count() >= 3);
    assert!(!events().contains("rmcp"), "{}", events());
}

#[test]
fn the_arguments_of_a_prompt_have_a_limit() {
    let home = Home::new();
    let server = two_sources(&home);
    let prompt = |bytes: usize| {
        let arguments = json!({"name": "pdf", "arguments": {"arguments": "x".repeat(bytes)}});
        send(&server, UI_ONLY, "prompts/get", &arguments).body
    };
    assert!(prompt(60_000).contains("Fill xxx"));
    let refused = prompt(70_000);
    assert!(refused.contains("-32602") && refused.contains("over 65536 bytes"), "{refused}");
}

// HTTP-9
#[cfg(all(feature = "browse", unix))]
#[test]
fn a_page_tells_a_limited_token_nothing_of_a_commit_but_its_id() {
    use skills_testkit::Remote;

    use crate::git::follower;

    let home = Home::new();
    let fixture = "//- skills/ui/x.md\n---\nkeywords: [one]\ndescription: One\n---\nText.\n//- skills/deal.md\n---\nkeywords: [deal]\ndescription: Deal\n---\nText.\n";
    let remote = Remote::with(&home, "team", fixture);
    remote.write("skills/deal.md", skill("deal", "Deal", "Zanzibar."));
    remote.git(&["commit", "-q", "-a", "-m", "Buy zanzibar"]);
    let id = remote.git(&["rev-parse", "HEAD"]).trim().get(..12).unwrap().to_owned();
    let tokens = format!("ada = {EVERYTHING}\nui-team = {UI_ONLY} ui\n");
    let file = secret_file(&home, "tokens", &tokens);
    let mut command = follower(&home, &remote.url());
    command.args(["serve", "--http", "127.0.0.1:0", "--token-file", &file]);
    let server = Listening::start(command);
    wait_until("the commit is shown", || {
        page(&server, EVERYTHING, "/skills/ui/x").body.contains("Buy zanzibar")
    });
    let limited = page(&server, UI_ONLY, "/skills/ui/x");
    assert!(limited.status == 200 && limited.body.contains(&id), "{limited:?}");
    assert!(!limited.body.to_lowercase().contains("zanzibar"), "{limited:?}");
}
