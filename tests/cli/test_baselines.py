"""Commands print the scores of the baselines beside that of the model, and what to do if the last row is better."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from nolana.cli.app import app


def invoke(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def lines(text):
    """Values by name; of a name with several lines the first."""
    found = {}
    for line in text.splitlines()[1:]:
        found.setdefault(line[:11].strip(), line[11:])
    return found


@pytest.fixture
def walk(tmp_path):
    """A random walk beside noise."""
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.normal(size=600))
    rows = zip(rng.normal(size=600), y, strict=True)
    path = tmp_path / "walk.csv"
    path.write_text("a,y\n" + "".join(f"{a:.4f},{t:.4f}\n" for a, t in rows))
    return path, np.array([float(f"{t:.4f}") for t in y])


@pytest.fixture
def rings(tmp_path):
    X = np.random.default_rng(0).normal(size=(600, 2))
    labels = np.where(np.hypot(*X.T) > 1.2, "far", "near")
    path = tmp_path / "rings.csv"
    path.write_text("a,b,kind\n" + "".join(f"{a:.4f},{b:.4f},{kind}\n" for (a, b), kind in zip(X, labels, strict=True)))
    return path, labels


def test_evaluate_names_the_last_value_that_is_better(walk):
    path, y = walk
    error = f"rmse {np.sqrt(np.mean(np.diff(y, prepend=0.0) ** 2)):.4g}"
    text = invoke("evaluate", path, "--target", "y")
    assert f"           last value  {error}\n" in text
    assert lines(text)["baselines"].startswith("mean        rmse ")
    known = "if labels are known before the next row"
    assert lines(text)["note"] == f"the last value alone has {error}; {known}, --lag 1 uses them"
    facts = json.loads(invoke("evaluate", path, "--target", "y", "--json", "--metrics", "mase,rmse"))
    assert facts["baselines"].keys() == {"mean", "last value"}
    assert facts["baselines"]["last value"]["mase"] == pytest.approx(1, abs=0.01)


def test_evaluate_scores_baselines_with_the_same_delay(walk):
    path, y = walk
    text = invoke("evaluate", path, "--target", "y", "--delay", 2)
    known = np.concatenate([np.zeros(3), y[:-3]])
    assert f"last value  rmse {np.sqrt(np.mean((y - known) ** 2)):.4g}\n" in text
    assert lines(text)["note"].endswith("--lag 3 uses it")


def test_learn_resumes_its_baselines_and_inspect_shows_them(rings, tmp_path):
    path, labels = rings
    table = path.read_text().splitlines(keepends=True)
    path.write_text("".join(table[:301]))
    model, whole = tmp_path / "m.nolana", tmp_path / "whole.nolana"
    invoke("learn", path, "--target", "kind", "--model", model)
    path.write_text("".join(table))
    text = invoke("learn", path, "--target", "kind", "--model", model)
    last = f"last label      accuracy {100 * np.mean(labels[1:] == labels[:-1]) * 599 / 600:.2f} %"
    assert last in text
    assert "note" not in lines(text)
    assert "majority class  accuracy " in lines(invoke("inspect", model))["baselines"]
    assert last in invoke("inspect", model)
    invoke("learn", path, "--target", "kind", "--model", whole)
    runs = [json.loads(invoke("inspect", each, "--json"))["run"] for each in (model, whole)]
    assert runs[0]["baselines"] == runs[1]["baselines"]


def test_a_score_that_ranks_rows_has_no_baselines(rings):
    assert "baselines" not in lines(invoke("evaluate", rings[0], "--target", "kind", "--metrics", "auc"))


def test_compare_names_the_last_value_that_is_better_than_every_method(walk, tmp_path):
    base = ["compare", walk[0], "--target", "y", "--methods", "PA", "--out", tmp_path / "p.png"]
    note = "The last value alone has rmse "
    assert note in invoke(*base, "--in-order")
    assert note not in invoke(*base, "--shuffles", 1)
