"""The screen: pairs of features that act only together, and what the learner does about them."""

import itertools

import numpy as np
import pytest

import nolana
from conftest import same_state
from nolana.learner.relevance import neighbour_losses, screen, screened, target_columns

CUTS = (0, 1, 127, 128, 129, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049, 2300)


def found(rows, targets, task="regression"):
    """The pairs that the screen finds."""
    first, second = np.nonzero(np.triu(screen(rows, target_columns(targets, task)), 1))
    return set(zip(first.tolist(), second.tolist(), strict=True))


def product(n, features=20, seed=0, noise=0.1):
    """The product of features 3 and 7, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, features))
    return X, X[:, 3] * X[:, 7] + noise * rng.normal(size=n) / 3


def metric_of(model):
    return model._learner.scaling.state()["metric"]


@pytest.mark.parametrize("rows", [250, 500, 2000])
def test_screen_of_a_product_finds_its_pair_alone(rows):
    for seed in range(5):
        assert found(*product(rows, 32, seed, noise=0.3)) == {(3, 7)}


def test_screen_of_classes_finds_the_pairs_of_each_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 12))
    y = np.where(X[:, 0] * X[:, 1] > 0, 0, np.where(X[:, 4] * X[:, 5] > 0, 1, 2))
    assert found(X, y, "classification") == {(0, 1), (4, 5)}


@pytest.mark.parametrize("kind", ["normal", "heavy tails", "two classes", "forty classes", "rare values"])
def test_screen_of_noise_finds_nothing(kind):
    """Of 60 screens 0.6 may find a pair by the bound, which is not tight: these find none."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        X = rng.normal(size=(510, 15))
        y = {
            "normal": rng.normal(size=510),
            "heavy tails": rng.standard_cauchy(510),
            "two classes": rng.integers(2, size=510),
            "forty classes": rng.integers(40, size=510),
            "rare values": rng.normal(size=510),
        }[kind]
        if kind == "rare values":
            X = (X > 1.6).astype(float)
        assert not found(X, y, "classification" if kind.endswith("classes") else "regression")


def test_screen_of_a_sum_of_functions_of_correlated_features_finds_nothing():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 6))
    X[:, 1] += 2 * X[:, 0]
    quarters = np.array([np.searchsorted(np.quantile(x, [0.25, 0.5, 0.75]), x) for x in X.T]).T
    y = quarters[:, 0] + quarters[:, 1] ** 2 + 0.1 * rng.normal(size=2000)
    shares = screen(X, y[:, None])
    assert np.diag(shares)[:2].min() > 0.5
    assert not np.triu(shares, 1).any()
    assert screen(X, (y * quarters[:, 0])[:, None])[0, 1] > 0


def test_share_of_a_pair_is_that_of_least_squares_on_indicators():
    """Correlated features, so cells have unequal counts, and some have none."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(700, 2))
    X[:, 1] = 0.8 * X[:, 0] + 0.3 * X[:, 1]
    y = (X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=700))[:, None]
    codes = np.array([np.searchsorted(np.quantile(x, [0.25, 0.5, 0.75]), x) for x in X.T]).T
    of_each = np.hstack([codes[:, [j]] == np.arange(4) for j in (0, 1)]).astype(float)
    of_cells = (4 * codes[:, :1] + codes[:, 1:] == np.arange(16)).astype(float)
    squares = []
    for design in (of_each, of_cells):
        fit = design @ np.linalg.lstsq(design, y, rcond=None)[0]
        squares.append((float(((y - fit) ** 2).sum()), np.linalg.matrix_rank(design)))
    (of_sum, sum_rank), (within, cell_rank) = squares
    assert cell_rank < 16
    freedom, variance = cell_rank - sum_rank, within / (700 - cell_rank)
    expected = (of_sum - within - freedom * variance) / float(((y - y.mean()) ** 2).sum())
    # Sums in single precision, and a ridge of 1e-6 that makes the equations solvable.
    assert screen(X, y)[0, 1] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("columns", [np.ones((300, 1)), np.zeros((300, 3))])
def test_screen_of_a_constant_finds_nothing(columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    assert not screen(X, columns).any()
    assert not screen(np.ones((300, 4)), rng.normal(size=(300, 1))).any()
    assert screen(X[:, :1], rng.normal(size=(300, 1))).shape == (1, 1)


def test_screened_relevance_is_that_of_the_pair_if_neighbours_confirm_it():
    X, y = product(500)
    relevance = screened(None, X, y, "regression")
    assert relevance is not None
    assert set(np.argsort(relevance)[-2:]) == {3, 7}
    assert np.delete(relevance, [3, 7]).max() == pytest.approx(0.01)  # no main effects, so slopes do not count


def test_screened_relevance_is_unchanged_without_pairs_rows_or_confirmation():
    rng = np.random.default_rng(0)
    X, y = product(500)
    known = rng.uniform(0.5, 2, 20)
    assert screened(known, X, rng.normal(size=500), "regression") is known
    assert screened(known, X[:90], y[:90], "regression") is known
    right = np.full(20, 1e-3)
    right[[3, 7]] = 10.0
    assert screened(right, X, y, "regression") is right  # neighbours are as good as with the screen's


def test_neighbour_losses_are_those_of_all_distances():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)), rng.normal(size=(100, 2))
    expected = []
    for i in range(50, 100):
        nearest = np.argsort(((X[:50] - X[i]) ** 2).sum(axis=1))[:5]
        expected.append(((y[nearest].mean(axis=0) - y[i]) ** 2).sum())
    np.testing.assert_allclose(neighbour_losses(X, y), expected, rtol=1e-12)


@pytest.mark.parametrize("rows", [128, 256, 600, 2100])
def test_learner_measures_distances_by_the_pair_that_was_found(rows):
    X, y = product(rows)
    metric = metric_of(nolana.StreamRegressor(random_state=0).partial_fit(X, y))
    assert np.delete(metric, [3, 7]).max() < 0.2 * metric[[3, 7]].min()


def test_product_of_two_of_32_features_is_learned_as_by_them_alone():
    X, y = product(4000, 32)

    def error(columns):
        scores = nolana.StreamRegressor(random_state=0).learn(np.ascontiguousarray(X[:, columns]), y)
        return ((scores[1000:] - y[1000:]) ** 2).mean()

    assert error(range(32)) < 1.5 * error([3, 7])  # 8 times as large without the screen


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("memory", ["64KB", "512KB"])
def test_split_around_each_screen_is_bit_identical(task, memory):
    X, y = product(2300, 10)
    kind = nolana.StreamRegressor if task == "regression" else nolana.StreamClassifier
    y = y if task == "regression" else np.digitize(y, [-0.1, 0.1])
    whole, parts = kind(memory=memory, random_state=0), kind(memory=memory, random_state=0)
    if task == "classification":  # the columns of the scores are those of all classes from the start
        for model in (whole, parts):
            model.partial_fit(X[:8], np.arange(8) % 3)
    scores = whole.learn(X, y)
    pieces = [parts.learn(X[i:j], y[i:j]) for i, j in itertools.pairwise(CUTS)]
    assert np.array_equal(scores, np.concatenate(pieces))
    assert same_state(whole._learner.state(), parts._learner.state())


def test_model_file_continues_bit_for_bit_after_a_screen(tmp_path):
    X, y = product(1500)
    model = nolana.StreamRegressor(random_state=0).partial_fit(X[:700], y[:700])
    model.save(tmp_path / "model")
    loaded = nolana.load(tmp_path / "model")
    assert np.array_equal(model.learn(X[700:], y[700:]), loaded.learn(X[700:], y[700:]))
    assert same_state(model._learner.state(), loaded._learner.state())


def test_merge_catches_up_on_the_screen():
    X, y = product(1500)
    model = nolana.StreamRegressor(random_state=0).partial_fit(X[:100], y[:100])
    parts = model.split(2)
    parts[0].learn(X[100:800], y[100:800])
    parts[1].learn(X[800:], y[800:])
    merged = nolana.merge(parts)
    assert np.array_equal(metric_of(merged), np.ones(20))
    merged.learn(X[:1], y[:1])
    metric = metric_of(merged)
    assert np.delete(metric, [3, 7]).max() < 0.2 * metric[[3, 7]].min()
