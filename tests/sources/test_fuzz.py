"""Whatever the bytes, a reader gives rows or a StreamError: mutated files, hostile ones."""

import io

import numpy as np
import pytest
from scipy.sparse import issparse

from conftest import effort
from nolana import streams
from nolana.errors import StreamError

SEEDS = {
    "csv": [
        b'a,b,c,y\n1,2.5,x,0\n-3e4,,y,1\n"5","6","z ""q""",0\n7,8,"two\nlines",1\n',
        b"1;2024-01-01;true;cat\r\n2;2024-01-02T10:00:00Z;false;dog\r\n\r\nNA;2024-01-03;true;cat\r\n",
    ],
    "jsonl": [
        b'{"a": 1, "b": "x", "y": 0}\n{"a": null, "b": "\\u00e9\\n", "y": 1}\n{"y": 0, "a": -2.5, "c": [{"d": "]"}]}\n',
        b'{"t": "2024-01-01", "ok": true, "y": "cat"}\n{"t": "2024-01-02", "ok": false, "y": "dog"}\n',
    ],
    "libsvm": [
        b"1 1:0.5 3:-2 # note\n-1 qid:3 2:1e-3\n+1\n0 1:7 2:8 3:9\n",
    ],
}
TOKENS = [
    b",",
    b";",
    b"\t",
    b'"',
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"1e999",
    b"-",
    b"nan",
    b"{",
    b"}",
    b"[",
    b":",
]
TOKENS += [
    b"\\",
    b"\\u12",
    b"null",
    b"99999999999999999999",
    b"#",
    b" ",
    b"0:1",
    b"true",
    b"2024-01-01",
    b"'",
    b"\x1f\x8b",
    b"\xc3",
]


def mutate(rng, seed):
    data = bytearray(seed)
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(data) + 1))
        match int(rng.integers(5)):
            case 0:
                data[at : at + int(rng.integers(1, 8))] = b""
            case 1:
                data[at:at] = TOKENS[rng.integers(len(TOKENS))]
            case 2:
                data[at : at + 1] = bytes([int(rng.integers(256))])
            case 3:
                to = min(len(data), at + int(rng.integers(1, 30)))
                data[at:at] = data[at:to]
            case _:
                data[at:] = b""
    return bytes(data)


def options(rng, format):
    chosen = {
        "block_rows": int(rng.integers(1, 6)),
        "chunk_bytes": int(rng.integers(1, 200)),
        "on_bad_row": str(rng.choice(["error", "skip"])),
    }
    if format != "libsvm":
        chosen["categories"] = str(rng.choice(["error", "hash", "onehot"]))
        chosen["missing"] = str(rng.choice(["error", "mean", "indicator"]))
    return chosen


def attempt(data, format, chosen):
    """Rows that make sense, or a StreamError; the error where there is one."""
    try:
        with streams.open(io.BytesIO(data), format=format, **chosen) as stream:
            for block in stream:
                assert block.X.shape == (len(block.lines), stream.n_features)
                assert len(block.y) == block.X.shape[0] > 0
                assert np.isfinite(block.X.data if issparse(block.X) else block.X).all()
                assert (np.diff(block.lines) >= 0).all()
            return None
    except StreamError as error:
        return str(error)


def fuzz(format, count, seed):
    rng = np.random.default_rng(seed)
    refused = 0
    for _ in range(count):
        data = mutate(rng, SEEDS[format][rng.integers(len(SEEDS[format]))])
        chosen = options(rng, format)
        refused += attempt(data, format, chosen) is not None
    assert 0 < refused < count  # both happen, or the mutations are too weak or too wild


@pytest.mark.parametrize("format", SEEDS)
def test_mutations_give_rows_or_a_stream_error(format):
    fuzz(format, effort(fast=300, thorough=1000), 0)


@pytest.mark.soak
@pytest.mark.parametrize("format", SEEDS)
def test_many_mutations(format):
    fuzz(format, effort(thorough=10_000, endurance=100_000), 2)


HOSTILE = {
    "nothing": b"",
    "only line ends": b"\n\r\n\n",
    "NUL": b"a,y\n1\x00,0\n",
    "only NUL": bytes(1000),
    "one byte": b"a",
    "a huge number": b"a,y\n" + b"9" * 100_000 + b",0\n",
    "a tiny number": b"a,y\n0." + b"0" * 100_000 + b"1,0\n",
    "an open quote": b'a,y\n"1,0\n2,1\n',
    "an open quote at first": b'"a,y\n1,0\n',
    "many columns": b",".join([b"1"] * 20_000) + b"\n",
    "deep JSON": b'{"a": ' + b"[" * 100_000 + b"\n",
    "many keys": b"{" + b",".join(b'"%d": 1' % i for i in range(20_000)) + b"}\n",
    "a long key": b'{"' + b"k" * 1_000_000 + b'": 1, "y": 2}\n',
    "half an escape": b'{"a\\u12": 1, "y": 0}\n{"a": 1, "y": "\\ud800"}\n',
    "an index beyond everything": b"1 18446744073709551615:1\n",
    "an index that asks for all memory": b"1 1000000000000:1\n",
    "gzip of nothing": b"\x1f\x8b",
    "zstd of nothing": b"\x28\xb5\x2f\xfd",
    "half a magic": b"\x28\xb5",
    "Parquet of nothing": b"PAR1",
    "Arrow of nothing": b"ARROW1\0\0",
    "Arrow stream of nothing": b"\xff\xff\xff\xff\xff\xff\xff\x7f",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("format", [None, "csv", "jsonl", "libsvm", "parquet", "arrow"])
def test_hostile_files(name, format):
    attempt(HOSTILE[name], format, {"categories": "error"})
    if format in ("csv", "jsonl", None):
        attempt(HOSTILE[name], format, {"categories": "onehot", "missing": "mean", "on_bad_row": "skip"})


def test_odd_files_that_are_right():
    def read(data, **parameters):
        return streams.read(io.BytesIO(data), **parameters)

    assert read(b"\xef\xbb\xbfa,y\r\n1,0\r\n")[0].tolist() == [[1]]
    assert read(b'\xef\xbb\xbf{"a": 1, "y": 0}\r\n')[0].tolist() == [[1]]
    assert read(b"a,a,y\n1,2,0\n")[0].tolist() == [[1, 2]]
    with streams.open(io.BytesIO(b"a,a,y\n1,2,0\n")) as stream:
        assert [c["column"] for c in stream.plan["columns"]] == [0, 1]
        plan = stream.plan
    assert read(b"a,a,y\n3,4,0\n", plan=plan)[0].tolist() == [[3, 4]]
    assert read(b"a,b,y\n")[0].shape == (0, 2)
    assert read(b"a,b,y\n", missing="indicator")[0].shape == (0, 4)
    X, y = read(b'c,y\n"tab\there",0\n\x00,1\n', categories="onehot", max_categories=2)
    assert X.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert y.tolist() == [0, 1]
