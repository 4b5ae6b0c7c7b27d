//! What packages are made of: the launchers, what the program says of itself, the descriptions for registries, the workflows.
//!
//! Not here: whole packages, installed by their own tools (`tests/outside/packages.rs`, `scripts/packages`).

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use skills_core::yaml::{self, YamlNode};
use skills_mcp::config::VARIABLES;
use skills_testkit::{Client, Home};

use crate::support::{example, run, server};

const SHELLS: &[&str] = &["bash", "elvish", "fish", "powershell", "zsh"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The launcher as npm installs it, with commands for both names; the package with the program is there or not.
fn launcher(home: &Home, platforms: &[&str], installed: Option<&str>) -> PathBuf {
    let modules = home.path().join("node_modules");
    let package = |name: &str| format!("@skills-mcp/{name}");
    let optional: serde_json::Map<String, Value> = platforms
        .iter()
        .map(|label| (package(&format!("server-{label}")), json!("1.0.0")))
        .collect();
    let manifest = json!({"name": package("server"), "optionalDependencies": optional});
    let folder = modules.join(package("server"));
    home.write("node_modules/@skills-mcp/server/package.json", manifest.to_string());
    fs::copy(repository().join("packaging/npm/launch.js"), folder.join("launch.js")).unwrap();
    if let Some(label) = installed {
        let name = format!("node_modules/@skills-mcp/server-{label}");
        home.write(&format!("{name}/package.json"), "{}");
        let program = home.path().join(name).join("skills-mcp");
        symlink(env!("CARGO_BIN_EXE_skills-mcp"), program).unwrap();
    }
    fs::create_dir_all(modules.join(".bin")).unwrap();
    for name in ["skills-mcp", "sk"] {
        let command = modules.join(".bin").join(name);
        if !command.exists() {
            symlink(folder.join("launch.js"), command).unwrap();
        }
    }
    modules.join(".bin")
}

/// Node's name for this machine.
fn own_label() -> &'static str {
    if cfg!(target_arch = "aarch64") { "linux-arm64" } else { "linux-x64" }
}

fn node(home: &Home, script: &Path) -> Command {
    let mut command = home.command("node");
    command.arg(script).env("SKILLS_DIR", example());
    command
}

// PACKAGE-1
#[test]
fn the_npm_launcher_starts_the_program_of_the_platforms_package() {
    let home = Home::new();
    let commands = launcher(&home, &[own_label()], Some(own_label()));
    let (code, out, err) = run(node(&home, &commands.join("skills-mcp")).arg("--version"));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("skills-mcp "), "{out}");
    let (_, out, _) = run(node(&home, &commands.join("sk")).arg("--version"));
    assert!(out.starts_with("sk "), "{out}");
    let (code, _, err) = run(node(&home, &commands.join("skills-mcp")).arg("--no-such-flag"));
    assert!(code == 2 && err.contains("--no-such-flag"), "{code}: {err}");
}

// PACKAGE-1
#[test]
fn a_server_behind_the_npm_launcher_answers_and_ends_as_it_would_alone() {
    let home = Home::new();
    let commands = launcher(&home, &[own_label()], Some(own_label()));
    let start = || Client::legacy(node(&home, &commands.join("skills-mcp")), "2025-11-25");
    let mut client = start();
    let reply = client.call("get_skill", &json!({"context": "React login authentication"}));
    assert!(reply.text.contains("ui/react/auth"), "{}", reply.text);
    let (status, _, log) = client.close();
    assert!(status.success(), "{log}");

    let mut client = start();
    let (code, _, err) = run(home.command("kill").args(["-TERM", &client.pid().to_string()]));
    assert_eq!(code, 0, "{err}");
    let (status, _, log) = client.wait();
    assert!(status.success() && log.contains("SIGTERM"), "{status}: {log}");
}

// PACKAGE-2
#[test]
fn the_npm_launcher_says_why_there_is_no_program_and_what_to_do() {
    let home = Home::new();
    let commands = launcher(&home, &[own_label(), "darwin-arm64"], None);
    let (code, out, err) = run(&mut node(&home, &commands.join("skills-mcp")));
    assert_eq!((code, out.as_str()), (3, ""));
    let package = format!("@skills-mcp/server-{}", own_label());
    assert!(err.contains(&package) && err.contains("--omit=optional"), "{err}");

    let home = Home::new();
    let commands = launcher(&home, &["darwin-arm64", "win32-x64"], None);
    let (code, _, err) = run(&mut node(&home, &commands.join("skills-mcp")));
    assert_eq!(code, 3);
    assert!(err.contains("only for darwin-arm64, win32-x64"), "{err}");
    assert!(err.contains("cargo install --locked --path crates/skills-mcp"), "{err}");
}

// PACKAGE-1
#[test]
fn the_python_module_starts_the_program_beside_its_command() {
    let home = Home::new();
    let module = fs::read(repository().join("packaging/wheel/module.py")).unwrap();
    home.write("bin/skills_mcp_server/__init__.py", module);
    for name in ["main", "sk"] {
        let script = format!("import skills_mcp_server\nskills_mcp_server.{name}()\n");
        home.write(&format!("bin/{name}.py"), script);
    }
    let python = |script: &str| {
        let mut command = home.command("python3");
        command.arg(home.path().join("bin").join(script));
        command
    };
    let (code, _, err) = run(&mut python("main.py"));
    assert!(code == 3 && err.contains("install this package again"), "{code}: {err}");
    symlink(env!("CARGO_BIN_EXE_skills-mcp"), home.path().join("bin/skills-mcp")).unwrap();
    for (script, name) in [("main.py", "skills-mcp "), ("sk.py", "sk ")] {
        let (code, out, err) = run(python(script).arg("--version"));
        assert!(code == 0 && out.starts_with(name), "{out}{err}");
    }
    assert_eq!(run(python("main.py").arg("--no-such-flag")).0, 2);
}

// PACKAGE-3
#[test]
fn completions_know_the_commands_and_their_flags() {
    let home = Home::new();
    for shell in SHELLS {
        let (code, out, err) = run(server(&home).args(["completions", shell]));
        assert_eq!((code, err.as_str()), (0, ""), "{shell}");
        for word in ["doctor", "listing-budget", "skills-mcp"] {
            assert!(out.contains(word), "{shell} does not know {word}");
        }
    }
    let (_, script, _) = run(server(&home).args(["completions", "bash"]));
    home.write("script.bash", script);
    let (code, _, err) = run(home.command("bash").arg("-n").arg(home.path().join("script.bash")));
    assert_eq!(code, 0, "{err}");
    let sk = home.command(env!("CARGO_BIN_EXE_sk")).args(["completions", "fish"]).output().unwrap();
    assert!(String::from_utf8_lossy(&sk.stdout).contains("complete -c sk "));
    let (code, _, err) = run(server(&home).args(["completions", "tcsh"]));
    assert!(code == 2 && SHELLS.iter().all(|shell| err.contains(shell)), "{code}: {err}");
}

#[test]
fn the_first_release_turns_the_pages_over_in_one_place() {
    let home = Home::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut copied = vec!["README.md".to_owned(), "packaging/published".to_owned()];
    for folder in ["docs", "crates/skills-mcp/templates/team"] {
        let files = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap());
        let files = files.filter(|entry| entry.file_type().unwrap().is_file());
        copied.extend(files.map(|entry| format!("{folder}/{}", entry.file_name().display())));
    }
    for file in &copied {
        home.write(file, fs::read(root.join(file)).unwrap());
    }
    let published = |arguments: &[&str]| {
        run(home.command("python3").arg("packaging/published").args(arguments)).0
    };
    assert_eq!((published(&["--check"]), published(&[]), published(&["--check"])), (1, 0, 0));
    for file in copied.iter().filter(|file| *file != "packaging/published") {
        let text = fs::read_to_string(home.path().join(file)).unwrap();
        for word in ["not published yet", "first release", "unpublished", "no release yet"] {
            assert!(!text.contains(word), "{file}: {word}");
        }
    }
}

// PACKAGE-3
#[test]
fn the_manual_page_names_every_command_that_help_names() {
    let home = Home::new();
    let (code, page, err) = run(server(&home).arg("man"));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(page.contains(".TH skills-mcp 1"), "{page}");
    let (_, help, _) = run(server(&home).arg("--help"));
    let commands = help.split("\nOptions:").next().unwrap();
    let commands: Vec<&str> =
        commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    let commands: Vec<&&str> = commands.iter().filter(|command| !command.is_empty()).collect();
    assert!(commands.len() > 10 && commands.contains(&&"man"), "{commands:?}");
    for command in commands {
        let written = command.replace('-', "\\-");
        assert!(page.contains(&format!("skills\\-mcp\\-{written}(1)")), "{command}\n{page}");
    }
}

/// Runs one of the builds in `packaging/`.
fn build(home: &Home, kind: &str, arguments: &[&str]) -> (i32, String, String) {
    let script = repository().join(format!("packaging/{kind}/build"));
    run(home.command("python3").arg(script).args(arguments).current_dir(home.path()))
}

// PACKAGE-4
#[test]
fn the_mcp_registry_gets_packages_and_variables_that_exist() {
    let home = Home::new();
    home.write("bundles/skills-mcp-linux-x64.mcpb", "bundle");
    let (code, _, err) = build(&home, "registry", &["--bundles", "bundles", "--out", "."]);
    assert_eq!(code, 0, "{err}");
    let text = fs::read_to_string(home.path().join("server.json")).unwrap();
    let server: Value = serde_json::from_str(&text).unwrap();
    let field = |name: &str| server.get(name).and_then(Value::as_str).unwrap();
    assert_eq!(field("version"), env!("CARGO_PKG_VERSION"));
    // What the registry's schema of 2025-12-11 demands.
    assert!(field("$schema").ends_with("/2025-12-11/server.schema.json"));
    let (owner, name) = field("name").split_once('/').unwrap();
    let allowed =
        |part: &str| part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    assert!(owner.starts_with("io.github.") && allowed(owner) && allowed(name), "{text}");
    assert!((1..=100).contains(&field("description").len()), "{text}");
    let packages = server.get("packages").and_then(Value::as_array).unwrap();
    let kinds: Vec<&str> =
        packages.iter().filter_map(|package| package.get("registryType")?.as_str()).collect();
    assert_eq!(kinds, ["npm", "pypi", "mcpb"]);
    for package in packages {
        assert_eq!(package.pointer("/transport/type"), Some(&json!("stdio")));
        for variable in package.get("environmentVariables").and_then(Value::as_array).unwrap() {
            let name = variable.get("name").and_then(Value::as_str).unwrap();
            assert!(VARIABLES.iter().any(|known| known.name == name), "{name}");
        }
    }
    let bundle = packages.last().unwrap();
    let (_, sum, _) =
        run(home.command("sha256sum").arg(home.path().join("bundles/skills-mcp-linux-x64.mcpb")));
    assert_eq!(bundle.get("fileSha256").and_then(Value::as_str), sum.split(' ').next());
    let address = bundle.get("identifier").and_then(Value::as_str).unwrap();
    let tag = concat!("/releases/download/v", env!("CARGO_PKG_VERSION"), "/");
    assert!(address.contains(tag) && address.ends_with("/skills-mcp-linux-x64.mcpb"), "{address}");
}

// PACKAGE-4
#[test]
fn a_build_refuses_what_would_make_a_wrong_package() {
    let home = Home::new();
    let refused = |kind: &str, more: &[&str], words: &[&str]| {
        let mut arguments = vec!["--binaries", "binaries", "--out", "out"];
        arguments.extend(more);
        let (code, out, err) = build(&home, kind, &arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        let all = words.iter().all(|word| err.contains(word));
        assert!(err.starts_with("error: ") && err.lines().count() == 1 && all, "{err}");
    };
    let first = "binaries/x86_64-unknown-linux-gnu/skills-mcp";
    refused("npm", &[], &["no binary", first]);
    home.write(first, "#!/bin/sh\n");
    refused("npm", &[], &[first, "no program for x86_64-unknown-linux-gnu"]);
    // A program of this machine in the folder of another.
    fs::remove_dir_all(home.path().join("binaries")).unwrap();
    let target = "aarch64-apple-darwin";
    fs::create_dir_all(home.path().join("binaries").join(target)).unwrap();
    let program = home.path().join("binaries").join(target).join("skills-mcp");
    symlink("/bin/true", program).unwrap();
    refused("wheel", &[], &[target, "linux"]);
    refused("npm", &["--scope", "Your-Org"], &["`Your-Org`", "@your-org"]);
    refused("wheel", &["--name", "sk"], &["`sk`"]);
}

/// Every value below a node of this key.
fn values<'a>(node: &'a YamlNode, key: &str, into: &mut Vec<&'a YamlNode>) {
    for entry in node.entries().unwrap_or_default() {
        if entry.key == key {
            into.push(&entry.value);
        }
        values(&entry.value, key, into);
    }
    for item in node.items().unwrap_or_default() {
        values(item, key, into);
    }
}

#[test]
fn workflows_are_bounded_pinned_and_put_no_input_into_a_shell() {
    let folder = repository().join(".github/workflows");
    let mut names: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["ci.yml", "release.yml"]);
    for name in names {
        let text = fs::read_to_string(folder.join(&name)).unwrap();
        let workflow = yaml::parse(&text).unwrap_or_else(|error| panic!("{name:?}: {error:?}"));
        assert!(workflow.get("permissions").is_some(), "{name:?} takes every permission");
        for job in workflow.get("jobs").unwrap().entries().unwrap() {
            assert!(job.value.get("timeout-minutes").is_some(), "{name:?}: {}", job.key);
        }
        let mut actions = Vec::new();
        values(&workflow, "uses", &mut actions);
        assert!(!actions.is_empty(), "{name:?}");
        for action in actions {
            let version = action.text().unwrap().split_once("@v").unwrap().1;
            assert_eq!(version.split('.').count(), 3, "{:?}", action.text());
        }
        let mut commands = Vec::new();
        values(&workflow, "run", &mut commands);
        for command in commands.iter().filter_map(|command| command.text()) {
            assert!(!command.contains("${{"), "{name:?} puts a value into the shell: {command}");
            // Scripts of the repository that a workflow runs are there.
            for word in command.split_whitespace() {
                let ours = word.starts_with("packaging/") || word.starts_with("./scripts/");
                assert!(!ours || repository().join(word).is_file(), "{name:?}: {word}");
            }
        }
    }
}

/// The workflow builds what the table of platforms has.
#[test]
fn the_release_builds_every_platform_of_the_table() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).unwrap();
    let table = read("packaging/project.py");
    let targets: Vec<&str> = table
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Platform(\"")?.split('"').next())
        .collect();
    assert_eq!(targets.len(), 7);
    let workflow = yaml::parse(&read(".github/workflows/release.yml")).unwrap();
    let mut built = Vec::new();
    values(workflow.get("jobs").unwrap(), "target", &mut built);
    let built: Vec<&str> = built.into_iter().filter_map(YamlNode::text).collect();
    assert_eq!(built, targets);
}
