//! What the tests of the real binary share.

use std::{path::PathBuf, process::Command};

use skills_testkit::{Client, Home};

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
