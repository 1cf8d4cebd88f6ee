"""Columns as numbers: kinds, categories, times, what is missing; plans that fit other sources; bad rows put aside."""

import csv
import io
import json
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nolana import streams
from nolana.columns.times import column, seconds
from nolana.errors import StreamError

STRICT = {"categories": "error", "missing": "error"}


def open_text(text, **parameters):
    return streams.open(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **parameters)


def read(text, **parameters):
    with open_text(text, **parameters) as stream:
        return stream.gather()


# Choice


def test_columns_are_left_out_by_name_and_index():
    text = "a,b,c,y\n1,x,3,0\n4,z,6,1\n"
    assert read(text, ignore=["b"])[0].tolist() == [[1, 3], [4, 6]]
    assert read(text, ignore=[1, -2])[0].tolist() == [[1], [4]]
    assert read("1 1:5 2:6 3:7\n", ignore=[2])[0].tolist() == [[5, 7]]
    for parameters, message in (
        ({"ignore": ["y"], "target": "y"}, r"ignore=\['y'\] has the target, target='y', which cannot be ignored"),
        ({"ignore": ["a"], "features": ["a", "c"]}, r"ignore=\['a'\] is among the features too"),
        ({"ignore": ["q"]}, "ignore: no column is named 'q'"),
        ({"ignore": ["a", "b", "c"]}, "no column is left for the features"),
    ):
        with pytest.raises(ValueError, match=message):
            read(text, **parameters)
    with pytest.raises(TypeError, match="ignore='b' is a string; pass a list of columns, \\['b'\\]"):
        read(text, ignore="b")


# Kinds


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))
def test_times_are_seconds_since_1970(moment):
    expected = (moment - datetime(1970, 1, 1)).total_seconds()
    assert seconds(moment.isoformat()) == expected
    assert seconds(moment.isoformat(" ") + "Z") == expected
    assert seconds(moment.isoformat() + "+01:30") == pytest.approx(expected - 5400, abs=1e-5)
    assert seconds(moment.date().isoformat()) == expected // 86400 * 86400


@given(
    st.lists(st.datetimes().map(lambda t: t.replace(microsecond=0).isoformat()), min_size=1, max_size=5),
    st.integers(0, 18),
    st.sampled_from("0259 T-:.é\0"),
)
@example(["0000-01-01T00:00:00"], 0, "0")
@example(["2023-02-29T00:00:00", "2024-02-29T00:00:00"], 0, "2")
@example(["2024-01-01T24:00:00"], 0, "2")
@example(["2024-06-30T23:59:60"], 0, "2")
def test_a_column_of_times_is_its_times(texts, at, letter):
    mutated = texts[0][:at] + letter + texts[0][at + 1 :]
    for some in (texts, [*texts, mutated], [mutated], [*texts, None], [*texts, texts[0][:10]]):
        expected = np.array([seconds(text or "") for text in some], dtype=np.float64)
        np.testing.assert_array_equal(column(some), expected)


def test_what_is_no_time():
    for text in ("", "2024", "2024-13-01", "2024-02-30", "20240101", "12:00", "2024-01-01Tnoon", "2024-01-01T25:00"):
        assert seconds(text) is None


def test_kinds_are_told_by_the_first_block():
    text = "when,ok,n,y\n2024-01-01,true,1,0\n2024-01-01T00:00:01Z,False,2,1\n"
    with open_text(text) as stream:
        assert [c["kind"] for c in stream.plan["columns"]] == ["time", "bool", "number"]
        X, _ = stream.gather()
    assert X.tolist() == [[1704067200, 1, 1], [1704067201, 0, 2]]
    for bad, message in (
        ("yesterday,true,1,0", r"column 1 \(\"when\"\): 'yesterday' is not a date or time"),
        ("2024-01-01,1,1,0", r"column 2 \(\"ok\"\): '1' is not true or false"),
        ("2024-01-01,true,true,0", r"column 3 \(\"n\"\): 'true' is not a number"),
    ):
        with pytest.raises(StreamError, match="line 4, " + message):
            read(text + bad + "\n", block_rows=1, categories="error")
    assert read("2024-01-01,5\n2024-01-02,6\n")[0].shape == (2, 1)  # a date is no name of a column


def test_text_columns_say_how_they_can_be_read():
    text = "a,colour,y\n1,red,0\n2,blue,1\n"
    with pytest.raises(
        StreamError, match=r"line 2, column 2 \(\"colour\"\): 'red' is not a number, nor is any"
    ) as caught:
        read(text, categories="error")
    assert "categories='hash' or categories='onehot' turns strings" in str(caught.value)
    assert "ignore=['colour']" in str(caught.value)
    with pytest.raises(ValueError, match="categories='dummies' is not one of: native, error, hash, onehot"):
        read(text, categories="dummies")
    with pytest.raises(ValueError, match="hash_slots=0 is not an integer of at least 1"):
        read(text, categories="hash", hash_slots=0)
    with pytest.raises(ValueError, match="LIBSVM text has numbers only"):
        read("1 1:1\n", missing="mean")


def test_hashing_is_stable_and_signed():
    texts = [f"word {i}" for i in range(400)]
    text = "w,y\n" + "".join(f"{t},0\n" for t in texts)
    X, _ = read(text, categories="hash", hash_slots=8)
    assert X.shape == (400, 8)
    assert (np.abs(X).sum(axis=1) == 1).all()
    assert np.abs(X).sum(axis=0).min() > 20  # 50 expected in each slot
    assert 120 < (X == 1).sum() < 280
    assert [int(np.abs(row).argmax()) for row in X[:6]] == HASHED  # never Python's hash(), which is salted


HASHED = [0, 4, 6, 6, 7, 1]  # saved models count on these places


def test_one_hot_fills_up_in_order_of_appearance():
    text = 'c,y\nb,0\n"a",0\nb,0\nc,0\nd,0\na,0\n'
    with open_text(text, categories="onehot", max_categories=2) as stream:
        assert stream.feature_names == ["c[0]", "c[1]", "c[other]"]
        X, _ = stream.gather()
    assert X.argmax(axis=1).tolist() == [0, 1, 0, 2, 2, 1]
    assert (X.sum(axis=1) == 1).all()


# What is missing


def naive_fill(rows):
    """Row by row: the mean of what the column said before, 0 at first."""
    seen, out = [[] for _ in rows[0]], []
    for row in rows:
        out.append([v if v is not None else float(np.mean(s)) if s else 0.0 for v, s in zip(row, seen, strict=True)])
        for v, s in zip(row, seen, strict=True):
            if v is not None:
                s.append(v)
    return np.array(out)


CELL = st.none() | st.integers(-1000, 1000).map(float)


@given(
    rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=30),
    size=st.integers(1, 31),
    chunk=st.integers(1, 60),
    spell=st.sampled_from(["", "NA", "NaN", "null", "n/a"]),
)
def test_missing_values_become_the_mean_of_the_rows_before(rows, size, chunk, spell):
    text = "a,b,y\n" + "".join(",".join(spell if v is None else repr(v) for v in row) + ",0\n" for row in rows)
    expected = naive_fill(rows)
    X, _ = read(text, missing="mean", block_rows=size, chunk_bytes=chunk)
    np.testing.assert_allclose(X, expected, rtol=1e-12, atol=1e-12)  # order of summation
    gone = np.array([[v is None for v in row] for row in rows])
    X, _ = read(text, missing="indicator", block_rows=size, chunk_bytes=chunk)
    np.testing.assert_allclose(X, np.hstack([expected, gone]), rtol=1e-12, atol=1e-12)
    lines = [
        json.dumps({k: v for k, v in zip("aby", [*row, 0], strict=True) if v is not None or k == "b"}) for row in rows
    ]
    lines[0] = json.dumps(dict(zip("aby", [*rows[0], 0], strict=True)))
    again, _ = read("\n".join(lines), format="jsonl", missing="indicator", block_rows=size, chunk_bytes=chunk)
    assert again.tobytes() == X.tobytes()


def test_means_of_huge_numbers_stay_finite():
    text = "a,y\n" + "1.7e308,0\n" * 50 + ",0\n" + "-1.7e308,0\n" * 120 + ",0\n"
    X, _ = read(text, missing="mean")
    assert np.isfinite(X).all()
    assert X[50, 0] == pytest.approx(1.7e308)
    assert X[-1, 0] == pytest.approx(1.7e308 * ((50 - 120) / 170))


def test_missing_in_categories_and_labels():
    text = "c,n,y\nred,1,0\n,2,1\nNA,3,0\nblue,4,\n"
    with open_text(text, missing="indicator", categories="onehot", max_categories=2, on_bad_row="skip") as stream:
        X, y = stream.gather()
    assert X.tolist() == [[1, 0, 0, 1, 0, 0], [0, 0, 0, 2, 1, 0], [0, 0, 0, 3, 1, 0]]
    assert y.tolist() == [0, 1, 0]
    assert stream.bad_rows_by_reason == {"label": 1}
    with pytest.raises(StreamError, match=r"line 3, column 1 \(\"c\"\): the field is empty; missing="):
        read(text, categories="hash", missing="error")


# Plans


def test_a_plan_matches_columns_by_name_in_any_order_and_format(tmp_path):
    text = "a,c,b,y\n1,red,2,cat\n3,blue,4,dog\n5,red,,cat\n"
    first = open_text(text, categories="onehot", max_categories=3, missing="mean")
    X, _ = first.gather()
    plan = json.loads(json.dumps(first.plan))
    assert plan["columns"] == [
        {"column": "a", "kind": "number"},
        {"column": "c", "kind": "text"},
        {"column": "b", "kind": "number"},
    ]
    encoder = first.state()["encoder"]
    sources = {
        "x.csv": "z;b;y;a;c\n9;4;dog;3;blue\n",
        "x.jsonl": '{"c": "blue", "z": 1, "b": 4, "y": "dog", "a": 3}\n',
    }
    table = pa.table({"y": ["dog"], "b": [4], "c": ["blue"], "a": [3.0], "z": [0]})
    pq.write_table(table, tmp_path / "x.parquet")
    for name, content in sources.items():
        (tmp_path / name).write_text(content)
    for name in (*sources, "x.parquet"):
        found = streams.open(
            tmp_path / name, plan=plan, encoder=encoder, **({"delimiter": ";"} if "csv" in name else {})
        )
        block = next(found)
        assert block.X.tolist() == X[1:2].tolist()
        assert block.y.tolist() == ["dog"]
        assert found.plan["columns"] == plan["columns"]
    with pytest.raises(StreamError, match="no column is named 'c', 'b'; the source has: 'a', 'y'"):
        read("a,y\n1,cat\n", plan=plan)
    with pytest.raises(StreamError, match=r"no column is named 'y'; .*target=False reads without labels"):
        read("a,b,c\n1,2,red\n", plan=plan)
    X, y = read("a,b,c\n1,2,red\n", plan=plan, encoder=encoder, target=False)
    assert X.tolist() == [[1, 1, 0, 0, 0, 2]]
    assert y is None


def test_an_encoder_that_is_given_learns_nothing_more():
    first = open_text("a,c,y\n1,red,0\n3,blue,0\n", categories="onehot", missing="mean")
    first.gather()
    state = first.state()
    second = open_text("a,c,y\n100,green,0\n,red,0\n,green,0\n", plan=first.plan, encoder=state["encoder"])
    X, _ = second.gather()
    assert X[:, 0].tolist() == [100, 2, 2]
    assert X[:, 1:].argmax(axis=1).tolist() == [32, 0, 32]
    third = open_text("a,c,y\n100,green,0\n,red,0\n,green,0\n", resume={**state, "position": None})
    X, _ = third.gather()
    assert X[:, 0].tolist() == [100, 104 / 3, 104 / 3]
    assert X[:, 1:].argmax(axis=1).tolist() == [2, 0, 2]


def test_plans_without_names_go_by_index():
    plan = open_text("1,2,7\n3,4,8\n", target=0).plan
    X, y = read("1,2,7\n", plan=plan)
    assert (X.tolist(), y.tolist()) == ([[2, 7]], [1])
    X, y = read("2,7\n5,6\n", plan=plan, target=False)
    assert (X.tolist(), y) == ([[2, 7], [5, 6]], None)
    with pytest.raises(StreamError, match="expected 3 columns, as in the plan, got 2 without names"):
        read("2,7\n", plan=plan)
    plan = open_text("1 1:1 3:2\n", n_features=4).plan
    assert read("1 2:5\n", plan=json.loads(json.dumps(plan)))[0].tolist() == [[0, 5, 0, 0]]
    assert read("2:5\n", plan=plan, target=False, format="libsvm")[0].tolist() == [[0, 5, 0, 0]]


def test_plans_settle_what_they_settle():
    plan = open_text("a,b,y\n1,2,0\n").plan
    for parameters, message in (
        ({"features": ["a"]}, "features= is already decided by the plan; leave it out"),
        ({"missing": "mean"}, "already decided by the plan: .*missing='native'; leave"),
        ({"resume": {}}, "leave plan= out"),
    ):
        with pytest.raises(ValueError, match=message):
            read("a,b,y\n1,2,0\n", plan=plan, **parameters)
    with pytest.raises(ValueError, match="not the plan of a stream"):
        read("a,b,y\n1,2,0\n", plan={"version": 1})
    with pytest.raises(ValueError, match="the plan has version 7"):
        read("a,b,y\n1,2,0\n", plan=plan | {"version": 7})
    with pytest.raises(ValueError, match="resume= is not the state of a stream"):
        read("a,b,y\n1,2,0\n", resume={"plan": plan})
    with pytest.raises(ValueError, match="<stream>: expected columns as in the csv source of the plan, got libsvm"):
        read("1 1:2\n", plan=plan, format="libsvm")


# Bad rows

MIXED = "a,b,y\n1,2,0\noops,2,0\n3\n4,5,x\n\n6,,0\n7,8,1\n"


def test_bad_rows_are_skipped_and_counted():
    for size in (1, 2, 10):
        with open_text(MIXED, on_bad_row="skip", block_rows=size, labels="int", **STRICT) as stream:
            blocks = list(stream)
        assert np.concatenate([b.X for b in blocks]).tolist() == [[1, 2], [7, 8]]
        assert np.concatenate([b.lines for b in blocks]).tolist() == [2, 8]
        assert stream.bad_rows == 4
        assert stream.bad_rows_by_reason == {"number": 1, "format": 1, "label": 1, "missing": 1}
        assert blocks[-1].position.rows == 2


def test_bad_rows_are_put_aside(tmp_path):
    path = tmp_path / "bad.jsonl"
    with open_text(MIXED, on_bad_row=f"quarantine={path}", labels="int", **STRICT) as stream:
        stream.gather()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(r["file"], r["line"], r["reason"], r["text"]) for r in records] == [
        ("<stream>", 3, "number", "oops,2,0"),
        ("<stream>", 4, "format", "3"),
        ("<stream>", 5, "label", "4,5,x"),
        ("<stream>", 7, "missing", "6,,0"),
    ]
    assert records[0]["message"].endswith("column 1 (\"a\"): 'oops' is not a number")
    for wrong in ("ignore", "quarantine", "quarantine=", 3):
        with pytest.raises(ValueError, match="on_bad_row="):
            read(MIXED, on_bad_row=wrong)


def test_of_a_broken_row_only_one_line_is_lost():
    text = 'a,y\n1,0\n2,"x\n3,0\n4,1\n'
    assert read(text, on_bad_row="skip", labels="int")[0].tolist() == [[1], [3], [4]]
    text = '{"a": 1, "y": 0}\n{"a": \n{"a": 2, "y": 1}\nnull\n'
    assert read(text, on_bad_row="skip")[0].tolist() == [[1], [2]]
    text = "1 1:1\n1 1:x\n\n0 0:1\n1 1:2\n"
    with open_text(text, on_bad_row="skip") as stream:
        assert stream.gather()[0].tolist() == [[1], [2]]
    assert stream.bad_rows == 2


def test_bad_rows_of_a_table(tmp_path):
    table = pa.table({"a": [1.0, None, 3.0, float("inf")], "y": [0, 1, None, 1]})
    pq.write_table(table, tmp_path / "t.parquet")
    aside = streams.Quarantine(tmp_path / "bad")
    with streams.open(tmp_path / "t.parquet", on_bad_row=aside, missing="error") as stream:
        X, y = stream.gather()
    assert (X.tolist(), y.tolist()) == ([[1]], [0])
    records = [json.loads(line) for line in (tmp_path / "bad").read_text().splitlines()]
    assert [(r["line"], r["reason"]) for r in records] == [(2, "missing"), (3, "label"), (4, "number")]
    assert json.loads(records[0]["text"]) == {"a": None, "y": 1}


def test_csv_of_the_standard_library(tmp_path):
    path = tmp_path / "x.csv"
    rows = [[1.5, "a,b", "x\ny"], [-2e-9, 'say "hi"', "é"], [0.0, " a", ""]]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["n", "c", "d"], *rows])
    X, _ = streams.read(path, target=False, categories="onehot", max_categories=3, missing="mean")
    assert X[:, 0].tolist() == [row[0] for row in rows]
    assert X[:, 1:4].tolist() == np.eye(3).tolist()
    assert X[:, 5:8].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
