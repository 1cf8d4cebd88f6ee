"""kill -9 of the driver of a stream: the model file ends with the bytes of an undisturbed run."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

from conftest import effort
from spark_sessions import need_java

SUPPORT = Path(__file__).parents[1] / "support"
KILLS = effort(thorough=3, endurance=10)
PLACES = ("learning", "writing", "committing")
DEADLINE = 300  # seconds for one driver, also on a busy machine


def write_rows(folder):
    """One file for each batch; Spark takes them by their times."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    for i in range(KILLS + 1):
        x = rng.normal(size=(300, 2)).round(2)
        lines = [f"{a},{b},{'same' if a * b > 0 else 'other'}\n" for a, b in x.tolist()]
        path = folder / f"{i:02}.csv"
        path.write_text("".join(lines))
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))


def drive(folder, *kill):
    """Run the application; its Java process ends with it."""
    words = [sys.executable, SUPPORT / "spark_driver.py", folder, *map(str, kill)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])}
    with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
        driver = subprocess.Popen(words, start_new_session=True, env=environment, stdout=out, stderr=err)
        try:
            driver.wait(timeout=DEADLINE)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(driver.pid, signal.SIGKILL)
    return driver.returncode, (folder / "out").read_text(), (folder / "err").read_text()


def test_kills_change_no_byte_of_the_model(tmp_path):
    need_java()
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    for folder in (undisturbed, killed):
        write_rows(folder / "rows")
    code, out, err = drive(undisturbed)
    assert code == 0, err
    assert out.startswith(f"{300 * (KILLS + 1)} ")
    for i in range(KILLS):
        code, _, err = drive(killed, i, PLACES[i % len(PLACES)])
        assert code == -signal.SIGKILL, err
    code, again, err = drive(killed)
    assert code == 0, err
    assert again == out
    assert (killed / "model").read_bytes() == (undisturbed / "model").read_bytes()
    assert not list(killed.glob(".model*"))  # neither a temporary file nor a lock is left
