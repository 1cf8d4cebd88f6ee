"""Readers: formats by hand and at random, blocks and chunks cut anywhere, messages."""

import bz2
import gzip
import io
import itertools
import lzma
import os
import pickle
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from nolana import streams
from nolana.errors import NolanaError, StreamError

DATA = Path(os.environ.get("NOLANA_DATA") or "/nonexistent")
PACKERS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


def read(text, **parameters):
    return streams.read(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **parameters)


STRICT = {"categories": "error", "missing": "error"}


def refusal(text, **parameters):
    """The error a text raises, the same whatever the chunks."""
    messages = set()
    for chunk in (1, 3, 1 << 20):
        with pytest.raises(StreamError) as caught:
            read(text, chunk_bytes=chunk, **parameters)
        messages.add(str(caught.value))
    assert len(messages) == 1
    return caught.value


def same(a, b):
    """Equal shapes, types and bits."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


# CSV


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\n1,2,0\n3,4.5,1\n",
        "1,2,0\n3,4.5,1\n",
        "1;2;0\n3;4.5;1",
        "a\tb\ty\n1\t2\t0\n 3\t4.5 \t1\t\n".replace("1\t\n", "1\n"),
        "\ufeffa,b,y\r\n1,2,0\r\n\r\n3,4.5,1\r\n\n  \n",
        '"a","b","y"\n"1","2","0"\n" 3 " , 4.5,"1"\n',
        "\n\n1e0, +2.0 ,0\n   3,.45e1,\t1 \n",
        '"a\nname","b ""x"", c",y\n1,2,0\n3,4.5,1',
    ],
)
@pytest.mark.parametrize("chunk", [1, 2, 7, 1 << 20])
def test_csv_by_hand(text, chunk):
    X, y = read(text, chunk_bytes=chunk, format="csv")
    assert same(X, np.array([[1, 2], [3, 4.5]]))
    assert same(y, np.array([0, 1]))


def test_csv_columns_are_chosen_by_name_and_by_index():
    text = "a,b,c,d\n1,2,3,x\n4,5,6,z\n"
    X, y = read(text, target="b", features=["c", "a"])
    assert X.tolist() == [[3, 1], [6, 4]]
    assert y.tolist() == [2, 5]
    X, y = read(text, target=-1, features=[-2, 0])
    assert X.tolist() == [[3, 1], [6, 4]]
    assert y.tolist() == ["x", "z"]
    X, y = read(text, target=False, features=["a"])
    assert X.tolist() == [[1], [4]]
    assert y is None
    with streams.open(io.BytesIO(text.encode())) as stream:
        assert stream.feature_names == ["a", "b", "c"]
        assert stream.n_features == 3


def test_csv_header_is_detected_or_told():
    assert read("1,x\n2,y\n")[0].tolist() == [[1], [2]]
    assert read("one,x\n2,y\n")[0].tolist() == [[2]]
    assert read("1,x\n2,y\n", header=True)[0].tolist() == [[2]]
    assert read("nan,1\n", header=True)[0].shape == (0, 1)
    assert read("x,2\n3,4\n", target=0)[0].tolist() == [[2], [4]]
    assert "'one' is not a number" in str(refusal("one,x\n2,y\n", header=False, **STRICT))
    assert "header=True if this line has the names" in str(refusal("one,1871,x\n2,3,y\n"))


def test_csv_text_labels_keep_quotes_newlines_and_blanks():
    _, y = read('1,"a ""b""\nc, "\n2, plain text \n3,é\n', format="csv")
    assert y.tolist() == ['a "b"\nc, ', "plain text", "é"]


def test_other_delimiters():
    assert read("1|2|3\n", delimiter="|", format="csv")[0].tolist() == [[1, 2]]
    assert read("1 2 3\n", delimiter=" ", format="csv")[0].tolist() == [[1, 2]]
    for wrong in ("", "ab", "1", '"', "\n", "é"):
        with pytest.raises(ValueError, match="cannot separate fields"):
            read("1,2\n", format="csv", delimiter=wrong)


@pytest.mark.parametrize(
    ("text", "line", "column", "value", "message"),
    [
        ("a,b,y\n1,2,0\n1,oops,0\n", 3, 2, "oops", "line 3, column 2 (\"b\"): 'oops' is not a number"),
        ("1,2,0\n1,2 3,0\n", 2, 2, "2 3", "line 2, column 2: '2 3' is not a number"),
        ("a,b,y\n1,,0\n", 2, 2, "", 'line 2, column 2 ("b"): the field is empty'),
        ("a,b,y\n1,2,\n", 2, 3, "", 'line 2, column 3 ("y"): the field is empty'),
        ("a,b,y\n\n1,nan,0\n", 3, 2, "nan", "line 3, column 2 (\"b\"): 'nan' is not a finite number"),
        ("a,b,y\n1,-1e999,0\n", 2, 2, "-1e999", "line 2, column 2 (\"b\"): '-1e999' is not a finite number"),
        ("a,b,y\n1,2\n", 2, 3, "1,2", 'line 2, column 3 ("y"): missing: the row has 2 fields, line 1 has 3'),
        ("a,b,y\n1,2,3,4,5\n", 2, 4, "1,2,3,4,5", "line 2, column 4: too many: the row has 5 fields, line 1 has 3"),
        ('a,b,y\n"1"2,2,0\n', 2, 1, '"1"2', 'line 2, column 1 ("a"): text after the closing quote: \'"1"2\''),
        ('a,b,y\n1,2,"x\n\n', 2, 3, '"x\n\n', 'line 2, column 3 ("y"): the quote that begins here is not closed'),
        ('a,"b\nc",y\n1,2,0\n1,x,0', 4, 2, "x", "line 4, column 2 (\"b\nc\"): 'x' is not a number"),
        ('a,b,y\n"\n\n",2,0\n', 2, 1, '"\n\n"', 'line 2, column 1 ("a"): '),
        ("a,b,y\n1,0x10,0\n", 2, 2, "0x10", "'0x10' is not a number"),
        ("a,b,y\n1,1_0,0\n", 2, 2, "1_0", "'1_0' is not a number"),
        ("a,b,y\n1," + "z" * 99 + ",0\n", 2, 2, "z" * 99, "'" + "z" * 39 + "…' is not a number"),
    ],
)
def test_csv_errors_name_the_place(text, line, column, value, message):
    error = refusal(text, format="csv", **STRICT)
    assert message in str(error)
    assert str(error).startswith("<stream>, line ")
    assert (error.path, error.line, error.column, error.value) == ("<stream>", line, column, value)


def test_errors_about_columns():
    text = "a,b,y\n1,2,0\n"
    assert "target: no column is named 'z'; the columns are: 'a', 'b', 'y'" in str(refusal(text, target="z"))
    assert "several columns are named 'a'" in str(refusal("a,a,y\n1,2,3\n", target="a"))
    assert "features: there is no column 3; line 1 has 3" in str(refusal(text, features=[3]))
    assert "no column is left for the features" in str(refusal("1\n2\n", format="csv"))
    assert "is the delimiter ','?" in str(refusal("1|2\n", format="csv"))
    assert "the source is empty" in str(refusal("\n \n", format="csv"))
    with pytest.raises(ValueError, match=r"features=\['b'\] has the target, target='b'; leave it out"):
        read(text, target="b", features=["b"])
    with pytest.raises(ValueError, match="names a column twice"):
        read(text, features=["a", 0])
    with pytest.raises(ValueError, match="header=False says that columns have no names, but 'a' is one"):
        read(text, features=["a"], header=False)
    with pytest.raises(TypeError, match=r"a column is a name or an index, got 1\.5"):
        read(text, target=1.5)


# Labels


@pytest.mark.parametrize(
    ("labels", "kind", "values"),
    [
        (["1", "-1", "+1"], np.int64, [1, -1, 1]),
        (["9223372036854775807", "-9223372036854775808"], np.int64, [2**63 - 1, -(2**63)]),
        (["9223372036854775808", "1"], np.object_, [2**63, 1]),  # exact, as in the estimators
        (["1", "2.5"], np.float64, [1, 2.5]),
        (["01", "x"], np.str_, ["01", "x"]),
        (["nan", "x"], np.str_, ["nan", "x"]),
    ],
)
def test_labels_stay_as_they_came(labels, kind, values):
    rows = "".join(f"1,{label}\n" for label in labels)
    _, y = read(rows, chunk_bytes=2, format="csv")
    assert np.issubdtype(y.dtype, kind)
    assert y.tolist() == values
    _, y = read("".join(f"{label} 1:1\n" for label in labels))
    assert np.issubdtype(y.dtype, kind)
    assert y.tolist() == values
    assert read(rows, labels="text")[1].tolist() == labels


def test_a_label_that_does_not_fit_says_how_to_set_it():
    text = "a,y\n" + "1,0\n" * 4
    error = refusal(text + "1,0.5\n", block_rows=2)
    assert str(error) == (
        "<stream>, line 6, column 2 (\"y\"): label '0.5' is not an integer, as all labels of the first block are; "
        "labels='float' or labels='text' accepts it"
    )
    assert str(refusal(text + "1,cat\n", block_rows=2)).endswith("first block are; labels='text' accepts it")
    assert read(text + "1,0.5\n", block_rows=2, labels="float")[1].tolist() == [0, 0, 0, 0, 0.5]
    assert read(text + "1,0.5\n", block_rows=2, labels="text")[1].tolist() == ["0"] * 4 + ["0.5"]
    assert read(text + "1,0.5\n")[1].dtype == np.float64
    assert "label '0.5' is not an integer (labels='int')" in str(refusal(text + "1,0.5\n", labels="int"))
    assert "label 'inf' is not a finite number" in str(refusal(text + "1,inf\n"))
    assert "label '�' is not UTF-8" in str(refusal(b"1,\xff\n"))
    with pytest.raises(ValueError, match="labels='strings' is not one of: int, float, bool, text"):
        read(text, labels="strings")


# LIBSVM

LIBSVM = "# head\n1 1:0.5 3:-2 # note 4:1\n\n-1 qid:7 2:1e-3\r\n+1\n  1\t3:4  "
LIBSVM_X = [[0.5, 0, -2], [0, 1e-3, 0], [0, 0, 0], [0, 0, 4]]


@pytest.mark.parametrize("chunk", [1, 2, 5, 1 << 20])
def test_libsvm_by_hand(chunk):
    X, y = read(LIBSVM, chunk_bytes=chunk)
    assert same(X, np.array(LIBSVM_X, dtype=float))
    assert same(y, np.array([1, -1, 1, 1]))
    X, _ = read(LIBSVM, chunk_bytes=chunk, zero_based=True)
    assert X.tolist() == [[0, *row] for row in LIBSVM_X]
    X, _ = read(LIBSVM, chunk_bytes=chunk, n_features=5, features=[3, 1, 5])
    assert X.tolist() == [[row[2], row[0], 0] for row in LIBSVM_X]


def test_libsvm_without_labels():
    X, y = read("1:1 2:2\nqid:4 2:5\n0 1:3\n", target=False, format="libsvm")
    assert X.tolist() == [[1, 2], [0, 5], [3, 0]]
    assert y is None


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("1 1:1\n1 1:1 2:oops\n", 3, "line 2, column 3: index 2: 'oops' is not a number"),
        ("1 1:1\n1 1:1 2:\n", 3, "line 2, column 3: index 2: the value is empty"),
        ("1 1:1\n1 1:1 2:inf\n", 3, "line 2, column 3: index 2: 'inf' is not a finite number"),
        ("1 1:1\n1:1 2:1\n", 1, "line 2, column 1: '1:1' is not a label"),
        ("1 1:1\n1 2\n", 2, "line 2, column 2: '2' is not index:value"),
        ("1 1:1\n1 -2:1\n", 2, "line 2, column 2: '-2:1' is not index:value"),
        ("1 1:1\n1 0:1\n", 2, "line 2, column 2: '0:1': indices count from 1; zero_based=True"),
        ("1 1:1\n1 3:1 2:1\n", 3, "line 2, column 3: '2:1': indices must ascend"),
        ("1 1:1\n1 3:1 3:1\n", 3, "line 2, column 3: '3:1': indices must ascend"),
        ("1 1:1\n1 qid:3 7:1\n", 3, "line 2, column 3: '7:1': the index is beyond n_features=3"),
        ("1 1:1\n1 99999999999999999999999:1\n", 2, "the index is beyond n_features=3"),
    ],
)
def test_libsvm_errors_name_the_place(text, column, message):
    error = refusal(text, n_features=3, format="libsvm")
    assert message in str(error)
    assert (error.line, error.column) == (2, column)


def test_libsvm_width_of_a_file_and_of_a_pipe(tmp_path):
    text = "1 1:1\n" * 3 + "1 5:1\n"
    path = tmp_path / "rows.svm"
    path.write_text(text)
    assert streams.read(path, block_rows=2)[0].shape == (4, 5)
    assert read(text)[0].shape == (4, 5)
    error = refusal(text, block_rows=2)
    assert "line 4, column 2: '5:1': the index is beyond the 1 features of the first block; n_features=... sets" in str(
        error
    )
    assert read(text, block_rows=2, n_features=6)[0].shape == (4, 6)
    assert "no index:value to infer the number of features from" in str(refusal("1\n2\n", format="libsvm"))
    assert "dense rows would take" in str(refusal("1 4294967296:1\n"))


def test_parameters_of_libsvm_are_checked():
    with pytest.raises(ValueError, match="target='y' does not fit LIBSVM text, whose label comes first"):
        read(LIBSVM, target="y")
    with pytest.raises(TypeError, match="LIBSVM text has columns by index only, got 'a'"):
        read(LIBSVM, features=["a"])
    with pytest.raises(ValueError, match=r"features=0 is not an index in 1\.\.3"):
        read(LIBSVM, features=[0])
    with pytest.raises(ValueError, match="n_features=0 is not an integer of at least 1"):
        read(LIBSVM, n_features=0)


def test_libsvm_agrees_with_scikit_learn(tmp_path, rng):
    X = np.where(rng.random((50, 7)) < 0.4, rng.normal(size=(50, 7)), 0)
    lines = [
        " ".join([str(i % 3), *(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v)]) for i, row in enumerate(X.tolist())
    ]
    path = tmp_path / "data.libsvm"
    path.write_text("\n".join(lines))
    theirs, labels = load_svmlight_file(str(path), n_features=7)
    ours, y = streams.read(path, n_features=7, block_rows=9, chunk_bytes=100)
    assert same(ours, theirs.toarray())
    assert y.tolist() == labels.tolist()


# Sources, formats, blocks


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("name", ["rows.csv", "rows", "rows.csv.gz"])
def test_compression_is_told_by_content(tmp_path, ending, name):
    text = "a,b,y\n" + "".join(f"{i},{i / 7!r},{i % 3}\n" for i in range(2000))
    path = tmp_path / (name + ending)
    path.write_bytes(PACKERS[ending](text.encode()))
    X, y = streams.read(path, chunk_bytes=1000, block_rows=300)
    assert same(X, np.array([[i, i / 7] for i in range(2000)]))
    assert same(y, np.arange(2000) % 3)
    with path.open("rb") as file:
        assert same(streams.read(file)[0], X)
        assert not file.closed
    assert same(streams.read(io.BytesIO(path.read_bytes()))[0], X)


def test_concatenated_members_and_damaged_files(tmp_path):
    half = b"1,2\n" * 5000
    for ending, pack in list(PACKERS.items())[1:]:
        path = tmp_path / f"rows.csv{ending}"
        path.write_bytes(pack(half) + pack(half))
        assert streams.read(path)[0].shape == (10000, 1)
        path.write_bytes(pack(os.urandom(5000).hex().encode())[:-40])
        with pytest.raises(StreamError, match="data is damaged or cut off after line 1"):
            streams.read(path)
    for magic, kind in ((b"PK\x03\x04", "ZIP"),):
        assert f"this is {kind}" in str(refusal(magic + b"        "))
    assert "the Zstandard data is damaged" in str(refusal(b"\x28\xb5\x2f\xfd        "))


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.csv", "1\n", "csv"),
        ("a.TSV.gz", "1\t2\n", "csv"),
        ("a.svm.bz2", "1\n", "libsvm"),
        ("a", "\n# x\n1 1:2\n", "libsvm"),
        ("a.txt", "1,2\n", "csv"),
        ("a.txt", "12:30,5\n", "csv"),
        ("a.t", "1 qid:1 1:2 # x, y", "libsvm"),
    ],
)
def test_formats_are_detected_from_the_name_then_the_first_line(tmp_path, name, text, format):
    from nolana.sources.bytes import Bytes
    from nolana.sources.formats import MAGIC, detect

    class Slow(io.BytesIO):
        """A file of this name that returns a few bytes at a time."""

        def __init__(self, chunk):
            super().__init__(text.encode())
            self.name, self.chunk = str(tmp_path / name), chunk

        def read1(self, size=-1):
            return super().read1(self.chunk)

    for chunk in (1, 100):
        source = Bytes(Slow(chunk), MAGIC)
        assert detect(source).format == format
        chunks = []
        while data := source.read1(7):
            chunks.append(data)
        assert b"".join(chunks) == text.encode()


CSV_ROWS, JSON_ROWS = 'a,"b",y\n1,x,no\n2,z,yes\n', '{"b": "x", "a": 1, "y": "no"}\n{"a": 2, "b": "z", "y": "yes"}\n'


@pytest.mark.parametrize("learned", [CSV_ROWS, JSON_ROWS])
@pytest.mark.parametrize("text", [CSV_ROWS, JSON_ROWS, CSV_ROWS.replace("\n", "\r\n"), CSV_ROWS.replace(",", ";")])
def test_rows_of_a_plan_without_a_file_name_are_found_to_be_csv_or_json(learned, text):
    """A pipe has no name: the plan says which columns, and the first line in which format they come."""
    with streams.open(io.BytesIO(learned.encode())) as stream:
        plan, (X, y) = stream.plan, stream.gather()
    if ";" in text and learned == CSV_ROWS:  # the delimiter of a plan stays
        with pytest.raises(StreamError, match="has: 'a;\"b\";y'; is the delimiter ','"):
            streams.read(io.BytesIO(text.encode()), plan=plan)
        return
    found = streams.read(io.BytesIO(text.encode()), plan=plan, target="y")
    assert np.array_equal(found[0], X)
    assert found[1].tolist() == y.tolist()


def test_first_line_of_a_json_plan_that_is_damaged_is_a_bad_row():
    with streams.open(io.BytesIO(JSON_ROWS.encode())) as stream:
        plan = stream.plan
    X, y = streams.read(io.BytesIO(f"oops a, b\n{JSON_ROWS}".encode()), plan=plan, on_bad_row="skip")
    assert (len(X), y.tolist()) == (2, ["no", "yes"])


def test_formats_unknown_and_options_of_another():
    assert "format=... sets it to one of: jsonl, libsvm, csv, parquet, arrow" in str(refusal("hello\n"))
    with pytest.raises(ValueError, match="format='xml' is not one of: jsonl, libsvm, csv, parquet, arrow"):
        read("1,2\n", format="xml")
    with pytest.raises(ValueError, match="header=True is for format 'csv'; <stream> is read as 'libsvm'"):
        read(LIBSVM, header=True)
    with pytest.raises(ValueError, match="n_features=3 is for format 'libsvm'"):
        read("1,2\n", n_features=3)
    with pytest.raises(ValueError, match="block_rows=0 is not an integer"):
        read("1,2\n", block_rows=0)
    with pytest.raises(TypeError, match="open it as binary"):
        streams.read(io.StringIO("1,2\n"))
    with pytest.raises(TypeError, match="source must be a path or a binary file, got int"):
        streams.read(3)
    with pytest.raises(FileNotFoundError):
        streams.open("/nowhere/at/all.csv")


@pytest.mark.parametrize("text", ["a,b,y\n" + "".join(f"{i},2,0\r\n\n" for i in range(23)), "1 1:2\n\n" * 23])
def test_blocks_have_their_size_and_positions_lead_on(text):
    data = text.encode()
    for chunk in (1, 5, 64, 1000):
        with streams.open(io.BytesIO(data), block_rows=10, chunk_bytes=chunk) as stream:
            blocks = list(stream)
        assert [len(b.X) for b in blocks] == [10, 10, 3]
        assert [b.position.rows for b in blocks] == [10, 20, 23]
        assert blocks[-1].position.offset == len(data)
        assert all(b.X.flags.c_contiguous and b.X.dtype == np.float64 for b in blocks)
        for done, following in itertools.pairwise(blocks):
            at = done.position
            assert data.count(b"\n", 0, at.offset) == at.line - 1
            rest = read(data[at.offset :], **({"header": False} if b"," in data else {}))[0]
            assert rest[: len(following.X)].tolist() == following.X.tolist()


def test_streams_close_and_do_not_skip_rows_after_an_error(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n1,0\n2,0\n3,x\n4,0\n")
    stream = streams.open(path, block_rows=1)
    next(stream), next(stream)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"line 4, column 2|is closed"):
            next(stream)
    with streams.open(path) as stream:
        pass
    with pytest.raises(ValueError, match=r"rows\.csv is closed; open it again"):
        next(stream)
    with streams.open(path) as stream:
        assert len(list(stream)) == 1
        assert list(stream) == []


def test_rows_come_as_soon_as_they_are_there():
    """A pipe that stays open gives each complete row at once."""
    out, into = os.pipe()
    with os.fdopen(out, "rb") as pipe, os.fdopen(into, "wb", buffering=0) as writer:
        writer.write(b"a,y\n1,2\n3,")
        stream = streams.open(pipe, block_rows=1, format="csv")
        assert next(stream).X.tolist() == [[1]]
        threading.Timer(0.05, writer.write, [b"4\n"]).start()
        assert next(stream).y.tolist() == [4]


def test_a_row_that_never_ends_is_refused(monkeypatch):
    monkeypatch.setattr("nolana.sources.text.Text.longest", 1000)
    error = refusal('a,y\n1,0\n2,"' + "x\n" * 5000)
    assert "line 3: no row ends within 1,000 bytes: a quote may not be closed" in str(error)


def test_stream_errors_travel():
    error = pickle.loads(pickle.dumps(refusal("a,y\nx,0\n", target="y", **STRICT)))
    assert isinstance(error, NolanaError)
    assert isinstance(error, ValueError)
    assert (error.path, error.line, error.column, error.value) == ("<stream>", 2, 1, "x")


@pytest.mark.skipif(not DATA.is_dir(), reason="needs real data; set NOLANA_DATA")
@pytest.mark.parametrize(
    ("name", "shape", "kind"),
    [("cpusmall_scale.bz2", (8192, 12), "i"), ("elec2.csv.gz", (45312, 8), "i")],
)
def test_real_files(name, shape, kind):
    X, y = streams.read(DATA / name)
    assert X.shape == shape
    assert y.shape == shape[:1]
    assert y.dtype.kind == kind


# At random

NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**6), 10**6).map(float)
SPELLINGS = st.sampled_from([repr, "{:.17g}".format, "{:+.17e}".format, "{:.20E}".format])
BLANKS = st.text(" \t", max_size=2)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6).filter(
    lambda t: t.strip(" \t")
)


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


@given(st.data())
def test_csv_round_trip(data):
    d, mark = data.draw(st.integers(1, 4)), data.draw(st.sampled_from(",;"))
    rows = data.draw(st.lists(st.lists(NUMBERS, min_size=d, max_size=d), min_size=1, max_size=12))
    labels = data.draw(st.lists(TEXTS, min_size=len(rows), max_size=len(rows)))
    newline = data.draw(st.sampled_from(["\n", "\r\n", "\n\n", " \r\n \n"]))
    lines = []
    for row, label in zip(rows, labels, strict=True):
        fields = [data.draw(SPELLINGS)(v) for v in row]
        fields = [quoted(f) if data.draw(st.booleans()) else f for f in fields]
        lines.append(mark.join(data.draw(BLANKS) + f + data.draw(BLANKS) for f in [*fields, quoted(label)]))
    size, chunk = data.draw(st.integers(1, 13)), data.draw(st.integers(1, 50))
    X, y = read(newline.join(lines), format="csv", delimiter=mark, labels="text", block_rows=size, chunk_bytes=chunk)
    assert same(X, np.array(rows))
    assert y.tolist() == labels


@given(st.data())
def test_libsvm_round_trip(data):
    d = data.draw(st.integers(1, 5))
    X = np.array(data.draw(st.lists(st.lists(NUMBERS, min_size=d, max_size=d), min_size=1, max_size=12)))
    y = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=len(X), max_size=len(X)))
    lines = []
    for row, label in zip(X, y, strict=True):
        named = [j for j in range(d) if struct.pack("d", row[j]) != bytes(8) or data.draw(st.booleans())]
        pairs = [f"{j + 1}:{data.draw(SPELLINGS)(float(row[j]))}" for j in named]
        lines.append(data.draw(BLANKS) + (" " + data.draw(BLANKS)).join([str(label), *pairs]))
    text = data.draw(st.sampled_from(["\n", "\r\n", " # 9:9\n", "\n#\n\n"])).join(lines)
    size, chunk = data.draw(st.integers(1, 13)), data.draw(st.integers(1, 50))
    ours, labels = read(text, format="libsvm", n_features=d, block_rows=size, chunk_bytes=chunk)
    assert same(ours, X)
    assert same(labels, np.array(y))


PIECES = [
    "0",
    "1",
    "2.5",
    "-3",
    ".",
    "+",
    "e",
    "1e5",
    "nan",
    "Inf",
    ",",
    ",",
    ";",
    "\t",
    " ",
    '"',
    '""',
    "\n",
    "\n",
    "\r",
]
PIECES += ["\r\n", "1:2", "2:1", "3:", ":", "#", "qid:1", "x", "1e999", "1e-999", "99999999999999999999", "é"]
TEXT = st.lists(st.sampled_from(PIECES), max_size=25).map(lambda p: "".join(p).encode()) | st.binary(max_size=30)


def outcome(text, **parameters):
    """What reading gives: every block with its position, or the message."""
    try:
        with streams.open(io.BytesIO(text), **parameters) as stream:
            return [(b.X.tolist(), b.y.tolist(), b.y.dtype.kind, b.position) for b in stream]
    except StreamError as error:
        return str(error)


@given(text=TEXT, format=st.sampled_from(["csv", "libsvm"]), size=st.integers(1, 4), chunk=st.integers(1, 9))
def test_chunks_change_nothing(text, format, size, chunk):
    whole = outcome(text, format=format, block_rows=size)
    assert outcome(text, format=format, block_rows=size, chunk_bytes=chunk) == whole
