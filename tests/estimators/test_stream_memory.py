"""The memory of StreamClassifier and StreamRegressor: never exceeded, used, and refused where it is too little."""

import numpy as np
import pytest

from conftest import same_state
from nolana import StreamClassifier, StreamRegressor
from stream_cases import KB, SETS


def memory_used(memory, features, classes, sets, rows=720, block=60):
    """The most bytes after any block; a class is added every few rows."""
    rng = np.random.default_rng(features)
    x, row = rng.normal(size=(rows, features)), np.arange(rows)
    y = rng.integers(0, 10**6, rows) % np.minimum(classes, 2 + row // 10)
    model, most = StreamClassifier(memory=memory, experts=SETS[sets], random_state=0), 0
    for i in range(0, rows, block):
        model.learn(x[i : i + block], y[i : i + block])
        most = max(most, model.memory_bytes_)
    assert np.isfinite(model.decision_function(x[:20])).all()
    return most


@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize(
    ("memory", "features", "classes"),
    [
        (32 * KB, 1, 2),
        (32 * KB, 5, 10),
        (32 * KB, 20, 3),
        (64 * KB, 5, 60),
        (100 * KB, 54, 7),
        (100 * KB, 50, 60),
        (200 * KB, 300, 2),
        (512 * KB, 1, 60),
        (512 * KB, 60, 20),
        (512 * KB, 300, 60),
        (2048 * KB, 300, 10),
        (8192 * KB, 1, 60),
        (8192 * KB, 300, 3),
    ],
)
def test_memory_is_never_exceeded(sets, memory, features, classes):
    assert memory_used(memory, features, classes, sets) <= memory


@pytest.mark.parametrize(("memory", "grids"), [(100 * KB, 64), (512 * KB, 128), (1024 * KB, 256)])
def test_three_classes_have_fewer_grids_however_the_classes_come(memory, grids):
    """After the last anchor that clears the cells the grids stay."""
    x = np.random.default_rng(0).normal(size=(300, 3))
    y = (x[:, 0] > 0).astype(int)
    for third, expected in ((None, grids), (0, 3 * grids // 4), (100, 3 * grids // 4), (280, grids)):
        labels = y.copy()
        if third is not None:
            labels[third] = 2
        model = StreamClassifier(memory=memory, random_state=0).partial_fit(x, labels)
        assert model.sizes_["grids"] == expected
        assert model.memory_bytes_ <= memory


@pytest.mark.parametrize(("memory", "features"), [(32 * KB, 1), (64 * KB, 50)])
def test_classes_that_the_memory_cannot_hold_are_refused(memory, features):
    """Each class needs its linear weights; the call that brings too many changes nothing."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, features)), np.arange(400) % 4
    model = StreamClassifier(memory=memory, random_state=0)
    model.learn(x, y)
    before = model._learner.state()
    with pytest.raises(ValueError, match=r"classes of .* memory='\w+' is enough") as caught:
        model.learn(x, np.arange(400))
    assert same_state(model._learner.state(), before)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    model.learn(x, y)
    assert model.memory_bytes_ <= memory
    enough = StreamClassifier(memory=caught.value.remedies[0].value, random_state=0)
    enough.learn(x, np.arange(400))
    assert len(enough.classes_) == 400


@pytest.mark.parametrize("features", [1, 54, 300])
@pytest.mark.parametrize("memory", [200 * KB, 512 * KB])
def test_memory_bytes_a_regressor(memory, features):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, features))
    model = StreamRegressor(memory=memory, random_state=0)
    for i in range(0, 600, 50):
        model.learn(x[i : i + 50], x[i : i + 50, 0] ** 2)
        assert model.memory_bytes_ <= memory


def test_memory_is_used():
    """At least 95 % where there are cells: the table takes what is left."""
    for memory in (64 * KB, 512 * KB, 2048 * KB):
        assert memory_used(memory, 8, 2, "default") >= 0.95 * memory


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        ("512 apples", "is not a size; write bytes, or for example 512KB"),
        ("", "is not a size"),
        ("-1KB", "is not a size"),
        ("31KB", "out of range: at least 32KB and at most 1GB"),
        ("2GB", "out of range"),
        (100, "out of range"),
        (1e6, "memory"),
        (None, "memory"),
        (True, "memory"),
    ],
)
def test_memory_that_is_no_size_is_refused(memory, words):
    with pytest.raises((ValueError, TypeError), match=words):
        StreamClassifier(memory=memory).learn(np.ones((2, 2)), [0, 1])


@pytest.mark.parametrize("memory", ["64KB", "64 kb", 65536, "65536", "65536B", "0.0625MB", np.int64(65536)])
def test_ways_to_write_a_size(memory):
    model = StreamClassifier(memory=memory).fit(np.eye(2), [0, 1])
    assert 60_000 < model.memory_bytes_ <= 65536


def test_too_little_memory_says_what_is_needed():
    with pytest.raises(
        ValueError, match=r"300 features need at least [\d,]+ bytes.*; memory='\w+' is enough"
    ) as caught:
        StreamClassifier(memory="32KB").learn(np.ones((2, 300)), [0, 1])
    StreamClassifier(memory=caught.value.remedies[0].value).learn(np.ones((2, 300)), [0, 1])


def test_a_small_memory_has_landmarks_enough_for_slopes_or_few():
    """Below 200 KB: at least 25 and as many as features, otherwise their memory goes to the table."""
    rng = np.random.default_rng(0)
    sizes = {}
    for features in (6, 54):
        x = rng.normal(size=(40, features))
        sizes[features] = StreamClassifier(memory=100 * KB, random_state=0).partial_fit(x, x[:, 0] > 0).sizes_
    assert sizes[6]["landmarks"] >= 25
    assert sizes[54]["landmarks"] < 25
    assert sizes[54]["slots"] > 8000
