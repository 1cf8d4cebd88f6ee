"""Several labels of a row: shapes, the same bits as one model for each label, files, parts, sparse rows, bad input."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score

import nolana
from nolana import StreamClassifier, StreamRegressor
from nolana.evaluate import progressive

K = 3


def stream(n, seed=0):
    """Three labels; the last depends on the first."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    x[0] = -1.0, 1.0, -1.0, -1.0  # no label: the class that is seen first has the negative scores, here and alone
    first, second = x[:, 0] * x[:, 1] > 0, np.sin(2 * x[:, 2]) + 0.3 * rng.normal(size=n) > 0.3
    return x, np.column_stack([first, second, first & (x[:, 3] > -0.5)]).astype(int)


@pytest.fixture(scope="module")
def fitted():
    x, y = stream(3000)
    model = StreamClassifier(random_state=0)
    return model, model.learn(x, y), x, y


def test_scores_are_those_of_one_model_for_each_label_in_its_share_of_the_memory(fitted):
    _, scores, x, y = fitted
    assert scores.shape == (3000, K)
    for i in range(K):
        own = StreamClassifier(random_state=0, memory=(512 << 10) // K)
        alone = own.learn(x, y[:, i], classes=[0, 1])
        later = np.isfinite(alone).all(axis=1)
        assert later[50:].all()
        assert np.array_equal(2 * alone[later, 1], scores[later, i])


def test_outputs_are_those_of_mlp_classifier(fitted):
    model, _, x, y = fitted
    assert model.multilabel_
    assert model.classes_.tolist() == [0, 1, 2]
    predicted, p, decision = model.predict(x), model.predict_proba(x), model.decision_function(x)
    assert predicted.shape == p.shape == decision.shape == (3000, K)
    assert predicted.dtype.kind == "i"
    assert np.array_equal(predicted, decision > 0)
    assert np.array_equal(predicted, p > 0.5)
    assert ((p > 0) & (p < 1)).all()
    assert model.score(x, y) == (predicted == y).all(axis=1).mean()
    assert model.predict_log_proba(x) == pytest.approx(np.log(p))
    assert model.predict(x[:1]).shape == (1, K)
    assert model.predict(np.empty((0, 4))).shape == (0, K)
    assert model.memory_bytes_ <= 512 << 10
    assert model.n_rows_ == 3000
    assert not StreamClassifier(random_state=0).fit(x, y[:, 0]).multilabel_


def test_probabilities_are_calibrated_and_begin_at_one_half():
    x, y = stream(20000)
    model = StreamClassifier(random_state=0)
    scores, p = model.learn_proba(x, y)
    assert p[0].tolist() == [0.5] * K
    assert np.array_equal(p[1:] > 0.5, scores[1:] > 0)
    later = p[2000:].ravel()
    for low in np.arange(0, 1, 0.2):
        at = (later >= low) & (later < low + 0.2)
        assert y[2000:].ravel()[at].mean() == pytest.approx(later[at].mean(), abs=0.08)


def test_split_anywhere_changes_no_bit(fitted):
    model, scores, x, y = fitted
    parts, other = [], StreamClassifier(random_state=0)
    for i, j in ((0, 1), (1, 2), (2, 700), (700, 701), (701, 3000)):
        parts.append(other.learn(x[i:j], y[i:j]))
    assert np.array_equal(np.concatenate(parts), scores)
    assert np.array_equal(model.predict_proba(x), other.predict_proba(x))


def test_files_pickles_and_copies_continue_bit_for_bit(fitted, tmp_path):
    model, _, x, y = fitted
    model.save(tmp_path / "model.nolana")
    copies = [nolana.load(tmp_path / "model.nolana"), pickle.loads(pickle.dumps(model)), copy.copy(model)]
    expected = copy.copy(model).learn(x[:300], y[:300])
    for other in copies:
        assert other.multilabel_
        assert np.array_equal(other.learn(x[:300], y[:300]), expected)


def test_parts_are_merged():
    x, y = stream(5000)
    model = StreamClassifier(random_state=0)
    model.learn(x[:1000], y[:1000])
    parts = model.split(2)
    for i, part in enumerate(parts):
        part.learn(x[1000 + i : 4000 : 2], y[1000 + i : 4000 : 2])
    merged = nolana.merge(parts)
    assert merged.n_rows_ == 4000
    assert merged.score(x[4000:], y[4000:]) > model.score(x[4000:], y[4000:])


def test_fit_partial_fit_and_weights():
    x, y = stream(1500)
    model = StreamClassifier(random_state=0).fit(x, y)
    assert model.score(x, y) > 0.8
    assert model.n_iter_ == 2
    weights = np.ones(1500)
    weights[::2] = 0
    half, weighted = StreamClassifier(random_state=0), StreamClassifier(random_state=0)
    half.partial_fit(x[1::2], y[1::2], classes=np.arange(K))
    weighted.partial_fit(x, y, sample_weight=weights)
    assert np.array_equal(half.predict_proba(x), weighted.predict_proba(x))
    late = StreamClassifier(random_state=0)
    late.learn(x[:100], y[:100])
    assert late.learn_late(x[200:300], x[100:200], y[100:200]).shape == (100, K)
    assert late.n_rows_ == 200


def test_sparse_rows_frames_and_sparse_labels():
    pd = pytest.importorskip("pandas")
    x, y = stream(600)
    dense = StreamClassifier(random_state=0).fit(x, y)
    frame = pd.DataFrame(x, columns=list("abcd"))
    named = StreamClassifier(random_state=0).fit(frame, pd.DataFrame(y))
    assert np.array_equal(named.predict_proba(frame), dense.predict_proba(x))
    assert np.array_equal(StreamClassifier(random_state=0).fit(x, sp.csr_matrix(y)).predict(x), dense.predict(x))
    rows = sp.random(800, 1000, density=0.01, format="csr", random_state=0)
    labels = np.column_stack(
        [np.asarray(rows[:, :500].sum(axis=1)).ravel() > 2.5, np.asarray(rows[:, 500:].sum(axis=1)).ravel() > 2.5]
    )
    model = StreamClassifier(random_state=0)
    assert model.learn(rows, labels).shape == (800, 2)
    assert model.predict(rows).shape == (800, 2)


def test_categories_and_a_lag():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 1200)
    x = np.array([[c, str(v)] for c, v in zip(colour, rng.integers(9, size=1200), strict=True)], dtype=object)
    y = np.column_stack([colour == "red", colour != "blue"]).astype(int)
    assert StreamClassifier(random_state=0).fit(x, y).score(x, y) > 0.95
    model = StreamClassifier(random_state=0, lag=1)
    assert model.learn(stream(300)[0], stream(300)[1]).shape == (300, K)


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (np.full((40, 2), 2), "holds np.int64\\(2\\)"),
        (np.full((40, 2), 0.5), "of 0 and 1"),
        (np.full((40, 2), np.nan), "of 0 and 1"),
        (np.full((40, 2), "a"), "of 0 and 1"),
        (np.zeros((39, 2), int), "inconsistent numbers of samples"),
    ],
)
def test_bad_labels_are_refused_and_change_nothing(y, match):
    x = stream(40)[0]
    model = StreamClassifier(random_state=0)
    with pytest.raises(ValueError, match=match):
        model.learn(x, y)
    assert "_learner" not in model.__dict__
    model.learn(*stream(40))
    before = model.predict_proba(x)
    wide = np.column_stack([y, y[:, :1]])
    with pytest.raises(ValueError, match=match):
        model.learn(x, wide)
    assert np.array_equal(model.predict_proba(x), before)


def test_other_numbers_of_labels_and_options_without_meaning_are_refused():
    x, y = stream(60)
    model = StreamClassifier(random_state=0)
    model.learn(x, y)
    for other in (y[:, :2], y[:, 0]):
        with pytest.raises(ValueError, match="this model has learned 3"):
            model.learn(x, other)
    single = StreamClassifier(random_state=0).fit(x, y[:, 0])
    with pytest.raises(ValueError, match="1d array"):
        single.learn(x, y)
    with pytest.raises(ValueError, match="class_weight has no meaning"):
        StreamClassifier(class_weight="balanced").fit(x, y)
    with pytest.raises(ValueError, match="label sets are for rows of one label"):
        model.predict_set(x)
    with pytest.raises(ValueError, match="memory"):
        StreamClassifier(memory="32KB").fit(x, np.tile(y, 8))


def test_a_learner_of_labels_is_none_of_a_regressor(fitted):
    model, *_ = fitted
    assert not StreamRegressor()._accepts(model._learner)
    assert StreamClassifier()._accepts(model._learner)
    assert not StreamClassifier()._accepts(StreamRegressor().fit(np.eye(3), np.eye(3)[:, :2])._learner)


@pytest.mark.parametrize("delay", [0, 50])
def test_progressive_validation_has_subset_accuracy_and_f1(delay):
    x, y = stream(2000)
    blocks = [(x[i : i + 300], y[i : i + 300]) for i in range(0, 2000, 300)]
    metrics = ["accuracy", "f1_micro", "f1_macro"]
    result = progressive(StreamClassifier(random_state=0), blocks, metrics=metrics, delay=delay)
    assert result.rows == 2000
    if delay == 0:
        predicted = StreamClassifier(random_state=0).learn(x, y) > 0
        assert result.metrics["accuracy"] == pytest.approx((predicted == y).all(axis=1).mean())
        assert result.metrics["f1_micro"] == pytest.approx(f1_score(y, predicted, average="micro"))
        assert result.metrics["f1_macro"] == pytest.approx(f1_score(y, predicted, average="macro"))
    assert progressive(StreamClassifier(random_state=0), blocks, delay=delay).metrics["accuracy"] > 0.6
    with pytest.raises(ValueError, match="'kappa' is for one label of a row, but there are 3"):
        progressive(StreamClassifier(random_state=0), blocks, metrics=["kappa"], delay=delay)
