"""Precision, recall and F1 against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from nolana.metrics import F1, F1Macro, F1Micro, Precision, Predictions, Recall, resolve

ORACLES = {Precision: precision_score, Recall: recall_score, F1: f1_score}


def rows(n, classes, seed=0, weight=False):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    scores = rng.normal(size=(n, classes)) + 1.0 * (truth[:, None] == np.arange(classes))
    return Predictions(truth, scores, np.arange(classes), rng.integers(1, 4, n).astype(float) if weight else None)


@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("weight", [False, True])
def test_they_are_those_of_scikit_learn(kind, classes, weight):
    """Of two classes the one that sorts last, of more the mean over the classes."""
    seen = rows(500, classes, weight=weight)
    metric = kind()
    for start in range(0, 500, 37):
        metric.update(seen.part(start, min(500, start + 37)))
    average = "binary" if classes == 2 else "macro"
    expected = ORACLES[kind](seen.truth, seen.predicted, average=average, sample_weight=seen.weight)
    assert metric.value() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", ORACLES)
def test_the_positive_class_does_not_depend_on_which_comes_first(kind):
    seen = rows(200, 2)
    late = seen.truth.argmax()  # the first row of class 1
    order = np.r_[late, np.delete(np.arange(200), late)]
    one, two = kind(), kind()
    one.update(seen)
    two.update(Predictions(seen.truth[order], seen.scores[order], seen.classes))
    assert one.value() == pytest.approx(two.value(), rel=1e-12)


@pytest.mark.parametrize("kind", ORACLES)
def test_state_continues(kind):
    seen = rows(300, 4)
    whole, first, second = kind(), kind(), kind()
    whole.update(seen)
    first.update(seen.part(0, 120))
    second.restore(first.state())
    second.update(seen.part(120, 300))
    assert second.value() == whole.value()
    with pytest.raises(ValueError, match="sums must be"):
        second.restore({"labels": [0], "sums": np.zeros((2, 1))})


@pytest.mark.parametrize("unknown", [-np.inf, np.nan])
def test_a_row_before_the_first_known_class_is_an_error_and_no_prediction(unknown):
    truth, scores = np.array([1, 1]), np.array([[unknown, unknown], [-1.0, 1.0]])
    found = resolve(["precision", "recall", "f1"])
    for metric in found:
        metric.update(Predictions(truth, scores, np.array([0, 1])))
    assert [metric.value() for metric in found] == [1.0, 0.5, pytest.approx(2 / 3)]


@pytest.mark.parametrize("kind", ORACLES)
def test_no_rows(kind):
    assert np.isnan(kind().value())


AVERAGES = {F1Micro: "micro", F1Macro: "macro"}


def several(n, labels, seed=0, weight=False):
    """Rows of several labels, the last of which is rare; no row has the first one, and it is never predicted."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, labels)) < np.linspace(0.6, 0.02, labels)).astype(int)
    scores = rng.normal(size=truth.shape) + 2.0 * (2 * truth - 1)
    truth[:, 0], scores[:, 0] = 0, -1.0
    return Predictions(truth, scores, np.arange(labels), rng.integers(0, 4, n).astype(float) if weight else None)


@pytest.mark.parametrize("kind", AVERAGES)
@pytest.mark.parametrize("weight", [False, True])
def test_averages_over_labels_are_those_of_scikit_learn(kind, weight):
    """Labels without rows and predictions do not count, as classes do not."""
    seen = several(500, 6, weight=weight)
    metric, whole = kind(), kind()
    whole.update(seen)
    for start in range(0, 500, 37):
        metric.update(seen.part(start, min(500, start + 37)))
    expected = f1_score(seen.truth[:, 1:], seen.predicted[:, 1:], average=AVERAGES[kind], sample_weight=seen.weight)
    assert metric.value() == whole.value() == pytest.approx(expected, rel=1e-12)
    merged, rest = kind(), kind()
    merged.update(seen.part(0, 200))
    rest.update(seen.part(200, 500))
    merged.merge(rest)
    assert merged.value() == pytest.approx(expected, rel=1e-12)
    resumed = kind()
    resumed.restore(metric.state())
    assert resumed.value() == metric.value()


@pytest.mark.parametrize("kind", AVERAGES)
@pytest.mark.parametrize("classes", [2, 5])
def test_averages_over_classes_are_those_of_scikit_learn(kind, classes):
    seen = rows(400, classes, weight=True)
    metric = kind()
    metric.update(seen)
    expected = f1_score(seen.truth, seen.predicted, average=AVERAGES[kind], sample_weight=seen.weight)
    assert metric.value() == pytest.approx(expected, rel=1e-12)


def test_metrics_of_one_label_refuse_several():
    for name in ("precision", "recall", "f1", "kappa", "balanced_accuracy", "auc", "log_loss", "kappa_temporal"):
        (metric,) = resolve([name])
        with pytest.raises(ValueError, match=f"'{name}' is for one label of a row, but there are 6"):
            metric.update(several(20, 6))
    (accuracy,) = resolve(["accuracy"])
    seen = several(200, 6)
    accuracy.update(seen)
    assert accuracy.value() == pytest.approx((seen.truth == (seen.scores > 0)).all(axis=1).mean())
