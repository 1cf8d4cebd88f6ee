"""benchmarks/scoreboard.py: cells are measured once, and an interrupted run continues."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from nolana import StreamClassifier
from nolana.evaluate import progressive

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import scoreboard

ROWS = 3000
METHODS = "nolana; nolana, codes as numbers; HistGradientBoosting, retrained"


@pytest.fixture
def drawn(tmp_path):
    """Rows of a generator, as if MOA had drawn them."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(4, size=ROWS), rng.normal(size=ROWS)])
    y = ((X[:, 0] == 2) ^ (X[:, 1] > 0)).astype(int)
    np.savez(tmp_path / f"AGR_a_{ROWS}_1.npz", X=X, y=y, nominal=np.array([[0, 4]]))
    return X, y


@pytest.fixture
def run(drawn, tmp_path, monkeypatch, capsys):  # noqa: ARG001 (the rows must be there)
    def call(*options):
        own = ["--rows", str(ROWS), "--streams", "AGR_a", "--methods", METHODS, "--drawn", str(tmp_path)]
        cells = ["--cells", str(tmp_path / "cells.jsonl")]
        monkeypatch.setattr(sys, "argv", ["scoreboard.py", *own, *cells, *options])
        scoreboard.main()
        return capsys.readouterr().out

    return call


def measured(out):
    return re.findall(r"^  AGR_a, (.*): ", out, flags=re.MULTILINE)


def test_scoreboard_run_twice_measures_each_cell_once(run, tmp_path):
    first, again = run(), run("--picture", str(tmp_path / "picture.svg"))
    assert measured(first) == METHODS.split("; ")
    assert measured(again) == []
    assert again[again.index("\n| |") :] == first[first.index("\n| |") :]
    assert (tmp_path / "picture.svg").read_text().startswith("<?xml")


def test_scoreboard_after_a_torn_line_measures_that_cell_again(run, tmp_path):
    run()
    path = tmp_path / "cells.jsonl"
    text = path.read_text()
    path.write_text(text[: text.rindex('"method"') + 40])
    assert measured(run()) == ["HistGradientBoosting, retrained"]
    assert len(scoreboard.read(path)) == 3


def test_scoreboard_scores_are_those_of_progressive_validation(drawn, run, tmp_path):
    run()
    cell = json.loads((tmp_path / "cells.jsonl").read_text().split("\n")[1])
    X, y = drawn
    blocks = [(X[i : i + 1000], y[i : i + 1000]) for i in range(0, ROWS, 1000)]
    learner = StreamClassifier(random_state=1, categorical_features=[0])
    result = progressive(learner, blocks, metrics=["accuracy", "kappa_temporal"])
    assert cell["metrics"] == result.metrics
    assert cell["baselines"] == result.baselines
    assert cell["rows"] == cell["length"] == ROWS


def test_scoreboard_limit_stops_a_method_and_names_its_rows(run):
    out = run("--seconds", "0.000001")
    row = next(line for line in out.splitlines() if line.startswith("| HistGradientBoosting"))
    assert re.search(r"\(1,000: [\d.]+\)", row)
