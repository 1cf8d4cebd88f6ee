"""Labels: sorted classes, whatever order they come in; numbers of any size and form; what is refused."""

import threading
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import nolana
from nolana import NolanaClassifier, StreamClassifier, rivals
from nolana.evaluate import progressive
from nolana.metrics import AUC, Predictions

CLASSIFIERS = {
    "nolana": lambda: NolanaClassifier(n_landmarks=20),
    "stream": lambda: StreamClassifier(memory="64KB", random_state=0),
    **{name: partial(method.classifier, random_state=0) for name, method in rivals.catalogue().items()},
}
every_classifier = pytest.mark.parametrize("make", CLASSIFIERS.values(), ids=CLASSIFIERS)


def two_classes(rows=400):
    """Linear enough for every method; the first label is the larger one."""
    x = np.random.default_rng(0).normal(size=(rows, 3))
    y = (x[:, 0] > 0).astype(int)
    y[0] = 1
    return x, y


@every_classifier
def test_column_1_is_that_of_the_larger_label(make):
    x, y = two_classes()
    model = make()
    model.partial_fit(x[:1], y[:1])
    model.partial_fit(x[1:], y[1:])
    assert model.classes_.tolist() == [0, 1]
    assert roc_auc_score(y, model.decision_function(x)) > 0.8  # the other way round: below 0.2
    assert roc_auc_score(y, model.scores(x)[:, 1]) > 0.8
    assert roc_auc_score(y[50:], make().learn(x, y)[50:, 1]) > 0.7
    assert np.array_equal(model.predict(x), (model.decision_function(x) > 0).astype(int))


@pytest.mark.parametrize("kind", [NolanaClassifier, StreamClassifier])
def test_one_row_at_a_time_is_a_block(kind):
    x, _ = two_classes(120)
    y = np.array(["d", "b", "c", "a"])[np.minimum(np.arange(120) // 20, np.arange(120) % 4)]
    whole, single = kind(random_state=0), kind(random_state=0)
    scores = whole.learn(x, y)
    for i in range(120):
        found = single.learn(x[i : i + 1], y[i : i + 1])[0]
        assert single.classes_.tolist() == sorted(set(y[: i + 1]))
        assert np.array_equal(found, scores[i, np.isin(whole.classes_, single.classes_)], equal_nan=True)


def test_a_new_class_in_another_thread_moves_no_score_of_a_long_read():
    """Reads take the lock block by block; a class that appears between two blocks changes the columns."""
    x, y = two_classes(9000)
    model = NolanaClassifier(n_landmarks=5).partial_fit(x[:300], 5 + 10 * y[:300])
    blocks, learned = [], threading.Event()
    scores = model._learner.scores

    def slow(part):
        blocks.append(len(part))
        if len(blocks) == 2 and not learned.is_set():
            learned.set()
            model._targets.labels.announce(np.array([1, 7]))
        return scores(part)

    model._learner.scores = slow
    found = model.decision_function(x)
    assert learned.is_set()
    assert found.shape == (9000, 4)
    del model._learner.scores
    assert np.array_equal(found, model.decision_function(x))
    assert set(model.predict(x)) == {5, 15}


def test_delayed_labels_are_scored_by_the_classes_of_their_time():
    x, _ = two_classes(300)
    y = np.array(["z", "m", "a"])[np.minimum(np.arange(300) // 60, (x[:, 0] > 0) + (x[:, 1] > 0))]
    results = []
    for size in (300, 7):
        blocks = [(x[i : i + size], y[i : i + size]) for i in range(0, 300, size)]
        results.append(progressive(NolanaClassifier(n_landmarks=20), blocks, delay=30).metrics["accuracy"])
    assert results[0] == results[1] > 0.5


def test_auc_does_not_turn_around_where_the_second_label_is_the_smaller():
    metric, f = AUC(), np.array([1.0, 2.0])
    metric.update(Predictions(np.array(["b", "b"]), np.full((2, 1), -np.inf), np.array(["b"])))
    for truth in ("a", "b"):
        sign = 1 if truth == "a" else -1
        scores = np.stack([sign * f, -sign * f], axis=1)
        metric.update(Predictions(np.array([truth] * 2), scores, np.array(["a", "b"])))
    # Two rows of b before the first known class lose against both rows of a; the others are right.
    assert metric.value() == 0.5
    again = AUC()
    again.restore(metric.state())
    again.update(Predictions(np.array(["a"]), np.array([[9.0, -9.0]]), np.array(["a", "b"])))
    assert again.value() == 0.5


# Labels of every form


def test_equal_numbers_are_one_label():
    x, y = two_classes(40)
    model = NolanaClassifier(n_landmarks=5).partial_fit(x, y)
    for labels in (y.astype(float), y.astype(bool), y.astype(np.uint64), y[:, None].ravel().astype(object)):
        model.partial_fit(x, labels)
        assert model.classes_.tolist() == [0, 1]
        assert model.classes_.dtype == np.int64
    model.partial_fit(x[:1], [2.0])
    assert (model.classes_.dtype, model.classes_.tolist()) == (np.dtype(np.int64), [0, 1, 2])
    assert model.predict(x).dtype == np.int64
    floats = NolanaClassifier(n_landmarks=5).partial_fit(x, y.astype(float)).partial_fit(x[:1], [2])
    assert (floats.classes_.dtype, floats.classes_.tolist()) == (np.dtype(np.float64), [0.0, 1.0, 2.0])
    truths = NolanaClassifier(n_landmarks=5).partial_fit(x, y > 0)
    assert truths.classes_.dtype == np.bool_
    assert truths.partial_fit(x[:1], [2]).classes_.tolist() == [0, 1, 2]


LARGE = {
    "int64 beside uint64": [-1, 2**63],
    "uint64": [2**63 + 1, 2**63],
    "beyond": [2**64, 3, 2**64 + 1],
    "far beyond": [-(10**40), 10**40, 0],
}


@pytest.mark.parametrize("form", [list, lambda y: np.array(y, dtype=object)], ids=["list", "object"])
@pytest.mark.parametrize("labels", LARGE.values(), ids=LARGE)
def test_integers_of_any_size_are_exact(labels, form, tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 2)) + 8 * (np.arange(60) % len(labels))[:, None]
    y = [labels[i % len(labels)] for i in range(60)]
    model = NolanaClassifier(n_landmarks=10).partial_fit(x, form(y))
    assert model.classes_.tolist() == sorted(labels)
    assert model.predict(x).tolist() == y
    assert model.score(x, form(y)) == 1.0
    model.save(tmp_path / "m")
    again = nolana.load(tmp_path / "m")
    assert again.classes_.dtype == model.classes_.dtype
    assert again.partial_fit(x, form(y)).predict(x).tolist() == y


def test_small_integers_then_large_ones():
    x, _ = two_classes(9)
    model = NolanaClassifier(n_landmarks=5).partial_fit(x, [0, 1, 2] * 3)
    assert model.partial_fit(x[:1], [2**63 + 1]).classes_.dtype == np.uint64
    assert model.partial_fit(x[:1], [-5]).classes_.tolist() == [-5, 0, 1, 2, 2**63 + 1]
    assert model.partial_fit(x[:1], np.array([2**53 + 1.0])).classes_.tolist() == [-5, 0, 1, 2, 2**53, 2**63 + 1]


def test_one_column_of_labels_is_flattened_with_a_warning():
    x, y = two_classes(40)
    with pytest.warns(UserWarning, match="column-vector"):
        model = NolanaClassifier(n_landmarks=5).partial_fit(x, y[:, None])
    assert model.predict(x).shape == (40,)
    with pytest.raises(ValueError, match="1d"):
        model.partial_fit(x, np.stack([y, y], axis=1))


REFUSED = {
    "numbers and strings": ([1, "a"], "mixes or holds labels that are neither numbers nor strings: int, str"),
    "strings and bytes": (["a", b"b"], "mixes or holds labels.*bytes, str"),
    "bytes": (np.array([b"a", b"b"]), r"holds bytes; decode them to strings \(y.astype\(str\)\)"),
    "fractions": ([1, 1.5], "holds 1.5 at place 1, which is no integer"),
    "fractions alone": ([0.5, 1.5], "continuous"),
    "NaN": ([1, np.nan], "holds nan at place 1"),
    "None": ([1, None], "NoneType"),
}


@pytest.mark.parametrize(("labels", "said"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("before", [False, True])
def test_other_labels_are_refused_and_nothing_is_learned(labels, said, before):
    x = np.random.default_rng(0).normal(size=(2, 2))
    model = NolanaClassifier(n_landmarks=5)
    if before:
        model.partial_fit(x, [1, 2])
    with pytest.raises(ValueError, match=said):
        model.partial_fit(x, labels)
    assert getattr(model, "classes_", np.array([1, 2])).tolist() == [1, 2]


def test_the_kind_of_the_labels_does_not_change():
    x, y = two_classes(40)
    model = NolanaClassifier(n_landmarks=5).partial_fit(x, y)
    with pytest.raises(
        ValueError, match=r"y holds strings, but the classes so far are numbers: \[0, 1\]; .* convert y"
    ):
        model.partial_fit(x, np.where(y, "yes", "no"))
    with pytest.raises(ValueError, match="y holds strings, but the classes so far are numbers"):
        NolanaClassifier().partial_fit(x, np.where(y, "yes", "no"), classes=[0, 1])
    with pytest.raises(ValueError, match="classes mixes or holds labels"):
        NolanaClassifier().partial_fit(x, y, classes=[0, 1, "other"])
