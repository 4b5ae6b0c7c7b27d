//! Git sources against hostile remotes, hostile machines and bad luck: security cases G-01 to G-19, by their ids.

use std::{
    fmt::Write as _,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skills_testkit::{Client, GitServerBehaviour, Home, Remote, TEST_TIMEOUT};

use crate::{
    git::{follower, following, kept, refresh, says, synced, text_of},
    support::{eventually, ordinary, run, skill},
};

const CANARY: &str = "canary-token-5e1f";

fn team(home: &Home) -> Remote {
    Remote::with(home, "team", &format!("//- skills/a.md\n{}", skill("alpha", "A", "the text")))
}

/// Everything below a folder that is a file, with its bytes.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else if let Ok(bytes) = fs::read(&path) {
                found.push((path, bytes));
            }
        }
    }
    found
}

/// The generation that is current.
fn generation(home: &Home, remote: &Remote) -> PathBuf {
    kept(home).join("generations").join(remote.git(&["rev-parse", "HEAD"]))
}

/// What `doctor` finds, as `file code`.
fn found(home: &Home, url: &str) -> Vec<String> {
    crate::support::doctored(&mut follower(home, url)).1
}

#[test]
fn g01_options_in_place_of_a_url_or_branch_are_refused_before_anything_runs() {
    let home = Home::new();
    let remote = team(&home);
    let marker = home.path().join("marker");
    let attack = format!("--upload-pack=touch {}", marker.display());
    for url in [
        attack.as_str(),
        "-u",
        &format!("{}#{attack}", remote.url()),
        &format!("{}#-x", remote.url()),
    ] {
        let (code, _, err) = run(follower(&home, url).arg("sync"));
        assert_eq!(code, 2, "{url}: {err}");
        assert!(err.contains("SKILLS_REPO"), "{url}: {err}");
    }
    let (code, _, err) =
        run(follower(&home, &remote.url()).env("SKILLS_BRANCH", &attack).arg("sync"));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("SKILLS_BRANCH"), "{err}");
    // Content may name a branch too, and is not the operator.
    remote.commit(&format!("//- config.yaml\ngit:\n  branch: \"{attack}\"\n"));
    synced(&home, &remote.url());
    synced(&home, &remote.url());
    assert!(!marker.exists());
}

// GIT-6
#[test]
fn g02_only_the_urls_on_our_list_are_taken() {
    let home = Home::new();
    let marker = home.path().join("marker");
    for url in [
        &format!("ext::sh -c touch% {}", marker.display()),
        "ext::sh",
        "EXT::sh",
        "fd::17",
        "/srv/x.git",
        "./x.git",
        "git://example.org/x",
        "ssh://-oProxyCommand=touch/x",
        "https://example.org\n/x",
        "https://example.org%0a/x",
        "https://user:secret-in-url@example.org/x",
        "https://good.example@evil.example/x",
        "http://example.org/x",
    ] {
        let (code, _, err) = run(follower(&home, url).arg("sync"));
        assert_eq!(code, 2, "{url}: {err}");
        assert!(err.contains("SKILLS_REPO") && !err.contains("secret-in-url"), "{err}");
    }
    assert!(!marker.exists() && !home.path().join(".skills-mcp").exists());
}

// GIT-6
#[test]
fn g03_nothing_in_the_users_git_configuration_runs() {
    let home = Home::new();
    let remote = team(&home);
    let marker = home.path().join("marker");
    let touch = format!("touch {}", marker.display());
    home.write("template/hooks/post-checkout", format!("#!/bin/sh\n{touch}\n"));
    home.write("template/hooks/reference-transaction", format!("#!/bin/sh\n{touch}\n"));
    for hook in ["post-checkout", "reference-transaction"] {
        let hook = home.path().join("template/hooks").join(hook);
        fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
    home.write(".gitconfig", format!(
        "[url \"ext::sh -c '{touch}' \"]\n\tinsteadOf = file://\n[protocol \"ext\"]\n\tallow = always\n[core]\n\tsshCommand = \"{touch};\"\n\tfsmonitor = \"{touch}\"\n\thooksPath = {0}/template/hooks\n\tpager = \"{touch}\"\n\taskPass = \"{touch}\"\n[init]\n\ttemplateDir = {0}/template\n[uploadpack]\n\tpackObjectsHook = \"{touch};\"\n[remote \"origin\"]\n\tuploadpack = \"{touch};\"\n[alias]\n\tfetch = \"!{touch}\"\n",
        home.path().display()
    ));
    for (name, value) in [
        ("GIT_SSH_COMMAND", touch.as_str()),
        ("GIT_ASKPASS", &touch),
        ("GIT_DIR", "/nowhere"),
        ("GIT_PROXY_COMMAND", &touch),
    ] {
        let (code, out, err) = run(follower(&home, &remote.url()).env(name, value).arg("sync"));
        assert_eq!(code, 0, "{out}{err}");
    }
    let (code, _, _) =
        run(follower(&home, "git@127.0.0.1:x/y.git").env("GIT_SSH_COMMAND", &touch).arg("sync"));
    assert_eq!(code, 3);
    assert!(!marker.exists());
}

// GIT-6
#[test]
fn g04_hooks_and_settings_put_into_the_copy_do_not_run() {
    let home = Home::new();
    let remote = team(&home);
    synced(&home, &remote.url());
    let marker = home.path().join("marker");
    let mirror = kept(&home).join("mirror.git");
    fs::create_dir_all(mirror.join("hooks")).unwrap();
    for hook in [
        "reference-transaction",
        "post-checkout",
        "post-merge",
        "pre-auto-gc",
        "fsmonitor-watchman",
    ] {
        let file = mirror.join("hooks").join(hook);
        fs::write(&file, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let touch = format!("touch {};", marker.display());
    let mut config = fs::read_to_string(mirror.join("config")).unwrap();
    let _ = write!(
        config,
        "[core]\n\tfsmonitor = \"{touch}\"\n\tsshCommand = \"{touch}\"\n\talternateRefsCommand = \"{touch}\"\n[remote \"origin\"]\n\tuploadpack = \"{touch}\"\n"
    );
    fs::write(mirror.join("config"), config).unwrap();
    remote.commit(&format!("//- skills/b.md\n{}", skill("b", "B", "new")));
    synced(&home, &remote.url());
    assert!(!marker.exists());
    assert!(generation(&home, &remote).join("skills/b.md").is_file());
}

#[test]
fn g05_strange_and_many_refs_of_a_remote_do_no_harm() {
    let home = Home::new();
    let remote = team(&home);
    let commit = remote.git(&["rev-parse", "HEAD"]);
    let mut refs = String::new();
    for number in 0..5_000 {
        let _ = writeln!(refs, "create refs/heads/topic/{number} {commit}");
    }
    for name in ["--upload-pack=x", "-evil"] {
        let _ = writeln!(refs, "create refs/heads/{name} {commit}");
    }
    remote.git_reading(&["update-ref", "--stdin"], refs.as_bytes());
    synced(&home, &remote.url());
    let (code, _, err) =
        run(follower(&home, &remote.url()).env("SKILLS_BRANCH", "nope").arg("sync"));
    assert_eq!(code, 1);
    assert!(err.contains("there is no branch `nope`"), "{err}");
}

/// A tree object of raw entries, past every check of git's.
fn raw_tree(remote: &Remote, entries: &[(&str, &[u8], &str)]) -> String {
    let mut raw = Vec::new();
    for (mode, name, id) in entries {
        raw.extend_from_slice(mode.as_bytes());
        raw.push(b' ');
        raw.extend_from_slice(name);
        raw.push(0);
        raw.extend(
            (0..20).map(|at| u8::from_str_radix(id.get(at * 2..at * 2 + 2).unwrap(), 16).unwrap()),
        );
    }
    remote.git_reading(&["hash-object", "-w", "-t", "tree", "--literally", "--stdin"], &raw)
}

fn commit_tree(remote: &Remote, tree: &str) {
    let commit = remote.git(&["commit-tree", "-m", "raw", tree]);
    remote.git(&["update-ref", "refs/heads/main", &commit]);
}

#[test]
fn g06_trees_with_names_that_lead_elsewhere_write_nothing_elsewhere() {
    let names: [(&str, &[u8]); 8] = [
        ("40000", b".git"),
        ("40000", b".GIT"),
        ("40000", b"git~1"),
        ("40000", b".."),
        ("100644", b"../../../../escaped"),
        ("100644", b"/escaped"),
        ("100644", b"a\\..\\b"),
        ("100644", b"a\nb"),
    ];
    for (mode, name) in names {
        let home = Home::new();
        let remote = team(&home);
        synced(&home, &remote.url());
        let good = remote.git(&["rev-parse", "HEAD:skills/a.md"]);
        let blob = remote.git_reading(&["hash-object", "-w", "--stdin"], CANARY.as_bytes());
        let inner = raw_tree(&remote, &[("100644", b"config", &blob)]);
        let id = if mode == "40000" { &inner } else { &blob };
        let tree = raw_tree(&remote, &[(mode, name, id), ("100644", b"b.md", &good)]);
        let root = raw_tree(&remote, &[("40000", b"skills", &tree)]);
        commit_tree(&remote, &root);
        let (code, out, err) = run(follower(&home, &remote.url()).arg("sync"));
        let shown = String::from_utf8_lossy(name);
        assert!(code == 0 || code == 3 || code == 1, "{shown}: {out}{err}");
        for (path, bytes) in files(&home.path().join(".skills-mcp")) {
            let inside = path.to_string_lossy().contains("/mirror.git/");
            assert!(
                inside || !String::from_utf8_lossy(&bytes).contains(CANARY),
                "{shown} wrote {}",
                path.display()
            );
        }
        assert!(!home.path().join("escaped").exists() && !Path::new("/escaped").exists());
        let mut client = following(&home, &remote.url());
        let serves = text_of(&mut client, "a").is_some() || text_of(&mut client, "b").is_some();
        assert!(serves, "{shown}: the old or the rest of the new is served");
    }
}

// SOURCE-9
#[test]
fn g06_links_duplicates_and_submodules_are_left_out_with_a_word() {
    let home = Home::new();
    let remote = team(&home);
    symlink("/etc/passwd", remote.work().join("skills/link.md")).unwrap();
    symlink("..", remote.work().join("skills/up")).unwrap();
    remote.commit_all();
    let commit = remote.git(&["rev-parse", "HEAD"]);
    remote.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{commit},skills/module"),
    ]);
    remote.git(&["commit", "-q", "-m", "module"]);
    synced(&home, &remote.url());
    let content = generation(&home, &remote).join("skills");
    assert!(!content.join("link.md").exists() && !content.join("up").exists());
    assert_eq!(
        found(&home, &remote.url()),
        ["link.md link-refused", "module not-regular", "up link-refused"]
    );
}

// GIT-5
#[test]
fn g07_the_token_is_sent_to_its_host_and_is_nowhere_else() {
    let home = Home::new();
    let remote = team(&home);
    let (server, other) = (remote.serve(), remote.serve());
    server.behave(GitServerBehaviour::Password(CANARY.into()));
    let start = || {
        let mut command = follower(&home, &server.url());
        command.env("GITHUB_TOKEN", CANARY).env("SKILLS_LOG", "trace");
        Client::legacy(command, "2025-11-25")
    };
    let mut client = start();
    says(&mut client, "a", "the text");
    let authorized = server.requests().iter().any(|asked| asked.authorization.is_some());
    assert!(authorized, "the token was sent");
    let mut answers = String::new();
    other.behave(GitServerBehaviour::Password("other".into()));
    for manner in [
        GitServerBehaviour::Status(401),
        GitServerBehaviour::Status(500),
        GitServerBehaviour::Password("no".into()),
        GitServerBehaviour::Redirect(other.base()),
    ] {
        server.behave(manner);
        answers.push_str(&refresh(&mut client).to_string());
    }
    assert!(!other.requests().is_empty(), "the redirect was followed");
    assert!(
        other.requests().iter().all(|asked| asked.authorization.is_none()),
        "{:?}",
        other.requests()
    );
    server.behave(GitServerBehaviour::Stall);
    let refresh = client.ask("tools/call", json!({"name": "refresh_skills", "arguments": {}}));
    let arguments = eventually("git runs", || {
        let out = run(Command::new("pgrep").args(["-a", "-f", &server.base()])).1;
        (!out.is_empty()).then_some(out)
    });
    assert!(!arguments.contains(CANARY), "{arguments}");
    server.behave(GitServerBehaviour::Open);
    client.answer(refresh);
    let (_, _, log) = client.close();
    for (what, text) in [("an answer", &answers), ("the log", &log)] {
        assert!(!text.contains(CANARY), "{what}: {text}");
    }
    for (path, bytes) in files(&home.path().join(".skills-mcp")) {
        assert!(!String::from_utf8_lossy(&bytes).contains(CANARY), "{}", path.display());
    }
}

// GIT-6
#[test]
fn g08_submodules_are_never_fetched() {
    let home = Home::new();
    let remote = team(&home);
    let marker = home.path().join("marker");
    remote.write(".gitmodules", format!(
        "[submodule \"x\"]\n\tpath = skills/x\n\turl = ext::sh -c touch% {}\n[submodule \"y\"]\n\tpath = \"skills/y\\r\"\n\turl = ../other\n",
        marker.display()
    ));
    let commit = remote.git(&["rev-parse", "HEAD"]);
    remote.git(&["add", "-A"]);
    remote.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},skills/x")]);
    remote.git(&["commit", "-q", "-m", "modules"]);
    // Git's own check may refuse such a commit; then what was there before is served.
    let (code, _, err) = run(follower(&home, &remote.url()).arg("sync"));
    assert!(code == 0 || err.contains("gitmodules"), "{err}");
    assert!(!marker.exists());
}

// GIT-6
#[test]
fn g09_filters_attributes_and_large_file_pointers_change_nothing() {
    let home = Home::new();
    let remote = team(&home);
    let marker = home.path().join("marker");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    remote.write("skills/big.bin", pointer);
    remote.write("skills/b.md", skill("b", "B", "$Format:%H$ $Id$\r"));
    remote.git(&["add", "-A"]);
    remote.write(".gitattributes", "*.bin filter=lfs diff=lfs\n*.md filter=evil export-subst ident text eol=crlf working-tree-encoding=UTF-16\nskills/b.md export-ignore\n");
    remote.git(&["-c", "core.attributesFile=/dev/null", "add", ".gitattributes"]);
    remote.git(&["commit", "-q", "-m", "attributes"]);
    home.write(".gitconfig", format!("[filter \"evil\"]\n\tsmudge = touch {0}\n\trequired = true\n[filter \"lfs\"]\n\tsmudge = touch {0}\n", marker.display()));
    synced(&home, &remote.url());
    let content = generation(&home, &remote).join("skills");
    assert_eq!(fs::read_to_string(content.join("big.bin")).unwrap(), pointer);
    assert_eq!(
        fs::read_to_string(content.join("b.md")).unwrap(),
        skill("b", "B", "$Format:%H$ $Id$\r")
    );
    assert!(!marker.exists());
}

#[test]
fn g10_files_of_a_local_repository_are_copied_and_not_linked() {
    use std::os::unix::fs::MetadataExt as _;
    let home = Home::new();
    let remote = team(&home);
    synced(&home, &remote.url());
    for folder in [kept(&home), remote.path()] {
        for (path, _) in files(&folder) {
            assert_eq!(fs::metadata(&path).unwrap().nlink(), 1, "{}", path.display());
        }
    }
}

#[test]
fn g11_commits_out_of_bounds_are_cut_or_refused_before_they_are_written() {
    let home = Home::new();
    let remote = team(&home);
    remote.write("skills/Case.md", skill("upper", "Upper", "u"));
    remote.write("skills/case.md", skill("lower", "Lower", "l"));
    fs::File::create(remote.work().join("skills/zeros.bin")).unwrap().set_len(100 << 20).unwrap();
    remote.commit_all();
    let server = remote.serve();
    synced(&home, &server.url());
    let content = generation(&home, &remote).join("skills");
    assert!(content.join("Case.md").is_file() && content.join("case.md").is_file());
    assert!(!content.join("zeros.bin").exists());
    assert_eq!(found(&home, &server.url()), ["zeros.bin file-too-large"]);
    let kept_bytes: usize = files(&kept(&home)).iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(kept_bytes < 1 << 20, "{kept_bytes} bytes are kept");
    // The same from a remote that cannot leave anything out.
    let plain = Home::new();
    remote.git(&["config", "uploadpack.allowFilter", "false"]);
    synced(&plain, &remote.url());
    assert!(!generation(&plain, &remote).join("skills/zeros.bin").exists());
    // Deeper than anybody needs.
    let blob = remote.git(&["rev-parse", "HEAD:skills/a.md"]);
    let mut tree = raw_tree(&remote, &[("100644", b"deep.md", &blob)]);
    for _ in 0..300 {
        tree = raw_tree(&remote, &[("40000", b"d", &tree)]);
    }
    let root = raw_tree(
        &remote,
        &[(
            "40000",
            b"skills",
            &raw_tree(&remote, &[("100644", b"a.md", &blob), ("40000", b"d", &tree)]),
        )],
    );
    commit_tree(&remote, &root);
    synced(&plain, &remote.url());
    assert!(found(&plain, &remote.url()).iter().any(|found| found.ends_with("too-deep")));
    let mut client = following(&plain, &remote.url());
    says(&mut client, "a", "the text");
}

// GIT-7
#[test]
fn g13_killed_at_any_moment_the_next_start_serves_old_or_new_whole() {
    let home = Home::new();
    let remote = team(&home);
    synced(&home, &remote.url());
    for round in 0..12 {
        let text = format!("round {round}");
        for name in ["a", "b", "c"] {
            remote.write(&format!("skills/{name}.md"), skill(name, "X", &text));
        }
        remote.commit_all();
        let mut sync = follower(&home, &remote.url())
            .arg("sync")
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(3 + round * 7));
        let _ = sync.kill();
        let _ = sync.wait();
        let mut client = following(&home, &remote.url());
        let first = text_of(&mut client, "a").unwrap();
        if first.contains("round") {
            let marker = first.lines().find(|line| line.contains("round")).unwrap_or("the text");
            for name in ["b", "c"] {
                let other = text_of(&mut client, name).unwrap_or_default();
                assert!(
                    other.contains(marker) || text_of(&mut client, "a").unwrap() != first,
                    "{name}: {other} beside {first}"
                );
            }
        }
    }
    synced(&home, &remote.url());
    let mut client = following(&home, &remote.url());
    says(&mut client, "c", "round 11");
    let litter: Vec<String> = fs::read_dir(kept(&home))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert!(litter.is_empty(), "{litter:?}");
}

#[test]
fn g14_stale_locks_have_no_effect() {
    let home = Home::new();
    let remote = team(&home);
    synced(&home, &remote.url());
    let mirror = kept(&home).join("mirror.git");
    for lock in ["index.lock", "shallow.lock", "packed-refs.lock", "HEAD.lock", "config.lock"] {
        fs::write(mirror.join(lock), "").unwrap();
    }
    for entry in fs::read_dir(mirror.join("refs/skills")).unwrap() {
        let name = entry.unwrap().path();
        fs::write(format!("{}.lock", name.display()), "").unwrap();
    }
    fs::write(kept(&home).join("lock"), "999999\n").unwrap();
    remote.commit(&format!("//- skills/b.md\n{}", skill("b", "B", "new")));
    synced(&home, &remote.url());
    assert!(generation(&home, &remote).join("skills/b.md").is_file());
}

/// What is wrong, and how it comes about.
type Damage = (&'static str, fn(&Path));

#[test]
fn g15_a_copy_that_is_damaged_is_set_aside_and_made_again() {
    let damage: [Damage; 5] = [
        ("a pack is cut short", |mirror| {
            for (path, bytes) in files(&mirror.join("objects")) {
                let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o644));
                fs::write(&path, bytes.get(..bytes.len() / 2).unwrap()).unwrap();
            }
        }),
        ("bits are flipped", |mirror| {
            for (path, mut bytes) in files(&mirror.join("objects")) {
                let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o644));
                for byte in &mut bytes {
                    *byte ^= 1;
                }
                fs::write(&path, bytes).unwrap();
            }
        }),
        ("objects are gone", |mirror| fs::remove_dir_all(mirror.join("objects")).unwrap()),
        ("refs are garbage", |mirror| {
            for (path, _) in files(&mirror.join("refs")) {
                fs::write(path, "garbage").unwrap();
            }
            fs::write(mirror.join("HEAD"), "garbage").unwrap();
            fs::write(mirror.join("shallow"), "garbage").unwrap();
        }),
        ("it is a file", |mirror| {
            fs::remove_dir_all(mirror).unwrap();
            fs::write(mirror, "x").unwrap();
        }),
    ];
    for (what, spoil) in damage {
        let home = Home::new();
        let remote = team(&home);
        synced(&home, &remote.url());
        spoil(&kept(&home).join("mirror.git"));
        let mut client = following(&home, &remote.url());
        assert!(text_of(&mut client, "a").is_some(), "{what}: the old one is served meanwhile");
        remote.commit(&format!("//- skills/a.md\n{}", skill("a", "A", "newer text")));
        let answer = refresh(&mut client);
        assert_eq!(answer["success"], true, "{what}: {answer}");
        says(&mut client, "a", "newer text");
    }
}

#[test]
fn g15_a_generation_that_is_damaged_is_written_again() {
    let home = Home::new();
    let remote = team(&home);
    synced(&home, &remote.url());
    fs::remove_dir_all(generation(&home, &remote)).unwrap();
    synced(&home, &remote.url());
    let mut client = following(&home, &remote.url());
    says(&mut client, "a", "the text");
}

#[test]
fn g17_remotes_that_stall_drip_or_vanish_are_given_up_and_calls_go_on() {
    let home = Home::new();
    let remote = team(&home);
    let server = remote.serve();
    synced(&home, &server.url());
    remote.commit(&format!("//- skills/b.md\n{}", skill("b", "B", "new")));
    for manner in [GitServerBehaviour::Stall, GitServerBehaviour::Drip] {
        server.behave(manner.clone());
        let mut command = follower(&home, &server.url());
        command.args(["--set", "git.timeout_seconds=2"]);
        let mut client = Client::legacy(command, "2025-11-25");
        assert!(text_of(&mut client, "a").is_some());
        // A sync of the server's own may run first; either ends after its time.
        let mut answer: Value = json!("already running");
        while answer.to_string().contains("already running") {
            let refresh =
                client.ask("tools/call", json!({"name": "refresh_skills", "arguments": {}}));
            assert!(text_of(&mut client, "a").is_some(), "other calls go on");
            answer = client.answer(refresh);
        }
        assert!(answer.to_string().contains("within 2 s"), "{manner:?}: {answer}");
    }
    // No server at that port, and a host that does not exist.
    for url in ["http://127.0.0.1:1/x.git", "https://no-such-host.invalid/x.git"] {
        let (code, _, err) =
            run(follower(&home, url).args(["sync", "--set", "git.timeout_seconds=5"]));
        assert_eq!(code, 3, "{err}");
        assert!(err.contains("cannot be reached") || err.contains("did not finish"), "{err}");
    }
}

#[test]
fn g18_a_place_that_is_not_ours_alone_is_refused_with_a_word() {
    let home = Home::new();
    let remote = team(&home);
    let content = home.path().join(".skills-mcp/content");
    let refused = |why: &str| {
        let (code, _, err) = run(follower(&home, &remote.url()).arg("sync"));
        assert_eq!(code, 3, "{err}");
        assert!(err.contains(why), "{why}: {err}");
    };
    synced(&home, &remote.url());
    let place = kept(&home);
    fs::set_permissions(&content, fs::Permissions::from_mode(0o777)).unwrap();
    refused("can be written by every user");
    fs::set_permissions(&content, fs::Permissions::from_mode(0o700)).unwrap();
    let elsewhere = home.path().join("elsewhere");
    fs::rename(&place, &elsewhere).unwrap();
    symlink(&elsewhere, &place).unwrap();
    refused("is a symbolic link");
    fs::remove_file(&place).unwrap();
    fs::write(&place, "x").unwrap();
    let (code, _, err) = run(follower(&home, &remote.url()).arg("sync"));
    assert_eq!(code, 3, "{err}");
}

#[test]
fn g18_a_place_that_cannot_be_written_serves_what_there_is() {
    let home = Home::new();
    let remote = team(&home);
    synced(&home, &remote.url());
    // For an ordinary user the folder belongs to another user, and nothing in it can be written.
    for folder in [
        home.path().join(".skills-mcp"),
        home.path().join(".skills-mcp/content"),
        kept(&home),
        kept(&home).join("wanted"),
        kept(&home).join("generations"),
    ] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for entry in fs::read_dir(kept(&home).join("wanted")).unwrap() {
        let _ = fs::set_permissions(entry.unwrap().path(), fs::Permissions::from_mode(0o755));
    }
    let mut command = ordinary(&home, follower(&home, &remote.url()));
    command.env("SKILLS_REPO", remote.url());
    let mut client = Client::legacy(command, "2025-11-25");
    says(&mut client, "a", "the text");
    let answer = refresh(&mut client);
    assert_eq!(answer["success"], false, "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("still served"), "{answer}");
}

#[test]
fn a_program_that_git_leaves_behind_does_not_hold_up_a_sync() {
    let home = Home::new();
    let remote = team(&home);
    // As ssh with a master connection does: it stays, and keeps git's messages open.
    let left = home.path().join("left");
    let ssh = format!(
        "#!/bin/sh\nsleep 300 </dev/null >/dev/null &\necho $! > {}\nfor last; do :; done\neval \"$last\"\n",
        left.display()
    );
    home.write("bin/ssh", ssh);
    let program = home.path().join("bin/ssh");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let url = remote.url().replace("file://", "ssh://example.org");
    let search = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let (code, _, err) = run(follower(&home, &url).arg("sync").env("PATH", search));
    let pid = fs::read_to_string(&left).unwrap();
    // One that has ended has no command line, even if its parent has not asked for its status.
    let command = fs::read_to_string(format!("/proc/{}/cmdline", pid.trim()));
    let still_there = command.is_ok_and(|command| !command.is_empty());
    let (killed, _, _) = run(Command::new("kill").arg(pid.trim()));
    assert_eq!((code, still_there, killed), (0, true, 0), "{err}");
    let mut client = following(&home, &url);
    says(&mut client, "a", "the text");
}

#[test]
fn g19_two_processes_with_different_tokens_and_branches_do_not_mix() {
    let home = Home::new();
    let remote = team(&home);
    remote.git(&["checkout", "-q", "-b", "next"]);
    remote.commit(&format!("//- skills/a.md\n{}", skill("a", "A", "of next")));
    let server = remote.serve();
    server.behave(GitServerBehaviour::Password("right".into()));
    let start = |branch: &str, token: &str| {
        let mut command = follower(&home, &server.url());
        command.env("SKILLS_BRANCH", branch).env("GITHUB_TOKEN", token);
        Client::legacy(command, "2025-11-25")
    };
    let (mut main, mut next, mut wrong) =
        (start("main", "right"), start("next", "right"), start("main", "wrong"));
    says(&mut main, "a", "the text");
    says(&mut next, "a", "of next");
    says(&mut wrong, "a", "the text");
    let answer = refresh(&mut wrong);
    assert_eq!(answer["success"], false, "another's token is not used: {answer}");
    assert_eq!(refresh(&mut main)["success"], true);
    assert_eq!(refresh(&mut next)["success"], true);
    says(&mut next, "a", "of next");
}

/// A tree of trees, each of which holds the one below ten times under different names.
fn tree_bomb(remote: &Remote, levels: usize, bottom: &[(&str, &[u8], &str)]) -> String {
    let mut tree = raw_tree(remote, bottom);
    for _ in 0..levels {
        let names: Vec<String> = (0..10).map(|number| format!("d{number}")).collect();
        let entries: Vec<(&str, &[u8], &str)> =
            names.iter().map(|name| ("40000", name.as_bytes(), tree.as_str())).collect();
        tree = raw_tree(remote, &entries);
    }
    tree
}

/// Writes a repository with one pack of a few kilobytes, in which an object of 320 MB is a list of twenty copies of another.
const PACK_BOMB: &str = r"
import hashlib, struct, subprocess, sys, zlib
repository, base, copies = sys.argv[1], bytes(2**24 - 1), 20
def digest(kind, parts, size):
    found = hashlib.sha1(b'%s %d\0' % (kind, size))
    for part in parts: found.update(part)
    return found.digest()
def name(kind, data): return digest(kind, [data], len(data))
def number(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + number(n >> 7)
def head(kind, n):
    first = kind << 4 | n & 15
    return bytes([first]) if n < 16 else bytes([first | 128]) + number(n >> 4)
target = digest(b'blob', [base] * copies, len(base) * copies)
delta = number(len(base)) + number(len(base) * copies) + bytes([0xf0, 255, 255, 255]) * copies
tree = b'100644 base\0' + name(b'blob', base) + b'100644 bomb\0' + target
commit = b'tree %s\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n' % name(b'tree', tree).hex().encode()
objects = [(1, commit, b''), (2, tree, b''), (3, base, b''), (7, delta, name(b'blob', base))]
pack = b'PACK' + struct.pack('>II', 2, len(objects))
for kind, data, on in objects: pack += head(kind, len(data)) + on + zlib.compress(data, 9)
pack += hashlib.sha1(pack).digest()
subprocess.run(['git', 'init', '-q', '--bare', '-b', 'main', repository], check=True)
path = repository + '/objects/pack/pack-x.pack'
open(path, 'wb').write(pack)
subprocess.run(['git', 'index-pack', path], check=True, stdout=subprocess.DEVNULL)
open(repository + '/refs/heads/main', 'w').write(name(b'commit', commit).hex() + '\n')
";

#[test]
fn e11_an_object_that_needs_hundreds_of_times_its_size_in_memory_is_refused() {
    let home = Home::new();
    let repository = home.path().join("bomb.git");
    let (code, _, err) = run(Command::new("python3").args(["-c", PACK_BOMB]).arg(&repository));
    assert_eq!(code, 0, "{err}");
    let url = format!("file://{}", repository.display());
    let (code, _, err) = run(follower(&home, &url).arg("sync"));
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("sends an object that takes too much memory"), "{err}");
    assert!(err.contains("remove it from the repository"), "{err}");
}

#[test]
fn e11_a_commit_of_few_objects_and_paths_without_end_is_refused_at_once_and_git_ends() {
    let home = Home::new();
    let remote = team(&home);
    synced(&home, &remote.url());
    let blob = remote.git(&["rev-parse", "HEAD:skills/a.md"]);
    let file: [(&str, &[u8], &str); 1] = [("100644", b"a.md", &blob)];
    // A hundred thousand million files, and as many folders without a single file.
    for bottom in [&file[..], &[]] {
        let bomb = tree_bomb(&remote, 11, bottom);
        let root = raw_tree(&remote, &[("40000", b"skills", &bomb)]);
        commit_tree(&remote, &root);
        let started = Instant::now();
        let (code, _, err) = run(follower(&home, &remote.url()).arg("sync"));
        assert_eq!(code, 1, "{err}");
        assert!(err.contains("it has more than 250000 files and folders"), "{err}");
        assert!(started.elapsed() < TEST_TIMEOUT, "{:?}", started.elapsed());
        let mirror = kept(&home).join("mirror.git").display().to_string();
        let left = run(Command::new("pgrep").args(["-a", "-f", &mirror])).1;
        assert!(left.is_empty(), "git still runs: {left}");
    }
    let mut client = following(&home, &remote.url());
    says(&mut client, "a", "the text");
}

#[test]
fn e11_a_commit_whose_folders_go_deeper_than_git_is_refused_and_its_copy_stays() {
    let home = Home::new();
    let remote = team(&home);
    synced(&home, &remote.url());
    let blob = remote.git(&["rev-parse", "HEAD:skills/a.md"]);
    let deep = format!("100644 {blob}\tskills/{}a.md\n", "d/".repeat(2_500));
    remote.git_reading(&["update-index", "--index-info"], deep.as_bytes());
    commit_tree(&remote, &remote.git(&["write-tree"]));
    let (code, _, err) = run(follower(&home, &remote.url()).arg("sync"));
    // Git from 2.45 on has a limit, here or where it is fetched from; before, the file is left out, as it lies too deep for us.
    assert!(
        code == 0 || ["deeper than git goes", "git says"].iter().any(|why| err.contains(why)),
        "{err}"
    );
    assert!(!kept(&home).join("unusable-mirror.git").exists());
}

/// What all generations of a home take, as a disk counts it.
fn taken(home: &Home) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let content = home.path().join(".skills-mcp/content");
    let inside = |path: &&PathBuf| path.components().any(|part| part.as_os_str() == "generations");
    let found: Vec<PathBuf> = files(&content).into_iter().map(|(path, _)| path).collect();
    found.iter().filter(inside).map(|path| fs::metadata(path).unwrap().blocks() * 512).sum()
}

/// Syncs with room for so many bytes: the exit code, and what is said of a failure.
fn synced_within(home: &Home, url: &str, bytes: u64) -> (i32, String) {
    let room = format!("git.max_total_bytes={bytes}");
    let (code, _, err) = run(follower(home, url).args(["sync", "--set", &room]));
    (code, err)
}

const MIB: u64 = 1 << 20;

/// A commit of a file with so many bytes, which are few when they travel.
fn commit_of(remote: &Remote, letter: u8, bytes: u64) -> String {
    remote.write("skills/large.bin", vec![letter; usize::try_from(bytes).unwrap()]);
    remote.commit_all()
}

#[test]
fn e11_a_small_remote_that_takes_much_of_the_disk_is_refused_before_anything_is_written() {
    let home = Home::new();
    let remote = team(&home);
    synced(&home, &remote.url());
    let zeros = vec![0; 8 << 20];
    let blob = remote.git_reading(&["hash-object", "-w", "--stdin"], &zeros);
    let names: Vec<String> = (10..30).map(|number| format!("{number}.bin")).collect();
    let entries: Vec<(&str, &[u8], &str)> =
        names.iter().map(|name| ("100644", name.as_bytes(), blob.as_str())).collect();
    let folder = raw_tree(&remote, &entries);
    commit_tree(&remote, &raw_tree(&remote, &[("40000", b"skills", &folder)]));
    let (code, err) = synced_within(&home, &remote.url(), 64 * MIB);
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("takes 161 MiB on disk") && err.contains("allows 64 MiB"), "{err}");
    assert!(err.contains("set git.max_total_bytes to more"), "{err}");
    assert!(taken(&home) < MIB, "{}", taken(&home));
    let mut client = following(&home, &remote.url());
    client.set_timeout(Duration::from_mins(1));
    says(&mut client, "a", "the text");
}

#[test]
fn e11_all_commits_of_all_repositories_together_stay_within_the_limit_and_the_oldest_go_first() {
    let home = Home::new();
    let text = format!("//- skills/x.md\n{}", skill("example", "X", "the text"));
    let (one, other) = (team(&home), Remote::with(&home, "other", &text));
    let room = 5 * MIB;
    let mut commits = Vec::new();
    for letter in b'a'..b'g' {
        let remote = if letter % 2 == 0 { &one } else { &other };
        commits.push(commit_of(remote, letter, MIB));
        let (code, err) = synced_within(&home, &remote.url(), room);
        assert_eq!(code, 0, "{err}");
        assert!(taken(&home) <= room, "{} after {letter}", taken(&home));
    }
    let kept: String = files(&home.path().join(".skills-mcp/content"))
        .iter()
        .map(|(path, _)| path.display().to_string() + "\n")
        .collect();
    let there: Vec<bool> =
        commits.iter().map(|commit| kept.contains(&format!("{commit}/skills/large.bin"))).collect();
    assert_eq!(there, [false, false, true, true, true, true]);
}

#[test]
fn e11_what_a_server_uses_stays_a_commit_without_room_is_refused_and_the_old_one_served() {
    let home = Home::new();
    let remote = team(&home);
    commit_of(&remote, b'a', 2 * MIB);
    synced(&home, &remote.url());
    let mut command = follower(&home, &remote.url());
    command.args(["--set", "git.max_total_bytes=5242880"]);
    let mut client = Client::legacy(command, "2025-11-25");
    says(&mut client, "a", "the text");
    let first = generation(&home, &remote);
    // Another process finds no room beside what the server holds and what is current.
    commit_of(&remote, b'b', 2 * MIB);
    assert_eq!(synced_within(&home, &remote.url(), 5 * MIB).0, 0);
    says(&mut client, "a", "the text");
    commit_of(&remote, b'c', 2 * MIB);
    let (code, err) = synced_within(&home, &remote.url(), 5 * MIB);
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("git.max_total_bytes") && first.is_dir(), "{err}");
    assert!(text_of(&mut client, "a").is_some());
    // The server itself gives up the folder it served before, and takes the new commit.
    let answer = refresh(&mut client);
    assert_eq!(answer["success"], true, "{answer}");
    assert!(!first.exists());
    // A commit that fits beside nothing is refused, and calls go on.
    commit_of(&remote, b'd', 6 * MIB);
    let answer = refresh(&mut client);
    assert_eq!(answer["success"], false, "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("git.max_total_bytes allows 5 MiB"), "{answer}");
    assert!(message.contains("still served"), "{answer}");
    says(&mut client, "a", "the text");
}

#[test]
fn e11_a_copy_that_holds_more_of_the_past_than_of_the_present_is_made_again() {
    let home = Home::new();
    let remote = team(&home);
    synced(&home, &remote.url());
    let packs = kept(&home).join("mirror.git/objects/pack");
    for name in ["tmp_a", "tmp_b", "tmp_c"] {
        fs::File::create(packs.join(name)).unwrap().set_len(400 * MIB).unwrap();
    }
    remote.commit(&format!("//- skills/b.md\n{}", skill("b", "B", "new")));
    synced(&home, &remote.url());
    assert!(!packs.join("tmp_a").exists());
    assert!(generation(&home, &remote).join("skills/b.md").is_file());
    assert!(!kept(&home).join("unusable-mirror.git").exists(), "nothing was wrong with it");
}
