//! Documents tell the truth: the reference is made from the tables, every command that is shown runs, shown output is real, links
//! resolve, and every promise of the contract has a test.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use skills_core::diagnostic::Code;
use skills_mcp::{
    cli::{SchemaFile, command_reference, diagnostics_page},
    clients::{
        CLIENTS, EntryFormat, FactSource, Forwarding, StructuredUse, ToolSight, shown_place,
    },
    config::{ContentPolicy, DECLARATIONS, KEYS, VARIABLES, ValueKind},
    surface::TOOLS,
};
use skills_testkit::{Home, eventually};

use crate::{
    house::{crates, sources},
    support::{example, run, server},
};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The reference page, made from the tables in the code.
fn reference() -> String {
    let mut page = String::from(
        "# Reference\n\nA test makes this page from the tables in the code. Do not edit it: `UPDATE_DOCS=1 ./scripts/test` writes it again.\n",
    );
    page.push_str("\n## Tools\n\n| tool | what it does | changes anything |\n|---|---|---|\n");
    for tool in TOOLS {
        let changes = if tool.read_only { "no" } else { "yes" };
        let description = tool.description.replace('\n', " ");
        writeln!(page, "| `{}` | {description} | {changes} |", tool.name).unwrap();
    }
    page.push_str(&command_reference());
    page.push_str("\n## Configuration keys\n\n| key | default | what it is for |\n|---|---|---|\n");
    for key in KEYS {
        writeln!(page, "| `{}` | `{}` | {} |", key.name, key.default, key.about).unwrap();
    }
    page.push_str("\n## Environment variables\n\n| variable | what it is for |\n|---|---|\n");
    for variable in VARIABLES {
        writeln!(page, "| `{}` | {} |", variable.name, variable.about).unwrap();
    }
    // Not ours, so that it is in no entry that `connect` writes.
    page.push_str(
        "| `XDG_CONFIG_HOME` | the folder with `skills-mcp/config.yaml`, your configuration; else `~/.config` |\n",
    );
    page.push_str(&clients());
    page.push_str(&entries());
    page.push_str("\n## Diagnostics\n\n[Diagnostics](diagnostics.md) explains each one.\n\n| code | severity | meaning |\n|---|---|---|\n");
    for code in Code::ALL {
        writeln!(page, "| `{}` | {} | {} |", code.name(), code.severity().name(), code.meaning())
            .unwrap();
    }
    page.push_str(
        "\n## Exit codes\n\n| code | meaning |\n|---|---|\n| 0 | done |\n| 1 | done, and the findings are bad news |\n\
         | 2 | a mistake in the command line or the configuration |\n| 3 | the machine does not allow it |\n| 70 | a bug in skills-mcp |\n",
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

/// Compares a file of the repository with what the tables say, or writes it again.
fn assert_made(path: &str, made: &str) {
    let file = repository().join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, made).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(written, made, "{path}: run UPDATE_DOCS=1 ./scripts/test");
}

#[test]
fn diagnostics_are_explained_from_the_table() {
    assert_made("docs/diagnostics.md", &diagnostics_page());
}

// CHECK-8
#[test]
fn schemas_are_what_the_tables_say() {
    let home = Home::new();
    for (name, file) in SchemaFile::ALL {
        let printed = printed(&home, name, &["schema", name]);
        assert_eq!(printed.trim_end(), file.printed());
        assert_made(&format!("schema/{name}.schema.json"), &printed);
    }
}

/// The table of clients, and how each value is known.
fn clients() -> String {
    let mut page = String::from(
        "\n## Clients\n\nWhat each client does with what a server sends. *m*: `scripts/clients` measured it; *d*: the client's documentation \
         or source says so; *a*: assumed, as strict as the strictest client that was measured. `--client` takes the id.\n\n\
         | id | client | first request has of a tool | instructions, characters | description, characters | answer, characters | reads changed descriptions | structured content | own `skill` tool | prompt hook |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for client in CLIENTS {
        let Some(handling) = client.handling else { continue };
        let first = match handling.first_request.value {
            ToolSight::Whole => "all",
            ToolSight::Name => "its name",
            ToolSight::Nothing => "nothing",
        };
        let structured = match handling.structured.value {
            StructuredUse::Replaces => "replaces the text",
            StructuredUse::Beside => "beside the text",
            StructuredUse::Dropped => "dropped",
        };
        let yes = |is: bool| if is { "yes" } else { "no" };
        let mark = |source: FactSource| source.mark().get(..1).unwrap_or_default();
        writeln!(
            page,
            "| `{}` | {} | {first} *{}* | {} *{}* | {} *{}* | {} *{}* | {} *{}* | {structured} *{}* | {} *{}* | {} |",
            client.id,
            client.name,
            mark(handling.first_request.source),
            handling.instructions.value,
            mark(handling.instructions.source),
            handling.description.value,
            mark(handling.description.source),
            handling.answer.value,
            mark(handling.answer.source),
            yes(handling.rereads_tools.value),
            mark(handling.rereads_tools.source),
            mark(handling.structured.source),
            yes(handling.own_skill_tool.value),
            mark(handling.own_skill_tool.source),
            yes(client.hook.is_some()),
        )
        .unwrap();
    }
    page
}

/// Where each client's configuration names MCP servers.
fn entries() -> String {
    let mut page = String::from(
        "\n### Where an entry goes\n\nThe files in which a client looks for MCP servers. `skills-mcp connect CLIENT` [writes the entry](connect.md); \
         `skills-mcp init --team` writes a README with the whole entry for each client. Of several files the first that exists counts. The last column says \
         how a variable such as `GITHUB_TOKEN` reaches the server, with the marks of the table above.\n\n\
         | client | project | user, on Linux | on macOS and Windows | form | variables |\n|---|---|---|---|---|---|\n",
    );
    let list = |files: Vec<String>| {
        let files: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
        files.join(", ")
    };
    for client in CLIENTS {
        let Some(entry) = client.entry else { continue };
        let form = match entry.format {
            EntryFormat::McpServers => "JSON, `mcpServers`",
            EntryFormat::Servers => "JSON, `servers`",
            EntryFormat::ContextServers => "JSON, `context_servers`",
            EntryFormat::Mcp => "JSON, `mcp`",
            EntryFormat::Toml => "TOML, `mcp_servers`",
            EntryFormat::Extensions => "YAML, `extensions`",
            EntryFormat::NamedList => "YAML, a list `mcpServers`",
        };
        let project = list(entry.project.iter().map(|file| (*file).to_owned()).collect());
        let user = list(entry.user.iter().map(|file| shown_place(file.linux)).collect());
        let moved =
            entry.user.iter().filter(|file| file.macos != file.linux || file.windows != file.linux);
        let others =
            list(moved.flat_map(|file| [file.macos, file.windows].map(shown_place)).collect());
        let forwarding = entry.forwarding;
        let variables = match forwarding.value {
            Forwarding::All => "all are passed on".to_owned(),
            Forwarding::AllBut(held) => format!("all but `{held}`"),
            Forwarding::Listed(key) => format!("those in `{key}`"),
            Forwarding::Reference(form) => format!("as `{form}` in the entry"),
            Forwarding::Never => "not at all".to_owned(),
        };
        let mark = forwarding.source.mark().get(..1).unwrap_or_default();
        writeln!(
            page,
            "| {} | {project} | {user} | {others} | {form} | {variables} *{mark}* |",
            client.name
        )
        .unwrap();
    }
    page
}

/// The page about trust in content, made from the policies of the keys.
fn trust() -> String {
    let mut page = String::from(TRUST);
    page.push_str("\n## What content may set\n\n| key | default | policy |\n|---|---|---|\n");
    for key in KEYS {
        let most = key.content_max.map(|most| format!(", {most} at most")).unwrap_or_default();
        let policy = key.content.name();
        writeln!(page, "| `{}` | `{}` | {policy}{most} |", key.name, key.default).unwrap();
    }
    page.push_str("\n| policy | what content's `config.yaml` says applies | under `SKILLS_TRUST=strict` |\n|---|---|---|\n");
    for policy in ContentPolicy::ALL {
        writeln!(page, "| {} | {} | {} |", policy.name(), policy.applies(), policy.strict())
            .unwrap();
    }
    page.push_str("\nYour own files, variables and `--set` override content for every key.\n");
    page.push_str("\n## What content declares elsewhere\n\n| what | applies | under `SKILLS_TRUST=strict` | who overrides it |\n|---|---|---|---|\n");
    for row in DECLARATIONS {
        writeln!(page, "| {} | {} | {} | {} |", row.what, row.applies, row.strict, row.overridden)
            .unwrap();
    }
    page
}

const TRUST: &str = "# Trust in content

A test makes this page from the tables in the code. Do not edit it: `UPDATE_DOCS=1 ./scripts/test` writes it again.

The `config.yaml` of a directory or repository that you name applies, because you named it. A later commit may not use that to
switch something on: the settings that matter are *pinned* when a server first serves the source. The record is in
`~/.skills-mcp/trust.json`, with one entry for each directory (by its real path) and each branch or commit of a repository. Agents'
directories and plugins set nothing.

Of a directory that you name yourself only what is about `analytics` is pinned. Anything else holds as long as its `config.yaml` says it,
so that removing a line there undoes it. What a project's file names is treated like a repository.

- **Narrower** means: `false`, a lower number, fewer extensions, only commands that were there, a later word of its list (`full`,
  `tokens`, `off`), no endpoint. A later commit may narrow a pinned setting. The narrower value is then on record, and going back to
  the wider one needs your consent.
- **Waiting**: what a source asks for beyond that is not applied. The log warns once for each change, and `doctor`, `config` and
  `trust` show it. The server asks no question while a client waits.
- **`skills-mcp trust [SOURCE]`** shows what each source asks for, what applies and what waits (exit code 1 while something waits;
  `--json` for programs). `--yes` agrees to what is asked for now; on a terminal the command asks you. `--revoke` takes consent back: nothing
  beyond the defaults applies then. SOURCE is a name, a folder or a URL. Running servers apply a decision about a source with their next call or scan, one about a project's file at
  their next start.
- **From content** an endpoint is a public https address: no loopback, private or link-local address, however it is written, and
  no name that resolves to one when events are sent. It gets no token. A runner is the name of a program on your `PATH`. A history
  file is in `~/.skills-mcp`.
- **A record that cannot be read or written** (a read-only home, a damaged file) lets content narrow only; the message names the file.
  Nothing else stops. Delete a damaged one, and every source counts as served for the first time.
- An invalid value counts as left out; one under `scripts` turns scripts off until it is fixed, and does not go on record.
- **A project's `.skills-mcp.yaml`** may name sources and tool sets and nothing else, and is not used until you agree to it with
  `skills-mcp trust`. The record has the file's real path and the digest of its text, so a change asks again. What its sources ask for waits from
  the start: serving them for the first time is no consent ([limits](configuration.md#a-projects-file)).
- Only the first source's `config.yaml` counts, but for `git.*` and `refresh.*`, which apply to each repository by itself.
";

#[test]
fn trust_is_what_the_policies_say() {
    let file = repository().join("docs/trust.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, trust()).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(written, trust(), "run UPDATE_DOCS=1 ./scripts/test");
}

#[test]
fn what_content_could_use_against_its_reader_is_pinned_or_the_operators() {
    for key in KEYS {
        let dangerous =
            matches!(key.kind, ValueKind::Url | ValueKind::Commands | ValueKind::History)
                || matches!(
                    key.kind,
                    ValueKind::Folders | ValueKind::Variables | ValueKind::Extensions
                )
                || key.name.starts_with("analytics.")
                || [
                    "scripts.enabled",
                    "scripts.sandbox",
                    "scripts.network",
                    "git.branch",
                    "refresh.enabled",
                ]
                .contains(&key.name);
        let held = key.content.is_recorded() || key.content == ContentPolicy::Operator;
        assert!(held || !dangerous, "{}", key.name);
    }
}

/// The README, the page about security and the pages of `docs/`, by path.
fn pages() -> Vec<(String, String)> {
    let root = repository();
    let docs = docs_pages().into_iter().map(|name| format!("docs/{name}"));
    let page = |path: String| {
        let text = fs::read_to_string(root.join(&path)).unwrap();
        (path, text)
    };
    ["README.md", "SECURITY.md"].map(str::to_owned).into_iter().chain(docs).map(page).collect()
}

/// The names of the pages in `docs/`, in alphabetical order.
fn docs_pages() -> Vec<String> {
    let names = fs::read_dir(repository().join("docs")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let is_page = |name: &String| Path::new(name).extension() == Some("md".as_ref());
    let mut pages: Vec<String> = names.filter(is_page).collect();
    pages.sort();
    pages
}

/// What a document links to, without links to other sites.
fn targets(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    targets.filter(|target| !target.contains("://")).collect()
}

#[test]
fn every_page_is_in_the_index_and_in_the_book() {
    let docs = repository().join("docs");
    let pages: Vec<String> = docs_pages();
    let contents = ["README.md", "SUMMARY.md"];
    let expected: Vec<&str> =
        pages.iter().map(String::as_str).filter(|page| !contents.contains(page)).collect();
    for list in contents {
        let text = fs::read_to_string(docs.join(list)).unwrap();
        let mut linked: Vec<&str> = targets(&text)
            .into_iter()
            .filter(|target| !target.contains(['/', '#']) && !contents.contains(target))
            .collect();
        linked.sort_unstable();
        linked.dedup();
        assert_eq!(linked, expected, "docs/{list}");
    }
    let book = fs::read_to_string(repository().join("book.toml")).unwrap();
    assert!(book.contains("src = \"docs\""), "{book}");
}

#[test]
fn every_picture_is_in_a_page() {
    let texts: Vec<String> = pages().into_iter().map(|(_, text)| text).collect();
    for picture in fs::read_dir(repository().join("docs/pictures")).unwrap() {
        let name = picture.unwrap().file_name().to_string_lossy().into_owned();
        let shown = format!("pictures/{name})");
        assert!(texts.iter().any(|text| text.contains(&shown)), "no page shows {name}");
    }
}

/// The code blocks of this language in a document, without the indentation of their fences.
fn blocks(text: &str, language: &str) -> Vec<Vec<String>> {
    let mut blocks: Vec<Vec<String>> = Vec::new();
    let (mut indent, mut inside) = (0, false);
    for line in text.lines() {
        match line.trim_start().strip_prefix("```") {
            Some("") => inside = false,
            Some(opened) if opened == language => {
                (indent, inside) = (line.len() - line.trim_start().len(), true);
                blocks.push(Vec::new());
            }
            None if inside => {
                let line = line.get(indent..).unwrap_or_default().to_owned();
                blocks.last_mut().unwrap().push(line);
            }
            _ => {}
        }
    }
    blocks
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

/// Runs a command of ours from the repository over the example.
fn printed(home: &Home, command: &str, arguments: &[&str]) -> String {
    let (code, out, err) =
        run(server(home).env("SKILLS_DIR", example()).current_dir(repository()).args(arguments));
    assert_eq!(code, 0, "{command}: {err}");
    assert!(!out.is_empty(), "{command}");
    out
}

#[test]
fn every_command_that_documents_show_runs() {
    let home = Home::new();
    let shown = pages().into_iter().flat_map(|(_, text)| blocks(&text, "sh").concat());
    let mut ran = 0;
    for command in shown {
        let words = words(command.split(" #").next().unwrap());
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            // What changes files of clients shows here what it would change.
            [.., "connect"] => {
                printed(&home, &command, &["connect", "claude-code", "--dry-run"]);
                ran += 1;
            }
            // What changes settings changes them for no other command.
            ["skills-mcp", rest @ ..] if rest.starts_with(&["config", "set"]) => {
                printed(&Home::new(), &command, rest);
                ran += 1;
            }
            // What makes files makes them in a folder of this test, in the order of the pages.
            ["skills-mcp", rest @ ..]
                if rest.iter().any(|word| ["init", "new", "first-skills"].contains(word)) =>
            {
                let (code, out, err) =
                    run(server(&home).env_remove("SKILLS_DIR").current_dir(home.path()).args(rest));
                assert_eq!((code, err.as_str()), (0, ""), "{command}: {out}");
                ran += 1;
            }
            ["cargo", "run", "--release", "--", rest @ ..]
            | ["npx", "-y", "@skills-mcp/server", rest @ ..]
            | ["uvx", "skills-mcp-server", rest @ ..]
            | ["skills-mcp", rest @ ..] => {
                printed(&home, &command, rest);
                ran += 1;
            }
            // Scripts are checked to exist; running the tests from a test would not end.
            [script, ..] if script.starts_with("./scripts/") => {
                assert!(repository().join(script).is_file(), "{command}");
            }
            ["echo", .., "|", "skills-mcp", _, _, _, _] => {
                let folder = Path::new(env!("CARGO_BIN_EXE_skills-mcp")).parent().unwrap();
                let path = format!("{}:/usr/bin:/bin", folder.display());
                let mut shell = home.command("/bin/sh");
                shell.args(["-c", &command]).env("PATH", path).current_dir(repository());
                // On a busy machine the hook may come to its time limit.
                eventually(&command, || {
                    let (code, out, err) = run(&mut shell);
                    assert_eq!(code, 0, "{command}: {err}");
                    (!out.is_empty()).then_some(())
                });
                ran += 1;
            }
            ["cargo", "install", ..] => {}
            _ => panic!("a document shows a command that this test does not know: {command}"),
        }
    }
    assert!(ran >= 12, "only {ran} commands were found");
}

#[test]
fn output_that_documents_show_is_real() {
    let home = Home::new();
    let mut compared = 0;
    for (page, text) in pages() {
        for block in blocks(&text, "text") {
            let Some(command) = block[0].strip_prefix("$ skills-mcp ") else { continue };
            let words = words(command);
            let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
            let out = printed(&home, command, &arguments);
            // `[…]` stands for lines that are left out.
            let shown = block[1..].join("\n");
            let mut rest = out.as_str();
            for part in shown.split("\n[…]\n") {
                let Some((_, after)) = rest.split_once(part) else {
                    panic!("{page}: `{command}` does not print\n{part}\nbut\n{out}");
                };
                rest = after;
            }
            compared += 1;
        }
    }
    assert!(compared >= 2, "only {compared} outputs were found");
}

#[test]
fn scripts_that_no_other_test_starts_say_how_they_are_used() {
    let home = Home::new();
    for script in ["compare", "quickstart"] {
        let mut command = home.command("python3");
        command.arg(repository().join("scripts").join(script)).arg("--help");
        let (code, out, err) = run(&mut command);
        assert_eq!((code, err.as_str()), (0, ""), "{script}");
        assert!(out.contains(&format!("scripts/{script}")), "{out}");
    }
}

#[test]
fn the_readme_is_short() {
    let readme = fs::read(repository().join("README.md")).unwrap();
    assert!(readme.len() <= 8_000, "{} bytes", readme.len());
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let kept = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let anchor = |line: &str| {
        let text = line.trim_start_matches('#').trim().to_lowercase();
        text.chars().filter(|c| kept(*c)).collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn links_between_documents_resolve() {
    let root = repository();
    let more = ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "integrations/README.md"];
    let more = more.map(|path| (path.to_owned(), fs::read_to_string(root.join(path)).unwrap()));
    let mut followed = 0;
    for (page, text) in pages().into_iter().chain(more) {
        for target in targets(&text) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = root.join(&page).parent().unwrap().to_owned();
            let path = if file.is_empty() { root.join(&page) } else { folder.join(file) };
            assert!(path.exists(), "{page} links to {target}");
            let known = || anchors(&fs::read_to_string(&path).unwrap()).contains(anchor);
            assert!(anchor.is_empty() || known(), "{page} links to {target}");
            followed += 1;
        }
    }
    assert!(followed >= 20, "only {followed} links were found");
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

/// The ids of the contract's promises, in its order: what stands in bold at the start of a bullet.
fn promises() -> Vec<String> {
    let contract = fs::read_to_string(repository().join("docs/contract.md")).unwrap();
    let id = |line: &str| Some(line.strip_prefix("- **")?.split_once("** ")?.0.to_owned());
    contract.lines().filter_map(id).collect()
}

/// Whether this is written as an id is: `ROUTE-3`. An area of one letter is that of a security case.
fn is_id(word: &str) -> bool {
    word.split_once('-').is_some_and(|(area, number)| {
        let is = |part: &str, kind: fn(&char) -> bool| {
            !part.is_empty() && part.chars().all(|c| kind(&c))
        };
        area.len() > 1 && is(area, char::is_ascii_uppercase) && is(number, char::is_ascii_digit)
    })
}

/// The ids that the tests of a file name: in a comment of nothing else above the test, or at the start of its name.
fn named_by_tests(file: &str, text: &str, areas: &BTreeSet<&str>) -> Vec<String> {
    let (mut named, mut above, mut is_test) = (Vec::new(), Vec::new(), false);
    for line in text.lines().map(str::trim) {
        let ids: Vec<&str> = line.strip_prefix("// ").unwrap_or_default().split(", ").collect();
        if ids.iter().all(|id| is_id(id)) {
            above.extend(ids.into_iter().map(str::to_owned));
        } else if line.starts_with("#[") {
            is_test |= line.contains("test]") || line.contains("::test(");
        } else if let Some(name) = line.trim_start_matches("async ").strip_prefix("fn ") {
            assert!(
                is_test || above.is_empty(),
                "{file}: {above:?} stands above `{line}`, no test"
            );
            if std::mem::take(&mut is_test) {
                named.append(&mut above);
                let mut words = name.split(['_', '(']);
                let area = words.next().unwrap_or_default().to_uppercase();
                let id = format!("{area}-{}", words.next().unwrap_or_default());
                named.extend(Some(id).filter(|id| areas.contains(&*area) && is_id(id)));
            }
        } else if !line.starts_with("///") {
            assert!(above.is_empty(), "{file}: {above:?} stands above `{line}`, which is no test");
            is_test = false;
        }
    }
    named
}

#[test]
fn tests_name_promises_above_them_and_in_their_names() {
    let areas = BTreeSet::from(["LIST", "ROUTE"]);
    let named = |text: &str| named_by_tests("x.rs", text, &areas);
    let above = "// ROUTE-1, LIST-2\n#[cfg(unix)]\n#[test]\nfn it_works() {";
    assert_eq!(named(above), ["ROUTE-1", "LIST-2"]);
    assert_eq!(named("#[tokio::test]\nasync fn route_3_words_match() {"), ["ROUTE-3"]);
    let none = ["fn route_3_helper() {", "#[test]\nfn a_13_b() {", "#[test]\nfn route_x_y() {"];
    for text in none {
        assert_eq!(named(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn every_promise_of_the_contract_has_a_test_and_no_test_names_another() {
    let ids = promises();
    let promised: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(promised.len(), ids.len(), "an id stands twice in docs/contract.md");
    assert!(promised.iter().all(|id| is_id(id)) && promised.len() > 100, "{promised:?}");
    let areas: BTreeSet<&str> = promised.iter().filter_map(|id| id.split('-').next()).collect();
    let mut proven = BTreeSet::new();
    for (file, text) in sources(&crates()) {
        // Comments of the code may name ids too, and must name real ones.
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        for word in words.filter(|word| is_id(word)) {
            let area = word.split('-').next().unwrap_or_default();
            assert!(promised.contains(word) || !areas.contains(area), "{file} names {word}");
        }
        for id in named_by_tests(&file, &text, &areas) {
            assert!(
                promised.contains(&*id),
                "a test of {file} names {id}, which the contract does not promise"
            );
            proven.insert(id);
        }
    }
    let unproven: Vec<&&str> = promised.iter().filter(|id| !proven.contains(**id)).collect();
    assert!(unproven.is_empty(), "no test names {unproven:?}");
}
