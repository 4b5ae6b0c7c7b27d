//! Programs that a script leaves where a `PATH` finds them are not started by the server: finding E1, with real scripts, a real
//! `git` and a real `ssh` URL.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use skills_testkit::{Client, Remote};

use crate::{
    git::{refresh, says},
    support::{run, skill},
    workshop::{Workshop, is_root, run as run_script},
};

/// A skill with a script that leaves a program of this name in a virtual environment; and a repository beside it.
fn planting(program: &str, marker: &Path) -> (Workshop, Remote) {
    let plant = format!(
        "mkdir -p .venv/bin\nprintf '#!/bin/sh\\ntouch {0}\\nexec /usr/bin/{1} \"$@\"\\n' > .venv/bin/{1}\nchmod 755 .venv/bin/{1}\n",
        marker.display(),
        program
    );
    let shop = Workshop::new().script("scripts/plant.sh", "", &plant);
    let first = format!("//- skills/a.md\n{}", skill("a", "A", "the first text"));
    let remote = Remote::with(&shop.home, "team", &first);
    (shop, remote)
}

/// A `PATH` on which these folders come before those of the system.
fn path(folders: &[PathBuf]) -> String {
    let folders = folders.iter().map(|folder| folder.display().to_string());
    folders.chain(["/usr/bin".to_owned(), "/bin".to_owned()]).collect::<Vec<_>>().join(":")
}

fn executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn e01_a_git_that_a_script_left_in_its_folder_is_not_started_by_the_next_sync() {
    let markers = tempfile::tempdir().unwrap();
    let marker = markers.path().join("marker");
    let (shop, remote) = planting("git", &marker);
    let planted = shop.project().join(".venv/bin");
    let linked = shop.home.path().join("linked");
    symlink(&planted, &linked).unwrap();
    let bin = shop.home.path().join("home-bin");
    fs::create_dir(&bin).unwrap();
    symlink(planted.join("git"), bin.join("git")).unwrap();
    let folders: [&[PathBuf]; 4] = [
        std::slice::from_ref(&planted),
        &[".venv/bin".into(), "".into(), ".".into()],
        &[linked],
        &[bin],
    ];
    for (number, folders) in folders.into_iter().enumerate() {
        let mut command = shop.command(&["--repo", &remote.url()]);
        command.env("PATH", path(folders));
        let mut client = Client::legacy(command, "2025-11-25");
        let answer = run_script(&mut client, "scripts/plant.sh", &json!({}));
        assert_eq!(answer["exit_code"], 0, "{answer}");
        assert!(planted.join("git").is_file(), "the script may write there");
        let text = format!("text {number}");
        remote.commit(&format!("//- skills/a.md\n{}", skill("a", "A", &text)));
        let answer = refresh(&mut client);
        assert_eq!(answer["success"], true, "{answer}");
        says(&mut client, "a", &text);
        assert!(!marker.exists(), "the planted git ran: {folders:?}");
        let (_, _, log) = client.close();
        let told = log.contains("is passed over, since scripts may write it; /usr/bin/git is used");
        assert_eq!(told, number != 1, "{log}");
    }
    let mut command = shop.command(&["--repo", &remote.url(), "doctor", "--json"]);
    let (_, out, err) = run(command.env("PATH", path(&[planted])));
    let doctor: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    let git = doctor["git"].as_str().unwrap();
    assert!(git.starts_with("/usr/bin/git 2.") && git.contains("passed over"), "{git}");
    assert!(!marker.exists());
}

#[test]
fn e01_a_script_that_closes_the_configuration_to_its_owner_gains_nothing() {
    let (shop, _remote) = planting("git", Path::new("/nowhere"));
    let home = shop.home.path().canonicalize().unwrap();
    let closing = |path: &str| format!("chmod 000 {}\n", home.join(path).display());
    let shop = shop.script("scripts/config.sh", "", &closing(".config/skills-mcp"));
    shop.home.write(".config/skills-mcp/config.yaml", "scripts: {network: \"off\"}\n");
    let mut client = Client::legacy(shop.ordinary(&[]), "2025-11-25");
    if is_root() {
        std::os::unix::fs::chown(home.join(".config/skills-mcp"), Some(65534), None).unwrap();
    }
    run_script(&mut client, "scripts/config.sh", &json!({}));
    let ask = || run(&mut shop.ordinary(&["config", "get", "scripts.network"]));
    let (code, out, err) = ask();
    assert_eq!((code, out.trim()), (0, "off"), "{err}");
    // A folder above is not this program's to open.
    let above = home.join(".config");
    if is_root() {
        std::os::unix::fs::chown(&above, Some(65534), None).unwrap();
    }
    fs::set_permissions(&above, fs::Permissions::from_mode(0o000)).unwrap();
    let (code, _, err) = ask();
    fs::set_permissions(&above, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(code == 2 && err.contains(".config is closed to you"), "{code}: {err}");
}

// EXIT-2
#[test]
fn e01_where_only_scripts_may_have_put_a_git_there_is_none_and_the_way_out_is_said() {
    let markers = tempfile::tempdir().unwrap();
    let marker = markers.path().join("marker");
    let (shop, remote) = planting("git", &marker);
    let planted = shop.project().join(".venv/bin");
    executable(&planted.join("git"), &format!("#!/bin/sh\ntouch {}\n", marker.display()));
    let mut command = shop.command(&["--repo", &remote.url(), "sync"]);
    let (code, _, err) = run(command.env("PATH", &planted));
    assert_eq!(code, 3, "{err}");
    let file = planted.join("git").display().to_string();
    assert!(err.contains(&format!("no `git` program on the PATH but for {file}")), "{err}");
    assert!(err.contains("scripts.roots") && !marker.exists(), "{err}");
    // A folder that the operator opened to scripts is one of theirs, too.
    let tools = shop.home.path().join("tools");
    executable(&tools.join("git"), &format!("#!/bin/sh\ntouch {}\n", marker.display()));
    let roots = format!("scripts.roots=[{}]", tools.display());
    let mut command = shop.command(&["--repo", &remote.url(), "sync", "--set", &roots]);
    let (code, _, err) = run(command.env("PATH", path(&[tools])));
    assert_eq!((code, marker.exists()), (0, false), "{err}");
}

#[test]
fn e01_an_ssh_that_a_script_left_is_not_started_by_git_and_a_safe_one_is() {
    let markers = tempfile::tempdir().unwrap();
    let (marker, safe_marker) = (markers.path().join("marker"), markers.path().join("safe"));
    let (shop, _remote) = planting("ssh", &marker);
    let answer = shop.run("scripts/plant.sh");
    assert_eq!(answer["exit_code"], 0, "{answer}");
    let planted = shop.project().join(".venv/bin");
    assert!(planted.join("ssh").is_file());
    // A name that a shell would take apart.
    let safe = shop.home.path().join("it's a $(folder)");
    let text = format!("#!/bin/sh\ntouch {}\nexit 255\n", safe_marker.display());
    executable(&safe.join("ssh"), &text);
    let sync = |path: String| {
        let url = "ssh://127.0.0.1:1/x/y.git";
        let mut command = shop.command(&["--repo", url, "sync"]);
        run(command.env("PATH", path))
    };
    let (code, _, err) = sync(path(&[planted.clone(), safe]));
    assert_eq!((code, marker.exists()), (3, false), "{err}");
    assert!(safe_marker.exists(), "the safe ssh was started: {err}");
    let alone = shop.home.path().join("only-git");
    fs::create_dir(&alone).unwrap();
    symlink("/usr/bin/git", alone.join("git")).unwrap();
    let (code, _, err) = sync(format!("{}:{}", planted.display(), alone.display()));
    assert_eq!((code, marker.exists()), (3, false), "{err}");
    assert!(err.contains("no `ssh` program on the PATH but for"), "{err}");
}

#[test]
fn e01_settings_that_a_script_wrote_have_git_write_to_no_file() {
    let (shop, remote) = planting("git", Path::new("/nowhere"));
    let target = shop.home.path().join("appended");
    for variable in ["normal", "event", "perf"] {
        let text = format!("[trace2]\n  {variable}Target = {}\n", target.display());
        shop.home.write(".gitconfig", text);
        for arguments in [&["sync"][..], &["doctor"], &["status"]] {
            run(shop.command(&["--repo", &remote.url()]).args(arguments));
            assert!(!target.exists(), "{variable} {arguments:?}");
        }
    }
}

#[test]
fn e01_settings_that_never_end_hold_up_no_sync() {
    let (shop, remote) = planting("git", Path::new("/nowhere"));
    let fifo = shop.home.path().join(".gitconfig");
    assert_eq!(run(Command::new("mkfifo").arg(&fifo)).0, 0);
    let (code, out, err) =
        run(shop.command(&["--log", "warn", "--repo", &remote.url()]).arg("sync"));
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.contains("your settings are not used: git did not finish answering"), "{err}");
    let left = run(Command::new("pgrep").args(["-f", "git config --list -z --show-origin"])).1;
    let of_here = |pid: &&str| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&*shop.home.path().to_string_lossy())
    };
    assert_eq!(left.lines().find(of_here), None, "git still waits");
}

#[test]
fn e01_a_credential_helper_and_git_commands_that_a_script_left_are_not_started() {
    let markers = tempfile::tempdir().unwrap();
    let marker = markers.path().join("marker");
    let (shop, remote) = planting("git-credential-planted", &marker);
    let server = remote.serve();
    server.behave(skills_testkit::GitServerBehaviour::Password("secret".into()));
    let planted = shop.project().join(".venv/bin");
    let touch = format!("#!/bin/sh\ntouch {}\n", marker.display());
    for name in ["git-credential-planted", "helper", "git-remote-http", "git-remote-https"] {
        executable(&planted.join(name), &touch);
    }
    for helper in ["planted", "!helper", &planted.join("helper").display().to_string()] {
        shop.home.write(".gitconfig", format!("[credential]\n\thelper = \"{helper}\"\n"));
        let mut command = shop.command(&["--repo", &server.url(), "sync"]);
        command.env("PATH", path(std::slice::from_ref(&planted)));
        let (code, _, err) = run(command.env("GIT_EXEC_PATH", &planted));
        assert_eq!((code, marker.exists()), (3, false), "{helper}: {err}");
        assert!(err.contains("refuses us without credentials"), "{helper}: {err}");
    }
    let unused = "this may be why: `credential.helper` is not used: scripts may write the program";
    let (_, _, err) = run(&mut shop.command(&["--repo", &server.url(), "sync"]));
    let shown = err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(unused), "{err}");
}
