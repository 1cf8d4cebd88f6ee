"""What changed and why, as users of the command meet it."""

import csv
import json

import numpy as np
import pytest

import nolana
from commands import call


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    """Rows whose class depends on another column after row 1,500, and a model of them."""
    folder = tmp_path_factory.mktemp("machines")
    rng, rows = np.random.default_rng(0), 3000
    late = np.arange(rows) >= 1500
    load, heat, wear = rng.normal(size=(3, rows)).round(4)
    heat = (heat + 2 * late).round(4)
    fails = np.where(np.where(late, wear > 0.6, load > 0), "yes", "no")
    lines = [f"{a},{b},{c},{y}\n" for a, b, c, y in zip(load, heat, wear, fails, strict=True)]
    (folder / "machines.csv").write_text("load,heat,wear,fails\n" + "".join(lines))
    done = call("learn", folder / "machines.csv", "--target", "fails", "--model", folder / "m.nolana", folder=folder)
    return folder, done.out


def test_learn_and_inspect_print_what_changed(machines):
    folder, learned = machines
    for text in (learned, call("inspect", folder / "m.nolana", folder=folder).out):
        (line,) = [each for each in text.splitlines() if each.lstrip().startswith("row 1,5")]
        assert "accuracy" in line
        assert "heat moved by +2" in line or "heat moved by +1.9" in line
        assert "relevance of wear 0.0" in line
    facts = json.loads(call("inspect", folder / "m.nolana", "--json", folder=folder).out)
    assert facts["changes"] == nolana.load(folder / "m.nolana").changes_
    assert [record["row"] for record in facts["changes"]] == facts["drift"]


def test_predict_explains_the_class_that_it_predicts(machines):
    folder, _ = machines
    done = call("predict", folder / "machines.csv", "--model", folder / "m.nolana", "--explain", folder=folder)
    rows = list(csv.DictReader(done.out.splitlines()))
    assert rows[0].keys() == {"prediction", "because"}
    late = [row["because"] for row in rows[2500:] if row["prediction"] == "yes"]
    assert sum(each.startswith("wear +") for each in late) > 0.9 * len(late) > 50
    done = call(
        "predict", folder / "machines.csv", "--model", folder / "m.nolana", "--explain", "--json", folder=folder
    )
    first = json.loads(done.out.splitlines()[0])
    assert len(first["because"]) == 3
    assert {f"{name} {value:+.3g}" for name, value in first["because"].items()} == set(rows[0]["because"].split(", "))


def test_predict_refuses_to_explain_a_model_that_cannot(machines):
    folder, _ = machines
    call(
        "learn",
        folder / "machines.csv",
        "--target",
        "fails",
        "--model",
        folder / "l.nolana",
        "--method",
        "nolana",
        folder=folder,
    )
    done = call("predict", folder / "machines.csv", "--model", folder / "l.nolana", "--explain", folder=folder)
    assert done.code != 0
    assert "does not explain" in done.err
