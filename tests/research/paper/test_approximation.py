"""The maps of the approximation figure against the kernel itself, and the experiment on a small source."""

from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.linalg import hadamard

from nolana.research.paper.experiments import EXPERIMENTS
from nolana.research.paper.experiments.approximation import METHODS, Approximation, rank_of
from nolana.research.paper.harness import Scale
from nolana.research.paper.maps import Map, rbf, relative_error
from nolana.research.paper.maps.fourier import Fastfood, FastfoodMap, Fourier, FourierMap, hadamard_transform
from nolana.research.paper.maps.nystroem import (
    EXPERTS,
    Centroids,
    Default,
    Ensemble,
    FirstRows,
    Leverage,
    Median,
    Moving,
    Uniform,
)

GAMMA = 0.2
LANDMARK_MAPS = (Uniform, Centroids, Leverage, Ensemble, FirstRows, Moving, Median, Default)


def exact(X, Z):
    """The kernel by its definition."""
    return np.exp(-GAMMA * ((X[:, None] - Z[None]) ** 2).sum(-1))


def kernel_of(phi, X):
    return sum(part @ part.T for part in phi.parts(X))


@pytest.fixture(scope="module")
def rows():
    """Eight clusters in five dimensions, mixed."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(8, 5))[rng.integers(8, size=400)] * 2 + 0.5 * rng.normal(size=(400, 5))


def test_kernel_blocks_are_the_kernel(rows):
    assert np.allclose(rbf(rows, rows[:7], GAMMA), exact(rows, rows[:7]), atol=1e-13)


def test_error_is_that_of_the_whole_matrix():
    """By blocks of rows and halves of the matrix, the same as by the definition; 613 rows are no whole blocks."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(613, 3))

    class Anything(Map):
        def parts(self, X):
            yield np.sin(X @ np.ones((3, 4)) * np.arange(1, 5)) / 3
            yield X / 4

    approximate = kernel_of(Anything(), X)
    wanted = np.linalg.norm(exact(X, X) - approximate) / np.linalg.norm(exact(X, X))
    assert relative_error(Anything(), X, GAMMA) == pytest.approx(wanted, rel=1e-11)


def test_uniform_with_every_row_is_exact(rows):
    few = rows[:120]
    assert relative_error(Uniform(few, GAMMA).map(len(few), len(few), 0), few, GAMMA) < 1e-7


@pytest.mark.parametrize("make", LANDMARK_MAPS)
def test_errors_fall_with_the_landmarks(rows, make):
    maker = make(rows, GAMMA)
    found = [
        np.mean([relative_error(maker.map(m, rank_of(m), seed), rows, GAMMA) for seed in range(3)])
        for m in (80, 30, 10)
    ]
    assert found[0] < found[1] < found[2]
    assert found[0] < 0.1


def test_centroids_beat_a_sample(rows):
    """Zhang et al.'s point."""

    def mean(make):
        return np.mean([relative_error(make(rows, GAMMA).map(20, 20, seed), rows, GAMMA) for seed in range(5)])

    assert mean(Centroids) < 0.8 * mean(Uniform)


def test_ensemble_is_the_mean_of_its_maps(rows):
    phi = Ensemble(rows, GAMMA).map(15, 12, 3)
    assert len(phi.maps) == EXPERTS
    mean = np.mean([one.features(rows) @ one.features(rows).T for one in phi.maps], axis=0)
    assert np.allclose(kernel_of(phi, rows), mean, atol=1e-12)
    landmarks = np.concatenate([one.landmarks for one in phi.maps])
    assert len(np.unique(landmarks, axis=0)) == 15 * EXPERTS


def test_leverage_scores_are_those_of_the_eigenvectors(rows):
    vectors = np.linalg.eigh(exact(rows, rows))[1][:, ::-1]
    maker = Leverage(rows, GAMMA)
    for rank in (8, 3):
        found = maker.scores(rank)
        assert found.sum() == pytest.approx(rank)
        assert np.allclose(found, (vectors[:, :rank] ** 2).sum(axis=1), atol=2e-3)


def test_leverage_draws_the_rows_that_matter():
    """200 copies of one place and two rows far away: an eigenvector for each of the three places."""
    X = np.zeros((202, 2))
    X[200], X[201] = [50.0, 0.0], [0.0, 50.0]
    for seed in range(20):
        assert {(50.0, 0.0), (0.0, 50.0)} <= {tuple(u) for u in Leverage(X, 1.0).map(30, 3, seed).landmarks}


def test_online_k_means_by_hand(rows):
    """The landmarks of OANA with epsilon = 0 are those of the update rule."""
    places, counts = rows[:6].copy(), np.ones(6)
    for x in rows:
        q = ((places - x) ** 2).sum(axis=1).argmin()
        places[q] = (counts[q] * places[q] + x) / (counts[q] + 1)
        counts[q] += 1
    assert np.allclose(Moving(rows, GAMMA).map(6, 5, 0).landmarks, places, atol=1e-12)


def test_hadamard_transform():
    for d in (1, 2, 16, 64):
        x = np.random.default_rng(d).normal(size=(3, d))
        assert np.allclose(hadamard_transform(x), x @ hadamard(d), atol=1e-12)


PAIRS = np.random.default_rng(5).normal(size=(2, 60, 11)) * 0.6


def deviations(maps):
    """phi(x).phi(z) - k(x, z) for 60 pairs, a row for each map, and k."""
    X, Z = PAIRS
    k = np.exp(-GAMMA * ((X - Z) ** 2).sum(axis=1))
    dots = [
        sum((p[:60] * p[60:]).sum(axis=1) for p in phi.parts(np.concatenate([X, Z])))  # one draw for both
        for phi in maps
    ]
    return np.array(dots) - k, k


def fourier(projections, seed):
    return FourierMap(np.sqrt(2 * GAMMA) * np.random.default_rng(seed).normal(size=(projections, 11)))


def fastfood(projections, seed):
    return FastfoodMap(11, projections, GAMMA, seed)


@pytest.mark.parametrize(("draw", "room"), [(fourier, 1.15), (fastfood, 2.0)])
def test_random_maps_are_right_on_average_and_as_near_as_theory_says(draw, room):
    """Mean k, variance (1 - k^2)^2/(2 D) for independent projections, and 1/D however many there are.

    The 16 projections of a block of Fastfood depend on each other, which adds to the variance.
    """
    squares = []
    for projections in (16, 128):
        off, k = deviations([draw(projections, seed) for seed in range(150)])
        variance = (1 - k**2) ** 2 / (2 * projections)
        assert (np.abs(off.mean(axis=0)) < 5 * np.sqrt(room * variance / 150)).all()
        squares.append((off**2).mean())
        assert 0.85 < squares[-1] / variance.mean() < room
    assert squares[0] / squares[1] == pytest.approx(8, rel=0.15)


@pytest.mark.parametrize("make", [Fourier, Fastfood])
def test_random_maps_have_the_budget(make):
    """(m d + m r)/d projections, two columns each, every row of length one; 12 features are padded to 16."""
    X = np.random.default_rng(2).normal(size=(30, 12))
    phi = np.concatenate(list(make(X, GAMMA).map(20, 16, 0).parts(X)), axis=1)
    assert phi.shape == (30, 2 * ((20 * 12 + 20 * 16) // 12))
    assert np.allclose((phi**2).sum(axis=1), 1.0)


# The experiment.


@dataclass(frozen=True)
class Clusters:
    """Rows of the width of the data sets, as few as a test needs; one of them is missing."""

    def has(self, name):
        return name != "covtype"

    def missing(self, name):
        return "" if self.has(name) else f"no {name} in this test"

    def load(self, name):
        rng = np.random.default_rng(len(name))
        d = {"cpusmall": 12, "usps": 256}[name]
        X = rng.normal(size=(9, d))[rng.integers(9, size=240)] + 0.4 * rng.normal(size=(240, d))
        return X, rng.normal(size=240)


class Balanced(HTMLParser):
    """Tags that are opened are closed, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.words = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("br", "meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def text_of(html):
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    return " ".join(" ".join(parser.words).split())


@pytest.fixture(scope="module")
def run():
    experiment = Approximation(Clusters(), Scale("tiny", 150, 2, 60, 2))
    assert all(not cell.needs for cell in experiment.plan())
    return experiment, {c.key: c.work(Clusters(), {}, **c.arguments) for c in experiment.plan()}


def test_plan(run):
    experiment, results = run
    assert EXPERIMENTS["approximation"] is Approximation
    assert experiment.budgets("usps") == [20, 50]
    assert len(results) == 2 * len(METHODS)
    for one in results.values():
        assert one["rows"] == one["judged"] == 150
        assert all(len(draws) == 2 and min(draws) > 0 for draws in one["errors"].values())


def test_nogd_on_a_shuffled_stream_is_a_uniform_draw(run):
    """The order of the stream is drawn, so two draws differ; both maps are equally good."""
    experiment, results = run
    first, second = results["approximation/cpusmall/NOGD"]["errors"]["50"]
    assert first != second
    ratio = experiment.ratios(results, "NOGD", "uniform")
    assert all(0.4 < value < 2.5 for value in ratio.values())


def test_section(run):
    experiment, results = run
    text = text_of(experiment.section(results).html())
    assert "covtype: the data was not available. no covtype in this test" in text
    for name in METHODS:
        assert name in text


@pytest.mark.parametrize(
    ("factor", "words"), [(0.5, "at every budget and on every data set"), (2.0, "but not on cpusmall")]
)
def test_findings_follow_the_numbers(run, factor, words):
    experiment, results = run
    bent = dict(results)
    for data in experiment.data:
        key = f"approximation/{data}/OANA"
        rivals = [results[f"approximation/{data}/{name}"]["errors"] for name in ("NOGD", "FOGD")]
        best = {m: factor * min(min(one[m]) for one in rivals) for m in ("20", "50")}
        bent[key] = results[key] | {"errors": {m: [value] * 2 for m, value in best.items()}}
    assert words in experiment.findings(bent)[0]


def test_lines(run):
    experiment, results = run
    lines = experiment.lines(results)
    assert len(lines) == 2 * len(METHODS) * 2 * 2
    columns = {"data", "method", "m", "rank", "draw", "gamma", "rows", "judged", "error", "seconds", "microseconds"}
    assert all(set(line) == columns for line in lines)
