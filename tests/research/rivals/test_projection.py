"""BSGD, Projectron, Projectron++ and BPA: the core against NumPy, against examples by hand, and as streams ask."""

import importlib
from typing import Any

import numpy as np
import pytest

import nolana.engine as reference
from conftest import core_builds, same_state
from nolana.engine.rivals.bsgd import best_share

BOUND = 1e-8  # of an array's size, after 40 rows from equal states
BUILDS = core_builds()
ENGINES = [*BUILDS, reference]
# name -> (file of the NumPy class, what its constructor takes after features, budget and kernel, XOR's accuracy)
RIVALS: dict[str, tuple[str, Any, float]] = {
    "BSGDRemove": ("bsgd", lambda engine: (engine.Hinge(), 1e-2), 0.9),
    "BSGDProject": ("bsgd", lambda engine: (engine.Hinge(), 1e-2), 0.9),
    "BSGDMerge": ("bsgd", lambda engine: (engine.Hinge(), 1e-2), 0.9),
    "Projectron": ("projectron", lambda _: (0.1,), 0.8),
    "ProjectronPlusPlus": ("projectron", lambda _: (0.1,), 0.8),
    "BPASimple": ("bpa", lambda _: (1.0,), 0.9),
    "BPANearest": ("bpa", lambda _: (1.0,), 0.9),
}
WEIGHTED = tuple(name for name in RIVALS if name.startswith("BSGD"))

names = pytest.mark.parametrize("name", RIVALS)
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda m: m.__name__.split(".")[-1])


def make(name: str, engine: Any, features: int, budget: int, gamma: float, outputs: int = 1, *more: Any) -> Any:
    """A cleared learner of a build of the core, or of NumPy's; `more` in the place of the usual last arguments."""
    file, rest, _ = RIVALS[name]
    home = engine if engine is not reference else importlib.import_module(f"nolana.engine.rivals.{file}")
    learner = getattr(home, name)(features, budget, engine.RBF(), *(more or rest(engine)))
    learner.gamma = gamma
    learner.clear(outputs)
    return learner


def blobs(rng: np.random.Generator, rows: int, features: int, outputs: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a few overlapping classes, with targets (rows, outputs)."""
    x = rng.normal(size=(rows, features))
    labels = (x[:, 0] * x[:, -1] > 0).astype(int) + (x.sum(axis=1) > 1)
    if outputs == 1:
        return x, np.where(labels[:, None] == 1, 1.0, -1.0)
    return x, np.where(labels[:, None] % outputs == np.arange(outputs), 1.0, -1.0)


def gap(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max(initial=0.0) / (1 + np.abs(b).max(initial=0.0)))


@names
@builds
@pytest.mark.parametrize("outputs", [1, 3])
def test_equal_block_by_block(name, build, outputs, rng):
    for features, budget in ((3, 13), (5, 24), (1, 2), (9, 1)):
        core, mine = (make(name, engine, features, budget, 0.3, outputs) for engine in (build, reference))
        for _ in range(8):
            x, y = blobs(rng, 40, features, outputs)
            weight = rng.choice([0.0, 0.5, 1.0, 3.0], size=40) if name in WEIGHTED else None
            mine.restore(core.state())
            assert gap(core.learn(x, y, weight), mine.learn(x, y, weight)) < BOUND
            a, b = core.state(), mine.state()
            assert a.keys() == b.keys()
            for key in a:
                assert np.shape(a[key]) == np.shape(b[key]), key
                assert gap(np.asarray(a[key]), np.asarray(b[key])) < BOUND, key
            assert gap(core.scores(x), mine.scores(x)) < BOUND
            assert len(a["supports"]) <= budget


@builds
@pytest.mark.parametrize("name", [name for name in RIVALS if name != "BSGDMerge"])
@pytest.mark.parametrize("kernel", ["Laplacian", "Cosine", "Linear"])
def test_other_kernels(name, build, kernel, rng):
    core, mine = (
        type(make(name, engine, 4, 10, 1.0))(4, 10, getattr(engine, kernel)(), *RIVALS[name][1](engine))
        for engine in (build, reference)
    )
    core.clear(3)
    x, y = blobs(rng, 200, 4, 3)
    x[::7] = 0  # a row of no length under the linear kernels
    for part in np.split(np.arange(200), 5):
        mine.restore(core.state())
        assert gap(core.learn(x[part], y[part]), mine.learn(x[part], y[part])) < BOUND
        assert gap(core.scores(x), mine.scores(x)) < BOUND
        assert np.isfinite(core.state()["weights"]).all()


@names
@engines
@pytest.mark.parametrize("outputs", [1, 3])
def test_cuts_change_no_bit(name, engine, outputs, rng):
    x, y = blobs(rng, 120, 3, outputs)
    whole, cut, resumed = (make(name, engine, 3, 12, 0.5, outputs) for _ in range(3))
    expected = whole.learn(x, y)
    for edges in zip((0, 1, 7, 60, 61), (1, 7, 60, 61, 120), strict=True):
        part = slice(*edges)
        resumed.restore(cut.state())
        assert np.array_equal(cut.learn(x[part], y[part]), expected[part])
        assert np.array_equal(resumed.learn(x[part], y[part]), expected[part])
        assert same_state(cut.state(), resumed.state())
    assert same_state(cut.state(), whole.state())


@names
@engines
def test_two_outputs_decide_as_one(name, engine, rng):
    x, y = blobs(rng, 300, 3, 1)
    one, two = make(name, engine, 3, 15, 0.5), make(name, engine, 3, 15, 0.5, 2)
    f, g = one.learn(x, y), two.learn(x, np.hstack([-y, y]))
    assert gap(g[:, 1:], f) < 1e-6
    assert gap(g[:, :1], -f) < 1e-6


@names
@builds
def test_xor_is_learned(name, build, rng):
    x = rng.uniform(-1, 1, size=(4000, 2))
    y = np.where(x[:, :1] * x[:, 1:] > 0, 1.0, -1.0)
    f = make(name, build, 2, 100, 4.0).learn(x, y)
    assert np.mean((f > 0) == (y > 0), where=np.arange(4000)[:, None] >= 2000) > RIVALS[name][2]


@names
@builds
def test_memory_is_constant(name, build, rng):
    learner = make(name, build, 4, 30, 0.5, 3)
    start = learner.memory_bytes
    for _ in range(10):
        x, y = blobs(rng, 2000, 4, 3)
        learner.learn(x, y)
        assert learner.memory_bytes == start
        assert len(learner.state()["supports"]) <= 30


@names
@builds
def test_a_state_beyond_the_budget_is_refused(name, build, rng):
    large, small = make(name, build, 3, 30, 0.5), make(name, build, 3, 10, 0.5)
    large.learn(*blobs(rng, 300, 3, 1))
    assert len(large.state()["supports"]) > 10
    with pytest.raises(ValueError, match="supports has 30 supports, but there is room for 10"):
        small.restore(large.state())


@engines
def test_merging_by_hand(engine):
    """Budget 1, lambda = 1, k(x, x') = 2^-(x - x')^2.

    t = 1: x = 0, y = +1. f = 0 < 1: add 1/t = 1.
    t = 2: x = 1, y = +1. f = 1 k(0, 1) = 1/2 < 1: the old 1 becomes 1/2, add 1/2. Two equal coefficients meet in the
           middle: h = 1/2, z = 1/2, alpha_z = 1/2 k^(1/4) + 1/2 k^(1/4) = 2^(-1/4), as k = 1/2.
    t = 3: x = 1/2 - sqrt(1/12), y = -1. k = 2^(-1/12), f = 2^(-1/4) 2^(-1/12) = 2^(-1/3) > -1: the old one becomes
           b = 2/3 2^(-1/4), add -1/3, the smaller. They pull apart: with w = -h the best z has
           (1 + w)/3 k^(1+2w) = b w; at w = 1 the left is 2/3 2^(-3/12) = b, so h = -1.
           z = -x + 2 (1/2) = 1/2 + sqrt(1/12), alpha_z = -1/3 k^4 + b k = (-1/3 + 2/3) 2^(-1/3).
    """
    learner = make("BSGDMerge", engine, 1, 1, np.log(2), 1, engine.Hinge(), 1.0)
    x = np.array([[0.0], [1.0], [0.5 - np.sqrt(1 / 12)]])
    y = np.array([[1.0], [1.0], [-1.0]])
    assert learner.learn(x, y).ravel() == pytest.approx([0, 0.5, 2 ** (-1 / 3)], abs=1e-14)
    assert learner.state()["supports"].ravel() == pytest.approx([0.5 + np.sqrt(1 / 12)], abs=1e-14)
    assert learner.state()["weights"].ravel() == pytest.approx([2 ** (-1 / 3) / 3], abs=1e-14)


def test_no_other_merge_keeps_more(rng):
    h = np.linspace(-30, 1, 40_001)[:, None]
    rate = rng.exponential(size=300) * rng.choice([0.01, 1.0, 5.0], size=300)
    own, other = rng.uniform(-1, 1, size=300), rng.choice([-1, 1], size=300) * rng.uniform(1, 3, size=300)
    other[:100] = -1.001 * own[:100]  # nearly cancelling: z goes as far as it ever does

    def kept(share: np.ndarray) -> np.ndarray:
        return (own * np.exp(-rate * (1 - share) ** 2) + other * np.exp(-rate * share**2)) ** 2

    # In units of alpha_i every pair has a = 1.
    found = best_share(rate, 1.0, (other / own) ** 2, other / own)
    assert np.all(kept(found) >= kept(h).max(axis=0) - 1e-12)


@engines
def test_projection_keeps_the_span(engine):
    """Three linear-kernel vectors in the plane: the third lies in the span of the others, so nothing is lost."""
    learner = type(make("BSGDProject", engine, 2, 2, 1.0))(2, 2, engine.Linear(), engine.Hinge(), 1.0)
    learner.clear(1)
    x, y = np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.2]]), np.array([[1.0], [1.0], [1.0]])
    learner.learn(x, y)  # w = (1/3, 1/3) + (0.3, 0.2)/3 after the three Pegasos steps
    assert len(learner.state()["supports"]) == 2
    assert learner.scores(np.eye(2)).ravel() == pytest.approx([1.3 / 3, 1.2 / 3], abs=1e-5)


@engines
@pytest.mark.parametrize("name", ["Projectron", "ProjectronPlusPlus"])
def test_projectron_by_hand(name, engine):
    """Budget 2, eta = 1/2, k(x, x') = x.x' in the plane.

    1: x = (1, 0), y = +1. f = 0, a mistake; delta2 = 1 > 1/4: add +1. K^-1 = [1].
    2: x = (.6, .4), y = -1. f = .6, a mistake; D = .6, delta2 = .52 - .36 = .16 <= 1/4: alpha = 1 - .6 = .4.
    3: x = (1, 1), y = +1. f = .4, a margin error, l = .6, p = 1, delta2 = 2 - 1 = 1, tau = .6,
       U = sqrt(3/ln 3)/4 = .413; beta = .6 (1.2 - .6 - .826) < 0: neither learns.
    4: x = (1, 2), y = -1. f = .4, a mistake; D = 1, delta2 = 5 - 1 = 4: add -1.
       K^-1 = [1 0; 0 0] + [1 -1; -1 1]/4 = [1.25 -.25; -.25 .25], the inverse of [1 1; 1 5].
    5: x = (-1, 0), y = +1. w = .4 (1, 0) - (1, 2) = (-.6, -2), f = .6, l = .4; D = (-1, 0), p = 1, delta2 = 0,
       tau = .4, beta = .4 (.8 - .4) > 0: Projectron++ takes alpha = (.4 - .4, -1), and then f(x) is 1.
    """
    learner = type(make(name, engine, 2, 2, 1.0))(2, 2, engine.Linear(), 0.5)
    learner.clear(1)
    x = np.array([[1, 0], [0.6, 0.4], [1, 1], [1, 2], [-1, 0]])
    y = np.array([[1.0], [-1], [1], [-1], [1]])
    assert learner.learn(x[:2], y[:2]).ravel() == pytest.approx([0, 0.6])
    assert learner.state()["weights"].ravel() == pytest.approx([0.4])
    assert learner.learn(x[2:], y[2:]).ravel() == pytest.approx([0.4, 0.4, 0.6])
    state = learner.state()
    assert state["supports"] == pytest.approx(x[[0, 3]])
    assert state["inverse"] == pytest.approx(np.array([[1.25, -0.25], [-0.25, 0.25]]))
    first = 0.0 if name == "ProjectronPlusPlus" else 0.4
    assert state["weights"].ravel() == pytest.approx([first, -1], abs=1e-14)


@builds
def test_inverse_stays_current(build, rng):
    learner = make("ProjectronPlusPlus", build, 3, 40, 0.3, 3)
    learner.learn(*blobs(rng, 3000, 3, 3))
    state = learner.state()
    gram = np.exp(-0.3 * ((state["supports"][:, None] - state["supports"]) ** 2).sum(axis=2))
    assert gap(gram @ state["inverse"], np.eye(len(gram))) < 1e-9


@engines
@pytest.mark.parametrize("name", ["BPASimple", "BPANearest"])
def test_bpa_by_hand(name, engine):
    """Budget 2, C = 2, k(x, x') = 2^-(x - x')^2, k(x, x) = 1.

    1: x = 0, y = +1. f = 0, l = 1, tau = 1: add 1.
    2: x = 2, y = -1. f = k(0, 2) = 1/16, l = 17/16 = tau: add -17/16.
    3: x = 1, y = +1. k = 1/2 to both; f = 1/2 - 17/32 = -1/32, l = 33/32 = tau. Full.
       BPA-S: outside is 1 - 1/4 for both, so the smaller coefficient goes, r = 0: beta = 1/2 + 33/32 = 49/32.
       BPA-NN: each is the other's neighbour. phi(0) on phi(1), phi(2): [1 1/2; 1/2 1] b = (1/2, 1/16), determinant 3/4,
       b = ((1/2 - 1/32)/(3/4), (1/16 - 1/4)/(3/4)) = (5/8, -1/4), outside 1 - 5/16 + 1/64 for both, r = 0 again:
       x = 1 with 5/8 + 33/32 = 53/32, x = 2 with -17/16 - 1/4 = -21/16.
       Both: f(1) is now 49/32 - 17/32 = 53/32 - 21/32 = 1.
    """
    learner = make(name, engine, 1, 2, np.log(2), 1, 2.0)
    f = learner.learn(np.array([[0.0], [2], [1]]), np.array([[1.0], [-1], [1]]))
    assert f.ravel() == pytest.approx([0, 1 / 16, -1 / 32])
    state = learner.state()
    assert state["supports"].ravel() == pytest.approx([1, 2])
    expected = [49 / 32, -17 / 16] if name == "BPASimple" else [53 / 32, -21 / 16]
    assert state["weights"].ravel() == pytest.approx(expected, abs=1e-14)


@builds
def test_nearest_neighbours_stay_current(build, rng):
    learner = make("BPANearest", build, 3, 20, 0.5, 3)
    learner.learn(*blobs(rng, 500, 3, 3))
    state = learner.state()
    distances = ((state["supports"][:, None] - state["supports"]) ** 2).sum(axis=2) + np.diag(np.full(20, np.inf))
    assert np.array_equal(state["nearest"], distances.argmin(axis=1))
    assert state["gap"] == pytest.approx(distances.min(axis=1))
    assert state["affinity"] == pytest.approx(np.exp(-0.5 * distances.min(axis=1)))
