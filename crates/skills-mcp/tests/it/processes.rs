//! Whatever a script starts, and however that tries to stay, is gone when its result is sent (finding E3); and what its
//! processes may hold (E13).

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use skills_testkit::{Client, GitServerBehaviour, Remote, wait_until};

use crate::{
    git::refresh,
    support::run as finished,
    workshop::{MARK, WORST, Workshop, is_root, mark, marked, run},
};

/// A process that becomes another one all the time: a clone of its own memory goes on and it ends, beside its parent where
/// that is allowed, and without a signal to that.
const HOPPER: &str = r"
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>
static char stacks[64][16384] __attribute__((aligned(64)));
static volatile int turn;
static int hop(void *given) {
    for (;;) {
        turn = (turn + 1) % 64;
        char *stack = stacks[turn] + sizeof stacks[turn];
        if (clone(hop, stack, CLONE_VM | CLONE_PARENT, given) >= 0) _exit(0);
        if (clone(hop, stack, CLONE_VM, given) >= 0) _exit(0);
    }
}
int main(void) { setsid(); return hop(0); }
";

/// The server as the user of these tests and as another one.
fn servers(shop: &Workshop) -> [Client; 2] {
    [shop.command(&[]), shop.ordinary(&[])].map(|command| Client::legacy(command, "2025-11-25"))
}

/// Looks often, as one look may fall between two hops.
fn is_gone(mark: &str) -> bool {
    (0..20).all(|_| marked(mark).is_empty())
}

#[test]
fn e03_a_process_that_hops_from_clone_to_clone_is_caught() {
    let shop = Workshop::new()
        .script(
            "scripts/hop.sh",
            MARK,
            "for i in 1 2 3; do ./hopper $SKILL_ARG_MARK & done\nsleep 0.1\necho left\n",
        )
        .set("scripts.timeout_seconds=100");
    shop.home.write("hopper.c", HOPPER);
    let hopper = shop.project().join("hopper");
    let mut compiler = Command::new("cc");
    compiler.arg("-O1").arg(shop.home.path().join("hopper.c")).arg("-o").arg(&hopper);
    assert_eq!(finished(&mut compiler).0, 0, "a C compiler, as a build needs");
    for mut client in servers(&shop) {
        for _ in 0..5 {
            let mark = mark();
            let answer = run(&mut client, "scripts/hop.sh", &json!({"mark": mark}));
            assert!(is_gone(&mark), "{answer}");
            // It is ended as it should, or for processes that end faster than notice can be taken of them.
            let said = answer["stderr"].as_str().unwrap();
            assert!(answer["stdout"] == "left\n" || said.contains("256 processes"), "{answer}");
        }
    }
}

#[test]
fn e03_server_and_supervisor_killed_together_leave_no_process() {
    let shop = Workshop::new().script("scripts/worst.sh", MARK, WORST);
    for mut client in servers(&shop) {
        let mark = mark();
        let arguments =
            json!({"skill_path": "tool", "file": "scripts/worst.sh", "args": {"mark": mark}});
        client.ask("tools/call", json!({"name": "run_script", "arguments": arguments}));
        wait_until("it runs", || marked(&mark).len() >= 4);
        let server = client.pid().to_string();
        let supervisors = below(&server);
        assert!(!supervisors.is_empty());
        let killed = Command::new("kill").arg("-9").arg(&server).args(&supervisors).status();
        assert!(killed.unwrap().success());
        wait_until("no process is left", || marked(&mark).is_empty());
    }
}

/// The children of a process.
fn below(pid: &str) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let lists =
        tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Leaves a process in git's group and one in a session of its own, and knows no password that is right.
const LEAVING_HELPER: &str = "#!/bin/sh
sleep 100 > /dev/null 2>&1 &
setsid sleep 1 > /dev/null 2>&1 &
echo username=x
echo password=wrong
";

#[test]
fn e03_what_git_leaves_behind_is_ended_and_reaped_by_the_server() {
    let shop = Workshop::new().script("scripts/x.sh", "", "echo ran\n");
    let remote = Remote::with(&shop.home, "team", "//- skills/a.md\ntext\n");
    let server = remote.serve();
    server.behave(GitServerBehaviour::Password("good".into()));
    let helper = shop.home.path().join("helper");
    fs::write(&helper, LEAVING_HELPER).unwrap();
    fs::set_permissions(&helper, fs::Permissions::from_mode(0o755)).unwrap();
    shop.home.write(".gitconfig", format!("[credential]\n\thelper = {}\n", helper.display()));
    let mut client = Client::legacy(shop.command(&["--repo", &server.url()]), "2025-11-25");
    let pid = client.pid().to_string();
    for _ in 0..3 {
        let answer = refresh(&mut client).to_string();
        assert!(answer.contains("refuses"), "{answer}");
        // The statuses of its own processes are not taken from the code that waits for them.
        assert_eq!(run(&mut client, "scripts/x.sh", &json!({}))["stdout"], "ran\n");
    }
    wait_until("the server has no child left", || below(&pid).is_empty());
}

#[test]
fn e03_the_result_and_doctor_say_how_processes_are_ended() {
    let shop = Workshop::new().script("scripts/x.sh", "", "echo $$\n");
    let claimed = shop.run("scripts/x.sh");
    let (_, out, _) = finished(&mut shop.command(&["doctor", "--json"]));
    let doctor: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(doctor["sandbox"], claimed["sandbox"]);
    // In a namespace of its own a script has one of the first numbers.
    let number: u32 = claimed["stdout"].as_str().unwrap().trim().parse().unwrap();
    let namespace = claimed["sandbox"].as_str().unwrap().ends_with("+pid-namespace");
    assert!(!namespace || number < 10, "{claimed}");
    assert!(
        !is_root() || namespace || finished(Command::new("unshare").args(["--pid", "true"])).0 != 0
    );
}

#[test]
fn e03_a_signal_to_its_own_group_and_an_end_by_a_signal_are_told_as_they_are() {
    let shop = Workshop::new()
        .script("scripts/group.sh", "", "trap 'echo asked; exit 5' TERM\nkill 0\nsleep 100\n")
        .script("scripts/killed.sh", "", "echo before; kill -9 $$\n");
    for mut client in servers(&shop) {
        let group = run(&mut client, "scripts/group.sh", &json!({}));
        assert_eq!(
            (&group["stdout"], &group["exit_code"]),
            (&json!("asked\n"), &json!(5)),
            "{group}"
        );
        let killed = run(&mut client, "scripts/killed.sh", &json!({}));
        assert_eq!((&killed["stdout"], &killed["exit_code"]), (&json!("before\n"), &json!(137)));
    }
}

#[test]
fn e13_shared_memory_counts_against_a_limit() {
    let shop = Workshop::new().script(
        "scripts/shared.py",
        "",
        "import mmap, time\nheld = [mmap.mmap(-1, 512 << 20) for n in range(5)]\nfor one in held: one[0] = 1\ntime.sleep(300)\n",
    );
    for mut client in servers(&shop.set("scripts.timeout_seconds=200")) {
        let answer = run(&mut client, "scripts/shared.py", &json!({}));
        let said = answer["stderr"].as_str().unwrap();
        assert!(said.contains("shared memory held more than 2 GiB"), "{answer}");
    }
}

#[test]
fn e13_mappings_at_the_end_of_what_a_file_may_be_leave_the_limits_in_force() {
    // Together the three ends are more than a number of 64 bits holds.
    let shop = Workshop::new().script(
        "scripts/far.py",
        "",
        "import ctypes, os, time\n\
         libc = ctypes.CDLL(None)\n\
         libc.mmap.restype = ctypes.c_void_p\n\
         libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_int64]\n\
         for n in range(3):\n\
         \x20   file = os.memfd_create('x')\n\
         \x20   assert libc.mmap(None, 4096, 1, 1, file, (1 << 63) - 8192) != (1 << 64) - 1\n\
         \x20   os.close(file)\n\
         time.sleep(300)\n",
    );
    for mut client in servers(&shop.set("scripts.timeout_seconds=200")) {
        let answer = run(&mut client, "scripts/far.py", &json!({}));
        let said = answer["stderr"].as_str().unwrap();
        assert!(said.contains("shared memory held more than 2 GiB"), "{answer}");
    }
}

#[test]
fn e13_the_buffers_of_sockets_count_as_memory() {
    // None of them is filled: each counts as full, since the kernel does not say how full it is. Other tests may use up the
    // processes that a user may have.
    let shop = Workshop::new().script(
        "scripts/sockets.py",
        "",
        "import os, socket, time\n\
         def fork():\n\
         \x20   try: return os.fork()\n\
         \x20   except BlockingIOError: time.sleep(0.1)\n\
         \x20   return fork()\n\
         for n in range(24):\n\
         \x20   if fork() == 0: break\n\
         held = [socket.socketpair() for n in range(490)]\n\
         time.sleep(300)\n",
    );
    for mut client in servers(&shop.set("scripts.timeout_seconds=200")) {
        let answer = run(&mut client, "scripts/sockets.py", &json!({}));
        let said = answer["stderr"].as_str().unwrap();
        assert!(said.contains("held more than 4 GiB of memory"), "{answer}");
    }
}

#[test]
fn e13_what_the_kernel_keeps_of_mappings_counts_as_memory() {
    // Every second page of a mapping that no process fills is closed, so that each page is a mapping of its own.
    let shop = Workshop::new().script(
        "scripts/maps.py",
        "",
        "import ctypes, os, time\n\
         libc = ctypes.CDLL(None)\n\
         libc.mmap.restype = ctypes.c_void_p\n\
         pages = 50000\n\
         start = libc.mmap(None, ctypes.c_size_t(pages * 4096), 3, 0x22, -1, ctypes.c_long(0))\n\
         for page in range(0, pages, 2): libc.mprotect(ctypes.c_void_p(start + page * 4096), ctypes.c_size_t(4096), 0)\n\
         def fork():\n\
         \x20   try: return os.fork()\n\
         \x20   except BlockingIOError: time.sleep(0.1)\n\
         \x20   return fork()\n\
         for n in range(14):\n\
         \x20   if fork() == 0: break\n\
         time.sleep(300)\n",
    );
    for mut client in servers(&shop.set("scripts.timeout_seconds=200")) {
        let answer = run(&mut client, "scripts/maps.py", &json!({}));
        let said = answer["stderr"].as_str().unwrap();
        assert!(said.contains("held more than 4 GiB of memory"), "{answer}");
    }
}

#[test]
fn e13_no_socket_or_pipe_holds_more_than_it_is_counted_for() {
    let shop = Workshop::new().script(
        "scripts/large.py",
        "",
        "import fcntl, socket\n\
         one, other = socket.socketpair()\n\
         options = [socket.SO_SNDBUF, socket.SO_RCVBUF, 32, 33]\n\
         before = [one.getsockopt(socket.SOL_SOCKET, option) for option in options[:2]]\n\
         for option in options: one.setsockopt(socket.SOL_SOCKET, option, 8 << 20)\n\
         print(before == [one.getsockopt(socket.SOL_SOCKET, option) for option in options[:2]])\n\
         one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)\n\
         print(one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))\n\
         one.setblocking(False)\n\
         sent = 0\n\
         try:\n\
         \x20   while True: sent += one.send(bytes(4096))\n\
         except BlockingIOError: print(sent <= 208 << 10)\n\
         import os\n\
         try: fcntl.fcntl(os.pipe()[1], 1031, 1 << 20)\n\
         except PermissionError: print('refused')\n",
    );
    for mut client in servers(&shop) {
        let answer = run(&mut client, "scripts/large.py", &json!({}));
        assert_eq!(answer["stdout"], "True\n1\nTrue\nrefused\n", "{answer}");
    }
}

#[test]
fn e13_files_in_transit_between_processes_count_as_memory() {
    // They are empty: each counts as full. Without a network none can be sent (x04).
    let shop = Workshop::new().script(
        "scripts/transit.py",
        "network: true",
        "import os, socket, time\n\
         one, other = socket.socketpair()\n\
         for n in range(20):\n\
         \x20   file = os.memfd_create('x')\n\
         \x20   socket.send_fds(one, [b'x'], [file])\n\
         \x20   os.close(file)\n\
         time.sleep(300)\n",
    );
    for mut client in servers(&shop.set("scripts.timeout_seconds=200")) {
        let answer = run(&mut client, "scripts/transit.py", &json!({}));
        let said = answer["stderr"].as_str().unwrap();
        assert!(said.contains("held more than 4 GiB of memory"), "{answer}");
    }
}

/// Holds five times 500 MB in a thread: deleted files, or shared memory that is mapped and in no file table.
const HOLD: &str = "
import ctypes, mmap, os, threading, time
libc = ctypes.CDLL(None, use_errno=True)
os.chdir(os.environ['HOME'])
def deleted():
    file = os.open('f', os.O_CREAT | os.O_RDWR); os.unlink('f'); os.posix_fallocate(file, 0, 500 << 20)
def hold(one):
    held = [one() for n in range(5)]
    time.sleep(300)
def mapped(): return mmap.mmap(-1, 500 << 20)
def end_thread(): libc.syscall(60 if os.uname().machine == 'x86_64' else 93, 0)
";

#[test]
fn e13_what_a_process_holds_counts_until_its_last_thread_ends() {
    let ended = |kind: &str| {
        format!(
            "{HOLD}if os.fork() == 0:\n    threading.Thread(target=hold, args=({kind},)).start()\n    end_thread()\ntime.sleep(300)\n"
        )
    };
    let shop = Workshop::new().script("scripts/deleted.py", "", &ended("deleted")).script(
        "scripts/mapped.py",
        "",
        &ended("mapped"),
    );
    for mut client in servers(&shop.set("scripts.timeout_seconds=200")) {
        for file in ["scripts/deleted.py", "scripts/mapped.py"] {
            let answer = run(&mut client, file, &json!({}));
            let said = answer["stderr"].as_str().unwrap();
            assert!(said.contains("shared memory held more than 2 GiB"), "{answer}");
        }
    }
}

#[test]
fn e13_a_process_whose_files_cannot_be_measured_ends_the_run() {
    // The kernel closes /proc/PID of a program that its user may not read. Root reads that all the same.
    let hides = "cp /usr/bin/sleep $HOME/hidden; chmod 111 $HOME/hidden; $HOME/hidden 300\n";
    let shop = Workshop::new().script("scripts/x.sh", "", hides).set("scripts.timeout_seconds=200");
    let mut client = Client::legacy(shop.ordinary(&[]), "2025-11-25");
    let answer = run(&mut client, "scripts/x.sh", &json!({}));
    let said = answer["stderr"].as_str().unwrap();
    assert!(
        said.contains("Script killed: what its processes hold open could not be measured"),
        "{answer}"
    );
    // A process that has ended holds nothing, also while its parent does not ask for its end.
    let shop = Workshop::new().script("scripts/y.sh", "", "(sleep 0 & exec sleep 5); echo done\n");
    for mut client in servers(&shop) {
        assert_eq!(run(&mut client, "scripts/y.sh", &json!({}))["stdout"], "done\n");
    }
    // Without a sandbox programs may do so, and nothing is promised of them.
    let shop = Workshop::new()
        .script("scripts/z.sh", "", &hides.replace("300", "5; echo done"))
        .set("scripts.sandbox=off");
    let mut client = Client::legacy(shop.ordinary(&[]), "2025-11-25");
    assert_eq!(run(&mut client, "scripts/z.sh", &json!({}))["stdout"], "done\n");
}

/// Fills a folder with 3 GB, and moves it from where it will be measured to where that was done whenever a folder between the two
/// is opened. It ends where it is not ended.
const MOVES: &str = "
import ctypes, os, select, struct, time
os.chdir(os.environ['HOME'])
libc = ctypes.CDLL(None)
watch = libc.inotify_init1(0)
folders = {}
for n in range(10):
    for i in range(300): os.makedirs('n%d/%d' % (n, i))
    folders[libc.inotify_add_watch(watch, b'n%d' % n, 0x20)] = 'n%d' % n
def opened():
    found = []
    while not found:
        ready, _, _ = select.select([watch], [], [], 60)
        events = os.read(watch, 65536)
        while events:
            number, _, _, length = struct.unpack_from('iIII', events)
            events = events[16 + length:]
            if not length: found.append(folders[number])
    return found
order = []
while len(order) < 10: order += [name for name in opened() if name not in order]
first, middle, last = order[0], order[4], order[9]
os.mkdir(last + '/large')
at = last
for i in range(6):
    file = os.open(last + '/large/%d' % i, os.O_CREAT | os.O_RDWR)
    os.posix_fallocate(file, 0, 500 << 20)
    os.close(file)
moved = 0
while moved < 6:
    for name in opened():
        to = {middle: first, last: last}.get(name, at)
        if to != at:
            if to == last: time.sleep(0.08)
            os.rename(at + '/large', to + '/large')
            at = to
            moved += 1
print('moved', flush=True)
";

#[test]
fn e02_a_folder_that_is_moved_behind_the_measuring_counts() {
    let shop = Workshop::new().script("scripts/x.py", "", MOVES);
    for mut client in servers(&shop.set("scripts.timeout_seconds=200")) {
        let answer = run(&mut client, "scripts/x.py", &json!({}));
        let said = answer["stderr"].as_str().unwrap();
        assert!(
            said.contains("its private folder, deleted files and shared memory held"),
            "{answer}"
        );
    }
}

#[test]
fn e02_no_thread_hides_deleted_files_in_a_file_table_of_its_own() {
    let text = format!(
        "{HOLD}def apart():\n    print(libc.unshare(0x400), libc.syscall(436, 1 << 20, 1 << 20, 2), flush=True)\n    hold(deleted)\nthreading.Thread(target=apart).start()\n"
    );
    let shop = Workshop::new().script("scripts/x.py", "", &text);
    for mut client in servers(&shop.set("scripts.timeout_seconds=200")) {
        let answer = run(&mut client, "scripts/x.py", &json!({}));
        let said = answer["stderr"].as_str().unwrap();
        assert!(said.contains("deleted files and shared memory held more than 2 GiB"), "{answer}");
        assert_eq!(answer["stdout"], "-1 -1\n", "{answer}");
    }
}

#[test]
fn e13_a_limit_on_file_sizes_does_not_end_the_server() {
    let shop =
        Workshop::new().script("scripts/x.sh", "", "echo ran\n").set("analytics.enabled=true");
    let inner = shop.command(&[]);
    let mut limited = shop.home.command("bash");
    limited.current_dir(shop.project()).args(["-c", "ulimit -f 1; exec \"$@\"", "bash"]);
    limited.arg(inner.get_program()).args(inner.get_args());
    let mut client = Client::legacy(limited, "2025-11-25");
    for _ in 0..50 {
        assert!(!client.call("get_skill", &json!({"skill_path": "tool"})).is_error);
    }
    let (status, _, log) = client.close();
    assert!(status.success() && status.signal().is_none(), "{status} {log}");
}

#[test]
fn e13_a_script_never_runs_with_the_assets_of_another_version() {
    let text = "for f in $(dirname $0)/../assets/*; do read word < $f; echo $word; done\n";
    let shop = Workshop::new().script("scripts/x.sh", "", text);
    let (now, next) = (shop.home.skills().join("tool"), shop.home.path().join("next"));
    for (folder, word) in [(&now, "one"), (&next, "two")] {
        version(folder, word, text);
    }
    let mut client = shop.client();
    let done = AtomicBool::new(false);
    let (mut ran, mut refused) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &now, CWD, &next, RenameFlags::EXCHANGE).unwrap();
                thread::sleep(Duration::from_millis(40));
            }
        });
        let request = json!({"skill_path": "tool", "file": "scripts/x.sh", "args": {}});
        for _ in 0..40 {
            let reply = client.call("run_script", &request);
            let said = reply.json.get("stdout").and_then(Value::as_str).map(str::to_owned);
            match said {
                Some(said) => {
                    ran += 1;
                    let words: Vec<&str> = said.lines().collect();
                    let first = *words.first().unwrap_or(&"none");
                    let alike = words.len() == 201 && words.iter().all(|word| *word == first);
                    done.fetch_or(!alike, Ordering::Relaxed);
                    assert!(alike, "{words:?}");
                }
                None => refused += 1,
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(ran + refused, 40);
}

/// A script and two hundred assets that all say one word.
fn version(folder: &Path, word: &str, rest: &str) {
    fs::create_dir_all(folder.join("scripts")).unwrap();
    fs::create_dir_all(folder.join("assets")).unwrap();
    fs::write(folder.join("scripts/x.sh"), format!("echo {word}\n{rest}")).unwrap();
    for number in 0..200 {
        fs::write(folder.join(format!("assets/{number}.txt")), format!("{word}\n")).unwrap();
    }
}
