"""``nolana compare`` and its parts: methods at a budget, tuning, one measured pass."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nolana import NolanaClassifier, rivals
from nolana.cli.app import app
from nolana.cli.options import text_of
from nolana.errors import MissingExtraError, StreamError
from nolana.research import peers
from nolana.research.comparison import by_held_out, by_progress, one_pass, score, standardised
from nolana.research.methods import TABLE, Task, at_budget, names
from nolana.research.tuning import CANDIDATES, Axis, Choice, Facts, distance_of, tune


def rings(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 2))
    return X, np.where(np.sin(6 * (X**2).sum(axis=1)) > 0, "in", "out")


def numbers(rows: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(1).uniform(-1, 1, (rows, 2))
    return X, 10 + np.sin(3 * X[:, 0]) + X[:, 1] ** 2


@pytest.mark.parametrize("name", names("classification"))
def test_every_method_learns_with_defaults_and_with_a_point(name):
    X, y = rings(300)
    method = at_budget(name, Task("classification", 2, 20))
    facts = Facts(distance_of(X), len(y))
    for point in ({}, {axis.name: 0.5 for axis in method.axes()}):
        run = one_pass(method.estimator(point, facts, 0), X, y, metric="accuracy")
        assert 0.4 < run.score <= 1.0
        assert run.bytes > 0


@pytest.mark.parametrize("name", names("regression"))
def test_every_method_regresses(name):
    X, y = numbers(300)
    method = at_budget(name, Task("regression", 2, 20))
    for point in ({}, {axis.name: 0.5 for axis in method.axes()}):
        run = one_pass(method.estimator(point, Facts(distance_of(X), len(y)), 0), X, y, metric="rmse")
        assert np.isfinite(run.score)


def test_methods_have_the_budget_of_the_paper():
    estimator = at_budget("fogd", Task("classification", 22, 100, "logistic")).build({}, 3)
    expected = rivals.at_equal_budget("FOGD", n_landmarks=100, n_features=22, loss="logistic", random_state=3)
    assert estimator.get_params() == expected.get_params()


def test_names_are_those_of_the_catalogue():
    everything = {"PA" if name == "PassiveAggressive" else name for name in rivals.catalogue()}
    assert set(names("classification")) == everything | {"NOLANA", "NOLANA-SGD", "NOLANA-paper", "stream"}
    assert set(TABLE) < set(names("regression"))
    assert "BSGD" not in names("regression")
    assert at_budget("passiveaggressive", Task("regression", 2, 20)).name == "PA"
    with pytest.raises(ValueError, match=r"BSGD.*is not a method for regression; choose from NOLANA"):
        at_budget("BSGD", Task("regression", 2, 20))


class Counting:
    """A method that notes what it was asked to learn."""

    def __init__(self, axes):
        self._axes, self.learned, self.seeds = axes, 0, set()

    def axes(self):
        return self._axes

    def estimator(self, point, facts, seed):
        self.seeds.add(seed)
        return self, {axis.name: axis.value(point[axis.name], facts) for axis in self._axes if point}


def test_tuning_takes_the_same_effort_for_any_number_of_axes():
    X, y = rings(100)
    efforts = set()
    for count in (1, 2, 4):
        method = Counting([Axis(f"a{i}", 0.1, 10.0) for i in range(count)])

        def judge(candidate, _, y, __, y_fold):
            method, parameters = candidate
            method.learned += len(y)
            assert len(y_fold) == 20
            assert all(0.1 <= v <= 10.0 for v in parameters.values())
            return -sum((np.log(v) - np.log(2.0)) ** 2 for v in parameters.values()) if parameters else -100.0

        found = tune(method, X, y, judge=judge)
        efforts.add(method.learned)
        assert len(method.seeds) == 5
        assert found.candidates == CANDIDATES + 1
        facts = Facts(1.0, 1)
        for axis in method.axes():
            assert 0.5 < axis.value(found.point[axis.name], facts) < 8.0
    assert len(efforts) == 1


def test_a_candidate_that_diverges_or_is_worse_than_the_defaults_is_not_taken():
    X, y = rings(60)
    method = Counting([Axis("a", 0.1, 10.0), Choice("b", ("x", "y"))])

    def judge(candidate, *_):
        return float("nan") if candidate[1] else 0.5

    found = tune(method, X, y, judge=judge)
    assert found.point == {}
    assert found.score == 0.5


def test_units_follow_the_data():
    method = at_budget("DualSGD", Task("classification", 2, 20))
    point = {axis.name: 0.5 for axis in method.axes()}
    one, other = (method.parameters(point, Facts(distance, rows)) for distance, rows in ((1.0, 100), (4.0, 300)))
    assert one["gamma"] == pytest.approx(4 * other["gamma"])
    assert one["regularization"] == pytest.approx(3 * other["regularization"])


def test_tuning_improves_on_a_bad_default():
    X, y = rings(600)
    method = at_budget("FOGD", Task("classification", 2, 20))
    judge = by_held_out("accuracy")
    assert tune(method, X, y, judge=judge).score >= judge(
        method.estimator({}, Facts(distance_of(X), 480), 0), X[:480], y[:480], X[480:], y[480:]
    )


def test_one_pass_scores_held_out_rows_by_the_model_of_that_moment_and_changes_nothing():
    X, y = rings(1000)
    plain = one_pass(NolanaClassifier(n_landmarks=20), X, y, metric="accuracy")
    held = one_pass(NolanaClassifier(n_landmarks=20), X, y, metric="accuracy", hold_out=0.2)
    assert plain.score == held.score
    assert plain.held_out is None
    model = NolanaClassifier(n_landmarks=20).partial_fit(X[:800], y[:800])
    assert held.held_out == score("accuracy", model, X[800:], y[800:])
    judged = by_progress("accuracy")(NolanaClassifier(n_landmarks=20), X[:800], y[:800], X[800:], y[800:])
    assert judged == plain.score


def test_standardised_rows_know_no_later_row():
    X = np.random.default_rng(0).normal(3e6, 2.0, (500, 3))
    X[:, 2] = 7.0
    whole = standardised(X)
    assert np.array_equal(whole[:200], standardised(X[:200]))
    last = (X[-1, :2] - X[:, :2].mean(axis=0)) / X[:, :2].std(axis=0)
    assert np.allclose(whole[-1, :2], last, atol=1e-6)
    assert not whole[:, 2].any()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    X, y = rings(400)
    path = tmp_path / "rings.csv"
    lines = [f"{kind},{a:.6f},{b:.6f}" for (a, b), kind in zip(X, y, strict=True)]
    path.write_text("kind,a,b\n" + "\n".join(lines) + "\n")
    return path


def test_the_command_on_a_file(table, tmp_path):
    out = tmp_path / "picture.svg"
    base = ["compare", str(table), "--target", "kind", "--landmarks", "20", "--shuffles", "2", "--out", str(out)]
    done = CliRunner().invoke(app, [*base, "--methods", "nolana,PA,bsgd"])
    assert done.exit_code == 0, done.output
    for word in ("NOLANA", "PA", "BSGD", "majority class", "last label", "accuracy %", "400 rows", "±", str(out)):
        assert word in done.output
    assert out.read_text().count("<svg") == 1

    done = CliRunner().invoke(app, [*base, "--methods", "NOLANA,PA", "--tune", "--json"])
    lines = {line["method"]: line for line in json.loads(done.stdout)}
    assert lines["NOLANA"]["score"] > lines["majority class"]["score"]
    assert set(lines["PA"]) >= {"score", "spread", "microseconds_per_row", "bytes", "vectors", "parameters", "metric"}


def test_the_stream_learner_has_the_bytes_of_nolana_or_those_of_the_option(table, tmp_path):
    base = ["compare", str(table), "--target", "kind", "--shuffles", "1", "--out", str(tmp_path / "p.png")]
    base += ["--methods", "stream,nolana"]
    text = CliRunner().invoke(app, base).output
    note = r"stream has at most 12\d,\d\d\d bytes: as many as NOLANA for two classes, and at least 32KB"
    assert re.search(note, text)
    bytes_of = {line["method"]: line["bytes"] for line in json.loads(CliRunner().invoke(app, [*base, "--json"]).stdout)}
    assert bytes_of["NOLANA"] - 3000 < bytes_of["stream"] <= bytes_of["NOLANA"]
    for options, most in ((["--landmarks", "10"], 32 << 10), (["--memory", "64KB"], 64 << 10)):
        lines = json.loads(CliRunner().invoke(app, [*base, *options, "--json"]).stdout)
        used = next(line["bytes"] for line in lines if line["method"] == "stream")
        assert 0.9 * most < used <= most
    assert "65,536 bytes, by --memory" in CliRunner().invoke(app, [*base, "--memory", "64KB"]).output


def test_the_stream_learner_has_more_bytes_where_its_features_need_them():
    assert at_budget("stream", Task("classification", 2, 10)).build({}, 0).memory == 32 << 10
    wide = at_budget("stream", Task("classification", 20_000, 1)).build({}, 0)
    wide.learn(np.zeros((1, 20_000)), [0])
    assert wide.memory_bytes_ <= wide.memory


def test_regression_is_compared_with_baselines_of_numbers(tmp_path):
    X, y = numbers(300)
    path = tmp_path / "numbers.csv"
    path.write_text("a,b,y\n" + "".join(f"{a:.5f},{b:.5f},{t:.5f}\n" for (a, b), t in zip(X, y, strict=True)))
    base = ["compare", str(path), "--methods", "stream,PA", "--shuffles", "1", "--out", str(tmp_path / "p.png")]
    done = CliRunner().invoke(app, [*base, "--json"])
    lines = {line["method"]: line for line in json.loads(done.stdout)}
    assert lines.keys() == {"stream", "PA", "mean", "last value"}
    assert lines["stream"]["score"] < lines["mean"]["score"] < lines["last value"]["score"]


def test_the_command_in_order_is_one_pass(table, tmp_path):
    done = CliRunner().invoke(
        app,
        ["compare", str(table), "--target", "1", "--in-order", "--methods", "PA", "--out", str(tmp_path / "p.png")],
    )
    assert done.exit_code == 0, done.output
    assert "in the order of the file" in done.output
    assert "±" not in done.output


def test_with_a_lag_all_methods_know_the_same_labels(tmp_path):
    """A random walk: the last value is the best forecast, and stream is as good; PA does not see it."""
    walk = np.cumsum(np.random.default_rng(0).normal(size=1000))
    path = tmp_path / "walk.csv"
    path.write_text("a,y\n" + "".join(f"{i % 7},{t:.5f}\n" for i, t in enumerate(walk)))
    base = ["compare", str(path), "--target", "y", "--methods", "stream,PA", "--out", str(tmp_path / "p.png"), "--json"]
    found = {}
    for lag in (1, 10):
        done = CliRunner().invoke(app, [*base, "--lag", str(lag)])
        found[lag] = {line["method"]: line["score"] for line in json.loads(done.stdout)}
        assert found[lag]["last value"] == pytest.approx(rmse_of_last(walk, lag), rel=0.02)
    assert found[1]["stream"] < 1.5 * found[1]["last value"]
    assert found[10]["stream"] > 2 * found[1]["stream"]


def rmse_of_last(y, lag):
    return float(np.sqrt(np.mean((y[lag:] - y[:-lag]) ** 2)))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--target", "kind", "--lag", "1", "--shuffled"], "counts rows in the order of time"),
        (["--target", "colour"], "no column is named 'colour'"),
        (["--target", "kind", "--methods", "magic"], "'magic' is not a method"),
        (["--target", "kind", "--memory", "much"], "--memory much is not a size"),
        (["--target", "kind", "--memory", "1KB"], "--memory 1KB is out of range: at least 32KB"),
        (["--target", "kind", "--task", "regression"], "line 2, column 1 (\"kind\"): label 'in' is not a number"),
        (["--target", "kind", "--task", "regression", "--labels", "text"], "regression needs scalar targets"),
        (["--target", "kind", "--out", "picture.txt"], "must end in"),
    ],
)
def test_the_command_refuses(table, arguments, said):
    done = CliRunner().invoke(app, ["compare", str(table), *arguments])
    assert done.exit_code != 0
    assert said in " ".join((done.output + text_of(done.exception)).replace("│", " ").split())


def test_text_columns_and_missing_values_become_numbers(table, tmp_path):
    odd = tmp_path / "odd.csv"
    lines = table.read_text().splitlines()
    colours = ["colour", *("red" if i % 2 else "" for i in range(len(lines) - 1))]
    odd.write_text("\n".join(f"{line},{colour}" for line, colour in zip(lines, colours, strict=True)))
    base = ["compare", str(odd), "--target", "kind", "--methods", "PA", "--shuffles", "1"]
    base += ["--out", str(tmp_path / "p.png")]
    done = CliRunner().invoke(app, [*base, "--categories", "error"])
    assert isinstance(done.exception, StreamError)
    for more in ([], ["--categories", "onehot", "--missing", "mean"], ["--ignore", "colour"]):
        done = CliRunner().invoke(app, [*base, *more, "--json"])
        assert done.exit_code == 0, done.output


def compared(tmp_path, monkeypatch, *arguments):
    """The table, and the curves of the picture."""
    drawn = {}

    def draw(curves, metric, _, title):
        drawn.update(curves=curves, metric=metric, title=title)

    monkeypatch.setattr("nolana.plot.running_scores", draw)
    command = ["compare", "--json", "--methods", "NOLANA,PA", "--out", str(tmp_path / "picture.png"), *arguments]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), drawn


def test_the_picture_shows_the_means_of_the_table(tmp_path, monkeypatch):
    table, drawn = compared(tmp_path, monkeypatch, "--shuffles", "3")
    assert "mean of 3 shuffles" in drawn["title"]
    scores = {line["method"]: line["score"] for line in table}
    for name, history in drawn["curves"].items():
        assert history[-1].overall["accuracy"] == pytest.approx(scores[name], rel=1e-12)


@pytest.mark.parametrize("metric", ["f1", "log_loss"])
def test_another_metric_is_compared_and_drawn(tmp_path, monkeypatch, metric):
    table, drawn = compared(tmp_path, monkeypatch, "--metric", metric, "--shuffles", "1")
    assert drawn["metric"] == metric
    assert {line["metric"] for line in table} == {metric}
    assert "shuffles" not in drawn["title"]


def test_a_metric_of_another_task_is_refused_with_the_choices(tmp_path):
    done = CliRunner().invoke(app, ["compare", "--metric", "rmse", "--out", str(tmp_path / "picture.png")])
    assert done.exit_code == 2
    assert "precision" in done.output


def test_unknown_method_lists_those_of_other_libraries_too(tmp_path):
    (tmp_path / "s.csv").write_text("a,b,y\n" + "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(300)))
    done = CliRunner().invoke(app, ["compare", str(tmp_path / "s.csv"), "--target", "y", "--methods", "foo"])
    assert done.exit_code == 2
    for name in ("stream", "FOGD", "lightgbm", "histgb", "river:ARF", "moa:ARF"):
        assert name in done.stderr


def test_boosting_that_is_not_installed_names_its_extra(monkeypatch):
    monkeypatch.setattr(peers.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r'lightgbm is not installed; pip install "nolana\[bench\]"'):
        peers.peer("lightgbm").check()
