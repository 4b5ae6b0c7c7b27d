//! A home with a skill that has scripts, a project to work in, and a server over both: what the tests of `run_script` and
//! of its sandbox share.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use skills_testkit::{Client, Home};

use crate::support::ordinary;

/// A skill called `tool`, whose scripts a test writes.
pub(crate) struct Workshop {
    pub(crate) home: Home,
    front: String,
    flags: Vec<String>,
}

/// The user id of `nobody`.
const NOBODY: u32 = 65534;

impl Workshop {
    /// A home with an empty project.
    pub(crate) fn new() -> Self {
        let home = Home::new();
        home.write("project/README", "a project");
        Self { home, front: String::new(), flags: Vec::new() }
    }

    /// With one script more: its file below `tool/`, what else its declaration says, its text.
    pub(crate) fn script(mut self, file: &str, declared: &str, text: &str) -> Self {
        let entry =
            format!("  - file: {file}\n    description: about {file}\n    execution: server\n");
        self.front.push_str(&entry);
        for line in declared.lines().filter(|line| !line.trim().is_empty()) {
            self.front.extend(["    ", line, "\n"]);
        }
        self.home.write(&format!("skills/tool/{file}"), text);
        self.written()
    }

    /// The skill's file, whole.
    fn written(self) -> Self {
        let front = format!(
            "---\nkeywords: [tool]\ndescription: A tool\nscripts:\n{}---\nUse it.\n",
            self.front
        );
        self.home.write("skills/tool.md", front);
        self
    }

    /// With a setting of the operator's.
    pub(crate) fn set(mut self, setting: &str) -> Self {
        self.flags.extend(["--set".to_owned(), setting.to_owned()]);
        self
    }

    /// Where the server is started.
    pub(crate) fn project(&self) -> PathBuf {
        self.home.path().join("project").canonicalize().unwrap()
    }

    /// The server, or another command of the same program.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.command(env!("CARGO_BIN_EXE_skills-mcp"));
        command.current_dir(self.project()).arg("--dir").arg(self.home.skills());
        command.args(&self.flags).args(arguments);
        command
    }

    /// The same as a user that is not root.
    pub(crate) fn ordinary(&self, arguments: &[&str]) -> Command {
        if is_root() {
            // Where the server records that scripts may change the project.
            let state = self.home.path().join(".skills-mcp");
            fs::create_dir_all(&state).unwrap();
            for folder in [self.project(), state] {
                chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        ordinary(&self.home, self.command(arguments))
    }

    pub(crate) fn client(&self) -> Client {
        Client::legacy(self.command(&[]), "2025-11-25")
    }

    /// Runs a script of a new server's, without arguments.
    pub(crate) fn run(&self, file: &str) -> Value {
        run(&mut self.client(), file, &json!({}))
    }
}

/// Whether these tests run as root.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Gives a file to the user `nobody`, where these tests may; and opens it to them alone.
pub(crate) fn given_to_nobody(path: &std::path::Path) {
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Runs a script; a refusal fails the test.
pub(crate) fn run(client: &mut Client, file: &str, args: &Value) -> Value {
    let reply =
        client.call("run_script", &json!({"skill_path": "tool", "file": file, "args": args}));
    assert!(!reply.is_error, "{}", reply.text);
    reply.json
}

/// Runs a script that must be refused: why it was.
pub(crate) fn refused(client: &mut Client, request: &Value) -> String {
    let reply = client.call("run_script", request);
    assert!(reply.is_error, "{}", reply.text);
    assert_eq!(reply.json.get("error"), Some(&json!(true)));
    reply.json.get("message").and_then(Value::as_str).unwrap().to_owned()
}

/// A number of seconds that no other process sleeps for, so that a sleeper can be told from others.
pub(crate) fn mark() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(3000);
    format!("{}.{:09}", NEXT.fetch_add(1, Ordering::Relaxed), std::process::id())
}

/// The processes that have a mark among their arguments.
pub(crate) fn marked(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).split('\0').any(|argument| argument.contains(mark)) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

/// Ignores every polite request, forks twice, leaves its session, holds its pipes; tells when it has done so.
pub(crate) const WORST: &str = "trap '' TERM INT HUP
( setsid bash -c \"trap '' TERM; (setsid sleep $SKILL_ARG_MARK &) ; sleep $SKILL_ARG_MARK\" & )
( ( sleep $SKILL_ARG_MARK & ) & )
echo begun
sleep $SKILL_ARG_MARK
sleep $SKILL_ARG_MARK
";

/// The declaration of the one argument of [`WORST`].
pub(crate) const MARK: &str = "args: [{name: mark, description: to be found by}]";
