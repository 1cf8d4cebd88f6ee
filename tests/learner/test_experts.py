"""Several experts: maps that are shared or not, every head on every map, core against reference, contracts."""

import itertools

import numpy as np
import pytest

import nolana.engine as reference
from conftest import core_builds, full_covariance, same_state
from splitting import check_split

BUILDS = core_builds()
ENGINES = [*BUILDS, reference]
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda m: m.__name__.split(".")[-1])
DRAWS = np.random.default_rng(3).normal(size=(9, 3))


def landmarks(module, capacity=11):
    map = module.LandmarkMap(3, capacity, module.RBF(), module.KMeans(0.01))
    map.gamma, map.threshold = 0.3, 0.5
    return map


def fourier(module):
    map = module.FourierMap(DRAWS)
    map.gamma = 0.4
    return map


HEADS = {
    "sgd": lambda module: module.SGD(module.Hinge(), rate=0.3, power=0.5, decay=1e-3),
    "newton": lambda module: module.Newton(module.SquaredHinge(), noise=0.1, prior=1.0, move_noise=0.01),
}


def learner(module, outputs=2):
    """Two heads on one landmark map, two on a Fourier map."""
    experts = [module.Expert(map, head(module)) for map in (0, 1) for head in HEADS.values()]
    made = module.Learner([landmarks(module), fourier(module)], experts, module.Mean())
    made.clear(outputs)
    return made


def rows(n, outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, np.sign(rng.normal(size=(n, outputs)) + x[:, :1] * x[:, 1:2]), rng.choice([0.0, 0.5, 1.0, 3.0], size=n)


def gap(a, b):
    return float(np.abs(a - b).max(initial=0.0) / (1 + np.abs(b).max(initial=0.0)))


@builds
def test_core_equals_reference(build):
    core, mine = learner(build), learner(reference)
    for seed in range(6):
        mine.restore(core.state())
        data = rows(40, seed=seed)
        assert gap(core.learn(*data), mine.learn(*data)) < 1e-7
        a, b = core.state(), mine.state()
        assert a.keys() == b.keys()
        for name in a:
            if "waiting" not in name and "covariance" not in name:
                assert gap(np.asarray(a[name]), np.asarray(b[name])) < 1e-7, name
        for i, map in ((1, "map0/landmarks"), (3, None)):
            own, other = ({n.removeprefix(f"expert{i}/"): s[n] for n in s} for s in (a, b))
            side = len(a[map]) if map else 2 * len(DRAWS)
            own["landmarks"] = other["landmarks"] = np.zeros((side, 1))
            assert gap(full_covariance(own), full_covariance(other)) < 1e-7


@builds
@pytest.mark.parametrize("head", HEADS)
def test_every_head_on_fourier_features(build, head):
    """Newton on Fourier features with the squared loss is ridge regression on them."""
    core, mine = (
        module.Learner([fourier(module)], [module.Expert(0, HEADS[head](module))]) for module in (build, reference)
    )
    data = rows(200, outputs=1)
    assert gap(core.learn(*data), mine.learn(*data)) < 1e-7


@engines
def test_newton_on_fourier_features_is_ridge_regression(engine):
    made = engine.Learner([fourier(engine)], [engine.Expert(0, engine.Newton(engine.Squared(), 0.5, 2.0, 0.0))])
    x, y, _ = rows(150, outputs=1)
    made.learn(x, y)
    phi = made.maps[0].transform(x)
    exact = np.linalg.solve(phi.T @ phi + 0.25 * np.eye(phi.shape[1]), phi.T @ y)
    assert np.allclose(made.state()["weights"], exact.T, atol=1e-8)


@engines
def test_mean_equals_the_mean_of_experts_learned_alone(engine):
    """Experts do not see each other: each one alone scores as it does in company."""
    together = learner(engine)
    x, y, weight = rows(120)
    scores = together.learn(x, y, weight)
    alone = []
    for make, head in itertools.product((landmarks, fourier), HEADS.values()):
        one = engine.Learner([make(engine)], [engine.Expert(0, head(engine))])
        one.clear(2)
        alone.append(one.learn(x, y, weight))
    assert np.allclose(scores, np.mean(alone, axis=0), rtol=0, atol=1e-12)


@builds
def test_split_anywhere(build):
    check_split(lambda: learner(build), *rows(300), (1, 2, 5, 77, 78, 150, 299), restored=False)


@engines
def test_restored_learner_continues_bit_for_bit(engine):
    x, y, weight = rows(200)
    made, again = learner(engine), learner(engine)
    made.learn(x[:100], y[:100], weight[:100])
    state = made.state()
    again.restore(state)
    assert same_state(again.state(), state) or engine is reference
    assert np.array_equal(made.learn(x[100:], y[100:]), again.learn(x[100:], y[100:]))
    assert made.memory_bytes == again.memory_bytes


@engines
def test_a_refused_state_names_the_field_and_changes_nothing(engine):
    made = learner(engine)
    made.learn(*rows(100))
    state = made.state()
    for name, value in state.items():
        for wrong in (
            np.zeros((1, 1, 1)),
            np.asarray(value)[..., None] if np.ndim(value) else "text",
            np.concatenate([value, value], axis=-1) if np.ndim(value) else np.zeros(2),
        ):
            with pytest.raises(ValueError, match=rf"state: ({name}|\S+ has shape)"):
                made.restore(state | {name: wrong})
            assert same_state(made.state(), state), name
        with pytest.raises(ValueError, match=f"state: {name} is missing"):
            made.restore({key: value for key, value in state.items() if key != name})
    assert same_state(made.state(), state)


@engines
def test_invalid_combinations_of_parts_are_refused(engine):
    head = HEADS["sgd"](engine)
    with pytest.raises(ValueError, match="needs a map and an expert"):
        engine.Learner([], [])
    with pytest.raises(ValueError, match="several experts need a combiner"):
        engine.Learner([landmarks(engine)], [engine.Expert(0, head), engine.Expert(0, HEADS["newton"](engine))])
    with pytest.raises(ValueError, match="names a map that does not exist"):
        engine.Learner([landmarks(engine)], [engine.Expert(1, head)])
    with pytest.raises(ValueError, match="differ in their number of features"):
        engine.Learner([landmarks(engine), engine.FourierMap(np.ones((2, 4)))], [engine.Expert(0, head)])
    with pytest.raises(ValueError, match="need a loss with curvature"):
        engine.Newton(engine.Hinge(), 0.1, 1.0, 0.0)


@builds
def test_a_part_belongs_to_one_learner(build):
    """A map remembers its heads, so that neither can be used twice."""
    map, head = landmarks(build), HEADS["newton"](build)
    build.Learner([map], [build.Expert(0, head)])
    with pytest.raises(ValueError, match="a map can belong to one learner only"):
        build.Learner([map], [build.Expert(0, HEADS["sgd"](build))])
    with pytest.raises(ValueError, match="a head can belong to one expert only"):
        build.Learner([landmarks(build)], [build.Expert(0, head)])
    with pytest.raises((ValueError, TypeError)):
        build.Learner([None], [build.Expert(0, HEADS["sgd"](build))])


@builds
def test_sizes_that_overflow_are_refused(build):
    for size in (2**31 + 1, 2**61, 2**63):
        with pytest.raises(MemoryError):
            build.LandmarkMap(2, size, build.RBF(), build.Fixed(0.0))
        with pytest.raises(MemoryError):
            build.BOGD(2, size, build.RBF(), build.Hinge(), 0.1, 0.0, 1.0, 0)
    made = learner(build)
    made.learn(*rows(20))
    state = made.state()
    for outputs in (2**25, 2**45):
        with pytest.raises(ValueError, match="outputs"):
            made.clear(outputs)
        with pytest.raises(ValueError, match="state: expert0/weights has"):
            made.restore(state | {"expert0/weights": np.zeros((outputs, 0))})
    assert same_state(made.state(), state)


@engines
@pytest.mark.parametrize(
    ("name", "value"),
    [("gamma", 0.0), ("gamma", -1.0), ("ridge", -1.0), ("threshold", -1.0), ("gamma", 10**400), ("rows", True)],
)
def test_restore_refuses_out_of_range_values(engine, name, value):
    made = engine.Learner([landmarks(engine)], [engine.Expert(0, HEADS["sgd"](engine))])
    made.learn(*rows(30, outputs=1))
    state = made.state()
    with pytest.raises(ValueError, match=f"state: {name}"):
        made.restore(state | {name: value})
    with pytest.raises(ValueError, match="state: counts holds"):
        made.restore(state | {"counts": -state["counts"]})
    assert same_state(made.state(), state)
