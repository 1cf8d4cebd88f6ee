"""The children of the tests come from a process that can be forked safely."""

import os
from multiprocessing import forkserver

import pytest

from commands import call


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="the system does not list the threads of a process")
def test_the_fork_server_runs_one_thread(tmp_path):
    assert call("--version", folder=tmp_path).code == 0
    assert len(os.listdir(f"/proc/{forkserver._forkserver._forkserver_pid}/task")) == 1
