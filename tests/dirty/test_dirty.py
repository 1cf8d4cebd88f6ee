"""Malformed files: what docs/dirty-data.md says about each of them, line by line."""

import json
import re
import shlex
import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dirty.make import make, xor
from nolana.cli.app import run
from nolana.runs import Recipe, Scoring, SourceOptions, start

TABLE = Path(__file__).parents[2] / "docs" / "dirty-data.md"


def lines():
    """The lines of the table: input, file, options, what happens, remedy."""
    rows = [line.strip() for line in TABLE.read_text().splitlines() if line.startswith("|")]
    for row in rows[2:]:
        yield [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def words(cell):
    return [word for text in re.findall("`([^`]*)`", cell) for word in shlex.split(text)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("dirty")
    make(path)
    return path


@pytest.fixture
def command(monkeypatch, capfd):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["nolana", *map(str, arguments)])
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            code = run()
        sys.stdout.flush()
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def replaced(command, options):
    """The command with other values for these options."""
    kept = list(command)
    for option in options:
        if option.startswith("--") and option in kept:
            at = kept.index(option)
            del kept[at : at + 2]
    return [*kept, *options]


@pytest.mark.parametrize("line", list(lines()), ids=lambda line: f"{line[1]} {line[2]}".strip())
def test_table_line_happens_as_documented_and_remedy_works(line, folder, tmp_path, command):
    _, file, options, happens, remedy = line
    target = [] if file.endswith("libsvm") or "--target" in options else ["--target", "y"]
    base = ["learn", folder / file, *target, "--model", tmp_path / "m", "--memory", "64KB", *words(options)]
    code, out, err = command(*base)
    assert "Traceback" not in err
    for fragment in re.findall("`([^`]*)`", happens):
        if not fragment.startswith("place."):
            assert fragment in " ".join([out, err])
    if not happens.startswith("error"):
        assert code == 0, err
        assert out.splitlines()[1].split()[1] == happens.split()[0], out
        return
    assert code == 1, out
    messages = [line for line in err.splitlines() if not line.startswith("- ")]  # further problems of the block
    assert len(messages) == 1 + err.count("warning:"), err
    if remedy:
        code, out, err = command(*replaced(base, words(remedy)))
        assert code == 0, err
        assert "learned to the end" in out


def test_table_lists_every_file(folder):
    assert {line[1] for line in lines()} == {path.name for path in folder.iterdir()}


# Columns that hurt

N = 20_000


def accuracies(command, path, *options):
    code, out, err = command("learn", path, "--target", "y", "--model", path.with_suffix(".m"), "--json", *options)
    assert code == 0, err
    facts = json.loads(out)
    assert facts["rows"] == N
    return facts["recent"]["accuracy"], facts


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """The rows, and the accuracy over the last 1,000 of them without any other column."""
    rows = xor(N)
    path = tmp_path_factory.mktemp("clean") / "xor.csv"
    path.write_text("a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows))
    undisturbed = start(str(path), SourceOptions(target="y"), Recipe(), Scoring())
    undisturbed.process()
    return rows, undisturbed.recent["accuracy"]


def moment(seconds):
    return datetime.fromtimestamp(1_700_000_000 + seconds, UTC).isoformat()[:19]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("row number", lambda i: i),
        ("UNIX time", lambda i: 1_700_000_000 + 60 * i + i % 7),
        ("minutes", lambda i: moment(60 * i)),
        ("hours", lambda i: moment(3600 * i)),
    ],
)
def test_a_row_number_or_a_time_costs_less_than_a_point(name, value, clean, tmp_path, command):
    rows, expected = clean
    path = tmp_path / "xor.csv"
    path.write_text("t,a,b,y\n" + "".join(f"{value(i)},{a},{b},{y}\n" for i, (a, b, y) in enumerate(rows)))
    accuracy, facts = accuracies(command, path)
    assert accuracy >= expected - 0.01
    assert facts["left_out"] == ({"t": name} if name in ("row number", "UNIX time") else {})


def test_one_cell_of_minus_9999_costs_less_than_a_point(clean, tmp_path, command):
    rows, expected = clean
    path = tmp_path / "xor.csv"
    path.write_text("a,b,y\n" + "".join(f"{-9999 if i == 3000 else a},{b},{y}\n" for i, (a, b, y) in enumerate(rows)))
    accuracy, _ = accuracies(command, path)
    assert accuracy >= expected - 0.01
