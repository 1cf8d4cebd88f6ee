"""Gradient descent and perceptrons on a budget: the core against NumPy, against their definitions, and on XOR."""

import numpy as np
import pytest

import nolana.engine as reference
from conftest import core_builds, same_state
from nolana.engine.base.draw import GOLDEN, draw_below, mixed
from nolana.engine.rivals.bogd import BOGD
from nolana.engine.rivals.forgetron import Forgetron
from nolana.engine.rivals.kernel_ogd import KernelOGD
from nolana.engine.rivals.rbp import RBP

BUILDS = core_builds()
BOUND = 1e-8
KINDS = {"KernelOGD": KernelOGD, "BOGD": BOGD, "RBP": RBP, "Forgetron": Forgetron}
ARGUMENTS = {
    "OGD": ("KernelOGD", {"loss": "Hinge", "rate": 0.3, "power": 0.0, "decay": 0.0}),
    "NORMA": ("KernelOGD", {"loss": "Logistic", "rate": 0.5, "power": 0.3, "decay": 0.8}),
    "BOGD": ("BOGD", {"loss": "Hinge", "rate": 0.2, "decay": 0.01, "cap": 2.0, "seed": 11}),
    "RBP": ("RBP", {"seed": 4}),
    "Forgetron": ("Forgetron", {}),
}
NAMES = list(ARGUMENTS)
BUDGETED = [name for name in NAMES if name not in ("OGD", "NORMA")]
every_build = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])


def rival(module, name, features=3, budget=13, outputs=1, gamma=0.7, kernel="RBF", **changed):
    """A rival of one engine."""
    family, arguments = ARGUMENTS[name]
    given = {**arguments, **changed}
    if "loss" in given:
        given["loss"] = getattr(module, given["loss"])()
    kind = KINDS[family] if module is reference else getattr(module, family)
    learner = kind(features=features, budget=budget, kernel=getattr(module, kernel)(), **given)
    learner.clear(outputs)
    learner.gamma = gamma
    return learner


def rows(rng, n, features, outputs):
    x = rng.normal(size=(n, features))
    if outputs == 1:
        return x, np.sign(rng.normal(size=(n, 1)) + 2 * x[:, :1] * x[:, 1:2])
    own = np.argmax(x @ rng.normal(size=(features, outputs)), axis=1)
    return x, np.where(own[:, None] == np.arange(outputs), 1.0, -1.0)


def xor(rng, n):
    x = rng.uniform(-1, 1, size=(n, 2))
    return x, np.sign(x[:, :1] * x[:, 1:])


def gap(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    return float(np.abs(a - b).max(initial=0.0) / (1 + np.abs(b).max(initial=0.0)))


@every_build
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_core_equals_numpy_block_by_block(build, name, outputs):
    rng = np.random.default_rng(outputs)
    core, mine = rival(build, name, outputs=outputs), rival(reference, name, outputs=outputs)
    for _ in range(6):
        x, y = rows(rng, 40, 3, outputs)
        weight = rng.choice([0.0, 0.5, 1.0, 3.0], size=40)
        mine.restore(core.state())
        assert gap(core.learn(x, y, weight), mine.learn(x, y, weight)) < BOUND
        a, b = core.state(), mine.state()
        assert a.keys() == b.keys()
        for key in a:
            assert gap(a[key], b[key]) < BOUND, key
        assert gap(core.scores(x), mine.scores(x)) < BOUND
    assert core.rows > 150


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("module", [reference, BUILDS[-1]], ids=["numpy", "core"])
def test_cutting_and_restoring_change_no_bit(module, name, outputs):
    rng = np.random.default_rng(5)
    x, y = rows(rng, 90, 3, outputs)
    whole = rival(module, name, outputs=outputs)
    scores = whole.learn(x, y)
    for cuts in ([1, 2, 50], [37], list(range(90))):
        cut = rival(module, name, outputs=outputs)
        parts = []
        for part_x, part_y in zip(np.split(x, cuts), np.split(y, cuts), strict=True):
            parts.append(cut.learn(part_x, part_y))
            cut.scores(part_x[::-1].copy())
            after = rival(module, name, outputs=1)
            after.restore(cut.state())
            cut = after
        assert np.array_equal(np.concatenate(parts), scores)
        assert same_state(cut.state(), whole.state())


@every_build
@pytest.mark.parametrize(("name", "least"), [("OGD", 0.9), ("BOGD", 0.9), ("RBP", 0.8), ("Forgetron", 0.8)])
def test_learns_xor(build, name, least):
    x, y = xor(np.random.default_rng(3), 4000)
    scores = rival(build, name, features=2, budget=100, gamma=4.0).learn(x, y)
    right = (scores * y > 0)[2000:].mean()
    assert right > least


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("name", BUDGETED)
def test_memory_is_constant(name, outputs):
    rng = np.random.default_rng(8)
    core = rival(BUILDS[-1], name, outputs=outputs)
    before = core.memory_bytes
    for _ in range(20):
        core.learn(*rows(rng, 1000, 3, outputs))
        assert len(core.state()["supports"]) == 13
        assert core.memory_bytes == before
    assert np.isfinite(core.state()["weights"]).all()


@pytest.mark.parametrize("name", BUDGETED)
def test_a_state_beyond_the_budget_is_refused(name):
    wide = rival(BUILDS[-1], name, budget=20)
    wide.learn(*rows(np.random.default_rng(0), 300, 3, 1))
    with pytest.raises(ValueError, match=r"supports has \d+ supports, but there is room for \d+"):
        rival(BUILDS[-1], name, budget=19).restore(wide.state())


def test_kernel_ogd_grows_and_is_the_sum_of_its_steps(rng):
    """Against the expansion written out: f_t(x) = sum over s < t of -eta_s slope_s k(x_s, x)."""
    x, y = rows(rng, 200, 3, 1)
    core = rival(BUILDS[-1], "OGD", budget=2, power=0.5)
    small = core.memory_bytes
    scores = core.learn(x, y)[:, 0]
    gram = np.exp(-0.7 * ((x[:, None] - x[None]) ** 2).sum(axis=2))
    steps = np.where(y[:, 0] * scores < 1, 0.3 * np.arange(1, 201) ** -0.5 * y[:, 0], 0.0)
    assert gap(scores, [gram[t, :t] @ steps[:t] for t in range(200)]) < 1e-12
    assert len(core.state()["supports"]) == np.count_nonzero(steps)
    assert core.memory_bytes > small


def test_norma_forgets_what_no_longer_counts():
    """decay 0.8 and a constant step of 0.5: a term is below 1e-8 after ln(1e-8)/ln(0.6) = 36.1 steps."""
    rng = np.random.default_rng(2)
    norma = rival(BUILDS[-1], "NORMA", loss="Hinge", power=0.0)
    ogd_bytes = []
    for _ in range(20):
        norma.learn(*rows(rng, 1000, 3, 1))
        ogd_bytes.append(norma.memory_bytes)
        assert len(norma.state()["supports"]) <= 37
    assert ogd_bytes[0] == ogd_bytes[-1]
    weights, ages = norma.state()["weights"][0], norma.state()["ages"]
    assert np.abs(weights[np.argmin(ages)]) >= 1e-8 * np.abs(weights).max()


def test_draws():
    assert mixed(GOLDEN) == 0xE220A8397B1DCDAF  # the first output of splitmix64 from seed 0, as published
    for seed in (0, 1, 2**64 - 1):
        counts = np.bincount([draw_below(seed, row, 10) for row in range(10_000)], minlength=10)
        assert ((counts - 1000) ** 2 / 1000).sum() < 27.9  # chi-square, 9 degrees of freedom, 1 in 1000
    neighbours = [[draw_below(seed, row, 1000) for row in range(100)] for seed in (7, 8)]
    assert len(set(neighbours[0]) & set(neighbours[1])) < 30


@every_build
def test_bogd_by_hand(build):
    """Budget 2, rate 1/2, decay 1/5 (a factor 9/10 a step), cap 3/2, rows far apart: every k is 0, every row is added.

    1. alpha = [.5].   2. [.45, -.5].   3. .45 and -.5 decay to .405 and -.45; full: one of them goes, the other is
    scaled by 2/1 to .81 or -.9; .5 is added; max|alpha| = .81 or .9 > rate cap = .75, so all is scaled by .75/max:
    the old one becomes +-.75 and the new one .5 * .75/.81 or .5 * .75/.9.
    """
    x, y = np.array([[0.0], [1e3], [2e3]]), np.array([[1.0], [-1.0], [1.0]])
    seen = set()
    for seed in range(20):
        core = rival(build, "BOGD", 1, 2, gamma=1.0, rate=0.5, decay=0.2, cap=1.5, seed=seed)
        assert np.array_equal(core.learn(x, y), np.zeros((3, 1)))
        state = core.state()
        weights = dict(zip(state["supports"][:, 0], state["weights"][0], strict=True))
        survivor = min(weights)
        seen.add(survivor)
        expected = {0.0: [0.75, 0.5 * 0.75 / 0.81], 1e3: [-0.75, 0.5 * 0.75 / 0.9]}[survivor]
        assert [weights[survivor], weights[2e3]] == pytest.approx(expected, rel=1e-14)
    assert seen == {0.0, 1e3}


@every_build
def test_budget_of_one(build):
    for name in BUDGETED:
        core = rival(build, name, budget=1, outputs=3)
        core.learn(*rows(np.random.default_rng(1), 200, 3, 3))
        assert core.state()["supports"].shape == (1, 3)
        assert np.isfinite(core.state()["weights"]).all()


@every_build
def test_rbp_deletes_an_old_vector_and_never_the_new(build):
    """Row by row: an untouched set without a mistake; with one, the new row is in and exactly one old row is out."""
    rng = np.random.default_rng(6)
    core, victims = rival(build, "RBP", budget=5), []
    x, y = rows(rng, 600, 3, 1)
    for xi, yi in zip(x, y, strict=True):
        before = [tuple(v) for v in core.state()["supports"]]
        f = core.learn(xi[None], yi[None])[0, 0]
        after = [tuple(v) for v in core.state()["supports"]]
        if f * yi[0] > 0:
            assert after == before
            continue
        gone = set(before) - set(after)
        assert set(after) - set(before) == {tuple(xi)}
        assert len(gone) == (1 if len(before) == 5 else 0)
        victims += [before.index(v) for v in gone]
    assert set(np.unique(np.abs(core.state()["weights"]))) == {1.0}
    assert np.bincount(victims, minlength=5).min() > len(victims) / 10


@every_build
def test_forgetron_by_hand(build):
    """Budget 1, gamma 1, rows placed so that k(x1,x2) = 1/2 and k(x2,x3) = 1/4.

    1. y = +1, f = 0: mistake, M = 1, alpha = [1].
    2. y = -1, f = 1/2: mistake, M = 2. r = x1: d = 1, f'(x1) = 1 - 1/2, mu = 1/2, a = 1 - 1 = 0, b = 2,
       c = 0 - 30/32; a + b + c > 0; phi = (30/16) / (2 + 2) = 15/32. alpha = [-15/32], Q = 2 phi = 15/16.
    3. y = +1, f = -15/32 * 1/4 = -15/128: mistake, M = 3. r = x2: d = 15/32, f'(x2) = -15/32 + 1/4 = -7/32,
       mu = 7/32, a = (225 - 210)/1024 = 15/1024, b = 960/1024, c = 15/16 - 45/32 = -480/1024; so
       phi^2 + 64 phi - 32 = 0, phi = sqrt(1056) - 32. alpha = [phi], and Q is back at its bound 45/32.
    """
    x = np.cumsum([0.0, np.sqrt(np.log(2)), np.sqrt(np.log(4))])[:, None]
    y = np.array([[1.0], [-1.0], [1.0]])
    for module in (reference, build):
        learner = rival(module, "Forgetron", 1, 1, gamma=1.0)
        expected = ((0, 1, 0), (1 / 2, -15 / 32, 15 / 16), (-15 / 128, np.sqrt(1056) - 32, 45 / 32))
        for i, (f, alpha, damage) in enumerate(expected):
            assert learner.learn(x[i : i + 1], y[i : i + 1])[0, 0] == pytest.approx(f, abs=1e-14)
            state = learner.state()
            assert np.array_equal(state["supports"], x[i : i + 1])
            assert state["weights"][0] == pytest.approx([alpha], rel=1e-13)
            assert state["damage"] == pytest.approx([damage], abs=1e-14)
            assert state["mistakes"] == i + 1


def test_forgetron_keeps_its_damage_within_the_bound():
    """Q <= (15/32) M after every block, phi in (0, 1]: no coefficient above 1; some phi is 1 and some is not."""
    rng = np.random.default_rng(9)
    core, sizes = rival(BUILDS[-1], "Forgetron"), []
    for _ in range(200):
        core.learn(*rows(rng, 5, 3, 1))
        state = core.state()
        assert state["damage"][0] <= 15 / 32 * state["mistakes"][0] * (1 + 1e-12)
        sizes.append(np.abs(state["weights"]))
    assert max(size.max() for size in sizes) == 1.0
    assert min(size.min() for size in sizes) < 0.9
    assert min(size.min() for size in sizes) > 0.0


@pytest.mark.parametrize("module", [reference, *BUILDS])
@pytest.mark.parametrize("name", NAMES)
def test_two_outputs_decide_as_one(module, name):
    x, y = rows(np.random.default_rng(12), 300, 3, 1)
    one, two = rival(module, name), rival(module, name, outputs=2)
    f, both = one.learn(x, y), two.learn(x, np.hstack([-y, y]))
    assert gap(both[:, 1:], f) < 1e-12
    assert gap(both[:, :1], -f) < 1e-12
    assert np.array_equal(one.state()["supports"], two.state()["supports"])
