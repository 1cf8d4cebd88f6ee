"""The rivals as their users meet them: one interface, equal budgets, the same rules as NOLANA."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from conftest import same_state
from nolana import NolanaClassifier, StreamClassifier, rivals
from nolana.research.methods import NOLANA
from sklearn_checks import checks_of, gap_between_weights_and_repetition

CATALOGUE = rivals.catalogue()
CLASSIFIERS = {name: method.classifier for name, method in CATALOGUE.items()}
REGRESSORS = {name: method.regressor for name, method in CATALOGUE.items() if method.regressor}
EXPECTED = {
    "PassiveAggressive", "FOGD", "NOGD", "DualSGD", "RRF", "KernelOGD", "RBP", "Forgetron", "Projectron",
    "ProjectronPlusPlus", "BPA", "BOGD", "BSGD", "DoublySGD",
}  # fmt: skip


ESTIMATORS = [kind() for kind in [*CLASSIFIERS.values(), *REGRESSORS.values()]]


@checks_of(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [each for each in ESTIMATORS if hasattr(each, "loss")], ids=repr)
def test_a_weight_is_roughly_a_repetition(estimator):
    """Steps that shorten with the rows are other steps when rows are repeated."""
    assert abs(gap_between_weights_and_repetition(estimator)) < 0.2  # measured: 0.001 to 0.16


@pytest.mark.parametrize("kind", [*CLASSIFIERS.values(), StreamClassifier, NolanaClassifier], ids=lambda k: k.__name__)
def test_learn_scores_unknown_classes_minus_infinity(kind):
    """So that argmax of a row is the prediction."""
    x, y = np.random.default_rng(0).normal(size=(60, 3)), np.repeat(["b", "c", "a"], 20)
    model, twin = kind(random_state=0), kind(random_state=0)
    assert np.isneginf(model.scores(x)).all()
    scores = model.learn(x, y)
    assert not np.isnan(scores).any()
    unknown = [[True] * 3] + [[True, False, True]] * 20 + [[True, False, False]] * 20 + [[False] * 3] * 19
    assert np.isneginf(scores).tolist() == unknown
    predicted = []
    for i in range(60):
        predicted += [None] if i == 0 else twin.predict(x[i : i + 1]).tolist()
        twin.learn(x[i : i + 1], y[i : i + 1])
    assert model.classes_[scores.argmax(axis=1)].tolist()[1:] == predicted[1:]


def test_catalogue():
    assert set(CATALOGUE) == EXPECTED
    assert all(method.citation for method in CATALOGUE.values())
    assert rivals.__all__ == sorted(rivals.__all__)
    with pytest.raises(ValueError, match="choose from BOGD"):
        rivals.at_equal_budget("SVM", n_landmarks=10, n_features=3)
    with pytest.raises(ValueError, match="no regression form"):
        rivals.at_equal_budget("RBP", n_landmarks=10, n_features=3, task="regression")
    with pytest.raises(ValueError, match="task='ranking' is unknown; choose 'classification' or 'regression'"):
        rivals.at_equal_budget("RBP", n_landmarks=10, n_features=3, task="ranking")


@pytest.mark.parametrize("method", [*CATALOGUE.values(), *NOLANA], ids=lambda method: method.name)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_sizes_and_axes_of_a_record_are_parameters_of_its_estimators(method, task):
    budget = rivals.Budget(100, 22)
    if not method.solves(task):
        assert method.regressor is None
        return
    estimator = method.at_budget(budget, task, random_state=7)
    assert type(estimator) is {"classification": method.classifier, "regression": method.regressor}[task]
    parameters = estimator.get_params()
    assert parameters["random_state"] == 7
    assert {name: parameters[name] for name in method.sizes(budget)} == method.sizes(budget)
    axes = [axis.name for axis in method.axes_for(task)]
    assert axes
    assert len(set(axes)) == len(axes)
    assert set(axes) <= set(parameters)


@pytest.mark.parametrize("name", sorted(EXPECTED))
@pytest.mark.parametrize("features", [4, 22, 256])
def test_equal_budget(name, features):
    """No method gets more numbers than m d + m r."""
    numbers = 100 * features + 100 * 80
    model = rivals.at_equal_budget(name, n_landmarks=100, n_features=features)
    used = {
        "NOGD": lambda: model.n_landmarks * features + model.n_landmarks * int(model.rank * model.n_landmarks),
        "FOGD": lambda: model.n_components * features,
        "RRF": lambda: model.n_components * features,
        "DoublySGD": lambda: model.n_components * features,
        "DualSGD": lambda: model.budget * features + model.n_components * features,
        "Projectron": lambda: model.budget * (features + 1) + model.budget**2,
        "ProjectronPlusPlus": lambda: model.budget * (features + 1) + model.budget**2,
        "PassiveAggressive": lambda: 0,
        "KernelOGD": lambda: 0,
    }.get(name, lambda: model.budget * (features + 1))()
    assert used <= numbers
    if used:
        assert used > 0.85 * numbers


def rows(classes, seed=0, n=400):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, ((x[:, 0] * x[:, 1] > 0).astype(int) + (classes == 3) * (x[:, 2] > 0.5)).astype(int)


@pytest.mark.parametrize("name", sorted(EXPECTED))
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("gamma", [0.5, None])
def test_cut_anywhere_and_pickle(name, classes, gamma):
    x, y = rows(classes)
    parameters = {} if gamma is None else {"gamma": gamma}
    make = lambda: rivals.at_equal_budget(name, n_landmarks=12, n_features=3, random_state=0, **parameters)  # noqa: E731
    whole, parts = make(), make()
    scores = whole.learn(x, y)
    start = 0
    for stop in (1, 2, 3, 31, 32, 33, 64, 70, 71, 200, 333, 400):
        piece = parts.learn(x[start:stop], y[start:stop])
        assert np.array_equal(scores[start:stop, : piece.shape[1]], piece, equal_nan=True)
        start = stop
        if stop in (33, 200):
            parts = pickle.loads(pickle.dumps(parts))
    assert same_state(whole._learner.state(), parts._learner.state())
    assert np.array_equal(whole.decision_function(x), parts.decision_function(x))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_new_classes_and_bad_rows(name):
    x, y = rows(3)
    model = rivals.at_equal_budget(name, n_landmarks=20, n_features=3, random_state=0)
    model.learn(x[:100], np.where(y[:100] > 1, 1, y[:100]))
    model.learn(x[100:200], y[100:200])
    assert len(model.classes_) == 3
    before = model._learner.state()
    bad = x[200:210].copy()
    bad[4, 1] = np.nan
    with pytest.raises(ValueError, match="row 4, column 1"):
        model.learn(bad, y[200:210])
    assert same_state(before, model._learner.state())


@pytest.mark.parametrize("name", sorted(EXPECTED - {"KernelOGD"}))
def test_memory_never_passes_its_budget(name):
    rng = np.random.default_rng(0)
    model = rivals.at_equal_budget(name, n_landmarks=10, n_features=4, random_state=0)
    sizes = set()
    for _ in range(12):
        x = rng.normal(size=(500, 4))
        model.learn(x, (x[:, 0] * x[:, 1] > 0).astype(int))
        sizes.add(model.memory_bytes_)
    assert len(sizes) == 1


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_xor(name):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (6000, 2))
    y = ((x[:, 0] > 0) ^ (x[:, 1] > 0)).astype(int)
    special = {"NOGD": {"learning_rate": 1.0, "n_landmarks": 100}}.get(name, {})
    if name == "DoublySGD":
        special = {"loss": "hinge", "learning_rate": 100.0, "regularization": 0.01, "n_components": 400}
    if name in ("DualSGD", "BSGD"):
        special = {"regularization": 1e-3}
    if name == "PassiveAggressive":
        special = {"kernel": "rbf"}
    model = CLASSIFIERS[name](gamma=4.0, random_state=0, **special)
    scores = model.learn(x, y)
    hits = model.classes_[scores.argmax(axis=1)] == y
    perceptron = name in ("RBP", "Forgetron", "Projectron", "ProjectronPlusPlus")
    assert hits[3000:].mean() > (0.8 if perceptron else 0.9)


@pytest.mark.parametrize("name", sorted(REGRESSORS))
def test_regression_forms_learn(name):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (4000, 2))
    y = 5 + (x[:, 0] if name == "PassiveAggressive" else np.sin(2 * x[:, 0]))
    special = {"FOGD": {"learning_rate": 0.2}}
    width = {} if name == "PassiveAggressive" else {"gamma": 1.0}
    model = REGRESSORS[name](random_state=0, **width, **special.get(name, {}))
    scores = model.learn(x, y)
    assert np.mean((scores[2000:] - y[2000:]) ** 2) < 0.5 * y.var()


@pytest.mark.parametrize(("variant", "rate"), [("PA-I", "pa1"), ("PA-II", "pa2")])
def test_passive_aggressive_is_scikit_learns(variant, rate):
    """One pass, linear, against SGDClassifier's own PA steps."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 5))
    y = np.where(x[:, 0] + 0.5 * rng.normal(size=300) > 0, 1, -1)
    mine = rivals.PassiveAggressiveClassifier(variant=variant, C=0.5).fit(x, y)
    theirs = SGDClassifier(
        loss="hinge",
        penalty=None,
        learning_rate=rate,
        eta0=0.5,
        fit_intercept=False,
        shuffle=False,
        max_iter=1,
        tol=None,
    ).fit(x, y)
    assert np.allclose(mine.decision_function(x), theirs.decision_function(x), atol=1e-10)


def test_methods_without_weights_say_so():
    x, y = rows(2)
    with pytest.raises(ValueError, match="defines no weights"):
        rivals.RBPClassifier().learn(x, y, sample_weight=np.ones(len(x)))
    with pytest.raises(ValueError, match=r"merge.*kernel"):
        rivals.BSGDClassifier(kernel="linear").fit(x, y)


def test_width_is_taken_from_the_first_rows():
    """After row 64 the learner is as if the width had been known from the start."""
    x, y = rows(2)
    auto = rivals.FOGDClassifier(n_components=30, random_state=0)
    auto.learn(x, y)
    assert auto.gamma_ == pytest.approx(2 / (2 * x[:64].var(axis=0).sum()))
    known = rivals.FOGDClassifier(n_components=30, random_state=0, gamma=auto.gamma_)
    known.learn(x, y)
    assert np.array_equal(auto.decision_function(x), known.decision_function(x))
