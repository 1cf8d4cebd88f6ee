"""Metrics of two parts of a stream, added up, are the metric of the stream."""

import numpy as np
import pytest

from nolana.metrics import NAMES, OF_NUMBERS, Predictions, resolve

CLASSES = np.array(["a", "b", "c"])
REGRESSES = tuple(name for name in NAMES if name in OF_NUMBERS)


def predictions(name, rng, rows, classes):
    if name in REGRESSES:
        y = 1e3 + rng.normal(size=rows)
        return Predictions(y, y + rng.normal(size=rows))
    scores = rng.normal(size=(rows, classes))
    truth = CLASSES[:classes][rng.integers(0, classes, rows)]
    return Predictions(truth, scores, classes=CLASSES[:classes], to_probabilities=np.abs)


@pytest.mark.parametrize("name", NAMES)
def test_two_metrics_add_up(name):
    rng = np.random.default_rng(0)
    parts = [predictions(name, rng, rows, classes) for rows, classes in ((40, 2), (0, 2), (70, 3))]
    whole, merged, *others = resolve([name])[0], *(resolve([name])[0] for _ in range(4))
    for rows, other in zip(parts, others, strict=True):
        whole.update(rows)
        other.update(rows)
        merged.merge(other)
    assert merged.value() == pytest.approx(whole.value(), rel=1e-12)


def test_targets_add_up():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(50, 2))
    rows = Predictions(y, y + rng.normal(size=(50, 2)))
    for name in REGRESSES:
        whole, first, second = (resolve([name])[0] for _ in range(3))
        whole.update(rows)
        first.update(rows.part(0, 20))
        second.update(rows.part(20, 50))
        first.merge(second)
        assert first.value() == pytest.approx(whole.value(), rel=1e-12)
