"""The examples of the guide run on Spark; as ``py`` they are left out by the test of all pages, which has no Java."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "cluster.md"


@pytest.mark.usefixtures("spark")
def test_the_examples_of_the_guide_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    _, _, after = GUIDE.read_text().partition("\n## On Apache Spark\n")
    section, _, _ = after.partition("\n## ")
    blocks = re.findall(r"^```py\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        # Relative paths of Spark are those of the directory in which its session was started.
        placed = re.sub(r'"(incoming|checkpoint)"', lambda match: repr(str(tmp_path / match[1])), block)
        exec(compile(placed, str(GUIDE), "exec"), names)
    assert names["result"].rows == names["learner"].model.n_rows_ == 8000
    assert names["result"].metrics["accuracy"] > 0.9
    assert "probability" in capsys.readouterr().out
