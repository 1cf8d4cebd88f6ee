"""The rivals on random Fourier features: the maps against the kernel itself, the core against NumPy."""

import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler

import nolana.engine as reference
from conftest import core_builds, same_state
from nolana.engine.rivals.doubly_sgd import DoublySGD, random_features
from nolana.engine.rivals.dual_sgd import DualSGD
from nolana.engine.rivals.rrf import RRF

BUILDS = core_builds()
each_build = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
OWN = {"DoublySGD": DoublySGD, "DualSGD": DualSGD, "RRF": RRF}
NAMES = sorted([*OWN, "FOGD"])


def gap(a, b):
    return float(np.abs(a - b).max(initial=0.0) / (1 + np.abs(b).max(initial=0.0)))


def learner(module, name, *, features=3, outputs=1, budget=21, gamma=0.4, loss="Hinge", loss_arguments=(), **changed):
    """One rival of a build of the core, or of NumPy (module = reference)."""
    rng = np.random.default_rng(5)
    draws, start = rng.normal(size=(budget, features)), 0.01 * rng.normal(size=2 * budget)
    dual = {"budget": budget, "merged": 4, "projections": draws, "kernel": module.RBF(), "regularization": 0.01}
    arguments = {
        "DoublySGD": {"budget": budget, "rate": 5.0, "decay": 1e-3, "seed": 11},
        "DualSGD": dual,
        "FOGD": {"projections": draws, "rate": 0.5, "power": 0.25, "decay": 1e-3},
        "RRF": {"projections": draws, "rate": 0.005, "width_rate": 0.01, "decay": 1e-3, "start": start},
    }[name]
    arguments |= changed | {"loss": getattr(module, loss)(*loss_arguments)}
    if name == "FOGD":
        map = module.FourierMap(arguments.pop("projections"))
        made, map.gamma = module.Learner([map], [module.Expert(0, module.SGD(**arguments))]), gamma
    else:
        made = (OWN[name] if module is reference else getattr(module, name))(features=features, **arguments)
        made.gamma = gamma
    made.clear(outputs)
    return made


def rows(rng, n, features, outputs):
    """Rows, their targets (+1 for the own class) and weights, some of them zero."""
    x = rng.normal(size=(n, features))
    if outputs == 1:
        y = np.where(x[:, :1] * x[:, 1:2] > 0, 1.0, -1.0)
    else:
        y = 2 * np.eye(outputs)[rng.integers(0, outputs, size=n)] - 1
    return x, y, rng.choice([0.0, 0.5, 1.0, 2.0], size=n)


@each_build
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("loss", ["Hinge", "Logistic", "SquaredHinge"])
@pytest.mark.parametrize("name", NAMES)
def test_core_equals_numpy_block_by_block(build, name, loss, outputs):
    rng = np.random.default_rng(0)
    core = learner(build, name, outputs=outputs, loss=loss)
    mine = learner(reference, name, outputs=outputs, loss=loss)
    assert core.state().keys() == mine.state().keys()
    for _ in range(6):
        x, y, weight = rows(rng, 40, 3, outputs)
        mine.restore(core.state())
        assert gap(core.learn(x, y, weight), mine.learn(x, y, weight)) < 1e-8
        a, b = core.state(), mine.state()
        for key in a:
            assert np.shape(a[key]) == np.shape(b[key])
            assert gap(np.asarray(a[key]), np.asarray(b[key])) < 1e-8, key
        assert gap(core.scores(x), mine.scores(x)) < 1e-8
    assert np.abs(core.state()["weights"]).max() > 0
    assert core.state()["weights"].shape[0] == outputs


@pytest.mark.parametrize("module", [reference, *BUILDS], ids=lambda m: m.__name__.split(".")[-1])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_a_block_cut_anywhere_changes_no_bit(module, name, outputs):
    x, y, weight = rows(np.random.default_rng(1), 90, 3, outputs)
    whole = learner(module, name, outputs=outputs)
    scores = whole.learn(x, y, weight)
    for cut in (1, 37, 50, 89):
        parts = learner(module, name, outputs=outputs)
        first = parts.learn(x[:cut], y[:cut], weight[:cut])
        other = learner(module, name, outputs=outputs)  # goes on where the first stopped
        other.restore(parts.state())
        last = parts.learn(x[cut:], y[cut:], weight[cut:])
        assert np.array_equal(scores, np.vstack([first, last]))
        assert same_state(whole.state(), parts.state())
        assert np.array_equal(last, other.learn(x[cut:], y[cut:], weight[cut:]))
        assert same_state(whole.state(), other.state())


XOR = {
    "DoublySGD": {"rate": 100.0, "decay": 0.01},  # the theory asks for rate * decay >= 1
    "DualSGD": {"merged": 20, "regularization": 1e-3},
    "FOGD": {"rate": 2.0, "power": 0.0, "decay": 0.0},
    "RRF": {"rate": 0.02, "width_rate": 1e-3, "decay": 0.0},
}


@each_build
@pytest.mark.parametrize("name", NAMES)
def test_xor_is_learned(build, name):
    x = np.random.default_rng(2).uniform(-1, 1, size=(4000, 2))
    y = np.sign(x[:, :1] * x[:, 1:])
    f = learner(build, name, features=2, budget=100, gamma=4.0, **XOR[name]).learn(x, y)
    assert np.mean(f[2000:] * y[2000:] > 0) > 0.9


REGRESSION = {
    "DoublySGD": {"rate": 20.0, "decay": 0.05},
    "DualSGD": {"merged": 20, "regularization": 0.01},
    "FOGD": {"rate": 0.2, "power": 0.5, "decay": 0.0},
    "RRF": {"rate": 0.002, "width_rate": 1e-4, "decay": 0.0},
}


@each_build
@pytest.mark.parametrize("name", NAMES)
def test_a_number_is_learned(build, name):
    x = np.random.default_rng(2).uniform(-1, 1, size=(4000, 2))
    y = np.sin(3 * x[:, :1]) * x[:, 1:]
    given = {"loss": "EpsilonInsensitive", "loss_arguments": (0.05,)} | REGRESSION[name]
    f = learner(build, name, features=2, budget=100, gamma=1.0, **given).learn(x, y)
    assert np.mean((f[2000:] - y[2000:]) ** 2) < y.var() / 3


@each_build
@pytest.mark.parametrize("name", NAMES)
def test_memory_stays_constant(build, name):
    made = learner(build, name, features=2, budget=30, outputs=3)
    rng, start = np.random.default_rng(3), made.memory_bytes
    for _ in range(20):
        x, y, _ = rows(rng, 1000, 2, 3)
        made.learn(x, y)
        assert made.memory_bytes == start
        assert all(np.size(array) <= 3 * 60 for array in made.state().values())


@each_build
@pytest.mark.parametrize("name", ["DualSGD", "FOGD", "RRF"])
def test_projections_of_another_width_are_refused(build, name):
    """The width of FOGD's rows is that of its projections: rows of another width are refused."""
    with pytest.raises(ValueError, match=r"projections|x has another number of features"):
        learner(build, name, features=3, projections=np.zeros((21, 4))).scores(np.zeros((1, 3)))


# ---- sine and cosine


@each_build
def test_sine_and_cosine(build):
    """Against the C library's, themselves within 1e-16: bound 2e-16 of the core, 1.1e-16 of the library."""
    rng = np.random.default_rng(4)
    multiples = np.arange(-20000, 20000) * (np.pi / 4)
    near = np.concatenate([multiples, np.nextafter(multiples, 1e9), np.nextafter(multiples, -1e9)])
    for x in (rng.uniform(-8, 8, 200_000), rng.uniform(-1e6, 1e6, 200_000), rng.normal(size=8) * 1e-9, near):
        sine, cosine = build.sincos(x)
        assert np.abs(sine - np.sin(x)).max() < 3.1e-16
        assert np.abs(cosine - np.cos(x)).max() < 3.1e-16
    far = np.array([1e6, -1.0000001e6, 3e9, 1e300, 0.5, -0.0, 7.0, 1e7])
    sine, cosine = build.sincos(far)
    assert np.allclose(sine, np.sin(far), rtol=0, atol=3e-16)
    assert np.allclose(cosine, np.cos(far), rtol=0, atol=3e-16)
    assert all(np.isnan(part).all() for part in build.sincos(np.array([np.nan, np.inf, -np.inf, np.nan])))


# ---- the map against the kernel


def kernel(x, gamma):
    return np.exp(-gamma * ((x[:, None] - x[None]) ** 2).sum(axis=2))


def error(z, x, gamma):
    """Root mean square over pairs of different rows."""
    off = ~np.eye(len(x), dtype=bool)
    return np.sqrt(np.mean((z @ z.T - kernel(x, gamma))[off] ** 2))


def predicted_error(x, gamma, projections):
    """Of the mean over D draws of cos(u'(x-x')): var cos(u'v) = (1 + k(v)^4)/2 - k(v)^2 for normal u."""
    off = ~np.eye(len(x), dtype=bool)
    k = kernel(x, gamma)[off]
    return np.sqrt(np.mean((1 + k**4) / 2 - k**2) / projections)


@pytest.mark.parametrize("module", [reference, *BUILDS], ids=lambda m: m.__name__.split(".")[-1])
def test_the_map_approximates_the_kernel_as_theory_predicts(module):
    rng = np.random.default_rng(6)
    x, gamma = rng.normal(size=(60, 4)), 0.15
    for size in (50, 800, 12_800):
        draws = rng.normal(size=(size, 4))
        made = learner(module, "FOGD", features=4, projections=draws, gamma=gamma)
        assert 0.6 < error(made.maps[0].transform(x), x, gamma) / predicted_error(x, gamma, size) < 1.5
        # Cosines of single features, with no sum over them, approximate a sum of one-dimensional kernels.
        angles = np.sqrt(2 * gamma) * draws[:, :, None] * x.T[None]  # (D, d, n)
        single = np.concatenate([np.cos(angles), np.sin(angles)]).reshape(-1, len(x)).T / np.sqrt(size * 4)
        assert error(single, x, gamma) / predicted_error(x, gamma, size) > 3


@pytest.mark.parametrize("module", [reference, *BUILDS], ids=lambda m: m.__name__.split(".")[-1])
def test_the_map_equals_rbf_sampler_up_to_its_phases(module):
    """RBFSampler's feature sqrt(2/D) cos(u'x + b) is sqrt(2) (cos b cos u'x - sin b sin u'x)/sqrt(D)."""
    rng = np.random.default_rng(7)
    x, gamma, size = rng.normal(size=(40, 5)), 0.3, 64
    sampler = RBFSampler(gamma=gamma, n_components=size, random_state=0).fit(x)
    draws = np.ascontiguousarray(sampler.random_weights_.T / np.sqrt(2 * gamma))
    made = learner(module, "FOGD", features=5, projections=draws, gamma=gamma)
    cosine, sine = np.split(made.maps[0].transform(x), 2, axis=1)
    b = sampler.random_offset_
    mine = np.sqrt(2) * (np.cos(b) * cosine - np.sin(b) * sine)
    assert np.allclose(mine, sampler.transform(x), rtol=0, atol=1e-13)
    # Both halves have the right sign: the norm of every row's features is one.
    assert np.allclose((cosine**2 + sine**2).sum(axis=1), 1, atol=1e-13)


# ---- hand-worked steps


@pytest.mark.parametrize("module", [reference, *BUILDS], ids=lambda m: m.__name__.split(".")[-1])
def test_fogd_by_hand(module):
    """One draw e = 1, gamma = 1/2 so u = 1, D = 1; hinge, rate 1, power 1, decay 0; z = [cos x, sin x].

    x = 0,    y = +1: f = 0;  w = (1, 0).
    x = pi/2, y = -1: z = (0, 1), f = 0; eta = 1/2: w = (1, -1/2).
    x = pi,   y = +1: z = (-1, 0), f = -1; eta = 1/3: w = (2/3, -1/2).
    """
    made = learner(module, "FOGD", features=1, projections=np.ones((1, 1)), gamma=0.5, rate=1.0, power=1.0, decay=0.0)
    f = made.learn(np.array([[0.0], [np.pi / 2], [np.pi]]), np.array([[1.0], [-1.0], [1.0]]))
    assert np.allclose(f[:, 0], [0, 0, -1], atol=1e-15)
    assert np.allclose(made.state()["weights"], [[2 / 3, -1 / 2]], atol=1e-15)


# ---- learned widths


@each_build
@pytest.mark.parametrize("outputs", [1, 3])
def test_rrf_steps_down_the_gradient_of_its_loss(build, outputs):
    """Finite differences of the summed loss in g give the step of g, from the old w."""
    x, y, _ = rows(np.random.default_rng(8), 60, 3, outputs)
    for module in (build, reference):
        made = learner(module, "RRF", outputs=outputs, loss="Logistic", rate=0.05, width_rate=0.01)
        made.learn(x[:-1], y[:-1])
        before = made.state()
        made.learn(x[-1:], y[-1:])
        moved = (before["log_widths"] - made.state()["log_widths"]) / 0.01

        def loss(g, made=made, before=before):
            made.restore(before | {"log_widths": g})
            return np.log1p(np.exp(-y[-1] * made.scores(x[-1:])[0])).sum()

        h = 1e-6
        steps = h * np.eye(3)
        expected = [(loss(before["log_widths"] + s) - loss(before["log_widths"] - s)) / (2 * h) for s in steps]
        assert np.abs(expected).max() > 1e-3
        assert np.allclose(moved, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("module", [reference, *BUILDS], ids=lambda m: m.__name__.split(".")[-1])
def test_rrf_starts_at_gamma_and_the_given_weights(module):
    made = learner(module, "RRF", outputs=2, gamma=0.1, start=np.arange(42.0))
    made.gamma = 2.0  # the log of sqrt(2 * 2) = 2
    assert np.allclose(made.state()["log_widths"], np.log(2.0), rtol=1e-15)
    assert np.array_equal(made.state()["weights"], np.tile(np.arange(42.0), (2, 1)))


# ---- a support set that moves into features


@pytest.mark.parametrize("module", [reference, *BUILDS], ids=lambda m: m.__name__.split(".")[-1])
def test_dual_sgd_by_hand(module):
    """u = 1 (gamma = 1/2), D = 1, k = exp(-(x-x')^2/2), lambda = 1, hinge, a budget of one that is merged at once.

    t = 1, x = 0, y = +1: f = 0;            add (0, 1).
    t = 2, x = 2, y = -1: f = exp(-2);      w = 1/2, moved: v = (1/2)(cos 0, sin 0) = (1/2, 0);  add (2, -1/2).
    t = 3, x = 0, y = +1: f = 1/2 - exp(-2)/2;  w = -1/3, v = (1/3, 0), moved: v -= (cos 2, sin 2)/3;  add (0, 1/3).
    """
    made = learner(
        module, "DualSGD", features=1, gamma=0.5, projections=np.ones((1, 1)), budget=1, merged=1, regularization=1.0
    )
    f = made.learn(np.array([[0.0], [2.0], [0.0]]), np.array([[1.0], [-1.0], [1.0]]))
    assert np.allclose(f[:, 0], [0, np.exp(-2), (1 - np.exp(-2)) / 2], atol=1e-15)
    state = made.state()
    assert np.array_equal(state["supports"], [[0.0]])
    assert np.allclose(state["weights"], [[1 / 3]], atol=1e-15)
    assert np.allclose(state["fourier_weights"], [[(1 - np.cos(2)) / 3, -np.sin(2) / 3]], atol=1e-15)


@pytest.mark.parametrize("module", [reference, *BUILDS], ids=lambda m: m.__name__.split(".")[-1])
def test_dual_sgd_merges_the_smallest_and_skips_rows_without_loss(module):
    made = learner(module, "DualSGD", features=1, budget=3, merged=1, regularization=1.0, gamma=1.0)
    x, y = np.array([[0.0], [10.0], [20.0], [30.0]]), np.ones((4, 1))
    made.learn(x[:3], y[:3], np.array([3.0, 0.5, 1.0]))  # weights at t = 3: 1, 1/6, 1/3
    assert not made.state()["fourier_weights"].any()
    made.learn(np.array([[0.0]]), np.ones((1, 1)))  # f = 1, no loss: nothing is added or merged
    assert sorted(made.state()["supports"][:, 0]) == [0, 10, 20]
    assert not made.state()["fourier_weights"].any()
    made.learn(x[3:], y[3:])
    assert sorted(made.state()["supports"][:, 0]) == [0, 20, 30]
    assert made.state()["fourier_weights"].any()


@each_build
def test_dual_sgd_keeps_its_function_when_it_merges(build):
    """With many features, moving vectors into them changes f by about 1/sqrt(D) of their weight."""
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(60, 2)), np.sign(rng.normal(size=(60, 1)))
    draws = rng.normal(size=(20_000, 2))
    roomy = learner(build, "DualSGD", features=2, budget=60, projections=draws, gamma=0.5)
    roomy.learn(x, y)
    state = roomy.state()
    count = len(state["supports"])
    full = learner(build, "DualSGD", features=2, budget=count, merged=count, projections=draws, gamma=0.5)
    full.restore(state)
    lost = np.array([[9.0, 9.0]]), np.ones((1, 1))  # far from all others: f is 0
    roomy.learn(*lost)
    full.learn(*lost)
    assert len(roomy.state()["supports"]) == count + 1
    assert np.array_equal(full.state()["supports"], [[9.0, 9.0]])
    off = np.abs(full.scores(x) - roomy.scores(x)).max()
    assert 0 < off < 5 * np.sqrt(0.5 / 20_000) * np.linalg.norm(state["weights"])
    assert np.abs(roomy.scores(x)).max() > 20 * off


@each_build
def test_dual_sgd_refuses_to_merge_more_than_it_has(build):
    with pytest.raises(ValueError, match="merged"):
        learner(build, "DualSGD", budget=5, merged=6)


# ---- features from a seed


def test_doubly_sgd_draws_are_standard_normal_and_uniform():
    draws, b = random_features(3, 40_000, 3)
    assert np.allclose(np.cov(draws.T), np.eye(3), atol=0.03)  # 1/sqrt(40,000) = 0.005
    assert np.allclose(draws.mean(axis=0), 0, atol=0.03)
    assert np.allclose((draws**4).mean(axis=0), 3, atol=0.3)
    assert b.min() >= 0
    assert b.max() < 2 * np.pi
    assert np.allclose(np.quantile(b, [0.25, 0.5, 0.75]), np.pi * np.array([0.5, 1, 1.5]), atol=0.06)
    assert not np.array_equal(draws, random_features(4, 40_000, 3)[0])


@pytest.mark.parametrize("module", [reference, *BUILDS], ids=lambda m: m.__name__.split(".")[-1])
def test_doubly_sgd_features_approximate_the_kernel(module):
    """Read through outputs whose weights are the unit vectors; the phases add 1/2 to the variance of a feature."""
    x, gamma, size = np.random.default_rng(10).normal(size=(30, 3)), 0.2, 1000
    made = learner(module, "DoublySGD", budget=size, gamma=gamma)
    made.restore(made.state() | {"weights": np.eye(size)})
    z = made.scores(x) / np.sqrt(size)
    predicted = np.hypot(predicted_error(x, gamma, size), np.sqrt(0.5 / size))
    assert 0.6 < error(z, x, gamma) / predicted < 1.5


@pytest.mark.parametrize("module", [reference, *BUILDS], ids=lambda m: m.__name__.split(".")[-1])
def test_doubly_sgd_by_hand(module):
    """Two features, hinge, rate 1, decay 1/2; y = +1 and f < 1 throughout, so a_i grows by phi_i/t, i = t mod 2.

    t = 1: a = (0, p1).   t = 2: a = (p0/2, (1 - 1/4) p1).
    t = 3: a = (5/6 p0/2, 5/6 3/4 p1 + p1/3) = (5/12 p0, 23/24 p1).   The row is 0, so p = sqrt(2) cos b.
    """
    _, b = random_features(11, 2, 1)
    p = np.sqrt(2) * np.cos(b) * 0.1  # a tenth of the rate keeps f below 1
    made = learner(module, "DoublySGD", features=1, budget=2, rate=1.0, decay=0.5)
    f = made.learn(np.zeros((3, 1)), np.ones((3, 1)), np.full(3, 0.1))
    assert (f < 1).all()
    assert np.allclose(made.state()["weights"], [[5 / 12 * p[0], 23 / 24 * p[1]]], atol=1e-15)
