"""Going on: after a resume at any block the rest is bit for bit that of a stream that was never disturbed."""

import bz2
import gzip
import io
import json
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from nolana import streams
from nolana.errors import StreamError

PACKERS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}
TEXTS = ("csv", "jsonl", "svm")
KINDS = [(kind, packing) for kind in TEXTS for packing in PACKERS] + [("parquet", ""), ("arrow", ""), ("arrows", ".gz")]


def rows(n, seed):
    """Numbers, some of them missing, colours, moments, labels."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        yield (
            None if rng.random() < 0.2 else round(float(rng.normal()), 6),
            None if rng.random() < 0.2 else float(rng.integers(100)),
            str(rng.choice(["red", "blue", "green", "ochre", "teal"])),
            f"2024-01-{1 + i % 28:02d}T00:00:{i % 60:02d}",
            int(rng.integers(3)),
        )


def contents(kind, n=60, seed=0):
    names = ("a", "b", "colour", "when", "y")
    data = list(rows(n, seed))
    if kind == "csv":
        lines = [",".join("" if v is None else str(v) for v in row) for row in data]
        lines[n // 3] = "broken"
        lines[n // 2] += "\n"
        return ("\n".join([",".join(names), *lines])).encode()
    if kind == "jsonl":
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in data]
        lines[n // 3] = '{"a": '
        return "\n".join(lines).encode()
    if kind == "svm":
        lines = [f"{row[-1]} 1:{row[0] or 0} 3:{row[1] or 0}" for row in data]
        lines[n // 3] = "1 1:x"
        return "\n".join(lines).encode()
    table = pa.table({name: [row[j] for row in data] for j, name in enumerate(names)})
    sink = io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, sink, row_group_size=17)
    else:
        with (pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream)(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=13)
    return sink.getvalue()


def parameters(kind):
    if kind == "svm":
        return {"n_features": 3}
    return {"missing": "indicator", "categories": "onehot", "max_categories": 3}


def tree(value):
    """A state as it comes back from a file: lists for arrays."""
    return json.loads(json.dumps(value, default=lambda array: array.tolist()))


def same(ours, theirs):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.X.tobytes() == b.X.tobytes()
        assert a.X.shape == b.X.shape
        assert a.y.dtype == b.y.dtype
        assert a.y.tolist() == b.y.tolist()
        assert a.lines.tolist() == b.lines.tolist()
        assert a.position == b.position


@pytest.mark.parametrize(("kind", "packing"), KINDS)
@settings(max_examples=12)
@given(size=st.integers(1, 25), chunk=st.integers(1, 3000), through_json=st.booleans(), as_file=st.booleans())
def test_a_resume_at_every_block_is_undisturbed(tmp_path_factory, kind, packing, size, chunk, through_json, as_file):
    path = tmp_path_factory.getbasetemp() / f"rows.{kind}{packing}"
    data = PACKERS[packing](contents(kind))
    path.write_bytes(data)
    how = {"block_rows": size, "chunk_bytes": chunk, "on_bad_row": "skip"}
    if kind == "arrows":
        how["format"] = "arrow"  # the bytes inside a compressed file do not tell

    def source():
        return path if as_file else io.BytesIO(data)

    with streams.open(source(), **how, **parameters(kind)) as stream:
        states, blocks = [stream.state()], []
        for block in stream:
            blocks.append(block)
            states.append(stream.state())
        total = stream.bad_rows_by_reason
    for i in range(0, len(states), max(1, len(states) // 5)):
        state = tree(states[i]) if through_json else states[i]
        with streams.open(source(), resume=state, **how) as stream:
            same(list(stream), blocks[i:])
            assert stream.bad_rows_by_reason == total
            assert stream.plan == states[-1]["plan"]
            assert tree(stream.state()) == tree(states[-1] | {"position": stream.state()["position"]})


@pytest.mark.parametrize("kind", [*TEXTS, "parquet", "arrow"])
@given(
    sizes=st.lists(st.integers(1, 70), min_size=2, max_size=2),
    chunks=st.lists(st.integers(1, 500), min_size=2, max_size=2),
)
@settings(max_examples=15)
def test_blocks_and_chunks_change_no_row(kind, sizes, chunks):
    """The kinds are inferred from the whole, so that only the cuts differ."""
    data = contents(kind)
    plan = streams.open(io.BytesIO(data), **parameters(kind)).plan
    found = []
    for size, chunk in zip(sizes, chunks, strict=True):
        with streams.open(io.BytesIO(data), plan=plan, block_rows=size, chunk_bytes=chunk, on_bad_row="skip") as stream:
            found.append((*stream.gather(), stream.bad_rows_by_reason, stream.position))
    assert found[0][0].tobytes() == found[1][0].tobytes()
    assert found[0][1].tolist() == found[1][1].tolist()
    assert found[0][2:] == found[1][2:]


@pytest.mark.parametrize("packing", PACKERS)
def test_another_file_is_noticed(tmp_path, packing):
    pack, path = PACKERS[packing], tmp_path / "rows.csv"
    text = b"a,b,y\n" + b"".join(b"%d,%d,0\n" % (i, i * i) for i in range(3000))
    path.write_bytes(pack(text))
    with streams.open(path, block_rows=1500) as stream:
        next(stream)
        state = stream.state()
    at = state["position"]["offset"]
    rest = streams.read(path, resume=state)[0]
    assert rest[:, 0].tolist() == list(range(1500, 3000))
    path.write_bytes(pack(text[:at] + b"7,8,1\n9,9,1\n"))  # what comes later may be another
    assert streams.read(path, resume=state)[0].tolist() == [[7, 8], [9, 9]]
    changed = bytearray(text)
    changed[at - 3] ^= 1
    for other, message in (
        (text[: at - 1], "the text ends before it"),
        (text[:10], "the text ends before it"),
        (bytes(changed), "the text before it has changed"),
        (b"a,b,y\n7" + text[7:], "the text before it has changed"),
    ):
        path.write_bytes(pack(other))
        with pytest.raises(StreamError, match=message):
            streams.open(path, resume=state)


def test_another_table_is_noticed(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "y": [0, 1, 0]}), path)
    with streams.open(path, block_rows=2) as stream:
        next(stream)
        state = stream.state()
    pq.write_table(pa.table({"a": [1.0], "y": [0]}), path)
    with pytest.raises(StreamError, match="cannot resume at row 3"):
        streams.open(path, resume=state)


def test_a_file_that_grew_is_read_on(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"a": 1, "y": 0}\n')
    with streams.open(path) as stream:
        assert stream.gather()[0].tolist() == [[1]]
        state = stream.state()
    with path.open("a") as file:
        file.write('{"a": 2, "y": 1}\n')
    with streams.open(path, resume=state) as stream:
        assert stream.gather()[0].tolist() == [[2]]
        assert stream.position.rows == 2


@pytest.mark.parametrize("cut_off", [False, True])
def test_no_row_is_put_aside_twice(tmp_path, cut_off):
    path, bad = tmp_path / "rows.csv", tmp_path / "bad.jsonl"
    path.write_text("a,y\n" + "".join(f"{i},0\nbad {i},0\n" for i in range(10)))
    how = {"block_rows": 2, "on_bad_row": f"quarantine={bad}"}
    with streams.open(path, categories="error", **how) as stream:
        next(stream), next(stream)
        state = stream.state()
        next(stream), next(stream)  # these are lost: the state is older
    if cut_off:
        bad.write_bytes(bad.read_bytes()[:-10])
    with streams.open(path, resume=state, **how) as stream:
        assert stream.gather()[0][:, 0].tolist() == list(range(4, 10))
        assert stream.bad_rows == 10
    lines = []
    for line in bad.read_text().splitlines():
        try:
            lines.append(json.loads(line)["line"])
        except ValueError:
            assert cut_off
    assert lines == list(range(3, 22, 2))


def test_resuming_without_the_target():
    text = b"a,b,y\n1,2,0\n3,4,1\n5,6,1\n"
    plan = streams.open(io.BytesIO(text)).plan
    with streams.open(io.BytesIO(text), plan=plan, target=False, block_rows=1) as stream:
        next(stream)
        state = stream.state()
    X, y = streams.read(io.BytesIO(text), resume=state)
    assert X.tolist() == [[3, 4], [5, 6]]
    assert y is None
