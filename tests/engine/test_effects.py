"""Effects of categories and missing values: the core against NumPy, the hash table, splitting, saving and merging."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nolana.engine as reference
from conftest import core_builds
from nolana import experts
from nolana.engine.experts.effects.effect_map import NONE, WAYS, EffectMap
from nolana.engine.experts.effects.keys import column_hash
from nolana.engine.experts.trees.tree_map import LARGEST, MISSING
from nolana.estimators.parameters import sets_for
from nolana.experts.effects import Effects
from nolana.learner.driver import Origin
from nolana.learner.memory import learner_spec, sizes_for
from nolana.learner.merge import Alignment, frozen_copy, merged_learner
from nolana.learner.stream import StreamLearner, StreamOptions, stream_learner

BOUND = 1e-7
BUILDS = core_builds()
FEATURES, CATEGORIES = 6, [1, 3, 4]


def gap(a, b) -> float:
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return float(np.abs(a - b).max(initial=0.0) / (1 + np.abs(b).max(initial=0.0)))


def mixed_rows(rng, n: int, missing: float = 0.1) -> np.ndarray:
    """Three numbers and three categories of 3, 20 and 5,000 values, some cells missing."""
    x = rng.normal(size=(n, FEATURES))
    for j, values in zip(CATEGORIES, (3, 20, 5000), strict=True):
        x[:, j] = rng.integers(values, size=n) * 1_234_567
    x[rng.random(size=x.shape) < missing] = np.nan
    return x


def engine_learner(module, task: str, outputs: int):
    sets = list(experts.MIXED)
    spec = learner_spec(sets, sizes_for(sets, 1 << 18, FEATURES, outputs), FEATURES, task, 5, CATEGORIES)
    scaling = module.RobustScaling(FEATURES, fixed=np.array(CATEGORIES, dtype=float))
    learner = replace(spec, arguments={**spec.arguments, "scaling": scaling}).build(module)
    learner.clear(outputs)
    return learner


def stream(task: str = "regression", seed: int = 0, memory: int = 1 << 17, outputs: int = 1) -> StreamLearner:
    sets = sets_for(None, memory, FEATURES, False, mixed=True)
    return stream_learner(StreamOptions(memory, sets, task == "regression", seed, CATEGORIES), FEATURES, outputs)


def targets(rng, x: np.ndarray, task: str) -> np.ndarray:
    y = np.nan_to_num(x[:, 0]) + 2.0 * (np.nan_to_num(x[:, 3]) // 1_234_567 % 2) + 0.3 * rng.normal(size=len(x))
    return y[:, None] if task == "regression" else np.where(y > 1, 1.0, -1.0)[:, None]


@pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
@pytest.mark.parametrize(("task", "outputs"), [("regression", 1), ("classification", 1), ("classification", 3)])
def test_core_equals_reference_on_mixed_rows(build, task, outputs, rng):
    core, mine = engine_learner(build, task, outputs), engine_learner(reference, task, outputs)
    for block in range(8):
        x = mixed_rows(rng, 60)
        kind = (np.nan_to_num(x[:, 1]) // 1_234_567 + (rng.random(60) < 0.2)).astype(int) % 3
        y = np.where(kind == 1, 1.0, -1.0)[:, None] if outputs == 1 else 2 * np.eye(3)[kind] - 1
        weight = rng.choice([0.0, 0.5, 1.0, 3.0], size=60)
        if block == 4:  # pairs are chosen at row 512, a gate is at 2,048
            core.restore(core.state() | {"rows": 500.0})
        if block == 6:
            core.restore(core.state() | {"rows": 2030.0})
        if task == "classification":  # rows with a value that nobody has learned have a calibration of their own
            core.restore(core.state() | {"unknown_share": 0.0})
        mine.restore(core.state())
        assert gap(core.learn(x, y, weight), mine.learn(x, y, weight)) < BOUND
        a, b = core.state(), mine.state()
        assert a.keys() == b.keys()
        for name in a:
            if name.startswith(("map0/", "map5/", "expert0/", "scaling/")) or "cells" in name:
                assert gap(a[name], b[name]) < BOUND, name
        assert gap(core.scores(x), mine.scores(x)) < BOUND
    assert a["map0/pairs"][0] >= 0
    codes = a["map5/codes"]  # of the trees
    split = a["map5/split_features"][a["map5/thresholds"] < LARGEST]
    assert np.isin(split, CATEGORIES).any()
    assert np.array_equal((codes == MISSING).any(axis=0), [j not in CATEGORIES for j in range(FEATURES)])


@given(seed=st.integers(0, 2**32 - 1), slots=st.sampled_from([4, 16, 64]), values=st.integers(1, 400))
def test_table_never_grows_and_frequent_values_stay(seed, slots, values):
    rng = np.random.default_rng(seed)
    table = EffectMap(1, np.zeros(1), slots, WAYS)
    for key in [*rng.integers(values, size=200).tolist(), *[7] * 100]:
        table.see(np.array([float(key)]))
        table.claim()
        for each in table.active:
            if each.slot != NONE:
                table.shares[each.slot] = max(1.0, table.shares[each.slot] * 0.5)  # something is learned about it
    assert table.find(column_hash(0, 7.0), False) != NONE
    assert np.count_nonzero(table.fingerprints) <= slots
    assert not table.fingerprints[slots:].any()


def test_predictions_wear_no_slot(rng):
    learner = stream()
    x = mixed_rows(rng, 2000)
    learner.learn(x, targets(rng, x, "regression"))
    before = learner.state()
    learner.scores(mixed_rows(rng, 5000))
    after = learner.state()
    assert all(np.array_equal(before[name], after[name], equal_nan=True) for name in before)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_split_anywhere_is_bit_identical_on_mixed_rows(task, rng):
    x = mixed_rows(rng, 2200)
    y = targets(rng, x, task)
    whole, parts = stream(task), stream(task)
    scores = whole.learn(x, y)
    cuts = [0, 1, 2, 3, 7, 64, 255, 256, 257, 511, 512, 513, 1030, 2047, 2048, 2049, 2200]
    pieces = np.concatenate([parts.learn(x[i:j], y[i:j]) for i, j in itertools.pairwise(cuts)])
    assert np.array_equal(scores, pieces)
    a, b = whole.state(), parts.state()
    assert all(np.array_equal(a[name], b[name], equal_nan=True) for name in a)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_restored_learner_continues_bit_for_bit(task, rng):
    x = mixed_rows(rng, 1500)
    y = targets(rng, x, task)
    learner = stream(task)
    learner.learn(x[:900], y[:900])
    copied = learner.copy()
    assert np.array_equal(learner.learn(x[900:], y[900:]), copied.learn(x[900:], y[900:]))


def test_memory_bound_holds_with_ids_without_end(rng):
    learner = stream(memory=1 << 16)
    for block in range(20):
        x = mixed_rows(rng, 500)
        x[:, 4] = np.arange(500) + 500 * block
        learner.learn(x, targets(rng, x, "regression"))
        assert learner.memory_bytes <= 1 << 16
    assert learner.state()["map0/evicted"] > 0


def test_effect_of_a_rare_value_is_shrunk_and_an_unseen_one_is_none(rng):
    n = 4000
    x = np.column_stack([rng.integers(50, size=n), rng.normal(size=n)]).astype(float)
    effect = rng.normal(size=51)
    y = effect[x[:, 0].astype(int)] + 0.1 * rng.normal(size=n)
    sets = sets_for([Effects()], 1 << 16, 2, False, mixed=True)
    learner = stream_learner(StreamOptions(1 << 16, sets, True, 0, [0]), 2, 1)
    learner.learn(x, y[:, None])
    known = learner.scores(np.column_stack([np.arange(50.0), np.zeros(50)]))[:, 0]
    unseen = learner.scores(np.array([[1e9, 0.0]]))[0, 0]
    assert np.corrcoef(known, effect[:50])[0, 1] > 0.99
    assert abs(unseen - np.mean(effect[:50])) < 0.5 * np.std(effect)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_merged_parts_know_the_values_of_all(task, rng):
    x = mixed_rows(rng, 9000)
    y = targets(rng, x, task)
    base = stream(task)
    base.learn(x[:2000], y[:2000])
    origin = Origin("base", base.rows)
    parts = [frozen_copy(base, origin) for _ in range(2)]
    for part, rows in zip(parts, (slice(2000, 5000), slice(5000, 8000)), strict=True):
        part.learn(x[rows], y[rows])
    together = merged_learner(base, parts, origin, [Alignment()] * 3)
    for part in parts:
        own, all_ = part.state()["map0/fingerprints"], together.state()["map0/fingerprints"]
        assert np.count_nonzero(all_) >= np.count_nonzero(own)
    alone = stream(task)
    alone.learn(x[:8000], y[:8000])
    error = [np.mean((each.scores(x[8000:]) - y[8000:]) ** 2) for each in (together, alone, base)]
    if task == "regression":
        assert error[0] < 1.1 * error[1] + 0.02
    scores = together.learn(x[8000:], y[8000:])
    assert np.isfinite(scores).all()


def test_third_class_keeps_effects(rng):
    learner = stream("classification")
    x = mixed_rows(rng, 3000)
    kind = (np.nan_to_num(x[:, 3]) // 1_234_567 % 3).astype(int)
    two = kind < 2
    learner.learn(x[two], np.where(kind[two] == 1, 1.0, -1.0)[:, None])
    learner.rearrange_outputs([0, 0, 0], [-1.0, 1.0, 0.0])
    scores = learner.learn(x, 2 * np.eye(3)[kind] - 1)
    right = scores.argmax(axis=1) == kind
    assert right[1000:].mean() > 0.8
    assert learner.memory_bytes <= 1 << 17


@pytest.mark.parametrize("module", [reference, *BUILDS], ids=lambda m: m.__name__.split(".")[-1])
def test_state_with_pairs_of_other_columns_has_no_such_pairs(module, rng):
    learner = engine_learner(module, "regression", 1)
    pairs = np.array([3.0, -1.0, -1.0, 4.0, 0.0, 2.0, 1.0, 0.0, 1.0, 3.0, 4.0, 4.0])
    learner.restore(learner.state() | {"map0/pairs": pairs})
    x = mixed_rows(rng, 50)
    assert np.isfinite(learner.learn(x, rng.normal(size=(50, 1)))).all()
    with pytest.raises(ValueError, match="state"):
        learner.restore(learner.state() | {"map0/pairs": pairs + FEATURES})


@pytest.mark.parametrize("frequent", [False, True])
def test_a_category_that_nobody_has_learned_makes_odds_smaller_while_it_is_rare(frequent, rng):
    """The second column says nothing, but the first time that it has another value might be different in all."""
    n = 6000
    x = np.stack([rng.integers(4, size=n), rng.integers(3, size=n)], axis=1).astype(float)
    if frequent:
        x[:, 1] = np.arange(n)
    y = np.where(x[:, 0] > 1, 1.0, -1.0)[:, None]
    learner = stream_learner(
        StreamOptions(1 << 17, sets_for(None, 1 << 17, 2, False, mixed=True), False, 0, [0, 1]), 2, 1
    )
    learner.learn(x, y)
    assert (learner.state()["unknown_share"] < 0.05) != frequent
    known, new = learner.scores(np.array([[3.0, 1.0], [3.0, 1e6]]))[:, 0]
    assert new > 0
    assert new < 0.7 * known or frequent
    of_new = learner.state()["calibration"][8:]
    assert (of_new == -np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6]) / 2).all() or not frequent
