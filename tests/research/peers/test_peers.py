"""Methods of River and of MOA by name: the learners, and `nolana compare`."""

import importlib.util
import json
import shutil

import numpy as np
import pytest

from commands import call
from nolana import evaluate
from nolana.research.peers import Task, peer

RIVER = ["river:linear", "river:ARF", "river:AMF", "river:SRP", "river:HAT"]
NO_MOA = importlib.util.find_spec("capymoa") is None or shutil.which("java") is None


def rows(rng, n=300):
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] > 0, "up", "down")


def needs(library):
    if library == "river":
        pytest.importorskip("river", reason="River is not installed")
    elif NO_MOA:
        pytest.skip("CapyMOA or Java is not installed")


def accuracy(name, X, y):
    learner = peer(name).make(Task.of(X, y, regression=False), 0)
    result = evaluate.progressive(learner, [(X[i : i + 100], y[i : i + 100]) for i in range(0, len(y), 100)])
    assert learner.memory_bytes_ > 0
    return result.metrics["accuracy"]


@pytest.mark.parametrize("name", [*RIVER, "river:naive_bayes.GaussianNB"])
def test_a_classifier_of_river_learns_text_labels(name, rng):
    needs("river")
    assert accuracy(name, *rows(rng)) > 0.75


@pytest.mark.parametrize("name", ["moa:ARF", "moa:SRP", "moa:SAMkNN", "moa:HoeffdingTree"])
def test_a_classifier_of_moa_learns_text_labels(name, rng):
    needs("moa")
    assert accuracy(name, *rows(rng)) > 0.75


@pytest.mark.parametrize("name", ["river:linear", "river:ARF", "moa:ARF", "river:rules.AMRules"])
def test_a_regressor(name, rng):
    needs(name.partition(":")[0])
    X = rng.normal(size=(300, 3))
    y = 2 * X[:, 0]
    learner = peer(name).make(Task.of(X, y, regression=True), 0)
    result = evaluate.progressive(learner, [(X, y)])
    assert result.metrics["rmse"] < 2.0  # the deviation of y


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("river:", "is not a method of another library"),
        ("weka:J48", "is not a method of another library"),
        ("river:tree.Oak", "river:tree.Oak is unknown.*river:arf"),
        ("river:oak", "river:oak is unknown"),
        ("river:rules.AMRules", "AMRules of River is not a model for classification"),
        ("river:ensemble.BaggingClassifier", "cannot be made without arguments"),
    ],
)
def test_unknown_names(name, text, rng):
    needs("river")
    with pytest.raises(ValueError, match=text):
        peer(name).make(Task.of(*rows(rng), regression=False), 0)


def test_compare_shows_them_beside_nolana(tmp_path, rng):
    needs("river")
    X, y = rows(rng)
    table = "\n".join(",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), y.tolist(), strict=True))
    (tmp_path / "rows.csv").write_text("a,b,c,y\n" + table + "\n")
    names = "stream,river:linear,river:tree.HoeffdingTreeClassifier" + ("" if NO_MOA else ",moa:ARF")
    options = ["--target", "y", "--shuffles", "2", "--json", "--methods", names]
    done = call("compare", tmp_path / "rows.csv", *options, "--out", tmp_path / "out.png", folder=tmp_path)
    assert done.code == 0, done.err
    lines = {line["method"]: line for line in json.loads(done.out)}
    assert set(names.split(",")) <= set(lines)
    assert all(lines[name]["score"] > 0.7 for name in names.split(","))
    done = call("compare", tmp_path / "rows.csv", "--target", "y", "--methods", "river:oak", folder=tmp_path)
    assert done.code == 2
    assert "river:oak is unknown" in " ".join(done.err.split())


@pytest.mark.skipif(not NO_MOA, reason="CapyMOA is installed")
def test_a_library_that_is_missing_is_named(tmp_path):
    done = call("compare", "--methods", "moa:ARF", folder=tmp_path)
    assert done.code == 2
    assert "moa:ARF does not run" in " ".join(done.err.split())
