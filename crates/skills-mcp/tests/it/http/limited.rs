//! A token that is limited to one folder learns nothing of the rest, on any surface.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skills_testkit::{Home, Listening, wait_until};

use super::{
    EVERYTHING, UI_ONLY, call, in_session, secret_file, send, serving, session, text, with_tokens,
};
use crate::support::{ROOT_TREE, bundle, skill};

/// Words that only hidden skills have: names, texts, keywords, files.
const HIDDEN: [&str; 8] =
    ["api", "payroll", "zanzibar", "salary", "vault", "hidden", "house-rules", "conventions"];

/// The tree of the tests, and beside `ui` what the team must not see.
fn home() -> Home {
    let home = Home::with(ROOT_TREE);
    let write = |path: &str, text: String| home.write(&format!("skills/{path}"), text);
    write(
        "payroll/salary.md",
        skill("salary, payroll, login", "Payroll of zanzibar", "Hidden text."),
    );
    write("payroll/broken.md", "---\nkeywords: [\n---\nhidden\n".to_owned());
    write("vault/SKILL.md", bundle("vault", "Hidden bundle about react sessions", "Zanzibar."));
    write("ui/forms/SKILL.md", bundle("forms", "Forms that people like", "Label every field."));
    write("ui/forms/notes.txt", "Notes.\n".to_owned());
    home
}

fn all_tools(home: &Home) -> Listening {
    let tokens = format!("ada = {EVERYTHING}\nui-team = {UI_ONLY} ui\n");
    let file = secret_file(home, "tokens", &tokens);
    let mut command = serving(home, &["--token-file", &file, "--rate-limit", "0"]);
    command.env("SKILLS_TOOLS", "all");
    // Statistics are kept and offered, to those who may see everything.
    command.args(["--set", "analytics.enabled=true", "--set", "analytics.tool=true"]);
    Listening::start(command)
}

/// What the source of a home is called in addresses.
fn source_name(home: &Home) -> String {
    let name = home.path().file_name().unwrap().to_string_lossy().to_lowercase();
    name.trim_start_matches('.').to_owned()
}

/// Nothing of what is hidden, but for the words that were asked for.
fn check(what: &str, answer: &str, asked: &str) {
    let (answer, asked) = (answer.to_lowercase(), asked.to_lowercase());
    for word in HIDDEN.iter().filter(|word| !asked.contains(**word)) {
        // `api` is also a part of other words.
        let found = answer.split(|c: char| !c.is_alphanumeric() && c != '-').any(|w| w == *word);
        assert!(!found, "{what} {asked}: {word} in {answer}");
    }
}

/// The others use everything, so that there is something to be seen.
fn use_everything(server: &Listening) {
    for name in ["payroll/salary", "vault", "ui/react/auth"] {
        call(server, EVERYTHING, "get_skill", &json!({"skill_path": name}));
        let report = json!({"skill_path": name, "useful": false, "comment": "zanzibar"});
        call(server, EVERYTHING, "report_usage", &report);
    }
}

// HTTP-9
#[test]
fn a_limited_token_sees_its_folder_and_nothing_of_the_rest_by_any_tool() {
    let home = home();
    let server = all_tools(&home);
    use_everything(&server);
    let whole = call(&server, EVERYTHING, "skills_list", &json!({}));
    assert_eq!(whole.pointer("/structuredContent/total"), Some(&json!(8)), "{whole}");
    for (tool, arguments) in [
        ("get_skill", json!({"context": "salary and payroll of zanzibar"})),
        ("get_skill", json!({"context": "login session"})),
        ("get_skill", json!({"context": "check every call of the api"})),
        ("get_skill", json!({"skill_path": "payroll/salary"})),
        ("get_skill", json!({"skill_path": "payroll/salar"})),
        ("get_skill", json!({"skill_path": "ui/react/auth"})),
        ("list_skills", json!({})),
        ("list_skills", json!({"path": "payroll"})),
        ("list_skills", json!({"path": "_root"})),
        ("list_skills", json!({"path": "skills"})),
        ("get_asset", json!({"skill_path": "vault", "file": "SKILL.md"})),
        ("get_asset", json!({"skill_path": "ui/forms", "file": "../../vault/SKILL.md"})),
        ("run_script", json!({"skill_path": "payroll/salary", "file": "x.sh", "args": {}})),
        ("report_usage", json!({"skill_path": "payroll/salary", "useful": true})),
        ("refresh_skills", json!({})),
        ("skill", json!({"name": "vault"})),
        ("skill", json!({"name": "vaul"})),
        ("skill", json!({"name": "forms"})),
        ("skills_list", json!({})),
        ("skills_list", json!({"query": "payroll"})),
        ("skills_search", json!({"query": "zanzibar"})),
        ("skills_search", json!({"query": "react session login", "explain": true})),
        ("skills_search", json!({"query": "hidden", "match": "all"})),
        ("skill_stats", json!({})),
    ] {
        let params = json!({"name": tool, "arguments": arguments});
        for answer in [send(&server, UI_ONLY, "tools/call", &params), {
            let mut more = params.clone();
            more["_meta"] = json!({"org.example/x": 1});
            send(&server, UI_ONLY, "tools/call", &more)
        }] {
            // The house rules are inherited by what the team may see.
            let body = answer.body.replace("_root.md", "").replace("GLOBAL RULES", "");
            check(tool, &body, &arguments.to_string());
        }
    }
    let seen = call(&server, UI_ONLY, "skills_list", &json!({}));
    assert_eq!(seen.pointer("/structuredContent/total"), Some(&json!(4)), "{seen}");
    let refreshed: Value =
        serde_json::from_str(text(&call(&server, UI_ONLY, "refresh_skills", &json!({})))).unwrap();
    assert_eq!(refreshed, json!({"success": true, "skills_reindexed": 4}));
    // What it inherits comes with it, though the ancestor is no skill of its own for this token.
    let auth = call(&server, UI_ONLY, "get_skill", &json!({"skill_path": "ui/react/auth"}));
    assert!(
        text(&auth).contains("Be kind.") && text(&auth).contains("Cookies, not tokens."),
        "{auth}"
    );
    let root = call(&server, UI_ONLY, "get_skill", &json!({"skill_path": "_root"}));
    assert_eq!(root["isError"], true, "{root}");
}

// HTTP-9
#[test]
fn a_limited_token_sees_nothing_of_the_rest_beside_tools_either() {
    let home = home();
    let server = all_tools(&home);
    call(&server, EVERYTHING, "get_skill", &json!({"skill_path": "payroll/salary"}));
    let mut seen = Vec::new();
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "stats://skills"})),
        ("resources/read", json!({"uri": "skill://vault/SKILL.md"})),
        ("resources/read", json!({"uri": "skill://payroll/salary/SKILL.md"})),
        ("resources/directory/read", json!({"uri": "skill://vault"})),
        ("skills/list", json!({})),
        ("skills/get", json!({"uri": "skill://vault/SKILL.md"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "vault"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "vault"}, "argument": {"name": "name", "value": "va"}}),
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": "skill://{name}/SKILL.md"}, "argument": {"name": "name", "value": "pay"}}),
        ),
    ] {
        let answer = send(&server, UI_ONLY, method, &params);
        check(method, &answer.body, &params.to_string());
        seen.push((method, answer.status));
    }
    assert_eq!(seen[1], ("tools/list", 200));
    // With a handshake: instructions and lists of a client that is in the table.
    let id = session(&server, UI_ONLY);
    for message in [
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "skill", "arguments": {"name": "vault"}}}),
    ] {
        let answer = in_session(&server, UI_ONLY, &id, &message);
        assert_eq!(answer.status, 200);
        check("session", &answer.body, &message.to_string());
    }
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "claude-code", "version": "1"}}});
    let welcome = super::send_raw(&server, UI_ONLY, &[], hello.to_string().as_bytes());
    assert!(welcome.body.contains("forms"), "it says what the client may see: {welcome:?}");
    check("initialize", &welcome.body, "");
    // Counts are of everything, and so not for this token; and they name no skill.
    let (host, limited) = (server.address().to_string(), format!("Bearer {UI_ONLY}"));
    let metrics = |bearer: &str| {
        let headers = [("Host", &*host), ("Authorization", bearer)];
        skills_testkit::http_request(server.address(), "GET", "/metrics", &headers, b"").unwrap()
    };
    assert_eq!(metrics(&limited).status, 403);
    let counts = metrics(&format!("Bearer {EVERYTHING}"));
    assert_eq!(counts.status, 200);
    check("metrics", &counts.body, "");
    assert!(
        !counts.body.contains("forms") && counts.body.contains("skills_mcp_skills 8"),
        "{}",
        counts.body
    );
}

// HTTP-9
#[test]
fn a_hidden_skill_is_answered_to_the_byte_as_one_that_never_was() {
    let (with, without) = (home(), Home::with(ROOT_TREE));
    without.write(
        "skills/ui/forms/SKILL.md",
        bundle("forms", "Forms that people like", "Label every field."),
    );
    without.write("skills/ui/forms/notes.txt", "Notes.\n");
    std::fs::remove_dir_all(without.skills().join("api")).unwrap();
    let source_names = [&with, &without].map(source_name);
    let (with, without) = (all_tools(&with), all_tools(&without));
    let questions = |name: &str| {
        vec![
            ("get_skill", json!({"skill_path": name})),
            ("get_skill", json!({"context": name})),
            ("list_skills", json!({"path": name})),
            ("get_asset", json!({"skill_path": name, "file": "SKILL.md"})),
            ("report_usage", json!({"skill_path": name, "useful": true})),
            ("skill", json!({"name": name})),
            ("skills_search", json!({"query": name})),
            ("skills_list", json!({"query": name})),
        ]
    };
    for (hidden, never) in
        [("vault", "vaulx"), ("payroll/salary", "payrolx/salarx"), ("api/auth", "apx/autx")]
    {
        for ((tool, there), (_, gone)) in questions(hidden).into_iter().zip(questions(never)) {
            let ask = |server: &Listening, arguments: &Value| {
                let call = json!({"name": tool, "arguments": arguments});
                let body = send(server, UI_ONLY, "tools/call", &call).body;
                // Sources are called by their folders, and each of the two has its own.
                body.replace(&source_names[0], "SOURCE").replace(&source_names[1], "SOURCE")
            };
            let hidden_answer = ask(&with, &there);
            assert_eq!(hidden_answer, ask(&without, &there), "{tool}: as on a server without it");
            let renamed = ask(&with, &gone).replace(never, hidden);
            // Near names depend on the name; both have none of the hidden ones.
            if tool != "get_skill" && tool != "skills_search" && hidden != "api/auth" {
                assert_eq!(hidden_answer, renamed, "{tool}: as a name that never was");
            }
        }
    }
    for method in ["tools/list", "server/discover"] {
        let ask = |server: &Listening| send(server, UI_ONLY, method, &json!({})).body;
        assert_eq!(ask(&with), ask(&without), "{method}");
    }
}

// HTTP-9
#[test]
fn a_name_that_is_hidden_takes_as_long_as_one_that_never_was() {
    let home = home();
    for number in 0..300 {
        let name = format!("payroll-{number}");
        home.write(&format!("skills/payroll/{name}/SKILL.md"), bundle(&name, "Hidden", "Hidden."));
    }
    let server = all_tools(&home);
    let took = |name: &str| {
        let started = Instant::now();
        let answer = call(&server, UI_ONLY, "skill", &json!({"name": name}));
        assert_eq!(answer["isError"], true);
        started.elapsed()
    };
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    took("payroll-7");
    // In turns, so that whatever else the machine does meets both. A difference is one that stays.
    wait_until("both take the same time", || {
        let (mut hidden, mut never) = (Vec::new(), Vec::new());
        for number in 0..100 {
            hidden.push(took(&format!("payroll-{number}")));
            never.push(took(&format!("payroxx-{number}")));
        }
        let (hidden, never) = (median(hidden).as_secs_f64(), median(never).as_secs_f64());
        (hidden / never - 1.0).abs() < 0.15
    });
}

/// The lines of a stream of notifications, once it is acknowledged; they end with the stream.
fn listen(server: &Listening, token: &str) -> mpsc::Receiver<String> {
    let body = super::message(
        "subscriptions/listen",
        &json!({"notifications": {"toolsListChanged": true}}),
    );
    let (body, host) = (body.to_string(), server.address());
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    assert!(next_message(&lines).expect("an answer").contains("acknowledged"));
    lines
}

/// The next message of a stream; none when it has ended.
fn next_message(lines: &mpsc::Receiver<String>) -> Option<String> {
    loop {
        match lines.recv_timeout(skills_testkit::TEST_TIMEOUT) {
            Ok(line) if line.starts_with("data: {") => return Some(line),
            Ok(_) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("the stream says nothing"),
        }
    }
}

// HTTP-9
#[test]
fn a_limited_client_is_notified_of_what_it_sees_and_of_nothing_else() {
    let home = home();
    let server = all_tools(&home);
    let listen = |token: &str| {
        let lines = listen(&server, token);
        move |what: &str| next_message(&lines).expect(what)
    };
    // No client has asked for the list before.
    let (all, limited) = (listen(EVERYTHING), listen(UI_ONLY));
    home.write("skills/vault/SKILL.md", bundle("vault", "Another hidden thing", "Zanzibar."));
    assert!(all("changed").contains("list_changed"));
    // What comes next to the limited client is of its own folder: nothing came of the hidden one.
    home.write("skills/ui/forms/SKILL.md", bundle("forms", "Forms that all people like", "Label."));
    assert!(all("changed").contains("list_changed"));
    assert!(limited("changed").contains("list_changed"));
    let log = server.stop().1;
    let sent =
        log.lines().filter(|line| line.contains("sent notifications/tools/list_changed")).count();
    assert_eq!(sent, 3, "twice to the one, once to the other: {log}");
}

// HTTP-4
#[test]
fn the_streams_of_a_token_that_is_taken_away_replaced_or_limited_otherwise_end() {
    let home = home();
    let server = all_tools(&home);
    let tokens = |ui: &str| {
        secret_file(&home, "tokens", &format!("ada = {EVERYTHING}\n{ui}"));
    };
    let (all, limited) = (listen(&server, EVERYTHING), listen(&server, UI_ONLY));
    tokens(&format!("ui-team = {UI_ONLY} vault\n"));
    assert_eq!(next_message(&limited), None, "it was limited to other skills");
    let limited = listen(&server, UI_ONLY);
    let replaced = "another-token-of-ui-team-0123456789";
    tokens(&format!("ui-team = {replaced} vault\n"));
    assert_eq!(next_message(&limited), None, "another token has its name");
    let limited = listen(&server, replaced);
    tokens("");
    assert_eq!(next_message(&limited), None, "it was taken away");
    home.write("skills/vault/SKILL.md", bundle("vault", "Another hidden thing", "Zanzibar."));
    assert!(next_message(&all).expect("its token stays").contains("list_changed"));
}

// HTTP-10
#[test]
fn no_answer_has_a_path_of_the_server() {
    let home = home();
    let server = with_tokens(&home, &["--tools", "all", "--rate-limit", "0", "--allow-scripts"]);
    let place = home.path().to_string_lossy().into_owned();
    for (tool, arguments) in [
        ("skill", json!({"name": "forms"})),
        ("skill", json!({"name": "ui/react/auth"})),
        ("get_skill", json!({"skill_path": "ui/react/auth", "include_assets": true})),
        ("get_asset", json!({"skill_path": "ui/react/auth", "file": "assets/A.tsx"})),
        ("get_asset", json!({"skill_path": "ui/react/auth", "file": "assets/gone.ts"})),
        ("get_asset", json!({"skill_path": "ui/react/auth", "file": "/etc/passwd"})),
        ("skills_list", json!({})),
        ("skills_search", json!({"query": "forms react login"})),
        ("skills_search", json!({"query": "forms", "match": "all"})),
        ("list_skills", json!({})),
        ("run_script", json!({"skill_path": "ui/react/auth", "file": "x.sh", "args": {}})),
        (
            "run_script",
            json!({"skill_path": "ui/react/auth", "file": "x.sh", "args": {}, "cwd": place}),
        ),
        ("refresh_skills", json!({})),
        ("report_usage", json!({"skill_path": "none", "useful": true})),
    ] {
        let answer = call(&server, EVERYTHING, tool, &arguments).to_string();
        assert!(
            !answer.contains(&place) && !answer.contains("/etc/passwd\\\" is"),
            "{tool}: {answer}"
        );
    }
    let forms = call(&server, EVERYTHING, "skill", &json!({"name": "forms"}));
    let said = text(&forms);
    assert!(said.starts_with("Loading: forms\nBase directory: skill://forms\n"), "{said}");
    assert!(
        said.contains("skill://forms/FILE with resources/read") && said.contains("get_asset"),
        "{said}"
    );
    assert!(said.ends_with("Label every field.\n"), "{said}");
}
