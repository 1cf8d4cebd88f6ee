"""Every hint in an error message works: what it says is done, and the second attempt succeeds."""

import io
import json
import os
import re
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import call
from dirty.make import table, xor
from nolana import streams
from nolana.cli.options import words
from nolana.errors import StreamError, StreamWarning
from nolana.runs.checkpoints import read

TEXT = "a,b,y\n1,2,0\n3,4,1\n"


@pytest.mark.parametrize(
    ("text", "wrong", "hint", "right"),
    [
        ("1|2\n3|4\n", {"format": "csv"}, "is the delimiter ','?", {"delimiter": "|"}),
        (
            "1 2\n",
            {},
            "format=... sets it to one of: jsonl, libsvm, csv",
            {"format": "libsvm", "n_features": 1, "on_bad_row": "skip"},
        ),
        ("1\n-1\n", {"format": "libsvm"}, "n_features=... sets it", {"n_features": 2}),
        ("1 1:1 9000000:1\n", {}, "features=... selects some, or n_features=...", {"features": [1]}),
        (
            "1 1:1 900000000:1\n",
            {},
            "n_features=... with on_bad_row='skip' leaves out",
            {"n_features": 1, "on_bad_row": "skip"},
        ),
        ("1 0:1\n", {"n_features": 3}, "zero_based=True", {"zero_based": True}),
        ("1 1:1\n", {"target": 0}, "leave it out", {"target": None}),
        ("1:1\n", {"format": "libsvm", "n_features": 2}, "target=False", {"target": False}),
        (TEXT, {"features": "a"}, "['a']", {"features": ["a"]}),
        (TEXT, {"delimiter": "xx"}, "use one character such as ','", {"delimiter": ","}),
        (TEXT, {"encoding": "x-klingon"}, "latin-1", {"encoding": "latin-1"}),
        (TEXT.encode("utf-16-be"), {"encoding": "utf-16"}, "encoding='utf-16-be'", {"encoding": "utf-16-be"}),
        (TEXT.encode("utf-16-le"), {"encoding": "utf-16"}, "encoding='utf-16-le'", {"encoding": "utf-16-le"}),
        (TEXT, {"comment": "1"}, "'#' or '//'", {"comment": "#"}),
        (TEXT, {"on_bad_row": "cry"}, "skip", {"on_bad_row": "skip"}),
        ("a,y\n1,0\n2,1\n3,x\n", {"block_rows": 2}, "labels='text' accepts it", {"labels": "text"}),
        (
            "a,y\n1,0\n2,1\n3,1.5\n",
            {"block_rows": 2},
            "labels='float' or labels='text' accepts it",
            {"labels": "float"},
        ),
        ("a,y\n1,0.5\n2,inf\n", {}, "labels='text' accepts it", {"labels": "text"}),
        ("a,y\n1,0.5\n2,inf\n", {"labels": "float"}, "on_bad_row='skip'", {"on_bad_row": "skip"}),
        (b"a,y\n1,caf\xe9\n\n2,\xff\n", {}, "encoding='latin-1'", {"encoding": "latin-1"}),
        ("a,2024,y\n1,2,0\n", {"target": 2}, "header=True", {"header": True}),
        ('{"a": 1, "y": 0}\n{"a": [1], "y": 0}\n', {}, "ignore=['a'] leaves it out", {"on_bad_row": "skip"}),
    ],
)
def test_hint_of_the_library_works_when_followed(text, wrong, hint, right):
    source = text if isinstance(text, bytes) else text.encode()
    with pytest.raises((ValueError, TypeError)) as caught:
        streams.read(io.BytesIO(source), **wrong)
    assert hint in str(caught.value)
    streams.read(io.BytesIO(source), **(wrong | right))


def test_hint_about_plan_or_state_works_when_followed(tmp_path):
    with streams.open(io.BytesIO(TEXT.encode())) as stream:
        plan, state = stream.plan, stream.state()
    for wrong, hint, right in (
        ({"plan": plan, "resume": state}, "leave plan= out", {"resume": state}),
        ({"plan": plan, "features": ["a"]}, "leave it out", {"plan": plan}),
        ({"plan": plan, "missing": "mean"}, "leave these options out", {"plan": plan}),
        ({"plan": 1}, "pass stream.plan", {"plan": plan}),
        ({"resume": {}}, "pass what stream.state() returned", {"resume": state}),
    ):
        with pytest.raises((ValueError, TypeError), match=hint.replace("(", r"\(").replace(")", r"\)")):
            streams.read(io.BytesIO(TEXT.encode()), **wrong)
        streams.read(io.BytesIO(TEXT.encode()), **right)
    with pytest.raises(StreamError, match="target=False reads without labels"):
        streams.read(io.BytesIO(b"a,b\n1,2\n"), plan=plan)
    assert streams.read(io.BytesIO(b"a,b\n1,2\n"), plan=plan, target=False)[1] is None
    twins = pa.Table.from_arrays(
        [pa.array([1, 2]), pa.array([3, 4]), pa.array([5, 6]), pa.array([0, 1])], ["a", "a", "b", "y"]
    )
    pq.write_table(twins, tmp_path / "twins.parquet")
    with pytest.raises(StreamError, match=r"ignore=\[0, 1\] leaves them out") as caught:
        streams.read(tmp_path / "twins.parquet")
    assert "--ignore 1,2 leaves" in caught.value.message(words)
    assert streams.read(tmp_path / "twins.parquet", ignore=[0, 1])[0].tolist() == [[5], [6]]
    odd = pa.table({"a": pa.array([b"x", b"y"]), "b": [1, 2], "y": [0, 1]})
    pq.write_table(odd, tmp_path / "odd.parquet")
    with pytest.raises(StreamError, match=r"ignore=\['a'\] leaves it out"):
        streams.read(tmp_path / "odd.parquet")
    assert streams.read(tmp_path / "odd.parquet", ignore=["a"])[0].tolist() == [[1], [2]]


# Commands


@pytest.fixture
def mail(tmp_path):
    path = tmp_path / "mail.csv"
    path.write_text(table("a,b,y", xor(1500)))
    return path


def test_missing_values_may_be_filled_from_a_later_run_on(tmp_path):
    rows = xor(1500)
    path, model = tmp_path / "s.csv", tmp_path / "m"
    path.write_text(table("a,b,y", [*rows[:1200], ("", 0.5, "yes"), *rows[1200:]]))
    words = ("learn", path, "--target", "y", "--model", model)
    done = call(*words, "--categories", "error", "--missing", "error", folder=tmp_path)
    assert done.code == 1
    assert "the field is empty; --missing mean fills it in. 1,000 rows are learned and saved" in done.err
    done = call(*words, "--missing", "indicator", folder=tmp_path)
    assert done.code == 2
    assert "--missing indicator differs from the model, which was made with --missing error; leave it out" in done.err
    done = call(*words, "--missing", "mean", "--json", folder=tmp_path)
    assert done.code == 0, done.err
    assert json.loads(done.out)["rows"] == 1501
    means = read(model)[1].stream["encoder"]["means"]
    assert means["counts"].tolist() == [1500, 1501]  # of all rows, also of those that were learned before
    new = tmp_path / "new.csv"
    new.write_text("a,b\n,0.3\n")
    assert call("predict", new, "--model", model, folder=tmp_path).code == 0
    assert call("learn", path, "--target", "y", "--model", model, folder=tmp_path).code == 0  # mean is remembered


def test_a_missing_value_can_be_predicted_by_a_model_that_never_saw_one(mail, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("a,b\n,0.3\n")
    assert call("learn", mail, "--target", "y", "--model", tmp_path / "native", folder=tmp_path).code == 0
    done = call("predict", new, "--model", tmp_path / "native", folder=tmp_path)
    assert (done.code, len(done.out.splitlines())) == (0, 2)
    refusing = ("--categories", "error", "--missing", "error")
    assert call("learn", mail, "--target", "y", "--model", tmp_path / "m", *refusing, folder=tmp_path).code == 0
    done = call("predict", new, "--model", tmp_path / "m", folder=tmp_path)
    assert done.code == 1
    assert "--missing mean fills it in" in done.err
    done = call("predict", new, "--model", tmp_path / "m", "--missing", "mean", folder=tmp_path)
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 2
    done = call("predict", new, "--model", tmp_path / "m", "--missing", "indicator", folder=tmp_path)
    assert (done.code, "leave it out" in done.err) == (2, True)


@pytest.mark.parametrize("row", ['{"a": "high", "b": 1}', '{"a": [1], "b": 1}', '{"a": 1, "b": 1, "c": {"d": [2]}}'])
def test_remedies_of_predictions_are_options_of_predict(mail, tmp_path, row):
    """A plan is decided: neither columns nor kinds can be changed by the command that predicts."""
    new = tmp_path / "new.jsonl"
    new.write_text(f'{row}\n{{"a": 0.5, "b": 1}}\n')
    assert call("learn", mail, "--target", "y", "--model", tmp_path / "m", folder=tmp_path).code == 0
    words = ("predict", new, "--model", tmp_path / "m")
    done = call(*words, folder=tmp_path)
    if "c" in row:
        assert done.code == 0, done.err
        return
    assert done.code == 1
    assert "--on-bad-row skip leaves it out" in done.err
    assert not re.search("--(ignore|categorical-features)", done.err)
    done = call(*words, "--on-bad-row", "skip", folder=tmp_path)
    assert (done.code, len(done.out.splitlines())) == (0, 2)


def test_columns_are_numbered_from_1_in_options_and_messages(tmp_path):
    path, model = tmp_path / "s.csv", tmp_path / "m"
    path.write_text("".join(f"{a},red,{b},{y}\n" for a, b, y in xor(300)))
    done = call("learn", path, "--target", "4", "--categories", "error", "--model", model, folder=tmp_path)
    assert "column 2: 'red' is not a number" in done.err
    assert "--ignore 2 leaves the column out" in done.err
    done = call("learn", path, "--target", "4", "--ignore", "2", "--model", model, folder=tmp_path)
    assert done.code == 0, done.err
    assert call("learn", path, "--target", "4", "--ignore", "2", "--model", model, folder=tmp_path).code == 0
    done = call("learn", path, "--target", "3", "--model", model, folder=tmp_path)
    assert "--target 3 differs from the model, which was made with --target 4" in done.err
    listed = call("inspect", model, folder=tmp_path).out
    assert "column 1  number" in listed
    assert "column 3  number" in listed
    for number, message in (
        ("0", "--target 0 is no column; columns are numbered from 1"),
        ("5", "there is no column 5; line 1 has 4"),
    ):
        done = call("learn", path, "--target", number, "--model", tmp_path / "n", folder=tmp_path)
        assert done.code in (1, 2)
        assert message in done.err


def test_indices_of_libsvm_are_those_of_the_file(tmp_path):
    path, model = tmp_path / "s.libsvm", tmp_path / "m"
    path.write_text("".join(f"{int(y == 'yes')} 1:{a} 2:{b} 3:7\n" for a, b, y in xor(300)))
    words = ("learn", path, "--features", "1,2", "--model", model, "--json")
    assert json.loads(call(*words, folder=tmp_path).out)["rows"] == 300
    assert call(*words, folder=tmp_path).code == 0
    assert streams.open(path, features=[1, 2]).plan["chosen"] == [1, 2]


@pytest.mark.parametrize("again", [("--leave-rest",), ("--fresh",)])
def test_hint_of_an_unfinished_run_works_when_followed(again, mail, tmp_path):
    broken, model = tmp_path / "broken.csv", tmp_path / "m"
    broken.write_text(mail.read_text() + "1,high,yes\n")
    assert call("learn", broken, "--model", model, folder=tmp_path).code == 1
    mail.write_text(table("a,b,y", xor(300, seed=1)))
    done = call("learn", mail, "--model", model, folder=tmp_path)
    assert done.code == 2
    assert again[0] in done.err
    assert call("learn", mail, "--model", model, *again, folder=tmp_path).code == 0


# New columns


def test_a_new_column_of_another_file_is_counted(mail, tmp_path):
    model, more = tmp_path / "m", tmp_path / "more.csv"
    assert call("learn", mail, "--target", "y", "--model", model, folder=tmp_path).code == 0
    more.write_text(table("a,c,b,y", [(a, 1, b, y) for a, b, y in xor(300, seed=1)]))
    words = ("learn", more, "--target", "y", "--model", model)
    done = call(*words, "--new-columns", "error", folder=tmp_path)
    assert done.code == 1
    assert "line 2: column 'c' is not in the first block" in done.err
    assert "--new-columns ignore accepts that" in done.err
    done = call(*words, "--new-columns", "ignore", "--json", folder=tmp_path)
    assert done.err == ""
    assert json.loads(done.out)["new_columns"] == {"c": 300}
    assert "new        c in 300 rows, left out" in call("inspect", model, folder=tmp_path).out
    done = call("predict", more, "--model", model, folder=tmp_path)
    assert done.code == 0
    assert "nolana: warning: " in done.err
    assert "nolana: new columns: c in 300 rows, left out" in done.err


def test_new_keys_are_counted_in_blocks_of_any_size():
    lines = [{"a": i, "y": 0} | ({"n": {"x": 1}} if i > 5 else {}) | ({"z": 1} if i == 9 else {}) for i in range(12)]
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()

    def resumed(rows):
        stream = streams.open(io.BytesIO(text), block_rows=rows)
        for _ in range(4 if rows == 1 else 2):
            next(stream)
        state = json.loads(json.dumps(stream.state(), default=np.ndarray.tolist))
        stream = streams.open(io.BytesIO(text), resume=state)
        stream.gather()
        return stream

    for rows in (1, 3, 5):
        with pytest.warns(StreamWarning, match="line 7: column 'n' is not in the first block"):
            stream = resumed(rows)
        assert stream.new_columns == {"n": 6, "z": 1}


def test_a_column_that_was_left_out_stays_out_and_can_be_forced_in(tmp_path):
    path, model = tmp_path / "s.csv", tmp_path / "m"
    path.write_text(table("id,a,b,y", [(i, *row) for i, row in enumerate(xor(1500))]))
    words = ("learn", path, "--target", "y", "--model", model, "--json")
    done = call(*words, folder=tmp_path)
    assert done.err.count("warning") == 1
    assert 'column 1 ("id") is a row number' in done.err
    assert "--keep-column id learns from it" in done.err
    with path.open("a") as file:
        file.writelines(f"{7 * i % 11},{a},{b},{y}\n" for i, (a, b, y) in enumerate(xor(300, seed=1)))
    done = call(*words, folder=tmp_path)
    assert done.err == ""
    assert json.loads(done.out)["left_out"] == {"id": "row number"}
    assert json.loads(call("inspect", model, "--json", folder=tmp_path).out)["features"] == 2
    assert "--fresh" in call(*words, "--keep-column", "id", folder=tmp_path).err
    assert call(*words, "--keep-column", "id", "--fresh", folder=tmp_path).code == 0
    assert json.loads(call("inspect", model, "--json", folder=tmp_path).out)["features"] == 3


@pytest.mark.parametrize("features", [400, 3000, 10_000])
def test_recommended_memory_is_enough(tmp_path, features):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20, features)).round(2).astype(str).tolist()
    header = ",".join([*(f"c{i}" for i in range(features)), "y"])
    lines = [",".join([*row, "ab"[i % 2]]) for i, row in enumerate(rows)]
    (tmp_path / "s.csv").write_text("\n".join([header, *lines]) + "\n")
    learn = ("learn", tmp_path / "s.csv", "--model", tmp_path / "m", "--memory")
    done = call(*learn, "32KB", folder=tmp_path)
    found = re.search(r"--memory 32768 is too small: .*; (--memory \w+) is enough", done.err)
    assert done.code == 1, done.err
    assert found is not None, done.err
    assert call(*learn[:-1], *found[1].split(), folder=tmp_path).code == 0


def test_after_an_invalid_row_of_a_pipe_the_rest_is_sent(tmp_path):
    """A pipe cannot be resumed, and the message does not say so."""
    rows = [f"{i % 7},{i % 5},{'ab'[i % 2]}" for i in range(2500)]
    rows[2200] = "x,1,a"
    text = "\n".join(["a,b,y", *rows]) + "\n"
    read, write = os.pipe()
    sender = threading.Thread(target=lambda: os.fdopen(write, "w").write(text))
    sender.start()
    done = call(
        "learn",
        "-",
        "--target",
        "y",
        "--model",
        tmp_path / "m",
        folder=tmp_path,
        stdin=f"/proc/{os.getpid()}/fd/{read}",
    )
    sender.join(60)
    os.close(read)
    assert done.code == 1
    assert "rows are learned and saved" in done.err
    assert "send only those after them" in done.err
    assert "resumes" not in done.err
