"""Probabilities of every classifier: calibrated, consistent with predict, and usable by scikit-learn."""

import copy
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

import nolana
from conftest import same_state
from nolana import NolanaClassifier, StreamClassifier, rivals

CLASSIFIERS = {
    "nolana": lambda: NolanaClassifier(n_landmarks=20),
    "sgd": lambda: NolanaClassifier(n_landmarks=20, optimizer="sgd"),
    "logistic": lambda: NolanaClassifier(n_landmarks=20, loss="logistic"),
    "stream": lambda: StreamClassifier(memory="64KB", random_state=0),
    **{name: partial(method.classifier, random_state=0) for name, method in rivals.catalogue().items()},
}
every_classifier = pytest.mark.parametrize("name", CLASSIFIERS)
ROWS = 3000


def stream(kind, seed=0):
    """Noisy labels, a rare class, 20 % wrong labels on XOR, and three classes with wrong labels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, 3))
    draws = rng.random(ROWS)
    return x, {
        "noisy": lambda: (draws < 1 / (1 + np.exp(-2 * x[:, 0]))).astype(int),
        "rare": lambda: (draws < 1 / (1 + np.exp(3 - 2 * x[:, 0]))).astype(int),
        "flipped": lambda: ((x[:, 0] * x[:, 1] > 0) ^ (draws < 0.2)).astype(int),
        "three": lambda: np.where(draws < 0.2, rng.integers(0, 3, ROWS), (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)),
    }[kind]()


def calibration_error(p, y):
    """The mean over rows of |confidence - accuracy| within ten bins of confidence."""
    sure, right = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.minimum((10 * sure).astype(int), 9)
    return sum(abs(sure[bins == b].sum() - right[bins == b].sum()) for b in range(10)) / len(y)


def progressive(model, x, y):
    """Probabilities of each block before it was learned."""
    model.partial_fit(x[:500], y[:500], classes=np.unique(y))
    parts = []
    for i in range(500, ROWS, 100):
        parts.append(model.predict_proba(x[i : i + 100]))
        model.partial_fit(x[i : i + 100], y[i : i + 100])
    return np.concatenate(parts)


@pytest.mark.parametrize("kind", ["noisy", "rare", "flipped", "three"])
@pytest.mark.parametrize("name", ["nolana", "sgd", "NOGD", "BSGD", "RBP"])
def test_probabilities_are_calibrated(name, kind):
    """5 % over two streams, as 2,500 rows leave 2 % to chance; the softmax of the scores is off by 4 to 25 %."""
    errors = []
    for seed in range(2):
        x, y = stream(kind, seed)
        errors.append(calibration_error(progressive(CLASSIFIERS[name](), x, y), y[500:]))
    assert np.mean(errors) < 0.05


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_unit_of_the_scores_does_not_matter(factor):
    from nolana.backend import backend

    rng = np.random.default_rng(0)
    f = rng.normal(size=(3000, 1))
    y = np.where(rng.random((3000, 1)) < 1 / (1 + np.exp(-3 * f)), 1.0, -1.0)
    plain, scaled = backend().Calibration(), backend().Calibration()
    plain.observe(f, y)
    scaled.observe(factor * f, y)
    p = 1 / (1 + np.exp(-scaled.logits(factor * f)))
    assert np.abs(p - 1 / (1 + np.exp(-3 * f))).mean() < 0.03
    assert np.allclose(plain.logits(f), scaled.logits(factor * f), atol=0.2)


@every_classifier
@pytest.mark.parametrize("kind", ["flipped", "three"])
def test_the_most_probable_class_is_the_predicted_one(name, kind):
    x, y = stream(kind)
    model = CLASSIFIERS[name]().fit(x[:400], y[:400])
    p = model.predict_proba(x)
    assert p.shape == (ROWS, len(model.classes_))
    assert np.allclose(p.sum(axis=1), 1)
    assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(x))
    with np.errstate(divide="ignore"):
        assert np.array_equal(model.predict_log_proba(x), np.log(p))


def test_split_anywhere_weights_copies_and_files(tmp_path):
    x, y = stream("three")
    x, y = x[:300], np.where(np.arange(300) < 50, 1, y[:300])
    weight = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    whole, parts, taught = (NolanaClassifier(n_landmarks=15) for _ in range(3))
    whole.learn(x, y, sample_weight=weight)
    taught.learn(x[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    for i in range(0, 300, 7):
        parts.learn(x[i : i + 7], y[i : i + 7], sample_weight=weight[i : i + 7])
        parts.save(tmp_path / "m")
        parts = [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), lambda _: nolana.load(tmp_path / "m")][i % 3](
            parts
        )
    for other in (parts, taught):  # rows of weight 0 teach nothing
        assert same_state(whole._targets.calibration.record(), other._targets.calibration.record())
        assert np.array_equal(whole.predict_proba(x), other.predict_proba(x))
    single, block = NolanaClassifier(n_landmarks=15), NolanaClassifier(n_landmarks=15)
    block.learn(x, y)
    for i in range(300):
        single.learn(x[i : i + 1], y[i : i + 1])
    assert same_state(single._targets.calibration.record(), block._targets.calibration.record())
    assert block._targets.calibration.record()["rows"] == 300


def test_a_file_without_calibration_starts_from_the_prior():
    from modelfile.test_golden import GOLDEN

    model = nolana.load(GOLDEN / "classifier.v1.safetensors")
    x = np.random.default_rng(0).normal(size=(50, 3))
    p = model.predict_proba(x)
    assert np.allclose(p.sum(axis=1), 1)
    assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(x))
    assert model._targets.calibration.record()["rows"] == 0


@pytest.mark.parametrize("name", ["nolana", "stream", "RBP", "PassiveAggressive"])
def test_the_uses_of_scikit_learn(name):
    x, y = stream("noisy")
    x, y = x[:600], y[:600]
    vote = VotingClassifier([("a", CLASSIFIERS[name]()), ("b", GaussianNB())], voting="soft").fit(x, y)
    assert vote.score(x, y) > 0.7
    scores = cross_val_score(CLASSIFIERS[name](), x, y, scoring="neg_log_loss", cv=3)
    assert scores.mean() > -0.69
    calibrated = CalibratedClassifierCV(CLASSIFIERS[name](), cv=3).fit(x, y)
    assert log_loss(y, calibrated.predict_proba(x)) < 0.69


def test_one_class_and_none():
    x = np.zeros((3, 2))
    model = rivals.RBPClassifier()
    with pytest.raises(Exception, match="not fitted"):
        model.predict_proba(x)
    assert model.partial_fit(x, ["a"] * 3).predict_proba(x).tolist() == [[1.0]] * 3
    model = NolanaClassifier().partial_fit(x, [3] * 3, classes=[2, 3])
    assert np.allclose(model.predict_proba(x), [[0.5 / 4, 3.5 / 4]] * 3)


def test_a_diverged_model_is_undecided():
    x, y = stream("noisy")
    model = NolanaClassifier(optimizer="sgd", loss="squared", learning_rate=1e8, n_landmarks=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.partial_fit(x[:300] * 1e3, y[:300])
        p = model.predict_proba(x[:20])
    assert np.allclose(p.sum(axis=1), 1)
