//! Who is let in: hosts, origins, tokens, limits on what comes in.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    thread,
    time::Instant,
};

use serde_json::json;
use skills_testkit::{Home, HttpAnswer, Listening, PROMPT_TIMEOUT, http_request, wait_until};

use super::{EVERYTHING, call, secret_file, send, send_raw, serving, text, with_tokens};
use crate::support::{ROOT_TREE, run, server};

fn asked(server: &Listening, headers: &[(&str, &str)]) -> HttpAnswer {
    http_request(server.address(), "GET", "/mcp", headers, b"").unwrap()
}

// HTTP-3
#[test]
fn h01_h02_a_page_of_another_site_is_refused_before_its_body_is_read() {
    let home = Home::with(ROOT_TREE);
    let server = Listening::start(serving(&home, &["--host", "skills.example.org"]));
    let own = server.address().to_string();
    for host in [
        "evil.example.com",
        "localhost.evil.com",
        "127.0.0.1.nip.io",
        "[2001:db8::1]",
        "skills.example.org.evil.com",
        "",
    ] {
        assert_eq!(asked(&server, &[("Host", host)]).status, 403, "{host}");
    }
    let without = http_request(server.address(), "GET", "/mcp", &[], b"").unwrap();
    assert!(matches!(without.status, 400 | 403), "{without:?}");
    for origin in [
        "http://evil.example.com",
        "null",
        "http://127.0.0.1:1",
        &format!("http://user@{own}"),
        "https://skills.example.org.evil.com",
    ] {
        let answer = asked(&server, &[("Host", &own), ("Origin", origin)]);
        assert_eq!(answer.status, 403, "{origin}");
    }
    // A body that is announced and never sent does not keep the answer waiting.
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PROMPT_TIMEOUT)).unwrap();
    write!(stream, "POST /mcp HTTP/1.1\r\nHost: evil.com\r\nContent-Length: 100\r\n\r\n").unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 403");
    // Its own names, with or without a page of its own.
    for (host, origin) in [
        (own.as_str(), None),
        ("localhost", None),
        ("[::1]", None),
        ("skills.example.org", Some("https://skills.example.org")),
        (own.as_str(), Some(&*format!("http://{own}"))),
    ] {
        let mut headers = vec![("Host", host)];
        headers.extend(origin.map(|origin| ("Origin", origin)));
        let answer = asked(&server, &headers);
        assert_ne!(answer.status, 403, "{host} {origin:?}: {answer:?}");
    }
}

// HTTP-2
#[test]
fn h03_other_machines_are_let_in_only_with_tokens_or_on_purpose() {
    let home = Home::with(ROOT_TREE);
    let start = |arguments: &[&str]| {
        let mut command = server(&home);
        command.args(["serve", "--http"]).args(arguments);
        command
    };
    let (code, _, said) = run(&mut start(&["0.0.0.0:0"]));
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("no token is asked for") && said.contains("--insecure"), "{said}");
    for wrong in ["nowhere", "127.0.0.1", "127.0.0.1:99999"] {
        let (code, _, said) = run(&mut start(&[wrong]));
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(&format!("--http is `{wrong}`")), "{said}");
    }
    let open = Listening::start(start(&["0.0.0.0:0", "--insecure"]));
    let (_, log) = open.stop();
    assert!(log.contains("put a proxy that speaks TLS in front of it"), "{log}");
    let own = Listening::start(start(&["127.0.0.1:0"]));
    assert!(own.address().ip().is_loopback());
    // Nothing else takes the flags of HTTP.
    let (code, _, said) = run(server(&home).args(["serve", "--allow-scripts"]));
    assert_eq!(code, 2, "{said}");
}

// HTTP-4
#[test]
fn h06_a_token_is_needed_whole_and_in_its_header_and_is_never_logged() {
    let home = Home::with(ROOT_TREE);
    let server = with_tokens(&home, &["--log", "trace"]);
    let ask = |token: &str| send(&server, token, "tools/list", &json!({}));
    assert_eq!(ask(EVERYTHING).status, 200);
    for wrong in [
        "",
        "x",
        EVERYTHING.trim_start_matches('t'),
        &format!("{EVERYTHING}x"),
        "token-of-ada-0123456788",
    ] {
        let answer = ask(wrong);
        assert_eq!(answer.status, 401, "{wrong}");
        let head = answer.head.to_ascii_lowercase();
        assert!(head.contains("www-authenticate: bearer"), "{head}");
        assert!(!answer.body.contains("skill"), "{answer:?}");
    }
    let host = server.address().to_string();
    let path = format!("/mcp?access_token={EVERYTHING}&token={EVERYTHING}");
    let query = http_request(server.address(), "POST", &path, &[("Host", &host)], b"{}").unwrap();
    assert_eq!(query.status, 401, "a token in the address is no token");
    let bearer = format!("Bearer {EVERYTHING}");
    let twice = [("Authorization", &*bearer)];
    assert_eq!(send_raw(&server, EVERYTHING, &twice, b"{}").status, 401, "two are none");
    let basic = [("Authorization", "Basic dG9rZW4tb2YtYWRhOjEyMw==")];
    assert_eq!(send_raw(&server, "", &basic, b"{}").status, 401);
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("a token was refused"), "{log}");
    assert!(!log.contains(EVERYTHING) && !log.contains("0123456788"), "{log}");
}

// HTTP-4
#[test]
fn a_token_that_is_revoked_while_the_server_starts_is_refused() {
    let home = Home::with(ROOT_TREE);
    let file = secret_file(&home, "tokens", &format!("ada = {EVERYTHING}\n"));
    // An issuer that is asked for its keys after the tokens were read, and answers nothing until then.
    let issuer = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", issuer.local_addr().unwrap());
    let mut command = serving(&home, &["--token-file", &file, "--rate-limit", "0"]);
    command.args(["--issuer", &url]);
    let starting = thread::spawn(move || Listening::start(command));
    let asking = issuer.accept().unwrap();
    let new = "another-token-0123456789";
    secret_file(&home, "tokens", &format!("grace = {new}\n"));
    drop((asking, issuer));
    let server = starting.join().unwrap();
    let status = |token: &str| send(&server, token, "tools/list", &json!({})).status;
    wait_until("the new token is let in", || status(new) == 200);
    assert_eq!(status(EVERYTHING), 401, "and the one that was revoked is not");
}

// HTTP-4
#[test]
fn tokens_are_read_again_when_their_file_changes_and_a_bad_file_changes_nothing() {
    let home = Home::with(ROOT_TREE);
    let server = with_tokens(&home, &[]);
    let status = |token: &str| send(&server, token, "tools/list", &json!({})).status;
    let new = "another-token-0123456789";
    assert_eq!((status(EVERYTHING), status(new)), (200, 401));
    secret_file(&home, "tokens", &format!("grace = {new}\n"));
    wait_until("the new token is let in", || status(new) == 200);
    assert_eq!(status(EVERYTHING), 401, "and the old one is not");
    secret_file(&home, "tokens", "grace = short\n");
    let later = "third-token-0123456789";
    secret_file(&home, "tokens", &format!("grace = {new}\nada = {later}\n"));
    wait_until("what was repaired counts", || status(later) == 200);
    // An empty file lets in no client, and not every client.
    secret_file(&home, "tokens", "");
    wait_until("no token is left", || status(later) == 401);
    assert_eq!(status(""), 401);
}

#[test]
fn a_token_file_that_others_may_read_or_that_is_wrong_is_refused_by_name() {
    let home = Home::with(ROOT_TREE);
    let file = secret_file(&home, "tokens", &format!("ada = {EVERYTHING}\n"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = |file: &str| {
        let (code, _, said) = run(&mut serving(&home, &["--token-file", file]));
        assert_eq!(code, 2, "{said}");
        said
    };
    let said = refused(&file);
    assert!(said.contains("chmod 600") && said.contains(&file), "{said}");
    let short = secret_file(&home, "short", "# people\nada = short\n");
    let said = refused(&short);
    assert!(said.contains("line 2") && said.contains("fewer than 16"), "{said}");
    let gone = home.path().join("gone").to_string_lossy().into_owned();
    assert!(refused(&gone).contains("--token-file"));
    let mut command = serving(&home, &[]);
    command.env("SKILLS_HTTP_TOKENS", format!("{EVERYTHING}1"));
    let (code, _, said) = run(&mut command);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("SKILLS_HTTP_TOKENS") && !said.contains(EVERYTHING), "{said}");
}

// HTTP-5
#[test]
fn h05_what_is_too_large_is_refused_and_who_is_slow_keeps_out_no_others() {
    let home = Home::with(ROOT_TREE);
    let server = Listening::start(serving(&home, &[]));
    let large = vec![b' '; 1024 * 1024 + 1];
    assert_eq!(send_raw(&server, "", &[], &large).status, 413);
    let packed = [("Content-Encoding", "gzip")];
    let answer = send_raw(&server, "", &packed, b"\x1f\x8b\x08\x00\x00\x00\x00\x00");
    assert_eq!(answer.status, 400, "nothing is unpacked: {answer:?}");
    let heads = "a".repeat(100_000);
    let answer = send_raw(&server, "", &[("X-Long", &heads)], b"{}");
    assert!(matches!(answer.status, 400 | 431), "{answer:?}");
    // A chunk that lies about its length, heads and bodies that never end, connections that say nothing.
    let host = server.address().to_string();
    let mut open: Vec<TcpStream> = Vec::new();
    for number in 0..600 {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let _ = match number % 4 {
            0 => write!(stream, "POST /mcp HTTP/1.1\r\nHost: {host}\r\nX-Slow: "),
            1 => write!(
                stream,
                "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\n{{"
            ),
            2 => write!(
                stream,
                "POST /mcp HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n{{"
            ),
            _ => Ok(()),
        };
        open.push(stream);
    }
    let started = Instant::now();
    let found = call(&server, "", "get_skill", &json!({"skill_path": "ui/react/auth"}));
    assert!(text(&found).contains("Cookies, not tokens."), "{found}");
    assert!(started.elapsed() < PROMPT_TIMEOUT);
    drop(open);
    let mut cut = TcpStream::connect(server.address()).unwrap();
    write!(cut, "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\n{{").unwrap();
    drop(cut);
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(0), "{log}");
}

// HTTP-5
#[test]
fn h07_clients_that_listen_and_never_read_keep_out_no_others() {
    let home = Home::with(ROOT_TREE);
    let server = Listening::start(serving(&home, &["--rate-limit", "0"]));
    let host = server.address().to_string();
    let body = super::message(
        "subscriptions/listen",
        &json!({"notifications": {"toolsListChanged": true}}),
    )
    .to_string();
    let listen = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let open: Vec<TcpStream> = (0..800)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            stream.write_all(listen.as_bytes()).unwrap();
            stream
        })
        .collect();
    let mut heard = [0; 15];
    (&open[0]).read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"HTTP/1.1 200 OK");
    let found = call(&server, "", "get_skill", &json!({"skill_path": "api/auth"}));
    assert!(text(&found).contains("Check every call."), "{found}");
    drop(open);
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(0), "{log}");
}

// HTTP-5
#[test]
fn p12_a_client_that_sends_too_much_is_slowed_down_and_others_are_not() {
    let home = Home::with(ROOT_TREE);
    let server = with_tokens(&home, &["--rate-limit", "5"]);
    let status = |token: &str| send(&server, token, "tools/list", &json!({})).status;
    let statuses: Vec<u16> = (0..40).map(|_| status(EVERYTHING)).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(statuses[0], 200);
    assert_eq!(status(super::UI_ONLY), 200, "another name has a limit of its own");
    wait_until("the client may ask again", || status(EVERYTHING) == 200);
}
