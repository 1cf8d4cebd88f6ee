"""Running metrics: against scikit-learn, however blocks are cut, saved and restored."""

import copy
import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as oracle

from nolana import NolanaClassifier
from nolana.metrics import AUC, NAMES, R2, RMSE, Mean, Predictions, resolve
from nolana.metrics.quantiles import POINTS, Quantiles
from nolana.metrics.ranking import bins_of

CLASSIFIES = (
    "accuracy", "balanced_accuracy", "kappa", "kappa_temporal", "log_loss", "auc", "average_precision", "brier",
)  # fmt: skip
REGRESSES = ("rmse", "mae", "r2", "mase")


def logistic(scores):
    return NolanaClassifier(loss="logistic").probabilities(scores)


def classified(n, classes, seed, weighted=False):
    """Rows of a stream: at first nothing is known, then one class after another."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    scores = rng.normal(size=(n, classes)) + 1.5 * (truth[:, None] == np.arange(classes))
    if classes == 2:
        scores[:, 0] = -scores[:, 1]
    for c in range(classes):
        scores[: c + 1 + c * 3, c] = -np.inf
    weight = rng.uniform(0, 2, n) * (rng.random(n) > 0.2) if weighted else None
    return Predictions(np.array(list("pqrstu"))[truth], scores, np.array(list("pqrstu"))[:classes], weight, logistic)


def regressed(n, seed, weighted=False):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n) + 3
    weight = rng.uniform(0, 2, n) * (rng.random(n) > 0.2) if weighted else None
    return Predictions(truth, truth + rng.normal(size=n), weight=weight)


def rows_for(name, n, seed, weighted=False):
    if name in REGRESSES:
        return regressed(n, seed, weighted)
    return classified(n, 2 if name == "auc" else 6, seed, weighted)


def counted(name, parts):
    (metric,) = resolve([name])
    for part in parts:
        metric.update(part)
    return metric


def cut(rows, cuts):
    ends = [0, *sorted({c % (len(rows) + 1) for c in cuts}), len(rows)]
    return [rows.part(a, b) for a, b in pairwise(ends)]


def scaled_error(truth, predicted, sample_weight):
    here = np.ones(len(truth), dtype=bool) if sample_weight is None else sample_weight > 0
    y, w = truth[here], None if sample_weight is None else sample_weight[here][1:]
    own = oracle.mean_absolute_error(truth, predicted, sample_weight=sample_weight)
    return own / oracle.mean_absolute_error(y[1:], y[:-1], sample_weight=w)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CLASSIFIES + REGRESSES)
def test_as_scikit_learn(name, weighted):
    rows = rows_for(name, 700, 5, weighted)
    w = rows.weight
    value = counted(name, [rows]).value()
    if name in REGRESSES:
        expected = {
            "rmse": oracle.root_mean_squared_error,
            "mae": oracle.mean_absolute_error,
            "r2": oracle.r2_score,
            "mase": scaled_error,
        }[name](rows.truth, rows.scores, sample_weight=w)
    elif name == "accuracy":
        expected = oracle.accuracy_score(rows.truth, np.where(rows.known, rows.predicted, "?"), sample_weight=w)
    elif name == "kappa":
        said = np.where(rows.known, rows.predicted, "?")
        expected = oracle.cohen_kappa_score(rows.truth, said, sample_weight=w)
    elif name == "kappa_temporal":
        here = np.ones(len(rows), dtype=bool) if w is None else w > 0
        last = np.concatenate([["?"], rows.truth[here][:-1]])
        theirs = np.average(rows.truth[here] == last, weights=rows.weights[here])
        expected = 1 - (1 - np.average(rows.hits, weights=w)) / (1 - theirs)
    elif name == "balanced_accuracy":
        wrong = dict(pairwise("pqrstup"))
        said = np.where(rows.known, rows.predicted, [wrong[t] for t in rows.truth])
        expected = oracle.balanced_accuracy_score(rows.truth, said, sample_weight=w)
    elif name == "log_loss":
        p = rows.probabilities
        p = np.clip(p[np.arange(len(p)), np.searchsorted(rows.classes, rows.truth)], np.finfo(float).eps, 1)
        expected = np.average(-np.log(p), weights=w)
        later = slice(30, None)  # all classes are known: scikit-learn's own is defined
        ours = counted(name, [rows.part(30, len(rows))]).value()
        theirs = oracle.log_loss(
            rows.truth[later],
            rows.probabilities[later],
            labels=list("pqrstu"),
            sample_weight=None if w is None else w[later],
        )
        assert ours == pytest.approx(theirs, rel=1e-12)
    elif name == "average_precision":
        odds = bins_of(rows.probabilities)  # ties
        pairs = [(rows.truth == label, odds[:, c]) for c, label in enumerate(rows.classes)]
        expected = np.mean([oracle.average_precision_score(own, z, sample_weight=w) for own, z in pairs])
    elif name == "brier":
        own = rows.truth[:, None] == rows.classes
        expected = np.average(((rows.probabilities - own) ** 2).sum(axis=1) / 2, weights=w)
    else:
        f = rows.scores[:, 1].copy()
        second = rows.truth == "q"
        f[1:5] = -1e9  # one class alone was known
        f[0] = -1e10 if second[0] else 1e10  # nothing was
        expected = oracle.roc_auc_score(second, f, sample_weight=w)
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
@given(
    n=st.integers(1, 60),
    seed=st.integers(0, 100),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    weighted=st.booleans(),
)
def test_blocks_and_restarts_change_no_bit(name, n, seed, cuts, weighted):
    rows = rows_for(name, n, seed, weighted)
    whole = counted(name, [rows])
    (metric,) = resolve([name])
    for part in cut(rows, cuts):
        (resumed,) = resolve([name])
        resumed.restore(metric.state())
        metric = resumed
        metric.update(part)
    assert np.array_equal(metric.value(), whole.value(), equal_nan=True)
    assert plain(metric.state()) == plain(whole.state())


def plain(state):
    """As JSON; fails where the state is anything but dicts, lists, numbers, text, None and numeric arrays."""

    def array(value):
        assert isinstance(value, np.ndarray)
        assert value.dtype.kind in "fiub"
        return value.tolist()

    return json.dumps(state, default=array)


@pytest.mark.parametrize("name", CLASSIFIES + REGRESSES)
def test_nothing_counted_is_nan(name):
    assert np.isnan(resolve([name])[0].value())
    rows = rows_for(name, 5, 0)
    none = Predictions(rows.truth, rows.scores, rows.classes, np.zeros(5), rows.to_probabilities)
    assert np.isnan(counted(name, [none]).value())


def test_kappas_and_mase_of_the_last_row_alone():
    """The last label has kappa_temporal 0, the last value MASE 1, and chance kappa 0."""
    rng = np.random.default_rng(0)
    truth = np.repeat(rng.integers(0, 3, 50), 4)
    last = np.concatenate([[-1], truth[:-1]])
    rows = Predictions(truth, np.where(last[:, None] == np.arange(3), 1.0, 0.0), np.arange(3))
    rows.scores[0] = -np.inf
    assert counted("kappa_temporal", [rows]).value() == 0
    y = np.cumsum(rng.normal(size=200))
    scores = np.concatenate([y[:1], y[:-1]])  # the first row has no value before it, and counts as exact here
    assert counted("mase", [Predictions(y, scores)]).value() == pytest.approx(199 / 200, rel=1e-12)
    grid = np.indices((10, 10)).reshape(2, 100)  # each label is predicted for a tenth of each label
    chance = Predictions(grid[0], (grid[1][:, None] == np.arange(10)).astype(float), np.arange(10))
    assert counted("kappa", [chance]).value() == pytest.approx(0, abs=1e-12)


def test_kappas_and_mase_are_nan_if_nothing_changes():
    same = Predictions(np.zeros(5), np.ones((5, 1)), np.zeros(1))
    assert np.isnan(counted("kappa", [same]).value())
    assert counted("kappa_temporal", [same]).value() == 1  # the last label misses the first row
    assert np.isnan(counted("mase", [Predictions(np.ones(5), np.zeros(5))]).value())


def test_mase_of_several_targets_is_the_mean_of_their_values():
    y = np.cumsum(np.random.default_rng(0).normal(size=(60, 2)), axis=0)
    each = [counted("mase", [Predictions(y[:, t], np.zeros(60))]).value() for t in (0, 1)]
    assert counted("mase", [Predictions(y, np.zeros((60, 2)))]).value() == pytest.approx(np.mean(each), rel=1e-12)


def test_r2_far_from_zero_and_constant_targets():
    rng = np.random.default_rng(0)
    truth = 1e8 + rng.normal(size=2000)
    said = truth + 0.5 * rng.normal(size=2000)
    metric = R2()
    metric.update(Predictions(truth, said))
    assert metric.value() == pytest.approx(oracle.r2_score(truth, said), rel=1e-9)
    for said in (np.full(5, 2.0), np.arange(5.0)):
        metric = R2()
        metric.update(Predictions(np.full(5, 2.0), said))
        assert metric.value() == oracle.r2_score(np.full(5, 2.0), said)
    metric = R2()
    metric.update(Predictions(np.ones(1), np.ones(1)))
    assert np.isnan(metric.value())


def test_predictions_that_are_not_finite_are_errors():
    rows = Predictions(np.array([1.0, 2.0]), np.array([np.inf, np.nan]))
    assert not any(np.isfinite(counted(name, [rows]).value()) for name in ("rmse", "mae", "r2"))
    f = np.array([[np.nan, np.nan], [np.inf, np.inf], [-1.0, 1.0]])  # NaN: as -inf, no class was known
    assert counted("auc", [Predictions(np.array([0, 1, 1]), f, np.array([0, 1]))]).value() == 0.0


STREAMS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "rising": lambda rng, n: np.arange(n) / n + 0.1 * rng.normal(size=n),
    "falling": lambda rng, n: -np.arange(n) + 0.0 * rng.normal(size=n),
    "few values": lambda rng, n: rng.integers(0, 5, n).astype(float),
    "narrow": lambda rng, n: 5 + 1e-9 * rng.normal(size=n),
    "to and fro": lambda rng, n: np.where(np.arange(n) % 2, 1.0, -1.0) * rng.exponential(size=n),
}


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_auc_is_within_its_bound(kind, weighted):
    rng = np.random.default_rng(3)
    n = 40 * POINTS
    truth = (rng.random(n) < 0.4).astype(int)
    f = STREAMS[kind](rng, n)
    f = f + 0.7 * f.std() * truth if kind != "few values" else f + truth
    weight = rng.uniform(0.5, 1.5, n) if weighted else None
    metric = AUC()
    rows = Predictions(truth, np.stack([-f, f], axis=1), np.array([0, 1]), weight)
    for part in cut(rows, [1, 17, 5000, 5001, 40000]):
        metric.update(part)
    exact = oracle.roc_auc_score(truth, f, sample_weight=weight)
    assert abs(metric.value() - exact) <= metric.error_bound() + 1e-12
    assert metric.error_bound() <= (0.003 if weighted else 0.0015)
    other = Predictions(1 - truth, np.stack([f, -f], axis=1), np.array([0, 1]), weight)
    mirrored = counted("auc", [other])  # another side of each pair is kept: equal up to the errors
    assert abs(mirrored.value() - metric.value()) <= mirrored.error_bound() + metric.error_bound()
    state = metric.state()
    sides = (state["first"], state["second"])
    assert sum(level is not None for side in sides for level in side["levels"]) < 2 * np.log2(n)
    again = AUC()
    again.restore(copy.deepcopy(state))
    assert again.value() == metric.value()
    assert counted("auc", [rows]).value() == metric.value()


def test_auc_is_exact_while_rows_are_few():
    rng = np.random.default_rng(0)
    truth = np.arange(4 * POINTS - 2) % 2
    f = np.round(rng.normal(size=len(truth)), 2)
    metric = counted("auc", [Predictions(truth, np.stack([-f, f], axis=1), np.array([0, 1]))])
    assert metric.error_bound() == 0
    assert metric.value() == pytest.approx(oracle.roc_auc_score(truth, f), abs=1e-14)


@pytest.mark.parametrize("order", ["as drawn", "sorted"])
def test_shares_below_any_value_are_within_the_error(order):
    values = np.random.default_rng(1).normal(size=100_000)
    values = np.sort(values) if order == "sorted" else values
    seen = Quantiles()
    for i in range(0, len(values), 777):
        seen.add(values[i : i + 777], np.ones(len(values[i : i + 777])))
    kept, weights = seen.points()
    assert weights.sum() == len(values)
    assert len(kept) < POINTS * np.log2(len(values) / POINTS) + POINTS
    places = np.sort(values)
    true = np.arange(1, len(values) + 1) / len(values)
    known = np.append(0, np.cumsum(weights))[np.searchsorted(kept, places, side="right")] / len(values)
    assert 0 < np.abs(true - known).max() <= seen.error
    assert seen.error <= 1.1 * np.log2(len(values) / POINTS) / (4 * POINTS) + 1 / POINTS


def test_what_means_nothing_is_said_so():
    numbers, labels = regressed(5, 0), classified(40, 3, 0)
    for name in CLASSIFIES:
        with pytest.raises(ValueError, match=f"'{name}' is for classes, but the learner predicts numbers"):
            counted(name, [numbers])
    for name in REGRESSES:
        with pytest.raises(ValueError, match=f"'{name}' is for numbers, but the learner predicts classes"):
            counted(name, [labels])
    hinge = Predictions(labels.truth, labels.scores, labels.classes, learner="NolanaClassifier")
    for name in ("log_loss", "auc", "average_precision", "brier"):
        with pytest.raises(ValueError, match=f"'{name}' needs probabilities, but NolanaClassifier has none"):
            counted(name, [hinge])
    with pytest.raises(ValueError, match="must be a list"):
        resolve("accuracy")
    with pytest.raises(ValueError, match="has no update, value, state, restore"):
        resolve([type("Half", (), {"name": "half"})()])
    with pytest.raises(ValueError, match="may appear once; got rmse, rmse"):
        resolve(["rmse", RMSE()])


def test_a_state_of_another_shape_is_refused():
    for name, wrong in (
        ("balanced_accuracy", {"labels": ["a"], "sums": np.zeros((2, 2))}),
        ("r2", {"rows": 1, "origin": 0.0, "sums": [0.0]}),
        ("auc", {"first": Quantiles().state() | {"recent": np.zeros(3)}, "second": Quantiles().state()}),
        ("auc", {"first": Quantiles().state(), "second": Quantiles().state() | {"collapses": [1]}}),
        (
            "auc",
            {"first": Quantiles().state() | {"levels": [np.zeros((2, 3))], "collapses": [0]}, "second": {}},
        ),
    ):
        with pytest.raises(ValueError, match=r"must be|expected|at most"):
            resolve([name])[0].restore(wrong)


def test_a_mean_of_ones_own():
    class Worst(Mean):
        name = "within one"

        def losses(self, rows):
            return (np.abs(rows.errors) < 1).astype(float)

    rows = regressed(100, 0)
    assert counted_with(Worst(), rows) == np.mean(np.abs(rows.truth - rows.scores) < 1)


def counted_with(metric, rows):
    metric.update(rows)
    return metric.value()
