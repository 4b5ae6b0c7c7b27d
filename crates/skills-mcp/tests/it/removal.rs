//! What a script leaves in its private folder goes, whatever it is, and never takes the server with it (findings A1, E2).

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown, symlink},
    path::Path,
    process::Command,
};

use serde_json::{Value, json};
use skills_testkit::{Client, wait_until};

use crate::{
    support::run as finished,
    workshop::{Workshop, is_root, run},
};

/// Makes folders in folders; below them a closed one, a full one and a link out.
const NEST: &str = "\
import os, sys
os.chdir(sys.argv[1])
for n in range(int(sys.argv[2])):
    os.mkdir('d'); os.chdir('d')
os.symlink(sys.argv[3], 'link')
os.mkdir('full')
for n in range(100): open('full/%d' % n, 'w')
os.makedirs('closed/in/in')
os.chmod('closed/in', 0); os.chmod('closed', 0)
print('nested')
";

/// Nests so many levels below a folder, with a link to another.
fn nest(folder: &Path, levels: usize, outside: &Path) {
    let mut python = Command::new("python3");
    python.args(["-c", NEST]).arg(folder).arg(levels.to_string()).arg(outside);
    assert_eq!(finished(&mut python), (0, "nested\n".to_owned(), String::new()));
}

/// A server whose private folders lie in `tmp/` of its home.
fn server(shop: &Workshop) -> Client {
    let mut command = shop.command(&[]);
    command.env("TMPDIR", shop.home.path().join("tmp"));
    Client::legacy(command, "2025-11-25")
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn a01_a_script_that_nests_folders_stops_neither_this_server_nor_the_next() {
    let script = NEST.replace("sys.argv[1]", "os.environ['HOME']");
    let script = script.replace("sys.argv[2]", "24000").replace("sys.argv[3]", "'/'");
    let shop = Workshop::new().script("scripts/nest.py", "", &script);
    shop.home.write("tmp/x", "");
    fs::remove_file(shop.home.path().join("tmp/x")).unwrap();
    let temporary = shop.home.path().join("tmp");
    let mut client = server(&shop);
    let answer = run(&mut client, "scripts/nest.py", &json!({}));
    // On a slow machine the folder is measured before the script has ended.
    let said = answer["stderr"].as_str().unwrap();
    assert!(answer["exit_code"] == 0 || said.contains("levels of folders"), "{answer}");
    assert!(!client.call("get_skill", &json!({"skill_path": "tool"})).is_error);
    wait_until("the private folders are gone", || is_empty(&temporary));
    assert!(!client.call("get_skill", &json!({"skill_path": "tool"})).is_error);
    let (status, _, log) = client.close();
    assert!(status.success() && !log.contains("WARN"), "{status} {log}");
}

#[test]
fn a01_what_a_killed_server_left_is_removed_beside_the_next_one_whatever_it_is() {
    let shop = Workshop::new().script("scripts/x.sh", "", "echo ran\n");
    let temporary = shop.home.path().join("tmp");
    for (folder, levels) in [("skills-mcp-run-deep", 24_000), ("skills-mcp-run-flat", 1)] {
        shop.home.write(&format!("tmp/{folder}/lock"), "");
        shop.home.write(&format!("tmp/{folder}/home/x"), "");
        nest(&temporary.join(folder).join("home"), levels, shop.home.path());
    }
    let mut client = server(&shop);
    assert_eq!(run(&mut client, "scripts/x.sh", &json!({}))["stdout"], "ran\n");
    wait_until("both are gone", || is_empty(&temporary));
    assert!(shop.project().join("README").exists(), "links are removed and not followed");
    let (status, _, log) = client.close();
    assert!(status.success() && !log.contains("WARN"), "{status} {log}");
}

#[test]
fn e02_a_hundred_thousand_levels_go_with_few_handles_and_a_small_stack() {
    let shop = Workshop::new();
    shop.home.write("outside/kept", "");
    let outside = shop.home.path().join("outside");
    // In memory, where that is to be had: a disk takes minutes beside other work.
    let memory = Some(Path::new("/dev/shm")).filter(|memory| memory.is_dir());
    let held = tempfile::tempdir_in(memory.unwrap_or(shop.home.path())).unwrap();
    let tree = held.path().join("tree");
    fs::create_dir(&tree).unwrap();
    nest(&tree, 100_000, &outside);
    let mut command = Command::new("bash");
    command.args(["-c", "ulimit -n 12 -s 512; exec \"$@\"", "bash"]);
    command.arg(env!("CARGO_BIN_EXE_skills-mcp")).arg("__remove").arg(&tree);
    assert_eq!(finished(&mut command), (0, String::new(), String::new()));
    assert!(!tree.exists() && outside.join("kept").exists());
}

#[test]
fn a01_what_cannot_be_removed_is_reported_by_doctor_and_stops_no_start() {
    // Only root can make what another user cannot remove.
    if !is_root() {
        return;
    }
    let shop = Workshop::new().script("scripts/x.sh", "", "echo ran\n");
    let stuck = shop.home.path().join("tmp/skills-mcp-run-stuck");
    shop.home.write("tmp/skills-mcp-run-stuck/home/of-root/x", "");
    for folder in [stuck.join("home"), stuck.clone(), shop.home.path().join("tmp")] {
        chown(&folder, Some(65534), Some(65534)).unwrap();
    }
    let of_root = stuck.join("home/of-root");
    fs::set_permissions(&of_root, fs::Permissions::from_mode(0o755)).unwrap();
    let start = |arguments: &[&str]| {
        let mut command = shop.ordinary(arguments);
        command.env("TMPDIR", shop.home.path().join("tmp"));
        command
    };
    let mut client = Client::legacy(start(&[]), "2025-11-25");
    assert_eq!(run(&mut client, "scripts/x.sh", &json!({}))["stdout"], "ran\n");
    let (_, out, err) = finished(&mut start(&["doctor", "--all"]));
    let said = format!("{} could not be removed: Permission denied", stuck.display());
    assert!(out.contains(&said), "{out} {err}");
    let (_, out, _) = finished(&mut start(&["doctor", "--json"]));
    let told: Value = serde_json::from_str(&out).unwrap();
    let stays = told["left_behind"][0].as_str().unwrap();
    assert!(stays.starts_with(&said) && stays.contains("; remove it by hand: rm -rf '"), "{stays}");
    let (status, _, log) = client.close();
    assert!(status.success(), "{status} {log}");
    assert_eq!(log.matches("could not be removed: ").count(), 1, "{log}");
}

#[test]
fn e02_deleted_files_and_files_below_long_paths_count_against_the_limit() {
    let fill = "for n in range(5):\n    f = os.open('f%d' % n, os.O_CREAT | os.O_RDWR); os.posix_fallocate(f, 0, 500 << 20)\n";
    let wait = "time.sleep(300)\n";
    let start = "import os, time\nos.chdir(os.environ['HOME'])\n";
    let deep = "for n in range(60): os.mkdir('x' * 100); os.chdir('x' * 100)\n";
    let shop = Workshop::new()
        .script("scripts/deleted.py", "", &format!("{start}{fill}    os.unlink('f%d' % n)\n{wait}"))
        .script("scripts/deep.py", "", &format!("{start}{deep}{fill}    os.close(f)\n{wait}"))
        .set("scripts.timeout_seconds=200");
    let mut client = shop.client();
    for file in ["scripts/deleted.py", "scripts/deep.py"] {
        let answer = run(&mut client, file, &json!({}));
        assert!(answer["stderr"].as_str().unwrap().contains("held more than 2 GiB"), "{answer}");
    }
}

#[test]
fn e02_links_in_place_of_folders_are_removed_and_not_followed() {
    let shop = Workshop::new();
    shop.home.write("outside/kept", "");
    shop.home.write("tree/a/b/x", "");
    let outside = shop.home.path().join("outside");
    let tree = shop.home.path().join("tree");
    symlink(&outside, tree.join("link")).unwrap();
    symlink(&outside, tree.join("a/b/link")).unwrap();
    let remove = |path: &Path| {
        finished(Command::new(env!("CARGO_BIN_EXE_skills-mcp")).arg("__remove").arg(path))
    };
    assert_eq!(remove(&tree).0, 0);
    assert!(!tree.exists() && outside.join("kept").exists());
    // The root of a tree is never a link, and what is not there is removed already.
    symlink(&outside, &tree).unwrap();
    assert_eq!(remove(&tree).0, 1);
    assert!(outside.join("kept").exists());
    assert_eq!(remove(&shop.home.path().join("none")).0, 0);
}
