"""novelty: p-values that are uniform on rows like those learned, and rows without labels."""

import copy
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import nolana
from conftest import same_state
from nolana import StreamClassifier, StreamRegressor, experts
from nolana import engine as numpy_engine
from nolana.backend import backend
from nolana.learner.novelty import hashes, p_values, windows


def ks(p):
    """The Kolmogorov-Smirnov distance to the uniform distribution."""
    n = len(p)
    ordered = np.sort(p)
    return max(np.abs(ordered - np.arange(1, n + 1) / n).max(), np.abs(ordered - np.arange(n) / n).max())


def stationary(name, rows=7000):
    rng = np.random.default_rng(1)
    if name == "normal":
        return rng.normal(size=(rows, 5))
    if name == "heavy tails":
        return rng.standard_t(2, size=(rows, 3)) * [1.0, 1e6, 1e-6]
    if name == "clusters":
        centres = 4 * rng.normal(size=(4, 8))
        return centres[rng.integers(0, 4, rows)] + rng.normal(size=(rows, 8))
    if name == "autoregression":
        x = rng.normal(size=(rows, 4))
        for t in range(1, rows):
            x[t] += 0.9 * x[t - 1]
        return x
    if name == "wide":
        return rng.normal(size=(rows, 100))
    return np.column_stack([rng.integers(0, 3, (rows, 2)), rng.normal(size=rows)])  # ties


@pytest.mark.parametrize("name", ["normal", "heavy tails", "clusters", "autoregression", "wide", "ties"])
def test_p_values_are_uniform_on_a_stationary_stream(name):
    """One calibration of 375 rows has a KS distance above 1.36/sqrt(375) = 0.07 in 1 of 20 cases; there are 20."""
    x = stationary(name)
    model, found = StreamClassifier(random_state=0), []
    model.learn(x[:3000])
    for i in range(3000, len(x), 200):
        found.append(model.novelty(x[i : i + 200]))
        model.learn(x[i : i + 200])
    p = np.concatenate(found)
    assert ks(p) < 0.05
    if name != "autoregression":  # whose extremes come together: a few of them in all these rows
        assert (p <= 0.01).mean() == pytest.approx(0.01, abs=0.007)
    assert ((p > 0) & (p <= 1)).all()


def test_far_rows_are_odd_and_ordered_by_their_distance():
    x = stationary("clusters")
    model = StreamRegressor(random_state=0)
    model.learn(x[:5000])
    far = np.array([np.full(8, size) for size in (15.0, 30.0, 60.0)])
    p = model.novelty(far)
    assert (p < 0.002).all()
    assert (np.diff(p) < 0).all()
    assert np.array_equal(np.concatenate([model.novelty(far[i : i + 1]) for i in range(3)]), p)


def test_novelty_learns_nothing_and_is_the_same_with_labels_and_without():
    x = stationary("normal", 3000)
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    with_labels = StreamClassifier(random_state=0, experts=[experts.Neighbours()]).partial_fit(x[:2500], y[:2500])
    without = StreamClassifier(random_state=0, experts=[experts.Neighbours()]).partial_fit(x[:2500], None)
    before = with_labels._learner.state()
    p = with_labels.novelty(x[2500:])
    assert same_state(before, with_labels._learner.state())
    assert p.shape == (500,)
    assert np.array_equal(p, without.novelty(x[2500:]))
    assert with_labels.novelty(x[:0]).shape == (0,)


@pytest.mark.parametrize("task", ["two", "late classes", "number"])
def test_labelled_and_unlabelled_rows_mix_in_any_blocks(task, tmp_path):
    """Split anywhere, saved, loaded and copied: every bit of scores and state is the same."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2600, 6))
    y = {
        "two": x[:, 0] > 0,
        "late classes": rng.integers(0, 9, 2600) % (2 + np.arange(2600) // 400),
        "number": x[:, 1],
    }[task]
    known = (np.arange(2600) // 50) % 3 > 0
    make = StreamRegressor if task == "number" else StreamClassifier
    borders = [0, *(np.flatnonzero(np.diff(known)) + 1), 2600]
    models = []
    for more in ([], sorted(set(rng.integers(1, 2600, 60)))):
        model = make(random_state=0, memory="96KB")
        scores = []
        for start, stop in pairwise(sorted({*borders, *more})):
            block = x[start:stop]
            scores.append(model.learn(block, y[start:stop]) if known[start] else model.learn(block))
            if more and start % 7 == 0:
                model.save(tmp_path / "m.nolana")
                model = nolana.load(tmp_path / "m.nolana")
            elif more and start % 5 == 0:
                model = copy.deepcopy(model)
            assert model.memory_bytes_ <= 96 * 1024
        models.append(
            (model, np.concatenate([each.reshape(len(each), -1).max(axis=1, initial=-np.inf) for each in scores]))
        )
    (whole, first), (parts, second) = models
    assert same_state(whole._learner.state(), parts._learner.state())
    assert np.array_equal(first, second)
    assert np.array_equal(whole.novelty(x[:50]), parts.novelty(x[:50]))
    assert whole.n_rows_ == 2600
    assert whole._learner.labelled == known.sum()


def test_a_model_of_rows_without_labels_is_saved_and_learns_labels_later(tmp_path):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(4000, 3))
    y = np.where(x[:, 0] * x[:, 1] > 0, "a", "b")
    model = StreamClassifier(random_state=0)
    assert model.learn(x[:1000]).shape == (1000, 0)
    for call in (model.predict, model.predict_proba, model.decision_function, model.explain):
        with pytest.raises(NotFittedError, match="without labels"):
            call(x[:2])
    model.save(tmp_path / "m.nolana")
    model = nolana.load(tmp_path / "m.nolana")
    assert model.n_rows_ == 1000
    assert (model.novelty([[9.0, 9.0, 9.0]]) < 0.01).all()
    assert model.learn(x[1000:1001], y[1000:1001]).shape == (1, 1)
    assert model.predict(x[:1]) == [y[1000]]
    model.learn(x[1001:3500], y[1001:3500])
    assert model.score(x[3500:], y[3500:]) > 0.9
    number = StreamRegressor(random_state=0)
    assert not number.learn(x[:1000]).any()
    number.learn(x[1000:3500], 5 + x[1000:3500, 0])
    assert number.score(x[3500:], 5 + x[3500:, 0]) > 0.9


def test_unlabelled_neighbours_do_not_vote():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(900, 2))
    y = (x[:, 0] > 0).astype(int)
    model = StreamClassifier(random_state=0, experts=[experts.Neighbours()])
    model.learn(x[:600], y[:600])
    assert model.score(x[600:], y[600:]) > 0.85
    model.learn(x[600:])  # most of the nearest have no label now
    assert model.score(x[600:], y[600:]) > 0.7


def test_parts_of_a_merge_learn_rows_without_labels():
    x = stationary("clusters", 4000)
    y = x[:, 0] > 0
    base = StreamClassifier(random_state=0).partial_fit(x[:1000], y[:1000])
    parts = base.split(2)
    for i, part in enumerate(parts):
        part.learn(x[1000 + i : 3000 : 2], y[1000 + i : 3000 : 2])
        part.learn(x[3000 + i :: 2])
    merged = nolana.merge(parts)
    assert merged.n_rows_ == 4000
    assert merged._learner.labelled == 3000
    assert ks(merged.novelty(stationary("clusters", 5000)[4000:])) < 0.1
    merged.learn(x[:500])
    assert merged.n_rows_ == 4500


def test_sparse_rows_and_tables_have_p_values():
    rng = np.random.default_rng(6)
    x = sparse.random(1500, 2000, density=0.01, format="csr", random_state=0)
    model = StreamClassifier(random_state=0)
    model.learn(x[:1000])
    assert model.novelty(x[1000:]).shape == (500,)
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": rng.normal(size=900), "job": rng.choice(list("xy"), 900)})
    table.loc[::9, "a"] = None
    model = StreamRegressor(random_state=0).partial_fit(table[:800], None)
    assert ks(model.novelty(table[800:])) < 0.2
    assert model.novelty(pandas.DataFrame({"a": [50.0], "job": ["x"]}))[0] < 0.01


def test_both_engines_find_the_same_distances():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(700, 5))
    spec = StreamClassifier(random_state=0, experts=[experts.Neighbours()]).partial_fit(x[:2], [0, 1])._learner
    built = [spec.spec.build(module) for module in (backend(), numpy_engine)]
    for learner in built:
        learner.clear(1)
        learner.learn(x[:300], np.sign(x[:300, :1]))
        learner.learn(x[300:600], None)
    found = [(learner.distances(x[600:], 400), learner.maps[0].past_distances(150, 400)) for learner in built]
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])
    assert built[0].scores(x[600:]) == pytest.approx(built[1].scores(x[600:]), abs=1e-7)
    for learner in built:
        with pytest.raises(ValueError, match="fewer rows"):
            learner.maps[0].past_distances(601, 10)
        with pytest.raises(ValueError, match="weights need labels"):
            learner.learn(x[:2], None, np.ones(2))


def test_novelty_needs_rows_and_neighbours():
    with pytest.raises(NotFittedError):
        StreamClassifier().novelty([[1.0]])
    few = StreamClassifier(random_state=0)
    few.learn(np.zeros((10, 2)))
    assert few.novelty([[5.0, 5.0]]) == [1.0]
    without = StreamClassifier(random_state=0, experts=[experts.Bins()])
    without.learn(np.zeros((10, 2)))
    with pytest.raises(ValueError, match="Neighbours"):
        without.novelty([[5.0, 5.0]])


def test_rows_without_labels_are_refused_where_they_mean_nothing():
    x = np.random.default_rng(8).normal(size=(50, 2))
    with pytest.raises(ValueError, match="sample_weight has no meaning"):
        StreamClassifier().learn(x, sample_weight=np.ones(50))
    with pytest.raises(ValueError, match="classes has no meaning"):
        StreamClassifier().learn(x, classes=[0, 1])
    with pytest.raises(ValueError, match="labels"):
        StreamRegressor(lag=1).learn(x)
    with pytest.raises(ValueError, match="requires y"):
        StreamClassifier().fit(x, None)
    with pytest.raises(ValueError, match="requires y"):
        nolana.NolanaClassifier().learn(x)


def test_p_values_break_ties_by_hashes_and_go_on_beyond_the_largest():
    usual = np.array([1.0, 2.0, 2.0, 4.0])
    assert p_values(np.array([0.5, 2.0, 3.0, 8.0]), usual, np.full(4, 0.5)).tolist() == [0.9, 0.5, 0.3, 0.1]
    u = hashes(np.random.default_rng(0).normal(size=(2000, 3)))
    assert ks(u) < 0.04
    assert ks(hashes(np.arange(4000.0).reshape(2000, 2))) < 0.04
    assert windows(20) == (20, 0)
    assert windows(4096) == (3072, 1024)
