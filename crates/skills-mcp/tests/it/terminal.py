# Runs a program on a pseudo-terminal, as a person would at a keyboard, and prints as JSON what it showed and how it ended.
#
#   terminal.py COLUMNS SECONDS STEPS PROGRAM ARGUMENT…
#
# STEPS is a JSON list of [text, keys]: once the terminal shows the text, the keys are typed.
import fcntl, json, os, pty, select, signal, struct, sys, termios, time

columns, seconds, steps = int(sys.argv[1]), float(sys.argv[2]), json.loads(sys.argv[3])
pid, terminal = pty.fork()
if pid == 0:
    # As on a person's terminal: a run in the background of a shell inherits ignored signals.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execv(sys.argv[4], sys.argv[4:])
shown, searched, end = "", 0, time.monotonic() + seconds
while time.monotonic() < end:
    if not select.select([terminal], [], [], 0.1)[0]:
        continue
    try:
        read = os.read(terminal, 65536)
    except OSError:
        read = b""
    if not read:
        break
    shown += read.decode(errors="replace")
    while steps and steps[0][0] in shown[searched:]:
        searched = shown.index(steps[0][0], searched) + len(steps[0][0])
        os.write(terminal, steps.pop(0)[1].encode())
else:
    os.kill(pid, signal.SIGKILL)
status = os.waitpid(pid, 0)[1]
ended = {"code": os.WEXITSTATUS(status)} if os.WIFEXITED(status) else {"signal": os.WTERMSIG(status)}
print(json.dumps({"shown": shown.replace("\r\n", "\n"), "left": steps, **ended}))
