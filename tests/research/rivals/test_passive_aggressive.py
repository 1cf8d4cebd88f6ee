"""Passive-Aggressive with a kernel: the core against NumPy, against the linear form, against its definition."""

import pickle

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

import nolana.engine as reference
from conftest import core_builds, same_state
from nolana import rivals
from nolana.engine.experts.landmarks.kernels import RBF, Cosine, Laplacian, Linear
from nolana.engine.rivals import passive_aggressive as pa
from nolana.modelfile.specs import Spec

BUILDS = core_builds()
ENGINES = [reference, *BUILDS]
BOUND = 1e-8
HOW = {"PA": Spec(pa.Unbounded), "PA-I": Spec(pa.Capped, {"c": 0.3}), "PA-II": Spec(pa.Softened, {"c": 0.3})}
TASKS = {"two classes": 1, "three classes": 3, "regression": 1}
engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda m: m.__name__.split(".")[-1])
variants = pytest.mark.parametrize("variant", HOW)
tasks = pytest.mark.parametrize("task", TASKS)


def rule(task, variant):
    demand = Spec(pa.Band, {"epsilon": 0.1}) if task == "regression" else Spec(pa.Margin)
    return {"features": 3, "demand": demand, "how": HOW[variant]}


def rival(engine, task, variant, kernel=RBF, budget=2):
    spec = Spec(pa.KernelPassiveAggressive, rule(task, variant) | {"budget": budget, "kernel": Spec(kernel)})
    learner = spec.build(engine)
    learner.clear(TASKS[task])
    learner.gamma = 0.7
    return learner


def rows(task, n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    if task == "regression":
        return x, np.sin(x[:, :1]) + 0.3 * rng.normal(size=(n, 1))
    if task == "two classes":
        return x, np.sign(x[:, :1] * x[:, 1:2] + 0.3 * rng.normal(size=(n, 1)))
    own = np.argmax(x + 0.5 * rng.normal(size=x.shape), axis=1)
    return x, np.where(own[:, None] == np.arange(3), 1.0, -1.0)


def gap(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    return float(np.abs(a - b).max(initial=0.0) / (1 + np.abs(b).max(initial=0.0)))


@pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
@variants
@tasks
@pytest.mark.parametrize("kernel", [RBF, Laplacian, Cosine])
def test_core_equals_numpy_block_by_block(build, task, variant, kernel):
    core, mine = rival(build, task, variant, kernel), rival(reference, task, variant, kernel)
    for seed in range(4):
        x, y = rows(task, 40, seed)
        mine.restore(core.state())
        assert gap(core.learn(x, y), mine.learn(x, y)) < BOUND
        a, b = core.state(), mine.state()
        assert a.keys() == b.keys()
        for key in a:
            assert gap(a[key], b[key]) < BOUND, key
        assert gap(core.scores(x), mine.scores(x)) < BOUND
    assert len(core.state()["supports"]) > 30


@engines
@variants
@tasks
def test_an_expansion_with_the_linear_kernel_is_the_linear_form(engine, task, variant):
    """sum_i alpha_i x_i = w, so scores agree to the rounding of some hundred additions."""
    x, y = rows(task)
    x[7] = 0  # k(x, x) = 0: neither form can learn it
    expansion = rival(engine, task, variant, Linear)
    linear = Spec(pa.PassiveAggressive, rule(task, variant)).build(engine)
    linear.clear(TASKS[task])
    assert gap(expansion.learn(x, y), linear.learn(x, y)) < 1e-10
    state = expansion.state()
    assert gap(state["weights"] @ state["supports"], linear.state()["weights"]) < 1e-10
    assert not (state["supports"] == 0).all(axis=1).any()


@engines
@tasks
def test_cutting_and_restoring_change_no_bit(engine, task):
    x, y = rows(task)
    whole = rival(engine, task, "PA-I")
    scores = whole.learn(x, y)
    for cuts in ([1, 2, 50], [37], list(range(120))):
        cut, parts = rival(engine, task, "PA-I"), []
        for part_x, part_y in zip(np.split(x, cuts), np.split(y, cuts), strict=True):
            parts.append(cut.learn(part_x, part_y))
            cut.scores(part_x[::-1].copy())
            after = rival(engine, task, "PA-I")
            after.clear(1)
            after.restore(cut.state())
            cut = after
        assert np.array_equal(np.concatenate(parts), scores)
        assert same_state(cut.state(), whole.state())


@engines
@variants
def test_steps_written_out(engine, variant):
    """f_t(x) = sum over s < t of tau_s y_s k(x_s, x), k(x, x) = 1."""
    x, y = rows("two classes")
    step = {"PA": lambda loss: loss, "PA-I": lambda loss: min(0.3, loss), "PA-II": lambda loss: loss / (1 + 1 / 0.6)}
    gram, alpha, expected = rbf_kernel(x, gamma=0.7), np.zeros(len(x)), []
    for t in range(len(x)):
        expected.append(alpha @ gram[t])
        loss = 1 - y[t, 0] * expected[-1]
        alpha[t] = y[t, 0] * step[variant](loss) if loss > 0 else 0
    learner = rival(engine, "two classes", variant)
    assert gap(learner.learn(x, y)[:, 0], expected) < 1e-12
    assert len(learner.state()["supports"]) == np.count_nonzero(alpha)


@engines
@pytest.mark.parametrize("task", ["two classes", "three classes", "regression"])
def test_pa_leaves_no_loss_on_the_row_it_learned(engine, task):
    """Without a cap the step is the least that meets the demand: the margin is 1, or the band is reached, at once."""
    learner = rival(engine, task, "PA")
    for xi, yi in zip(*rows(task), strict=True):
        learner.learn(xi[None], yi[None])
        f = learner.scores(xi[None])[0]
        own = np.argmax(yi)
        reached = {
            "two classes": lambda: yi[0] * f[0] >= 1 - 1e-10,  # noqa: B023
            "three classes": lambda: f[own] - np.delete(f, own).max() >= -1e-10,  # noqa: B023
            "regression": lambda: abs(yi[0] - f[0]) <= 0.1 + 1e-10,  # noqa: B023
        }
        assert reached[task]()


def test_room_grows_with_the_support_set():
    core = rival(BUILDS[-1], "two classes", "PA-I")
    small = core.memory_bytes
    core.learn(*rows("two classes"))
    assert core.memory_bytes > small
    wide = rival(BUILDS[-1], "two classes", "PA-I")
    wide.restore(core.state())
    assert same_state(wide.state(), core.state())


@parametrize_with_checks(
    [
        rivals.PassiveAggressiveClassifier(kernel="rbf"),
        rivals.PassiveAggressiveClassifier(kernel="polynomial", variant="PA-II"),
        rivals.PassiveAggressiveRegressor(kernel="rbf"),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_estimators_choose_the_form():
    x, y = rows("two classes", 300)
    labels = y[:, 0] > 0
    linear = rivals.PassiveAggressiveClassifier().fit(x, labels)
    kernel = rivals.PassiveAggressiveClassifier(kernel="rbf").fit(x, labels)
    assert linear.n_supports_ == 0
    assert 0 < kernel.n_supports_ <= 300
    assert "first_rows" not in rivals.PassiveAggressiveClassifier().fit(x[:10], labels[:10])._learner.state()
    assert kernel.score(x, labels) > linear.score(x, labels) + 0.2
    assert kernel.gamma_ == pytest.approx(4 / (2 * x[:64].var(axis=0).sum()))
    with pytest.raises(ValueError, match="kernel='sigmoid'"):
        rivals.PassiveAggressiveClassifier(kernel="sigmoid").fit(x, labels)
    with pytest.raises(ValueError, match="defines no weights"):
        kernel.learn(x, labels, sample_weight=np.ones(300))


@pytest.mark.parametrize("kernel", ["rbf", "cosine", "polynomial"])
def test_new_classes_cuts_and_pickles_through_the_estimator(kernel):
    x, y = rows("three classes", 200)
    own = np.argmax(y, axis=1)
    own[:50] %= 2  # the third class comes late
    whole, parts = (rivals.PassiveAggressiveClassifier(kernel=kernel) for _ in range(2))
    scores = whole.learn(x, own)
    for start, stop in ((0, 1), (1, 33), (33, 64), (64, 65), (65, 200)):
        piece = parts.learn(x[start:stop], own[start:stop])
        assert np.array_equal(scores[start:stop, : piece.shape[1]], piece, equal_nan=True)
        parts = pickle.loads(pickle.dumps(parts))
    assert same_state(whole._learner.state(), parts._learner.state())


def test_kernel_regression_follows_a_curve():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (2000, 1))
    y = 5 + np.sin(3 * x[:, 0])
    scores = rivals.PassiveAggressiveRegressor(kernel="rbf", gamma=2.0).learn(x, y)
    assert np.abs(scores[1000:] - y[1000:]).max() < 0.2  # the band is 0.1
