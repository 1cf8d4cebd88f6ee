"""Wide sparse rows stay sparse: cost and memory of the non-zeros, accuracy on text, the contracts of dense rows."""

import asyncio
import itertools
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier, SGDRegressor

import nolana
from conftest import same_state
from nolana import NolanaClassifier, NolanaRegressor, StreamClassifier, StreamRegressor, experts
from nolana.errors import SketchWarning
from nolana.learner.sketched import sketched

FEATURES = 50_000


def text(rows, classes, kind="counts", seed=0, features=FEATURES):
    """Words by Zipf's law; an eighth of them from the topic of the row's class."""
    rng = np.random.default_rng(seed)
    words, topic_words = 20_000, 500
    chance = np.cumsum(1 / (np.arange(words) + 3.0))
    place = rng.integers(0, features, words)
    topics = [np.sort(rng.permutation(words // 2)[:topic_words]) for _ in range(classes)]
    y = rng.integers(0, classes, rows)
    drawn = np.searchsorted(chance, rng.random((rows, 60)) * chance[-1])
    own = np.stack([topics[c][(rng.random(60) ** 2 * topic_words).astype(int)] for c in y])
    drawn = np.where(rng.random((rows, 60)) < 0.15, own, drawn)
    indices, starts = place[drawn].ravel(), np.arange(0, 60 * rows + 1, 60)
    x = sp.csr_matrix((np.ones(60 * rows), indices, starts), (rows, features))
    x.sum_duplicates()
    if kind == "binary":
        x.data[:] = 1
    if kind == "tfidf":
        order = np.argsort(x.indices, kind="stable")  # by feature, then by row
        first = np.searchsorted(x.indices[order], x.indices[order])
        before = np.empty(x.nnz)
        before[order] = np.arange(x.nnz) - first  # rows with the feature so far
        x.data *= np.log((1 + np.repeat(np.arange(rows), np.diff(x.indptr))) / (1 + before)) + 1
        x = sp.csr_matrix(sp.diags(1 / np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())) @ x)
    if kind == "large unit":
        x.data = np.where(x.indices == place[0], 1e6 * x.data, x.data)
    return x, np.array(["a", "b", "c", "d", "e"])[y]


def accuracy_of_sgd(x, y, loss):
    model, right = SGDClassifier(loss=loss, random_state=0), 0
    for i in range(0, x.shape[0], 50):
        rows = slice(i, i + 50)
        right += (model.predict(x[rows]) == y[rows]).sum() if i else 0
        model.partial_fit(x[rows], y[rows], classes=np.unique(y))
    return right / (x.shape[0] - 50)


def accuracy_of_stream(x, y):
    model = StreamClassifier(random_state=0)
    scores = model.learn(x, y)[50:]
    assert model.memory_bytes_ <= 512 * 1024
    return (model.classes_[scores.argmax(axis=1)] == y[50:]).mean()


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize(("kind", "seeds"), [("counts", 1), ("binary", 1), ("tfidf", 3), ("large unit", 1)])
def test_text_is_learned_better_than_by_sgd(kind, seeds, classes):
    """With tf-idf, of the rows so far, SGD is close: mean over three streams."""
    streams = [text(2000, classes, kind, seed) for seed in range(seeds)]
    ours = np.mean([accuracy_of_stream(x, y) for x, y in streams])
    for loss in ("hinge", "log_loss"):
        assert ours >= np.mean([accuracy_of_sgd(x, y, loss) for x, y in streams])


def test_real_text_is_learned_better_than_by_sgd():
    """Ten lines of Python's own library: which package do they come from?"""
    library = Path(asyncio.__file__).parent.parent
    pieces, labels = [], []
    for name in ("asyncio", "email", "multiprocessing", "unittest"):
        for path in sorted((library / name).rglob("*.py")):
            lines = [line for line in path.read_text("utf-8", errors="replace").splitlines() if line.strip()]
            pieces += ["\n".join(lines[i : i + 10]) for i in range(0, len(lines) - 10, 10)]
            labels += [name] * (len(pieces) - len(labels))
    order = np.random.default_rng(0).permutation(len(pieces))[:1500]
    words = HashingVectorizer(n_features=FEATURES, alternate_sign=False, ngram_range=(1, 2))
    x, y = words.transform([pieces[i] for i in order]), np.array(labels)[order]
    assert accuracy_of_stream(x, y) >= accuracy_of_sgd(x, y, "hinge")


def test_numbers_are_learned_better_than_by_sgd():
    x, _ = text(3000, 2)
    rng = np.random.default_rng(0)
    y = x @ rng.normal(size=FEATURES)
    y = 100 + 10 * y / y.std() + rng.normal(size=3000)
    model, rival, own, other = StreamRegressor(random_state=0), SGDRegressor(random_state=0), [], []
    for i in range(0, 3000, 100):
        own.append(model.learn(x[i : i + 100], y[i : i + 100]))
        other.append(100 + 10 * rival.predict(x[i : i + 100]) if i else np.full(100, 100.0))
        rival.partial_fit(x[i : i + 100], (y[i : i + 100] - 100) / 10)
    error, rival_error = (np.mean((np.concatenate(p) - y)[1000:] ** 2) for p in (own, other))
    assert error < rival_error
    assert error < 0.8 * y.var()
    _, low, high = model.predict(x[-500:], interval=0.9)
    assert ((y[-500:] >= low) & (y[-500:] <= high)).mean() > 0.8


MODELS = [
    StreamClassifier(random_state=0),
    StreamClassifier(random_state=0, memory="64KB"),
    StreamClassifier(random_state=0, experts=[experts.Linear()]),
    StreamRegressor(random_state=0),
    NolanaClassifier(n_landmarks=20),
    NolanaRegressor(n_landmarks=20, kernel="cosine"),
]
models = pytest.mark.parametrize("model", MODELS, ids=lambda m: repr(m)[:60])


def targets_for(model, y):
    return np.unique(y, return_inverse=True)[1].astype(float) if "Regressor" in type(model).__name__ else y


@models
def test_blocks_may_be_split_and_resumed_anywhere(model, tmp_path):
    """Also where a new class makes the tables smaller, and through files, pickles and copies."""
    x, y = text(700, 5)
    y = np.sort(y)  # classes come one after the other
    y = targets_for(model, y)
    weight = np.random.default_rng(1).choice([0.0, 1.0, 2.0], 700)
    whole, parts = (pickle.loads(pickle.dumps(model)) for _ in range(2))
    expected = whole.learn(x, y, sample_weight=weight)
    for i, j in itertools.pairwise([0, 1, 150, 155, 512, 700]):
        scores = parts.learn(x[i:j], y[i:j], sample_weight=weight[i:j])
        width = 1 if scores.ndim == 1 else scores.shape[1]
        assert np.array_equal(scores.reshape(j - i, -1), expected[i:j].reshape(j - i, -1)[:, :width], equal_nan=True)
        parts.save(tmp_path / "model")
        parts = pickle.loads(pickle.dumps(nolana.load(tmp_path / "model")))
    assert same_state(whole._learner.state(), parts._learner.state())
    assert np.array_equal(whole.predict(x), parts.predict(x))


@models
def test_dense_rows_are_the_same_rows(model):
    x, y = text(300, 3, features=2000)
    y = targets_for(model, y)
    one, two = (pickle.loads(pickle.dumps(model)) for _ in range(2))
    for each in (one, two):
        each.learn(x[:100], y[:100])
    assert np.array_equal(one.learn(x[100:], y[100:]), two.learn(x[100:].toarray(), y[100:]))
    assert np.array_equal(one.predict(x), one.predict(x.toarray()))
    assert np.array_equal(one.predict(x), one.predict(x.tocoo()))


@pytest.mark.parametrize("kind", [StreamClassifier, NolanaClassifier])
def test_narrow_sparse_rows_are_dense_rows(kind):
    x, y = text(300, 3, features=200)
    one, two = (kind(random_state=0) for _ in range(2))
    assert np.array_equal(one.learn(x, y), two.learn(x.toarray(), y), equal_nan=True)
    dense_first, sparse_later = (kind(random_state=0).partial_fit(x[:100].toarray(), y[:100]) for _ in range(2))
    assert np.array_equal(dense_first.learn(x[100:].toarray(), y[100:]), sparse_later.learn(x[100:], y[100:]))


def test_a_landmark_learner_on_text_recommends_the_default_learner_once():
    x, y = text(60, 2)
    with pytest.warns(SketchWarning, match="50,000 features as sketches of 1,024 sums.*for text use StreamClassifier"):
        model = NolanaClassifier(n_landmarks=5).partial_fit(x[:30], y[:30])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(x[30:], y[30:]).predict(x)
        NolanaClassifier(n_landmarks=5).partial_fit(x[:30, :500], y[:30])
        StreamClassifier().partial_fit(x, y)


def test_landmarks_of_wide_sparse_rows_are_sketches():
    x, y = text(300, 2)
    model, inner = NolanaClassifier(n_landmarks=20), NolanaClassifier(n_landmarks=20)
    assert np.array_equal(model.learn(x, y), inner.learn(sketched(x.toarray()), y), equal_nan=True)
    assert model.landmarks_.shape == (20, 1024)
    assert model.n_features_in_ == FEATURES
    exact = NolanaClassifier(n_landmarks=20, kernel=lambda a, b: a @ b.T + 1.0).partial_fit(x[:30], y[:30])
    assert exact.landmarks_.shape[1] == FEATURES


@pytest.mark.parametrize("memory", ["48KB", "100KB", "512KB", "3MB"])
def test_memory_is_never_exceeded(memory):
    x, _ = text(600, 2)
    y = np.arange(600) // 60 % 10
    model = StreamClassifier(memory=memory, random_state=0)
    for i in range(0, 600, 30):
        model.learn(x[i : i + 30], y[i : i + 30])
        assert model.memory_bytes_ <= nolana.estimators.stream.memory_bytes(memory)
    assert model.sizes_["features with a slot"] >= 8


def test_features_with_a_slot_survive_new_classes():
    """The most frequent features keep what was learned when the table becomes smaller."""
    x, y = text(1500, 2)
    model = StreamClassifier(random_state=0).partial_fit(x, y)
    before = model.predict(x[:500])
    slots = model.sizes_["features with a slot"]
    model.partial_fit(x[:1], ["z"])
    assert model.sizes_["features with a slot"] < slots
    assert (model.predict(x[1:500]) == before[1:]).mean() > 0.85


def test_a_bad_value_is_named_and_nothing_is_learned():
    x, y = text(200, 2)
    model = StreamClassifier(random_state=0).partial_fit(x[:100], y[:100])
    before = model._learner.state()
    bad = x[100:].copy()
    bad.data[200] = np.nan
    row = int(np.searchsorted(bad.indptr, 200, side="right")) - 1
    with pytest.raises(ValueError, match=f"NaN at row {row}, column {bad.indices[200]}"):
        model.learn(bad, y[100:])
    assert same_state(before, model._learner.state())


def test_records_of_the_experts():
    x, y = text(600, 2)
    model = StreamClassifier(random_state=0).partial_fit(x, y)
    assert [record["name"] for record in model.experts_][:2] == ["linear", "landmarks"]
    assert model.relevance_.shape == (FEATURES,)
    assert "features with a slot" in repr(model)


def test_linear_experts_are_for_few_features_and_for_wide_sparse_rows():
    x, y = text(60, 2)
    with pytest.raises(ValueError, match="at most 64 features, or on sparse rows of more than 256"):
        StreamClassifier(experts=[experts.Linear()]).learn(x[:, :100], y)
    with pytest.raises(ValueError, match="2 linear sets"):
        StreamClassifier(experts=[experts.Linear(), experts.Linear()]).learn(x, y)
    both = StreamClassifier(experts=[experts.Linear(), experts.Bins()])
    assert "linear" not in [record["name"] for record in both.partial_fit(x[:, :100], y).experts_]
    assert "linear" in [record["name"] for record in clone(both).partial_fit(x[:, :64], y).experts_]
    small = StreamClassifier(memory="64KB").partial_fit(x[:, :64].toarray(), y)  # a covariance of 17 KB is too much
    assert "linear" not in [record["name"] for record in small.experts_]
    alone = StreamClassifier(experts=[experts.Linear()]).partial_fit(x[:, :20], y)
    assert [record["name"] for record in alone.experts_] == ["linear"]
