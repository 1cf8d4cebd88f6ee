"""Rows of requests are read as `nolana.sources` reads JSON lines."""

import io
import json
import math
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import nolana
from nolana.errors import StreamError
from nolana.serve.bodies import ARROW, read_body
from nolana.serve.refusal import Refusal
from nolana.serve.rows import RowReader, as_object, with_label
from nolana.sources.plan import Plan
from nolana.sources.rows import encoder_of

FIRST = [
    {"n": 1.5, "flag": True, "word": "red", "when": "2024-01-31T12:30:00", "deep": {"x": 1}, "kind": "a"},
    {"n": "2.5", "flag": False, "word": "blue", "when": "2024-02-01T00:00:00", "deep": {"x": 2}, "kind": "b"},
]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        ["red", "blue", "grün", "", "NA", "nan", "1.5", " 2 ", "1e999", "2024-03-01", "true", "\u0000", "\ud800"]
    ),
    st.text(max_size=4),
    st.lists(st.integers(), max_size=2),
    st.just({"x": 3}),
    st.just({"x": {"y": 3}}),
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("n", "flag", "word", "when", "deep", "kind", "other", "deep.x"), VALUES)
    ),
    min_size=1,
    max_size=4,
)


def lines(rows):
    return "\n".join(map(json.dumps, rows)).encode()


def first_stream(missing):
    categories = "native" if missing == "native" else "onehot"
    options = {"target": "kind", "categories": categories, "missing": missing, "format": "jsonl"}
    with nolana.sources.open(io.BytesIO(lines(FIRST)), **options) as stream:
        list(stream)
        return stream.state()


STATES = {missing: first_stream(missing) for missing in ("error", "mean", "indicator", "native")}


def by_stream(state, text, target):
    arguments = {"format": "jsonl", "new_columns": "ignore", "plan": state["plan"], "encoder": state["encoder"]}
    with nolana.sources.open(io.BytesIO(text), target=target, **arguments) as stream:
        return stream.gather()


def by_service(state, text, labelled):
    reader = RowReader(Plan.from_dict(state["plan"]), "classification", 1e300)
    rows = reader.read(text, labelled=labelled)
    encoder = encoder_of(reader.plan, frozen=True)
    encoder.restore(state["encoder"])
    return encoder.encode(rows.cells), rows.y


def has_column(row):
    deep = row.get("deep")
    nested = isinstance(deep, dict) and "x" in deep
    return nested or not row.keys().isdisjoint(("n", "flag", "word", "when", "deep.x"))


@given(ROWS, st.sampled_from(sorted(STATES)), st.booleans())
@example([{}], "mean", False)
@example([{"n": 1}, {"other": 1, "kind": "a"}], "mean", True)
@example([{"n": None}, {"deep": {"x": None}}, {"deep.x": None}], "indicator", False)
def test_rows_are_those_of_the_stream(rows, missing, labelled):
    state, text = STATES[missing], lines(rows)
    if not all(map(has_column, rows)):
        with pytest.raises(Refusal) as refusal:
            by_service(state, text, labelled)
        assert refusal.value.status == 400
        assert "has none of the columns of the model (n, flag, word, when, deep.x)" in str(refusal.value)
        return
    try:
        X, y = by_stream(state, text, None if labelled else False)
    except StreamError:
        with pytest.raises(Refusal) as refusal:
            by_service(state, text, labelled)
        assert refusal.value.status == 400
        return
    ours, labels = by_service(state, text, labelled)
    assert np.array_equal(ours, X, equal_nan=True)
    assert labels is None if not labelled else labels.tolist() == y.tolist()


@given(st.lists(VALUES, max_size=5), VALUES)
def test_arrays_and_labels_are_objects(values, label):
    names = [f"column {i}" for i in range(len(values))]
    pretty = json.dumps(values, indent=2).encode()
    line = with_label(as_object(pretty, names), "kind", json.dumps(label, indent=1).encode())
    assert b"\n" not in line
    assert json.loads(line) == dict(zip(names, values, strict=True)) | {"kind": label}


@given(st.binary(max_size=200), st.sampled_from(["application/json", "application/x-ndjson", "text/plain", ""]))
def test_any_bytes_are_read_or_refused(content, kind):
    assert status_of(content, kind) in (200, 400, 415)


def status_of(content, kind=ARROW):
    """The status that a body gets; any other exception fails the test."""
    try:
        read_body(content, kind, {})
    except Refusal as refusal:
        return refusal.status
    return 200


def arrow_stream(table, **options):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


SMALL = arrow_stream(pa.table({"a": [1.0, 2.0], "b": ["x", None], "c": pa.array(["u", "u"]).dictionary_encode()}))


@given(st.binary(max_size=300))
def test_any_arrow_stream_is_read_or_refused(content):
    damaged = bytearray(SMALL)
    for i, byte in enumerate(content):
        damaged[(i * 7919) % len(damaged)] ^= byte
    for body in (content, bytes(damaged)):
        assert status_of(body) in (200, 400, 413)


def test_arrow_streams_that_are_larger_than_they_look_are_refused():
    n = 1_000_000
    views = pa.array(["x" * 1000] * 10).cast(pa.string_view())
    shared = pa.DictionaryArray.from_arrays(np.zeros(90_000, dtype=np.int8), ["x" * 1_000_000])
    assert status_of(SMALL) == 200
    assert status_of(arrow_stream(pa.table({"a": np.zeros(n)}), compression="zstd")) == 400
    assert status_of(arrow_stream(pa.table({"a": pa.nulls(n)}))) == 413
    assert status_of(arrow_stream(pa.table({"a": shared}))) == 413
    assert status_of(arrow_stream(pa.table({"a": views}))) == 400
    assert status_of(arrow_stream(pa.table({"a": pa.array([[1, 2]])}))) == 400
    assert status_of(arrow_stream(pa.table({"a": [1.0, math.inf]}))) == 400
    lists = pa.array([None], type=pa.list_(pa.null(), 1 << 30))
    assert status_of(arrow_stream(pa.table({"a": lists}))) == 400


def test_arrow_values_are_those_of_json():
    day = datetime(2024, 1, 31, 12, 30)
    table = pa.table(
        {
            "n": [1.5, math.nan],
            "i": pa.array([2**60, None]),
            "flag": [True, False],
            "when": [day, None],
            "day": pa.array([day.date(), None]),
            "wait": pa.array([timedelta(seconds=90), None]),
            "price": pa.array([Decimal("1.50"), None]),
            "word": pa.array(["x", "grün"]).dictionary_encode(),
            "deep": [{"x": 1}, {"x": None}],
        }
    )
    first, second = map(json.loads, read_body(arrow_stream(table), ARROW, {}).rows)
    assert first == {
        "n": 1.5, "i": 2**60, "flag": True, "when": "2024-01-31T12:30:00", "day": "2024-01-31", "wait": 90.0,
        "price": 1.5, "word": "x", "deep": {"x": 1},
    }  # fmt: skip
    assert second == dict.fromkeys(first) | {"flag": False, "word": "grün", "deep": {"x": None}}


@pytest.mark.parametrize("content", [b'[{"a": 1}]', b'{"a": 1}', b"[1, 2]", b"1", b""])
def test_body_of_another_form_is_told_the_form(content):
    with pytest.raises(Refusal, match=r'send an object such as \{"rows": \[\{"a": 1, "b": 2.5\}\]\}'):
        read_body(content, "application/json", {})
