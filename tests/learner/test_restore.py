"""A state that does not fit is refused by every engine, before anything of it is read out of bounds."""

from dataclasses import replace

import numpy as np
import pytest

import nolana
from conftest import build_learner, core_builds, same_state
from nolana import engine as reference
from nolana import rivals
from nolana.engine.learner.robust_scaling import RobustScaling
from nolana.modelfile.specs import Spec

ENGINES = [*core_builds(), reference]
X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.sign(X[:, :1])


@pytest.fixture(params=ENGINES, ids=lambda module: module.__name__)
def learner(request):
    learner = build_learner(request.param, capacity=6)
    learner.learn(X, Y)
    return learner


WRONG = {
    "landmarks": [np.zeros((7, 3)), np.zeros((6, 2)), np.zeros(6)],
    "counts": [np.zeros(5), np.zeros((6, 1))],
    "inverse": [np.zeros(20), np.zeros((6, 6))],
    "covariance": [np.zeros(22)],
    "weights": [np.zeros((1, 5)), np.zeros(6), np.array(1.0)],
    "waiting_left": [np.zeros((2, 5))],
    "rows": [-1.0, np.nan, 0.5, 1e300],
    "moves": [-1.0, np.inf],
    "since_refresh": [np.nan],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in WRONG for value in WRONG[name]], ids=str)
def test_learner_restore_refuses_invalid_field_and_changes_nothing(learner, name, value):
    state = learner.state()
    with pytest.raises((ValueError, TypeError, RuntimeError)):
        learner.restore(state | {name: value})
    assert same_state(learner.state(), state)  # and nothing changed
    with pytest.raises((ValueError, KeyError)):
        learner.restore({key: array for key, array in state.items() if key != name})


@pytest.mark.parametrize("name", sorted(rivals.catalogue().keys() - {"NOGD"}))  # which is the learner above
@pytest.mark.parametrize("engine", ENGINES, ids=lambda module: module.__name__)
def test_rival_restore_refuses_invalid_fields(name, engine):
    estimator = rivals.at_equal_budget(name, n_landmarks=4, n_features=3, random_state=0)
    rival = estimator._spec(3).build(engine)
    rival.clear(1)
    rival.learn(X, Y)
    state = rival.state()
    for key, value in state.items():
        if isinstance(value, np.ndarray):
            for wrong in (value[..., None], np.concatenate([value, value], axis=-1), np.array(0.0)):
                with pytest.raises((ValueError, TypeError, RuntimeError)):
                    rival.restore(state | {key: wrong})
        with pytest.raises((ValueError, KeyError)):
            rival.restore({other: array for other, array in state.items() if other != key})
    for rows in (-1.0, np.nan, 0.5, 1e300):
        with pytest.raises(ValueError, match=r"integer|cannot convert"):
            rival.restore(state | {"rows": rows})
    rival.restore(state)
    assert same_state(rival.state(), state)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda module: module.__name__)
def test_bpa_restore_refuses_neighbours_outside_the_set(engine):
    rival = rivals.BPAClassifier(budget=5, projection="nearest")._spec(3).build(engine)
    rival.clear(1)
    rival.learn(X, Y)
    state = rival.state()
    for place in (5.0, -2.0, np.nan, 1e300):
        with pytest.raises(ValueError, match="nearest holds"):
            rival.restore(state | {"nearest": np.array([place, 0, 0, 0, 0])})


@pytest.mark.parametrize("engine", ENGINES, ids=lambda module: module.__name__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_refresh_with_overflowing_kernel_raises(engine):
    """No ridge helps there: an error, where it would try larger ones for ever."""
    learner = build_learner(engine, "linear", capacity=3)
    learner.learn(X, Y)
    learner.restore(learner.state() | {"landmarks": np.full((3, 3), 1e200)})
    with pytest.raises(ArithmeticError, match="overflowed; scale the features"):
        learner.maps[0].refresh()


@pytest.mark.parametrize("engine", ENGINES, ids=lambda module: module.__name__)
def test_restore_part_changes_these_fields_alone(engine):
    """Some fields are exported and taken; the others stay, and a wrong one changes nothing."""
    learner, twin = (build_learner(engine, capacity=6) for _ in range(2))
    learner.learn(X, Y)
    state = learner.state()
    names = {"rows", "waiting_left", "waiting_right"}
    assert same_state(learner.state(["waiting", "rows"]), {name: state[name] for name in names})
    other = {"weights": 2 * state["weights"], "rows": 50.0}
    learner.restore_part(other)
    assert same_state(learner.state(), state | other)
    for wrong in ({"counts": np.zeros(5)}, {"rows": -1.0}, {"no such field": 1.0}, {"waiting_left": np.zeros((9, 6))}):
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            learner.restore_part({"gamma": 7.0} | wrong)
    assert same_state(learner.state(), state | other)
    twin.restore(state | other)
    assert np.array_equal(twin.learn(X, Y), learner.learn(X, Y))


@pytest.mark.parametrize("estimator", [nolana.StreamClassifier, nolana.NolanaClassifier])
def test_spec_with_units_is_refused(estimator):
    """Units follow from the options: a file cannot have others."""
    learner = estimator(random_state=0).partial_fit(X, Y[:, 0])._learner
    spec = replace(learner.spec, arguments={**learner.spec.arguments, "scaling": Spec(RobustScaling, {"features": 3})})
    with pytest.raises(ValueError, match="without scaling"):
        type(learner)(spec, learner.options, 3, 1)
