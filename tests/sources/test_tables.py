"""Parquet and Arrow tables: there and back, their types, those that cannot be read; extras that are missing."""

import io
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolana import streams
from nolana.errors import MissingExtraError, StreamError
from tables import check, read, refusal, tables


def as_table(names, X, labels):
    columns = {name: X[:, j] for j, name in enumerate(names[:-1])}
    return pa.table({**columns, names[-1]: pa.array(labels)})


def packed(table, kind, rows):
    sink = io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, sink, row_group_size=rows)
    else:
        with (pa.ipc.new_file if kind == "file" else pa.ipc.new_stream)(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    return sink.getvalue()


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
@given(table=tables(), rows=st.integers(1, 5), size=st.integers(1, 13))
def test_tables_round_trip(kind, table, rows, size):
    check(*table[1:], read(packed(as_table(*table), kind, rows), block_rows=size))


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
def test_large_batches_come_in_pieces(kind, tmp_path):
    """A batch is converted a piece at a time; blocks go over pieces and batches, and rows keep their numbers."""
    rng = np.random.default_rng(0)
    n, gone = 25_000, 17_003
    x, colour = rng.normal(size=n), rng.choice(["red", "green"], n)
    table = pa.table({"x": pa.array(x, mask=np.arange(n) == gone), "colour": colour, "y": np.arange(n)})
    path = tmp_path / "rows"
    path.write_bytes(packed(table, kind, 12_000))
    right = np.arange(n) != gone
    for size in (700, 12_345, n):
        encoding = {"categories": "onehot", "max_categories": 2, "missing": "error"}
        with streams.open(path, on_bad_row="skip", block_rows=size, **encoding) as stream:
            blocks = list(stream)
        assert {len(block.X) for block in blocks[:-1]} <= {size}
        X, y, lines = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("X", "y", "lines"))
        assert X[:, 0].tolist() == x[right].tolist()
        assert (X[:, 1] == 1).tolist() == (colour[right] == colour[0]).tolist()
        assert y.tolist() == np.arange(n)[right].tolist()
        assert (lines == y + 1).all()
        assert stream.bad_rows_by_reason == {"missing": 1}


def test_types_of_tables(tmp_path):
    moments = [1_700_000_000_123_456, None, 0]
    table = pa.table(
        {
            "i": pa.array([1, None, 3], pa.int8()),
            "f": pa.array([1.5, float("nan"), None], pa.float32()),
            "dec": pa.array([1, 2, 3], pa.decimal128(5, 2)),
            "ok": pa.array([True, None, False]),
            "t": pa.array(moments, pa.timestamp("us", tz="Europe/Berlin")),
            "day": pa.array([19000, 0, None], pa.date32()),
            "colour": pa.array(["red", None, "blue"]).dictionary_encode(),
            "y": pa.array([1, 2, 3], pa.uint16()),
        }
    )
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    X, y = streams.read(path, categories="onehot", max_categories=2, missing="indicator")
    colour = [[1, 0, 0], [0, 0, 0], [0, 1, 0]]
    numbers = [[1, 1.5, 1, 1, 1_700_000_000.123456, 19000 * 86400.0], [1, 1.5, 2, 1, 1_700_000_000.123456, 0]]
    numbers += [[3, 1.5, 3, 0, 0, 19000 * 86400.0 / 2]]
    gone = np.array([[0] * 7, [1, 1, 0, 1, 1, 0, 1], [0, 1, 0, 0, 0, 1, 0]])
    assert X.tolist() == np.hstack([numbers, colour, gone]).tolist()
    assert y.tolist() == [1, 2, 3]
    assert y.dtype == np.int64
    with pytest.raises(StreamError, match=r't\.parquet, row 2, column 1 \("i"\): the value is null; missing='):
        streams.read(path, categories="hash", missing="error")
    with pytest.raises(StreamError, match="'red' is not a number, nor is any value of this column"):
        streams.read(path, missing="mean", categories="error")


def test_tables_that_cannot_be_read():
    whole = packed(pa.table({"a": [1.0, 2.0], "y": [0, 1]}), "parquet", 1)
    for damaged in (whole[:-8], whole[:20] + whole[40:], b"PAR1" + bytes(40) + b"PAR1"):
        with pytest.raises(StreamError, match=r"cannot be read|damaged"):
            read(damaged)
    assert "this is not a Parquet file" in refusal(b"a,b\n1,2\n", format="parquet")
    stream = packed(pa.table({"a": [1.0] * 100, "y": [0] * 100}), "stream", 10)
    with pytest.raises(StreamError, match="damaged or cut off"):
        read(stream[: len(stream) // 2])
    nested = pa.table({"a": [[1], [2]], "b": [1, 2], "y": [0, 1]})
    assert "'[1]' is an array or object" in refusal(packed(nested, "file", 2))
    assert read(packed(nested, "file", 2), ignore=["a"])[0].tolist() == [[1], [2]]
    blob = pa.table({"a": [b"x"], "b": [1], "y": [0]})
    assert "column 'a' has type binary" in refusal(packed(blob, "parquet", 2))
    assert read(packed(blob, "parquet", 2), features=["b"])[0].tolist() == [[1]]


def test_extras_that_are_not_installed_are_named(monkeypatch):
    for module in ("pyarrow", "zstandard"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"nolana\[arrow\]"):
        read(b"PAR1")
    with pytest.raises(MissingExtraError, match=r"nolana\[zstd\]"):
        read(b"\x28\xb5\x2f\xfd    ")
