"""The scores of the baselines beside that of a learner, against loops over the rows."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolana import StreamClassifier, StreamRegressor
from nolana.cli.options import words
from nolana.evaluate import Evaluation, progressive
from nolana.evaluate.baseline_scores import ROWS_AT_ONCE, advice
from nolana.evaluate.baselines import LastLabel, LastTarget, MajorityClass, RunningMean
from nolana.metrics import NAMES, OF_NUMBERS, Mean
from nolana.metrics.registry import METRICS

LABELS = np.array(["no", "yes", "perhaps"])


class Constant:
    """Predicts one class or number, and learns nothing."""

    def __init__(self, classes=None):
        if classes is not None:
            self.classes_ = np.asarray(classes)

    def learn(self, X, y, sample_weight=None):
        return self.scores(X)

    def scores(self, X):
        return np.tile(np.arange(len(self.classes_), 0.0, -1), (len(X), 1)) if hasattr(self, "classes_") else X[:, 0]

    def probabilities(self, scores):
        return scores / scores.sum(axis=1, keepdims=True)


def blocks(y, weight, cuts):
    ends = [0, *sorted({cut % (len(y) + 1) for cut in cuts}), len(y)]
    for a, b in pairwise(ends):
        if a < b:
            yield (np.zeros((b - a, 1)), y[a:b]) if weight is None else (np.zeros((b - a, 1)), y[a:b], weight[a:b])


def last_hits(y, weight, delay):
    """Row by row: which labels are those of the last row of positive weight at least `delay` + 1 rows before."""
    hits = []
    for t in range(len(y)):
        known = [y[i] for i in range(max(0, t - delay)) if weight[i] > 0]
        hits.append(bool(known) and known[-1] == y[t])
    return np.array(hits, dtype=float)


def same(one, two):
    """Whether two states have the same bits."""
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))
    numbers = isinstance(one, float | np.ndarray) and np.asarray(one).dtype.kind == "f"
    return np.array_equal(one, two, equal_nan=numbers)


@given(
    codes=st.lists(st.integers(0, 2), min_size=1, max_size=60),
    delay=st.integers(0, 9),
    weighted=st.booleans(),
    cuts=st.lists(st.integers(0, 60), max_size=5),
)
def test_blocks_restarts_and_delay_of_labels(codes, delay, weighted, cuts):
    y = LABELS[codes]
    weight = np.arange(len(y)) % 3 / 2 if weighted else None
    names = ["accuracy", "kappa", "log_loss"]
    whole, parts = (Evaluation(metrics=names, window=7, delay=delay) for _ in range(2))
    whole.run(Constant(LABELS), blocks(y, weight, []))
    for block in blocks(y, weight, cuts):
        resumed = Evaluation(metrics=names, window=7, delay=delay)
        resumed.restore(parts.state())
        parts = resumed
        parts.step(Constant(LABELS), block)
        assert parts.baselines.keys() <= {"majority class", "last label"}  # reading changes nothing
    parts.run(Constant(LABELS), [])
    assert same(parts.state()["baselines"], whole.state()["baselines"])
    w = np.ones(len(y)) if weight is None else weight
    found = whole.baselines["last label"]["accuracy"]
    if w.sum() > 0:
        assert found == pytest.approx(np.average(last_hits(y.tolist(), w, delay), weights=w), rel=1e-12)
    else:
        assert np.isnan(found)


@pytest.mark.parametrize("delay", [0, 3, 5000])
def test_scores_are_those_of_the_baselines_as_learners(delay):
    rng = np.random.default_rng(0)
    n = ROWS_AT_ONCE + 500
    x, y = np.zeros((n, 1)), LABELS[np.repeat(rng.integers(0, 3, n), 5)[:n]]
    names = [name for name in NAMES if name not in OF_NUMBERS and not METRICS[name].ranks]
    tasks = [(MajorityClass(), "majority class", y), (LastLabel(), "last label", y)]
    walk = np.cumsum(rng.normal(size=n))
    tasks += [(RunningMean(), "mean", walk), (LastTarget(), "last value", walk)]
    for learner, label, targets in tasks:
        metrics = OF_NUMBERS if targets is walk else names
        result = progressive(
            learner, [(x[:700], targets[:700]), (x[700:], targets[700:])], metrics=metrics, delay=delay
        )
        assert result.baselines[label] == pytest.approx(result.metrics, rel=1e-12, nan_ok=True)


def test_baselines_of_several_targets_are_the_mean_of_their_metrics():
    y = np.cumsum(np.random.default_rng(0).normal(size=(300, 2)), axis=0)
    x = np.zeros((300, 2))
    for delay in (0, 4):
        both = progressive(StreamRegressor(), [(x, y)], metrics=["rmse", "mase"], delay=delay).baselines
        each = [progressive(StreamRegressor(), [(x, y[:, t])], metrics=["rmse", "mase"], delay=delay) for t in (0, 1)]
        for name, metrics in both.items():
            for metric, value in metrics.items():
                assert value == pytest.approx(np.mean([one.baselines[name][metric] for one in each]), rel=1e-12)


class Own(Mean):
    """A metric of the user's own."""

    name = "own"

    def losses(self, rows):
        assert rows.learner == "StreamClassifier"
        return np.ones(len(rows))


def test_metrics_that_rank_rows_and_those_of_the_user_have_no_baselines():
    x, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 2
    result = progressive(StreamClassifier(), [(x, y)], metrics=["auc", "accuracy", Own()])
    assert result.metrics.keys() == {"auc", "accuracy", "own"}
    assert {name: set(own) for name, own in result.baselines.items()} == {
        "majority class": {"accuracy"},
        "last label": {"accuracy"},
    }
    assert progressive(StreamClassifier(), [(x, y)], metrics=["auc", Own()]).baselines == {}


def test_labels_in_memory_that_is_reused_are_copied():
    y, buffer = np.arange(40) % 2, np.zeros(10, dtype=int)
    evaluation = Evaluation()
    for start in range(0, 40, 10):
        buffer[:] = y[start : start + 10]
        evaluation.step(Constant([0, 1]), (np.zeros((10, 1)), buffer))
    assert evaluation.baselines["last label"]["accuracy"] == 0


def test_state_of_an_evaluation_of_0_2_continues_without_baselines():
    evaluation = Evaluation()
    evaluation.step(Constant([0, 1]), (np.zeros((4, 1)), [0, 0, 1, 1]))
    old = {name: value for name, value in evaluation.state().items() if name != "baselines"}
    resumed = Evaluation()
    resumed.restore(old)
    resumed.step(Constant([0, 1]), (np.zeros((4, 1)), [0, 0, 1, 1]))
    assert resumed.metrics == {"accuracy": 0.5}
    assert resumed.baselines == {}
    assert resumed.advice(None) is None
    assert resumed.state()["baselines"] is None


@pytest.mark.parametrize(
    "change",
    [
        {"task": "clustering"},
        {"metrics": ["accuracy", "unknown"]},
        {"learners": []},
        {"values": [[], []]},
        {"labels": [0, 1], "weights": [1.0, 1.0]},
        {"learners": [{"labels": [0], "rows": [1.0, 2.0]}, {"labels": [0], "rows": [1.0], "last": 0}]},
    ],
)
def test_invalid_state_is_refused_and_changes_nothing(change):
    evaluation = Evaluation(delay=1)
    evaluation.step(Constant([0, 1]), (np.zeros((4, 1)), [0, 0, 1, 1]))
    state = evaluation.state()
    with pytest.raises(ValueError):  # noqa: PT011, each with its own words
        evaluation.restore(state | {"baselines": state["baselines"] | change})
    assert same(evaluation.state(), state)


def test_advice_if_the_last_value_is_better():
    y = np.cumsum(np.random.default_rng(0).normal(size=500))
    result = progressive(Constant(), [(np.zeros((500, 1)), y)], metrics=["mae", "rmse"])
    assert result.advice is not None
    (lag,) = result.advice.settings
    assert (lag.option, lag.value) == ("lag", 1)
    value = f"{result.baselines['last value']['mae']:.4g}"
    sentence = f"the last value alone has mae {value}; if labels are known before the next row, "
    assert str(result.advice) == sentence + "lag=1 uses them"
    assert result.advice.message(words) == sentence + "--lag 1 uses them"
    assert str(result).splitlines() == [
        f"500 rows: mae {result.metrics['mae']:.4g}, rmse {result.metrics['rmse']:.4g}",
        *(f"{name}: mae {own['mae']:.4g}, rmse {own['rmse']:.4g}" for name, own in result.baselines.items()),
        str(result.advice),
    ]
    delayed = progressive(Constant(), [(np.zeros((500, 1)), y)], delay=4).advice
    assert delayed is not None
    assert delayed.message(words).endswith("--lag 5 uses it")


def test_no_advice_if_the_learner_is_better_or_knows_the_last_labels():
    last = {"majority class": {"accuracy": 0.5}, "last label": {"accuracy": 0.8}}
    assert advice({"accuracy": 0.7}, last, 0) is not None
    assert advice({"accuracy": 0.8}, last, 0) is None
    assert advice({"accuracy": np.nan}, last, 0) is None
    assert advice({"accuracy": 0.7}, {}, 0) is None
    with_lag = Constant([0, 1])
    with_lag.lag = 1
    assert advice({"accuracy": 0.7}, last, 0, with_lag) is None
    assert advice({"auc": 0.7}, last, 0) is None
    errors = {"mean": {"rmse": 3.0}, "last value": {"rmse": 2.0}}
    assert advice({"rmse": 1.0}, errors, 0) is None
    assert advice({"rmse": 2.5}, errors, 0) is not None
