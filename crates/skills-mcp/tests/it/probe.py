# Tries from inside a run what a script might, and prints as JSON what worked. sandbox.rs says what should.
import ctypes, json, os, resource, socket, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
outside, server, port = os.environ["SKILL_ARG_OUTSIDE"], int(os.environ["SKILL_ARG_SERVER"]), int(os.environ["SKILL_ARG_PORT"])
found = {}
def probe(name, attempt):
    try:
        attempt()
        found[name] = True
    except BaseException as error:
        found[name] = False
def must(result):
    if result < 0: raise OSError(ctypes.get_errno())
def read(path): open(path, "rb").read(1)
def write(path, mode="wb"): open(path, mode).write(b"x")
def call(*arguments): must(libc.syscall(*arguments))
def connect(family, kind, address):
    with socket.socket(family, kind) as s:
        s.settimeout(2)
        s.connect(address)
def send():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s: s.sendto(b"out", ("127.0.0.1", port))
def started(path):
    write(path, "wb"); open(path, "w").write("#!/bin/sh\nexit 0\n"); os.chmod(path, 0o755); subprocess.run([path], check=True)
def big_file():
    with open("big", "wb") as f: os.ftruncate(f.fileno(), 600 << 20)
def many_files():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    files = [open("/dev/null") for _ in range(2000)]
def capabilities():
    data = ctypes.create_string_buffer(24)
    call(125, ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0)), data)
    effective, permitted, inheritable, *high = struct.unpack("6I", data.raw)
    if not any((effective, permitted, inheritable, *high)): raise OSError("none")
def handed():
    a, b = socket.socketpair()
    socket.send_fds(a, [b"x"], [0])
def spliced():
    page = ctypes.create_string_buffer(b"x")
    must(libc.vmsplice(os.pipe()[1], ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(page), 1)), ctypes.c_ulong(1), 0))
def with_pipes(attempt):
    handles = [*os.pipe(), *os.pipe()]
    try: attempt(*handles)
    finally:
        for handle in handles: os.close(handle)
def sent():
    a, b = socket.socketpair()
    with a, b, open(__file__) as file: os.sendfile(a.fileno(), file.fileno(), 0, 1)
def moved(full, into, *_):
    with open(__file__) as file: must(libc.splice(file.fileno(), None, into, None, ctypes.c_size_t(1), 0))
def doubled(full, into, _, other):
    os.write(into, b"x")
    must(libc.tee(full, other, ctypes.c_size_t(1), 0))
def datagram():
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    a.sendto(b"out", outside + "/datagrams")
def allowed(*arguments):
    if libc.syscall(*arguments) < 0 and ctypes.get_errno() == 1: raise OSError("not permitted")
def number(x86, arm): return x86 if os.uname().machine == "x86_64" else arm
def shared():
    made = libc.shmget(0, 4096, 0o1600); must(made); libc.shmctl(made, 0, None)
def messages():
    made = libc.msgget(0, 0o1600); must(made); libc.msgctl(made, 0, None)
def semaphores():
    made = libc.semget(0, 1, 0o1600); must(made); libc.semctl(made, 0, 0)
def unknown(n):
    if libc.syscall(n, -1, b"", 0, 0, 0) < 0 and ctypes.get_errno() == 38: raise OSError("not there")
def sibling():
    made = libc.syscall(number(56, 220), 0x8000 | 17, 0, 0, 0, 0)
    if made == 0: os._exit(0)
    must(made)
def paired():
    try: socket.socketpair(socket.AF_INET, socket.SOCK_STREAM)
    except OSError as error:
        if error.errno == 1: raise
def commanded(command):
    with open("commanded", "w") as file: allowed(number(16, 29), file.fileno(), ctypes.c_ulong(command), None)
home = os.environ["HOME"]
probe("write cwd", lambda: write("made"))
probe("write private folder", lambda: write(home + "/made"))
probe("start what it wrote", lambda: started(home + "/tool"))
probe("read the system", lambda: read("/usr/bin/env"))
probe("list what /usr holds", lambda: os.listdir("/usr"))
probe("read names", lambda: read("/etc/passwd"))
probe("read its own files", lambda: read(os.path.dirname(__file__) + "/../assets/a.txt"))
probe("change its own files", lambda: write(os.path.dirname(__file__) + "/../assets/a.txt"))
probe("add to its own files", lambda: write(os.path.dirname(__file__) + "/new"))
probe("null device", lambda: write("/dev/null"))
probe("random", lambda: read("/dev/urandom"))
probe("socket pair", lambda: socket.socketpair())
probe("write /tmp", lambda: (write(tmp := "/tmp/skills-mcp-probe-" + str(os.getpid())), os.unlink(tmp)))
probe("read outside", lambda: read(outside + "/mine"))
probe("read outside through a link", lambda: (os.symlink(outside + "/mine", "link"), read("link")))
probe("read outside through a hard link", lambda: (os.link(outside + "/mine", "hard"), read("hard")))
probe("read credentials", lambda: read(outside + "/.ssh/id"))
probe("list outside", lambda: os.listdir(outside))
probe("write outside", lambda: write(outside + "/mine"))
probe("append outside", lambda: write(outside + "/mine", "ab"))
probe("truncate outside", lambda: os.truncate(outside + "/mine", 0))
probe("make outside", lambda: os.mkdir(outside + "/new"))
probe("read shadow", lambda: read("/etc/shadow"))
probe("read own proc", lambda: read("/proc/self/status"))
probe("read server's environment", lambda: read("/proc/%d/environ" % server))
probe("read server's command line", lambda: read("/proc/%d/cmdline" % server))
probe("list proc", lambda: os.listdir("/proc"))
probe("chmod outside", lambda: os.chmod(outside + "/mine", 0o640))
probe("set-id mode", lambda: os.chmod("made", 0o4755))
probe("set an attribute", lambda: os.setxattr("made", "user.x", b"1"))
probe("tcp", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)))
probe("udp", send)
probe("unix socket", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, outside + "/socket"))
probe("abstract socket", lambda: socket.socket(socket.AF_UNIX))
probe("netlink socket", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
probe("packet socket", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
probe("signal the server", lambda: os.kill(server, 0))
probe("trace the server", lambda: must(libc.ptrace(0x4206, server, 0, 0)))
probe("read the server's memory", lambda: call(310, server, 0, 0, 0, 0, 0))
probe("own limits", lambda: (resource.setrlimit(resource.RLIMIT_CORE, (0, 0)), os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0))))
probe("own processors", lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))
probe("the server's limits", lambda: resource.prlimit(server, resource.RLIMIT_NOFILE))
probe("its parent's limits", lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE))
# These run without a sandbox and as root too, so none may change anything but the server of this very test: what could
# mean everybody is asked with a value that the kernel refuses for itself.
probe("the server's priority", lambda: os.setpriority(os.PRIO_PROCESS, server, os.getpriority(os.PRIO_PROCESS, server)))
probe("its user's disk priority", lambda: allowed(number(251, 30), 3, 0, 7 << 13))
probe("the server's processors", lambda: os.sched_setaffinity(server, os.sched_getaffinity(server)))
probe("the server's scheduling", lambda: os.sched_setscheduler(server, os.SCHED_OTHER, os.sched_param(0)))
probe("the server's disk priority", lambda: call(number(251, 30), 1, server, (2 << 13) | 4))
probe("datagram pair", datagram)
probe("hand an open file over", handed)
probe("leave pages in a pipe", spliced)
probe("leave pages of a file in a socket", sent)
probe("leave pages of a file in a pipe", lambda: with_pipes(moved))
probe("leave pages in two pipes", lambda: with_pipes(doubled))
probe("rules of its own", lambda: call(444, 0, 0, 1))
probe("add to rules of its own", lambda: unknown(445))
probe("apply rules of its own", lambda: unknown(446))
probe("shared memory", shared)
probe("message queue", messages)
probe("semaphores", semaphores)
probe("set an attribute of an open file", lambda: os.setxattr(os.open("made", os.O_RDWR), "user.x", b"1"))
for n in (463, 466, 467, 469): probe("new call %d" % n, lambda: unknown(n))
probe("a sibling process", sibling)
# The kernel refuses such a thread for another reason, as it would run on this one's stack.
probe("a thread with files of its own", lambda: allowed(number(56, 220), 0x10000, 0, 0, 0, 0))
probe("files of its own", lambda: must(libc.unshare(0x400)))
probe("files of its own once some are closed", lambda: call(436, 1 << 20, 1 << 20, 2))
probe("close many files", lambda: call(436, 1 << 20, 1 << 20, 0))
probe("hide what it holds", lambda: must(libc.prctl(4, 0, 0, 0, 0)))
# With no argument the kernel refuses these commands for another reason, and with its upper half set as without.
commands = {"an encrypted folder": 0x800c6613, "a key of files": 0xc0506617, "flags of a file": 0x40086602, "flags of a file in 32 bits": 0x40046602, "attributes of a file": 0x401c5820, "a snapshot": 0x50009401, "a subvolume": 0x5000940e, "a snapshot by a handle": 0x50009417, "a subvolume by a handle": 0x50009418}
for name, command in commands.items(): probe(name, lambda: commanded(command))
probe("flags of a file with more bits", lambda: commanded(1 << 40 | 0x40086602))
probe("how much can be read", lambda: commanded(0x541b))
probe("a pair of another family", paired)
probe("keyring", lambda: call(250, 0, -3, 1))
probe("io_uring", lambda: call(425, 8, ctypes.create_string_buffer(120)))
probe("a file of 600 MB", big_file)
probe("3 GB of memory", lambda: bytearray(3 << 30))
probe("2000 open files", many_files)
probe("core dumps", lambda: must(-1) if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0 else None)
probe("gain privileges", lambda: must(-1) if libc.prctl(39, 0, 0, 0, 0) == 1 else None)
probe("capabilities", capabilities)
probe("inherited descriptors", lambda: must(-1) if not any(os.path.exists("/dev/fd/%d" % n) and not n in (0, 1, 2) for n in (9, 10)) else None)
probe("move outside", lambda: os.rename(outside + "/mine", outside + "/moved"))
probe("move in from outside", lambda: os.rename(outside + "/mine", "stolen"))
probe("remove outside", lambda: os.unlink(outside + "/removable"))
probe("chroot", lambda: must(-1) if subprocess.run([sys.executable, "-c", "import os; os.chroot('.')"], stderr=subprocess.DEVNULL).returncode else None)
# Last what leaves little to try afterwards.
probe("mount", lambda: (must(libc.mount(b"none", home.encode(), b"tmpfs", 0, None)), must(libc.umount(home.encode()))))
probe("file namespace", lambda: must(libc.unshare(0x00020000)))
probe("become another user", lambda: os.setuid(12345))
probe("user namespace", lambda: must(libc.unshare(0x10000000)))
json.dump(found, sys.stdout)
