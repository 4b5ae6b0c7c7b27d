#!/usr/bin/env python3
"""The tee runs an MCP server for a client and writes down every line that passes between the two.

Usage: tee.py FOLDER SERVER [ARGUMENT...]

Each tee writes FOLDER/<its process id>.jsonl, one JSON list per line: [seconds, "client" or "server", the line].
"""
import json
import os
import subprocess
import sys
import threading
import time


def copy(side, source, sink, record):
    """Copy the lines of `source` to `sink` and record each before the receiver can react to it."""
    for line in source:
        record.write(json.dumps([time.time(), side, line.decode(errors="replace")]) + "\n")
        try:
            sink.write(line)
            sink.flush()
        except OSError:
            break
    try:
        sink.close()
    except OSError:
        pass


def main():
    folder, server = sys.argv[1], sys.argv[2:]
    record = open(f"{folder}/{os.getpid()}.jsonl", "a", buffering=1)
    child = subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    threading.Thread(target=copy, args=("client", sys.stdin.buffer, child.stdin, record), daemon=True).start()
    copy("server", child.stdout, sys.stdout.buffer, record)
    os._exit(child.wait())


if __name__ == "__main__":
    main()
