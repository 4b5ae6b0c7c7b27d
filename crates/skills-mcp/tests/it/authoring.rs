//! `init` and `new`: what they make is served and found, nothing that exists is changed, and questions are asked on a terminal
//! only. The terminal is a real pseudo-terminal.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use skills_core::yaml::{self, YamlNode};
use skills_testkit::Home;

use crate::support::{doctored, on_terminal, run};

/// The program in a folder of this home, with no source named and no terminal.
fn program(home: &Home, folder: &str, arguments: &[&str]) -> Command {
    let folder = home.path().join(folder);
    fs::create_dir_all(&folder).unwrap();
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.current_dir(folder).args(arguments);
    command
}

/// Runs it to a good end: what it prints.
fn done(home: &Home, folder: &str, arguments: &[&str]) -> String {
    let (code, out, err) = run(&mut program(home, folder, arguments));
    assert_eq!((code, &*err), (0, ""), "{arguments:?}: {out}{err}");
    out
}

/// Runs it to a bad end: its code, and what it complains of.
fn refused(home: &Home, folder: &str, arguments: &[&str]) -> (i32, String) {
    let (code, out, err) = run(&mut program(home, folder, arguments));
    assert!(code != 0 && !out.contains("\nNext"), "{arguments:?}: {out}{err}");
    (code, err)
}

/// Every file below a folder, by its path.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(path).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                found.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    found
}

fn names(folder: &Path) -> Vec<String> {
    files(folder).into_keys().collect()
}

/// What `try` finds for a request: what the keyword formula decides for, else the first of the ranked search.
fn found(home: &Home, folder: &Path, request: &str) -> Option<String> {
    let folder = folder.to_str().unwrap();
    let out = done(home, ".", &["--dir", folder, "try", request, "--json"]);
    let tried: Value = serde_json::from_str(&out).unwrap();
    let text = |pointer: &str| tried.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    match text("/get_skill/keywords").as_deref() {
        Some("match") => text("/get_skill/candidates/0/skill_path"),
        Some("no_match") => text("/hits/0/skill"),
        _ => panic!("{tried}"),
    }
}

fn text_of<'a>(node: &'a YamlNode, key: &str) -> &'a str {
    node.get(key).and_then(YamlNode::text).unwrap_or_else(|| panic!("no {key} in {node:?}"))
}

// INIT-1
#[test]
fn what_init_makes_is_served_without_a_finding_and_found_by_its_requests() {
    let home = Home::new();
    for (layout, skills) in
        [("tree", ["_root", "code", "review"]), ("bundles", ["code-review", "commit-messages", ""])]
    {
        let folder = home.path().join(layout);
        let out = done(&home, ".", &["init", layout, "--layout", layout]);
        insta::assert_snapshot!(
            format!("init_{layout}"),
            out.replace(&*home.path().canonicalize().unwrap().to_string_lossy(), "[home]")
        );
        let mut doctor = program(&home, ".", &["--dir", layout]);
        assert_eq!(doctored(&mut doctor), (0, Vec::new()), "{layout}");
        let listed = done(&home, ".", &["--dir", layout, "list", "--json"]);
        assert!(skills.iter().all(|skill| listed.contains(skill)), "{listed}");
        let tests = yaml::parse(&files(&folder)["skills/routing.yaml"]).unwrap();
        let tests = tests.items().unwrap();
        assert!(tests.len() >= 4);
        for test in tests {
            let expected = Some(text_of(test, "expect")).filter(|path| *path != "none");
            let request = text_of(test, "request");
            assert_eq!(found(&home, &folder, request).as_deref(), expected, "{layout}: {request}");
        }
    }
    let (_, asset, _) =
        run(&mut program(&home, ".", &["--dir", "tree", "show", "code/review", "--json"]));
    assert!(asset.contains("assets/review-summary.template"), "{asset}");
}

// INIT-2
#[test]
fn an_existing_file_is_never_changed_and_a_second_run_completes_the_first() {
    let home = Home::new();
    let folder = home.path().join("team");
    home.write("team/README.md", "mine");
    let dry = done(&home, "team", &["init", "--team", "--dry-run"]);
    assert!(dry.contains("would make  skills/_root.md\n"), "{dry}");
    assert!(dry.contains("kept        README.md"), "{dry}");
    assert!(dry.ends_with("9 files would be made; nothing was\n"), "{dry}");
    assert_eq!(names(&folder), ["README.md"]);

    // A file where a folder has to be.
    home.write("team/.github", "a file");
    let (code, complaint) = refused(&home, "team", &["init", "--team"]);
    assert_eq!(code, 3);
    assert!(complaint.contains(".github: not a folder; 8 of 10 files were made"), "{complaint}");
    assert!(complaint.contains("hint: resolve this and run the command again"), "{complaint}");
    fs::remove_file(folder.join(".github")).unwrap();
    home.write("team/skills/_root.md", "edited");
    let out = done(&home, "team", &["init", "--team"]);
    assert!(out.contains("kept        skills/_root.md  it exists, and is unchanged\n"), "{out}");
    assert!(out.contains("made        .github/workflows/skills.yml\n"), "{out}");
    let made = files(&folder);
    assert_eq!((&*made["README.md"], &*made["skills/_root.md"]), ("mine", "edited"));
    assert_eq!(made.len(), 10, "{made:?}");
    let again = done(&home, "team", &["init", "--team"]);
    assert!(!again.contains("made  "), "{again}");
    assert_eq!(files(&folder), made);
}

// INIT-2
#[test]
fn the_commands_of_authors_find_the_repository_that_they_are_run_in() {
    let home = Home::new();
    done(&home, ".", &["init", "team", "--team"]);
    home.write("team/.git/HEAD", "");
    home.write("team/docs/page.md", "A page.");
    for folder in ["team", "team/skills", "team/docs"] {
        let checked = done(&home, folder, &["check"]);
        assert!(checked.contains("no problems") || checked.contains("0 errors"), "{checked}");
        let tested = done(&home, folder, &["test"]);
        assert!(tested.contains("All 4 tests pass."), "{folder}: {tested}");
    }
    let keywords = [
        "new",
        "pdf",
        "--tree",
        "--description",
        "Fill in a form. Use when a form is to be filled in.",
    ];
    done(&home, "team/docs", &[keywords.as_slice(), &["--keywords", "pdf,form,log"]].concat());
}

// INIT-2
#[test]
fn no_example_is_added_to_skills_of_another_origin() {
    let home = Home::new();
    for (place, skill) in [("inside", "skills/pdf/SKILL.md"), ("whole", "pdf/SKILL.md")] {
        home.write(&format!("{place}/{skill}"), "---\nname: pdf\ndescription: d\n---\n");
        let out = done(&home, place, &["init", "--team", "--yes"]);
        assert!(out.contains("no example was added"), "{out}");
        let made = files(&home.path().join(place));
        let skills = if place == "inside" { "skills" } else { "." };
        let workflow = &made[".github/workflows/skills.yml"];
        assert!(workflow.contains(&format!("check --strict --format github {skills}\n")));
        assert!(!made.keys().any(|file| file.contains("code") || file.contains("routing")));
    }
    // Nor is an example of one layout added to that of the other.
    done(&home, "bundles", &["init", "--layout", "bundles"]);
    let before = names(&home.path().join("bundles"));
    done(&home, "bundles", &["init"]);
    let out = done(&home, "bundles", &["init", "--layout", "tree"]);
    assert!(out.contains("no example was added"), "{out}");
    assert_eq!(names(&home.path().join("bundles")), before);
}

/// The shell texts of a CI file: what stands under `run` or in the list `script`.
fn shell_texts<'a>(node: &'a YamlNode, texts: &mut Vec<&'a str>) {
    for item in node.items().unwrap_or_default() {
        shell_texts(item, texts);
    }
    for entry in node.entries().unwrap_or_default() {
        match (&*entry.key, &entry.value) {
            ("run", run) => texts.extend(run.text()),
            ("script", lines) => {
                texts.extend(lines.items().unwrap_or_default().iter().filter_map(YamlNode::text));
            }
            (_, below) => shell_texts(below, texts),
        }
    }
}

/// Bash reads these texts as a script.
fn check_shell(what: &str, texts: &[&str]) {
    assert!(!texts.is_empty(), "{what} has no script");
    for text in texts {
        let (code, _, err) = run(Command::new("bash").args(["-n", "-c", text]));
        assert_eq!((code, &*err), (0, ""), "{what}: {text}");
    }
}

// INIT-3
#[test]
fn a_team_gets_the_ci_job_of_the_documents_and_it_passes() {
    let home = Home::new();
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ci.md")).unwrap();
    let own = Path::new(env!("CARGO_BIN_EXE_skills-mcp")).parent().unwrap();
    // Runs this program in the place of the package.
    home.write("bin/npx", "#!/bin/sh\ntest \"$1 $2\" = '-y @skills-mcp/server' || exit 9\nshift 2\nexec skills-mcp \"$@\"\n");
    let npx = home.path().join("bin/npx");
    fs::set_permissions(&npx, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}:/usr/bin:/bin", home.path().join("bin").display(), own.display());
    for (ci, file) in [("github", ".github/workflows/skills.yml"), ("gitlab", ".gitlab-ci.yml")] {
        done(&home, ci, &["init", "--ci", ci, "--owner", "@org/skills me@example.org"]);
        let made = files(&home.path().join(ci));
        assert!(made["CODEOWNERS"].ends_with("\n* @org/skills me@example.org\n"));
        let parsed = yaml::parse(&made[file]).unwrap();
        let mut texts = Vec::new();
        shell_texts(&parsed, &mut texts);
        check_shell(file, &texts);
        let whole = texts.join("\n");
        for command in ["$SKILLS_MCP check --strict ", "$SKILLS_MCP test "] {
            assert!(whole.contains(command), "{file} does not run {command}");
        }
        assert!(
            page.contains(&format!("```yaml\n{}```", made[file])),
            "{file} is not in docs/ci.md"
        );
        for text in texts {
            let mut shell = home.command("bash");
            shell.args(["-euc", text]).env("PATH", &path).current_dir(home.path().join(ci));
            let variables = parsed.get(if ci == "github" { "env" } else { "variables" }).unwrap();
            shell.env("SKILLS_MCP", variables.get("SKILLS_MCP").unwrap().text().unwrap());
            let (code, out, err) = run(&mut shell);
            assert_eq!(code, 0, "{file}: {text}: {out}{err}");
        }
    }
}

// INIT-3
#[test]
fn the_readme_has_entries_that_clients_read_and_a_secret_is_refused() {
    let home = Home::new();
    let url = "git@git.example.org:org/skills.git";
    done(&home, "team", &["init", "--url", url, "--name", "Équipe 100%"]);
    let readme = &files(&home.path().join("team"))["README.md"];
    assert!(readme.starts_with("# Équipe 100%\n"), "{readme}");
    for client in [
        "Claude Code (`.mcp.json`)",
        "Codex (`.codex/config.toml`)",
        "VS Code (`.vscode/mcp.json`)",
    ] {
        assert!(readme.contains(client), "{client}");
    }
    let mut languages = Vec::new();
    for block in readme.split("\n```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        languages.push(language);
        assert!(text.contains(url) && text.contains("skills-mcp"), "{text}");
        match language {
            "json" => drop(serde_json::from_str::<Value>(text).unwrap()),
            "yaml" => drop(yaml::parse(text).unwrap()),
            _ => {
                let read = "import sys, tomllib; print(tomllib.loads(sys.argv[1])['mcp_servers']['skills'])";
                let (code, out, err) = run(Command::new("python3").args(["-c", read, text]));
                assert_eq!(code, 0, "{err}");
                assert_eq!(
                    out.trim(),
                    format!("{{'command': 'skills-mcp', 'env': {{'SKILLS_REPO': '{url}'}}}}")
                );
            }
        }
    }
    assert_eq!(languages, ["json", "json", "toml", "json", "json", "yaml", "yaml"]);
    let secret = ["init", "--url", "https://me:s3cret@example.org/a.git"];
    let (code, complaint) = refused(&home, "secret", &secret);
    assert!(
        code == 2 && complaint.contains("--url: the URL holds a user name or password"),
        "{complaint}"
    );
    assert!(!complaint.contains("s3cret"), "{complaint}");
    assert_eq!(names(&home.path().join("secret")), Vec::<String>::new());
}

// INIT-3
#[test]
fn every_setting_of_the_config_file_is_a_default_that_content_may_set() {
    let home = Home::new();
    done(&home, "team", &["init", "--team"]);
    let values = || {
        let out = done(&home, "team", &["--dir", ".", "config", "--json"]);
        let all: Value = serde_json::from_str(&out).unwrap();
        (out.contains("config.yaml"), all)
    };
    let doctor = || doctored(&mut program(&home, "team", &["--dir", "."]));
    let (says_file, _) = values();
    assert!(!says_file, "comments set nothing");
    let file = home.path().join("team/config.yaml");
    let text = fs::read_to_string(&file).unwrap();
    // As the file says: without the mark at the start of a setting's line.
    let is_setting = |rest: &str| !rest.starts_with(' ') || rest.starts_with("  ");
    let uncommented = |line: &str| match line.strip_prefix('#').filter(|rest| is_setting(rest)) {
        Some(setting) => format!("{setting}\n"),
        None => format!("{line}\n"),
    };
    let set: String = text.lines().map(uncommented).collect();
    assert!(set.contains("\nmatching:\n") && set.contains("\n  min_score: 0.2\n"), "{set}");
    fs::write(&file, set).unwrap();
    assert_eq!(doctor(), (0, Vec::new()));
    assert!(values().0, "settings come from the file");
}

// INIT-3
#[test]
fn a_team_repository_that_is_committed_is_served_over_git() {
    let home = Home::new();
    done(&home, "team", &["init", "--team"]);
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "skills"],
    ] {
        let mut git = home.command("git");
        let (code, _, err) = run(git.current_dir(home.path().join("team")).args(arguments));
        assert_eq!(code, 0, "{err}");
    }
    let url = format!("file://{}", home.path().join("team").display());
    let listed = done(&home, "elsewhere", &["--repo", &url, "list", "--json"]);
    assert!(listed.contains("How a change is reviewed"), "{listed}");
}

// INIT-4
#[test]
fn on_a_terminal_init_asks_for_what_no_flag_says() {
    let home = Home::new();
    for columns in [40, 80] {
        let folder = format!("asked-{columns}");
        let command = program(&home, &folder, &["init"]);
        let ended = on_terminal(
            columns,
            &command,
            &[
                ("Layout", "graph\n"),
                ("`graph` is no choice", "b\n"),
                ("For a team", "yes\n"),
                ("Name", "Our skills\n"),
                ("CI", "\n"),
                ("URL", "ftp://example.org/x\n"),
                ("is not https", "\n"),
                ("Owners", "@org/skills\n"),
            ],
        );
        assert_eq!((&ended["code"], &ended["left"]), (&json!(0), &json!([])), "{ended}");
        let made = files(&home.path().join(&folder));
        assert!(made["README.md"].starts_with("# Our skills\n"));
        assert!(made["README.md"].contains("https://github.com/your-org/our-skills.git"));
        assert!(made["CODEOWNERS"].contains("* @org/skills\n"));
        assert!(made.contains_key("skills/code-review/SKILL.md"), "{made:?}");
        if columns == 40 {
            // What explains a question is broken between words.
            let shown = ended["shown"].as_str().unwrap();
            let explained = shown.lines().take_while(|line| !line.contains("Layout"));
            let plain = |line: &str| line.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "");
            assert!(explained.map(plain).all(|line| line.chars().count() <= 40), "{shown}");
        }
    }
    // Flags and --yes leave nothing to ask.
    for arguments in [&["init", "--yes"][..], &["init", "--layout", "tree", "--team", "--yes"]] {
        let ended = on_terminal(80, &program(&home, "flags", arguments), &[]);
        assert_eq!(ended["code"], json!(0), "{ended}");
    }
}

// INIT-4
#[test]
fn a_question_that_is_not_answered_leaves_nothing_behind() {
    let home = Home::new();
    for (keys, expected) in [("\u{4}", json!({"code": 2})), ("\u{3}", json!({"signal": 2}))] {
        let steps = [("Layout", "\n"), ("For a team", keys)];
        let ended = on_terminal(80, &program(&home, "left", &["init"]), &steps);
        let (name, value) = expected.as_object().unwrap().iter().next().unwrap();
        assert_eq!(ended.get(name), Some(value), "{ended}");
        assert_eq!(names(&home.path().join("left")), Vec::<String>::new());
        let steps = [("Name", "ui/auth\n"), ("Description", keys)];
        home.write("new/skills/_root.md", "");
        let ended = on_terminal(80, &program(&home, "new", &["new"]), &steps);
        assert_eq!(ended.get(name), Some(value), "{ended}");
        assert_eq!(names(&home.path().join("new")), ["skills/_root.md"]);
    }
    // Without a terminal nothing is asked.
    done(&home, "piped", &["init"]);
    assert!(names(&home.path().join("piped")).contains(&"skills/_root.md".to_owned()));
    let (code, complaint) = refused(&home, "piped", &["new", "code/tests"]);
    assert!(code == 2 && complaint.contains("error: --keywords is missing"), "{complaint}");
    // What is left open is what `check` asks for.
    done(&home, "piped", &["new", "code/tests", "--keywords", "unit,test,coverage"]);
    let (code, found, _) = run(&mut program(&home, "piped", &["check", "--strict"]));
    assert!(code == 1 && found.contains("description-vague"), "{found}");
    assert!(found.contains("text-empty"), "{found}");
}

/// The flags of a new skill about what agents sign in with.
const SIGN_IN: [&str; 4] = [
    "--description",
    "How people sign in: \"cookies\", not tokens. Use when building a login.",
    "--keywords",
    "login,session,sign-in",
];

// INIT-5
#[test]
fn a_new_skill_is_found_from_anywhere_in_its_repository() {
    let home = Home::new();
    done(&home, "tree", &["init"]);
    let name = ["new", "ui/react/auth"];
    let out = done(&home, "tree/skills/code", &[&name[..], &SIGN_IN].concat());
    insta::assert_snapshot!("new_tree", out);
    let folder = home.path().join("tree");
    assert_eq!(found(&home, &folder, "a login with a session").as_deref(), Some("ui/react/auth"));
    assert_eq!(doctored(&mut program(&home, "tree", &["--dir", "."])), (0, Vec::new()));
    // The commands that it names work from there.
    done(&home, "tree/skills/code", &["--dir", "..", "try", "login session sign-in"]);
    // The rules of a folder.
    done(
        &home,
        "tree",
        &[&["new", "ui/_index"][..], &SIGN_IN[..2], &["--keywords", "page,layout,colour"]].concat(),
    );
    let (_, shown, _) = run(&mut program(&home, "tree", &["--dir", ".", "show", "ui/react/auth"]));
    assert!(shown.contains("=== UI (from ui/_index.md) ==="), "{shown}");

    done(&home, "bundles", &["init", "--layout", "bundles"]);
    done(&home, "bundles/skills/code-review/assets", &["new", "sign-in", SIGN_IN[0], SIGN_IN[1]]);
    let made = files(&home.path().join("bundles"));
    assert!(made["skills/sign-in/SKILL.md"].starts_with("---\nname: sign-in\ndescription: \"How"));
    assert_eq!(doctored(&mut program(&home, "bundles", &["--dir", "."])), (0, Vec::new()));
    // An agent's directory, and a directory that --dir or the variable names.
    home.write("project/.claude/skills/.keep", "");
    done(&home, "project", &["--dir", ".claude/skills", "new", "sign-in", SIGN_IN[0], SIGN_IN[1]]);
    assert!(home.path().join("project/.claude/skills/sign-in/SKILL.md").is_file());
    let mut command = program(&home, "elsewhere", &["new", "other", "--bundle", SIGN_IN[0], "d"]);
    let (code, _, err) = run(command.env("SKILLS_DIR", home.path().join("bundles")));
    assert_eq!((code, &*err), (0, ""));
    assert!(home.path().join("bundles/skills/other/SKILL.md").is_file());
}

// INIT-5
#[test]
fn on_a_terminal_new_asks_for_what_is_missing() {
    let home = Home::new();
    home.write("team/skills/.keep", "");
    let steps = [
        ("Name", "../../etc\n"),
        ("`..` is no name", "sign-in\n"),
        ("Kind", "\n"),
        ("Description", "\n"),
        ("nothing is written", "How to sign in. Use for a login.\n"),
        ("Keywords", "login\n"),
        ("so few keywords", "c#, session, cookie\n"),
        ("can never match", "login, session, cookie\n"),
    ];
    let ended = on_terminal(40, &program(&home, "team", &["new"]), &steps);
    assert_eq!((&ended["code"], &ended["left"]), (&json!(0), &json!([])), "{ended}");
    let text = &files(&home.path().join("team"))["skills/sign-in.md"];
    assert!(text.starts_with("---\nkeywords: [login, session, cookie]\n"), "{text}");
}

// INIT-6
#[test]
fn a_skill_that_would_escape_hide_another_or_not_be_served_is_refused() {
    let home = Home::with(
        "//- _root.md\n---\nkeywords: [k]\ndescription: d\n---\n\
         //- ui/auth.md\n---\nkeywords: [k]\ndescription: d\n---\n\
         //- ui/auth/assets/a.txt\nx\n\
         //- pdf/SKILL.md\n---\nname: pdf\ndescription: d\n---\n\
         //- api/orders/list.md\n---\nkeywords: [k]\ndescription: d\n---\n",
    );
    home.write("elsewhere/.keep", "");
    let before = files(&home.skills());
    std::os::unix::fs::symlink(home.path().join("elsewhere"), home.skills().join("out")).unwrap();
    for (name, complaint) in [
        ("../escape", "NAME: `..` is no name of a skill"),
        ("/tmp/x", "NAME: `` is no name of a skill"),
        ("Ui/Auth", "NAME: `Ui` is no name of a skill"),
        ("ui/auth", "there is a skill `ui/auth` already: ui/auth.md, which is unchanged"),
        ("ui/auth/token", "`ui/auth` is a skill, and `ui/auth/` holds its files"),
        ("ui/auth/_index", "`ui/auth` is a skill, and `ui/auth/` holds its files"),
        ("pdf/forms", "`pdf/` is a bundle, and every file in it belongs to that bundle"),
        ("pdf", "there is a skill `pdf` already: pdf/SKILL.md, which is unchanged"),
        (
            "api/orders",
            "`api/orders/` is a folder of skills, which a skill `api/orders` would hide",
        ),
        ("ui/skill", "`skill.md` is the file of a bundle"),
        ("out/x", "out: a symbolic link, which is not followed"),
    ] {
        let (code, err) =
            refused(&home, "skills", &[&["new", name, "--tree"][..], &SIGN_IN].concat());
        assert!(code == 2 || code == 3, "{name}: {code}");
        assert!(err.contains(complaint), "{name}: {err}");
    }
    let keywords = ["new", "x", "--description", "d", "--keywords", "the,c#,ing"];
    let (_, err) = refused(&home, "skills", &keywords);
    assert!(err.contains("--keywords: keyword `c#`: can never match\nhint: "), "{err}");
    let hidden = ["new", "x", "--description", "a\u{202e}b", "--keywords", "one,two,three"];
    let (_, err) = refused(&home, "skills", &hidden);
    assert!(err.contains("--description: the text has control or invisible characters"), "{err}");
    let (_, err) = refused(&Home::new(), "nothing", &["new", "x"]);
    assert!(err.contains("there is no folder of skills here or above"), "{err}");
    assert_eq!(names(&home.path().join("elsewhere")), [".keep"]);
    fs::remove_file(home.skills().join("out")).unwrap();
    assert_eq!(files(&home.skills()), before);
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_action_and_the_hooks_of_this_repository_run_check_and_test() {
    let read = |file: &str| fs::read_to_string(repository().join(file)).unwrap();
    let text = read("action.yml");
    let action = yaml::parse(&text).unwrap();
    let runs = action.get("runs").unwrap();
    assert_eq!(text_of(runs, "using"), "composite");
    let mut texts = Vec::new();
    shell_texts(runs, &mut texts);
    check_shell("action.yml", &texts);
    for step in runs.get("steps").and_then(YamlNode::items).unwrap() {
        assert_eq!(text_of(step, "shell"), "bash");
        // A value of an input in a script would be run as a command.
        assert!(!text_of(step, "run").contains("${{"), "{step:?}");
    }
    let whole = texts.join("\n");
    let package = whole.split("$GITHUB_ACTION_PATH/").nth(1).unwrap().split('"').next().unwrap();
    assert!(repository().join(package).join("Cargo.toml").is_file(), "{package}");
    let inputs = action.get("inputs").unwrap().entries().unwrap();
    for input in inputs {
        let name = format!("inputs.{}", input.key);
        assert!(text.contains(&name), "{name} is not used");
        assert!(input.value.get("description").is_some() && input.value.get("default").is_some());
    }

    let hooks = yaml::parse(&read(".pre-commit-hooks.yaml")).unwrap();
    let entries: Vec<&str> =
        hooks.items().unwrap().iter().map(|hook| text_of(hook, "entry")).collect();
    assert_eq!(entries, ["skills-mcp check --strict", "skills-mcp test"]);
    for hook in hooks.items().unwrap() {
        assert_eq!(text_of(hook, "language"), "system");
        assert!(hook.get("id").is_some() && hook.get("name").is_some(), "{hook:?}");
    }
}
