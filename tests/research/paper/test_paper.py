"""``nolana paper``: the runner, the report, the command, and the table and curves on small made-up rows."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import nolana.cli.paper as command
from nolana import datasets
from nolana.cli.app import app
from nolana.plot import Panel, svg
from nolana.research.paper.experiments import EXPERIMENTS, experiments
from nolana.research.paper.experiments.curves import Curves
from nolana.research.paper.experiments.table1 import METHODS, Table1
from nolana.research.paper.harness import FULL, QUICK, Cell
from nolana.research.paper.harness.runner import CELLS, ResultStore, digest_of, run
from nolana.research.report import Figure, Grid, Section, Text, page
from paper_source import TINY, Balanced, MadeUp, chain, in_order

ONLY_CPUSMALL = MadeUp(80, tuple(name for name in datasets.catalogue() if name != "cpusmall"))
TIMES = ("seconds", "microseconds")


def numbers(directory, cells, jobs=1):
    """The results of cells, and how many of them were reported as finished."""
    finished = []
    results = run(
        cells, None, ResultStore(directory), jobs=jobs, label="test", progress=lambda key, cost: finished.append(key)
    )
    assert sorted(finished) == sorted(cell.key for cell in cells)
    return results


def lines_of(path):
    return path.read_text().split()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What the chain comes to where nothing goes wrong."""
    return in_order(chain(tmp_path_factory.mktemp("whole") / "log"), None)


def test_a_killed_run_resumes(tmp_path, expected):
    """SIGKILL from within cell 3, and the last line that was written cut in half."""
    log, out = tmp_path / "log", tmp_path / "out"
    script = (
        "from pathlib import Path; from paper_source import chain; "
        "from nolana.research.paper.harness.runner import ResultStore, run; "
        f"run(chain({str(log)!r}, n3='kill'), None, ResultStore(Path({str(out)!r})), jobs=1, label='test', "
        "progress=lambda key, cost: None)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[2] / "support", capture_output=True, timeout=120
    )
    assert killed.returncode == -9, killed.stderr.decode()
    cells = (out / CELLS).read_bytes()
    assert cells.count(b"\n") == 3
    (out / CELLS).write_bytes(cells[:-20])
    log.unlink()
    found = numbers(out, chain(log, n3="kill"))
    assert found == expected
    assert lines_of(log) == ["2", "3", "4", "5"]  # 0 and 1 were stored complete
    assert len(ResultStore(out)._lines) == 6


def test_a_cell_that_fails_ends_the_run_and_finished_results_stay_stored(tmp_path, expected):
    log = tmp_path / "log"
    with pytest.raises(ArithmeticError, match="cell 4 fails once"):
        numbers(tmp_path, chain(log, n4="raise"))
    assert numbers(tmp_path, chain(log, n4="raise"), jobs=2) == expected
    assert sorted(lines_of(log)) == ["0", "1", "2", "3", "4", "4", "5"]
    before = (tmp_path / CELLS).read_bytes()
    assert numbers(tmp_path, chain(log, n4="raise")) == expected
    assert (tmp_path / CELLS).read_bytes() == before


def test_a_plan_that_lacks_a_cell_is_refused(tmp_path):
    with pytest.raises(ValueError, match="lacks the cells that these need: cell 1"):
        numbers(tmp_path, [cell for cell in chain(tmp_path / "log", 2) if cell.needs])


def test_a_result_counts_only_for_what_it_was_made_of(tmp_path):
    cell = Cell("one", in_order, {"rows": 10}, ("other",))
    given = {"other": {"value": 1.0}}
    digest = digest_of(cell, given, "here")
    changes = [
        digest_of(Cell("one", in_order, {"rows": 11}, ("other",)), given, "here"),
        digest_of(Cell("one", chain, {"rows": 10}, ("other",)), given, "here"),
        digest_of(cell, {"other": {"value": 1.5}}, "here"),
        digest_of(cell, given, "elsewhere"),
    ]
    assert len({digest, *changes}) == 5
    assert digest == digest_of(Cell("one", in_order, {"rows": 10}, ("other",), alone=True, cost=9.0), given, "here")
    store = ResultStore(tmp_path)
    store.save("one", digest, {"value": float("nan"), "list": [1, 2.5]})
    reopened = ResultStore(tmp_path)
    assert reopened.load("one", changes[0]) is None
    assert reopened.load("one", digest)["list"] == [1, 2.5]
    reopened.save("one", changes[0], {"value": 2})
    assert ResultStore(tmp_path).load("one", digest) is None  # the later line counts
    assert ResultStore(tmp_path).load("one", changes[0]) == {"value": 2}


@pytest.mark.parametrize(
    "junk", [b"", b"\n\n", b"nonsense\n", b'{"key": "a"}\n', b"[1, 2]\n", b'{"key": "a", "dig', b"7"]
)
def test_lines_that_are_not_results_are_passed_over(tmp_path, junk):
    whole = json.dumps({"key": "b", "digest": "d", "result": {"value": 3}}).encode() + b"\n"
    (tmp_path / CELLS).write_bytes(whole + junk)
    store = ResultStore(tmp_path)
    assert store.load("b", "d") == {"value": 3}
    store.save("c", "d", {"value": 4})
    assert ResultStore(tmp_path).load("c", "d") == {"value": 4}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The whole report on one data set, with two jobs."""
    out = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "QUICK", TINY)
        command.write(list(EXPERIMENTS), ONLY_CPUSMALL, out, quick=True, jobs=2)
    return out


def test_the_report_is_well_formed_and_has_every_section(report):
    found = Balanced((report / "report.html").read_text())
    assert found.ids == ["summary", *EXPERIMENTS, "made"]
    words = " ".join(found.words)
    assert "tiny: at most 150 rows of each data set, 1 shuffles" in words
    assert "usps was not found; it is at https://" in words  # where data is missing, its section says so
    assert not re.search(r'(src|href)="(?!#)', (report / "report.html").read_text())  # needs nothing beside it


def test_sections_with_data_begin_with_their_answer(report):
    sections = (report / "report.html").read_text().split('<section id="')[1:]
    answered = {part.partition('"')[0]: part for part in sections if '<p class="answer">' in part}
    assert set(answered) == {"summary", "table1", "approximation", "curves"}
    for part in answered.values():
        assert "<p>" not in part[: part.index('<p class="answer">')]


def test_the_report_again_runs_nothing_and_one_job_gives_the_same_numbers(report, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "QUICK", TINY)
    before = {path.name: path.read_bytes() for path in report.iterdir() if path.name != "report.html"}
    command.write(list(EXPERIMENTS), ONLY_CPUSMALL, report, quick=True, jobs=1)
    assert {path.name: path.read_bytes() for path in report.iterdir() if path.name != "report.html"} == before
    command.write(["table1"], ONLY_CPUSMALL, tmp_path, quick=True, jobs=1)
    one, two = (list(csv.DictReader((place / "table1.csv").open())) for place in (tmp_path, report))
    assert len(one) == len(METHODS) == 10
    for a, b in zip(one, two, strict=True):
        assert {k: v for k, v in a.items() if not k.startswith(TIMES)} == {
            k: v for k, v in b.items() if not k.startswith(TIMES)
        }


def test_table_and_curves_on_all_data_sets():
    source = MadeUp(90)
    table, curves = Table1(source, TINY), Curves(source, TINY)
    plan = table.plan()
    assert {cell.key: cell for cell in plan} == {cell.key: cell for cell in curves.plan()}
    results = in_order(plan, source)
    assert json.loads(json.dumps(results)) == results
    lines = table.lines(results)
    assert len(lines) == 5 * len(METHODS)
    for line in lines:
        assert line["progressive"] < 60 if line["data"] == "cpusmall" else 0.3 < line["progressive"] <= 1
        assert line["bytes"] > 0
    assert "webspam: the data was not available" in " ".join(Balanced(table.section(results).html()).words)
    assert {line.answer for one in (table, curves) for line in one.summary(results)} <= {"yes", "partly", "no"}
    drawing = curves.section(results).html()
    assert Balanced(drawing).ids == ["curves"]
    assert drawing.count('id="axes_') == 5
    points = {(line["data"], line["method"]): line["rows"] for line in curves.lines(results)}
    assert set(points.values()) == {90}
    assert len(points) == 5 * len(METHODS)


def test_scales_and_names():
    assert FULL.rows is None
    assert QUICK.rows == 1_000
    for name, one in zip(EXPERIMENTS, experiments(list(EXPERIMENTS), MadeUp(), TINY), strict=True):
        assert one.name == name
        keys = {cell.key for cell in one.plan()}
        assert all(set(cell.needs) <= keys for cell in one.plan())
        json.dumps([dict(cell.arguments) for cell in one.plan()])


def test_cells_that_experiments_share_are_the_same():
    cells = {}
    for one in experiments(list(EXPERIMENTS), MadeUp(), FULL):
        for cell in one.plan():
            assert cells.setdefault(cell.key, cell) == cell


def test_experiments_without_data_run_nothing_and_say_so():
    for one in experiments(list(EXPERIMENTS), MadeUp(without=tuple(datasets.catalogue())), TINY):
        assert one.plan() == one.lines({}) == one.summary({}) == []
        assert "<p>No" in one.section({}).html()


def test_an_experiment_that_is_not_there_is_refused_with_those_that_are():
    done = CliRunner().invoke(app, ["paper", "table7"], terminal_width=200)
    assert done.exit_code == 2
    assert "'table7' is no experiment; choose all, table1" in done.output


def test_without_data_the_command_says_where_to_look(tmp_path, monkeypatch):
    for variable in ("NOLANA_DATA", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "nothing"))
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["paper", "--out", str(out), "--quick"], terminal_width=200)
    assert done.exit_code == 2
    assert "none of the data sets was found; see `nolana data list`" in " ".join(done.output.replace("│", " ").split())
    assert not out.exists()


def test_a_place_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(command, "Directory", lambda _: ONLY_CPUSMALL)
    done = CliRunner().invoke(app, ["paper", "table1", "--out", str(tmp_path / "file"), "--quick"], terminal_width=200)
    assert done.exit_code == 2
    assert "--out" in done.output


HOSTILE = '<script>alert("x")</script> & <b>'


def test_words_are_escaped_everywhere():
    drawing = svg([Panel("a < b & c", {"<i>": ([1, 2], [3, 4])}, "x < 1", "y & z")])
    section = Section(
        f'a"{HOSTILE}', HOSTILE, [Text(HOSTILE), Grid(HOSTILE, [HOSTILE], [[HOSTILE]]), Figure(drawing, HOSTILE)]
    )
    whole = page(HOSTILE, HOSTILE, [(HOSTILE, HOSTILE)], [section])
    found = Balanced(whole)
    assert "<script" not in whole
    assert "<b>" not in whole
    assert found.ids == [f'a"{HOSTILE}', "made"]
    assert found.words.count(HOSTILE) == 12


def test_text_takes_line_breaks_anywhere_and_grids_mark_cells():
    assert Text("one\n      two").html() == "<p>one two</p>"
    grid = Grid("", ["a", "b"], [["1", "2"], ["3", "x" * 41]], frozenset({(0, 1)})).html()
    assert '<td class="mark">2</td>' in grid
    assert f'<td class="text">{"x" * 41}</td>' in grid


def test_drawings_are_the_same_bytes_and_keep_their_words():
    panels = [
        Panel(
            "left", {"one": ([1, 10], [1e-3, 10.0]), "two": ([1, 10], [2.0, 1.0])}, "rows", "s", log_x=True, log_y=True
        ),
        Panel("right", {"two": ([1, 2, 3, 4], [1.0, 1.1, 900.0, 1.2])}, "rows", "s", y_range=(0.9, 1.3), points=True),
    ]
    drawing = svg(panels, columns=2)
    assert drawing == svg(panels, columns=2)
    assert all(f">{word}<" in drawing for word in ("left", "right", "one", "two", "rows"))
    assert ">800<" not in drawing  # the value far off is cut away
    with pytest.raises(ValueError, match="nothing to draw"):
        svg([])
