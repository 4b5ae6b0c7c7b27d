//! What those who run the server use: health, counts, the webhook.

use std::process::Command;

use serde_json::json;
use skills_testkit::{Home, Listening, Remote, http_request, wait_until};

use super::{call, secret_file, serving, text};
use crate::{
    git::follower,
    support::{ROOT_TREE, server},
};

// HTTP-11
#[test]
fn health_readiness_and_counts_are_there_for_the_operator() {
    let home = Home::with(ROOT_TREE);
    let server = Listening::start(serving(&home, &[]));
    assert_eq!(server.get("/healthz").status, 200);
    wait_until("it is ready", || server.get("/readyz").status == 200);
    assert_eq!(server.get("/readyz").body, "{\"ready\":true,\"last_sync_seconds\":null}");
    call(&server, "", "get_skill", &json!({"skill_path": "ui/react/auth"}));
    call(&server, "", "get_skill", &json!({"skill_path": "none"}));
    let counts = server.get("/metrics");
    assert!(counts.head.contains("application/openmetrics-text"), "{}", counts.head);
    for line in [
        "skills_mcp_calls_total{tool=\"get_skill\",outcome=\"done\"} 1",
        "skills_mcp_calls_total{tool=\"get_skill\",outcome=\"refused\"} 1",
        "skills_mcp_call_seconds_bucket{tool=\"get_skill\",le=\"+Inf\"} 2",
        "skills_mcp_call_seconds_count{tool=\"get_skill\"} 2",
        "skills_mcp_skills 5",
        "skills_mcp_diagnostics{severity=\"warning\"} 1",
    ] {
        assert!(counts.body.lines().any(|found| found == line), "{line}: {}", counts.body);
    }
    assert!(counts.body.ends_with("# EOF\n"));
    assert_eq!(server.post("/hooks/refresh", "{}").status, 404, "no secret, no webhook");
}

#[test]
fn servers_that_log_nothing_go_on_until_they_are_stopped() {
    let home = Home::with(ROOT_TREE);
    let store = format!("sqlite:{}", home.path().join("events.db").display());
    let commands = [
        (&["serve", "--http", "127.0.0.1:0"][..], "/healthz"),
        (&["dashboard"], "/"),
        (&["collect", "--listen", "127.0.0.1:0", "--store", &store], "/healthz"),
    ];
    for (arguments, path) in commands {
        let mut command = server(&home);
        command.args(["--log", "error"]).args(arguments);
        let listening = Listening::start(command);
        for _ in 0..50 {
            assert!(listening.get(path).status < 400, "{arguments:?}");
        }
        let (status, log) = listening.stop();
        assert!(status.success() && log.is_empty(), "{arguments:?}: {status} {log}");
    }
}

fn signature(secret: &str, body: &str) -> String {
    let script = "import hmac,sys;print('sha256='+hmac.new(sys.argv[1].encode(),sys.argv[2].encode(),'sha256').hexdigest())";
    let signed = Command::new("python3").args(["-c", script, secret, body]).output().unwrap();
    String::from_utf8(signed.stdout).unwrap().trim().to_owned()
}

// HTTP-12
#[test]
fn a_push_that_a_git_host_reports_is_served_soon() {
    const SECRET: &str = "webhook-secret-0123456789";
    const BODY: &str = "{\"ref\":\"refs/heads/main\"}";
    let home = Home::new();
    let text_of = |words: &str| {
        format!("//- skills/one.md\n---\nkeywords: [one]\ndescription: One\n---\n{words}\n")
    };
    let remote = Remote::with(&home, "team", &text_of("The first text."));
    let mut command = follower(&home, &remote.url());
    let file = secret_file(&home, "secret", &format!("{SECRET}\n"));
    command.args(["serve", "--http", "127.0.0.1:0", "--webhook-secret-file", &file]);
    let server = Listening::start(command);
    wait_until("the first sync is done", || server.get("/readyz").status == 200);
    wait_until("its age is counted", || {
        server.get("/metrics").body.contains("skills_mcp_sync_age_seconds{source=")
    });
    let host = server.address().to_string();
    let report = |header: (&str, &str)| {
        let headers = [("Host", &*host), ("Content-Type", "application/json"), header];
        http_request(server.address(), "POST", "/hooks/refresh", &headers, BODY.as_bytes())
            .unwrap()
            .status
    };
    let signed = signature(SECRET, BODY);
    for wrong in [
        ("X-Hub-Signature-256", signature("another-secret-0123456789", BODY).as_str()),
        ("X-Hub-Signature-256", "sha256="),
        ("X-Hub-Signature", signed.as_str()),
        ("X-Gitlab-Token", "webhook-secret-012345678"),
        ("X-Gitlab-Event", "Push Hook"),
    ] {
        assert_eq!(report(wrong), 401, "{wrong:?}");
    }
    for (words, header) in [
        ("The second text.", ("X-Hub-Signature-256", signed.as_str())),
        ("The third text.", ("X-Gitlab-Token", SECRET)),
    ] {
        remote.commit(&text_of(words));
        // Many reports are one sync.
        for _ in 0..5 {
            assert_eq!(report(header), 202);
        }
        wait_until(words, || {
            text(&call(&server, "", "get_skill", &json!({"skill_path": "one"}))).contains(words)
        });
    }
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains(SECRET), "{log}");
    // Any sender can cause this line: it is not logged each time.
    assert!((1..5).contains(&log.matches("to the webhook was refused").count()), "{log}");
}
