"""A learner whose scores are no longer finite warns once, with remedies that its method has."""

import copy
import pickle
import re
import warnings

import numpy as np
import pytest

from nolana import NolanaClassifier, NolanaRegressor, StreamClassifier, StreamRegressor, rivals
from nolana.errors import DivergenceWarning
from nolana.learner.driver import INSTEAD

METHODS = [
    (name, task)
    for name, method in rivals.catalogue().items()
    for task in ("classification", "regression")
    if method.solves(task)
]


def outliers(task, n=2000, seed=0):
    """Rows of which one in 20 has a cell of 1e6; one target in 100 is 1e6."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    y = x[:, 0] * x[:, 1]
    x[rng.random(x.shape) < 0.01] = 1e6
    y[rng.random(n) < 0.01] = 1e6
    return x, (y > 0).astype(int) if task == "classification" else y


def caught(call):
    """Divergence warnings of a call, and its result."""
    with warnings.catch_warnings(record=True) as found, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        result = call()
    return [str(w.message) for w in found if w.category is DivergenceWarning], result


def diverging(**parameters):
    """A regressor on rows that make its gradient steps too long."""
    rng = np.random.default_rng(0)
    x = 30 * rng.normal(size=(600, 3))
    return (
        NolanaRegressor(n_landmarks=30, kernel="linear", **({"optimizer": "sgd", "scale": False} | parameters)),
        x,
        x[:, 0],
    )


@pytest.mark.parametrize(("name", "task"), METHODS)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial"])
def test_no_method_returns_nan_silently(name, task, kernel):
    model = rivals.at_equal_budget(name, n_landmarks=30, n_features=5, task=task, random_state=0)
    if "kernel" in model.get_params():
        maintenance = {"maintenance": "remove"} if "maintenance" in model.get_params() else {}
        model.set_params(kernel=kernel, **maintenance)
    x, y = outliers(task)
    messages, scores = caught(
        lambda: np.concatenate([model.learn(x[i : i + 50], y[i : i + 50]) for i in range(0, 2000, 50)])
    )
    seen = scores[10:]  # NaN for a class that is not seen so far
    assert len(messages) == (0 if np.isfinite(seen).all() else 1)


@pytest.mark.parametrize(("name", "task"), METHODS)
def test_remedies_name_parameters_of_the_method(name, task):
    model = rivals.at_equal_budget(name, n_landmarks=30, n_features=5, task=task, random_state=0)
    remedies = model._make_learner(5, 1).remedies()
    for text in remedies:
        for parameter in re.findall(r"(?:smaller|larger) (\w+)", text) + re.findall(r"(\w+)=", text):
            assert parameter in model.get_params(), text


ESTIMATORS = [
    *(
        kind(**parameters)
        for kind in (NolanaClassifier, NolanaRegressor)
        for parameters in (
            {},
            {"scale": False},
            {"optimizer": "sgd"},
            {"optimizer": "sgd", "scale": False, "regularization": 0.1},
            {"optimizer": "sgd", "solver": "exact"},
            {"regularization": 0.1},
        )
    ),
    NolanaRegressor(loss="huber"),
    NolanaRegressor(loss="huber", optimizer="sgd"),
    NolanaClassifier.paper(20, 0.1),
    NolanaRegressor.paper(20, 0.1),
    StreamClassifier(),
    StreamRegressor(),
    *(
        (method.classifier if task == "classification" else method.regressor)(scale=scale)
        for method in rivals.catalogue().values()
        for task in ("classification", "regression")
        for scale in (False, True)
        if method.solves(task)
    ),
]


def remedies(estimator):
    """As Python writes them."""
    return [text.format(**INSTEAD) for text in estimator._make_learner(3, 1).remedies()]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_no_remedy_is_in_use_or_unknown_to_the_estimator(estimator):
    parameters = estimator.get_params()
    for text in remedies(estimator):
        for name, value in re.findall(r"(\w+)=(\S+?)\)?$", text):
            assert str(parameters[name]) != value.strip("'"), text
        for name in re.findall(r"(?:smaller|larger) (\w+)", text):
            assert name in parameters, text
        for name in re.findall(r"smaller (\w+)", text):
            assert parameters[name] is None or parameters[name] > 0, text
        if text.startswith("scale the features"):
            assert parameters["scale"] is False, text


def test_rrf_names_both_rates():
    model = rivals.RRFRegressor(random_state=0)
    x, y = outliers("regression")
    messages, _ = caught(lambda: model.learn(x, y))
    assert len(messages) == 1
    assert "smaller learning_rate" in messages[0]
    assert "smaller width_rate" in messages[0]
    assert "scale=True" not in messages[0]


@pytest.mark.parametrize(
    ("estimator", "present", "absent"),
    [
        (
            NolanaRegressor(optimizer="sgd", scale=False),
            ["learning_rate", "scale=True", "optimizer='newton'"],
            ["regularization"],
        ),
        (NolanaRegressor(optimizer="sgd", regularization=0.1), ["smaller regularization"], []),
        (NolanaRegressor(optimizer="sgd", scale=True), ["optimizer='newton'"], ["scale"]),
        (NolanaRegressor(scale=False), ["larger regularization", "scale=True"], ["learning_rate", "newton"]),
        (NolanaRegressor.paper(20, 0.1), ["learning_rate"], ["newton"]),
        (rivals.NOGDRegressor(), ["learning_rate", "scale the features"], ["scale=True", "newton"]),
    ],
    ids=["sgd", "decay", "scaled", "newton", "paper", "nogd"],
)
def test_a_remedy_is_not_already_in_use(estimator, present, absent):
    text = "; ".join(remedies(estimator))
    assert "remove outliers" in text
    assert [part for part in present if part not in text] == []
    assert [part for part in absent if part in text] == []


@pytest.mark.parametrize("remedy", [{"learning_rate": 1e-5}, {"scale": True}, {"optimizer": "newton"}], ids=str)
def test_remedies_work(remedy):
    model, x, y = diverging()
    assert len(caught(lambda: model.learn(x, y))[0]) == 1
    model, x, y = diverging(**remedy)
    messages, scores = caught(lambda: model.learn(x, y))
    assert messages == []
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("kind", ["nolana", "rival"])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_one_warning_also_after_a_copy(kind, copied):
    if kind == "nolana":
        model, x, y = diverging()
    else:
        model, (x, y) = rivals.RRFRegressor(random_state=0), outliers("regression")
    assert len(caught(lambda: model.learn(x, y))[0]) == 1
    twin = copied(model)
    for each in (model, twin):
        messages, scores = caught(lambda each=each: each.learn(x[:100], y[:100]))
        assert not np.isfinite(scores).all()
        assert messages == []
    assert len(caught(lambda: model.fit(x, y))[0]) == 1  # a new learner


def test_a_prediction_that_is_not_finite_warns_too():
    """The row whose step was too long had a finite score itself."""
    model, x, y = diverging(learning_rate=1e200)
    for i in range(10):
        messages, scores = caught(lambda i=i: model.learn(x[i : i + 1], y[i : i + 1]))
        assert messages == []
        assert np.isfinite(scores).all()
        messages, prediction = caught(lambda: model.predict(x[:5]))
        if messages:
            break
    assert not np.isfinite(prediction).all()
    assert len(messages) == 1
    assert caught(lambda: model.predict(x[:5]))[0] == []


def test_the_warning_names_the_line_of_the_user():
    model, x, y = diverging()
    with pytest.warns(DivergenceWarning) as found, np.errstate(all="ignore"):
        model.partial_fit(x, y)
    assert [w.filename for w in found if w.category is DivergenceWarning] == [__file__]


def test_no_warning_without_divergence():
    x, y = outliers("classification")
    messages, scores = caught(lambda: NolanaClassifier(n_landmarks=20, scale=True).learn(x, y))
    assert messages == []
    assert np.isfinite(scores[10:]).all()
