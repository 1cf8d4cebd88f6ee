"""An MLflow server in a child, and programs that talk to it in processes of their own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

DEADLINE = 180  # seconds for a server to start, or for a program
QUIET = {
    "DO_NOT_TRACK": "true",
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def mlflow_process(*words, folder, health, **environment):
    """`mlflow WORDS` on a free port; yields its address when it answers, and ends it with its children."""
    address = f"http://127.0.0.1:{(port := free_port())}"
    with (folder / f"{words[0]}.log").open("w+") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "mlflow", *map(str, words), "--host", "127.0.0.1", "--port", str(port)],
            env=os.environ | QUIET | environment,
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            deadline = time.monotonic() + DEADLINE
            while not answers(address + health):
                assert child.poll() is None, Path(output.name).read_text()
                assert time.monotonic() < deadline, Path(output.name).read_text()
                time.sleep(0.1)
            yield address
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait(DEADLINE)


def answers(address):
    try:
        with urllib.request.urlopen(address, timeout=5) as response:
            return response.status == 200
    except (urllib.error.URLError, OSError):
        return False


def post(address, body):
    request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def program(code, folder, address, *arguments):
    """The output of a Python program in another process."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | QUIET | {"MLFLOW_TRACKING_URI": address},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
