"""Sources on typed columns: no flags, the same bits as frames, kill and resume, text of any kind."""

import io
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolana
from commands import call
from nolana import streams
from nolana.columns import encode, key
from nolana.errors import StreamError, StreamWarning
from nolana.runs import Recipe, Scoring, SourceOptions, resume, start
from nolana.serve.refusal import Refusal
from nolana.serve.rows import RowReader
from nolana.sources.plan import Plan

DATA = Path(os.environ.get("NOLANA_DATA", "/nowhere"))
MIXED = [
    "bank_marketing", "nycflights_late", "mushroom", "metro_traffic", "movielens100k", "insteval", "air_quality_co",
    "beijing_pm25",
]  # fmt: skip
TOWNS = ["Bonn", "", "Köln, am Rhein", 'the "Ulm"', "Ulm"]


def visits(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    x, towns = rng.normal(size=n).round(4), rng.integers(0, 5, n)
    frame = pd.DataFrame({
        "pages": np.where(rng.random(n) < 0.1, np.nan, x),
        "town": [TOWNS[t] or None for t in towns],
        "open": rng.random(n) < 0.5,
        "user": [f"u{u}" for u in rng.integers(0, 500, n)],
    })  # fmt: skip
    y = np.where(np.nan_to_num(x) + (towns == 2) + rng.normal(size=n) / 4 > 0.3, "yes", "no")
    return frame, y


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    frame, y = visits()
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    frame.assign(returns=y).to_csv(path, index=False)
    return path


def state_of(estimator):
    return estimator._learner.state()


def assert_same_state(first, second):
    a, b = state_of(first), state_of(second)
    assert a.keys() == b.keys()
    assert all(np.array_equal(a[name], b[name], equal_nan=True) for name in a)


@pytest.mark.skipif(not DATA.is_dir(), reason="needs real data; set NOLANA_DATA")
@pytest.mark.parametrize("name", MIXED)
def test_real_table_is_learned_without_flags_as_its_frame(name):
    frame = pd.read_csv(DATA / f"{name}.csv.gz", nrows=3000)
    y = frame.pop("target").to_numpy()
    text = frame.assign(target=y).to_csv(index=False).encode()
    stream = streams.open(io.BytesIO(text), target="target", growing="leave_out")
    model = (nolana.StreamClassifier if y.dtype.kind == "i" else nolana.StreamRegressor)(random_state=0, memory="64KB")
    other = type(model)(random_state=0, memory="64KB")
    for block in stream:
        model.learn(block.X, block.y)
    other.learn(frame[list(model.feature_names_in_)], y)
    assert model.schema_ == other.schema_
    assert_same_state(model, other)


def test_command_and_frame_end_in_the_same_bits(source, tmp_path):
    frame, y = visits()
    done = call("learn", source, "--model", tmp_path / "m", folder=tmp_path)
    assert (done.code, done.err) == (0, "")
    for line in ("pages  number", "town   category", "open   true or false", "user   category"):
        assert line in done.out
    model = nolana.load(tmp_path / "m")
    other = nolana.StreamClassifier(random_state=0)
    other.learn(frame, y)
    assert_same_state(model, other)
    shuffled = frame[["user", "town", "pages", "open"]]
    assert np.array_equal(model.predict_proba(shuffled), other.predict_proba(frame))
    other.save(tmp_path / "frame")
    lines = {name: call("predict", source, "--model", tmp_path / name, folder=tmp_path).out for name in ("m", "frame")}
    assert lines["m"].split()[1:] == lines["frame"].split()[1:] == other.predict(frame).tolist()
    more = call("learn", source, "--model", tmp_path / "frame", folder=tmp_path)
    assert more.code == 0, more.err
    assert nolana.load(tmp_path / "frame").n_rows_ == 6000


def test_interrupted_run_resumes_bit_for_bit(source, tmp_path):
    whole, part = tmp_path / "whole", tmp_path / "part"
    options = SourceOptions(target="returns")
    run = start(str(source), options, Recipe(), Scoring())
    run.process()
    run.save(whole)
    run = start(str(source), options, Recipe(), Scoring())
    run.process(stop=Once(), on_block=lambda _: None)
    assert 0 < run.rows < 3000
    run.save(part)
    run, _ = resume(part, str(source), options, Recipe(), Scoring())
    run.process()
    run.save(part)
    assert part.read_bytes() == whole.read_bytes()


class Once:
    """A stop after the first block."""

    signal = None

    def __init__(self):
        self._asked = 0

    @property
    def requested(self):
        self._asked += 1
        return self._asked > 1


def test_formats_give_the_same_rows(tmp_path):
    frame, y = visits(200)
    table = frame.assign(returns=y)
    sources = {"v.csv": table.to_csv(index=False), "v.jsonl": table.to_json(orient="records", lines=True)}
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), tmp_path / "v.parquet")
    rows = [streams.read(tmp_path / name, target="returns")[0] for name in (*sources, "v.parquet")]
    expected = encode(rows[0].schema, frame)
    for each in rows:
        assert each.schema == rows[0].schema
        assert each.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["01234", "99999"], "text"),
        (["0", "0.5"], "number"),
        (["1", "large"], "text"),
        (["", ""], "number"),
        (["true", ""], "bool"),
        (["7", "7"], "number"),
        ([*"123456789", "", "x"], "number"),
    ],
)
def test_kind_is_inferred_from_text(values, kind):
    if kind == "number" and "x" in values:
        with pytest.raises(StreamError, match=r"'x' is not a number; categorical_features=\['a'\] learns the column"):
            streams.read(io.BytesIO(("a,y\n" + "".join(f"{v},0\n" for v in values)).encode()))
        values = values[:-1]
    with streams.open(io.BytesIO(("a,y\n" + "".join(f"{v},0\n" for v in values)).encode())) as stream:
        assert stream.plan["columns"][0]["kind"] == kind


def test_declared_category_takes_numbers_and_strings():
    text = b"a,y\n1,0\n2,0\nx,1\n"
    X, _ = streams.read(io.BytesIO(text), categorical_features=["a"], block_rows=2)
    assert X[:, 0].tolist() == [key("1"), key("2"), key("x")]


def test_json_values_of_a_category_are_those_of_python():
    values = ["x", 5, 5.0, 0.5, True, None, "é", 'a"b\\c', "\u2028"]
    text = "".join(json.dumps({"a": value, "y": 0}) + "\n" for value in values).encode()
    X, _ = streams.read(io.BytesIO(text), target="y", categorical_features=["a"])
    assert np.array_equal(X[:, 0], [key(value) for value in values], equal_nan=True)


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """A column of text whose words decide, beside a date, a category and a number."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("reviews")
    labels = rng.integers(0, 2, 1500)
    words = [["warm", "clean", "quiet"] if label else ["cold", "dirty", "loud"] for label in labels]
    frame = pd.DataFrame({
        "time": [f"2024-03-{1 + i // 60:02d}T{i % 24:02d}:30:00" for i in range(1500)],
        "room": [f"r{i % 17}" for i in range(1500)],
        "price": rng.normal(size=1500).round(3),
        "comment": [" ".join(rng.permutation([*own, *(f"w{j}" for j in rng.integers(0, 99, 5))])) for own in words],
    })  # fmt: skip
    frame.assign(y=labels).to_csv(folder / "reviews.csv", index=False)
    return folder / "reviews.csv", frame, labels


def test_text_features_of_the_command_are_learned_as_those_of_a_frame(reviews, tmp_path):
    source, frame, labels = reviews
    done = call("learn", source, "--model", tmp_path / "m", "--text-features", "comment", folder=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "comment  text, words hashed" in done.out
    model, other = nolana.load(tmp_path / "m"), nolana.StreamClassifier(random_state=0, text_features=["comment"])
    other.learn(frame, labels)
    assert_same_state(model, other)
    predicted = call("predict", source, "--model", tmp_path / "m", folder=tmp_path).out.split()[1:]
    assert predicted == [str(label) for label in other.predict(frame)]
    assert "comment  text, words hashed" in call("inspect", tmp_path / "m", folder=tmp_path).out
    scored = call("evaluate", source, "--text-features", "comment", folder=tmp_path)
    assert [line for line in scored.out.split("\n") if "score" in line] == [
        line for line in done.out.split("\n") if "score" in line
    ]


def test_requests_of_a_model_with_text_have_as_many_rows_as_others(reviews):
    with streams.open(str(reviews[0]), text_features=["comment"]) as stream:
        reader = RowReader(Plan.from_dict(stream.plan), "classification", 1e50)
    assert reader.most_rows > 100_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--categorical-features", "comment"], "--text-features comment contradicts --categorical-features comment"),
        (["--method", "nolana"], "--text-features comment needs the method stream"),
        (["--missing", "mean"], "--text-features comment cannot be combined with --missing mean"),
        (["--categories", "hash"], "--text-features comment cannot be combined with --categories hash"),
    ],
)
def test_text_features_that_contradict_other_options_are_refused(reviews, tmp_path, options, message):
    done = call("evaluate", reviews[0], "--text-features", "comment", *options, folder=tmp_path)
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize(
    "column", ["2024-01-01", "2024-01-01T00:00:00", 1_704_067_200, 1_704_067_200_000], ids=["date", "time", "s", "ms"]
)
def test_dates_of_files_have_the_parts_of_frames(tmp_path, column):
    """All of them, whatever the first block covers."""
    frame = pd.DataFrame({"timestamp": [column] * 30, "a": range(30)})
    frame.assign(y=0.5).to_csv(tmp_path / "rows.csv", index=False)
    X, _ = streams.read(str(tmp_path / "rows.csv"), target="y", growing="leave_out")
    model = nolana.StreamRegressor(random_state=0)
    model.learn(frame, [0.5] * 30)
    assert X.schema == model.schema_
    assert X.schema.columns[0].parts == ("hour", "weekday", "day of year")
    np.testing.assert_array_equal(X, encode(model.schema_, frame))


def test_ids_of_files_are_categories_as_those_of_frames(tmp_path):
    frame = pd.DataFrame({"user_id": [5, 12, 5, 7] * 60, "row_id": range(240), "a": [0.5, 1.0, 2.0] * 80})
    frame.assign(y=0.5).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.warns(StreamWarning, match="row number"):
        X, _ = streams.read(str(tmp_path / "rows.csv"), target="y", growing="leave_out")
    model = nolana.StreamRegressor(random_state=0)
    features = frame[["user_id", "a"]]
    model.learn(features, [0.5] * 240)
    assert X.schema == model.schema_
    assert X.schema.categories == [0]
    np.testing.assert_array_equal(X, encode(model.schema_, features))
    X, _ = streams.read(str(tmp_path / "rows.csv"), target="y", growing="leave_out", keep_column=["user_id", "row_id"])
    assert X.schema.plain


def test_names_of_categories_are_bounded_and_independent_of_blocks():
    text = "a,y\n" + "".join(f"w{'x' * (i % 100)}{i},0\n" for i in range(500))
    states = []
    for size in (1, 7, 500):
        with streams.open(io.BytesIO(text.encode()), block_rows=size) as stream:
            list(stream)
            states.append(stream.state()["encoder"])
    assert states[0] == states[1] == states[2]
    [names] = states[0]["categories"]
    assert len(names) == 64
    assert max(len(name) for _, name in names) == 64


def test_method_of_numbers_alone_falls_back_and_says_so(source, tmp_path):
    done = call("learn", source, "--model", tmp_path / "m", "--method", "nolana", folder=tmp_path)
    assert done.code == 0, done.err
    assert "town   category, one-hot in" in done.out
    assert "nolana learns numbers alone: categories are encoded, missing values are filled in" in done.out
    assert call("predict", source, "--model", tmp_path / "m", folder=tmp_path).code == 0


def test_inspect_shows_effects_of_categories(source, tmp_path):
    assert call("learn", source, "--model", tmp_path / "m", folder=tmp_path).code == 0
    done = call("inspect", tmp_path / "m", folder=tmp_path)
    assert done.code == 0, done.err
    assert "effects    town: " in done.out
    assert "Köln, am Rhein +" in done.out
    facts = json.loads(call("inspect", tmp_path / "m", "--json", folder=tmp_path).out)
    [effect] = facts["categories"]["effects"]["town"]["Köln, am Rhein"]
    [other] = facts["categories"]["effects"]["town"]["Ulm"]
    assert facts["categories"]["outputs"] == ["yes"]
    assert effect > other + 0.3
    assert facts["columns"]["town"] == "category"


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["2", "oops", "5"], "number"), (["2", "oops"], "category"), (["2", "a", "b", "5"], "category")],
)
def test_one_string_among_numbers_is_an_invalid_value(values, kind):
    text = "a,y\n" + "".join(f"{value},{i % 2}\n" for i, value in enumerate(values))
    with nolana.sources.open(io.BytesIO(text.encode()), target="y", on_bad_row="skip") as stream:
        rows, _ = stream.gather()
    assert rows.schema.columns[0].kind == kind
    assert len(rows) == len(values) - (kind == "number")


def invalid_rows(rows=600):
    lines = ["a,b,c,y"]
    for i in range(rows):
        a, b = "high" if i in (20, 40) else f"{i % 7}.5", "inf" if i == 40 else "oops" if i % 50 == 49 else i % 11
        lines.append(f"{a},{b},t{i % 3},{'' if i == 60 else i % 2}")
    return "\n".join(lines).encode()


@pytest.mark.parametrize("chunk_bytes", [64, 1 << 20])
def test_all_invalid_cells_of_a_block_are_in_one_error(chunk_bytes):
    with pytest.raises(StreamError) as caught:
        streams.read(io.BytesIO(invalid_rows()), target="y", chunk_bytes=chunk_bytes)
    problems = [caught.value, *caught.value.others]
    places = [(problem.line, problem.place.name) for problem in problems]
    assert places == [(22, "a"), (42, "b"), (51, "b"), (62, "y")]  # 'inf' and 'oops' are two problems of b
    assert caught.value.more == 12


def test_invalid_cells_of_later_blocks_are_in_later_errors():
    text = invalid_rows()
    with streams.open(io.BytesIO(text), target="y", block_rows=30, categorical_features=["a"]) as stream:
        assert len(next(stream).X) == 30
        with pytest.raises(StreamError) as caught:
            next(stream)
    assert [problem.line for problem in (caught.value, *caught.value.others)] == [42, 51]


def test_request_with_several_invalid_values_names_all_of_them():
    text = b"a,b,c,y\n" + b"1,2,x,0\n2,3,z,1\n" * 20
    with streams.open(io.BytesIO(text), target="y") as stream:
        reader = RowReader(Plan.from_dict(stream.plan), "classification", 1e50)
    rows = b'{"a":"p","b":"q","c":"x","y":0}\n{"a":1,"b":2,"c":[1],"y":0}\n{"a":1,"b":2,"c":"x"}'
    with pytest.raises(Refusal) as caught:
        reader.read(rows, labelled=True)
    answer = caught.value.answer(str)
    assert [(each.get("row"), each.get("column")) for each in answer["problems"]] == [
        (1, "a"), (1, "b"), (2, "c"), (None, None),
    ]  # fmt: skip
    assert "row 3 has no label" in answer["error"]
