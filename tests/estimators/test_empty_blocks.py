"""Blocks without rows, as a poll that found nothing returns them: legal, and nothing changes."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import nolana
from nolana.errors import ColumnsWarning
from nolana.evaluate import progressive

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
TWO = np.where(X[:, 0] * X[:, 1] > 0, "in", "out")
THREE = np.arange(300) % 3
NUMBERS = X[:, 0] + X[:, 1] ** 2
NONE = np.empty((0, 3))
KINDS = {
    "two classes": (nolana.StreamClassifier, TWO, (0, 2)),
    "three classes": (nolana.StreamClassifier, THREE, (0, 3)),
    "balanced": (lambda **own: nolana.StreamClassifier(class_weight="balanced", **own), TWO, (0, 2)),
    "numbers": (nolana.StreamRegressor, NUMBERS, (0,)),
    "two targets": (nolana.StreamRegressor, np.c_[NUMBERS, X[:, 2]], (0, 2)),
    "landmarks": (nolana.NolanaClassifier, TWO, (0, 2)),
    "landmarks, numbers": (nolana.NolanaRegressor, NUMBERS, (0,)),
}


@pytest.fixture(params=KINDS)
def kind(request):
    make, y, shape = KINDS[request.param]
    return make(random_state=0), y, shape


def saved(model, path):
    model.save(path)
    return path.read_bytes()


def test_empty_block_returns_no_scores_and_changes_nothing(kind, tmp_path):
    model, y, shape = kind
    model.learn(X, y)
    before = saved(model, tmp_path / "m")
    assert model.learn(NONE, y[:0]).shape == shape
    assert model.learn(NONE, np.empty(0)).shape == shape  # an empty array has no labels of a wrong type
    assert model.learn(NONE, [], sample_weight=[]).shape == shape
    assert model.partial_fit(NONE, y[:0]) is model
    assert model.learn(csr_matrix((0, 3)), y[:0]).shape == shape
    assert saved(model, tmp_path / "m") == before


def test_empty_block_before_the_first_row_changes_nothing(kind, tmp_path):
    model, y, _ = kind
    assert len(model.learn(NONE, y[:0])) == 0
    assert len(model.partial_fit(np.empty((0, 7)), y[:0]).learn(NONE, [])) == 0
    assert not hasattr(model, "n_features_in_")
    scores = model.learn(X, y)
    fresh = type(model)(**model.get_params())
    np.testing.assert_array_equal(scores, fresh.learn(X, y))
    assert saved(model, tmp_path / "m") == saved(fresh, tmp_path / "f")


def test_empty_block_is_predicted_as_no_rows(kind):
    model, y, shape = kind
    model.learn(X, y)
    assert model.predict(NONE).shape == ((0,) if isinstance(y[0], str | np.integer) else shape)
    assert model.predict(NONE).dtype == model.predict(X).dtype
    assert model.scores(NONE).shape == shape
    if hasattr(model, "predict_proba"):
        assert model.predict_proba(NONE).shape == shape
        assert model.predict_log_proba(NONE).shape == shape
        assert model.learn_proba(NONE, y[:0])[1].shape == shape
        assert len(model.decision_function(NONE)) == 0
    elif isinstance(model, nolana.StreamRegressor):
        assert [part.shape for part in model.predict(NONE, interval=0.9)] == [shape] * 3


def test_empty_block_announces_classes():
    model = nolana.StreamClassifier(random_state=0)
    assert model.partial_fit(NONE, [], classes=["in", "out"]).classes_.tolist() == ["in", "out"]
    assert model.learn(NONE, []).shape == (0, 2)
    with pytest.raises(ValueError, match="not fitted yet"):
        model.predict(NONE)
    assert model.learn(X[:1], ["in"]).shape == (1, 2)
    assert model.learn(NONE, [], classes=["in", "maybe"]).shape == (0, 3)
    np.testing.assert_array_equal(model.classes_, ["in", "maybe", "out"])


def test_fit_still_refuses_no_rows(kind):
    model, y, _ = kind
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(NONE, y[:0])


@pytest.mark.parametrize(
    ("rows", "labels", "weights", "said"),
    [
        (np.empty((0, 2)), [], None, "2 features"),
        (NONE, ["in"], None, "X has 0 rows but y has 1"),
        (NONE, [], [1.0], "X has 0 rows but sample_weight has 1"),
        (np.empty(0), [], None, "2D array"),
        ([], [], None, "2D array"),
    ],
)
def test_empty_block_that_does_not_fit_is_refused(rows, labels, weights, said):
    model = nolana.StreamClassifier(random_state=0).partial_fit(X, TWO)
    with pytest.raises(ValueError, match=said):
        model.learn(rows, labels, sample_weight=weights)


def test_empty_frame_is_checked_by_name():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = nolana.StreamClassifier(random_state=0).partial_fit(frame, TWO)
    assert model.learn(pd.DataFrame(columns=["a", "b", "c"]), []).shape == (0, 2)
    assert model.predict(frame[:0]).shape == (0,)
    with pytest.raises(ValueError, match="missing: 'c'"):
        model.learn(pd.DataFrame(columns=["a", "b", "d"]), [])


@pytest.mark.parametrize("make", [nolana.StreamClassifier, nolana.NolanaClassifier])
def test_empty_block_before_the_first_row_has_no_probabilities(make):
    for model in (make(), make().partial_fit(X, TWO)):
        classes = len(getattr(model, "classes_", ()))
        assert [each.shape for each in model.learn_proba(NONE, TWO[:0])] == [(0, classes)] * 2
        assert [each.shape for each in model.learn_late_proba(NONE, NONE, TWO[:0])] == [(0, classes)] * 2


@pytest.mark.parametrize("make", [nolana.StreamClassifier, nolana.StreamRegressor])
def test_empty_block_before_the_first_row_raises_no_drift_alarm(make):
    model, alarms = make(), []
    model.on_drift = alarms.append
    model.learn(NONE, [])
    assert not alarms


def test_progressive_evaluation_passes_over_empty_blocks():
    blocks = [(NONE, TWO[:0]), (X[:100], TWO[:100]), (NONE, TWO[:0]), (X[100:], TWO[100:])]
    with_empty = progressive(nolana.StreamClassifier(random_state=0), blocks)
    without = progressive(nolana.StreamClassifier(random_state=0), blocks[1::2])
    assert with_empty.metrics == without.metrics


COLUMNS = {
    "missing": (["a", "b"], r"\(missing: 'c'\)$"),
    "unexpected": (["a", "b", "c", "d"], r"\(unexpected: 'd'\)\. X\[list\(model\.feature_names_in_\)\] selects"),
    "renamed": (["a", "z", "c"], r"\(missing: 'b'; unexpected: 'z'\)$"),
    "order": (["a", "c", "b"], r"another order: column 1 is 'c', and was 'b'\)\. X\[list\(model"),
}


@pytest.mark.parametrize(("columns", "said"), COLUMNS.values(), ids=COLUMNS)
def test_frame_with_other_columns_is_refused_with_the_difference(columns, said):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = nolana.NolanaClassifier(n_landmarks=9).partial_fit(frame, TWO)
    other = pd.DataFrame(np.ones((2, len(columns))), columns=columns)
    for call in (lambda: model.learn(other, TWO[:2]), lambda: model.predict(other)):
        with pytest.raises(ValueError, match="should match those that were passed during fit") as caught:
            call()
        caught.match(said)
    if "selects" in said or "order" in said:  # the remedy works
        assert model.predict(other[list(model.feature_names_in_)]).shape == (2,)


@pytest.mark.parametrize("case", ["missing", "renamed"])
def test_stream_frame_without_a_learned_column_is_refused_with_the_difference(case):
    columns, said = COLUMNS[case]
    model = nolana.StreamClassifier(random_state=0).partial_fit(pd.DataFrame(X, columns=["a", "b", "c"]), TWO)
    other = pd.DataFrame(np.ones((2, len(columns))), columns=columns)
    for call in (lambda: model.learn(other, TWO[:2]), lambda: model.predict(other)):
        with pytest.raises(ValueError, match="should match those that were passed during fit") as caught:
            call()
        caught.match(said)


def test_stream_frame_is_matched_by_name_and_new_columns_are_left_out():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = nolana.StreamClassifier(random_state=0).partial_fit(frame, TWO)
    expected = model.predict_proba(frame)
    assert np.array_equal(model.predict_proba(frame[["c", "a", "b"]]), expected)
    with pytest.warns(ColumnsWarning, match="left out: 'd'"):
        assert np.array_equal(model.predict_proba(frame.assign(d=1.0)), expected)


@pytest.mark.filterwarnings("error")
def test_score_of_no_rows_is_refused(kind):
    model, y, _ = kind
    model.learn(X, y)
    for labels in (y[:0], []):
        with pytest.raises(ValueError, match=r"no row to score|0 sample"):
            model.score(NONE, labels)
    if isinstance(model, nolana.StreamClassifier | nolana.NolanaClassifier):
        with pytest.raises(ValueError, match="no row to score"):
            model.score(X[:2], y[:2], sample_weight=[0, 0])
