"""Save, load, continue: no bit of any score or state differs, for every learner, wherever it is cut; so with pickle."""

import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nolana
from conftest import same_state
from nolana import (
    NolanaClassifier,
    NolanaRegressor,
    OnlineNystroem,
    StreamClassifier,
    StreamRegressor,
    experts,
    rivals,
)
from nolana.errors import ModelFileError
from nolana.estimators.calibration import OnlineCalibration
from nolana.experts.spectral import Proposal

ROWS = 140


def own_kernel(a, b):
    return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1))


class OwnPolicy:
    """The first landmark goes to every row that is far from it."""

    def __eq__(self, other):
        return type(self) is type(other)

    __hash__ = object.__hash__

    def propose(self, x, distances, landmarks, counts, threshold):
        return Proposal(0, x, counts[0] + 1) if distances[0] > 4 else None


GIVEN = {"kernel": own_kernel, "landmarks": OwnPolicy()}
STARTS = np.random.default_rng(5).normal(size=(12, 3))
CLASSIFIERS = [
    {},
    {"optimizer": "sgd"},
    {"loss": "logistic", "threshold": 0.0},
    {"scale": True, "threshold": np.inf},
    {"scale": True, "kernel": "polynomial", "degree": 2, "optimizer": "sgd", "learning_rate": 0.01},
    {"kernel": "laplacian", "landmarks": "fixed", "gamma": 0.3},
    {"landmarks": "weighted", "threshold": 0.5},
    {"landmarks": "expiring", "threshold": 0.5},
    {"landmarks": "window", "novelty": 0.2},
    {"landmarks": "window", "initial_landmarks": STARTS},
    {"landmarks": "expiring", "initial_landmarks": STARTS, "optimizer": "sgd", "solver": "exact", "threshold": 0.5},
    {"kernel": "linear"},
    {"kernel": "cosine", "random_state": 2**60 % 2**32},
    {"initial_landmarks": STARTS},
    {"optimizer": "sgd", "solver": "exact", "threshold": 0.5},
    {"optimizer": "sgd", "solver": "rank2", "rank": 0.8, "threshold": 0.5},
    {"optimizer": "sgd", "solver": "randomized", "rank": 0.8, "refit": "paper", "threshold": 0.5},
    {"optimizer": "sgd", "solver": "exact", "refit": "none", "threshold": 0.5, "initial_landmarks": STARTS},
    {"optimizer": "sgd", "refit": "paper", "threshold": 0.5},
    {"kernel": own_kernel},
    {"landmarks": GIVEN["landmarks"], "optimizer": "sgd", "schedule": "sqrt"},
]
REGRESSORS = [
    {},
    {"center": False},
    {"scale": True},
    {"optimizer": "sgd", "loss": "epsilon_insensitive"},
    {"landmarks": "weighted"},
]
MAPS = [
    {},
    {"scale": True, "rank": 4},
    {"solver": "rank2", "rank": 0.5, "threshold": 0.1},
    {"kernel": own_kernel},
    {"landmarks": "weighted"},
    {"landmarks": "expiring", "solver": "exact"},
    {"landmarks": "window"},
]
STREAMS = [
    {},
    {"memory": 40_000, "random_state": 5},
    {"experts": [experts.Bins(fast=False, relevance=False), experts.Landmarks(policy="window", most=7)]},
]
VARIANTS = {
    "PassiveAggressive": [{}, {"variant": "PA-II"}],
    "BPA": [{}, {"projection": "nearest"}],
    "BSGD": [{}, {"maintenance": "project"}, {"maintenance": "remove", "kernel": "polynomial"}],
}


def named(kind, parameters):
    shown = ",".join(f"{k}={v}" for k, v in parameters.items() if not hasattr(v, "shape") and not callable(v))
    return f"{kind.__name__}({shown or len(parameters)})"


def rival_cases():
    for name, method in rivals.catalogue().items():
        for task in ("classification", "regression")[: 2 if method.regressor else 1]:
            for variant in VARIANTS.get(name, [{}]) if task == "classification" else [{}]:
                made = rivals.at_equal_budget(name, n_landmarks=10, n_features=3, task=task, **variant)
                for gamma in (None, 0.4) if hasattr(made, "gamma") else (None,):
                    width = {} if gamma is None else {"gamma": gamma}
                    yield type(made), made.get_params() | width | {"random_state": 3}


CASES = [
    *((NolanaClassifier, {"n_landmarks": 12} | p) for p in CLASSIFIERS),
    *((NolanaRegressor, {"n_landmarks": 12} | p) for p in REGRESSORS),
    *((OnlineNystroem, {"n_landmarks": 12} | p) for p in MAPS),
    *((kind, {"memory": "64KB"} | p) for kind in (StreamClassifier, StreamRegressor) for p in STREAMS),
    (StreamClassifier, {"memory": "64KB", "class_weight": "balanced"}),
    (StreamClassifier, {"memory": "64KB", "class_weight": {"a": 2.0, "ä": 0.5}}),
    *rival_cases(),
]


def rows(seed, kind):
    """Three classes, the second from row 4 on, and a fourth in the second half; or a number; or nothing."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, 3))
    if kind is OnlineNystroem:
        return x, None
    if "Regressor" in kind.__name__:
        return x, 3 + x[:, 0] * x[:, 1]
    y = (x[:, 0] * x[:, 1] > 0).astype(int) + (x[:, 2] > 0.8) + 1
    y[:4] = 1
    y[ROWS // 2 :: 9] = 0
    return x, np.array(["fourth", "a", "second", "ä"])[y]


def learn(model, x, y):
    if y is None:
        return model.partial_fit(x).transform(x)
    return model.learn(x, y)


def reload(model, path):
    model.save(path)
    needed = {name: GIVEN[name] for name in GIVEN if getattr(model, name, None) == GIVEN[name]}
    return nolana.load(path, **needed)


def assert_same(a, b):
    assert same_state(a._learner.state(), b._learner.state())
    plain = {k: v for k, v in vars(a).items() if k not in ("_learner", "_targets", "_began_with")}
    for name, value in plain.items():
        other = vars(b)[name]
        if isinstance(value, np.ndarray):
            assert value.dtype == other.dtype, name
            assert np.array_equal(value, other), name
        else:
            assert value == other, name
    assert vars(b).keys() == vars(a).keys()
    assert_same_targets(vars(a).get("_targets"), vars(b).get("_targets"))


def assert_same_targets(one, two):
    """Labels, means of targets, counts of classes, calibration; also what is not in a file but follows from it."""
    assert type(one) is type(two)
    if isinstance(one, OnlineCalibration):
        one, two = one.record(), two.record()
    elif type(one).__module__.startswith("nolana.estimators"):
        one, two = vars(one), vars(two)
    if isinstance(one, np.ndarray):
        assert np.array_equal(one, two)
    elif isinstance(one, dict):
        assert one.keys() == two.keys()
        for key in one:
            assert_same_targets(one[key], two[key])
    else:
        assert one == two


@pytest.mark.parametrize(("kind", "parameters"), CASES, ids=lambda v: v.__name__ if isinstance(v, type) else "")
def test_every_learner_continues_bit_for_bit(kind, parameters, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.safetensors"

    @settings(max_examples=4)
    @given(seed=st.integers(0, 2**32 - 1), cut=st.one_of(st.integers(1, 12), st.integers(1, ROWS - 1)))
    def check(seed, cut):
        x, y = rows(seed, kind)
        first, later = (slice(0, cut), slice(cut, ROWS))
        one = kind(**parameters)
        learn(one, x[first], None if y is None else y[first])
        two = reload(one, path)
        assert type(two) is kind
        assert_same(one, two)
        three = pickle.loads(pickle.dumps(two))
        assert path.read_bytes() == (reload(three, path), path.read_bytes())[1]  # the same model is the same file
        scores = [learn(model, x[later], None if y is None else y[later]) for model in (one, two, three)]
        for other in scores[1:]:
            assert np.array_equal(scores[0], other, equal_nan=True)
        for other in (two, three):
            assert_same(one, other)

    check()


def test_every_estimator_is_covered():
    from nolana.estimators.loading import classes

    assert {kind.__name__ for kind, _ in CASES} == set(classes())


def test_what_was_fitted_is_kept(tmp_path):
    import pandas

    x, y = rows(0, NolanaClassifier)
    frame = pandas.DataFrame(x, columns=["a", "b", "c"])
    model = NolanaClassifier(n_landmarks=5, max_iter=3, shuffle=True, random_state=np.random.RandomState(7))
    model.fit(frame, y)
    again = reload(model, tmp_path / "m")
    assert again.n_iter_ == 3
    assert list(again.feature_names_in_) == ["a", "b", "c"]
    assert np.array_equal(again.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        again.learn(frame.rename(columns={"a": "z"}), y)
    # The random state went on to where it was: the next fit draws the same.
    assert np.array_equal(again.fit(frame, y).decision_function(frame), model.fit(frame, y).decision_function(frame))


def test_parameters_changed_after_the_first_row_do_not_change_the_learner(tmp_path):
    x, y = rows(1, NolanaClassifier)
    model = NolanaClassifier(n_landmarks=12).partial_fit(x[:50], y[:50]).set_params(n_landmarks=3, kernel="linear")
    with pytest.raises(ModelFileError, match=r"not written: kernel=.linear. was .rbf. .* set kernel back"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    model.set_params(n_landmarks=12, kernel="rbf", max_iter=3)
    again = reload(model, tmp_path / "m")
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.learn(x[50:], y[50:]), model.learn(x[50:], y[50:]), equal_nan=True)
    assert len(again.landmarks_) == 12


def test_classes_announced_but_never_seen(tmp_path):
    x, _ = rows(2, NolanaClassifier)
    model = NolanaClassifier(n_landmarks=5).partial_fit(x[:1], [7], classes=[9, 8, 7])
    again = reload(model, tmp_path / "m")
    for m in (model, again):
        m.learn(x[1:40], np.where(x[1:40, 0] > 0, 8, 7))
    assert np.array_equal(again.decision_function(x), model.decision_function(x))
    assert list(again.classes_) == [7, 8, 9]


LABELS = [
    *(np.arange(3).astype(kind) for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">i4")),
    np.array([2**62, 2**62 + 1, -5]),
    np.array([2**63 + 1, 5], dtype=np.uint64),
    np.array([False, True]),
    np.array(["x", "yy", ""], dtype="<U9"),
    np.array(["ß", "\U0001f600"], dtype=">U2"),
    np.array(["one", "two"], dtype=object),
    np.array([1, 2.0], dtype=object),
]


@pytest.mark.parametrize("labels", LABELS, ids=lambda v: str(v.dtype))
def test_labels_keep_their_kind(labels, tmp_path):
    x = np.random.default_rng(0).normal(size=(30, 2))
    model = NolanaClassifier(n_landmarks=5)
    model.learn(x, labels[np.arange(30) % len(labels)])
    again = reload(model, tmp_path / "m")
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(x).tolist() == model.predict(x).tolist()
    assert np.array_equal(model.learn(x, model.predict(x)), again.learn(x, again.predict(x)))


def test_labels_that_widened_are_still_told_apart(tmp_path):
    """int64 and uint64 have float64 in common, which cannot hold these labels; the model still knows them."""
    x = np.random.default_rng(0).normal(size=(30, 2))
    model = NolanaClassifier(n_landmarks=5)
    model.learn(x, np.where(x[:, 0] > 0, 2**60 + 1, 3))
    model.learn(x[:2], np.array([2**63 + 1, 3], dtype=np.uint64))
    again = reload(model, tmp_path / "m")
    for m in (model, again):
        m.learn(x, np.where(x[:, 0] > 0, 2**60 + 1, 3))
    assert len(model.classes_) == len(again.classes_) == 3


BOTH = {
    "newton": (NolanaClassifier, {"n_landmarks": 12}),
    "projectron": (rivals.ProjectronClassifier, {"budget": 12}),
    "bpa": (rivals.BPAClassifier, {"budget": 12, "projection": "nearest"}),
    "fogd": (rivals.FOGDClassifier, {"n_components": 9, "random_state": 0}),
}
REFERENCE = """
import pathlib, sys, numpy as np, nolana
from nolana import NolanaClassifier
from nolana.research.rivals import *
folder, (x, y) = pathlib.Path(sys.argv[1]), np.load(sys.argv[1] + "/rows.npz").values()
for name in sys.argv[2:]:
    model = nolana.load(folder / f"{name}.core")
    np.save(folder / f"{name}.core.npy", model.learn(x[90:], y[90:]))
    model = type(model)(**model.get_params())
    model.learn(x[:90], y[:90])
    model.save(folder / f"{name}.reference")
    np.save(folder / f"{name}.reference.npy", model.learn(x[90:], y[90:]))
print(nolana.backend_name())
"""


def test_a_file_of_one_backend_is_read_by_the_other(tmp_path):
    """From equal states core and reference agree to 1e-7 while they learn on."""
    x = np.random.default_rng(3).normal(size=(160, 3))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    np.savez(tmp_path / "rows.npz", x=x, y=y)
    mine = {}
    for name, (kind, parameters) in BOTH.items():
        model = kind(**parameters)
        model.learn(x[:90], y[:90])
        model.save(tmp_path / f"{name}.core")
        mine[name] = model.learn(x[90:], y[90:])
    command = [sys.executable, "-c", REFERENCE, str(tmp_path), *BOTH]
    environment = os.environ | {"NOLANA_BACKEND": "reference"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert (nolana.backend_name(), done.stdout) == ("core", "reference\n"), done.stderr
    for name in BOTH:
        assert np.allclose(np.load(tmp_path / f"{name}.core.npy"), mine[name], rtol=1e-7, atol=1e-7), name
        model = nolana.load(tmp_path / f"{name}.reference")
        theirs = np.load(tmp_path / f"{name}.reference.npy")
        assert np.allclose(model.learn(x[90:], y[90:]), theirs, rtol=1e-7, atol=1e-7), name


def test_saving_while_another_thread_learns(tmp_path):
    """Every file is of a moment between two rows: its learner and its centre have seen the same."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20000, 3))
    y = x[:, 0] + 5
    model = NolanaRegressor(n_landmarks=10, regularization=0.01)
    model.learn(x[:10], y[:10])
    thread = threading.Thread(target=lambda: [model.learn(x[i : i + 1], y[i : i + 1]) for i in range(10, 20000)])
    thread.start()
    counts = []
    while thread.is_alive() or not counts:
        again = reload(model, tmp_path / "m")
        assert again._targets.weight == again.n_rows_
        counts.append(again.n_rows_)
    thread.join(60)
    assert counts == sorted(counts)
