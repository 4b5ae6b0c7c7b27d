//! Sign-in with a real OpenID provider: which of its tokens are let in, and a real client that signs in by itself.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};
use skills_testkit::{Home, Listening, http_request, wait_until};

use crate::tools::{NODE, PYTHON};

/// npm's `oidc-provider` on a port of this machine. Dropping this value ends it.
struct Provider {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    issuer: String,
}

impl Provider {
    fn start() -> Self {
        let mut command = Command::new("node");
        command.arg("oidc.mjs").current_dir(&*NODE).stderr(Stdio::null());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        let issuer = said.get("issuer").and_then(Value::as_str).unwrap().to_owned();
        Self { child, input, output, issuer }
    }

    fn ask(&mut self, command: &Value) -> String {
        writeln!(self.input, "{command}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        said.as_str().unwrap_or_else(|| panic!("{command}: {said}")).to_owned()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that lets in this provider's tokens, with the scope `skills:read`, limited as the claim `skills` says.
fn server(home: &Home, provider: &mut Provider) -> Listening {
    for (path, about) in [("ui/forms", "Forms"), ("api/calls", "Calls")] {
        let text = format!("---\nkeywords: [{about}]\ndescription: {about}\n---\n{about}.\n");
        home.write(&format!("skills/{path}.md"), text);
    }
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.env("SKILLS_DIR", home.skills());
    command.args(["serve", "--http", "127.0.0.1:0", "--issuer", &provider.issuer]);
    command.args(["--scope", "skills:read", "--limits-claim", "skills"]);
    let server = Listening::start(command);
    let audience = format!("http://{}/mcp", server.address());
    provider.ask(&json!({"command": "audience", "audience": audience}));
    server
}

/// Lists the skills with a token: the status, and the answer.
fn list(server: &Listening, token: &str) -> (u16, String) {
    let (host, bearer) = (server.address().to_string(), format!("Bearer {token}"));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
    "name": "list_skills", "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    let headers = [
        ("Host", &*host),
        ("Authorization", &*bearer),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "list_skills"),
    ];
    let answer =
        http_request(server.address(), "POST", "/mcp", &headers, body.to_string().as_bytes());
    let answer = answer.unwrap();
    (answer.status, format!("{}\n\n{}", answer.head, answer.body))
}

// HTTP-13
#[test]
fn tokens_of_the_provider_are_let_in_and_no_others() {
    let (home, mut provider) = (Home::new(), Provider::start());
    let server = server(&home, &mut provider);
    let own = format!("http://{}/mcp", server.address());
    let metadata = server.get("/.well-known/oauth-protected-resource/mcp");
    let metadata: Value = serde_json::from_str(&metadata.body).unwrap();
    assert_eq!(metadata["resource"], own);
    assert_eq!(metadata["authorization_servers"], json!([provider.issuer]));
    assert_eq!(metadata["scopes_supported"], json!(["skills:read"]));
    let (status, said) = list(&server, "none");
    assert_eq!(status, 401);
    let challenge = format!(
        "Bearer resource_metadata=\"http://{}/.well-known/oauth-protected-resource/mcp\"",
        server.address()
    );
    assert!(said.contains(&challenge), "{said}");
    // The claim limits the token to one folder.
    let issued = provider.ask(&json!({"command": "issued", "resource": own}));
    let (status, said) = list(&server, &issued);
    assert!(status == 200 && said.contains("ui/forms") && !said.contains("api"), "{said}");
    let all = provider.ask(&json!({"command": "made", "claims": {"skills": ["*"]}}));
    let (status, said) = list(&server, &all);
    assert!(status == 200 && said.contains("ui/forms") && said.contains("api/calls"), "{said}");
    for kind in [
        "expired",
        "no expiry",
        "not yet",
        "audience",
        "no audience",
        "issuer",
        "no issuer",
        "another key",
        "unknown key",
        "key in header",
        "critical",
        "none",
        "none, signed",
        "shared secret",
        "changed",
        "cut",
        "long",
    ] {
        let token = provider.ask(&json!({"command": "hostile", "kind": kind}));
        let (status, said) = list(&server, &token);
        assert_eq!(status, 401, "{kind}: {said}");
        assert!(said.contains("error=\"invalid_token\""), "{kind}: {said}");
    }
    for claims in [json!({"scope": "openid"}), json!({"skills": null})] {
        let token = provider.ask(&json!({"command": "made", "claims": claims}));
        let (status, said) = list(&server, &token);
        assert_eq!(status, 403, "{claims}: {said}");
        assert!(said.contains("error=\"insufficient_scope\""), "{said}");
    }
    // The provider changes its keys: new tokens are let in soon, old ones no more.
    let old = provider.ask(&json!({"command": "issued", "resource": own}));
    provider.ask(&json!({"command": "rotate"}));
    let new = provider.ask(&json!({"command": "issued", "resource": own}));
    wait_until("the new keys are known", || list(&server, &new).0 == 200);
    assert_eq!(list(&server, &old).0, 401);
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains(&new) && !log.contains(&issued), "no token is logged: {log}");
}

// HTTP-13
#[test]
fn the_python_sdk_signs_in_by_itself_and_sees_what_its_person_may_see() {
    let (home, mut provider) = (Home::new(), Provider::start());
    let server = server(&home, &mut provider);
    let url = format!("http://{}/mcp", server.address());
    let mut client = Command::new(PYTHON.join("env/bin/python"));
    let output = client.args(["sign_in.py", &url]).current_dir(&*PYTHON).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    let listed = seen["listed"].as_str().unwrap();
    assert!(listed.contains("ui/forms") && !listed.contains("api"), "{listed}");
}
