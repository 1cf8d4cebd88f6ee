"""Trees in the default learner: where they are left out, how they follow every change, and merging."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse

import nolana
from conftest import same_state
from nolana import StreamClassifier, StreamRegressor, experts
from nolana.engine.experts.trees.leaves import ConstantLeaves, DiagonalLeaves
from nolana.engine.experts.trees.tree_map import MISSING, TreeMap
from nolana.engine.learner.learner import Expert as EngineExpert
from nolana.engine.learner.learner import Learner
from nolana.engine.learner.losses import Logistic, Squared
from nolana.engine.learner.mean import Mean
from nolana.experts.base import Outputs, joined_spec, joined_state, split
from nolana.learner import records
from nolana.modelfile.node import Node
from nolana.modelfile.specs import Spec
from stream_cases import KB, same

TREES = experts.Trees()


def boxes(n, seed=0, features=8):
    """Three thresholds, of which all matter together, and features that do not matter."""
    x = np.random.default_rng(seed).uniform(size=(n, features))
    return x, ((x[:, 0] > 0.37) ^ (x[:, 1] > 0.71) ^ (x[:, 2] > 0.5)).astype(int)


def own_state(model):
    """The state of the trees of an estimator."""
    learner = model._learner
    i = next(i for i, each in enumerate(learner.experts) if isinstance(each, experts.Trees))
    return split(learner.spec, learner.state(), learner.axes)[i]


def test_default_learner_has_trees_and_stays_within_its_memory():
    x, y = boxes(5000)
    model = StreamClassifier(random_state=0).partial_fit(x, y)
    assert model.sizes_["trees"] == 64
    assert {"trees", "trees, fast"} < {each["name"] for each in model.experts_}
    assert model.memory_bytes_ <= 512 * KB


def test_trees_lower_the_error_on_boxes():
    x, y = boxes(12000)
    others = [each for each in experts.DEFAULT if not isinstance(each, experts.Trees)]
    errors = []
    for some in (None, others):
        scores = StreamClassifier(random_state=0, experts=some).learn(x, y)
        errors.append((scores.argmax(axis=1) != y)[6000:].mean())
    assert errors[0] < 0.8 * errors[1]


def test_trees_split_by_categories_that_matter_only_together():
    """No category has an effect alone."""
    rng = np.random.default_rng(0)
    colour, shape, size = rng.integers(6, size=(3, 12000))
    y = (colour % 2) ^ (shape % 2) ^ (size > 2)
    values = zip(colour, shape, size, strict=True)
    table = [{"colour": f"c{a}", "shape": f"s{b}", "size": f"z{c}"} for a, b, c in values]
    scores = StreamClassifier(random_state=0, experts=[experts.Effects(), TREES]).learn(table, y)
    assert (scores.argmax(axis=1) == y)[8000:].mean() > 0.9


def test_trees_say_nothing_about_a_row_by_a_category_that_nobody_has_learned():
    rng = np.random.default_rng(0)
    table = [{"colour": colour} for colour in rng.choice(["red", "green", "blue"], 3000)]
    y = np.array([row["colour"] == "red" for row in table])
    alone, beside = (
        StreamClassifier(random_state=0, experts=some).partial_fit(table, y)
        for some in ([experts.Effects()], [experts.Effects(), TREES])
    )
    assert beside.predict_proba([{"colour": "red"}])[0, 1] > 0.99
    new = [{"colour": colour} for colour in ("grey", "pink", "black", "white", None)]
    assert beside.predict_proba(new) == pytest.approx(alone.predict_proba(new), abs=0.05)


def test_stored_codes_of_categories_and_missing_numbers_stay_at_an_anchor():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=600), rng.integers(5, size=600)])
    x[::7, 0] = np.nan
    model = StreamClassifier(random_state=0, categorical_features=[1], memory="512KB")
    model.partial_fit(x[:511], x[:511, 1] > 2)
    before = own_state(model).map_state["codes"]
    model.partial_fit(x[511:512] * [1e3, 1], x[511:512, 1] > 2)
    after = own_state(model).map_state["codes"][: len(before)]
    missing = before[:, 0] == MISSING
    assert 0 < missing.sum() < len(missing)
    assert np.array_equal(missing, after[:, 0] == MISSING)
    assert np.array_equal(before[:, 1], after[:, 1])
    assert len(np.unique(after[:, 1])) == 5
    assert not np.array_equal(before[:, 0], after[:, 0])


@pytest.mark.parametrize(("memory", "features", "depth"), [(512, 8, 6), (512, 60, 5), (512, 150, 4), (128, 8, 5)])
def test_trees_of_wide_rows_and_small_memories_have_fewer_levels(memory, features, depth):
    x, y = boxes(300, features=features)
    model = StreamClassifier(random_state=0, memory=memory * KB).partial_fit(x, y)
    own = own_state(model).map.arguments
    assert own["depth"] == depth
    assert own["rows"] >= 16 << depth
    assert model.memory_bytes_ <= memory * KB


@pytest.mark.parametrize(("memory", "features"), [(32 * KB, 4), (512 * KB, 250), (256 * KB, 54), (64 * KB, 8)])
def test_trees_without_enough_memory_are_left_out(memory, features):
    x, y = boxes(300, features=features)
    model = StreamClassifier(random_state=0, memory=memory).partial_fit(x, y)
    assert "trees" not in model.sizes_


def test_trees_on_sketches_of_sparse_rows_are_left_out():
    x = scipy.sparse.random(200, 500, density=0.02, format="csr", random_state=0)
    model = StreamClassifier(random_state=0).partial_fit(x, np.arange(200) % 2)
    assert "trees" not in model.sizes_


@pytest.mark.parametrize("memory", [256 * KB, 512 * KB, 4096 * KB])
@pytest.mark.parametrize("late", [40, 300, 700, 1500])
def test_third_class_in_mid_stream_is_learned_within_the_memory(memory, late):
    x, y = boxes(3000)
    labels = np.where((np.arange(3000) >= late) & (x[:, 3] > 0.6), 2, y)
    model = StreamClassifier(random_state=0, memory=memory)
    for i in range(0, 3000, 250):
        model.partial_fit(x[i : i + 250], labels[i : i + 250])
        assert model.memory_bytes_ <= memory
        model = pickle.loads(pickle.dumps(model))
    assert (model.predict(x[2500:]) == labels[2500:]).mean() > 0.8
    assert own_state(model).map.arguments["depth"] == 5


def test_trees_of_many_classes_are_given_up():
    """Too few trees would have room: the bins have more use for the memory."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 60, 1200)
    x = rng.normal(size=(60, 5))[y] + 0.1 * rng.normal(size=(1200, 5))
    model = StreamClassifier(random_state=0).partial_fit(x, y)
    assert model.sizes_["trees"] == 0
    assert model.memory_bytes_ <= 512 * KB


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_split_at_every_trigger_of_the_default_learner_changes_no_bit(task):
    x, y = boxes(1200)
    kind = StreamRegressor if task == "numbers" else StreamClassifier
    target = y + 0.1 * x[:, 4] if task == "numbers" else y + (x[:, 5] > 0.7) * (np.arange(1200) > 530)
    whole, parts = kind(random_state=0), kind(random_state=0)
    whole.learn(x, target)
    cuts = [0, *(row + i for row in (129, 257, 513, 640, 1024) for i in (-1, 0, 1)), 1200]
    for i, j in itertools.pairwise(cuts):
        parts.learn(x[i:j], target[i:j])
        parts = pickle.loads(pickle.dumps(parts))
    same(whole, parts)


def test_parts_of_a_merge_keep_their_trees_and_the_merge_grows_them_again():
    x, y = boxes(12000)
    base = StreamClassifier(random_state=0).partial_fit(x[:4000], y[:4000])
    parts = base.split(2)
    parts[0].partial_fit(x[4000:7000], y[4000:7000])
    parts[1].partial_fit(x[7000:10000], y[7000:10000])
    for part in parts:
        for name in ("split_features", "thresholds", "grown"):
            assert np.array_equal(own_state(part).map_state[name], own_state(base).map_state[name])
    merged = nolana.merge(parts)
    state, kept = own_state(merged), [own_state(each).map_state["kept"] for each in (base, *parts)]
    assert state.map_state["kept"] == kept[1] + kept[2] - kept[0]
    assert len(state.map_state["codes"]) == len(state.head_states[0]["fitted"])
    accuracy = [(each.predict(x[10000:]) == y[10000:]).mean() for each in (base, merged)]
    assert accuracy[1] > accuracy[0] - 0.01
    before = state.map_state["thresholds"].copy()
    merged.partial_fit(x[10000:], y[10000:])
    assert not np.array_equal(own_state(merged).map_state["thresholds"], before)
    assert merged.memory_bytes_ <= 512 * KB


def test_parts_with_a_new_class_merge():
    x, y = boxes(6000)
    base = StreamClassifier(random_state=0).partial_fit(x[:2000], y[:2000])
    parts = base.split(2)
    parts[0].partial_fit(x[2000:4000], np.where(x[2000:4000, 3] > 0.7, 2, y[2000:4000]))
    parts[1].partial_fit(x[4000:], y[4000:])
    merged = nolana.merge(parts)
    assert merged.predict_proba(x[:10]).shape == (10, 3)
    assert merged.memory_bytes_ <= 512 * KB
    merged.partial_fit(x, y)


# The methods on a state, against scores of the engine.


def engine_of(spec, state, outputs):
    made = spec.build(nolana.engine)
    made.clear(outputs)
    made.restore(state)
    return made


def learned(loss, outputs, rows=600):
    """Spec and state of trees in a learner of the NumPy engine, and rows."""
    kind = Spec(loss)
    map = Spec(TreeMap, {"features": 5, "trees": 12, "depth": 3, "rows": 300, "seed": 0, "refits": True})
    heads = [
        Spec(DiagonalLeaves, {"loss": kind, "variance": 0.03, "floor": 1e-4}),
        Spec(ConstantLeaves, {"loss": kind, "gain": 0.05}),
    ]
    experts_of = [Spec(EngineExpert, {"map": 0, "head": head}) for head in heads]
    spec = Spec(Learner, {"maps": [map], "experts": experts_of, "combiner": Spec(Mean)})
    made = spec.build(nolana.engine)
    made.clear(outputs)
    x, y = boxes(rows, features=5)
    x = 3 * x - 1.5
    if outputs == 1:
        target = (2.0 * y - 1)[:, None]
    else:
        target = np.where((y + (x[:, 3] > 0))[:, None] == np.arange(outputs), 1.0, -1.0)
    made.learn(x, target)
    return spec, made, x


def test_scores_after_the_targets_were_rescaled_are_rescaled():
    """12 weights are rounded to a step of 1/8192, in both heads."""
    spec, made, x = learned(Squared, 1)
    before, states = made.scores(x), split(spec, made.state(), by_part(made.axes()))
    TREES.rescale_targets(states[0], 0.7, 0.3)
    after = engine_of(spec, made.state() | joined_state(spec, states), 1).scores(x)
    assert np.abs(after - (0.7 * before + 0.3)).max() < 12 / 8192


def test_scores_with_another_metric_stay():
    spec, made, x = learned(Logistic, 1)
    states, metric = split(spec, made.state(), by_part(made.axes())), np.array([2.0, 0.25, 1.0, 0.5, 4.0])
    TREES.multiply_features(states[0], metric)
    after = engine_of(spec, made.state() | joined_state(spec, states), 1)
    assert np.array_equal(after.scores(x * metric), made.scores(x))


def test_scores_with_new_classes_keep_the_odds_of_the_old_ones():
    spec, made, x = learned(Logistic, 1)
    before, states = made.scores(x)[:, 0], split(spec, made.state(), by_part(made.axes()))
    TREES.rearrange_outputs(states[0], Outputs([0, 0, 0], [-1.0, 1.0, 0.0], 1, 600))
    scores = engine_of(spec, made.state() | joined_state(spec, states), 3).scores(x)
    assert np.abs(scores[:, 1] - scores[:, 0] - before).max() < 24 / 8192
    assert np.abs(scores[:, 2] + np.log(601)).max() < 12 / 8192
    assert set(states[0].head_states[0]["targets"]) == {0.0, 1.0}


@pytest.mark.parametrize("sizes", [{"trees": 5, "rows": 300, "depth": 3}, {"trees": 12, "rows": 100, "depth": 2}])
def test_shrunk_trees_are_restored_and_stored_scores_are_theirs(sizes):
    spec, made, x = learned(Logistic, 3)
    states = split(spec, made.state(), by_part(made.axes()))
    TREES.shrink(states[0], sizes)
    smaller = engine_of(joined_spec(spec, states), made.state() | joined_state(spec, states), 3)
    assert np.isfinite(smaller.scores(x)).all()
    state = smaller.state()
    assert len(state["map0/codes"]) == min(sizes["rows"], len(made.state()["map0/codes"]))
    smaller.learn(x, np.where(np.arange(3) == 1, 1.0, -1.0) * np.ones((len(x), 1)))


def by_part(axes):
    parts = {}
    for name, sides in axes.items():
        part, _, own = name.rpartition("/")
        parts.setdefault(part, {})[own] = sides
    return parts


def test_trees_of_a_file_that_compared_codes_of_categories_are_grown_again():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=1500), rng.integers(5, size=1500)])
    y = (x[:, 1] == 2) ^ (x[:, 0] > 0)
    model = StreamClassifier(random_state=0, categorical_features=[1]).partial_fit(x[:1000], y[:1000])
    record = records.record_of(model._learner)
    learned = {name.replace("learned_codes", "known_codes"): value for name, value in record["learned"].items()}
    loaded = records.learner_of(Node(record | {"learned": learned}, "learner"), {})
    before, after = model._learner.state(), loaded.state()
    assert after["map5/grown"] == 0 < before["map5/grown"]
    others = [name for name in before if not name.startswith(("map5/", "expert10/", "expert11/"))]
    assert same_state({name: before[name] for name in others}, {name: after[name] for name in others})
    loaded.learn(x[1000:], np.where(y[1000:], 1.0, -1.0)[:, None])
    assert loaded.state()["map5/grown"] > 0
