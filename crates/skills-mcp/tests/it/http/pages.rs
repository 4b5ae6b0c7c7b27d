//! The pages of the catalog on the server of MCP: they show what a token may see.

use serde_json::json;
use skills_testkit::{Home, HttpAnswer, Listening, http_request};

use super::{EVERYTHING, UI_ONLY, secret_file, send_raw, serving};
use crate::support::{ROOT_TREE, bundle};

fn home() -> Home {
    let home = Home::with(ROOT_TREE);
    home.write("skills/vault/SKILL.md", bundle("vault", "Hidden zanzibar", "Zanzibar."));
    home.write("skills/ui/forms/SKILL.md", bundle("forms", "Forms", "Label every field."));
    home
}

fn asked(
    server: &Listening,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> HttpAnswer {
    let host = server.address().to_string();
    let mut all = vec![("Host", host.as_str())];
    all.extend(headers);
    http_request(server.address(), method, path, &all, body.as_bytes()).unwrap()
}

fn header<'a>(answer: &'a HttpAnswer, name: &str) -> &'a str {
    let lines = answer.head.lines().filter_map(|line| line.split_once(": "));
    let mut values = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
    values.next().unwrap_or_else(|| panic!("no {name}: {answer:?}")).1
}

/// Brings a token in the form: the session's cookie.
fn signed_in(server: &Listening, token: &str) -> String {
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let answer = asked(server, "POST", "/login", &[form], &format!("token={token}"));
    assert_eq!((answer.status, header(&answer, "location")), (303, "/skills"), "{answer:?}");
    header(&answer, "set-cookie").split(';').next().unwrap().to_owned()
}

// HTTP-14
#[test]
fn pages_are_there_without_tokens_and_no_page_of_another_site_reads_them() {
    let home = home();
    let server = Listening::start(serving(&home, &[]));
    assert_eq!(header(&asked(&server, "GET", "/", &[], ""), "location"), "/skills");
    let catalog = asked(&server, "GET", "/skills?view=list", &[], "");
    assert!(catalog.status == 200 && catalog.body.contains("vault"), "{catalog:?}");
    assert_eq!(asked(&server, "GET", "/style.css", &[], "").status, 200);
    let elsewhere = [("Origin", "http://evil.example")];
    assert_eq!(asked(&server, "GET", "/skills", &elsewhere, "").status, 403);
}

// HTTP-14
#[test]
fn a_browser_brings_its_token_once_and_sees_what_the_token_may_see_until_it_ends() {
    let home = home();
    let tokens = format!("ada = {EVERYTHING}\nui-team = {UI_ONLY} ui\n");
    let file = secret_file(&home, "tokens", &tokens);
    let server = Listening::start(serving(&home, &["--token-file", &file]));
    let without = asked(&server, "GET", "/skills", &[], "");
    assert!(without.status == 401 && without.body.contains("Token needed"), "{without:?}");
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    for wrong in ["", "token=", "token=wrong-token-0123456789", "other=x"] {
        let answer = asked(&server, "POST", "/login", &[form], wrong);
        assert!(answer.status == 401 && !answer.head.contains("set-cookie"), "{wrong}: {answer:?}");
    }
    let ada = signed_in(&server, EVERYTHING);
    let team = signed_in(&server, UI_ONLY);
    let shown = |cookie: &str, path: &str| asked(&server, "GET", path, &[("Cookie", cookie)], "");
    assert!(shown(&ada, "/skills?view=list").body.contains("vault"));
    for path in [
        "/skills?view=list",
        "/skills",
        "/skills?view=findings",
        "/skills/search?q=zanzibar",
        "/skills/ui/forms",
    ] {
        let page = shown(&team, path);
        let body = page.body.replace("zanzibar", "");
        assert!(page.status == 200 && !body.contains("vault"), "{path}: {page:?}");
    }
    let (hidden, missing) = (shown(&team, "/skills/vault"), shown(&team, "/skills/vaunt"));
    assert_eq!((hidden.status, &hidden.body), (404, &missing.body.replace("vaunt", "vault")));
    // A cookie opens pages only.
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    assert_eq!(send_raw(&server, "", &[("Cookie", &ada)], ping.as_bytes()).status, 401);
    // The session ends with the token.
    secret_file(&home, "tokens", &format!("ui-team = {UI_ONLY} ui\n"));
    skills_testkit::wait_until("the token counts no more", || shown(&ada, "/skills").status == 401);
    assert_eq!(shown(&team, "/skills").status, 200);
}
