//! G-12: many servers, one home, one fetch. With 64 servers it is a run of its own: `SERVERS=64 cargo test g12 -- --nocapture`.

use std::time::Instant;

use skills_testkit::{Client, GitServerBehaviour, Home, Remote};

use crate::{
    git::{follower, says},
    support::skill,
};

#[test]
fn g12_many_servers_on_an_empty_cache_make_one_clone() {
    let servers = std::env::var("SERVERS").ok().and_then(|count| count.parse().ok()).unwrap_or(16);
    let home = Home::new();
    let remote = Remote::empty(&home, "team");
    remote.commit(&format!("//- skills/a.md\n{}", skill("apples", "A", "the text")));
    let server = remote.serve();
    server.behave(GitServerBehaviour::Slow(200));
    let started = Instant::now();
    let follow = || {
        let mut command = follower(&home, &server.url());
        // A user's server would say in its log that it was late, on a busy machine.
        command.args(["--set", "refresh.patience_ms=60000"]);
        Client::spawn(command)
    };
    let mut clients: Vec<Client> = (0..servers).map(|_| follow()).collect();
    for client in &mut clients {
        let hello = serde_json::json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        client.request("initialize", hello);
        client.send(&serde_json::json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }
    for client in &mut clients {
        says(client, "a", "the text");
    }
    println!("{servers} servers served after {:?}", started.elapsed());
    assert_eq!(server.fetches(), 1, "{:?}", server.requests());
    for client in clients {
        let (status, _, log) = client.close();
        assert!(status.success());
        assert!(!log.contains("ERROR") && !log.contains("WARN"), "{log}");
    }
}
