//! A copy of `deploy/` starts: its compose file is read as Compose reads it, and the commands of its services run without Docker.

use std::{
    collections::BTreeSet,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};
use skills_testkit::{Home, Listening, Remote, wait_until};

use crate::{
    cluster::Cluster,
    compose::{Variables, at, changed, dotenv, names, read, replaced, texts},
    replicas::{Proxy, free_address},
};

/// Whose token sees everything.
const TOKEN: &str = "4e1f7a90c2d85b36a7c0e9d1f2b3a4c5";
/// What may be left empty.
const OPTIONAL: [&str; 2] = ["GITHUB_TOKEN", "SKILLS_IMAGE"];
const SERVICES: [&str; 5] = ["collector", "database", "proxy", "skills-1", "skills-2"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A copy of `deploy/` in a folder of its own.
struct Deployment {
    home: Home,
    compose: String,
}

impl Deployment {
    fn copied() -> Self {
        let home = Home::new();
        for entry in fs::read_dir(repository().join("deploy")).unwrap() {
            let file = entry.unwrap();
            assert!(file.file_type().unwrap().is_file(), "a copy has the files alone");
            home.write(file.file_name().to_str().unwrap(), fs::read(file.path()).unwrap());
        }
        let compose = fs::read_to_string(home.path().join("compose.yaml")).unwrap();
        Self { home, compose }
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.home.path().join(file)).unwrap()
    }

    /// Writes `.env`: the example with these values.
    fn fill(&self, repository: &str) -> Variables {
        let values = [
            ("SKILLS_HOST", "skills.example.org".to_owned()),
            ("STATS_HOST", "localhost".to_owned()),
            ("SKILLS_REPO", repository.to_owned()),
            ("GITHUB_TOKEN", "of-the-git-host".to_owned()),
            ("SKILLS_HTTP_TOKENS", format!("'ada = {TOKEN}; ui = {} ui'", TOKEN.to_uppercase())),
            ("COLLECT_TOKEN", "81d2c4b6a8f0e1d3c5b7a9f1e2d4c6b8".to_owned()),
            ("POSTGRES_PASSWORD", "d41d8cd98f00b204e9800998ecf8427e".to_owned()),
        ];
        let filled = values.iter().fold(self.text(".env.example"), |text, (name, value)| {
            let line = format!("\n{name}=\n");
            assert!(text.contains(&line), ".env.example has no empty {name}");
            text.replace(&line, &format!("\n{name}={value}\n"))
        });
        self.home.write(".env", &filled);
        dotenv(&filled)
    }
}

// DEPLOY-2
#[test]
fn every_variable_is_in_the_example_and_a_missing_one_is_named() {
    let deployment = Deployment::copied();
    let example = dotenv(&deployment.text(".env.example"));
    let needed = names(&deployment.compose);
    assert_eq!(example.keys().cloned().collect::<BTreeSet<_>>(), needed);
    let page = fs::read_to_string(repository().join("docs/deploy.md")).unwrap();
    let filled = deployment.fill("https://git.example.org/skills.git");
    assert!(read(&deployment.compose, &filled).is_ok());
    for name in &needed {
        assert!(page.contains(&format!("| `{name}` |")), "docs/deploy.md does not explain {name}");
        let mut others = filled.clone();
        others.remove(name);
        match read(&deployment.compose, &others) {
            Ok(_) => assert!(OPTIONAL.contains(&name.as_str()), "{name} may be missing"),
            Err(said) => {
                assert!(said.starts_with(&format!("{name}: ")) && said.len() > 25, "{said}");
            }
        }
    }
}

// DEPLOY-2
#[test]
fn every_service_has_limits_a_health_check_and_few_rights_and_a_copy_needs_nothing_else() {
    let deployment = Deployment::copied();
    let variables = deployment.fill("https://git.example.org/skills.git");
    let compose = read(&deployment.compose, &variables).unwrap();
    let services = at(&compose, "/services").as_object().unwrap();
    assert_eq!(services.keys().map(String::as_str).collect::<BTreeSet<_>>(), SERVICES.into());
    for (name, service) in services {
        for key in ["mem_limit", "cpus", "pids_limit", "image", "restart"] {
            assert!(at(service, &format!("/{key}")).is_string(), "{name}: {key}");
        }
        // More processors than the machine has are refused.
        assert_eq!(service["cpus"], "1", "{name}");
        assert_eq!(texts(at(service, "/healthcheck/test"))[0], "CMD", "{name}");
        assert!(at(service, "/logging/options/max-size").is_string(), "{name}");
        assert_eq!(service["read_only"], "true", "{name}");
        assert_eq!(service["cap_drop"], json!(["ALL"]), "{name}");
        assert_eq!(service["security_opt"], json!(["no-new-privileges:true"]), "{name}");
        let volumes = service.get("volumes").map(texts).unwrap_or_default();
        for volume in volumes {
            let source = volume.split(':').next().unwrap();
            match source.strip_prefix("./") {
                Some("tls") => {}
                Some(file) => assert!(deployment.home.path().join(file).is_file(), "{volume}"),
                None => assert!(compose["volumes"].get(source).is_some(), "{volume}"),
            }
        }
    }
    assert!(!deployment.compose.contains("build"), "an image is built in a clone, not in a copy");
    assert_eq!(compose.get("secrets"), None, "their uid and mode do nothing for files");
    for (service, awaited) in
        [("proxy", "skills-1"), ("proxy", "skills-2"), ("collector", "database")]
    {
        let condition = format!("/{service}/depends_on/{awaited}/condition");
        assert_eq!(at(&compose["services"], &condition), "service_healthy");
    }
}

/// A self-signed certificate of the two names, and its key, where the compose file has them.
fn certify(home: &Home) {
    fs::create_dir(home.path().join("tls")).unwrap();
    let made = home
        .command("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args([
            "-days",
            "2",
            "-subj",
            "/CN=skills",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ])
        .args(["-addext", "subjectAltName=DNS:skills.example.org,DNS:localhost"])
        .args(["-keyout", "tls/key.pem", "-out", "tls/cert.pem"])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::copy(home.path().join("tls/cert.pem"), home.path().join("tls/authority.pem")).unwrap();
}

/// The file that docs/deploy.md gives for a private authority.
fn with_authority(compose: Value) -> Value {
    let page = fs::read_to_string(repository().join("docs/deploy.md")).unwrap();
    let (_, block) = page.split_once("```yaml\n").unwrap();
    let block = block.split_once("```").unwrap().0;
    changed(compose, read(block, &Variables::new()).unwrap())
}

/// The command of a service of ours, with its environment, at these addresses.
fn command_of(service: &Value, home: &Home, places: &[(&str, String)]) -> Command {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    for word in texts(at(service, "/command")) {
        command.arg(replaced(&word, places));
    }
    for (name, value) in at(service, "/environment").as_object().unwrap() {
        command.env(name, replaced(value.as_str().unwrap(), places));
    }
    command
}

/// Runs the health check of a service at another address: whether it is well.
fn is_well(service: &Value, mut command: Command, places: &[(&str, String)]) -> bool {
    for word in texts(at(service, "/healthcheck/test")).iter().skip(2) {
        for (place, _) in places {
            assert!(!word.contains("127.0.0.1") || word.contains(place), "{word} has no {place}");
        }
        command.arg(replaced(word, places));
    }
    command.output().unwrap().status.success()
}

/// The services of a deployment while they run without Docker.
struct Running {
    compose: Value,
    deployment: Deployment,
    cluster: Cluster,
    database_port: u16,
    collector: Listening,
    replicas: [Listening; 2],
    proxy: Proxy,
    /// Where each service writes what in its container is in a volume.
    _volumes: Vec<Home>,
}

impl Running {
    fn start(deployment: Deployment, compose: Value) -> Self {
        let (cluster, database_port) = Cluster::start_on_a_port(&["-c", "fsync=off"]);
        let database = at(&compose, "/services/database/environment");
        let made = cluster
            .command("createdb")
            .args(["-h", "127.0.0.1", "-p", &database_port.to_string(), "-U"])
            .args(["POSTGRES_USER", "POSTGRES_DB"].map(|name| database[name].as_str().unwrap()))
            .status();
        assert!(made.unwrap().success());
        let volume = Home::new();
        let places = [
            ("0.0.0.0:8787", "127.0.0.1:0".to_owned()),
            ("@database/", format!("@127.0.0.1:{database_port}/")),
        ];
        let service = at(&compose, "/services/collector");
        let collector = Listening::start(command_of(service, &volume, &places));
        let mut volumes = vec![volume];
        // Another program may be faster to take a port that was free; then there is another.
        for _ in 0..10 {
            let address = free_address();
            let homes = [Home::new(), Home::new()];
            let replicas = [("skills-1", &homes[0]), ("skills-2", &homes[1])]
                .map(|(name, home)| replica(&deployment, &compose, name, home, address));
            let text = configuration(&deployment, &compose, address, &replicas, &collector);
            if let Some(proxy) = Proxy::try_start(&deployment.home, address, &text) {
                volumes.extend(homes);
                return Self {
                    compose,
                    deployment,
                    cluster,
                    database_port,
                    collector,
                    replicas,
                    proxy,
                    _volumes: volumes,
                };
            }
        }
        panic!("nginx does not start");
    }

    /// Whether each service is well, by its own health check.
    fn health(&self, name: &str) -> bool {
        let service = at(&self.compose, &format!("/services/{name}"));
        let program = texts(at(service, "/healthcheck/test")).swap_remove(1);
        let plain = || self.deployment.home.command(&program);
        let shell = |port: &str, address: SocketAddr| {
            let place = format!("127.0.0.1/{port}");
            is_well(service, plain(), &[(&place, format!("127.0.0.1/{}", address.port()))])
        };
        match name {
            "skills-1" => shell("8080", self.replicas[0].address()),
            "skills-2" => shell("8080", self.replicas[1].address()),
            "collector" => shell("8787", self.collector.address()),
            "proxy" => {
                let place = format!("https://{}/", self.proxy.address);
                is_well(service, plain(), &[("https://127.0.0.1/", place)])
            }
            _ => {
                let mut command = self.cluster.command(&program);
                command.env("PGPORT", self.database_port.to_string());
                is_well(service, command, &[])
            }
        }
    }

    /// Asks one of the two sites through the proxy: status and body.
    fn ask(&self, host: &str, path: &str, headers: &[&str], body: &str) -> (String, String) {
        let port = self.proxy.address.port();
        let mut curl = self.deployment.home.command("curl");
        curl.args(["-sS", "--cacert", "tls/authority.pem", "-w", "\n%{http_code}"]);
        curl.args(["--resolve", &format!("{host}:{port}:127.0.0.1")]);
        for header in headers {
            curl.args(["-H", header]);
        }
        if !body.is_empty() {
            curl.args(["--data", body]);
        }
        let answer = curl.arg(format!("https://{host}:{port}{path}")).output().unwrap();
        let Output { stdout, stderr, .. } = answer;
        let text = String::from_utf8(stdout).unwrap();
        let (body, status) = text.rsplit_once('\n').unwrap();
        assert_ne!(status, "000", "{}", String::from_utf8_lossy(&stderr));
        (status.to_owned(), body.to_owned())
    }

    /// A call of `get_skill`, or without a skill the list of tools, as a client of MCP 2026-07-28 sends it.
    fn request(&self, skill: Option<&str>, token: &str) -> (String, String) {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}});
        let (method, parameters) = match skill {
            Some(path) => (
                "tools/call",
                json!({"name": "get_skill", "arguments": {"skill_path": path}, "_meta": meta}),
            ),
            None => ("tools/list", json!({"_meta": meta})),
        };
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters});
        let (token, method) =
            (format!("Authorization: Bearer {token}"), format!("Mcp-Method: {method}"));
        let mut headers = vec![
            &*token,
            &*method,
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            "MCP-Protocol-Version: 2026-07-28",
        ];
        headers.extend(skill.map(|_| "Mcp-Name: get_skill"));
        self.ask("skills.example.org", "/mcp", &headers, &request.to_string())
    }
}

/// A replica, with the file of the authority where its volume puts it.
fn replica(
    deployment: &Deployment,
    compose: &Value,
    name: &str,
    home: &Home,
    proxy: SocketAddr,
) -> Listening {
    let service = at(compose, &format!("/services/{name}"));
    let volumes = texts(at(service, "/volumes"));
    let file = volumes.iter().find_map(|volume| volume.strip_prefix("./")?.strip_suffix(":ro"));
    let (file, inside) = file.and_then(|volume| volume.split_once(':')).unwrap();
    let places = [
        ("0.0.0.0:8080", "127.0.0.1:0".to_owned()),
        ("https://localhost/", format!("https://localhost:{}/", proxy.port())),
        (inside, deployment.home.path().join(file).display().to_string()),
    ];
    let mut command = command_of(service, home, &places);
    command.args(["--set", "analytics.interval_seconds=1"]);
    Listening::start(command)
}

/// nginx's configuration as its image fills it in, with the addresses of this machine.
fn configuration(
    deployment: &Deployment,
    compose: &Value,
    listen: SocketAddr,
    replicas: &[Listening; 2],
    collector: &Listening,
) -> String {
    let service = at(compose, "/services/proxy");
    let template = "./nginx.conf:/etc/nginx/templates/nginx.conf.template:ro";
    assert!(texts(&service["volumes"]).contains(&template.to_owned()));
    assert_eq!(texts(&service["command"]), ["nginx", "-c", "/tmp/nginx.conf", "-g", "daemon off;"]);
    let environment = at(service, "/environment").as_object().unwrap();
    assert_eq!(environment["NGINX_ENVSUBST_OUTPUT_DIR"], "/tmp");
    let mut text = deployment.text("nginx.conf");
    for (name, value) in environment {
        text = text.replace(&format!("${{{name}}}"), value.as_str().unwrap());
    }
    let places = [
        ("skills-1:8080", replicas[0].address().to_string()),
        ("skills-2:8080", replicas[1].address().to_string()),
        ("collector:8787", collector.address().to_string()),
        ("listen 443 ssl", format!("listen {listen} ssl")),
        ("/etc/nginx/tls/", format!("{}/tls/", deployment.home.path().display())),
    ];
    for (from, _) in &places {
        assert!(text.contains(from), "deploy/nginx.conf has no `{from}`");
    }
    let text = replaced(&text, &places);
    assert!(!text.contains("${"), "{text}");
    text
}

// DEPLOY-2
#[test]
fn a_copy_with_its_variables_filled_in_starts_answers_and_counts() {
    let deployment = Deployment::copied();
    let home = Home::new();
    let remote = Remote::with(
        &home,
        "team",
        "//- skills/heron/SKILL.md\n---\nname: heron\ndescription: Draw a heron\n---\nBegin with the beak.\n",
    );
    let variables = deployment.fill(&remote.url());
    certify(&deployment.home);
    let compose = with_authority(read(&deployment.compose, &variables).unwrap());
    let replica = at(&compose, "/services/skills-1/environment");
    assert_eq!(replica["GITHUB_TOKEN"], "of-the-git-host");
    let alias = at(&compose, "/services/proxy/networks/default/aliases/0");
    assert_eq!(alias, "localhost", "replicas reach the collector by its name");
    let running = Running::start(deployment, compose);
    for service in SERVICES {
        wait_until(&format!("{service} is well"), || running.health(service));
    }
    let (status, body) = running.request(None, TOKEN);
    assert!(status == "200" && body.contains("get_skill"), "{status} {body}");
    assert_eq!(running.request(None, "no-token-of-anybody").0, "401");
    let (status, body) = running.request(Some("heron"), TOKEN);
    assert!(status == "200" && body.contains("Begin with the beak."), "{status} {body}");
    let token = format!("Authorization: Bearer {}", variables["COLLECT_TOKEN"]);
    wait_until("the event is in the collector", || {
        let (status, body) = running.ask("localhost", "/v1/stats", &[&token], "");
        assert_eq!(status, "200", "{body}");
        let report: Value = serde_json::from_str(&body).unwrap();
        report["totals"]["served"] == 1
    });
    assert_eq!(running.ask("localhost", "/v1/stats", &[], "").0, "401");
    let Running { compose, deployment, replicas: [first, _second], .. } = running;
    let service = at(&compose, "/services/skills-1");
    let port = first.address().port();
    let (status, log) = first.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    let places = [("127.0.0.1/8080", format!("127.0.0.1/{port}"))];
    let ended = is_well(service, deployment.home.command("bash"), &places);
    assert!(!ended, "a replica that has ended is not well");
}
