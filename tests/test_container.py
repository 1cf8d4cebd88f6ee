"""The Dockerfile: linted, and its steps run without Docker, on a copy of this machine's files that is thrown away.

Changes go to an overlay in a mount namespace of their own. Images are not pulled: all stages are this machine, whose
Python stands for that of the image.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.soak

# Overlay of / on a tmpfs, with the file systems of the kernel; $1 is the directory for it, $2 the script to run in it.
ENTER = """
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount -t proc proc "$1/root/proc"
for each in dev sys; do mount --rbind "/$each" "$1/root/$each"; done
exec chroot "$1/root" /bin/bash "$2"
"""


def instructions():
    """The keyword and the rest of each instruction, with continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", (REPO / "Dockerfile").read_text(), flags=re.MULTILINE)
    joined = re.sub(r"\\\n\s*", "", text)
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def only(keyword):
    (found,) = [rest for name, rest in instructions() if name == keyword]
    return found


def context(target):
    """The files that .dockerignore lets through."""
    lines = (REPO / ".dockerignore").read_text().splitlines()
    skipped = shutil.ignore_patterns(*[line[3:] for line in lines if line.startswith("**/")])
    for name in [line[1:] for line in lines if line.startswith("!")]:
        copy = shutil.copytree if (REPO / name).is_dir() else shutil.copy
        copy(REPO / name, target / name, **({"ignore": skipped} if (REPO / name).is_dir() else {}))


def test_hadolint_finds_nothing():
    lint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run(
        [lint, "--no-color", REPO / "Dockerfile"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_image_runs_without_privileges_and_has_a_health_check():
    stages = [i for i, (name, _) in enumerate(instructions()) if name == "FROM"]
    assert len(stages) == 2
    last = dict(instructions()[stages[-1] :])
    assert last["USER"] not in ("root", "0")
    assert {"HEALTHCHECK", "ENTRYPOINT", "EXPOSE", "VOLUME"} <= last.keys()


def build_script(source):
    """All steps of both stages as one program."""
    python = Path(sys.executable).resolve()
    lines = ["set -ex", f"ln -sf {shlex.quote(str(python))} /usr/local/bin/python"]
    lines += [f"chmod o+x {shlex.quote(str(folder))}" for folder in python.parents]  # every user of an image may run it
    for name, rest in instructions():
        if name == "RUN":
            lines.append(f"bash -ec {shlex.quote(rest)}")
        elif name == "WORKDIR":
            lines.append(f"mkdir -p {rest} && cd {rest}")
        elif name == "COPY" and not rest.startswith("--from="):  # the stages share their files
            where, _, to = rest.partition(" ")
            lines.append(f"cp -r {shlex.quote(str(source))}/{where} {to}")
        elif name == "ARG":
            lines.append("BUILDS=native")
        elif name == "ENV":
            lines.append(f"export {rest}")
    return lines


TRY = """
import fcntl, json, os, pwd, socket, struct, subprocess, sys, time, urllib.request
with socket.socket() as any_socket:  # in a network of its own: port 8000 is free there
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x41))  # SIOCSIFFLAGS: up, running
user, entry, health = json.loads(sys.argv[1])
as_user = {"user": int(user), "group": pwd.getpwuid(int(user)).pw_gid, "extra_groups": [], "cwd": "/"}
service = subprocess.Popen(entry, **as_user)
try:
    deadline = time.monotonic() + 120
    while subprocess.run(health, **as_user, capture_output=True).returncode:
        assert service.poll() is None and time.monotonic() < deadline
        time.sleep(0.2)
    assert os.stat(f"/proc/{service.pid}").st_uid == int(user)
    kinds = {"Content-Type": "application/json", "Authorization": "Bearer secret-of-the-test"}
    body = json.dumps({"rows": [{"a": 1.0}, {"a": 2.0}] * 10, "labels": ["no", "yes"] * 10, "id": "1"}).encode()
    request = urllib.request.Request("http://127.0.0.1:8000/learn", body, kinds)
    print(urllib.request.urlopen(request, timeout=30).status)
finally:
    service.terminate()
    code = service.wait(60)
assert code == 0, code
assert subprocess.run(health, **as_user, capture_output=True).returncode != 0
assert os.stat("/data/model.nolana").st_uid == int(user)
print("served")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting an overlay needs root")
def test_steps_of_the_dockerfile_build_a_service_that_learns(tmp_path):
    entry = json.loads(only("ENTRYPOINT")) + json.loads(only("CMD"))
    health = json.loads(only("HEALTHCHECK").partition(" CMD ")[2])
    (tmp_path / "context").mkdir()
    context(tmp_path / "context")
    secret = ["mkdir -p /run/secrets", "echo secret-of-the-test > /run/secrets/token", "chmod 644 /run/secrets/token"]
    arguments = shlex.quote(json.dumps([only("USER"), entry, health]))
    (tmp_path / "try.py").write_text(TRY)
    lines = [
        *build_script(tmp_path / "context"),
        *secret,
        "unset PYTHONPATH",
        f"unshare --net /opt/nolana/bin/python {tmp_path}/try.py {arguments}",
    ]
    (tmp_path / "steps").write_text("\n".join(lines))
    (tmp_path / "overlay").mkdir()
    done = subprocess.run(
        [
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "bash",
            "-c",
            ENTER,
            "enter",
            tmp_path / "overlay",
            tmp_path / "steps",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-5000:]
    assert done.stdout.endswith("200\nserved\n")
