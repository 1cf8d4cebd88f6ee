"""Faults for `commands.call(before=...)`: functions at the top of a module, so that a child can import them."""

import itertools
import os
import resource
import signal
import sys
import threading
import time


def die_in_third_write(at):
    """Kill the process in its third write of a model: "before fsync", "before rename" or "after rename"."""
    name = "fsync" if "fsync" in at else "replace"
    real, count = getattr(os, name), 0

    def deadly(*arguments):
        nonlocal count
        count += 1
        last = count == (5 if name == "fsync" else 3)  # each write flushes the file and its folder
        if last and "before" in at:
            os.kill(os.getpid(), signal.SIGKILL)
        real(*arguments)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(os, name, deadly)


def fill_disk():
    """No file may grow beyond 2,000 bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def become_nobody():
    """Give up the rights of root, for which every directory is writable."""
    if os.geteuid() == 0:
        os.setuid(65534)


def serve_as_nobody():
    """The same for a service; what its sockets load is loaded before, for nobody may not be able to read it."""
    "localhost".encode("idna")
    become_nobody()


def fill(number):
    """Standard output (1) or error (2) is a disk that is full."""
    os.dup2(os.open("/dev/full", os.O_WRONLY), number)


def close_streams(*numbers):
    """Standard input (0), output (1) or error (2) are closed, as by ``<&-``."""
    for number in numbers:
        os.close(number)
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)


def lose_reader():
    """Nobody reads what is written to standard output."""
    read, write = os.pipe()
    os.close(read)
    os.dup2(write, 1)


def jump_clock():
    """The clock of the day jumps by ten years, forth and back, at each look at it."""
    real, jumps = time.time, itertools.cycle((0.0, 3e8, -3e8))
    time.time = lambda: real() + next(jumps)
    time.time_ns = lambda: int(1e9 * time.time())


def limit_files(path):
    """While there is a file at the path, no file may grow: the disk is full."""

    def watch():
        while True:
            full = os.path.exists(path)
            resource.setrlimit(
                resource.RLIMIT_FSIZE, (4096 if full else resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )
            time.sleep(0.005)

    threading.Thread(target=watch, daemon=True).start()
