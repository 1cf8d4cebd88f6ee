"""Features that appear, vanish, are missing, or never end."""

import numpy as np
import pytest

pytest.importorskip("river", reason="River is not installed")

import nolana.river as nr
from nolana.river.slots import FeatureSlots, HashedFeatures, width_for
from rows_one_by_one import accuracy


def centre_of(values):
    return lambda: np.array(values)


def learn(slots, *dicts):
    for x in dicts:
        slots.learned(slots.read(x, centre_of([50.0] * slots.width))[1])


# The slots


def test_the_order_of_a_dict_has_no_effect():
    dicts = [{"b": 1.0, "a": 2.0}, {3: 1.0, "b": 0.5, ("c", 1): 2.0}]
    forward, backward = FeatureSlots(8), FeatureSlots(8)
    learn(forward, *dicts)
    learn(backward, *(dict(reversed(x.items())) for x in dicts))
    assert forward.names == backward.names == ["a", "b", 3, ("c", 1)]


def test_an_absent_feature_is_missing_or_zero():
    slots = FeatureSlots(8)
    for i in range(100):
        x = {"always": float(i), "rare": 1.0 + i} if i % 3 == 0 else {"always": float(i)}
        learn(slots, x | ({"flag": 5.0} if i % 4 else {}))
    row = slots.read({}, centre_of([50.0] * 8))[0][0]
    row = row + slots._first * (slots._born > 0)
    values = dict(zip(slots.names, row.tolist(), strict=False))
    assert values["always"] == 50.0  # missing: the centre of the scaling
    assert values["rare"] == 0.0  # absent in most rows: 0
    assert values["flag"] == pytest.approx(0.0)  # always the same value when present: 0


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan])
def test_none_and_nan_are_missing_values(missing):
    slots = FeatureSlots(4)
    learn(slots, *({"a": float(i), "b": float(i)} for i in range(80)))
    absent, _ = slots.read({"a": 1.0}, centre_of([7.0] * 4))
    given, _ = slots.read({"a": 1.0, "b": missing, "c": missing}, centre_of([7.0] * 4))
    np.testing.assert_array_equal(absent, given)
    assert given[0, 1] == 7.0


def test_reading_changes_nothing():
    slots = FeatureSlots(6)
    learn(slots, {"a": 1.0}, {"a": 2.0, "b": 3.0})
    before = {name: np.copy(value) for name, value in vars(slots).items()}
    slots.read({"c": 1.0, "d": 2.0, "e": 3.0, "f": 1.0, "a": 0.0}, centre_of([0.0] * 6))
    assert all(np.array_equal(before[name], value) for name, value in vars(slots).items())


def test_names_beyond_the_slots_share_by_a_hash_that_is_the_same_everywhere():
    slots = FeatureSlots(8)
    learn(slots, dict.fromkeys("abcdefg", 1.0))
    assert slots.free == 0
    learn(slots, {"a": 1.0, "x": 2.0})
    assert slots.names == list("abcdefg")
    plus, _ = slots.read({"x": 3.0}, centre_of([0.0] * 8))
    again, _ = slots.read({"x": 5.0}, centre_of([0.0] * 8))
    assert abs(again[0, 7] - plus[0, 7]) == pytest.approx(2.0)


def test_there_are_spare_slots():
    assert [width_for(n) for n in (1, 8, 20, 100)] == [5, 12, 25, 125]


# The models


@pytest.mark.parametrize("model", [nr.StreamClassifier(seed=0), nr.NolanaClassifier()], ids=repr)
@pytest.mark.parametrize("level", [0.0, 1000.0])
def test_a_feature_that_appears_late_is_learned(model, level, rng):
    def stream():
        for t in range(4000):
            a, b, c = rng.uniform(-1, 1, 3).tolist()
            yield {"a": a, "c": c} | ({"b": level + b} if t >= 1500 else {}), (a > 0) != (b > 0)

    assert accuracy(model.clone(), stream(), 1000) > 0.93


@pytest.mark.parametrize("share", [0.1, 0.7])
@pytest.mark.parametrize("start", [0, 1500])
def test_an_indicator_that_is_only_there_when_true_is_learned(share, start, rng):
    def stream():
        for t in range(4000):
            (a, c), flag = rng.uniform(-1, 1, 2).tolist(), bool(rng.random() < share) and t >= start
            yield {"a": a, "c": c} | ({"flag": 1} if flag else {}), (a > 0) != flag

    assert accuracy(nr.StreamClassifier(seed=0), stream(), 1000) > 0.97


def test_missing_values_cost_only_what_they_hide(rng):
    """A tenth of the values is missing: at best 81 % of the rows are certain, and the others a coin."""

    def stream():
        for _ in range(4000):
            a, b = rng.uniform(-1, 1, 2).tolist()
            x = {"a": 5 + a, "b": 5 + b}
            yield {name: value for name, value in x.items() if rng.random() > 0.1}, (a > 0) != (b > 0)

    assert accuracy(nr.StreamClassifier(seed=0), stream(), 2000) > 0.905 - 0.025


@pytest.mark.parametrize("start", [0, 100])
def test_features_without_end_stay_in_bounds(start, rng):
    """Identifiers as names from the first row on, and after the slots were decided."""
    model, right, sizes = nr.StreamClassifier(seed=0), [], set()
    for i in range(3000):
        a, b = rng.normal(size=2).tolist()
        x = {"a": a, "b": b} | ({f"id{i}": 1.0, ("pair", i): a} if i >= start else {})
        right.append(model.predict_one(x) == (a * b > 0))
        model.learn_one(x, a * b > 0)
        if i >= 500:
            sizes.add(model.memory_bytes_)
    assert len(sizes) == 1
    assert model.estimator.memory_bytes_ <= 512 * 1024
    assert len(model._features.names) <= model._features.width
    assert np.mean(right[-1000:]) > (0.9 if start else 0.8)


def words(rng, topic):
    """A short text: words by rank, a third of them of its topic."""
    ranks = rng.zipf(1.3, 30) % 5000
    return {f"{'ab'[topic] if i % 3 == 0 else ''}word{rank}": 1 for i, rank in enumerate(ranks.tolist())}


def test_texts_are_learned_as_sparse_rows(rng):
    model = nr.StreamClassifier(seed=0)

    def stream():
        for topic in rng.integers(0, 2, 600).tolist():
            yield words(rng, topic), "xy"[topic]

    assert accuracy(model, stream(), 300) > 0.9
    assert isinstance(model._features, HashedFeatures)
    assert model.memory_bytes_ <= 512 * 1024


def test_learn_many_of_texts_equals_a_loop(rng):
    pandas = pytest.importorskip("pandas")
    rows = [words(rng, i % 2) for i in range(150)]
    frame = pandas.DataFrame(rows)
    one, many = nr.StreamClassifier(seed=0), nr.StreamClassifier(seed=0)
    for i, x in enumerate(frame.to_dict("records")):
        one.learn_one(x, i % 2)
    many.learn_many(frame, pandas.Series([i % 2 for i in range(150)]))
    assert isinstance(many._features, HashedFeatures)
    assert many.predict_many(frame).tolist() == [one.predict_one(x) for x in rows]
    assert many.predict_proba_one(rows[0]) == one.predict_proba_one(rows[0])


# Refused input


@pytest.mark.parametrize("rows", [0, 10, 100])
@pytest.mark.parametrize(
    ("x", "y", "text"),
    [
        ({"a": float("inf"), "b": 1.0}, True, "the feature 'a' is inf"),
        ({"a": 1.0, "b": [1]}, True, r"column 'b'.*\[1\]"),
        ({"a": 1.0, "b": 1.0}, None, "neither numbers nor strings"),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, 0.5, "Unknown label type"),
    ],
)
def test_a_refused_row_changes_nothing(rows, x, y, text, rng):
    model, other = nr.StreamClassifier(seed=0, memory="32KB"), nr.StreamClassifier(seed=0, memory="32KB")
    stream = [dict(zip("ab", row, strict=True)) for row in rng.normal(size=(rows + 5, 2)).tolist()]
    for row in stream[:rows]:
        model.learn_one(row, row["a"] > 0)
        other.learn_one(row, row["a"] > 0)
    with pytest.raises(ValueError, match=text):
        model.learn_one(x, y)
    for row in stream[rows:]:
        model.learn_one(row, row["a"] > 0)
        other.learn_one(row, row["a"] > 0)
    assert model.predict_proba_one(stream[0]) == other.predict_proba_one(stream[0])


def test_a_refused_frame_changes_nothing(rng):
    pandas = pytest.importorskip("pandas")
    model = nr.NolanaRegressor(n_landmarks=5)
    frame = pandas.DataFrame(rng.normal(size=(90, 2)), columns=["a", "b"])
    model.learn_many(frame, frame["a"])
    before = model.predict_many(frame).tolist()
    bad = frame.copy()
    bad.loc[50, "b"] = np.inf
    for X, y, text in (
        (bad, frame["a"], "the feature 'b' is inf"),
        (frame.assign(b="red"), frame["a"], "the feature 'b' is 'red'"),
        (frame, frame["a"].replace(frame["a"][3], np.nan), "y is nan at row 3"),
        (frame, frame["a"][:5], "X has 90 rows, y 5"),
        (frame.to_numpy(), frame["a"], "expected a data frame"),
    ):
        with pytest.raises(ValueError, match=text):
            model.learn_many(X, y)
        assert model.predict_many(frame).tolist() == before
    with pytest.raises(ValueError, match="sample_weight is -1"):
        model.learn_many(frame.drop(columns="b"), frame["a"], [1] * 70 + [-1] * 20)
    assert model.predict_many(frame).tolist() == before


@pytest.mark.parametrize("y", [None, "high", [1.0], float("nan"), float("inf")])
def test_a_target_that_is_no_number_is_refused(y):
    model = nr.NolanaRegressor()
    with pytest.raises(ValueError, match="expected a finite number"):
        model.learn_one({"a": 1.0}, y)
    assert model.estimator is None


def test_n_slots_is_checked():
    for slots in (0, 2.5, 1 << 21):
        with pytest.raises(ValueError, match=r"n_slots=.* is out of range"):
            nr.StreamClassifier(n_slots=slots).learn_one({"a": 1.0}, 1)
