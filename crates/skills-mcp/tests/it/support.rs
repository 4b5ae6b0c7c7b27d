//! What the tests of the real binary share.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::PathBuf,
    process::Command,
    time::Instant,
};

use serde_json::{Map, Value, json};
pub(crate) use skills_testkit::eventually;
use skills_testkit::{Client, Home, TEST_TIMEOUT};

/// A small tree: four levels, an asset that exists, one that does not, and a second skill about the same.
pub(crate) const ROOT_TREE: &str = "\
//- _root.md
---
keywords: [conventions, house-rules]
description: Rules for everything
---
Be kind.
//- ui/_index.md
---
keywords: [interface, frontend, accessibility]
description: Rules for user interfaces
---
Mind the keyboard.
//- ui/react/_index.md
---
keywords: [react, component, hook]
description: Rules for React
---
Functions, not classes.
//- ui/react/auth.md
---
keywords: [react, login, session, oauth]
description: Signing in with React
assets:
  - file: assets/A.tsx
    description: A provider
    type: template
  - file: assets/gone.ts
    description: Never written
---
Cookies, not tokens.
//- ui/react/auth/assets/A.tsx
export const A = 1;
//- api/auth.md
---
keywords: [api, login, session, jwt]
description: Signing in to the API
---
Check every call.
";

/// The real binary, with no environment but this home and its `skills/` folder.
pub(crate) fn server(home: &Home) -> Command {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.env("SKILLS_DIR", home.skills());
    command
}

/// A client that has shaken hands with a server over this home.
pub(crate) fn client(home: &Home) -> Client {
    Client::legacy(server(home), "2025-11-25")
}

/// The text of a skill's file; keywords are separated by commas.
pub(crate) fn skill(keywords: &str, description: &str, body: &str) -> String {
    format!("---\nkeywords: [{keywords}]\ndescription: {description}\n---\n{body}\n")
}

/// The example that ships with the project.
pub(crate) fn example() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/skills-content")
}

/// A client of a server over the example.
pub(crate) fn example_client(home: &Home) -> Client {
    let mut command = server(home);
    command.env("SKILLS_DIR", example());
    Client::legacy(command, "2025-11-25")
}

/// Runs a command to its end: exit code, standard output, standard error.
pub(crate) fn run(command: &mut Command) -> (i32, String, String) {
    let output = command.output().expect("the command starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// The text of a bundle's `SKILL.md`.
pub(crate) fn bundle(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n")
}

/// `sk mcp-server` in this home, whose `skills/` folder is the project's.
pub(crate) fn sk(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.command(env!("CARGO_BIN_EXE_sk"));
    command.arg("mcp-server").args(arguments);
    command
}

/// A client that has shaken hands with `sk mcp-server` as its contract says.
pub(crate) fn sk_client(home: &Home, arguments: &[&str]) -> Client {
    Client::legacy(sk(home, arguments), "2025-03-26")
}

/// `skills-mcp` in the `project/` folder of this home with no source named, so that it looks into the agents'
/// directories of both.
pub(crate) fn agents(home: &Home, arguments: &[&str]) -> Command {
    home.write("project/.keep", "");
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.current_dir(home.path().join("project")).args(arguments);
    command
}

/// A client that has shaken hands with a server over the agents' directories.
pub(crate) fn agents_client(home: &Home, arguments: &[&str]) -> Client {
    Client::legacy(agents(home, arguments), "2025-11-25")
}

/// Installs and enables Claude Code plugins for the user: each one's name, and its skills by folder and text.
pub(crate) fn install_plugins(home: &Home, plugins: &[(&str, &[(&str, String)])]) {
    let place = |plugin: &str| format!(".claude/plugins/cache/market/{plugin}/1.0.0");
    let mut installed = Map::new();
    let mut enabled = Map::new();
    for (plugin, skills) in plugins {
        let root = home.path().join(place(plugin));
        let install = json!([{"scope": "user", "installPath": root, "version": "1.0.0"}]);
        installed.insert(format!("{plugin}@market"), install);
        enabled.insert(format!("{plugin}@market"), Value::Bool(true));
        for (skill, text) in *skills {
            home.write(&format!("{}/skills/{skill}/SKILL.md", place(plugin)), text);
        }
    }
    let record = json!({"version": 2, "plugins": installed});
    home.write(".claude/plugins/installed_plugins.json", record.to_string());
    home.write(".claude/settings.json", json!({"enabledPlugins": enabled}).to_string());
}

/// The same command as a user for whom the modes of files count: they do not for root.
pub(crate) fn ordinary(home: &Home, command: Command) -> Command {
    if fs::metadata(home.path()).unwrap().uid() != 0 {
        return command;
    }
    let binary = home.path().join("program");
    // By a process of its own: a file this process has open for writing may be "busy" when it is started.
    // A file that runs is not written to but replaced.
    let mut copy = Command::new("cp");
    copy.arg("--remove-destination").arg(command.get_program()).arg(&binary);
    let (code, _, complaint) = run(&mut copy);
    assert_eq!(code, 0, "{complaint}");
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut wrapped = home.command("setpriv");
    wrapped.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(binary);
    wrapped.args(command.get_args());
    wrapped.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        wrapped.current_dir(folder);
    }
    wrapped
}

/// Calls a tool: the whole result. A protocol error fails the test.
pub(crate) fn result(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    let answer = client.request("tools/call", json!({"name": tool, "arguments": arguments}));
    answer.get("result").cloned().unwrap_or_else(|| panic!("{tool} {arguments}: {answer}"))
}

/// The tools a client is offered.
pub(crate) fn offered(client: &mut Client) -> Vec<Value> {
    let answer = client.request("tools/list", json!({}));
    let tools = answer.pointer("/result/tools").and_then(Value::as_array);
    tools.cloned().unwrap_or_else(|| panic!("{answer}"))
}

/// What this tool's description says, where it is offered.
pub(crate) fn description(client: &mut Client, tool: &str) -> String {
    let tools = offered(client);
    let found = tools.iter().find(|offered| offered.get("name") == Some(&json!(tool)));
    let text = found.and_then(|tool| tool.get("description")).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("no {tool} in {tools:?}")).to_owned()
}

/// The names in a listing in XML.
pub(crate) fn listed_names(description: &str) -> Vec<&str> {
    let rest = description.split("<name>").skip(1);
    rest.map(|rest| rest.split("</name>").next().unwrap_or(rest)).collect()
}

/// What `doctor` says about the content as `file code`, in its order, and its exit code.
pub(crate) fn doctored(command: &mut Command) -> (i32, Vec<String>) {
    let (code, out, err) = run(command.args(["doctor", "--json"]));
    let examined: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    let found = examined.get("diagnostics").and_then(Value::as_array).unwrap();
    let text = |one: &Value, key: &str| one.get(key).and_then(Value::as_str).unwrap().to_owned();
    let brief = |one: &Value| format!("{} {}", text(one, "file"), text(one, "code"));
    (code, found.iter().map(brief).collect())
}

/// The same command, started by another one and after these lines of shell.
pub(crate) fn after(command: &Command, starter: &[&str], lines: &str) -> Command {
    let mut shell = Command::new("env");
    shell.args(starter).args(["sh", "-ec", &format!("{lines}\nexec \"$0\" \"$@\"")]);
    shell.arg(command.get_program()).args(command.get_args());
    shell.env_clear();
    for (name, value) in command.get_envs() {
        shell.envs(value.map(|value| (name, value)));
    }
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell
}

/// A command that offers every tool there is.
pub(crate) fn with_all_tools(mut command: Command) -> Command {
    command.env("SKILLS_TOOLS", "all");
    command
}

/// Sends a signal to a server.
pub(crate) fn signal(client: &Client, name: &str) {
    let kill = format!("kill -{name} {}", client.pid());
    let (code, _, complaint) = run(Command::new("sh").args(["-c", &kill]));
    assert_eq!(code, 0, "{complaint}");
}

/// A client that asks right after each change, and counts the answers that do not show it.
///
/// Waiting for changes has an end, and on a busy machine it may come to it; but then the server says so in its log.
/// An old answer that it does not say so of is one too many.
pub(crate) struct Prompt {
    pub(crate) client: Client,
    /// What each old answer should have shown, and what it said.
    old: Vec<String>,
}

impl Prompt {
    pub(crate) fn new(mut command: Command) -> Self {
        // As long as for users.
        command.args(["--set", "refresh.patience_ms=50"]);
        let mut client = Client::legacy(with_all_tools(command), "2025-11-25");
        offered(&mut client);
        Self { client, old: Vec::new() }
    }

    /// Asks until the answer is as it should be, which is the first time.
    pub(crate) fn sees(&mut self, what: &str, mut ask: impl FnMut(&mut Client) -> bool) {
        let started = Instant::now();
        while !ask(&mut self.client) {
            self.old.push(format!("{what}: {:.500}", self.client.last_text()));
            assert!(started.elapsed() < TEST_TIMEOUT, "still not seen: {what}");
        }
    }

    /// The skill of this name says this, in its description and in its text. The list is asked first: it comes from
    /// what is known, while a text that is loaded is read again anyway.
    pub(crate) fn reads(&mut self, name: &str, words: &str) {
        let start = format!("- {name}: ");
        self.sees(&format!("{name} listed: {words}"), |client| {
            let listed = client.call("skills_list", &json!({"limit": 1000})).text;
            let line = listed.lines().find_map(|line| line.strip_prefix(&start));
            line.is_some_and(|description| description.contains(words))
        });
        self.says(name, words);
    }

    /// The skill of this name, loaded, says this.
    pub(crate) fn says(&mut self, name: &str, words: &str) {
        self.sees(&format!("{name} loaded: {words}"), |client| {
            loaded(client, name).is_some_and(|text| text.contains(words))
        });
    }

    /// There is no skill of this name.
    pub(crate) fn misses(&mut self, name: &str) {
        self.sees(&format!("no {name}"), |client| loaded(client, name).is_none());
    }

    /// Ends the server: how often it was late, which is at least as often as an answer was old, and its log.
    pub(crate) fn close(self) -> (usize, String) {
        let (status, _, log) = self.client.close();
        assert_eq!(status.code(), Some(0), "{log}");
        let late = late(&log);
        let old = self.old;
        assert!(
            old.len() <= late,
            "{} old answers, {late} of them late: {old:#?} {log}",
            old.len()
        );
        (late, log)
    }
}

/// How many answers a server says it gave before all changes were taken in.
fn late(log: &str) -> usize {
    let counts = log.lines().filter_map(|line| line.split("late=").nth(1));
    let counts = counts.filter_map(|rest| rest.split_whitespace().next()?.parse().ok());
    counts.max().unwrap_or(0)
}

/// What a skill says, if there is one of this name. Where the server asks to try again in a moment, because a refresh is late, that
/// is the text.
pub(crate) fn loaded(client: &mut Client, name: &str) -> Option<String> {
    let reply = client.call("skill", &json!({"name": name}));
    if !reply.is_error || reply.text.contains("Try again in a moment.") {
        return Some(reply.text);
    }
    assert!(reply.text.contains("not found"), "{name}: {}", reply.text);
    None
}

/// A program that runs another on a pseudo-terminal.
const TERMINAL: &str = include_str!("terminal.py");

/// What a person sees who types these keys when these texts appear, and how the program ends.
pub(crate) fn on_terminal(columns: usize, command: &Command, steps: &[(&str, &str)]) -> Value {
    let mut terminal = Command::new("python3");
    terminal.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    terminal.current_dir(command.get_current_dir().unwrap()).args(["-c", TERMINAL]);
    terminal.args([&columns.to_string(), &TEST_TIMEOUT.as_secs().to_string()]);
    terminal.arg(json!(steps).to_string()).arg(command.get_program()).args(command.get_args());
    let (code, out, err) = run(&mut terminal);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}
