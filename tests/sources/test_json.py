"""JSON lines there and back, messages; rows out of pipes as soon as they are there."""

import json
import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolana import streams
from tables import check, read, refusal, tables

# JSON lines


@given(table=tables(), ascii=st.booleans(), size=st.integers(1, 13), chunk=st.integers(1, 50), data=st.data())
def test_jsonl_round_trip(table, ascii, size, chunk, data):
    names, X, labels = table
    lines = []
    for i, (row, label) in enumerate(zip(X.tolist(), labels, strict=True)):
        items = list(zip(names, [*row, label], strict=True))
        order = data.draw(st.permutations(items)) if i else items
        lines.append(json.dumps(dict(order), ensure_ascii=ascii))
    text = data.draw(st.sampled_from(["\n", "\r\n", "\n\n", " \n \t\n"])).join(lines)
    check(*table[1:], read(text, format="jsonl", block_rows=size, chunk_bytes=chunk))


def test_nested_objects_and_numbers_in_strings():
    X, y = read(
        '{"p": {"a": 1, "q": {"b": "2.5"}}, "c": "3", "y": "no"}\n{"c": 4, "p": {"q": {"b": 5}, "a": 6}, "y": "no"}\n'
    )
    assert X.tolist() == [[1, 2.5, 3], [6, 5, 4]]
    text = '{"p": {"a": 1, "b": 2}, "c": 3, "y": 0}\n'
    assert read(text, ignore=["p"])[0].tolist() == [[3]]
    assert read(text, features=["p", "c"])[0].tolist() == [[1, 2, 3]]
    assert read(text, features=["p.b"])[0].tolist() == [[2]]
    X, y = read('[\n {"a": 1, "y": "1.5"},\n {"a": 2,\n "y": "[,{"}]', labels="text")
    assert (X.tolist(), y.tolist()) == ([[1], [2]], ["1.5", "[,{"])
    assert read('{"a": 1, "y": "1.5"}\n', labels="float")[1].tolist() == [1.5]


@pytest.mark.parametrize("labels", ["text", "int", "float", "bool", None])
def test_labels_that_are_arrays_are_refused(labels):
    rows = '{"a": 1, "y": "no"}\n{"a": 2, "y": [1, 0]}\n'
    if labels not in (None, "text"):
        rows = rows.splitlines()[1]
    assert "label '[1, 0]' is an array or object, not a flat value" in refusal(rows, labels=labels)


STRICT = {"categories": "error", "missing": "error"}


def test_jsonl_errors_name_the_place():
    head = '{"a": 1, "b": 2, "y": 0}\n'
    assert '<stream>, line 3, key "b": \'"oops"\' is not a number' in refusal(
        head + '\n{"a": 1, "b": "oops", "y": 1}', **STRICT
    )
    assert 'line 2, key "b": there is no such key' in refusal(head + '{"a": 1, "y": 1}', **STRICT)
    unknown = refusal(head + '{"a":1,"b":NaN,"y":0}', **STRICT)
    assert "line 2, key \"b\": 'NaN' is not a finite number; missing='mean' fills it in" in unknown
    assert "line 2, key \"b\": '1e999' is not a finite number" in refusal(head + '{"a":1,"b":1e999,"y":0}')
    assert "'[1]' is an array or object" in refusal(head + '{"a": [1], "b": 1, "y": 1}')
    assert "line 2: this is not JSON from 'oops}' on" in refusal(head + '{"a": oops}')
    assert "line 2: '[1, 2]' is not an object" in refusal(head + "[1, 2]\n")
    assert 'line 2, key "y": label \'"1"\' is not an integer' in refusal(
        head + '{"a": 1, "b": 2, "y": "1"}', block_rows=1
    )
    assert "no line of the first block is a JSON object" in refusal("\n[1]\n", format="jsonl")
    assert "no line of the first block" in refusal("", format="jsonl")


def test_a_label_that_an_array_cannot_hold_is_refused():
    assert "ends with a NUL" in refusal('{"a": 1, "y": "x\\u0000"}\n')


def test_jsonl_keys_that_are_not_asked_for_are_passed_over():
    text = '{"a": 1, "note": {"deep": [1, 2]}, "y": 0}\n{"y": 1, "a": 2, "new": "x"}\n'
    X, y = read(text, features=["a"], target="y", block_rows=1)
    assert X.tolist() == [[1], [2]]
    assert y.tolist() == [0, 1]
    assert read(text, ignore=["note"], target="y", block_rows=1)[0].tolist() == [[1], [2]]


# Pipes


@pytest.mark.parametrize(
    ("pieces", "rows"),
    [
        ([b"a,y\n1,", b"2\n", b"3,4\n5,6\n7", b",8"], [[1], [3], [5], [7]]),
        (
            [b'{"a": 1, "y"', b': 2}\n{"a": 3, "y": 4}\n', b'{"a": 5, "y": 6}\n', b'{"a": 7, "y": 8}'],
            [[1], [3], [5], [7]],
        ),
        ([b"# head\n", b"\n2 1:1\n4", b" 1:3\n6 ", b"1:5\n8 1:7"], [[1], [3], [5], [7]]),
    ],
)
def test_a_pipe_gives_rows_as_soon_as_they_are_complete(pieces, rows):
    """The writer sends a piece only after all rows complete so far have come out."""
    out, into = os.pipe()
    sent, seen = b"", []
    with os.fdopen(out, "rb") as pipe, os.fdopen(into, "wb", buffering=0) as writer:
        opened = []
        thread = threading.Thread(target=lambda: opened.append(streams.open(pipe, block_rows=1000)))
        thread.start()
        for piece in pieces[:2]:  # the first two complete a row, whatever else
            writer.write(piece)
        thread.join(60)
        stream = opened[0]
        sent = b"".join(pieces[:2])
        for piece in [*pieces[2:], None]:
            ready = [row for row in rows if _is_complete(sent, row)]
            while len(seen) < len(ready):
                seen += next(stream).X.tolist()
            assert seen == ready
            if piece is None:
                writer.close()
            else:
                writer.write(piece)
                sent += piece
        seen += [row for block in stream for row in block.X.tolist()]
    assert seen == rows


def _is_complete(sent, row):
    """Whether the line with the label of a row has ended: labels are features plus one."""
    label = str(row[0] + 1).encode()
    lines = sent.split(b"\n")[:-1]
    return any(label in line for line in lines)


def test_standard_input(tmp_path):
    code = "from nolana import streams; s = streams.open('-', categories='error'); "
    code += "print([b.X.tolist() for b in s], s.position)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=b"a,y\n1,2\n3,4\n",
        capture_output=True,
        check=True,
        env=os.environ,
        timeout=60,
    )
    assert b"[[[1.0], [3.0]]] Position(rows=2, offset=12, line=4)" in done.stdout
    path = tmp_path / "bad"
    path.write_bytes(b"a,y\nx,2\n3,4\n")
    with path.open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-c", code], stdin=file, capture_output=True, env=os.environ, check=False, timeout=60
        )
    assert b"<stdin>, line 2, column 1" in done.stderr


def test_a_compressed_pipe_gives_what_is_there():
    import zlib

    out, into = os.pipe()
    packer = zlib.compressobj(wbits=31)
    with os.fdopen(out, "rb") as pipe, os.fdopen(into, "wb", buffering=0) as writer:
        writer.write(packer.compress(b"a,y\n1,2\n") + packer.flush(zlib.Z_SYNC_FLUSH))
        stream = streams.open(pipe)
        assert next(stream).X.tolist() == [[1]]
        writer.write(packer.compress(b"3,4\n") + packer.flush(zlib.Z_SYNC_FLUSH))
        assert next(stream).X.tolist() == [[3]]
        writer.write(packer.compress(b"5,6") + packer.flush())
        writer.close()
        assert [b.X.tolist() for b in stream] == [[[5]]]
