"""Many classes: outputs get room in advance, so that a new class moves few arrays; what is learned is the same."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse

from conftest import same_state
from nolana import StreamClassifier
from nolana.engine.experts.bins.bin_map import BinMap
from nolana.experts.base import Outputs
from nolana.experts.bins import SLOTS
from nolana.learner.memory import FEW_OUTPUTS, padded_outputs, with_tables
from stream_cases import KB, same

CLASSES = 70


def clusters(rows=900, seed=0):
    """Rows of 70 classes, of which most appear within the first 256 rows and the others late."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, rows)
    y[:500] %= CLASSES - 10
    return rng.normal(size=(CLASSES, 5))[y] + 0.3 * rng.normal(size=(rows, 5)), y


@pytest.mark.parametrize("memory", [128 * KB, 2048 * KB])
def test_learn_of_many_classes_split_and_restored_anywhere_changes_no_bit(memory):
    x, y = clusters()
    whole, parts = (StreamClassifier(memory=memory, random_state=0) for _ in range(2))
    expected = whole.learn(x, y, classes=np.arange(CLASSES))
    found, known = [], []
    for i, j in itertools.pairwise([0, 1, 30, 41, 80, 200, 255, 256, 257, 505, 520, 600, 900]):
        found.append(parts.learn(x[i:j], y[i:j], classes=np.arange(CLASSES)))
        known.append(len(parts._targets.labels.position))
        parts = pickle.loads(pickle.dumps(parts))
    assert any(FEW_OUTPUTS < n < padded_outputs(n) for n in known)
    assert np.array_equal(np.concatenate(found), expected, equal_nan=True)
    same(whole, parts)


@pytest.mark.parametrize(("memory", "seed"), [(48 * KB, 8), (56 * KB, 17), (64 * KB, 20)])
def test_tables_that_classes_have_shrunk_early_grow_again_also_without_a_restore(memory, seed):
    """Whether the tables are fitted at an anchor depends on the state alone."""
    rng = np.random.default_rng(seed)
    y = np.minimum((rng.exponential(size=400) * 50 / 3).astype(int), 49)
    x = rng.normal(size=(400, 1)) + 0.1 * y[:, None]
    whole, parts = (StreamClassifier(memory=memory, random_state=0) for _ in range(2))
    whole.learn(x, y)
    for i in range(0, 400, 50):
        parts = pickle.loads(pickle.dumps(parts.partial_fit(x[i : i + 50], y[i : i + 50])))
    same(whole, parts)


def test_memory_with_each_of_many_new_classes_is_never_exceeded():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 5))
    model = StreamClassifier(memory=512 * KB, random_state=0)
    for i in range(300):
        model.learn(x[i : i + 1], [i])
        assert model.memory_bytes_ <= 512 * KB
    assert model.predict(x[-1:]).shape == (1,)


@pytest.mark.parametrize("classes", [3, 40])
def test_fitted_tables_are_the_largest_that_the_memory_holds(classes):
    """Bytes grow evenly with the slots, so two small tables are measured instead of the large one."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(100, 5)), np.arange(100) % classes
    learner = StreamClassifier(memory=512 * KB, random_state=0).partial_fit(x, y)._learner
    table = max(map.arguments["table"] for map in learner.spec.arguments["maps"] if map.kind is BinMap)
    room = padded_outputs(classes)
    assert learner.bytes_with(with_tables(learner.experts, learner.spec, table), room) <= 512 * KB
    assert learner.bytes_with(with_tables(learner.experts, learner.spec, table + SLOTS), room) > 512 * KB


def test_state_without_padded_outputs_more_classes_loads_and_learns_within_the_memory():
    """Files of version 0.2 have tables that fill the memory exactly."""
    x, y = clusters()
    model = StreamClassifier(memory=512 * KB, random_state=0).partial_fit(x[y < 50], y[y < 50])
    learner = model._learner
    exact = learner.build(learner.spec)
    exact.clear(learner.outputs)
    least = exact.memory_bytes
    assert least < learner.memory_bytes
    object.__setattr__(learner.options, "memory", least)
    again = learner.copy()
    assert again.memory_bytes == least
    assert same_state(again.state(), learner.state())
    again.rearrange_outputs([*range(50), 0], [1.0] * 50 + [0.0])
    assert again.outputs == 51
    assert again.memory_bytes <= least


def test_refusal_of_many_classes_names_a_memory_that_is_enough():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1000, 20)), np.arange(1000)
    model = StreamClassifier(random_state=0)
    with pytest.raises(
        ValueError, match=r"memory=524288 is too small: 1,000 classes of 20 features .*; memory='\w+' is enough"
    ) as caught:
        model.learn(x, y)
    enough = StreamClassifier(memory=caught.value.remedies[0].value, random_state=0)
    enough.learn(x, y)
    assert len(enough.classes_) == 1000
    assert enough.memory_bytes_ <= 2 << 20


def test_appended_output_starts_as_a_rearranged_one():
    x, y = clusters()
    learner = StreamClassifier(memory=512 * KB, random_state=0).partial_fit(x[y < 50], y[y < 50])._learner
    before, copy = learner.state(), learner.copy()
    change = [*range(50), 0], [1.0] * 50 + [0.0]
    assert learner.engine.room > 50
    learner.rearrange_outputs(*change)
    before = copy.rearranged(before, Outputs(*change, 50, learner.rows))
    after = learner.state()
    for name, expected in before.items():  # sums of a row of P in another order
        np.testing.assert_allclose(after[name], expected, rtol=1e-9, atol=1e-9, err_msg=name)


def test_sparse_rows_of_many_classes_split_and_restored_changes_no_bit():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 60, 500)
    counts = rng.poisson(0.02, (500, 400)) + 3.0 * (np.arange(400) % 60 == y[:, None])
    x = scipy.sparse.csr_matrix(counts)
    whole, parts = (StreamClassifier(memory=512 * KB, random_state=0) for _ in range(2))
    expected, found = whole.learn(x, y, classes=np.arange(60)), []
    for i, j in itertools.pairwise([0, 40, 100, 257, 500]):
        found.append(parts.learn(x[i:j], y[i:j], classes=np.arange(60)))
        parts = pickle.loads(pickle.dumps(parts))
    assert np.array_equal(np.concatenate(found), expected, equal_nan=True)
    same(whole, parts)
