"""The client and the curl lines of the guide run against a service."""

import json
import re
import subprocess
from pathlib import Path

import commands
import nolana
from serving import Served

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "serve.md").read_text()
ADDRESS = "127.0.0.1:8000"


def block(kind):
    return re.search(rf"^```{kind}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)[1]


def test_the_clients_of_the_guide(tmp_path, capsys):
    lines = ["when,pages,seconds,country,returns"]
    lines += [f"2024-04-{1 + i % 28:02d}T08:00:00,{i % 7},{i % 90}.5,{('uk', 'fr')[i % 2]},{('no', 'yes')[i % 3 > 0]}"
              for i in range(300)]  # fmt: skip
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    words = ["learn", tmp_path / "visits.csv", "--target", "returns", "--model", tmp_path / "model.nolana"]
    assert commands.call(*words, folder=tmp_path).code == 0
    rows = [{"pages": i, "seconds": 1.5, "country": "uk", "returns": "yes"} for i in range(20)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Served(tmp_path) as served:
        here = f"{served.host}:{served.port}"
        client = block("py").replace(ADDRESS, here)
        for _ in range(2):  # the second time everything is a duplicate
            exec(compile(client, "serve.md", "exec"), {})
            lines = block("sh").replace("curl ", "curl --silent --show-error --fail-with-body ").replace(ADDRESS, here)
            script = ["bash", "-e", "-x", "-c", lines]
            done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, (done.stdout, done.stderr)
        served.stop()
    assert nolana.load(tmp_path / "model.nolana").n_rows_ == 300 + 2 + 1 + 20
    assert nolana.load(tmp_path / "copy.nolana").n_rows_ == 323
    assert "yes" in capsys.readouterr().out
