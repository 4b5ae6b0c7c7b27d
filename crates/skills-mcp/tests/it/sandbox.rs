//! X-04: what a script can really do, probed from inside, is exactly what its result claims: as root and as another
//! user, for every rung this machine can be made to give.

#![expect(
    clippy::indexing_slicing,
    reason = "a helper that meets the unexpected fails the test that calls it"
)]

use std::{
    collections::BTreeMap,
    fs,
    net::{TcpListener, UdpSocket},
    os::unix::net::{UnixDatagram, UnixListener},
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};
use skills_testkit::{Client, Home, wait_until};

use crate::{
    support::run as finished,
    workshop::{MARK, Workshop, given_to_nobody, is_root, mark, marked, refused, run},
};

/// Tries everything and prints what worked.
const PROBE: &str = include_str!("probe.py");

const ARGUMENTS: &str = "args:\n  - {name: outside, description: d}\n  - {name: server, description: d}\n  - {name: port, description: d}";

/// The user that runs the server.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Who {
    /// These tests' own user; root, where the tests run as root.
    Me,
    /// A user that is not root.
    Other,
}

/// What was found: the rung that was claimed, and what worked.
fn probed(
    who: Who,
    declared: &str,
    settings: &[&str],
    wrapper: Option<&str>,
) -> (String, BTreeMap<String, bool>, usize) {
    let shop =
        Workshop::new().script("scripts/probe.py", &format!("{ARGUMENTS}\n{declared}"), PROBE);
    let shop = settings.iter().fold(shop, |shop, setting| shop.set(setting));
    shop.home.write("skills/tool/assets/a.txt", "asset");
    shop.home.write("outside/.ssh/id", "secret");
    let outside = shop.home.path().join("outside");
    for name in ["mine", "removable"] {
        shop.home.write(&format!("outside/{name}"), "secret");
    }
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let udp = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    let _unix = UnixListener::bind(outside.join("socket")).unwrap();
    let _datagrams = UnixDatagram::bind(outside.join("datagrams")).unwrap();
    if who == Who::Other {
        for path in [
            "outside/mine",
            "outside/removable",
            "outside/.ssh/id",
            "outside/socket",
            "outside/datagrams",
        ] {
            given_to_nobody(&shop.home.path().join(path));
        }
        open_to_nobody(&outside);
        open_to_nobody(&outside.join(".ssh"));
    }
    let command = match who {
        Who::Me => shop.command(&[]),
        Who::Other => shop.ordinary(&[]),
    };
    let mut client = Client::legacy(wrapped(&shop, &command, wrapper), "2025-11-25");
    let pid = client.pid();
    let args = json!({"outside": outside, "server": pid.to_string(), "port": port.to_string()});
    let answer = run(&mut client, "scripts/probe.py", &args);
    assert_eq!(answer["exit_code"], 0, "{answer}");
    let found: BTreeMap<String, bool> = serde_json::from_str(answer["stdout"].as_str().unwrap())
        .unwrap_or_else(|_| panic!("{answer}"));
    udp.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut buffer = [0; 8];
    let received = usize::from(udp.recv(&mut buffer).is_ok());
    assert!(found.len() >= 50, "{} probes", found.len());
    (answer["sandbox"].as_str().unwrap().to_owned(), found, received)
}

fn open_to_nobody(folder: &std::path::Path) {
    if is_root() {
        std::os::unix::fs::chown(folder, Some(65534), Some(65534)).unwrap();
    }
}

/// The server with a descriptor that its parent forgot to close, started through whatever else stands before it.
fn wrapped(shop: &Workshop, command: &Command, wrapper: Option<&str>) -> Command {
    let mut outer = shop.home.command("bash");
    if let Some(folder) = command.get_current_dir() {
        outer.current_dir(folder);
    }
    let script = format!("exec 9</etc/hostname 10</; exec {} \"$@\"", wrapper.unwrap_or_default());
    outer.args(["-c", &script, "bash"]).arg(command.get_program()).args(command.get_args());
    outer
}

/// What works in the whole sandbox, for every user.
const ALWAYS: &[&str] = &[
    "write cwd",
    "write private folder",
    "start what it wrote",
    "read the system",
    "read names",
    "read its own files",
    "null device",
    "random",
    "socket pair",
    "own limits",
    "close many files",
    "how much can be read",
    // What is not prevented: docs/scripts.md says so.
    "chmod outside",
];

fn worked(found: &BTreeMap<String, bool>) -> Vec<&str> {
    found.iter().filter(|(_, worked)| **worked).map(|(name, _)| name.as_str()).collect()
}

fn sorted(names: &[&'static str], more: &[&'static str]) -> Vec<&'static str> {
    let mut all = [names, more].concat();
    all.sort_unstable();
    all
}

/// The rung this machine gives by itself, as the doctor says.
fn rung() -> String {
    let (_, out, _) = finished(
        &mut Workshop::new().script("scripts/x.sh", "", "").command(&["doctor", "--json"]),
    );
    serde_json::from_str::<Value>(&out).unwrap()["sandbox"].as_str().unwrap().to_owned()
}

/// A rung without how its processes are ended, which depends on who runs the server.
fn confining(rung: &str) -> &str {
    rung.strip_suffix("+pid-namespace").unwrap_or(rung)
}

fn is_whole(rung: &str) -> bool {
    let version = confining(rung).strip_prefix("landlock-v");
    let version = version.and_then(|rest| rest.strip_suffix("+seccomp"));
    version.and_then(|version| version.parse::<u8>().ok()).is_some_and(|version| version >= 6)
}

// SCRIPT-12
#[test]
fn x04_the_whole_sandbox_holds_exactly_what_it_claims() {
    for who in [Who::Me, Who::Other] {
        let (claimed, found, received) = probed(who, "", &[], None);
        assert_eq!(confining(&claimed), confining(&rung()), "the doctor and the result agree");
        assert!(
            is_whole(&claimed),
            "this machine gives {claimed}; the table below is for all of it"
        );
        assert_eq!((worked(&found), received), (sorted(ALWAYS, &[]), 0), "{who:?}");
    }
}

#[test]
fn x04_a_declared_network_opens_the_network_and_nothing_else() {
    for who in [Who::Me, Who::Other] {
        let (_, found, received) = probed(who, "network: true", &[], None);
        let network = ["tcp", "udp", "netlink socket", "hand an open file over"];
        assert_eq!((worked(&found), received), (sorted(ALWAYS, &network), 1), "{who:?}");
    }
}

/// What a probe gets through to without a sandbox, as any user: where a probe fails then too, it proves nothing.
const OPEN: &[&str] = &[
    "write /tmp",
    "read outside",
    "read credentials",
    "write outside",
    "append outside",
    "truncate outside",
    "make outside",
    "move outside",
    "remove outside",
    "list outside",
    "list what /usr holds",
    "list proc",
    "read own proc",
    "read server's command line",
    "chmod outside",
    "set-id mode",
    "tcp",
    "udp",
    "unix socket",
    "abstract socket",
    "netlink socket",
    "signal the server",
    "the server's limits",
    "its parent's limits",
    "the server's priority",
    "its user's disk priority",
    "the server's processors",
    "the server's scheduling",
    "the server's disk priority",
    "datagram pair",
    "hand an open file over",
    "leave pages in a pipe",
    "leave pages of a file in a socket",
    "leave pages of a file in a pipe",
    "leave pages in two pipes",
    "rules of its own",
    "add to rules of its own",
    "apply rules of its own",
    "shared memory",
    "message queue",
    "semaphores",
    "keyring",
    "a file of 600 MB",
    "2000 open files",
    "gain privileges",
    "a sibling process",
    "a thread with files of its own",
    "files of its own",
    "files of its own once some are closed",
    "hide what it holds",
    "an encrypted folder",
    "a key of files",
    "flags of a file",
    "flags of a file in 32 bits",
    "flags of a file with more bits",
    "attributes of a file",
    "a snapshot",
    "a snapshot by a handle",
    "a subvolume",
    "a subvolume by a handle",
    "a pair of another family",
];

#[test]
fn x04_without_a_sandbox_the_same_probes_get_through() {
    let (claimed, found, received) = probed(Who::Me, "", &["scripts.sandbox=off"], None);
    assert_eq!((claimed.as_str(), received), ("none", 1));
    let open_to_root = [
        "read shadow",
        "packet socket",
        "mount",
        "file namespace",
        "chroot",
        "become another user",
        "capabilities",
        "trace the server",
        "read server's environment",
    ];
    let open = OPEN.iter().chain(open_to_root.iter().filter(|_| is_root()));
    for probe in open {
        assert!(found[*probe], "{probe} fails even without a sandbox, so it proves nothing");
    }
    assert!(!found["inherited descriptors"], "descriptors are closed all the same");
}

/// Makes the kernel say that it does not know these calls, as old ones do.
const WITHOUT_CALLS: &str = r#"
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
code = [(0x20, 0, 0, 0)]
for number in sys.argv.pop(1).split(","):
    code += [(0x15, 0, 1, int(number)), (0x06, 0, 0, 0x00050000 | 38)]
code += [(0x06, 0, 0, 0x7fff0000)]
program = b"".join(struct.pack("HBBI", *line) for line in code)
buffer = ctypes.create_string_buffer(program)
header = struct.pack("HL", len(code), ctypes.addressof(buffer))
if libc.prctl(22, 2, ctypes.create_string_buffer(header), 0, 0): sys.exit("no filter")
os.execv(sys.argv[1], sys.argv[1:])
"#;

fn without_landlock(shop: &Workshop, command: &Command) -> Command {
    shop.home.write("without.py", WITHOUT_CALLS);
    let file = shop.home.path().join("without.py");
    let wrapper = format!("/usr/bin/python3 {} 444", file.display());
    wrapped(shop, command, Some(&wrapper))
}

/// The same command where the kernel does not know these calls: 444 begins Landlock's rules, 317 is seccomp's.
pub(crate) fn without_calls(home: &Home, command: &Command, calls: &[u32]) -> Command {
    home.write("without.py", WITHOUT_CALLS);
    let calls: Vec<String> = calls.iter().map(ToString::to_string).collect();
    let calls = if calls.is_empty() { "9999".to_owned() } else { calls.join(",") };
    let mut outer = home.command("/usr/bin/python3");
    outer.arg(home.path().join("without.py")).arg(calls);
    outer.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        outer.envs(value.map(|value| (name, value)));
    }
    if let Some(folder) = command.get_current_dir() {
        outer.current_dir(folder);
    }
    outer
}

// SCRIPT-12
#[test]
fn x04_a_lesser_rung_is_named_and_required_refuses_it() {
    let shop = Workshop::new().script(
        "scripts/x.sh",
        "network: false",
        "cat ../outside; exec 3<>/dev/tcp/127.0.0.1/9 && echo connected\n",
    );
    shop.home.write("outside", "read\n");
    let mut client = Client::legacy(without_landlock(&shop, &shop.command(&[])), "2025-11-25");
    let answer = run(&mut client, "scripts/x.sh", &json!({}));
    let claimed = confining(answer["sandbox"].as_str().unwrap());
    assert_eq!(
        (claimed, &answer["stdout"]),
        ("seccomp", &json!("read\n")),
        "files are open, the network is not: {answer}"
    );
    assert!(answer["stderr"].as_str().unwrap().contains("Operation not permitted"), "{answer}");
    let shop = shop.set("scripts.sandbox=required");
    let mut client = Client::legacy(without_landlock(&shop, &shop.command(&[])), "2025-11-25");
    let message =
        refused(&mut client, &json!({"skill_path": "tool", "file": "scripts/x.sh", "args": {}}));
    assert!(message.contains("scripts.sandbox is `required`, and this machine gives seccomp only: files are not confined"), "{message}");
    let (_, out, _) = finished(&mut without_landlock(&shop, &shop.command(&["doctor", "--all"])));
    assert!(
        out.replace("+pid-namespace", "")
            .contains("sandbox of this machine: seccomp: files are not confined; required"),
        "{out}"
    );
    // The whole of it satisfies.
    assert_eq!(
        is_whole(&rung()),
        shop.client()
            .call("run_script", &json!({"skill_path": "tool", "file": "scripts/x.sh", "args": {}}))
            .json["sandbox"]
            .is_string()
    );
}

// SCRIPT-6
#[test]
fn x10_the_environment_is_the_list_and_no_folder_of_proc_gives_more() {
    for who in [Who::Me, Who::Other] {
        let shop = Workshop::new().script(
            "scripts/x.sh",
            "",
            "env -0 | sort -z | cut -z -d= -f1 | tr '\\0' ' '; echo; for p in /proc/[0-9]* /proc/self /proc/thread-self; do cat $p/environ $p/cmdline $p/maps $p/mem; ls $p/fd; done 2>/dev/null | wc -c\n",
        );
        let command = match who {
            Who::Me => shop.command(&[]),
            Who::Other => shop.ordinary(&[]),
        };
        let mut command = wrapped(&shop, &command, None);
        command.env("GITHUB_TOKEN", "canary");
        let answer = run(&mut Client::legacy(command, "2025-11-25"), "scripts/x.sh", &json!({}));
        // The last three are made by bash itself.
        assert_eq!(
            answer["stdout"], "GIT_CONFIG_NOSYSTEM HOME LANG PATH PWD SHLVL TMPDIR _ \n0\n",
            "{who:?}: {answer}"
        );
    }
}

#[test]
fn x09_bombs_are_contained_and_others_are_served() {
    let shop = Workshop::new()
        .script("scripts/fork.sh", MARK, "sleeper() { sleep $SKILL_ARG_MARK; }\nbomb() { sleeper & bomb & bomb; }\nbomb\n")
        .script("scripts/spin.sh", "", "for i in 1 2 3; do (while :; do :; done) & done; wait\n")
        .script("scripts/inodes.sh", "", "cd $HOME; for i in $(seq 20000); do : > f$i; done; mkdir -p closed/in; chmod 0 closed; echo full\n")
        .set("scripts.timeout_seconds=2")
        .set("scripts.grace_seconds=0");
    let mut client = shop.client();
    let mark = mark();
    let call = |file: &str, args: Value| json!({"name": "run_script", "arguments": {"skill_path": "tool", "file": file, "args": args}});
    let bomb = client.ask("tools/call", call("scripts/fork.sh", json!({"mark": mark})));
    let answer = client.answer(bomb);
    let answer: Value =
        serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(answer["exit_code"], 137, "{answer}");
    assert!(
        answer["stderr"]
            .as_str()
            .unwrap()
            .ends_with("[skills-mcp] Script killed: it had more than 256 processes."),
        "{answer}"
    );
    assert_eq!(marked(&mark), Vec::<String>::new());
    let spin = client.ask("tools/call", call("scripts/spin.sh", json!({})));
    for _ in 0..20 {
        assert!(!client.call("get_skill", &json!({"skill_path": "tool"})).is_error);
    }
    assert!(client.answer(spin).to_string().contains("timeout exceeded"));
    let filled = run(&mut client, "scripts/inodes.sh", &json!({}));
    assert!(filled["stdout"] == "full\n" || filled["exit_code"] == 137, "{filled}");
}

#[test]
fn x09_as_another_user_too_a_fork_bomb_ends_and_a_closed_folder_goes() {
    let shop = Workshop::new()
        .script("scripts/fork.sh", MARK, "bomb() { sleep $SKILL_ARG_MARK & bomb & bomb; }\nbomb\n")
        .script(
            "scripts/closed.sh",
            "",
            "mkdir -p $HOME/closed/in; chmod 0 $HOME/closed; echo $HOME\n",
        )
        .set("scripts.timeout_seconds=5");
    let mut client = Client::legacy(shop.ordinary(&[]), "2025-11-25");
    let mark = mark();
    let answer = run(&mut client, "scripts/fork.sh", &json!({"mark": mark}));
    assert!(answer["stderr"].as_str().unwrap().contains("more than 256 processes"), "{answer}");
    assert_eq!(marked(&mark), Vec::<String>::new());
    let place = run(&mut client, "scripts/closed.sh", &json!({}))["stdout"]
        .as_str()
        .unwrap()
        .trim()
        .to_owned();
    wait_until("the folder is gone", || !fs::exists(&place).unwrap());
}

#[test]
fn x09_a_script_with_too_many_threads_ends_where_no_limit_counts_them() {
    let shop = Workshop::new().script(
        "scripts/x.py",
        "",
        "import threading, time\nthreading.stack_size(65536)\nfor n in range(4000): threading.Thread(target=time.sleep, args=(20,), daemon=True).start()\ntime.sleep(20)\n",
    );
    let answer = shop.run("scripts/x.py");
    // The kernel's own limit comes first for a user who is not root, and on a machine so busy that the supervisor counts late.
    let stderr = answer["stderr"].as_str().unwrap();
    let counted = is_root() && stderr.contains("it had more than 1024 threads.");
    assert!(counted || stderr.contains("can't start new thread"), "{answer}");
}

#[test]
fn x09_processes_count_until_their_last_thread_ends() {
    let shop = Workshop::new().script(
        "scripts/x.py",
        "",
        "import ctypes, os, threading, time\nfor n in range(264):\n    if os.fork() == 0:\n        threading.Thread(target=time.sleep, args=(200,)).start()\n        ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)\ntime.sleep(200)\n",
    );
    let answer = shop.set("scripts.timeout_seconds=100").run("scripts/x.py");
    let said = answer["stderr"].as_str().unwrap();
    // A user who is not root may meet the kernel's own limit first.
    let refused = !is_root() && said.contains("Resource temporarily unavailable");
    assert!(said.contains("it had more than 256 processes.") || refused, "{answer}");
}

#[test]
fn x10_without_a_sandbox_the_servers_environment_stays_its_own() {
    let shop = Workshop::new()
        .script("scripts/x.sh", "", "cat /proc/$(ps -o ppid= -p $PPID | tr -d ' ')/environ /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep canary-sandbox-off; echo end\n")
        .set("scripts.sandbox=off");
    let mut command = shop.ordinary(&[]);
    command.env("GITHUB_TOKEN", "canary-sandbox-off");
    let answer = run(&mut Client::legacy(command, "2025-11-25"), "scripts/x.sh", &json!({}));
    assert_eq!((&answer["sandbox"], &answer["stdout"]), (&json!("none"), &json!("end\n")));
}

#[test]
fn x16_a_program_that_lends_its_owner_lends_nothing() {
    let shop = Workshop::new().script("scripts/x.sh", "", "find /usr/bin -perm -4000 -name 'su' -exec {} -c id nobody \\; 2>&1 < /dev/null; cp /usr/bin/id mine && chmod 6755 mine; ./mine -u; id -u\n");
    let answer =
        run(&mut Client::legacy(shop.ordinary(&[]), "2025-11-25"), "scripts/x.sh", &json!({}));
    let said = answer["stdout"].as_str().unwrap();
    let who = said.lines().last().unwrap();
    assert!(
        !said.contains("uid=0") && !said.lines().rev().take(2).any(|line| line != who),
        "{answer}"
    );
}

#[test]
fn x09_one_processor_is_left_to_the_server_and_a_script_cannot_take_it() {
    let shop = Workshop::new().script(
        "scripts/x.py",
        "",
        "import os\nprint(len(os.sched_getaffinity(0)))\ntry: os.sched_setaffinity(0, range(os.cpu_count()))\nexcept PermissionError: print('refused')\n",
    );
    let answer = run(&mut shop.client(), "scripts/x.py", &json!({}));
    let processors = std::thread::available_parallelism().unwrap().get();
    let expected = format!("{}\nrefused\n", (processors - 1).max(1));
    assert_eq!(answer["stdout"], expected, "{answer}");
}

#[test]
fn programs_copy_files_although_none_can_be_sent_without_a_copy() {
    let begin = "import os, shutil, socket\nopen('a', 'wb').write(os.urandom(3 << 20))\nshutil.copyfile('a', 'b')\nx, y = socket.socketpair()\nprint(x.sendfile(open('a', 'rb'), 0, 100), len(y.recv(1000)))\n";
    let shop = Workshop::new()
        .script("scripts/a.py", "", begin)
        .script("scripts/b.js", "", "const fs = require('fs'); fs.copyFileSync('a', 'c'); fs.createReadStream('a').pipe(fs.createWriteStream('d'));\n")
        .script("scripts/c.sh", "", "set -e\ncat a > e; cat a | cat > f; cp a g; cp --reflink=never --sparse=never a h; dd if=a of=i status=none; tar cf - a | tar xf - --transform s/a/j/; for f in b c d e f g h i j; do cmp a $f && echo -n $f; done\n");
    let mut client = shop.client();
    let python = run(&mut client, "scripts/a.py", &json!({}));
    assert_eq!(python["stdout"], "100 100\n", "{python}");
    let node = run(&mut client, "scripts/b.js", &json!({}));
    assert_eq!(node["exit_code"], 0, "{node}");
    let bash = run(&mut client, "scripts/c.sh", &json!({}));
    assert_eq!(bash["stdout"], "bcdefghij", "{bash}");
}

#[test]
fn node_and_python_and_bash_do_their_daily_work_inside() {
    let shop = Workshop::new()
        .script("scripts/a.js", "", "const fs = require('fs'); const cp = require('child_process'); fs.mkdirSync('out', {recursive: true}); fs.writeFileSync('out/a', 'x'); fs.chmodSync('out/a', 0o755); console.log(cp.execSync('echo child').toString().trim(), os = require('os').tmpdir().length > 3); new (require('worker_threads').Worker)('console.log(\"worker\")', {eval: true});\n")
        .script("scripts/b.py", "", "import subprocess, tempfile, threading, concurrent.futures, shutil, asyncio, helper\nwith tempfile.NamedTemporaryFile() as f: f.write(b'x')\nshutil.copy(__file__, 'copied.py')\nprint(subprocess.check_output(['echo', 'child']).decode().strip(), helper.WORD)\nasync def main():\n    p = await asyncio.create_subprocess_exec('true'); await p.wait()\nasyncio.run(main())\nwith concurrent.futures.ThreadPoolExecutor() as pool: print(list(pool.map(str, range(3))))\n")
        .script("scripts/c.sh", "", "set -euo pipefail\nf=$(mktemp); echo x > $f; cat <(echo substituted) \"$f\"; cat <<< here; sed -i s/x/y/ $f; cat $f; git init -q repo && cd repo && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline | wc -l; tar cf - . | wc -c > /dev/null; date +%Y > /dev/null; install -m 755 $f ../installed; chmod +x ../installed; true | xargs -r echo; cp -p $f kept; cp -a ../installed kept2; cp -a ../repo/.git kept3; cp -rp kept3 kept4; nice -n 1 true\n");
    shop.home.write("skills/tool/scripts/helper.py", "WORD = 'imported'\n");
    let mut client = shop.client();
    let js = run(&mut client, "scripts/a.js", &json!({}));
    assert_eq!(
        (&js["stdout"], &js["exit_code"]),
        (&json!("child true\nworker\n"), &json!(0)),
        "{js}"
    );
    let python = run(&mut client, "scripts/b.py", &json!({}));
    assert_eq!(python["stdout"], "child imported\n['0', '1', '2']\n", "{python}");
    let bash = run(&mut client, "scripts/c.sh", &json!({}));
    assert_eq!(bash["stdout"], "substituted\nx\nhere\ny\n1\n", "{bash}");
}
