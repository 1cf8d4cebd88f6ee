"""A served model with a lag: rows are learned with what their prediction knew, also after kill -9."""

import json

import numpy as np
import pandas as pd
import pytest

import commands
import nolana
from nolana import modelfile
from serving import Served

SMALL = ("--memory", "64KB")


def walk(n, seed=0):
    """Rows and their targets, a random walk plus a feature."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n).round(5)
    level = np.cumsum(rng.normal(size=n)).round(5)
    return [{"a": x, "b": y} for x, y in zip(a.tolist(), rng.normal(size=n).tolist(), strict=True)], (
        a + level
    ).tolist()


@pytest.fixture
def model(tmp_path):
    """A model file of 200 rows with a lag of 1."""
    X, y = walk(200)
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(x | {"y": t}) + "\n" for x, t in zip(X, y, strict=True)))
    words = ["learn", tmp_path / "s.jsonl", "--target", "y", "--model", tmp_path / "model.nolana", "--lag", 1, *SMALL]
    done = commands.call(*words, folder=tmp_path)
    assert done.code == 0, done.err
    return tmp_path / "model.nolana"


def as_table(X):
    return pd.DataFrame(X)


def state(path):
    """Of the estimator of a model file."""
    return nolana.load(path)._learner.state()


def same(first, second):
    return first.keys() == second.keys() and all(
        np.array_equal(first[name], second[name], equal_nan=True) for name in first
    )


def test_late_labels_are_learned_with_what_their_prediction_knew(model, tmp_path):
    """The service, and the library with `at_moment`: the same bits; and again after kill -9."""
    X, y = walk(40, seed=1)
    mine = nolana.load(model)
    with Served(tmp_path, "--keep-log") as served:
        predictions = [served.post("/predict", {"rows": [x], "id": f"row {i}"})[1] for i, x in enumerate(X[:10])]
        rows = [mine.at_moment(as_table([x])) for x in X[:10]]
        assert [answer["predictions"] for answer in predictions] == [mine.predict(row).tolist() for row in rows]
        served.learn(X[10:], y[10:])
        mine.learn(as_table(X[10:]), np.array(y[10:]))
        for i in range(5):  # labels alone
            assert served.post("/learn", {"id": f"row {i}", "label": y[i]})[0] == 200
        for i in range(5, 10):  # with the row
            served.learn([X[i]], [y[i]], id=f"row {i}")
        for row, target in zip(rows, y, strict=False):
            mine.learn(row, np.array([target]))
        served.kill()
    with Served(tmp_path, "--keep-log") as served:  # learns the log again
        before = served.get("/model")[1]
        assert served.stop().code == 0
    assert same(state(model), mine._learner.state())
    (tmp_path / "fetched").write_bytes(before)
    assert modelfile.read(tmp_path / "fetched").keys() == modelfile.read(model).keys()
    assert same(state(tmp_path / "fetched"), state(model))


def test_prediction_sent_again_keeps_its_first_moment(model, tmp_path):
    X, y = walk(20, seed=2)
    mine = nolana.load(model)
    row = mine.at_moment(as_table(X[:1]))
    with Served(tmp_path) as served:
        assert served.post("/predict", {"rows": X[:1], "id": "a"})[1]["stored"]
        served.learn(X[1:], y[1:])
        assert served.post("/predict", {"rows": X[:1], "id": "a"})[0] == 200  # a client that retries
        assert served.post("/predict", {"rows": X[1:2], "id": "a"})[0] == 409
        assert served.post("/learn", {"id": "a", "label": y[0]})[0] == 200
        assert served.stop().code == 0
    mine.learn(as_table(X[1:]), np.array(y[1:]))
    mine.learn(row, np.array(y[:1]))
    assert same(state(model), mine._learner.state())


def test_rows_without_a_prediction_are_learned_with_what_is_known_now(model, tmp_path):
    X, y = walk(20, seed=3)
    mine = nolana.load(model)
    with Served(tmp_path) as served:
        served.learn(X, y)
        assert served.stop().code == 0
    mine.learn(as_table(X), np.array(y))
    assert same(state(model), mine._learner.state())


@pytest.mark.parametrize("moment", [[1.0], ["a"], 7, [1e300] * 30])
def test_invalid_moment_is_refused_and_nothing_is_learned(model, tmp_path, moment):
    before = state(model)
    with Served(tmp_path) as served:
        status, answer = served.post(
            "/learn", {"rows": [{"a": 1.0, "b": 2.0, "nolana:moment": moment}], "labels": [1.0]}
        )
        assert status == 400, answer
        assert "moment" in answer["error"]
        assert served.stop().code == 0
    assert same(state(model), before)
