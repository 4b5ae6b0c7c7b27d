//! Pages are made from the snapshot that was chosen for the request, and from nothing else.

use skills_http::serving::serve;
use skills_testkit::{Home, http_request};
use tokio::net::TcpListener;

use super::*;
use crate::{
    config::{ConfigLayers, NamedDirectory, Trust},
    source::Directory,
    store::Cause,
};

/// Two teams, each with skills of its own, by a header of the request.
#[derive(Debug)]
struct ByTeam {
    red: Arc<Snapshot>,
    blue: Arc<Snapshot>,
}

impl SnapshotProvider for ByTeam {
    fn snapshot(&self, request: &Parts) -> SnapshotFuture {
        let is_red = request.headers.get("x-team").is_some_and(|team| team == "red");
        Box::pin(ready(Arc::clone(if is_red { &self.red } else { &self.blue })))
    }
}

#[derive(Debug)]
struct SameCounts;

impl ServedCounter for SameCounts {
    fn counts(&self) -> CountsFuture {
        let by_skill = ["red", "blue"].map(|team| (format!("{team}/secret"), 77));
        let counts = ServedCounts { days: 30, by_skill: Arc::new(by_skill.into()) };
        Box::pin(ready(Some(counts)))
    }
}

fn snapshot(home: &Home, team: &str) -> Arc<Snapshot> {
    let text = format!(
        "---\nkeywords: [{team}word]\ndescription: Of the {team} team\nassets:\n  - file: a.txt\n    description: x\n---\nText of {team}.\n"
    );
    home.write(&format!("{team}/{team}/secret.md"), text);
    home.write(&format!("{team}/{team}/secret/a.txt"), team);
    home.write(&format!("{team}/{team}-broken.md"), "---\nkeywords: [a\n");
    let named = NamedDirectory {
        name: team.into(),
        path: home.path().join(team),
        origin: "--dir".into(),
        project: None,
    };
    let source = Directory::open(&named, Trust::default()).unwrap();
    Store::new(vec![source], ConfigLayers::default()).refresh(Cause::Start).snapshot
}

// PAGE-5
#[tokio::test(flavor = "multi_thread")]
async fn page_5_a_request_is_shown_its_own_snapshot_and_nothing_else() {
    let home = Home::new();
    let provider = ByTeam { red: snapshot(&home, "red"), blue: snapshot(&home, "blue") };
    let browser = Browser { snapshots: Arc::new(provider), counter: Some(Arc::new(SameCounts)) };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server =
        tokio::spawn(
            async move { serve(listener, routes(browser), &[], std::future::pending()).await },
        );
    let walk = spawn_blocking(move || {
        for (team, other) in [("red", "blue"), ("blue", "red")] {
            let asked = |path: &str| {
                let headers = [("Host", "127.0.0.1"), ("x-team", team)];
                http_request(address, "GET", path, &headers, b"").unwrap()
            };
            for path in [
                "/skills",
                "/skills?view=list",
                "/skills?view=list&order=served",
                "/skills?view=findings",
                "/skills/search?q=of+the+team",
            ] {
                let answer = asked(path);
                assert_eq!(answer.status, 200, "{path}");
                assert!(
                    answer.body.contains(team) && !answer.body.contains(other),
                    "{team} {path}: {}",
                    answer.body
                );
            }
            let own = asked(&format!("/skills/{team}/secret"));
            assert!(
                own.body.contains(&format!("Text of {team}.")) && own.body.contains("77×"),
                "{}",
                own.body
            );
            assert!(!own.body.contains(other), "{}", own.body);
            // What is not there and what may not be seen are answered alike.
            let hidden = asked(&format!("/skills/{other}/secret"));
            let absent = asked("/skills/zzzz/secret");
            assert_eq!((hidden.status, absent.status), (404, 404));
            assert_eq!(hidden.body, absent.body);
            assert!(!hidden.body.contains(other), "{}", hidden.body);
            assert_eq!(asked(&format!("/skills/{other}/secret?file=a.txt")).status, 404);
            assert_eq!(asked(&format!("/skills?under={other}")).status, 404);
            assert_eq!(asked(&format!("/skills/{team}/secret?file=a.txt")).body, team);
        }
    });
    walk.await.unwrap();
    server.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_statistics_the_pages_bring_their_own_stylesheet() {
    let home = Home::new();
    let snapshot = snapshot(&home, "red");
    let provider = ByTeam { red: Arc::clone(&snapshot), blue: snapshot };
    let browser = Browser { snapshots: Arc::new(provider), counter: None };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server =
        tokio::spawn(
            async move { serve(listener, routes(browser), &[], std::future::pending()).await },
        );
    let walk = spawn_blocking(move || {
        let asked =
            |path: &str| http_request(address, "GET", path, &[("Host", "127.0.0.1")], b"").unwrap();
        assert!(
            asked("/style.css").head.contains("text/css")
                && asked("/style.css").body.contains(".markdown")
        );
        assert_eq!(asked("/icon.svg").status, 200);
        let shown = asked("/skills").body;
        assert!(
            !shown.contains("Statistics") && shown.contains("class=\"brand\" href=\"/skills\""),
            "{shown}"
        );
    });
    walk.await.unwrap();
    server.abort();
}
