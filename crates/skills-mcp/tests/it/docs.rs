//! Documents tell the truth: the reference is made from the tables, and every command that is shown runs.

use std::{fmt::Write as _, fs, path::PathBuf};

use skills_core::diagnostic::Code;
use skills_mcp::{
    config::{KEYS, VARIABLES},
    surface::TOOLS,
};
use skills_testkit::Home;

use crate::support::{example, run, server};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The reference page, made from the tables in the code.
fn reference() -> String {
    let mut page = String::from(
        "# Reference\n\nMade from the tables in the code; a test compares them, and `UPDATE_DOCS=1 ./scripts/test` writes this page anew.\n",
    );
    page.push_str("\n## Tools\n\n| tool | what it does | changes anything |\n|---|---|---|\n");
    for tool in TOOLS {
        let changes = if tool.read_only { "no" } else { "yes" };
        writeln!(page, "| `{}` | {} | {changes} |", tool.name, tool.description).unwrap();
    }
    page.push_str("\n## Configuration keys\n\n| key | default | what it is for |\n|---|---|---|\n");
    for key in KEYS {
        writeln!(page, "| `{}` | `{}` | {} |", key.name, key.default, key.about).unwrap();
    }
    page.push_str("\n## Environment variables\n\n| variable | what it is for |\n|---|---|\n");
    for variable in VARIABLES {
        writeln!(page, "| `{}` | {} |", variable.name, variable.about).unwrap();
    }
    page.push_str("\n## Diagnostics\n\n| code | severity | meaning |\n|---|---|---|\n");
    for code in Code::ALL {
        writeln!(page, "| `{}` | {} | {} |", code.name(), code.severity().name(), code.meaning())
            .unwrap();
    }
    page.push_str(
        "\n## Exit codes\n\n| code | meaning |\n|---|---|\n| 0 | done |\n| 1 | done, and the findings are bad news |\n\
         | 2 | a mistake in the command line or the configuration |\n| 3 | the machine does not let us |\n| 70 | a bug of ours |\n",
    );
    page
}

#[test]
fn the_reference_is_what_the_tables_say() {
    let file = repository().join("docs/reference.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, reference()).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&file).unwrap_or_default(),
        reference(),
        "run UPDATE_DOCS=1 ./scripts/test"
    );
}

/// The commands shown in a document: lines of its `sh` blocks.
fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside => commands.push(line.to_owned()),
            _ => {}
        }
    }
    commands
}

/// Splits a command as a shell would, double quotes only.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in command.split('"').enumerate() {
        if number % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn every_command_the_readme_shows_runs() {
    let home = Home::new();
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let mut ran = 0;
    for command in commands(&readme) {
        let words = words(command.split(" #").next().unwrap());
        let arguments = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["cargo", "run", "--release", "--", rest @ ..] | ["skills-mcp", rest @ ..] => {
                rest.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()
            }
            // Scripts are checked to exist; running the tests from a test would not end.
            [script, ..] if script.starts_with("./scripts/") => {
                assert!(repository().join(script).is_file(), "{command}");
                continue;
            }
            ["git", "clone", ..] | ["cd", ..] | ["cargo", "install" | "build" | "bench", ..] => {
                continue;
            }
            _ => panic!("the README shows a command no test knows: {command}"),
        };
        let (code, out, err) = run(server(&home)
            .env("SKILLS_DIR", example())
            .current_dir(repository())
            .args(&arguments));
        assert_eq!(code, 0, "{command}: {err}");
        assert!(!out.is_empty(), "{command}");
        ran += 1;
    }
    assert!(ran >= 5, "only {ran} commands were found");
}

#[test]
fn every_room_is_in_the_architecture() {
    let text = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    for room in [
        "document/",
        "catalog/",
        "route/",
        "resolve/",
        "config/",
        "source/",
        "store/",
        "script/",
        "surface/",
        "transport/",
        "cli/",
        "testkit",
    ] {
        assert!(text.contains(room), "ARCHITECTURE.md does not name {room}");
    }
}
