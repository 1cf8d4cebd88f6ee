"""Rows are not learned twice by accident, and a line that is still being written is not learned."""

import gzip
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolana
from commands import call, start, wait
from nolana import modelfile
from nolana.errors import ConflictError, ModelFileError
from nolana.runs import Checkpoints, Interval, Recipe, Scoring, SourceOptions, Stop, resume
from nolana.runs import start as start_run
from nolana.runs.checkpoints import MOST_SOURCES
from nolana.sources import text

FAST = Recipe(method="FOGD")


def lines(n, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, 2)).round(4)
    return [f"{a},{b},{'pos' if a * b > 0 else 'neg'}\n" for a, b in x]


def write(path, rows):
    path.write_text("a,b,kind\n" + "".join(rows))
    return path


def learn(source, model, *options, folder, stdin=os.devnull):
    words = ("learn", source, "--model", model, "--method", "FOGD", "--json", *options)
    return call(*words, folder=folder, stdin=stdin)


def new_rows(source, model, *options, **how):
    done = learn(source, model, *options, **how)
    assert done.code == 0, done.err
    return json.loads(done.out)["new_rows"]


@pytest.fixture
def two(tmp_path):
    """A model that has learned a.csv and then b.csv."""
    for name, seed in (("a.csv", 0), ("b.csv", 1)):
        source = write(tmp_path / name, lines(300, seed))
        assert new_rows(source, tmp_path / "m", folder=tmp_path) == 300
    return tmp_path


@pytest.mark.parametrize("name", ["a.csv", "b.csv"])
def test_a_source_that_was_learned_needs_again(two, name):
    before = (two / "m").read_bytes()
    done = call("learn", two / name, "--model", two / "m", folder=two)
    assert done.code == 0
    assert "nothing new: its rows were learned before; --again learns them once more" in done.out
    assert (two / "m").read_bytes() == before
    assert "b.csv, finished; 1 other before" in call("inspect", two / "m", folder=two).out
    assert new_rows(two / name, two / "m", "--again", folder=two) == 300
    assert new_rows(two / name, two / "m", folder=two) == 0


def test_a_renamed_rotated_or_compressed_source_is_recognised(two):
    (two / "a.csv").rename(two / "renamed.csv")
    assert new_rows(two / "renamed.csv", two / "m", folder=two) == 0
    packed = two / "a.csv.gz"
    packed.write_bytes(gzip.compress((two / "renamed.csv").read_bytes()))
    assert new_rows(packed, two / "m", folder=two) == 0
    assert new_rows("-", two / "m", folder=two, stdin=two / "renamed.csv") == 0


def test_a_rotated_log_that_grew_before_it_was_rotated_continues(two):
    rotated = two / "a.csv.1"
    (two / "a.csv").rename(rotated)
    with rotated.open("a") as file:
        file.writelines(lines(40, 7))
    assert new_rows(write(two / "a.csv", lines(50, 8)), two / "m", folder=two) == 50
    assert new_rows(rotated, two / "m", folder=two) == 40
    for name in ("a.csv", "a.csv.1", "b.csv"):
        assert new_rows(two / name, two / "m", folder=two) == 0
    assert nolana.load(two / "m").n_rows_ == 690
    assert len(modelfile.read(two / "m")["run"]["learned"]) == 2  # one entry for each other source


@pytest.mark.parametrize("name", ["a.csv", "b.csv"])
@pytest.mark.parametrize(
    "change",
    [
        lambda rows: [*rows[:150], rows[150].replace(",", "1,", 1), *rows[151:]],  # a value
        lambda rows: [rows[0][::-1].strip()[::-1] + "x\n", *rows[1:]],  # the first row
        lambda rows: rows[1:],
        lambda rows: [*rows[:200], "1,1,pos\n", *rows[200:]],
        lambda rows: rows[:250],
    ],
    ids=["middle", "first", "deleted", "inserted", "shortened"],
)
def test_a_source_edited_in_place_is_reported_as_changed(two, name, change):
    source = two / name
    write(source, change(source.read_text().splitlines(keepends=True)[1:]))
    before = (two / "m").read_bytes()
    done = learn(source, two / "m", folder=two)
    assert done.code == 2
    assert f"{source} has changed since its rows were learned into {two / 'm'}" in done.err
    assert (two / "m").read_bytes() == before
    done = learn(source, two / "m", "--again", folder=two)  # the remedy works
    assert done.code == 0, done.err


def test_a_table_edited_in_place_is_reported_as_changed(tmp_path):
    source = tmp_path / "t.parquet"
    for seed in (0, 1):
        x = np.random.default_rng(seed).normal(size=(200, 2))
        pq.write_table(pa.table({"a": x[:, 0], "b": x[:, 1], "kind": x[:, 0] > 0}), source)
        done = learn(source, tmp_path / "m", folder=tmp_path)
        assert done.code == (2 if seed else 0)
    assert "has changed" in done.err


def test_other_contents_under_the_same_name_are_learned(two):
    for seed in range(3, 6):
        assert new_rows(write(two / "a.csv", lines(200, seed)), two / "m", folder=two) == 200


def test_what_a_pipe_sends_is_learned_without_a_word(two):
    pipe = two / "pipe"
    os.mkfifo(pipe)
    for _ in range(2):
        words = ("learn", "-", "--model", two / "m", "--format", "csv", "--json")
        child = start(*words, folder=two, stdin=pipe)
        pipe.write_text((two / "a.csv").read_text())
        done = wait(child, two)
        assert done.err == ""
        assert json.loads(done.out)["new_rows"] == 300


def run_to(model, source, stop_after=None, **how):
    options, scoring = SourceOptions(), Scoring(window=100)
    if model.exists():
        run, _ = resume(model, str(source), options, FAST, scoring, **how)
    else:
        run = start_run(str(source), options, FAST, scoring)
    stop, blocks = Stop(), []

    def watch(_):
        blocks.append(1)
        if len(blocks) == stop_after:
            stop.request()

    checkpoints = Checkpoints(model, Interval(rows=100))
    run.process(stop=stop, checkpoints=checkpoints, on_block=watch)
    checkpoints.write(run)
    return run


def test_interrupted_over_several_sources_it_ends_in_the_same_bytes(tmp_path):
    sources = [write(tmp_path / f"{i}.csv", lines(350, i)) for i in range(4)]
    with sources[1].open("a") as file:
        file.writelines(lines(150, 9))
    order = [*sources, sources[1]]
    for source in order:
        run_to(tmp_path / "whole", source)
    for source in order:
        while not run_to(tmp_path / "parts", source, stop_after=1).finished:
            pass
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()
    assert nolana.load(tmp_path / "whole").n_rows_ == 4 * 350 + 150


def test_a_source_that_was_left_unfinished_continues_where_it_was_left(tmp_path):
    first, second, model = (
        write(tmp_path / "1.csv", lines(1500)),
        write(tmp_path / "2.csv", lines(300, 1)),
        tmp_path / "m",
    )
    run_to(model, first, stop_after=1)
    learned = nolana.load(model).n_rows_
    assert learned < 1500
    run_to(model, second, leave_rest=True)
    assert run_to(model, first).new_rows == 1500 - learned


def test_the_list_of_sources_is_bounded_and_checked(two):
    tree = modelfile.read(two / "m")
    (known,) = tree["run"]["learned"]
    assert known["source"] == str(two / "a.csv")
    many = [known | {"position": known["position"] | {"head": i}} for i in range(MOST_SOURCES)]
    modelfile.write(two / "m", tree | {"run": tree["run"] | {"learned": many}})
    assert new_rows(write(two / "c.csv", lines(50, 3)), two / "m", folder=two) == 50
    assert len(modelfile.read(two / "m")["run"]["learned"]) == MOST_SOURCES
    for wrong in (3, [3], [{}], [{"source": "a"}], [known | {"position": {"rows": 1}}], [known | {"more": 1}]):
        modelfile.write(two / "wrong", tree | {"run": tree["run"] | {"learned": wrong}})
        with pytest.raises(ModelFileError, match="learned"):
            resume(two / "wrong", str(two / "a.csv"), SourceOptions(), Recipe(), Scoring())


def test_a_large_file_is_compared_at_both_ends(tmp_path, monkeypatch):
    """It is not read again as a whole; what is not read is trusted."""
    monkeypatch.setattr(text, "LARGEST_CHECKED", 10_000)
    rows = lines(8000)
    source, model = write(tmp_path / "s.csv", rows), tmp_path / "m"
    run_to(model, source)
    source.write_text(source.read_text() + "".join(lines(30, 1)))
    assert run_to(model, source).new_rows == 30
    write(source, [*rows[:-100], *lines(100, 2), *lines(30, 1)])
    with pytest.raises(ConflictError, match="has changed"):
        run_to(model, source)


# The last line


@pytest.mark.parametrize(("name", "header", "row"), [
    ("s.csv", "a,b,kind\n", "{},{},{}\n"),
    ("s.jsonl", "", '{{"a": {}, "b": {}, "kind": {}}}\n'),
    ("s.svm", "", "{2} 1:{0} 2:{1}\n"),
])  # fmt: skip
def test_a_last_line_that_is_still_written_is_left_for_the_next_run(tmp_path, name, header, row):
    """Cut at any letter: the rows that are learned are those of the whole file."""
    rows = [row.format(i % 7 + 100, i % 5, i % 2 + 10) for i in range(60)]
    source, model = tmp_path / name, tmp_path / "m"
    whole = header + "".join(rows)
    first = header + "".join(rows[:50])
    for cut in range(len(first), len(first) + len(rows[50]), 7):
        model.unlink(missing_ok=True)
        source.write_text(whole[:cut])
        run = start_run(str(source), SourceOptions(last_line="leave"), FAST, Scoring())
        run.process()
        assert run.rows == 50
        assert run.stream.unfinished_line == (None if cut == len(first) else 51 + bool(header))
        run.save(model)
        source.write_text(whole)
        assert resume(model, str(source), SourceOptions(last_line="leave"), Recipe(), Scoring())[0].rows == 50
        assert run_all(model, source).rows == 60


def run_all(model, source):
    run, _ = resume(model, str(source), SourceOptions(last_line="leave"), Recipe(), Scoring())
    run.process()
    return run


def test_the_summary_says_what_was_left_and_the_option_takes_it(tmp_path):
    source, model = write(tmp_path / "s.csv", lines(50)), tmp_path / "m"
    source.write_text(source.read_text().rstrip("\n"))
    words = ("learn", source, "--model", model, "--method", "FOGD")
    done = call(*words, folder=tmp_path)
    assert "rows       49\n" in done.out
    assert "last line  line 51 has no line end and is left for the next run; --last-line take learns it now" in done.out
    assert json.loads(call(*words, "--json", folder=tmp_path).out)["unfinished_line"] == 51
    assert new_rows(source, model, "--last-line", "take", folder=tmp_path) == 1
    done = call(*words, folder=tmp_path)
    assert "last line" not in done.out
    for command in ("evaluate", "predict"):
        more = ("--model", model) if command == "predict" else ("--method", "FOGD")
        done = call(command, source, *more, "--json", folder=tmp_path)
        assert len(done.out.splitlines()) == 50 if command == "predict" else json.loads(done.out)["rows"] == 50


@pytest.mark.parametrize("content", ["a,b,kind", "a,b,kind\n1,2,x"])
def test_a_file_with_nothing_but_an_unfinished_line_says_so(tmp_path, content):
    source = tmp_path / "s.csv"
    source.write_text(content)
    done = learn(source, tmp_path / "m", folder=tmp_path)
    assert done.code == 1
    assert "has no line end" in done.err
    assert "--last-line take reads it" in done.err


def test_a_pipe_and_a_compressed_file_end_with_their_last_line(tmp_path):
    content = (write(tmp_path / "s.csv", lines(50)).read_text().rstrip("\n")).encode()
    packed = tmp_path / "s.csv.gz"
    packed.write_bytes(gzip.compress(content))
    assert new_rows(packed, tmp_path / "m", folder=tmp_path) == 50
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = start("learn", "-", "--model", tmp_path / "p", "--format", "csv", "--json", folder=tmp_path, stdin=pipe)
    pipe.write_bytes(content)
    assert json.loads(wait(child, tmp_path).out)["new_rows"] == 50
