"""MEKA, FastNys and the active set against their own definitions: exact at full rank, structure, memory and cost."""

import numpy as np
import pytest

import nolana.research.paper.maps.fastnys as fastnys
from nolana.research.paper.maps import meka, rbf, relative_error
from nolana.research.paper.maps.active_set import INSENSITIVE, LAMBDA, ActiveSet
from nolana.research.paper.maps.fastnys import FastNys, FastNysMap
from nolana.research.paper.maps.meka import CLUSTERS, Meka
from nolana.research.paper.maps.nystroem import Nystroem, Uniform

GAMMA = 0.3


@pytest.fixture(scope="module")
def rows():
    """Six clusters in five dimensions, mixed."""
    rng = np.random.default_rng(3)
    return 3 * rng.normal(size=(6, 5))[rng.integers(6, size=300)] + 0.6 * rng.normal(size=(300, 5))


@pytest.fixture(scope="module")
def labels(rows):
    return np.array(["b", "a", "c"])[np.digitize(rows[:, 0], (-1.0, 1.0))]


def whole(lower):
    return np.tril(lower) + np.tril(lower, -1).T


# MEKA.


def test_meka_with_every_row_as_a_landmark_at_full_rank_is_exact(rows):
    """Bases that span their blocks reproduce the blocks; links on all entries reproduce what is between them.

    The rows are so far apart that no singular value of a basis falls under the cutoff.
    """
    apart = rows[:90] * 4
    phi = Meka(apart, GAMMA).sized(90, 90, 3, 0)
    assert sum(block.rank for block in phi.blocks) == 90
    assert relative_error(phi, apart, GAMMA) < 1e-10


def test_meka_is_a_block_on_the_diagonal_and_linked_beside_it(rows):
    phi = Meka(rows, GAMMA).sized(12, 9, 4, 1)
    (features,) = phi.parts(rows)
    clusters, found = phi.clusters(rows), whole(phi.gram(rows))
    assert features.shape == (300, 4 * 9)
    distances = ((rows[:, None] - phi.centres) ** 2).sum(axis=-1)
    assert (clusters == distances.argmin(axis=1)).all()
    for s in range(4):
        mine = clusters == s
        inside = slice(9 * s, 9 * s + 9)
        assert not np.delete(features[mine], np.r_[inside], axis=1).any()
        own = whole(phi.blocks[s].gram(rows[mine]))
        assert np.allclose(found[np.ix_(mine, mine)], own, atol=1e-12)
        assert set(map(tuple, phi.blocks[s].landmarks)) <= set(map(tuple, rows[mine]))
    assert np.allclose(phi.links, phi.links.T)


def test_links_are_least_squares(rows):
    """No other link between two clusters is nearer to the sampled entries of G."""
    first, second = rows[rows[:, 0] > 1], rows[rows[:, 0] <= 1]
    blocks = [Nystroem(first[:8], 6, GAMMA), Nystroem(second[:10], 7, GAMMA)]
    links = meka.links_of(blocks, [first, second], GAMMA)
    link = links[:6, 6:]
    wanted = rbf(first, second, GAMMA)
    left, right = blocks[0].features(first), blocks[1].features(second)

    def loss(tried):
        return np.linalg.norm(wanted - left @ tried @ right.T)

    rng = np.random.default_rng(0)
    assert all(loss(link + 1e-3 * rng.normal(size=link.shape)) > loss(link) for _ in range(20))
    assert (links[:6, :6] == np.eye(6)).all()


def test_meka_of_one_cluster_is_nystroem(rows):
    phi = Meka(rows, GAMMA).sized(20, 16, 1, 0)
    alone = Nystroem(phi.blocks[0].landmarks, 16, GAMMA)
    assert np.allclose(whole(phi.gram(rows)), whole(alone.gram(rows)), atol=1e-12)


# FastNys.


def test_kernel_of_pseudo_landmarks_by_transforms_is_the_kernel(rows):
    phi = FastNys(rows, GAMMA).map(20, 16, 0)
    assert np.allclose(phi.kernel_rows(rows), rbf(rows, phi.landmarks, GAMMA), atol=1e-12)


def test_fastnys_at_full_rank_is_exact_on_its_pseudo_landmarks():
    rng = np.random.default_rng(2)
    mean, seeds = rng.normal(size=8), 2 * rng.normal(size=(3, 8))
    phi = FastNysMap(mean, seeds, np.arange(24), 24, GAMMA)
    assert relative_error(phi, phi.landmarks, GAMMA) < 1e-7
    signs = (phi.landmarks - mean)[:8] / seeds[0]
    assert np.allclose(np.abs(signs), 1)
    assert np.allclose(signs @ signs.T, 8 * np.eye(8))  # rows of a Hadamard matrix


def test_seeds_are_found_again():
    """Rows that are pseudo-landmarks of two seeds with a little noise: the nearest ones are as near as the noise."""
    rng = np.random.default_rng(4)
    truth = FastNysMap(np.zeros(8), 3 * rng.normal(size=(2, 8)), np.arange(16), 16, GAMMA).landmarks
    rows = truth[rng.integers(16, size=500)] + 0.01 * rng.normal(size=(500, 8))
    seeds, counts = fastnys.learned_seeds(rows - rows.mean(axis=0), 2, rng)
    assert counts.sum() == 500
    found = FastNysMap(rows.mean(axis=0), seeds, np.arange(16), 16, GAMMA).landmarks
    nearest = ((rows[:, None] - found) ** 2).sum(axis=-1).min(axis=1)
    assert nearest.mean() < 0.05 * rows.var(axis=0).sum()


def test_fastnys_takes_one_transform_for_each_seed(rows, monkeypatch):
    """M pseudo-landmarks cost ceil(M / 8) transforms of 8 numbers, not M products."""
    phi = FastNys(rows, GAMMA).map(20, 16, 0)
    calls = []

    def counted(x):
        calls.append(x.shape)
        return transform(x)

    transform = fastnys.hadamard_transform
    monkeypatch.setattr(fastnys, "hadamard_transform", counted)
    phi.kernel_rows(rows)
    assert calls == [(300, 8)] * -(-len(phi.chosen) // 8)


# Memory.


@pytest.mark.parametrize("features", [1, 5, 12, 64])
@pytest.mark.parametrize("m", [20, 50])
def test_maps_use_the_memory_bytes_the_landmarks_and_no_more(features, m):
    """At least nine tenths of m d + m r numbers, but for the few landmarks of MEKA at the smallest budget."""
    X = np.random.default_rng(features).normal(size=(500, features))
    rank = int(0.8 * m)
    for make, least in ((FastNys, 0.9), (Meka, 0.6)):
        used = make(X, 1 / features).map(m, rank, 0).numbers
        assert least * m * (features + rank) < used <= m * (features + rank)


def test_sizes_are_the_largest_that_fit():
    p, q = meka.size_at(100, 80, 22)
    budget = 100 * 22 + 100 * 80

    def numbers(p, q):
        return CLUSTERS * (22 + 22 * p + p * q) + CLUSTERS * (CLUSTERS - 1) // 2 * q**2

    assert q == int(0.8 * p)
    assert numbers(p, q) <= budget < numbers(p + 1, int(0.8 * (p + 1)))
    seeds, count, rank = fastnys.size_at(100, 80, 22)
    assert seeds == -(-count // 32)
    assert (1 + seeds) * 22 + count + count * rank <= budget
    assert count > 100  # seeds are fewer than landmarks


# The active set.


def test_active_rows_are_those_inside_the_margin_of_pegasos(rows, labels):
    """Pegasos by its definition: W_t = -1/(lambda t) times the sum of the subgradients so far."""
    maker = ActiveSet(rows, GAMMA, labels)
    drawn = rows[np.random.default_rng(0).permutation(300)[:20]]
    phi = Nystroem(drawn, 16, GAMMA).features(rows)
    classes = np.unique(labels)
    pulls, found = np.zeros((3, 16)), []
    for t, (row, label) in enumerate(zip(phi, labels, strict=True), 1):
        scores = pulls @ row / (LAMBDA * max(1, t - 1))
        own = int(np.flatnonzero(classes == label)[0])
        other = max((s for s in range(3) if s != own), key=scores.__getitem__)
        found.append(scores[own] - scores[other] < 1)
        if found[-1]:
            pulls[own] += row
            pulls[other] -= row
    assert (maker.active(20, 16, 0) == found).all()
    assert 20 < sum(found) < 280


def test_landmarks_are_active_rows_while_there_are_enough(rows, labels):
    maker = ActiveSet(rows, GAMMA, labels)
    active = {tuple(row) for row in rows[maker.active(20, 16, 5)]}
    assert {tuple(u) for u in maker.map(20, 16, 5).landmarks} <= active
    more = len(active) + 10
    chosen = {tuple(u) for u in maker.map(more, 16, 5).landmarks}
    assert len(chosen) == more


def test_numbers_are_active_outside_the_tube(rows):
    """A target that the map can learn: fewer rows are outside the tube later than at first."""
    y = np.sin(rows[:, 0]) + rows[:, 1]
    maker = ActiveSet(rows, GAMMA, y)
    assert maker.targets.std() == pytest.approx(1)
    active = maker.active(40, 32, 0)
    assert active[0] == (abs(maker.targets[0]) > INSENSITIVE)
    assert active[:100].mean() > active[200:].mean()


def test_active_set_of_every_row_is_exact(rows, labels):
    few = rows[:100]
    phi = ActiveSet(few, GAMMA, labels[:100]).map(100, 100, 0)
    assert relative_error(phi, few, GAMMA) < 1e-7


def test_cited_maps_get_nearer_with_memory(rows, labels):
    """All three fall with m, and end near a uniform map."""
    makers = [Meka(rows, GAMMA), FastNys(rows, GAMMA), ActiveSet(rows, GAMMA, labels)]
    near = relative_error(Uniform(rows, GAMMA).map(20, 16, 0), rows, GAMMA)
    for maker in makers:
        small, large = (
            np.mean([relative_error(maker.map(m, int(0.8 * m), seed), rows, GAMMA) for seed in range(3)])
            for m in (10, 80)
        )
        assert large < small
        assert large < near
