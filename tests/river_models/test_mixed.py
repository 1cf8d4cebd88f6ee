"""Dicts with strings, booleans, dates and None, by the schema of nolana.columns."""

from datetime import datetime, timedelta

import numpy as np
import pytest

pytest.importorskip("river", reason="River is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st

import nolana
import nolana.river as nr
from conftest import same_state
from nolana.columns import Column, EncodedRows, Schema, key
from nolana.columns.times import PARTS, circles
from nolana.errors import ColumnsError
from nolana.river.slots import HashedFeatures
from rows_one_by_one import accuracy

START = datetime(2024, 1, 1)
SMALL = {"memory": "64KB", "seed": 0}


def visits(rng, rows):
    """A city decides with a number, an hour with a flag; a tenth of the values is None or absent."""
    for i in range(rows):
        city, member = str(rng.choice(["Oslo", "Rome", "Lima"])), bool(rng.random() < 0.5)
        pages, time = float(rng.normal()), START + timedelta(minutes=37 * i)
        x = {"city": city, "member": member, "pages": pages, "time": time}
        for name in ("city", "member", "pages"):
            if rng.random() < 0.03:
                x[name] = None
            elif rng.random() < 0.03:
                del x[name]
        yield x, (pages > 0) == (city == "Rome") if time.hour < 12 else member


def test_strings_booleans_dates_and_none_are_learned(rng):
    assert accuracy(nr.StreamClassifier(seed=0), visits(rng, 6000), 2000) > 0.85


def test_complete_rows_are_learned_as_by_the_estimator(rng):
    """Bit for bit, with the spare slots and the keys where the adapter has them."""
    cities, sizes = rng.choice(["Oslo", "Rome"], 300).tolist(), rng.normal(size=300).tolist()
    rows = [
        {"city": cities[i], "day": START + timedelta(hours=i), "size": sizes[i], "vip": bool(i % 2)} for i in range(300)
    ]
    y = [x["size"] + (x["city"] == "Rome") for x in rows]
    river, estimator = nr.StreamRegressor(**SMALL), nolana.StreamRegressor(memory="64KB", random_state=0)
    for x, target in zip(rows, y, strict=True):
        river.learn_one(x, target)
    day = circles(np.array([(x["day"] - datetime(1970, 1, 1)).total_seconds() for x in rows]), PARTS)
    names = [*Column("day", "date", PARTS).encoded_names, "size", "vip"]
    numbers = dict(zip(names, [*day.T, [x["size"] for x in rows], [x["vip"] for x in rows]], strict=True))
    slots = [numbers[name] for name in sorted(names, key=repr)] + [np.zeros(300)] * 4
    schema = Schema((*map(Column, range(12)), Column(12, "category")))
    keys = [key(x["city"]) for x in rows]
    estimator.learn(EncodedRows.of(np.column_stack([*slots, keys]), schema), y)
    assert same_state(river.estimator._learner.state(), estimator._learner.state())


def test_number_that_becomes_a_string_in_the_first_rows_is_a_category_from_the_beginning():
    mixed, strings = nr.StreamClassifier(**SMALL), nr.StreamClassifier(**SMALL)
    for i in range(40):
        value = i % 5 if i < 20 else "other"
        mixed.learn_one({"code": value}, i % 2)
        strings.learn_one({"code": str(value)}, i % 2)
    assert mixed.predict_proba_one({"code": 3}) == strings.predict_proba_one({"code": "3"})


def test_string_feature_that_appears_late_is_learned(rng):
    def stream():
        for t in range(3000):
            a, city = float(rng.normal()), str(rng.choice(["Oslo", "Rome"]))
            yield {"a": a} | ({"city": city} if t >= 500 else {}), (a > 0) != (city == "Rome")

    assert accuracy(nr.StreamClassifier(seed=0), stream(), 500) > 0.9


def test_ids_that_are_named_are_categories(rng):
    effects = rng.normal(size=200)
    errors = {}
    for named in ("from_dtype", ["user"]):
        model, wrong = nr.StreamRegressor(seed=0, categorical_features=named), []
        for user in np.random.default_rng(0).integers(0, 200, 4000).tolist():
            wrong.append((model.predict_one({"user": user}) - effects[user]) ** 2)
            model.learn_one({"user": user}, effects[user])
        errors[str(named)] = np.mean(wrong[-1000:])
    assert errors["['user']"] < 0.3 * errors["from_dtype"]


def test_millions_of_names_and_strings_stay_in_memory(rng):
    model, sizes = nr.StreamClassifier(seed=0), set()
    for i in range(1500):
        x = {"user": f"{rng.random()}", f"late{i}": f"{rng.random()}" if i > 100 else 1.0}
        model.learn_one(x, i % 2)
        if i > 500:
            sizes.add(model.memory_bytes_)
    assert len(sizes) == 1
    assert model.estimator.memory_bytes_ <= 512 * 1024


def test_words_of_text_features_are_learned(rng):
    good, bad = ["fine", "warm", "clean"], ["cold", "late", "dirty"]

    def stream():
        for i in range(400):
            words = [*rng.choice(good if i % 2 else bad, 2), *(f"w{j}" for j in rng.integers(0, 50, 5))]
            yield {"review": " ".join(map(str, words)), "room": str(i % 7), "price": float(i % 3)}, i % 2

    model = nr.StreamClassifier(seed=0, text_features=["review"])
    assert accuracy(model, stream(), 200) > 0.9
    assert isinstance(model._features, HashedFeatures)


@st.composite
def columns(draw, rows):
    """A column of one kind or of several, with missing values."""
    kind = draw(st.sampled_from(["strings", "flags", "dates", "numbers", "any"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    made = {
        "strings": lambda: [None if rng.random() < 0.1 else str(v) for v in rng.integers(0, 9, rows)],
        "flags": lambda: rng.integers(0, 2, rows).astype(bool).tolist(),
        "dates": lambda: [START + timedelta(minutes=int(v)) for v in rng.integers(0, 1e6, rows)],
        "numbers": lambda: rng.normal(size=rows).tolist(),
        "any": lambda: [["a", 3, 2.5, None, True][v] for v in rng.integers(0, 5, rows)],
    }[kind]
    return made()


@settings(max_examples=25, deadline=None)
@given(data=st.data(), library=st.sampled_from(["pandas", "polars"]), cut=st.integers(0, 150))
def test_learn_many_of_mixed_frames_equals_a_loop_of_learn_one(data, library, cut):
    frames = pytest.importorskip(library)
    table = {name: data.draw(columns(150)) for name in "abcd"[: data.draw(st.integers(1, 4))]}
    if library == "polars":
        table = {name: [None if v is None else str(v) for v in c] if len({type(v) for v in c} - {type(None)}) > 1 else c
                 for name, c in table.items()}  # fmt: skip
    frame, y = frames.DataFrame(table), [i % 2 for i in range(150)]
    dicts = frame.to_dict("records") if library == "pandas" else frame.to_dicts()
    one, many = nr.StreamClassifier(**SMALL), nr.StreamClassifier(**SMALL)
    for x, label in zip(dicts, y, strict=True):
        one.learn_one(x, label)
    for part in (slice(0, cut), slice(cut, 150)):
        many.learn_many(frame[part] if library == "polars" else frame.iloc[part], y[part])
    assert same_state(one.estimator._learner.state(), many.estimator._learner.state())
    assert many.predict_many(frame[:5]).to_list() == [one.predict_one(x) for x in dicts[:5]]


@pytest.mark.parametrize("rows", [5, 100])
def test_all_values_that_do_not_fit_are_in_one_error_and_nothing_is_learned(rows):
    model, other = nr.StreamClassifier(**SMALL), nr.StreamClassifier(**SMALL)
    for i in range(rows):
        for each in (model, other):
            each.learn_one({"a": float(i), "b": 1.0 * i, "c": "x"}, i % 2)
    with pytest.raises(ColumnsError) as caught:
        model.learn_one({"a": [1], "b": {}, "c": "y"}, 1)
    assert [(problem.column, problem.row) for problem in caught.value.problems] == [("a", None), ("b", None)]
    with pytest.raises(
        ColumnsError, match="column 'new': "
    ):  # no row: a dict has none, the stored ones are not the user's
        model.learn_one({"new": [1]}, 1)
    x = {"a": 1.0, "b": 2.0, "c": "x"}
    assert model.predict_proba_one(x) == other.predict_proba_one(x)


def test_string_in_a_feature_of_numbers_is_refused_once_kinds_are_decided():
    pandas = pytest.importorskip("pandas")
    model = nr.StreamClassifier(**SMALL)
    for i in range(100):
        model.learn_one({"a": float(i % 7), "c": "x"}, i % 2)
    before = model.predict_proba_one({"a": 1.0, "c": "x"})
    with pytest.raises(ColumnsError, match="column 'a': 'red'"):
        model.predict_one({"a": "red"})
    frame = pandas.DataFrame({"a": pandas.Series([1.0] * 50 + ["red"], dtype=object), "c": ["x"] * 51})
    with pytest.raises(ColumnsError, match="column 'a': 'red'"):
        model.learn_many(frame, [0] * 51)
    assert model.predict_proba_one({"a": 1.0, "c": "x"}) == before
