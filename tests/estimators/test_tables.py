"""Tables in every verb of the default estimators: pandas, Polars, Arrow, lists of dicts, arrays of objects."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone

import nolana
from conftest import same_state
from nolana import modelfile
from nolana.columns import Column, EncodedRows, Schema, encode
from nolana.errors import ColumnsError, ColumnsWarning, ModelFileError, OptionError

RNG = np.random.default_rng(0)
N = 700
FRAME = pd.DataFrame(
    {
        "x": RNG.normal(size=N),
        "colour": RNG.choice(["red", "green", "blue"], N),
        "when": pd.date_range("2024-01-01", periods=N, freq="h"),
        "k": RNG.integers(0, 5, N),
        "flag": RNG.random(N) < 0.5,
    }
)
FRAME["size"] = pd.Categorical(RNG.choice(["S", "M"], N))
Y = ((FRAME["x"] + (FRAME["colour"] == "red")) > 0).to_numpy()
T = FRAME["x"].to_numpy() + 2.0 * FRAME["flag"]
LIBRARIES = {
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
    "records": lambda frame: frame.to_dict("records"),
    "structured": lambda frame: frame.astype({"size": object, "colour": object}).to_records(index=False),
}


def classifier(**parameters):
    return nolana.StreamClassifier(random_state=0, **parameters)


def learned(rows=400, **parameters):
    return classifier(**parameters).partial_fit(FRAME[:rows], Y[:rows], classes=[False, True])


@pytest.mark.parametrize("library", LIBRARIES)
def test_tables_of_all_libraries_learn_the_same_bits(library):
    model, expected = classifier(), classifier()
    first, second = (LIBRARIES[library](part) for part in (FRAME[:300], FRAME[300:]))
    scores = [model.learn(first, Y[:300], classes=[False, True]), model.learn(second, Y[300:])]
    assert np.array_equal(np.concatenate(scores), expected.learn(FRAME, Y, classes=[False, True]), equal_nan=True)
    assert same_state(model._learner.state(), expected._learner.state())
    assert model.schema_ == expected.schema_
    assert list(model.feature_names_in_) == list(FRAME.columns)
    assert np.array_equal(model.predict_proba(second), expected.predict_proba(FRAME[300:]))


@pytest.mark.parametrize("make", [nolana.StreamClassifier, nolana.StreamRegressor])
@given(cuts=st.lists(st.integers(0, 300), max_size=3))
def test_learn_gives_the_same_bits_wherever_a_frame_is_cut(make, cuts):
    y = T if make is nolana.StreamRegressor else Y
    whole, parts = make(random_state=0), make(random_state=0)
    whole.learn(FRAME[:300], y[:300])
    edges = [0, *sorted(cuts), 300]
    for start, stop in pairwise(edges):
        parts.partial_fit(FRAME[start:stop], y[start:stop])
    assert same_state(whole._learner.state(), parts._learner.state())


def test_numeric_frames_learn_what_arrays_learn():
    X = RNG.normal(size=(300, 3))
    frame, array = classifier().fit(pd.DataFrame(X, columns=list("abc")), Y[:300]), classifier().fit(X, Y[:300])
    assert same_state(frame._learner.state(), array._learner.state())
    objects = classifier().fit(X.astype(object), Y[:300])
    assert same_state(objects._learner.state(), array._learner.state())
    assert not hasattr(objects, "feature_names_in_")


def test_columns_in_another_order_predict_the_same():
    model = learned()
    assert np.array_equal(model.predict_proba(FRAME[FRAME.columns[::-1]]), model.predict_proba(FRAME))
    with pytest.warns(ColumnsWarning, match="'more'"):
        assert np.array_equal(model.predict_proba(FRAME.assign(more=1)), model.predict_proba(FRAME))


REFUSED = {
    "a missing column": (lambda f: f.drop(columns="k"), "missing: 'k'"),
    "text in a column of numbers": (lambda f: f.assign(x="a", k="b"), r"'x', row 0(.|\n)*'k', row 0"),
    "infinity": (lambda f: f.assign(x=np.inf), "finite"),
    "a nested value": (lambda f: f.assign(colour=[{}] * len(f)), "string"),
    "another width": (lambda f: np.ones((len(f), 2)), "expecting 6 features"),
    "a sparse matrix": (lambda f: csr_matrix(np.ones((len(f), 6))), "sparse"),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", REFUSED)
def test_refused_table_leaves_the_model_unchanged(name):
    spoil, said = REFUSED[name]
    model = learned()
    before = model._learner.state()
    for call in (lambda x: model.learn(x, Y[:10]), lambda x: model.partial_fit(x, Y[:10]), model.predict):
        with pytest.raises(ValueError, match=said):
            call(spoil(FRAME[:10]))
    with pytest.raises(ValueError, match=r"."):
        model.fit(FRAME.assign(colour=[{}] * N), Y)
    assert same_state(model._learner.state(), before)
    assert model.schema_.columns[1] == Column("colour", "category")


def test_refused_first_table_leaves_nothing():
    model = classifier()
    with pytest.raises(ValueError, match="labels"):
        model.learn(FRAME[:10], Y[:9])
    assert not [name for name in vars(model) if name.startswith("_") or name.endswith("_")]


def test_saved_model_continues_with_its_schema(tmp_path):
    model = learned(categorical_features=["colour", "size", "k"])
    model.save(tmp_path / "m")
    loaded = nolana.load(tmp_path / "m")
    assert loaded.schema_ == model.schema_
    assert loaded.categorical_features == ["colour", "size", "k"]
    for each in (loaded, copy.copy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(each.learn(FRAME[400:], Y[400:]), copy.copy(model).learn(FRAME[400:], Y[400:]))
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() != b""


@pytest.mark.parametrize("declared", [[True, False], np.array([True, False]), [0], np.array([0]), None, "from_dtype"])
def test_parameters_of_columns_are_saved(tmp_path, declared):
    X = np.column_stack([RNG.integers(0, 9, 100), RNG.normal(size=100)]).astype(float)
    model = classifier(categorical_features=declared).fit(X, Y[:100])
    model.save(tmp_path / "m")
    loaded = nolana.load(tmp_path / "m")
    assert np.array_equal(loaded.categorical_features, declared)
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert clone(loaded).fit(X, Y[:100]).schema_ == model.schema_
    kind = "number" if declared is None or isinstance(declared, str) else "category"
    assert model.schema_.columns[0].kind == kind
    assert model._learner.options.categories == ([] if kind == "number" else [0])


def test_files_with_an_invalid_schema_are_refused(tmp_path):
    model = learned()
    model.save(tmp_path / "m")
    sections = modelfile.read(tmp_path / "m")
    fitted = sections["estimator"]["fitted"]
    for schema in ({}, {"version": 9}, Schema((Column("x"),)).as_dict(), [1], None):
        fitted["schema"] = schema
        modelfile.write(tmp_path / "bad", sections)
        with pytest.raises(ModelFileError, match="schema"):
            nolana.load(tmp_path / "bad")


def test_parts_learn_tables_and_merge():
    model = learned()
    parts = model.split(2)
    for part, rows in zip(parts, (slice(400, 550), slice(550, N)), strict=True):
        part.partial_fit(FRAME[rows], Y[rows])
    merged = nolana.merge(parts)
    assert merged.n_rows_ == N
    assert merged.schema_ == model.schema_
    assert merged.predict(FRAME).shape == (N,)


@pytest.mark.parametrize("texts", [None, ["colour"]])
def test_late_labels_of_tables(texts):
    late, by_turns = classifier(text_features=texts), classifier(text_features=texts)
    first = [model.partial_fit(FRAME[:100], Y[:100]) for model in (late, by_turns)]
    assert len(first) == 2
    scores = late.learn_late(FRAME[100:130], FRAME[70:100], Y[70:100])
    for i in range(30):
        assert np.array_equal(scores[i : i + 1], by_turns.scores(FRAME[100 + i : 101 + i]))
        by_turns.partial_fit(FRAME[70 + i : 71 + i], Y[70 + i : 71 + i])
    assert same_state(late._learner.state(), by_turns._learner.state())
    fresh = classifier(text_features=texts)
    assert fresh.learn_late_proba(FRAME[:50], FRAME[50:100], Y[50:100])[0].shape == (50, 2)
    assert fresh.schema_ == late.schema_


def test_encoded_rows_are_learned_as_they_are():
    model = learned()
    rows = encode(model.schema_, FRAME)
    first = classifier()
    first.partial_fit(rows[:400], Y[:400], classes=[False, True])
    assert first.schema_ == model.schema_
    assert same_state(first._learner.state(), model._learner.state())
    assert np.array_equal(first.predict_proba(rows[400:]), model.predict_proba(FRAME[400:]))
    assert np.array_equal(model.predict_proba(rows[5:6]), model.predict_proba(FRAME[5:6]))
    assert np.array_equal(model.predict_proba(rows[::2]), model.predict_proba(FRAME[::2]))
    with pytest.raises(ValueError, match="their schema has"):
        model.predict(rows[:, :3])
    with pytest.raises(ValueError, match="another schema"):
        model.predict(EncodedRows.of(np.ones((1, 2)), Schema((Column("a"), Column("b")))))


def test_words_of_text_are_learned():
    good, bad = ["fine plot", "a fine film", "fine"], ["dull plot", "a dull film", "dull"]
    labels = RNG.random(600) < 0.5
    texts = [str(RNG.choice(good if label else bad)) for label in labels]
    frame = pd.DataFrame({"review": texts, "x": RNG.normal(size=600)})
    model = classifier(text_features=["review"])
    scores = model.learn(frame, labels, classes=[False, True])
    assert ((scores[:, 1] > 0) == labels)[200:].mean() > 0.95
    assert model.schema_.sparse
    assert model.n_features_in_ == 2
    assert model.relevance_.tolist() == [1.0, 1.0]


def test_text_model_is_the_same_after_a_file(tmp_path):
    model = learned(text_features=["colour"])
    model.save(tmp_path / "m")
    assert np.array_equal(nolana.load(tmp_path / "m").predict_proba(FRAME), model.predict_proba(FRAME))


@pytest.mark.parametrize(
    "parameters", [{"categorical_features": "all"}, {"categorical_features": ["z"]}, {"text_features": "colour"}]
)
def test_invalid_parameters_of_columns_are_refused(parameters):
    with pytest.raises(OptionError, match=next(iter(parameters))):
        classifier(**parameters).fit(FRAME, Y)


def test_bytes_of_experts_are_those_that_are_stored():
    model = learned()
    records = {record["name"]: record["bytes"] for record in model.experts_}
    slots = model.sizes_["slots of categories"]
    assert 6 * slots <= records["effects"] < 6 * slots + 2048  # fingerprint, share, weight: 16 bits each
    assert sum(records.values()) <= model.memory_bytes_


def test_relevance_has_a_number_for_each_column():
    model = classifier().fit(FRAME, Y)
    assert model.relevance_.shape == (6,) == (model.n_features_in_,)
    assert dict(zip(model.feature_names_in_, model.relevance_, strict=True))["x"] > 1


def test_numeric_estimators_name_who_takes_tables():
    with pytest.raises(ValueError, match="StreamClassifier and StreamRegressor take tables"):
        nolana.NolanaClassifier().fit(FRAME[["x", "colour"]], Y)


def test_table_without_rows():
    model = learned()
    assert model.predict(FRAME[:0]).shape == (0,)
    assert model.learn(FRAME[:0], Y[:0]).shape == (0, 2)
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(FRAME[:0], Y[:0])


def test_arrays_after_names_and_names_after_arrays_warn():
    X = RNG.normal(size=(100, 2))
    frame = pd.DataFrame(X, columns=["a", "b"])
    named, bare = classifier().fit(frame, Y[:100]), classifier().fit(X, Y[:100])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(named.predict_proba(X), named.predict_proba(frame))
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        assert np.array_equal(bare.predict_proba(frame), bare.predict_proba(X))


def test_problems_of_all_columns_are_in_the_error():
    with pytest.raises(ColumnsError) as caught:
        learned().predict(FRAME[:5].assign(x="a", k="b", when="c"))
    assert [problem.column for problem in caught.value.problems] == ["x", "when", "k"]


MISSING = FRAME.mask(RNG.random(FRAME.shape) < 0.2)


def test_missing_values_are_learned_alike_in_all_libraries_and_wherever_cut():
    whole, parts = classifier(), classifier()
    table = pl.from_pandas(MISSING.astype({"k": "Int64", "flag": "boolean"}))
    scores = whole.learn(MISSING.astype({"k": "Int64", "flag": "boolean"}), Y, classes=[False, True])
    cut = [parts.learn(table[a:b], Y[a:b], classes=[False, True]) for a, b in ((0, 1), (1, 333), (333, N))]
    assert np.array_equal(np.concatenate(cut), scores, equal_nan=True)
    assert same_state(whole._learner.state(), parts._learner.state())
    assert np.isfinite(whole.predict_proba(MISSING)).all()
    assert whole.memory_bytes_ <= 512 * 1024


@pytest.mark.parametrize("make", [nolana.StreamClassifier, nolana.StreamRegressor])
def test_missing_numbers_of_arrays_are_learned_and_infinity_is_refused(make):
    X = RNG.normal(size=(300, 3))
    X[RNG.random(X.shape) < 0.2] = np.nan
    y = T[:300] if make is nolana.StreamRegressor else Y[:300]
    rows, block = make(random_state=0), make(random_state=0).partial_fit(X, y)
    for i in range(300):
        rows.partial_fit(X[i : i + 1], y[i : i + 1])
    assert same_state(rows._learner.state(), block._learner.state())
    assert np.array_equal(rows.predict(X[:1]), block.predict(X)[:1])
    X[5, 1] = -np.inf
    for call in (lambda: rows.learn(X, y), lambda: rows.predict(X), lambda: rows.learn(X[5:6], y[5:6])):
        with pytest.raises(ValueError, match="infinity at row"):
            call()
    assert same_state(rows._learner.state(), block._learner.state())


def test_models_with_missing_values_and_categories_are_saved_and_merged(tmp_path):
    model = classifier().partial_fit(MISSING[:400], Y[:400])
    model.save(tmp_path / "m")
    assert np.array_equal(nolana.load(tmp_path / "m").predict_proba(MISSING), model.predict_proba(MISSING))
    parts = model.split(2)
    for part, rows in zip(parts, (slice(400, 550), slice(550, N)), strict=True):
        part.partial_fit(MISSING[rows], Y[rows])
    assert nolana.merge(parts).n_rows_ == N


def test_keys_of_other_blocks_may_be_of_another_type():
    """Text in one block and numbers in the next."""
    model = classifier().partial_fit(pd.DataFrame({"c": ["1", "a"] * 50, "x": range(100)}), Y[:100])
    first = model.predict_proba(pd.DataFrame({"c": [1, 1.0], "x": [1, 2]}))
    assert np.array_equal(first, model.predict_proba(pd.DataFrame({"c": ["1", "1"], "x": ["1", "2"]})))
