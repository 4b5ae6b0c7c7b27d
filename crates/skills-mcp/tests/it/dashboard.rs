//! `dashboard`: what it shows, to whom, and what it says where there is nothing.

use std::{
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::Value;
use skills_testkit::{
    Home, Listening,
    events::{Events, skill_name},
    http_request,
};

use crate::support::{run, skill};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const DAY: u64 = 86_400_000;

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

/// A home with two skills, of which one is asked for, and ten days of events.
fn home() -> Home {
    let home = Home::new();
    home.write(
        &format!("skills/{}.md", skill_name(0)),
        skill("auth, login", "Signing in", "Use cookies. <b>Always</b>."),
    );
    home.write("skills/never.md", skill("never, ever", "Nobody asks", "Hm."));
    let now = now();
    let events: Vec<String> = Events::new(5, 400, now - 10 * DAY, now).collect();
    home.write("history.jsonl", events.join("\n") + "\n");
    home
}

fn dashboard(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.env("SKILLS_DIR", home.skills()).arg("dashboard").args(arguments);
    command
}

fn shown(home: &Home) -> Command {
    let file = home.path().join("history.jsonl");
    dashboard(home, &["--file", file.to_str().unwrap()])
}

#[test]
fn the_page_shows_what_happened_and_each_skill_has_its_own() {
    let home = home();
    let page = Listening::start(shown(&home));
    let first = page.get("/?days=30");
    assert_eq!(first.status, 200);
    let head = first.head.to_ascii_lowercase();
    for header in [
        "content-type: text/html; charset=utf-8",
        "content-security-policy: default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'",
        "x-content-type-options: nosniff",
        "cache-control: no-store",
    ] {
        assert!(head.contains(header), "{header}: {head}");
    }
    let report: Value = serde_json::from_str(&page.get("/v1/stats?days=30").body).unwrap();
    let served = report["totals"]["served"].as_u64().unwrap();
    assert!(served > 100, "{report}");
    assert!(first.body.contains(&format!("<data value=\"{served}\" data-is=\"/totals/served\">")));
    assert!(
        first.body.contains("/skill?name=never&#38;days=30")
            || first.body.contains("/skill?name=never&amp;days=30"),
        "{}",
        first.body
    );

    let own = page.get(&format!("/skill?name={}&days=30", skill_name(0)));
    assert_eq!(own.status, 200);
    assert!(own.body.contains("Use cookies. &#60;b&#62;Always&#60;/b&#62;."), "{}", own.body);
    assert!(own.body.contains("sha256:"), "{}", own.body);
    let gone = page.get("/skill?name=no/such&days=7");
    assert_eq!(gone.status, 200);
    assert!(gone.body.contains("This skill is not in the catalog"), "{}", gone.body);
    assert_eq!(page.get("/all?of=skills").status, 200);
    for nowhere in ["/skill", "/skill?name=", "/all", "/all?of=x", "/favicon.ico", "/../etc/passwd"]
    {
        assert_eq!(page.get(nowhere).status, 404, "{nowhere}");
    }
    assert!(page.get("/style.css").head.to_ascii_lowercase().contains("content-type: text/css"));
    // What is not a period is the usual one.
    assert!(page.get("/?days=99999999999999999999").body.contains("30<span class=\"unit\"> days"));
}

#[test]
fn c07_every_page_can_be_limited_to_one_client() {
    let home = home();
    let page = Listening::start(shown(&home));
    let report =
        |address: &str| -> Value { serde_json::from_str(&page.get(address).body).unwrap() };
    let all = report("/v1/stats?days=30");
    let callers = all["callers"].as_array().unwrap();
    assert_eq!(callers.len(), 3, "{callers:?}");
    let mut sum = 0;
    for caller in callers {
        let (name, calls) = (caller["name"].as_str().unwrap(), caller["n"].as_u64().unwrap());
        let own = report(&format!("/v1/stats?days=30&client={name}"));
        assert_eq!(own["totals"]["events"].as_u64(), Some(calls), "{name}");
        assert_eq!((&own["client"], &own["callers"]), (&caller["name"], &all["callers"]));
        let served: Vec<&Value> = own["clients"].as_array().unwrap().iter().collect();
        assert!(served.iter().all(|client| client["name"] == caller["name"]), "{served:?}");
        sum += calls;
    }
    let unnamed = all["totals"]["events"].as_u64().unwrap() - sum;
    assert!(unnamed > 0, "some did not say their name");
    let skill = format!("/skill?name={}", skill_name(0));
    for address in ["/?", "/all?of=skills", "/proposals?", &skill] {
        let shown = page.get(&format!("{address}&days=30&client=codex"));
        assert_eq!(shown.status, 200, "{address}");
        assert!(shown.body.contains("of <strong>codex</strong>."), "{address}: {}", shown.body);
        assert!(shown.body.contains("Show all clients"), "{address}");
        assert!(!shown.body.contains(" · claude-code"), "{address}: requests of others");
        let unknown = page.get(&format!("{address}&days=30&client=nope"));
        assert_eq!(unknown.status, 404, "{address}");
        for said in
            ["These called: <code>", "<code>codex</code>", "href=\"/?days=30\">Overview</a>"]
        {
            assert!(unknown.body.contains(said), "{address}: {said}: {}", unknown.body);
        }
    }
    let unknown = page.get("/v1/stats?client=nope");
    assert!(unknown.status == 404 && unknown.body.contains("`codex`"), "{unknown:?}");
    let servers = page.get("/all?of=servers&days=30");
    assert!(servers.body.contains("older version"), "{}", servers.body);
    assert!(page.get("/?days=30").body.contains("href=\"/all?of=servers&amp;days=30\""));
}

#[test]
fn no_other_page_and_no_request_without_the_token_sees_it() {
    let home = home();
    let page = Listening::start(shown(&home));
    let host = page.address().to_string();
    let asked = |headers: &[(&str, &str)]| {
        http_request(page.address(), "GET", "/", headers, b"").unwrap().status
    };
    assert_eq!(asked(&[("Host", &host)]), 200);
    assert_eq!(asked(&[("Host", "evil.example")]), 421);
    assert_eq!(asked(&[("Host", &host), ("Origin", "http://evil.example")]), 403);
    drop(page);

    let mut command = shown(&home);
    command.env("COLLECT_TOKEN", TOKEN);
    let page = Listening::start(command);
    let host = page.address().to_string();
    let asked = page.get("/");
    assert_eq!(asked.status, 401);
    assert!(
        asked.body.contains("<form") && asked.body.contains("action=\"/login\""),
        "{}",
        asked.body
    );
    assert!(!asked.body.contains("/totals/served"));
    assert_eq!((page.get("/style.css").status, page.get("/v1/stats").status), (200, 401));
    let form = format!("token={TOKEN}");
    let entered = http_request(
        page.address(),
        "POST",
        "/login",
        &[("Host", &host), ("Content-Type", "application/x-www-form-urlencoded")],
        form.as_bytes(),
    )
    .unwrap();
    assert_eq!(entered.status, 303, "{entered:?}");
    let typed = [("Host", &*host), ("Content-Type", "application/x-www-form-urlencoded")];
    let wrong = http_request(page.address(), "POST", "/login", &typed, b"token=wrong").unwrap();
    assert_eq!(wrong.status, 401);
    assert!(wrong.head.to_lowercase().contains("content-type: text/html"), "{wrong:?}");
    let body = &wrong.body;
    assert!(body.contains("That is not the token") && body.contains("action=\"/login\""), "{body}");
    assert!(!asked.body.contains("That is not the token"));
    let cookie = entered.head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("set-cookie").then(|| value.split(';').next().unwrap())
    });
    let signed_in = [("Host", &*host), ("Cookie", cookie.unwrap())];
    let known = http_request(page.address(), "GET", "/", &signed_in, b"");
    assert_eq!(known.unwrap().status, 200);
    let bearer = format!("Bearer {TOKEN}");
    let program = http_request(
        page.address(),
        "GET",
        "/v1/stats",
        &[("Host", &host), ("Authorization", &bearer)],
        b"",
    );
    assert_eq!(program.unwrap().status, 200);
}

#[test]
fn off_loopback_there_is_no_page_without_a_token() {
    let home = home();
    let (code, out, err) = run(shown(&home).args(["--listen", "0.0.0.0:0"]));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("no token is set") && err.contains("COLLECT_TOKEN"), "{err}");
}

#[test]
fn where_nothing_was_counted_the_page_says_how_to_begin() {
    let home = Home::new();
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.args(["dashboard", "--no-default-dirs"]);
    let page = Listening::start(command);
    let first = page.get("/");
    assert_eq!(first.status, 200, "{}", first.body);
    assert!(first.body.contains("Nothing was counted in these days"), "{}", first.body);
    assert!(first.body.contains("No catalog is known here"), "{}", first.body);
}
