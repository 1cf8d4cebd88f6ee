"""Intervals whose width depends on the row: coverage, widths, several targets, sparse rows, files, parts."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import nolana
from nolana import StreamRegressor


def stream(n, seed=0):
    """Positive targets with noise of 20 % of their mean."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 3))
    mean = np.exp(np.sin(2 * x[:, 0]) + 0.5 * x[:, 1])
    return x, mean * (1 + 0.2 * rng.normal(size=n)), mean


def prequential(model, x, y, level, start=1000, block=50):
    model.learn(x[:start], y[:start])
    parts = []
    for i in range(start, len(y), block):
        rows = slice(i, i + block)
        parts.append(model.predict(x[rows], interval=level))
        model.learn(x[rows], y[rows])
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


class OneWidth(StreamRegressor):
    """Intervals as before 0.3."""

    def _options(self, *arguments, **named):
        return replace(super()._options(*arguments, **named), conformal=False)


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
def test_wide_intervals_are_where_errors_are_large(level):
    x, y, mean = stream(8000)
    large, covered, width = mean[1000:] > np.median(mean[1000:]), {}, {}
    for kind in (StreamRegressor, OneWidth):
        _, low, high = prequential(kind(random_state=0), x, y, level)
        covered[kind], width[kind] = (low <= y[1000:]) & (y[1000:] <= high), high - low
        assert covered[kind].mean() == pytest.approx(level, abs=0.01)
    own, one = covered[StreamRegressor][large].mean(), covered[OneWidth][large].mean()
    assert own - one > 0.2 * (level - one)
    assert width[StreamRegressor][large].mean() > 1.8 * width[StreamRegressor][~large].mean()
    assert width[StreamRegressor].mean() < width[OneWidth].mean()


def test_intervals_of_several_targets_are_those_of_each():
    x, y, _ = stream(2500)
    both = StreamRegressor(random_state=0, memory="512KB")
    alone = StreamRegressor(random_state=0, memory="256KB")
    both.learn(x, np.column_stack([y, -3 * y]))
    alone.learn(x, y)
    y_both, low, high = both.predict(x, interval=0.9)
    y_alone, low_alone, high_alone = alone.predict(x, interval=0.9)
    assert low.shape == high.shape == (2500, 2)
    assert np.array_equal(
        np.column_stack([y_both[:, 0], low[:, 0], high[:, 0]]), np.column_stack([y_alone, low_alone, high_alone])
    )
    assert np.array_equal(both.predict(x), y_both)


def test_prediction_with_an_interval_is_the_prediction():
    x, y, _ = stream(1500)
    model = StreamRegressor(random_state=0).fit(x, y)
    for rows in (x[:1], x[:7], x):
        middle, low, high = model.predict(rows, interval=0.5)
        assert np.array_equal(middle, model.predict(rows))
        assert (low < middle).all()
        assert (middle < high).all()


def test_intervals_of_sparse_rows_depend_on_the_row():
    rng = np.random.default_rng(0)
    x = sp.random(3000, 800, density=0.01, format="csr", random_state=0)
    score = np.asarray(x @ rng.normal(size=800)).ravel()
    y = np.exp(score) * (1 + 0.2 * rng.normal(size=3000))
    middle, low, high = prequential(StreamRegressor(random_state=0), x, y, 0.9)
    assert ((low <= y[1000:]) & (y[1000:] <= high)).mean() == pytest.approx(0.9, abs=0.02)
    assert np.std(high - middle) > 0


def test_split_anywhere_files_and_another_unit_of_the_target(tmp_path):
    x, y, _ = stream(1500)
    whole, parts = StreamRegressor(random_state=0), StreamRegressor(random_state=0)
    whole.learn(x, y)
    for i in range(0, 1500, 91):
        parts.learn(x[i : i + 91], y[i : i + 91])
    expected = whole.predict(x, interval=0.9)
    assert all(np.array_equal(*each) for each in zip(expected, parts.predict(x, interval=0.9), strict=True))
    whole.save(tmp_path / "model.nolana")
    loaded = nolana.load(tmp_path / "model.nolana").predict(x, interval=0.9)
    assert all(np.array_equal(*each) for each in zip(expected, loaded, strict=True))
    scaled = StreamRegressor(random_state=0)
    scaled.learn(x, 1e6 * y)
    for each, mine in zip(scaled.predict(x, interval=0.9), expected, strict=True):
        assert np.allclose(each, 1e6 * mine, rtol=1e-6)


def test_merged_parts_cover_and_depend_on_the_row():
    x, y, mean = stream(9000)
    model = StreamRegressor(random_state=0)
    model.learn(x[:1000], y[:1000])
    parts = model.split(2)
    for i, part in enumerate(parts):
        part.learn(x[1000 + i : 7000 : 2], y[1000 + i : 7000 : 2])
    _, low, high = nolana.merge(parts).predict(x[7000:], interval=0.9)
    # Maps of parts do not change: their errors, by which the widths are, are larger than those of all rows together.
    assert 0.88 < ((low <= y[7000:]) & (y[7000:] <= high)).mean() < 0.96
    assert np.corrcoef(high - low, mean[7000:])[0, 1] > 0.7


def test_width_recovers_when_targets_get_another_unit():
    """A hundred times as large from row 3,000 on: 90 % of the last 1,500 rows are covered by widths of the new unit."""
    x, y, _ = stream(6000)
    y = np.where(np.arange(6000) < 3000, y, 100 * y)
    _, low, high = prequential(StreamRegressor(random_state=0), x, y, 0.9)
    covered, width = (low <= y[1000:]) & (y[1000:] <= high), high - low
    assert covered[3500:].mean() == pytest.approx(0.9, abs=0.02)
    assert np.median(width[3500:]) < 300 * np.median(width[1000:2000])
