"""Text that is changed before it is parsed: encodings, decimal commas, comments, JSON arrays."""

import io
import json

import numpy as np
import pytest

from nolana import streams
from nolana.errors import StreamError
from nolana.sources.filters import detect_encoding
from tables import same

ROWS = [{"a": i / 4, "b": -i * 10.5, "c": f"é{i % 3}", "y": f"k{i % 2}"} for i in range(20)]
CSV = "a;b;c;y\n" + "".join(";".join(map(str, row.values())) + "\n" for row in ROWS)
CASES = {
    "utf-16": (CSV.encode("utf-16"), {}),
    "utf-16 without a mark": (CSV.encode("utf-16-be"), {"encoding": "utf-16-be"}),
    "utf-16 without a mark, detected": (CSV.encode("utf-16-be"), {}),
    "little-endian utf-16 without a mark, detected": (CSV.encode("utf-16-le"), {}),
    "utf-32": (CSV.encode("utf-32"), {}),
    "latin-1": (CSV.replace(";é", ";né").encode("latin-1"), {}),
    "decimal commas": (CSV.replace(".", ",").encode(), {"decimal": ","}),
    "comments": (CSV.replace("\n1.", "\n # é;;\n#\n1.").encode(), {"comment": "#"}),
    "all": (CSV.replace(".", ",").replace("\n1,", "\n#x\r\n1,").encode("utf-16"), {"decimal": ",", "comment": "#"}),
    "array": (json.dumps(ROWS).encode(), {}),
    "pretty array": (
        json.dumps([row | {"d": {"e": [1]}} for row in ROWS], indent=2).encode(),
        {"ignore": ["d"], "target": "y"},
    ),
    "pretty objects": ("\n".join(json.dumps(row, indent=1) for row in ROWS).encode(), {"target": "y"}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_the_rows_are_those_of_plain_text(name, chunk, tmp_path):
    text, options = CASES[name]
    X, y = streams.read(io.BytesIO(CSV.encode()), categories="onehot")
    options = options | {"categories": "onehot", "chunk_bytes": chunk}
    found = streams.read(io.BytesIO(text), **options)
    assert same(found[0], X)
    assert same(found[1], y)
    path = tmp_path / "source"
    path.write_bytes(text)
    blocks, state = [], None
    for _ in range(len(ROWS) // 5 + 1):  # a new stream for each block
        again = {name: value for name, value in options.items() if name in ("chunk_bytes", "decimal", "comment")}
        with streams.open(path, block_rows=5, **(again | {"resume": state} if state else options)) as stream:
            blocks += [block.X for block in [next(stream, None)] if block is not None]
            state = json.loads(json.dumps(stream.state(), default=np.ndarray.tolist))
    assert same(np.concatenate(blocks), X)


def test_encodings_are_detected():
    for text, encoding in (
        (b"a,b", "utf-8"),
        ("é,1".encode(), "utf-8"),
        ("é".encode()[:1], "utf-8"),  # the rest has not come yet
        (b"1,\xff", "utf-8"),
        ("café,1".encode("latin-1"), "latin-1"),
        ("\u201ccafé\u201d,1".encode("cp1252"), "cp1252"),
        ("é".encode() + "café".encode("latin-1"), "utf-8"),  # a damaged byte in UTF-8
    ):
        assert detect_encoding(text) == encoding


def test_text_of_another_encoding_is_refused():
    with pytest.raises(StreamError, match=r"the text is not utf-16.*encoding=\.\.\. names another one"):
        streams.read(io.BytesIO("a,y\n1,2\n".encode("utf-16") + b"x"))
    with pytest.raises(StreamError, match="the text is not ascii"):
        streams.read(io.BytesIO("a,y\n1,é\n".encode()), encoding="ascii")


SEMICOLONS = "a;b;y\n1,5;2,5;k\n2.5;1,5;j\n1,5;x;k\n1,5;3,5;k;4,5\n-,5;1e3;j\n"
COMMAS = 'a,b,y\n"1,5",2,k\n"2.5",3,j\n"1,5",x,k\n"1,5","3,5",k,"4,5"\n"-,5",1000,j\n'


@pytest.mark.parametrize(("text", "options"), [(SEMICOLONS, {}), (COMMAS, {"delimiter": ","})])
def test_invalid_rows_with_decimal_commas_are_quarantined_as_the_source_has_them(text, options, tmp_path):
    aside = tmp_path / "aside"
    X, y = streams.read(
        io.BytesIO(text.encode()), decimal=",", on_bad_row=f"quarantine={aside}", categories="error", **options
    )
    assert X.tolist()[1:] == [[-0.5, 1000.0]]
    assert y.tolist() == ["k", "j"]
    records = [json.loads(line) for line in aside.read_text().splitlines()]
    assert [record["text"] for record in records] == text.splitlines()[2:5]
    assert "2.5" in records[0]["message"]


def test_a_comma_after_a_quoted_field_is_no_decimal_comma():
    for text, rows in ((b'y,a\n"1,5",2\n"2,5",5\n', [[2.0], [5.0]]), (b'y,a\n"k",.5\n"j",5\n', [[0.5], [5.0]])):
        X, _ = streams.read(io.BytesIO(text), decimal=",", delimiter=",", target="y")
        assert X.tolist() == rows


def test_texts_with_points_and_commas_are_those_of_the_source():
    for text in (b"a;y\n1,5;2.5\n2;1.5\n", b"a;y\n1,5;2,5\n2;1,5\n"):
        _, y = streams.read(io.BytesIO(text), decimal=",", labels="text")
        assert y.tolist() == [line.split(";")[1] for line in text.decode().splitlines()[1:]]
    X, y = streams.read(io.BytesIO(b"a;y\n1,5;2,5\n2;1,5\n"), decimal=",")
    assert (X.tolist(), y.tolist()) == ([[1.5], [2.0]], [2.5, 1.5])
    with pytest.raises(StreamError, match=r"label '2\.5' is a number with a decimal point; decimal='\.' reads it"):
        streams.read(io.BytesIO(b"a;y\n1,5;2.5\n2;1.5\n"), decimal=",", growing="leave_out")
