"""How the run keeps its clients off the network, and how it stops every process that they leave behind."""
import ctypes
import fcntl
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import time

MARK = "SKILLS_MCP_CLIENTS_ALONE"
SET_CHILD_SUBREAPER = 36
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 1


def without_network():
    """Start this program again in a network namespace that has a loopback only; warn where the system forbids it."""
    if os.environ.get(MARK):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            name = b"lo".ljust(16, b"\0")
            flags = struct.unpack("16xH14x", fcntl.ioctl(any_socket, GET_FLAGS, name + bytes(16)))[0]
            fcntl.ioctl(any_socket, SET_FLAGS, name + struct.pack("H14x", flags | UP))
        return
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    try:
        allowed = subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        allowed = False
    if allowed:
        os.environ[MARK] = "1"
        os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])
    print("warning: this system does not let the run take the network away; clients may call home", file=sys.stderr)


def adopt_orphans():
    """Make this process the parent of every orphan below it, so that a daemon of a client stays findable."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def below_us():
    """The ids of all processes that this process started, directly or through others."""
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found, left = [], [os.getpid()]
    while left:
        new = children.get(left.pop(), [])
        found += new
        left += new
    return found


def stop_all():
    """Stop every process below this one by its id: ask first, insist after three seconds."""
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        for process in below_us():
            try:
                os.kill(process, signal_number)
            except ProcessLookupError:
                pass
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    time.sleep(0.05)
            except ChildProcessError:
                return
