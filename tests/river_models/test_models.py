"""nolana.river inside River: its own checks, pipelines, evaluations, ensembles; and what learn_one must equal."""

import copy
import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("river", reason="River is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st
from river import checks, compose, drift, ensemble, evaluate, forest, metrics, multiclass, preprocessing

import nolana
import nolana.river as nr
from conftest import same_state
from rows_one_by_one import accuracy

MODELS = [nr.StreamClassifier, nr.NolanaClassifier, nr.StreamRegressor, nr.NolanaRegressor]
SMALL = {
    nr.StreamClassifier: {"memory": "32KB", "seed": 0},
    nr.StreamRegressor: {"memory": "32KB", "seed": 0},
    nr.NolanaClassifier: {"n_landmarks": 8},
    nr.NolanaRegressor: {"n_landmarks": 8},
}


def name_of(model):
    return model.__name__


def xor(rng, rows):
    for _ in range(rows):
        a, b = rng.uniform(-1, 1, 2).tolist()
        yield {"a": a, "b": b}, (a > 0) != (b > 0)


def same_model(a, b):
    """Bit for bit: what the learners learned, and the slots of the features."""
    assert same_state(a.estimator._learner.state(), b.estimator._learner.state())
    mine, theirs = vars(a._features), vars(b._features)
    return all(np.array_equal(mine[name], theirs[name]) for name in mine)


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_river_s_own_checks_pass_without_a_skip(model):
    assert not model()._unit_test_skips()
    checks.check_estimator(model())


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_parameters_are_those_of_the_estimator(model):
    """The same names and defaults, but for what only fit and time series need, and for River's name of the seed."""
    mine = {each.name: each.default for each in dataclasses.fields(model)}
    theirs = {each.name: each.default for each in dataclasses.fields(model._estimator_class)}
    for name in ("max_iter", "shuffle", "random_state", "initial_landmarks", "lag", "group"):
        theirs.pop(name, None)
    mine.pop("seed", None)
    assert mine.pop("n_slots") is None
    assert mine == theirs


# learn_one


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_a_row_that_is_always_complete_is_learned_as_by_the_estimator(model, rng):
    """Bit for bit, with as many constant columns as there are spare slots."""
    X = rng.normal(size=(300, 5))
    y = X[:, 0] * X[:, 1] > 0 if "Classifier" in model.__name__ else X[:, 0] * X[:, 1]
    river = model(**SMALL[model])
    parameters = {"random_state" if k == "seed" else k: v for k, v in SMALL[model].items()}
    estimator = model._estimator_class(**parameters)
    padded = np.hstack([X, np.zeros((300, 4))])
    scores = []
    for row, target in zip(X, y.tolist(), strict=True):
        x = dict(zip("abcde", row.tolist(), strict=True))
        scores.append(river.predict_one(x))
        river.learn_one(x, target)
    learned = estimator.learn(padded, y)
    assert same_state(river.estimator._learner.state(), estimator._learner.state())
    if learned.ndim == 2:
        best = estimator.classes_[np.nan_to_num(learned[2:], nan=-np.inf).argmax(axis=1)]
        assert scores[2:] == best.tolist()
    else:
        np.testing.assert_array_equal(scores, learned)


@st.composite
def frames(draw):
    """Some frames in a row: columns come and go, values are missing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    frames = []
    for _ in range(draw(st.integers(1, 4))):
        columns = draw(st.lists(st.sampled_from("abcdefghijkl"), min_size=1, max_size=8, unique=True))
        rows = draw(st.sampled_from([1, 3, 40, 70, 130]))
        values = rng.normal(size=(rows, len(columns))) * 10.0 ** rng.integers(-2, 3)
        values[rng.random(values.shape) < draw(st.sampled_from([0.0, 0.0, 0.1, 0.7]))] = np.nan
        frames.append((columns, values, rng.integers(0, draw(st.integers(1, 3)), rows)))
    return frames


@pytest.mark.parametrize("model", MODELS, ids=name_of)
@settings(max_examples=25)
@given(frames=frames(), slots=st.sampled_from([None, None, 5]), weighted=st.booleans())
def test_learn_many_equals_a_loop_of_learn_one(model, frames, slots, weighted):
    pandas = pytest.importorskip("pandas")
    one, many = (model(**SMALL[model], n_slots=slots) for _ in range(2))
    for columns, values, y in frames:
        w = np.arange(len(y)) % 3 if weighted else np.ones(len(y))
        if "Regressor" in model.__name__:
            y = y + values[:, 0] * np.isfinite(values[:, 0]) if np.isfinite(values[:, 0]).all() else y.astype(float)
        for row, target, weight in zip(values, y.tolist(), w.tolist(), strict=True):
            one.learn_one(dict(zip(columns, row.tolist(), strict=True)), target, w=weight)
        frame = pandas.DataFrame(values, columns=columns)
        many.learn_many(frame, pandas.Series(y), *([w] if weighted else []))
        assert same_model(one, many)
        single = [one.predict_one(dict(zip(columns, row.tolist(), strict=True))) for row in values[:5]]
        assert many.predict_many(frame.iloc[:5]).tolist() == single


def test_predict_proba_many_equals_predict_proba_one(rng):
    pandas = pytest.importorskip("pandas")
    model = nr.StreamClassifier(seed=0, memory="32KB")
    for x, y in xor(rng, 300):
        model.learn_one(x, y)
    rows = [x for x, _ in xor(rng, 20)]
    frame = pandas.DataFrame(rows, index=range(100, 120))
    many = model.predict_proba_many(frame)
    assert many.index.equals(frame.index)
    assert many.to_dict("records") == [model.predict_proba_one(x) for x in rows]


def test_polars_frames(rng):
    polars = pytest.importorskip("polars")
    model, other = nr.StreamClassifier(seed=0, memory="32KB"), nr.StreamClassifier(seed=0, memory="32KB")
    rows, labels = zip(*xor(rng, 200), strict=True)
    model.learn_many(polars.DataFrame(rows), polars.Series(labels))
    for x, y in zip(rows, labels, strict=True):
        other.learn_one(x, y)
    assert same_model(model, other)
    assert model.predict_many(polars.DataFrame(rows[:9])).to_list() == [other.predict_one(x) for x in rows[:9]]
    assert model.predict_proba_many(polars.DataFrame(rows[:9])).columns == ["False", "True"]


@pytest.mark.parametrize("model", MODELS, ids=name_of)
@pytest.mark.parametrize("rows", [0, 1, 30, 64, 200])
def test_a_copy_and_a_pickle_continue_alike(model, rows, rng):
    original = model(**SMALL[model])
    stream = list(xor(rng, rows + 40))
    for x, y in stream[:rows]:
        original.learn_one(x, y)
    copies = [copy.deepcopy(original), pickle.loads(pickle.dumps(original))]
    for x, y in stream[rows:]:
        expected = original.predict_one(x)
        original.learn_one(x, y)
        for each in copies:
            assert each.predict_one(x) == expected
            each.learn_one(x, y)
    assert all(same_model(original, each) for each in copies)


def test_a_clone_has_learned_nothing(rng):
    model = nr.StreamClassifier(memory="32KB", seed=3)
    for x, y in xor(rng, 100):
        model.learn_one(x, y)
    clone = model.clone({"memory": "64KB"})
    assert (clone.memory, clone.seed, clone.estimator) == ("64KB", 3, None)
    assert clone.predict_one({"a": 1.0}) is None
    assert clone.predict_proba_one({"a": 1.0}) == {}
    assert nr.StreamRegressor().predict_one({"a": 1.0}) == 0.0


# In River


def test_in_a_pipeline_and_progressive_val_score(rng):
    model = compose.Select("a", "b") | preprocessing.StandardScaler() | nr.NolanaClassifier(n_landmarks=30)
    result = evaluate.progressive_val_score(xor(rng, 2000), model, metrics.Accuracy())
    assert result.get() > 0.93


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: ensemble.BaggingClassifier(model, n_models=3, seed=1),
        lambda model: ensemble.ADWINBaggingClassifier(model, n_models=3, seed=1),
        lambda model: ensemble.LeveragingBaggingClassifier(model, n_models=3, seed=1),
        lambda model: drift.DriftRetrainingClassifier(model, drift.binary.DDM()),
        lambda model: multiclass.OneVsRestClassifier(model),
        lambda model: ensemble.VotingClassifier([model, forest.ARFClassifier(n_models=2, seed=1)]),
    ],
    ids=["bagging", "adwin", "leveraging", "retraining", "one-vs-rest", "voting"],
)
def test_in_ensembles_and_drift_wrappers(wrap, rng):
    model = wrap(nr.StreamClassifier(memory="64KB", seed=0))
    assert accuracy(model, xor(rng, 800), 400) > 0.85
    assert accuracy(pickle.loads(pickle.dumps(model)), xor(rng, 100), 100) > 0.85


def test_labels_keep_their_type(rng):
    for labels in (["no", "yes"], [0, 1], [False, True]):
        model = nr.StreamClassifier(memory="32KB", seed=0)
        for x, y in xor(rng, 100):
            model.learn_one(x, labels[y])
        assert type(model.predict_one({"a": 0.5, "b": 0.5})) is type(labels[0])
        assert list(model.predict_proba_one({"a": 0.5, "b": 0.5})) == labels


def test_without_river_the_error_names_the_extra():
    code = "import sys; sys.modules['river'] = None\nimport nolana.river"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0
    assert 'pip install "nolana[river]"' in done.stderr


def test_nolana_itself_does_not_import_river():
    code = "import sys, nolana, nolana.estimators, nolana.evaluate; assert 'river' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert nolana.StreamClassifier is not nr.StreamClassifier
