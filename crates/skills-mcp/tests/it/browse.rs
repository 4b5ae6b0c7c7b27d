//! The pages of the catalog over real HTTP: what they show, to whom, and what they make of hostile content.

use std::process::Command;

use serde_json::Value;
use skills_testkit::{Home, HttpAnswer, Listening, Remote, http_request};

use crate::{
    git::{follower, synced},
    support::{ROOT_TREE, bundle, eventually, run, server, skill},
};

/// No page is longer.
const MAX_PAGE_BYTES: usize = 500_000;
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn dashboard(home: &Home) -> Command {
    let mut command = server(home);
    command.arg("dashboard");
    command
}

/// A page that there is.
fn page(server: &Listening, path: &str) -> String {
    let answer = server.get(path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    assert!(header(&answer, "content-type").starts_with("text/html"), "{path}");
    answer.body
}

fn header(answer: &HttpAnswer, name: &str) -> String {
    let lines = answer.head.lines().filter_map(|line| line.split_once(": "));
    let mut values = lines.filter(|(own, _)| own.eq_ignore_ascii_case(name));
    values.next().map(|(_, value)| value.to_owned()).unwrap_or_default()
}

/// What a reader sees of a part of a page.
fn text(html: &str) -> String {
    let parts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    let text: String = parts.collect();
    let entities =
        [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")];
    entities.iter().fold(text, |text, (entity, c)| text.replace(entity, c))
}

/// The `pre` of the section of this id.
fn plain_text(html: &str, section: &str) -> String {
    let section = html.split_once(&format!("<h2 id=\"{section}\">")).expect("the section").1;
    let pre = section.split_once("<pre>").expect("a text").1.split_once("</pre>").unwrap().0;
    text(pre)
}

/// A tree, a bundle with files, and a file that gives no skill.
fn home() -> Home {
    let home = Home::with(ROOT_TREE);
    home.write(
        "skills/tools/pdf/SKILL.md",
        bundle("pdf", "Reading PDF files", "See [the form](forms/a.txt)."),
    );
    home.write("skills/tools/pdf/forms/a.txt", "one\n");
    home.write("skills/ui/react/auth/secret.txt", "not declared\n");
    home.write("skills/broken.md", "---\nkeywords: [a\n");
    home
}

// PAGE-1
#[test]
fn page_1_every_skill_is_in_the_tree_and_in_the_list() {
    let home = home();
    let server = Listening::start(dashboard(&home));
    let (tree, list) = (page(&server, "/skills"), page(&server, "/skills?view=list"));
    for identity in
        ["_root", "ui/_index", "ui/react/_index", "ui/react/auth", "api/auth", "tools/pdf"]
    {
        let link = format!("href=\"/skills/{identity}\"");
        assert!(tree.contains(&link) && list.contains(&link), "{identity}");
    }
    assert!(text(&tree).contains("6 skills from 1 source"), "{tree}");
    let rows = |query: &str| {
        page(&server, &format!("/skills?view=list{query}"))
            .matches("<tr><th scope=\"row\">")
            .count()
    };
    assert_eq!(rows(""), 6);
    let sources = list.split_once("name=\"source\"").unwrap().1.split_once("</select>").unwrap().0;
    let source = sources.rsplit_once("<option>").unwrap().1.trim_end_matches("</option>");
    assert_eq!(
        (rows("&kind=bundle"), rows("&kind=tree"), rows("&q=signing+in"), rows("&q=PDF+reading")),
        (1, 5, 2, 1)
    );
    assert_eq!(
        (
            rows(&format!("&source={source}")),
            rows("&source=other"),
            rows("&q=nothing-like-it"),
            rows("&page=99")
        ),
        (6, 0, 0, 6)
    );
    let findings = text(&page(&server, "/skills?view=findings"));
    assert!(
        findings.contains("broken.md") && findings.contains("front-matter-unclosed"),
        "{findings}"
    );
    assert!(
        findings.contains("file-missing") && findings.contains("ui/react/auth.md:"),
        "{findings}"
    );
    // A part of the tree.
    let part = page(&server, "/skills?under=ui/react");
    assert!(
        part.contains("/skills/ui/react/auth\"") && !part.contains("/skills/api/auth\""),
        "{part}"
    );
    assert_eq!(server.get("/skills?under=no/such").status, 404);
}

// PAGE-3
#[test]
fn page_3_a_skill_is_shown_beside_what_get_skill_answers_and_the_search_is_that_of_try() {
    let home = home();
    let listening = Listening::start(dashboard(&home));
    for identity in ["ui/react/auth", "tools/pdf", "_root"] {
        let (_, answer, _) = run(server(&home).args(["show", identity, "--json"]));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let shown = page(&listening, &format!("/skills/{identity}"));
        assert_eq!(plain_text(&shown, "received"), answer["content"], "{identity}");
    }
    let auth = page(&listening, "/skills/ui/react/auth");
    assert!(plain_text(&auth, "front").starts_with("---\nkeywords: [react, login"), "{auth}");
    let seen = text(&auth);
    for part in [
        "Cookies, not tokens.",
        "assets/A.tsx",
        "missing",
        "file-missing",
        "ui/react/auth.md",
        "sha256:",
        " UTC",
    ] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    let chain =
        ["_root", "ui/_index", "ui/react/_index"].map(|above| format!("href=\"/skills/{above}\""));
    assert!(chain.iter().all(|link| auth.contains(link)), "{auth}");

    for request in ["sign in with a session", "react login session oauth", "ui/react/auth", "zzz"] {
        let (_, out, _) = run(server(&home).args(["try", request, "--json", "--limit", "10"]));
        let tried: Value = serde_json::from_str(&out).unwrap();
        let shown = page(&listening, &format!("/skills/search?q={}", request.replace(' ', "+")));
        let seen = text(&shown);
        let verdict = tried["get_skill"]["keywords"].as_str().unwrap().replace('_', " ");
        assert!(seen.contains(&verdict), "{request}: {seen}");
        for hit in tried["hits"].as_array().unwrap() {
            let score = format!("{:.3}", hit["score"].as_f64().unwrap());
            assert!(seen.contains(&score), "{request}: {score} {seen}");
            for term in hit["matched_terms"].as_array().unwrap() {
                assert!(seen.contains(term.as_str().unwrap()), "{request}: {term}");
            }
        }
        for candidate in tried["get_skill"]["candidates"].as_array().unwrap() {
            assert!(seen.contains(&candidate["score"].to_string()), "{request}: {candidate}");
        }
        let total = tried["total"].as_u64().unwrap();
        assert!(total == 0 || seen.contains(&format!("{total} skill")), "{request}: {seen}");
    }
    assert!(text(&page(&listening, "/skills/search")).contains("What an agent finds"));
}

#[test]
fn a_skill_has_one_address_and_a_wrong_name_leads_to_near_ones() {
    let home = home();
    home.write("skills/search.md", skill("look, find", "How we search", "Look."));
    let server = Listening::start(dashboard(&home));
    let led = |path: &str| {
        let answer = server.get(path);
        assert_eq!(answer.status, 307, "{path}");
        header(&answer, "location")
    };
    assert_eq!(led("/skills/ui"), "/skills/ui/_index");
    assert_eq!(led("/skills/pdf"), "/skills/tools/pdf");
    assert_eq!(led("/skills/UI/React/Auth"), "/skills/ui/react/auth");
    assert!(page(&server, "/skills").contains("href=\"/skills/search/\""), "not the search");
    assert!(text(&page(&server, "/skills/search/")).contains("How we search"));
    let wrong = server.get("/skills/ui/react/auht");
    assert_eq!(wrong.status, 404);
    assert!(wrong.body.contains("href=\"/skills/ui/react/auth\""), "{}", wrong.body);
    for nowhere in [
        "/skills/../../etc/passwd",
        "/skills/%2e%2e/%2e%2e/etc/passwd",
        "/skills/%00",
        "/skills/a%0d%0ab",
    ] {
        assert_eq!(server.get(nowhere).status, 404, "{nowhere}");
    }
    let host = server.address().to_string();
    let posted =
        http_request(server.address(), "POST", "/skills", &[("Host", &host)], b"").unwrap();
    assert_eq!(posted.status, 405);
}

// PAGE-4
#[test]
fn page_4_files_are_saved_and_only_those_that_get_asset_serves() {
    let home = home();
    home.write("skills/tools/pdf/é \"x\".html", "<script>alert(1)</script>");
    let server = Listening::start(dashboard(&home));
    for (path, body, name) in [
        ("/skills/ui/react/auth?file=assets/A.tsx", "export const A = 1;\n", "A.tsx"),
        ("/skills/tools/pdf?file=forms/a.txt", "one\n", "a.txt"),
        (
            "/skills/tools/pdf?file=%C3%A9%20%22x%22.html",
            "<script>alert(1)</script>",
            "%C3%A9%20%22x%22.html",
        ),
    ] {
        let answer = server.get(path);
        assert_eq!((answer.status, &*answer.body), (200, body), "{path}");
        assert_eq!(header(&answer, "content-type"), "application/octet-stream");
        assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
        assert_eq!(
            header(&answer, "content-disposition"),
            format!("attachment; filename*=UTF-8''{name}")
        );
    }
    let shown = page(&server, "/skills/tools/pdf");
    assert!(shown.contains("<a href=\"/skills/tools/pdf?file=forms/a.txt\" rel="), "{shown}");
    for (skill, file) in [
        ("ui/react/auth", "secret.txt"),
        ("ui/react/auth", "assets/gone.ts"),
        ("ui/react/auth", "../auth.md"),
        ("tools/pdf", "../../ui/_index.md"),
        ("tools/pdf", "/etc/passwd"),
        ("tools/pdf", "forms"),
        ("tools/pdf", ""),
    ] {
        assert_eq!(
            server.get(&format!("/skills/{skill}?file={file}")).status,
            404,
            "{skill} {file}"
        );
    }
}

// PAGE-2
#[test]
fn page_2_hostile_skills_are_harmless_on_every_page() {
    let hostile = "\"'><script>alert(1)</script><img src=//evil.example/x onerror=alert(2)>\u{202e}\u{1b}[2J</pre></title>";
    let home = Home::new();
    let quoted = serde_json::to_string(hostile).unwrap();
    let body = format!(
        "# {hostile}\n\n{hostile}\n\n<svg onload=alert(1)>\n\n<meta http-equiv=refresh content=0>\n\n[a](javascript:alert(1)) ![b](http://evil.example/b.png)\n\n{} deep\n\n<form action=//evil.example><input name=token></form>\n",
        ">".repeat(100_000)
    );
    home.write("skills/bad.md", format!("---\nkeywords: [{quoted}]\ndescription: {quoted}\nassets:\n  - file: a.svg\n    description: {quoted}\n---\n{body}"));
    home.write("skills/bad/a.svg", "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>");
    let server = Listening::start(dashboard(&home));
    let query = "%22'%3E%3Cscript%3Ealert(1)%3C/script%3E";
    for path in [
        "/skills".to_owned(),
        "/skills?view=list".to_owned(),
        format!(
            "/skills?view=list&q={query}&kind={query}&source={query}&order={query}&page={query}"
        ),
        "/skills?view=findings".to_owned(),
        format!("/skills/search?q={query}+script"),
        "/skills/bad".to_owned(),
    ] {
        let answer = server.get(&path);
        assert_eq!(answer.status, 200, "{path}");
        let policy = header(&answer, "content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; style-src 'self'")
                && !policy.contains("unsafe"),
            "{policy}"
        );
        let tags: Vec<&str> = answer
            .body
            .split('<')
            .skip(1)
            .filter_map(|tag| tag.split([' ', '>', '/']).next())
            .collect();
        for tag in ["script", "img", "iframe", "object", "style", "base"] {
            assert!(!tags.contains(&tag), "{path} has {tag}");
        }
        assert_eq!(tags.iter().filter(|tag| **tag == "meta").count(), 4, "{path}");
        assert!(!answer.body.contains(['\u{202e}', '\u{1b}']), "{path}");
        assert!(answer.body.len() < MAX_PAGE_BYTES, "{path}: {}", answer.body.len());
        let inside =
            answer.body.split('<').filter_map(|tag| tag.split_once('>')).map(|(tag, _)| tag);
        for tag in inside {
            let names: String = tag.split('"').step_by(2).collect();
            assert!(!names.contains(" on") && !names.contains(" style="), "{path}: {tag}");
        }
    }
}

// PAGE-1
#[test]
fn page_1_ten_thousand_skills_fit_on_pages_of_a_bounded_size() {
    let home = Home::new();
    let about = |n: usize| {
        let words = (n % 97, n % 89, n % 83);
        format!(
            "How we do a{} and b{} with the checks of c{} that have to pass, each time and for every service",
            words.0, words.1, words.2
        )
    };
    for number in 0..5_000 {
        home.write(
            &format!("skills/flat/b{number:04}/SKILL.md"),
            bundle(&format!("b{number:04}"), &about(number), "Text."),
        );
        let (folder, inner) = (number / 100, number % 10);
        home.write(
            &format!("skills/t{folder:02}/i{inner}/s{number:04}.md"),
            skill("one, two", &about(number + 7), "Text."),
        );
    }
    let server = Listening::start(dashboard(&home));
    let mut reached = 0;
    for path in [
        "/skills",
        "/skills?under=flat",
        "/skills?under=flat&page=25",
        "/skills?under=t07",
        "/skills?view=list&page=100",
        "/skills?view=findings",
        "/skills/search?q=checks+of+c12",
        "/skills/flat/b0042",
    ] {
        let shown = page(&server, path);
        assert!(shown.len() < MAX_PAGE_BYTES, "{path} has {} bytes", shown.len());
        reached += shown.matches("href=\"/skills/").count();
    }
    assert!(reached > 500, "{reached}");
    let tree = page(&server, "/skills");
    assert!(text(&tree).contains("10,000 skills"), "{tree}");
    assert!(
        text(&tree).contains("5,000 skills below"),
        "what has no room is behind a link: {tree}"
    );
    assert!(page(&server, "/skills?under=flat&page=25").contains("/skills/flat/b4999"));
    assert!(text(&page(&server, "/skills?view=list&page=100")).contains("Page 100 of 100"));
}

/// Waits until a commit that is made now is later than one that was made before.
fn wait_for_another_second() {
    let second = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.unwrap().as_secs()
    };
    let before = second();
    eventually("another second", || (second() > before).then_some(()));
}

#[test]
fn a_repositorys_skill_shows_the_commits_that_were_served_here() {
    let home = Home::new();
    let first = "//- skills/ui/auth.md\n---\nkeywords: [login]\ndescription: Signing in\n---\nThe first text.\n";
    let remote = Remote::with(&home, "team", first);
    let before = remote.git(&["rev-parse", "HEAD"]).trim().to_owned();
    synced(&home, &remote.url());
    // The second changes another file only, the third this one. Commits are ordered by their seconds.
    wait_for_another_second();
    let second = remote
        .commit("//- skills/other.md\n---\nkeywords: [other]\ndescription: Other\n---\nOther.\n");
    synced(&home, &remote.url());
    wait_for_another_second();
    let third = remote.commit(&first.replace("first", "third"));
    synced(&home, &remote.url());
    let mut command = follower(&home, &remote.url());
    command.arg("dashboard");
    let server = Listening::start(command);
    let shown = eventually("the last commit is served", || {
        let answer = server.get("/skills/ui/auth");
        answer.body.contains("The third text.").then_some(answer.body)
    });
    let history = shown.split_once("<h2 id=\"history\">").expect("a history").1;
    let history = text(history.split_once("</section>").unwrap().0);
    let short = |commit: &str| commit.trim().chars().take(12).collect::<String>();
    assert!(history.contains(&short(&third)) && history.contains("served"), "{history}");
    assert!(history.contains(&short(&before)), "{history}");
    assert!(!history.contains(&short(&second)), "the file did not change: {history}");
    assert!(history.contains(" UTC"), "{history}");
}

// PAGE-6
#[test]
fn page_6_the_first_page_is_the_catalog_where_nothing_is_counted_and_else_the_statistics() {
    let home = home();
    let server = Listening::start(dashboard(&home));
    let first = server.get("/");
    assert_eq!((first.status, &*header(&first, "location")), (303, "/skills"));
    assert!(
        page(&server, "/?days=30").contains("Nothing was counted"),
        "the statistics are there all the same"
    );
    assert!(!page(&server, "/skills?view=list").contains("Served, 30 days"));
    drop(server);

    home.write(".skills-mcp/config.yaml", "analytics:\n  enabled: true\n");
    let server = Listening::start(dashboard(&home));
    let statistics = page(&server, "/");
    assert!(
        statistics.contains("href=\"/skills\"") && statistics.contains("href=\"/skills/search\""),
        "{statistics}"
    );
    assert!(page(&server, "/skills").contains("href=\"/?days=30\""));
    assert!(page(&server, "/skill?name=api/auth&days=30").contains("href=\"/skills/api/auth\""));
    let list = text(&page(&server, "/skills?view=list"));
    assert!(list.contains("Served, 30 days"), "{list}");
    assert!(
        page(&server, "/skills/api/auth").contains("href=\"/skill?name=api/auth&amp;days=30\"")
    );
}

#[test]
fn a_token_is_asked_for_before_any_page_of_the_catalog() {
    let home = home();
    let mut command = dashboard(&home);
    command.env("COLLECT_TOKEN", TOKEN);
    let server = Listening::start(command);
    let host = server.address().to_string();
    let bearer = format!("Bearer {TOKEN}");
    for path in [
        "/skills",
        "/skills?view=list",
        "/skills/search?q=login",
        "/skills/api/auth",
        "/skills/tools/pdf?file=forms/a.txt",
        "/skills/nope",
    ] {
        let asked = server.get(path);
        assert_eq!(asked.status, 401, "{path}");
        assert!(
            asked.body.contains("action=\"/login\"") && !asked.body.contains("api/auth"),
            "{path}"
        );
        let allowed = [("Host", &*host), ("Authorization", &*bearer)];
        let answer = http_request(server.address(), "GET", path, &allowed, b"").unwrap();
        assert_ne!(answer.status, 401, "{path}");
        let elsewhere = [("Host", "evil.example"), ("Authorization", &*bearer)];
        assert_eq!(
            http_request(server.address(), "GET", path, &elsewhere, b"").unwrap().status,
            421
        );
    }
}

// PAGE-1
#[test]
fn page_1_a_collector_that_knows_the_catalog_shows_it_too() {
    let home = home();
    let store = format!("sqlite:{}", home.path().join("events.db").display());
    let mut command = server(&home);
    command.args(["collect", "--listen", "127.0.0.1:0", "--store", &store]);
    let server = Listening::start(command);
    assert!(page(&server, "/").contains("href=\"/skills\""), "the statistics lead to the catalog");
    assert!(page(&server, "/skills").contains("href=\"/skills/api/auth\""));
    assert!(text(&page(&server, "/skills?view=list")).contains("Served, 30 days"));
}
