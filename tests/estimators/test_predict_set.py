"""Label sets of the default classifier: coverage, new classes, weights, lags, sparse rows, files, parts, old models."""

import copy
import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import nolana
from nolana import StreamClassifier, StreamRegressor
from nolana.errors import OptionError


def stream(n, classes=4, seed=0, drift=True):
    """Overlapping classes; at half of the rows their centres move."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(2, classes, 3))
    y = rng.integers(classes, size=n)
    part = (np.arange(n) >= n // 2).astype(int) * drift
    return centres[part, y] + 0.8 * rng.normal(size=(n, 3)), y


def prequential(model, x, y, level, start=1, block=20):
    """Whether each row from `start` on is covered, and the size of its set."""
    model.learn(x[:start], y[:start])
    covered, sizes = [], []
    for i in range(start, len(y), block):
        rows = slice(i, i + block)
        sets = model.predict_set(x[rows], level)
        covered += [bool((labels & (model.classes_ == own)).any()) for labels, own in zip(sets, y[rows], strict=True)]
        sizes += sets.sum(axis=1).tolist()
        model.learn(x[rows], y[rows])
    return np.array(covered), np.array(sizes)


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.85])
def test_predict_set_covers_as_stated_while_the_stream_drifts(level):
    """Within 1 point over all rows; of fifths of 1,200 rows within 3; 0.85 is between two levels."""
    x, y = stream(6000)
    covered, sizes = prequential(StreamClassifier(random_state=0), x, y, level)
    assert covered.mean() == pytest.approx(level, abs=0.01)
    assert [part.mean() for part in np.array_split(covered, 5)] == pytest.approx([level] * 5, abs=0.03)
    assert sizes.min() == 1
    assert sizes.mean() < 3


def test_predict_set_is_bool_by_classes_and_grows_with_the_level():
    x, y = stream(2000)
    model = StreamClassifier(random_state=0).fit(x, np.array(["d", "a", "c", "b"])[y])
    sets = [model.predict_set(x, level) for level in (0.001, 0.5, 0.9, 0.99, 0.9999)]
    assert all(each.dtype == bool and each.shape == (2000, 4) for each in sets)
    for small, large in itertools.pairwise(sets):
        assert (small <= large).all()
    top = model.predict_proba(x).argmax(axis=1)
    assert sets[0].sum() == 2000
    assert np.array_equal(sets[0].argmax(axis=1), top)
    assert np.array_equal(model.predict_set(x), sets[2])


def test_one_class_seen_is_the_set_and_announced_classes_are_not_in_it():
    model = StreamClassifier(random_state=0)
    model.learn(np.eye(3), [5, 5, 5], classes=[5, 7, 9])
    assert model.predict_set(np.eye(3), 0.99).tolist() == [[True, False, False]] * 3
    model.learn(np.eye(3), [9, 5, 5])
    assert not model.predict_set(np.eye(3), 0.99)[:, 1].any()


def test_new_classes_take_their_column():
    x, y = stream(3000, classes=6, drift=False)
    y = np.where(np.arange(3000) < 1500, y % 2, y)
    covered, _ = prequential(StreamClassifier(random_state=0), x, 10 - y, 0.9)
    assert covered[1700:].mean() == pytest.approx(0.9, abs=0.03)


def test_class_weight_does_not_change_sets():
    x, y = stream(1500)
    plain, weighted = StreamClassifier(random_state=0), StreamClassifier(random_state=0, class_weight="balanced")
    for model in (plain, weighted):
        model.learn(x, np.minimum(y, 1))
    assert np.array_equal(plain.predict_set(x, 0.9), weighted.predict_set(x, 0.9))


def test_rows_of_weight_0_teach_nothing():
    x, y = stream(800)
    model = StreamClassifier(random_state=0)
    model.learn(x, y)
    before = model._learner.state()["label_sets/factors"]
    model.learn(x[:50], y[:50], sample_weight=np.zeros(50))
    assert np.array_equal(model._learner.state()["label_sets/factors"], before)
    assert model._learner.state()["label_sets/rows"] == 800


def test_second_pass_of_fit_teaches_nothing():
    x, y = stream(600)
    model = StreamClassifier(random_state=0, max_iter=3).fit(x, y)
    assert model._learner.state()["label_sets/rows"] == 600


def test_predict_set_with_lag():
    rng = np.random.default_rng(0)
    y = (np.cumsum(rng.normal(size=3000)) > 0).astype(int)
    covered, _ = prequential(StreamClassifier(random_state=0, lag=1), rng.normal(size=(3000, 2)), y, 0.95, block=1)
    assert covered.mean() > 0.94


def test_predict_set_of_sparse_rows():
    rng = np.random.default_rng(0)
    x = sp.random(2500, 1000, density=0.01, format="csr", random_state=0)
    y = np.asarray(x @ rng.normal(size=1000) + 0.5 * rng.normal(size=2500) > 0).astype(int).ravel()
    covered, sizes = prequential(StreamClassifier(random_state=0), x, y, 0.9, start=100)
    assert covered.mean() == pytest.approx(0.9, abs=0.02)
    assert sizes.mean() < 2


def test_split_anywhere_changes_no_bit_and_files_and_copies_continue(tmp_path):
    x, y = stream(1200)
    whole, parts = StreamClassifier(random_state=0), StreamClassifier(random_state=0)
    whole.learn(x, y)
    for i in range(0, 1200, 77):
        parts.learn(x[i : i + 77], y[i : i + 77])
    assert np.array_equal(whole._learner.state()["label_sets/factors"], parts._learner.state()["label_sets/factors"])
    whole.save(tmp_path / "model.nolana")
    for other in (nolana.load(tmp_path / "model.nolana"), pickle.loads(pickle.dumps(whole)), copy.copy(whole)):
        assert np.array_equal(other.predict_set(x, 0.93), whole.predict_set(x, 0.93))


def test_merged_parts_have_the_thresholds_of_their_rows():
    x, y = stream(6000, drift=False)
    model = StreamClassifier(random_state=0)
    model.learn(x[:1000], y[:1000])
    parts = model.split(2)
    for i, part in enumerate(parts):
        part.learn(x[1000 + i : 5000 : 2], y[1000 + i : 5000 : 2])
    merged = nolana.merge(parts)
    assert merged._learner.state()["label_sets/rows"] == 5000
    sets = merged.predict_set(x[5000:], 0.9)
    assert sets[np.arange(1000), y[5000:]].mean() == pytest.approx(0.9, abs=0.03)


def test_empty_rows_give_an_empty_array():
    model = StreamClassifier(random_state=0).fit(*stream(50))
    assert model.predict_set(np.empty((0, 3))).shape == (0, 4)
    assert model.predict_set(np.empty((0, 3))).dtype == bool


def test_levels_out_of_range_and_unfitted_models_are_refused():
    with pytest.raises(nolana.estimators._sklearn.NotFittedError):
        StreamClassifier().predict_set(np.eye(3))
    model = StreamClassifier().fit(np.eye(3), [1, 2, 3])
    for level in (0.0, 1.0, -0.5, 90, np.nan, "0.9"):
        with pytest.raises((ValueError, TypeError), match="level"):
            model.predict_set(np.eye(3), level=level)


def without_conformal(kind):
    """An estimator whose learner is as files before 0.3 have it."""

    class Earlier(kind):
        def _options(self, *arguments, **named):
            return replace(super()._options(*arguments, **named), conformal=False)

    return Earlier(random_state=0)


def test_models_before_0_3_say_that_they_have_no_sets():
    model = without_conformal(StreamClassifier).fit(*stream(50))
    with pytest.raises(ValueError, match=r"before 0\.3, without label sets"):
        model.predict_set(np.eye(3))


def test_models_before_0_3_have_one_width():
    x, _ = stream(500)
    model = without_conformal(StreamRegressor).fit(x, x[:, 0])
    y, low, high = model.predict(x, interval=0.9)
    assert np.ptp(high - y) < 1e-12
    assert np.ptp(y - low) < 1e-12


@pytest.mark.parametrize("level", [0, 1, -0.5, 1.5, float("nan")])
def test_refused_levels_are_told_the_whole_range(level):
    x, y = np.arange(20.0)[:, None], np.arange(20) % 2
    classifier, regressor = (model(memory="64KB").partial_fit(x, y) for model in (StreamClassifier, StreamRegressor))
    for verb, option in ((classifier.predict_set, "level"), (regressor.predict, "interval")):
        with pytest.raises(OptionError, match=f"{option}=.* is out of range: more than 0 and less than 1"):
            verb(x, **{option: level})
