"""AUC of several classes, average precision and the Brier score: against scikit-learn, in bounded memory, merged."""

import numpy as np
import pytest
from sklearn import metrics as oracle

from nolana import NolanaClassifier, StreamClassifier
from nolana.evaluate import progressive
from nolana.metrics import AUC, AveragePrecision, Brier, Predictions

LABELS = np.array(["a", "b", "c", "d"])


def ranked(n, classes, seed, share=0.3):
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(n) < share, rng.integers(0, classes, n), 0)
    z = rng.normal(size=(n, classes)) + 1.5 * (truth[:, None] == np.arange(classes))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return Predictions(LABELS[truth], z, LABELS[:classes], before=p)


def counted(metric, *blocks):
    for rows in blocks:
        metric.update(rows)
    return metric


@pytest.mark.parametrize("n", [500, 20_000])
def test_auc_of_four_classes_is_that_of_scikit_learn_up_to_ties(n):
    rows = ranked(n, 4, 0)
    expected = oracle.roc_auc_score(rows.truth, rows.before, multi_class="ovr", average="macro", labels=LABELS)
    assert counted(AUC(), rows).value() == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("share", [0.3, 0.002])
def test_average_precision_of_two_classes_is_that_of_the_last_one(share):
    """The top of the ranking decides, so ties must be few there: also with 30 rows of the class among 30,000."""
    rows = ranked(30_000, 2, 1, share)
    expected = oracle.average_precision_score(rows.truth == "b", rows.before[:, 1])
    assert counted(AveragePrecision(), rows).value() == pytest.approx(expected, abs=2e-3)


def test_brier_of_two_classes_is_brier_score_loss():
    rows = ranked(500, 2, 2)
    expected = oracle.brier_score_loss(rows.truth == "b", rows.before[:, 1])
    assert counted(Brier(), rows).value() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", [AUC, AveragePrecision])
def test_class_that_appears_late_has_probability_zero_before(kind):
    first, second = ranked(300, 2, 3), ranked(300, 4, 4)
    apart = counted(kind(), first, second)
    p = np.zeros((600, 4))
    p[:300, :2], p[300:] = first.before, second.before
    whole = Predictions(np.r_[first.truth, second.truth], p, LABELS, before=p)
    assert apart.value() == counted(kind(), whole).value()
    again = kind()
    again.restore(counted(kind(), first).state())
    assert counted(again, second).value() == apart.value()


def test_auc_of_two_classes_merges_whichever_class_came_first():
    rows = ranked(3000, 2, 5)
    turned = Predictions(rows.truth, rows.scores[:, ::-1], rows.classes[::-1], before=rows.before[:, ::-1])
    merged, whole = counted(AUC(), rows.part(0, 1000)), counted(AUC(), rows)
    merged.merge(counted(AUC(), turned.part(1000, 3000)))
    assert merged.value() == pytest.approx(whole.value(), rel=1e-12)


def test_nothing_is_ranked_while_there_is_one_class():
    rows = ranked(50, 2, 6, 0.0)
    assert all(np.isnan(counted(kind(), rows).value()) for kind in (AUC, AveragePrecision))
    assert all(np.isnan(kind().value()) for kind in (AUC, AveragePrecision, Brier))


def test_memory_does_not_grow_with_the_rows():
    metric = counted(AveragePrecision(), *(ranked(1000, 4, seed) for seed in range(20)))
    assert metric._ranking.weights.nbytes == 2 * 4 * 2561 * 8


@pytest.mark.parametrize("make", [lambda: StreamClassifier(random_state=0), lambda: NolanaClassifier(n_landmarks=20)])
def test_progressive_knows_them_by_name(make):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 3))
    y = LABELS[(x[:, 0] > 0).astype(int) + (x[:, 1] > 1)]
    blocks = [(x[i : i + 100], y[i : i + 100]) for i in range(0, 1500, 100)]
    found = progressive(make(), blocks, metrics=["auc", "average_precision", "brier"]).metrics
    _, p = make().learn_proba(x, y)
    own = y[:, None] == LABELS[:3]
    assert found["auc"] == pytest.approx(oracle.roc_auc_score(own, p), abs=1e-3)
    assert found["average_precision"] == pytest.approx(oracle.average_precision_score(own, p), abs=3e-3)
    assert found["brier"] == pytest.approx(((p - own) ** 2).sum(axis=1).mean() / 2, rel=1e-9)
    assert found["auc"] > 0.95
