"""The stack against closed forms, and what it does with experts that fail."""

import numpy as np
import pytest
import scipy.optimize

import nolana.engine as reference
from conftest import core_builds
from nolana.engine.learner.residual_variance import SkewedVariance

ENGINES = [*core_builds(), reference]
engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda m: m.__name__.split(".")[-1])


class Recorder(reference.Stack):
    """The NumPy stack that remembers what it was shown."""

    def learn(self, scores, y, f, weight):
        self.__dict__.setdefault("shown", []).append((scores.copy(), y.copy(), weight))
        super().learn(scores, y, f, weight)


def learner(module, kind, loss, outputs=1, forgetting=1.0, prior=1.0, limit=50.0, **binary):
    """Three windows of neighbours, in a stack."""
    map = module.NeighbourMap(2, np.array([4.0, 20.0, 60.0]), 3)
    heads = [module.Vote(getattr(module, loss)(), window=i) for i in range(3)]
    start = np.array([0.2, 0.3, 0.4])
    stack = kind(getattr(module, loss)(), np.ones(3), np.full(3, limit), start, forgetting, prior, **binary)
    made = module.Learner([map], [module.Expert(0, head) for head in heads], stack)
    made.clear(outputs)
    return made


def rows(n, outputs=1, number=False, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    if number:
        return x, (np.tanh(x[:, :1]) + 0.1 * rng.normal(size=(n, 1))), rng.choice([0.5, 1.0, 2.0], n)
    if outputs == 1:
        return x, np.where(x[:, :1] * x[:, 1:] + 0.4 * rng.normal(size=(n, 1)) > 0, 1.0, -1.0), np.ones(n)
    own = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)
    return x, np.where(own[:, None] == np.arange(outputs), 1.0, -1.0), np.ones(n)


@pytest.mark.parametrize("outputs", [1, 3])
def test_weights_without_forgetting_approach_the_maximum_of_the_posterior(outputs):
    """One Newton step for each row, from rho |theta - theta0|^2/2: within 10 % of the exact one after 1,500 rows."""
    made = learner(reference, Recorder, "Logistic", outputs, prior=5.0)
    x, y, weight = rows(1500, outputs)
    made.learn(x, y, weight)
    stack = made.combiner
    inputs, own = [], []
    for scores, target, _ in stack.shown:
        inputs.append(stack.inputs(scores))
        own.append(int(target[0] > 0) if outputs == 1 else int(np.argmax(target)))
    seen, own = np.array(inputs), np.array(own)  # (n, experts, columns)

    def loss(theta):
        z = np.einsum("e,nec->nc", theta, seen)
        top = z.max(axis=1)
        logs = np.log(np.exp(z - top[:, None]).sum(axis=1)) + top
        return (logs - z[np.arange(len(z)), own]).sum() + 2.5 * ((theta - stack.start) ** 2).sum()

    best = scipy.optimize.minimize(loss, stack.start)
    assert (np.abs(stack.stack_weights - best.x) < 0.1 * (1 + np.abs(best.x))).all()
    assert loss(stack.stack_weights) - best.fun < 0.01 * best.fun


@engines
def test_prior_of_two_classes_equals_that_of_a_stack_that_has_it_for_all(engine):
    """H holds rho I whatever was forgotten, so that solving with more I beside it is the other prior."""
    x, y, weight = rows(1500)
    made = learner(engine, engine.Stack, "Logistic", forgetting=0.99, certain=0.2, binary_prior=5.0)
    other = learner(engine, engine.Stack, "Logistic", forgetting=0.99, prior=5.0, certain=0.2)
    assert np.allclose(made.learn(x, y, weight), other.learn(x, y, weight), rtol=1e-8, atol=1e-8)
    mine, theirs = made.state(), other.state()
    assert np.allclose(mine["stack_weights"], theirs["stack_weights"], rtol=1e-8, atol=1e-8)
    assert np.allclose(mine["information"] + 4 * np.eye(3), theirs["information"], rtol=1e-8, atol=1e-8)


@engines
def test_prior_and_share_of_two_classes_change_nothing_with_three(engine):
    x, y, weight = rows(300, 3)
    binary = {"binary_prior": 5.0, "binary_certain": 0.2}
    made = learner(engine, engine.Stack, "Logistic", 3, forgetting=0.99, certain=0.5, **binary)
    other = learner(engine, engine.Stack, "Logistic", 3, forgetting=0.99, certain=0.5)
    assert np.array_equal(made.learn(x, y, weight), other.learn(x, y, weight))


@engines
def test_rare_class_forgets_less_by_its_rate(engine):
    """The least share is .5 times 4 p (1 - p), .02 at least: that of rows that are certain for long."""
    made = learner(engine, engine.Stack, "Logistic", forgetting=0.99, binary_certain=0.5)
    x, weight = np.zeros((400, 2)), np.ones(400)
    made.learn(x, np.full((400, 1), -1.0), weight)
    assert np.isclose(made.state()["rate"], 0.5 / 401)
    other = learner(engine, engine.Stack, "Logistic", forgetting=0.99, certain=0.02)
    other.learn(x, np.full((400, 1), -1.0), weight)
    assert not np.array_equal(made.state()["information"], other.state()["information"])
    equal = {name: other.state()[name] for name in ("stack_weights", "information", "calibration")}
    made.restore_part(equal)
    for each in (made, other):
        each.learn(x, np.full((400, 1), -1.0), weight)
    assert np.array_equal(made.state()["stack_weights"], other.state()["stack_weights"])


@pytest.mark.parametrize("engine", ENGINES[:-1], ids=lambda m: m.__name__.split(".")[-1])
def test_third_class_agrees_with_the_reference_after_two_with_a_prior_of_their_own(engine):
    x, y, weight = rows(200, 3, seed=2)
    two = y[:, 2] < 0
    binary = {"binary_prior": 5.0, "binary_certain": 0.2}
    states = []
    for module in (engine, reference):
        made = learner(module, module.Stack, "Logistic", 2, forgetting=0.99, certain=0.5, **binary)
        made.reserve(3)
        made.learn(x[two], y[two, :2].copy(), weight[two])
        made.append_output()
        made.learn(x, y, weight)
        states.append(made.state())
    for name in ("stack_weights", "information", "calibration", "rate"):
        assert np.allclose(states[0][name], states[1][name], rtol=1e-7, atol=1e-7), name


@engines
def test_regression_equals_weighted_ridge_regression(engine):
    """nu is constant where residuals are never clipped and noise does not change: then H and theta are exact sums."""
    made = learner(reference, Recorder, "Squared", forgetting=1.0, prior=2.0)
    x, y, weight = rows(300, number=True)
    made.learn(x, y, weight)
    other = learner(engine, engine.Stack, "Squared", forgetting=1.0, prior=2.0)
    other.learn(x, y, weight)
    mine, core = made.state(), other.state()
    for name in ("stack_weights", "information", "errors", "residual_variance", "skew", "lowest", "highest"):
        assert np.allclose(mine[name], core[name], rtol=1e-8, atol=1e-8), name
    h, g = 2.0 * np.eye(4), 2.0 * np.append([0.2, 0.3, 0.4], 0.0)
    stack = reference.Stack(reference.Squared(), np.ones(3), np.ones(3), np.array([0.2, 0.3, 0.4]), 1.0, 2.0)
    stack.clear(3, 1)
    for scores, target, w in made.combiner.shown:
        e = stack.inputs(scores)[:, 0]
        f = float(stack.combine(scores)[0])
        free = float(stack.stack_weights @ e)
        nu, above, below = stack.noise
        z, limit = target[0] - stack.tracked.level, 3 * np.sqrt(nu)
        aim = free + np.clip(z - free, -below * limit, above * limit)  # what the step takes as the target
        h, g = h + w / nu * np.outer(e, e), g + w / nu * aim * e
        stack.learn(scores, target, np.array([f]), w)
        assert np.allclose(stack.stack_weights, np.linalg.solve(h, g), rtol=1e-6, atol=1e-8)


@engines
def test_stack_adapts_to_a_label_swap(engine):
    """The largest window is wrong for 60 rows after the swap, the smallest for 4: weight goes to the smallest."""
    rng = np.random.default_rng(4)
    n = 1200
    x = rng.normal(size=(n, 2))
    y = np.where(x[:, :1] > 0, 1.0, -1.0)
    y[n // 2 :] *= -1
    made = learner(engine, engine.Stack, "Logistic", forgetting=0.99, limit=2.0)
    first = made.learn(x[: n // 2], y[: n // 2])
    before = made.state()["stack_weights"]
    made.learn(x[n // 2 : n // 2 + 20], y[n // 2 : n // 2 + 20])
    after = made.state()["stack_weights"]
    assert after[0] - before[0] > after[2] - before[2] + 0.5
    last = made.learn(x[n // 2 + 20 :], y[n // 2 + 20 :])
    assert (np.sign(first) == y[: n // 2])[n // 4 :].mean() > 0.93
    assert (np.sign(last) == y[n // 2 + 20 :])[-300:].mean() > 0.93


@engines
def test_wrong_number_of_experts_is_refused(engine):
    loss = engine.Logistic()
    with pytest.raises(ValueError, match="one entry for each expert"):
        engine.Stack(loss, np.ones(3), np.ones(2), np.ones(3), 0.9, 1.0)
    map = engine.NeighbourMap(2, np.array([4.0]), 3)
    stack = engine.Stack(loss, *[np.ones(3)] * 3, 0.9, 1.0)
    with pytest.raises(ValueError, match="made for 3 experts, not 1"):
        engine.Learner([map], [engine.Expert(0, engine.Vote(loss, 0))], stack)


@engines
def test_outlier_target_leaves_errors_of_experts_finite(engine):
    made = learner(engine, engine.Stack, "Squared", forgetting=0.999)
    x, y, _ = rows(50, number=True)
    y[20] = 1e300
    made.learn(x, y)
    assert all(np.isfinite(value).all() for value in made.state().values())


def follower(module, slow=0.0):
    """The same experts and a linear one, in a stack that has the last residual as an input."""
    loss = module.Squared()
    maps = [module.NeighbourMap(2, np.array([4.0, 20.0]), 3), module.IdentityMap(2)]
    heads = [(0, module.Vote(loss, window=0)), (0, module.Vote(loss, window=1)), (1, module.FullLinear(loss, 1.0))]
    start = np.array([0.1, 0.1, 0.8])
    stack = module.Stack(loss, np.ones(3), np.full(3, 50.0), start, 0.99, 1.0, True, slow=slow)
    made = module.Learner(maps, [module.Expert(i, head) for i, head in heads], stack)
    made.clear(1)
    return made


def skewed(n):
    """A function of the features, and noise with a long tail above."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(n, 2))
    return x, (x[:, :1] + np.exp(1.5 * rng.normal(size=n))[:, None])


def walk(n):
    """A function of the features and a random walk."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, 2))
    return x, (x[:, :1] + np.cumsum(0.3 * rng.normal(size=n))[:, None])


@pytest.mark.parametrize("slow", [0.0, 0.999])
@pytest.mark.parametrize("build", core_builds(), ids=lambda m: m.__name__)
def test_core_equals_reference_if_the_last_residual_has_a_weight(build, slow):
    core, mine = follower(build, slow), follower(reference, slow)
    x, y = walk(400)
    for i in range(0, len(x), 40):
        mine.restore(core.state())
        a, b = core.learn(x[i : i + 40], y[i : i + 40]), mine.learn(x[i : i + 40], y[i : i + 40])
        assert np.allclose(a, b, rtol=0, atol=1e-7)
    assert core.state()["stack_weights"][-1] > 0.5
    assert core.state()["last_residual"] == pytest.approx(mine.state()["last_residual"], abs=1e-7)


@pytest.mark.parametrize("build", core_builds(), ids=lambda m: m.__name__)
def test_core_equals_reference_on_skewed_targets(build):
    core, mine = follower(build, 0.999), follower(reference, 0.999)
    x, y = skewed(600)
    for i in range(0, len(x), 40):
        mine.restore(core.state())
        a, b = core.learn(x[i : i + 40], y[i : i + 40]), mine.learn(x[i : i + 40], y[i : i + 40])
        assert np.allclose(a, b, rtol=0, atol=1e-7)
        for name in ("skew", "residual_variance", "slow_weights", "slow_information"):
            assert np.allclose(core.state()[name], mine.state()[name], rtol=1e-7, atol=1e-7), name
    assert core.state()["skew"] > 0.3


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_as_much_is_cut_off_above_as_below(sign):
    """Residuals of a skewed target: their mean is that of the cut ones, once the skew has settled."""
    variance = SkewedVariance(1.0)
    r = sign * (np.random.default_rng(0).exponential(size=20_000) ** 1.5 - 1.33)
    cut = []
    for t, residual in enumerate(r, 1):
        noise = variance.noise
        cut.append(noise.clip(residual, 3 * np.sqrt(noise.variance)))
        variance.observe_residual(residual, t, 1.0)
    assert sign * variance.skew > 0.5
    assert abs(np.mean(cut[5000:]) - r[5000:].mean()) < 0.1 * abs(np.mean(np.clip(r, -3, 3)[5000:]) - r[5000:].mean())


def test_outliers_on_both_sides_leave_the_skew_alone():
    variance, rng = SkewedVariance(1.0), np.random.default_rng(0)
    for t, residual in enumerate(np.where(rng.random(5000) < 0.02, 1e6, 1.0) * rng.normal(size=5000), 1):
        variance.observe_residual(residual, t, 1.0)
    assert abs(variance.skew) < 0.5
    assert variance.noise.variance < 2


@engines
def test_slow_weights_equal_ridge_regression_around_the_first_weights(engine):
    made = follower(engine, slow=1.0)
    x, y = walk(200)
    made.learn(x, y)
    state = made.state()
    fast, slow = state["stack_weights"], state["slow_weights"]
    assert not np.allclose(fast, slow, atol=1e-3)
    mine = follower(reference, slow=1.0)
    regress, shown = mine.combiner.regress, []
    mine.combiner.regress = lambda *row: (shown.append(row), regress(*row))
    mine.learn(x, y)
    theta = mine.combiner.start
    h, g = 20.0 * np.eye(5), 20.0 * theta
    for seen, z, _, noise in shown:
        limit = 3 * np.sqrt(noise.variance)
        aim = theta @ seen + noise.clip(z - theta @ seen, limit)
        h, g = h + np.outer(seen, seen) / noise.variance, g + aim * seen / noise.variance
        theta = np.linalg.solve(h, g)
    assert np.allclose(slow, theta, rtol=1e-5, atol=1e-7)


def test_experts_learn_the_target_less_what_the_last_residual_explains():
    made = follower(reference)
    x, y = walk(300)
    for i in range(len(x)):
        state = made.state()
        phi, last = np.clip(state["stack_weights"][-1], 0.0, 1.0), state["last_residual"]
        made.learn(x[i : i + 1], y[i : i + 1])
        low, high = made.state()["lowest"], made.state()["highest"]
        expected = np.clip(y[i, 0] - state["level"] - phi * last, low, high)
        assert made.combiner.target(y[i])[0] == pytest.approx(expected, abs=1e-12)
    assert phi > 0.5
