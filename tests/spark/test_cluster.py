"""Spark with two executor processes: what is moved in a round, and that nothing else differs from one process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from spark_sessions import need_java

SUPPORT = Path(__file__).parents[1] / "support"
DEADLINE = 600  # seconds, also on a busy machine


def test_two_executors_move_the_bytes_of_the_guide(tmp_path):
    """The state of a landmark learner is about 8 (m d + m (m + 11)) bytes; docs/guides/cluster.md."""
    need_java()
    from spark_cluster import FEATURES, LANDMARKS, PARTS, ROWS, ROWS_PER_ROUND

    state = 8 * (LANDMARKS * FEATURES + LANDMARKS * (LANDMARKS + 11))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])}
    words = [sys.executable, SUPPORT / "spark_cluster.py", tmp_path]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    rounds = ROWS // ROWS_PER_ROUND
    assert np.shape(found["sent"]) == (rounds, 2)  # each of two executors got the leader in each round
    received = sorted(found["received"])[-rounds:]  # stages whose tasks return parts; others return rows of leaders
    for sent, back in zip(found["sent"], received, strict=True):
        assert sum(sent) + back == pytest.approx(state * (2 + PARTS), rel=0.05)
    assert [r["bytes_sent"] for r in found["rounds"]] == pytest.approx([state] * rounds, rel=0.05)
    assert found["difference"] < 1e-8
