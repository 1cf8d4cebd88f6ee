"""Ratings that begin with whole stars: what learn, evaluate, compare and serve make of them."""

import json

import numpy as np
import pytest

from commands import call
from nolana.runs import Recipe, Scoring, SourceOptions
from nolana.serve.model import NewModel
from nolana.serve.refusal import Refusal

ROWS = 1500
AT = 1200  # the row of the first fraction


def write(path, name, form):
    """Stars from 1 to 5, the first half star at line AT + 2, which has the names on line 1."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 2)).round(3)
    stars = np.clip(np.round(3 + x[:, 0]), 1, 5)
    labels = [form(s) for s in stars]
    labels[AT::10] = ["3.5"] * len(labels[AT::10])
    rows = "".join(f"{a},{b},{s}\n" for (a, b), s in zip(x, labels, strict=True))
    path.write_text(f"a,b,{name}\n" + rows)
    return path


FORMS = [lambda s: f"{s:.0f}", lambda s: f"{s:.1f}"]


@pytest.mark.parametrize(("name", "form"), [("stars", FORMS[0]), ("y", FORMS[1])])
@pytest.mark.parametrize("command", ["learn", "evaluate", "compare"])
def test_ratings_become_regression_and_the_summary_says_why(tmp_path, command, name, form):
    words = {
        "learn": ("--model", tmp_path / "m"),
        "evaluate": (),
        "compare": ("--methods", "PA", "--shuffles", "1", "--out", tmp_path / "p.png"),
    }[command]
    done = call(command, write(tmp_path / "r.csv", name, form), *words, folder=tmp_path)
    assert done.code == 0, done.err
    assert "regression" in done.out
    why = "the name 'stars'" if name == "stars" else "labels with a decimal point"
    changes = "--task classification" + " --fresh" * (command == "learn")
    assert f"from {why}; {changes} changes it" in " ".join(done.out.split())


@pytest.mark.parametrize(("name", "form"), [("y", FORMS[0]), ("class", FORMS[1])])
def test_learn_at_a_fraction_among_classes_names_the_option_and_it_works(tmp_path, name, form):
    source = write(tmp_path / "r.csv", name, form)
    words = ("learn", source, "--model", tmp_path / "m", "--method", "nolana", "--landmarks", "5")
    for _ in range(2):  # also when it is resumed
        done = call(*words, folder=tmp_path)
        assert done.code == 1
        assert f"line {AT + 2}" in done.err
        assert "'3.5' is not an integer" in done.err
        assert "--task regression --fresh" in done.err
        assert "1,000 rows are learned and saved in " in done.err
    done = call(*words, "--on-bad-row", "skip", "--json", folder=tmp_path)
    assert json.loads(done.out)["bad_rows"] == {"label": 30}
    done = call(*words, "--task", "regression", "--fresh", "--json", folder=tmp_path)
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert (summary["task"], summary["rows"], summary["task_inferred_from"]) == ("regression", ROWS, None)


@pytest.mark.parametrize(
    "words", [("evaluate", "--task", "classification"), ("evaluate",), ("compare", "--methods", "PA")]
)
def test_evaluate_and_compare_at_a_fraction_among_classes_name_the_option(tmp_path, words):
    source = write(tmp_path / "r.csv", "y", FORMS[0])
    done = call(words[0], source, *words[1:], folder=tmp_path)
    assert done.code == 1
    assert "--task regression if they are numbers, or --labels text if they are names" in done.err
    picture = ("--out", tmp_path / "p.png")
    done = call(words[0], source, *words[1:], "--labels", "text", *picture, folder=tmp_path)
    assert done.code == 0, done.err
    assert "classification" in done.out


def test_explicit_classification_of_fractions_names_the_option_at_the_first_row(tmp_path):
    source = write(tmp_path / "r.csv", "y", lambda s: f"{s:.1f}")
    source.write_text(source.read_text().replace(".0\n", ".5\n"))
    done = call("evaluate", source, "--task", "classification", folder=tmp_path)
    assert done.code == 1
    assert "line 2, " in done.err
    assert "--task regression if they are numbers" in done.err


def test_serve_infers_the_task_as_learn_does():
    new = NewModel(SourceOptions(target="stars"), Recipe(), Scoring())
    rows = b'{"a": 1, "stars": 4}\n{"a": 2, "stars": 5}\n'
    assert new.create(rows, "a log").reader.task == "regression"
    new = NewModel(SourceOptions(target="y"), Recipe(), Scoring())
    model = new.create(rows.replace(b"stars", b"y"), "a log")
    assert model.reader.task == "classification"
    with pytest.raises(Refusal, match=r"'3\.5' is not an integer, and the labels before it were taken for classes"):
        model.reader.read(b'{"a": 1, "y": 3.5}\n', labelled=True)


def test_compare_with_a_date_runs_in_the_order_of_the_file_and_says_so(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2)).round(3)
    days = np.datetime64("2024-01-01") + np.arange(100)
    rows = "".join(f"{day},{a},{b},{a > b:d}\n" for day, (a, b) in zip(days, x, strict=True))
    path = tmp_path / "days.csv"
    path.write_text("day,a,b,y\n" + rows)
    words = ("compare", path, "--methods", "PA", "--out", tmp_path / "p.png")
    done = call(*words, folder=tmp_path)
    assert done.code == 0, done.err
    assert "in the order of the file, because day is a date or time (--shuffled: in random orders)" in done.out
    assert "mean and spread of 5 shuffles" in call(*words, "--shuffled", folder=tmp_path).out
    assert "mean and spread of 2 shuffles" in call(*words, "--shuffles", "2", folder=tmp_path).out
    assert "in the order of the file." in call(*words, "--in-order", folder=tmp_path).out
    done = call(*words, "--ignore", "day", folder=tmp_path)
    assert "mean and spread of 5 shuffles" in done.out
