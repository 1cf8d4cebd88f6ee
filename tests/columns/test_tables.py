"""Tables of all libraries give the same schema and the same bits; hostile tables."""

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolana.columns import Column, EncodedRows, Schema, encode, infer_schema, key, keys, table_of
from nolana.columns.tokens import words
from nolana.errors import ColumnsError, ColumnsWarning, OptionError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1))
# For each kind its values, and the type in pandas, Polars and Arrow.
KINDS = {
    "float": (st.floats(-1e100, 1e100), "float64", pl.Float64, pa.float64()),
    "integer": (st.integers(-(2**62), 2**62), "Int64", pl.Int64, pa.int64()),
    "boolean": (st.booleans(), "boolean", pl.Boolean, pa.bool_()),
    "string": (TEXT, "string", pl.String, pa.string()),
    "category": (TEXT, "category", pl.Categorical, pa.dictionary(pa.int32(), pa.string())),
    "moment": (MOMENTS, "datetime64[ns]", pl.Datetime("us"), pa.timestamp("us")),
    "zone": (MOMENTS.map(lambda t: t.replace(tzinfo=dt.UTC)), "datetime64[us, UTC]", pl.Datetime("ns", "UTC"),
             pa.timestamp("ns", "UTC")),
}  # fmt: skip


@st.composite
def tables(draw, largest=6):
    """Columns by name, each a kind and its values."""
    rows = draw(st.integers(1, largest))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6))
    lists = [draw(st.lists(KINDS[kind][0] | st.none(), min_size=rows, max_size=rows)) for kind in kinds]
    return {f"c{i}": column for i, column in enumerate(zip(kinds, lists, strict=True))}


def pandas_frame(table):
    return pd.DataFrame({name: pd.Series(values, dtype=KINDS[kind][1]) for name, (kind, values) in table.items()})


def frames(table):
    """The same table in every library, typed ones first."""
    plain = {name: values for name, (_, values) in table.items()}
    typed = [
        pandas_frame(table),
        pl.DataFrame({name: pl.Series(values, dtype=KINDS[kind][2]) for name, (kind, values) in table.items()}),
        pa.table({name: pa.array(values, KINDS[kind][3]) for name, (kind, values) in table.items()}),
    ]
    rows = list(zip(*plain.values(), strict=True))
    records = [dict(zip(plain, row, strict=True)) for row in rows]
    return typed, [records, pd.DataFrame(plain, dtype=object), typed[2].to_batches()[0]]


def same(first, second):
    return np.asarray(first).tobytes() == np.asarray(second).tobytes()


@given(tables())
def test_tables_of_all_libraries_give_the_same_bits(table):
    typed, others = frames(table)
    schemas = [infer_schema(table_of(frame)) for frame in typed]
    assert schemas[0] == schemas[1] == schemas[2]
    expected = encode(schemas[0], typed[0])
    assert expected.shape == (len(typed[0]), schemas[0].width)
    for frame in typed + others:
        assert same(encode(schemas[0], frame), expected)


@given(tables(largest=12), st.data())
def test_rows_are_encoded_alike_wherever_a_table_is_cut(table, data):
    frame = pandas_frame(table)
    schema = infer_schema(table_of(frame))
    cut = data.draw(st.integers(0, len(frame)))
    parts = [encode(schema, frame[:cut]), encode(schema, frame[cut:])]
    assert same(np.concatenate(parts), encode(schema, frame))
    assert same(encode(schema, frame)[cut:], parts[1])


@given(tables(), st.randoms(use_true_random=False))
def test_columns_are_matched_by_name_in_any_order(table, random):
    frame = pandas_frame(table)
    names = list(frame.columns)
    random.shuffle(names)
    schema = infer_schema(table_of(frame))
    assert same(encode(schema, frame[names]), encode(schema, frame))


@given(tables())
def test_schema_is_the_same_after_a_dict(table):
    schema = infer_schema(table_of(pandas_frame(table)))
    assert Schema.from_dict(schema.as_dict()) == schema
    assert len(schema.encoded_names) == schema.width
    assert all(schema.encoded_names[i] in schema.names for i in schema.categories)


def test_object_and_structured_arrays_and_lists_of_lists():
    rows = [[1.5, "a", True, None], [2, "b", None, "z"]]
    schema = infer_schema(table_of(rows))
    assert [column.kind for column in schema.columns] == ["number", "category", "boolean", "category"]
    expected = encode(schema, rows)
    assert same(encode(schema, np.array(rows, dtype=object)), expected)
    assert expected.tolist()[0][:3] == [1.5, key("a"), 1.0]
    fields = np.array([(1.5, "a"), (2.0, "b")], dtype=[("x", "f4"), ("c", "U5")])
    schema = infer_schema(table_of(fields))
    assert schema == Schema((Column("x"), Column("c", "category")))
    assert encode(schema, fields).tolist() == [[1.5, key("a")], [2.0, key("b")]]


def test_strings_of_numbers_in_an_array_of_strings_are_numbers():
    array = np.array([["a", 1.5], ["b", 2]])
    schema = infer_schema(table_of(array))
    assert encode(schema, array).tolist() == [[key("a"), 1.5], [key("b"), 2.0]]


def test_arrays_of_numbers_and_sparse_matrices_are_no_tables():
    assert table_of(np.ones((2, 2))) is None
    assert table_of([[1.0, 2], [3, 4]]) is None
    assert table_of(np.ones(3)) is None
    assert table_of([1, "a"]) is None


def test_absent_keys_are_missing_and_absent_columns_an_error():
    schema = Schema((Column("x"), Column("c", "category")))
    assert np.array_equal(encode(schema, [{"x": 1}, {"c": "a"}]), [[1, np.nan], [np.nan, key("a")]], equal_nan=True)
    with pytest.raises(ColumnsError, match=r"\(missing: 'c'\)"):
        encode(schema, pd.DataFrame({"x": [1.0]}))
    with pytest.raises(ColumnsError, match="missing: 'x', 'c'; unexpected: 'z'"):
        encode(schema, [{"z": 1}])


def test_new_columns_are_left_out_with_a_warning():
    schema = Schema((Column("x"),))
    with pytest.warns(ColumnsWarning, match="left out: 'z'"):
        assert encode(schema, pd.DataFrame({"z": ["a"], "x": [1.0]})).tolist() == [[1.0]]


def test_all_problems_are_in_one_error():
    schema = Schema((Column("x"), Column("c", "category"), Column("d", "date", ("hour",)), Column("b", "boolean")))
    frame = pd.DataFrame({"x": [1, "one"], "c": [{}, "a"], "d": ["2024-01-01", "soon"], "b": [True, "maybe"]})
    with pytest.raises(ColumnsError) as caught:
        encode(schema, frame)
    found = [(problem.column, problem.row, problem.value) for problem in caught.value.problems]
    assert found == [("x", 1, "one"), ("c", 0, {}), ("d", 1, "soon"), ("b", 1, "maybe")]
    with pytest.raises(ColumnsError, match="a finite number"):
        encode(schema, frame.assign(x=[np.inf, 1], c="a", d=None, b=None))


def test_types_that_change():
    schema = Schema((Column("x"), Column("c", "category"), Column("d", "date", ("hour",)), Column("b", "boolean")))
    frame = pd.DataFrame({"x": ["5", None], "c": [5, 6.5], "d": ["1970-01-01T06:00:00", None], "b": [1, 0]})
    rows = encode(schema, frame)
    assert np.array_equal(rows[:, :2], [[5, key("5")], [np.nan, key("6.5")]], equal_nan=True)
    assert np.array_equal(rows[:, 2:].round(12), [[1, 0, 1], [np.nan, np.nan, 0]], equal_nan=True)
    assert same(encode(schema, frame.assign(c=["5", "6.5"])), rows)


def test_mixed_types_in_one_column_are_categories():
    values = ["a", 1, 1.0, True, None, float("nan"), dt.date(1970, 1, 2), b"a", 0.5]
    table = table_of(pd.DataFrame({"c": pd.Series(values, dtype=object)}))
    rows = encode(infer_schema(table), pd.DataFrame({"c": pd.Series(values, dtype=object)}))
    expected = keys(["a", "1", "1", "true", None, None, "86400", "a", "0.5"])
    assert np.array_equal(rows[:, 0], expected, equal_nan=True)


def test_unused_categories_do_no_harm():
    column = pd.Categorical(["1", "2"], categories=["one", "1", "2"])
    rows = encode(Schema((Column("x"),)), pd.DataFrame({"x": column}))
    assert rows.tolist() == [[1.0], [2.0]]


def test_intervals_of_pandas_are_categories_and_periods_dates():
    numbers = pd.Series([0.5, 1.5, np.nan, 0.7])
    cut = pd.cut(numbers, [0.0, 1.0, 2.0])
    days = pd.period_range("2024-01-01", periods=4, freq="D").to_series(index=range(4)).where([True, True, False, True])
    frame = pd.DataFrame({"cut": cut, "interval": cut.astype("interval"), "day": days})
    schema = infer_schema(table_of(frame))
    assert [column.kind for column in schema.columns] == ["category", "category", "date"]
    strings = ["(0.0, 1.0]", "(1.0, 2.0]", None, "(0.0, 1.0]"]
    plain = pd.DataFrame({"cut": strings, "interval": strings, "day": days.dt.to_timestamp()})
    assert infer_schema(table_of(plain)) == schema
    assert same(encode(schema, frame), encode(schema, plain))


@pytest.mark.parametrize("values", [[[1.0, 2.0], [3.0, 4.0]], [[1, 2], [3, 4]], [["a", "b"], ["c", "d"]]])
def test_masked_values_are_missing(values):
    masked = np.ma.masked_array(values, mask=[[False, True], [False, False]])
    table = table_of(masked)
    schema = infer_schema(table)
    plain = np.array(values, dtype=object)
    plain[0, 1] = None
    assert schema == infer_schema(table_of(plain))
    assert same(encode(schema, masked), encode(schema, plain))


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)])
def test_unix_times_are_dates_if_name_and_values_say_so(unit, factor):
    seconds = [1_700_000_000, 1_700_086_400]
    times = [second * factor for second in seconds]
    schema = infer_schema(table_of(pd.DataFrame({"event_time": times})))
    assert schema.columns[0].unit == unit
    rows = encode(schema, pd.DataFrame({"event_time": times}))
    dates = encode(schema, pd.DataFrame({"event_time": pd.to_datetime(seconds, unit="s")}))
    assert same(rows, dates)
    for name, values in (("amount", times), ("event_time", [12, 13]), ("event_time", [1.7e9 + 0.5, 1.7e9])):
        assert infer_schema(table_of(pd.DataFrame({name: values}))).plain


@pytest.mark.parametrize(
    "name", ["timestamp", "ts", "pickup_datetime", "createdTime", "date", "Timestamp", "unix time"]
)
def test_names_of_unix_times(name):
    assert infer_schema(table_of(pd.DataFrame({name: [1_700_000_000]}))).columns[0].kind == "date"


@pytest.mark.parametrize("name", ["sometimes", "update", "candidate", "facts", "posts", "grid", "paid"])
def test_names_of_other_numbers(name):
    assert infer_schema(table_of(pd.DataFrame({name: [1_700_000_000]}))).plain


@pytest.mark.parametrize("name", ["id", "ID", "user_id", "itemId", "customerID", "item id", "id_of_store"])
def test_integers_named_as_ids_are_categories_unless_declared_otherwise(name):
    frame = pd.DataFrame({name: [12, 7, 12]})
    assert infer_schema(table_of(frame)).columns == (Column(name, "category"),)
    assert infer_schema(table_of(frame.astype(float).replace(7.0, np.nan))).columns == (Column(name, "category"),)
    assert infer_schema(table_of(frame), None).plain
    assert infer_schema(table_of(frame), []).plain
    assert infer_schema(table_of(frame + 0.5)).plain


def test_last_hour_is_next_to_the_first():
    schema = Schema((Column("t", "date", ("hour", "weekday")),))
    night = pd.DataFrame({"t": pd.to_datetime(["2024-01-07T23:59:59", "2024-01-08T00:00:00"])})
    rows = encode(schema, night)
    assert np.abs(rows[0, :2] - rows[1, :2]).max() < 1e-4
    assert np.allclose(np.hypot(rows[:, ::2], rows[:, 1::2]), 1)


def test_declared_categories_by_name_index_and_mask():
    frame = pd.DataFrame({"k": [1, 2], "x": [0.5, 1.5]})
    expected = Schema((Column("k", "category"), Column("x")))
    for declared in (["k"], [0], [True, False], np.array([True, False]), np.array([0])):
        assert infer_schema(table_of(frame), declared) == expected
    assert infer_schema(table_of(frame), None).plain
    for declared in (["z"], [2], [-1], [True], "k", 3):
        with pytest.raises(OptionError, match="categorical_features"):
            infer_schema(table_of(frame), declared)
    with pytest.raises(OptionError, match="leave one"):
        infer_schema(table_of(frame), ["k"], ["k"])


def test_strings_that_are_not_declared_are_refused_if_categories_are():
    frame = pd.DataFrame({"k": ["a", "b"], "c": ["a", "b"], "n": ["1", "2"]})
    with pytest.raises(ColumnsError, match=r"column 'c', row 0.*categorical_features='from_dtype'"):
        infer_schema(table_of(frame), ["k"])
    assert [column.kind for column in infer_schema(table_of(frame[["k", "n"]]), ["k"]).columns] == [
        "category",
        "number",
    ]


def test_prose_is_a_category_and_reported():
    frame = pd.DataFrame({"review": [f"the film number {i} was rather good" for i in range(50)], "short": ["a b"] * 50})
    with pytest.warns(ColumnsWarning, match=r"'review' looks like text.*text_features=\['review'\]"):
        schema = infer_schema(table_of(frame))
    assert [column.kind for column in schema.columns] == ["category", "category"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert infer_schema(table_of(frame), text_features=["review"]).sparse


def test_words_are_hashed_into_sparse_rows():
    schema = Schema((Column("x"), Column("c", "category"), Column("t", "text")))
    frame = pd.DataFrame({"x": [2.0, None], "c": ["a", None], "t": ["Good, good film", None]})
    rows = encode(schema, frame)
    assert rows.shape == (2, 1 << 20)
    assert rows.schema == schema
    assert rows[0, 0] == 2.0
    assert sorted(np.abs(rows[0].data).tolist()) == [1, 1, 2, 2]  # category and film, x and good
    assert rows[1].nnz == 3  # one for each missing value
    assert words("naïve_x 2") == ["naïve_x", "2"]


def test_text_of_numbers_is_their_digits():
    schema = Schema((Column("t", "text"),))
    first, second = encode(schema, pd.DataFrame({"t": [5, 7]})), encode(schema, pd.DataFrame({"t": ["5", "7"]}))
    assert (first != second).nnz == 0


def test_many_long_distinct_strings():
    strings = [f"{i:06d}" + "x" * 10_000 for i in range(3000)]
    frame = pd.DataFrame({"c": strings})
    rows = encode(infer_schema(table_of(frame)), frame)
    assert len(np.unique(rows)) == len(strings)


def test_five_thousand_columns():
    values = np.random.default_rng(0).normal(size=(3, 5000))
    frame = pd.DataFrame(values, columns=[f"c{i}" for i in range(5000)])
    assert same(encode(infer_schema(table_of(frame)), frame), values)
    mixed = frame.assign(c0=["a", "b", None])
    rows = encode(infer_schema(table_of(mixed)), mixed)
    assert same(rows[:, 1:], values[:, 1:])
    assert np.array_equal(rows[:, 0], keys(["a", "b", None]), equal_nan=True)


def test_hostile_columns_are_refused():
    nested = {"list": [[1], [2]], "dict": [{}, {}], "complex": [1j, 2j], "object": [object(), object()]}
    with pytest.raises(ColumnsError) as caught:
        infer_schema(table_of(pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in nested.items()})))
    assert [problem.column for problem in caught.value.problems] == list(nested)
    with pytest.raises(ColumnsError):
        infer_schema(table_of(pl.DataFrame({"l": [[1], [2]]})))
    with pytest.raises(ColumnsError):
        infer_schema(table_of(pd.DataFrame({"c": np.array([1j])})))
    with pytest.raises(ColumnsError, match="beyond"):
        infer_schema(table_of([{"x": 10**400}]))
    with pytest.raises(ColumnsError, match="make strings or numbers of such values"):
        infer_schema(table_of([{"x": object()}]))
    with pytest.raises(TypeError, match=r"pass X\.collect\(\)"):
        table_of(pl.LazyFrame({"x": [1]}))
    with pytest.raises(ValueError, match="twice"):
        table_of(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(TypeError, match="string names"):
        table_of(pd.DataFrame([[1, 2]], columns=["a", 1]))


def test_names_that_are_no_strings_are_places():
    assert infer_schema(table_of(pd.DataFrame([[1, "a"]]))) == Schema((Column(0), Column(1, "category")))


def test_rows_stay_marked_when_they_are_cut():
    schema = Schema((Column("x"),))
    rows = EncodedRows.of(np.arange(6.0)[:, None], schema)
    for part in (rows[1:3], rows[np.array([2, 0])], rows[rows[:, 0] > 2]):
        assert isinstance(part, EncodedRows)
        assert part.schema is schema
    assert type(rows + 1) is np.ndarray
    import copy
    import pickle

    assert pickle.loads(pickle.dumps(rows)).schema == schema == copy.deepcopy(rows).schema


BAD = {
    "version": {"version": 2, "columns": []},
    "nothing": {},
    "no columns": {"version": 1, "columns": []},
    "kind": {"version": 1, "columns": [{"name": "a", "kind": "picture"}]},
    "parts": {"version": 1, "columns": [{"name": "a", "kind": "date", "parts": ["century"]}]},
    "parts of a number": {"version": 1, "columns": [{"name": "a", "kind": "number", "parts": ["hour"]}]},
    "unit": {"version": 1, "columns": [{"name": "a", "kind": "number", "unit": "s"}]},
    "twice": {"version": 1, "columns": [{"name": "a", "kind": "number"}] * 2},
    "names": {"version": 1, "columns": [{"name": "a", "kind": "number"}, {"name": 1, "kind": "number"}]},
    "unknown": {"version": 1, "columns": [{"name": "a", "kind": "number", "colour": 1}]},
    "name": {"version": 1, "columns": [{"name": None, "kind": "number"}]},
    "list": {"version": 1, "columns": 5},
}


@pytest.mark.parametrize("tree", BAD.values(), ids=BAD)
def test_invalid_schemas_are_refused(tree):
    with pytest.raises(ValueError, match=r"."):
        Schema.from_dict(tree)


@pytest.mark.parametrize(
    "make",
    [
        lambda values: pd.DataFrame({"a": values}),
        lambda values: pd.DataFrame({"a": pd.Categorical(values)}),
        lambda values: pl.DataFrame({"a": values}),
        lambda values: pa.table({"a": values}),
        lambda values: [{"a": value} for value in values],
    ],
)
def test_strings_that_say_true_or_false_fit_a_column_of_booleans(make):
    schema = infer_schema(table_of(pd.DataFrame({"a": [True, False]})))
    encoded = np.asarray(encode(schema, make(["True", "FALSE", "false", None])))
    assert np.array_equal(encoded, [[1.0], [0.0], [0.0], [np.nan]], equal_nan=True)
    with pytest.raises(
        ColumnsError, match=r"column 'a', row 1: 'maybe' \(str\), but the argument must be true or false"
    ):
        encode(schema, make(["True", "maybe"]))
