"""Runs: stopped anywhere, also by kill -9, they end in the bytes of one that was never disturbed."""

import gzip
import json
import random
import shutil
import signal
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolana
from commands import call, kill_after
from conftest import effort
from faults import become_nobody, die_in_third_write, fill_disk
from nolana import modelfile
from nolana.errors import ConflictError, ModelFileError, OtherSourceError, StreamError
from nolana.runs import (
    Checkpoints,
    Inspection,
    Interval,
    Predictor,
    Recipe,
    Scoring,
    SourceOptions,
    Stop,
    resume,
    start,
)

SMALL = Recipe(parameters={"n_landmarks": 12}, method="nolana")
MIXED = SourceOptions(target="kind", categories="onehot", max_categories=3, missing="indicator", on_bad_row="skip")


def rows(n, seed=0):
    """Two numbers, some missing, a colour, a time, and a kind that depends on them."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        a, b = rng.normal(size=2)
        colour = str(rng.choice(["red", "green", "blue", "ochre"]))
        kind = ("warm" if colour in ("red", "ochre") else "cold") if a * b > 0 else "mixed"
        yield {
            "a": None if rng.random() < 0.1 else round(a, 5),
            "b": round(b, 5),
            "colour": colour,
            "when": f"2024-01-{1 + i % 28:02d}T00:00:00",
            "kind": kind,
        }


def write(path, n, seed=0, bad=True):
    records = list(rows(n, seed))
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path, row_group_size=300)
        return path
    if ".jsonl" in path.suffixes:
        lines = [json.dumps(record) for record in records]
    else:
        lines = [",".join("" if v is None else str(v) for v in record.values()) for record in records]
    if bad:
        for i in range(50, n, 400):
            lines[i] = "a row, that makes no sense, and has a long label, aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    if ".csv" in path.suffixes:
        lines.insert(0, "a,b,colour,when,kind")
    text = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return path


def learned(source, model, options=MIXED, recipe=SMALL, every=None, stop_after=None, **how):
    """A run to its end, or until so many blocks were learned; its bytes."""
    scoring = Scoring(window=200)
    if model.exists():
        run, _ = resume(model, str(source), options, recipe, scoring, **how)
    else:
        run = start(str(source), options, recipe, scoring)
    stop, blocks = Stop(), []

    def watch(_):
        blocks.append(1)
        if stop_after is not None and len(blocks) >= stop_after:
            stop.request()

    checkpoints = Checkpoints(model, every)
    run.process(stop=stop, checkpoints=checkpoints, on_block=watch)
    checkpoints.write(run)
    return model.read_bytes()


@pytest.mark.parametrize("name", ["s.csv", "s.csv.gz", "s.jsonl", "s.parquet"])
def test_stopped_at_any_block_it_ends_in_the_same_bytes(tmp_path, name):
    stop_often(write(tmp_path / name, 2300), tmp_path, SMALL)


@pytest.mark.parametrize("method", [None, "FOGD", "nogd", "Projectron", "PA"])
def test_every_method_stopped_at_any_block_ends_in_the_same_bytes(tmp_path, method):
    parameters = {} if method else {"memory": "64KB"}
    stop_often(write(tmp_path / "s.csv", 2300), tmp_path, Recipe(parameters=parameters, method=method))
    estimator = nolana.load(tmp_path / "parts")
    assert method is None or estimator.scale


def stop_often(source, tmp_path, recipe):
    whole = learned(source, tmp_path / "whole", recipe=recipe)
    assert learned(source, tmp_path / "often", recipe=recipe, every=Interval(rows=70)) == whole
    parts = tmp_path / "parts"
    for _ in range(40):
        done = learned(source, parts, recipe=recipe, every=Interval(rows=130), stop_after=1)
    assert done == whole
    info = Inspection(parts).facts()
    assert info["run"]["finished"]
    assert info["rows"] == info["run"]["rows_scored"] == 2300 - sum(info["run"]["bad_rows"].values())


def test_libsvm_and_regression_too(tmp_path):
    rng = np.random.default_rng(0)
    source = tmp_path / "s.svm"
    lines = [f"{i % 90} 1:{x:.4f} 3:{z:.4f}" for i, (x, z) in enumerate(rng.normal(size=(1500, 2)))]
    lines[1200] = lines[1200].replace(f"{1200 % 90} ", "1.5 ", 1)  # the first block has integers only
    source.write_text("\n".join(lines))
    whole = learned(source, tmp_path / "whole", SourceOptions())
    parts = tmp_path / "parts"
    for _ in range(4):
        done = learned(source, parts, SourceOptions(), every=Interval(rows=500), stop_after=1)
    assert done == whole
    assert Inspection(parts).facts()["task"] == "regression"


def test_a_file_that_has_grown_is_resumed(tmp_path):
    whole = write(tmp_path / "s.csv", 1500)
    grown, text = tmp_path / "grown" / "s.csv", whole.read_text().splitlines(keepends=True)
    grown.parent.mkdir()
    for upto in (400, 401, 1200, len(text)):
        grown.write_text("".join(text[:upto]))
        learned(grown, tmp_path / "grown-model")
    learned(whole, tmp_path / "whole-model")
    estimators = [nolana.load(tmp_path / name) for name in ("grown-model", "whole-model")]
    X = np.random.default_rng(0).normal(size=(50, estimators[0].n_features_in_))
    assert np.array_equal(*(estimator.scores(X) for estimator in estimators))
    assert Inspection(tmp_path / "grown-model").facts()["run"]["rows_scored"] == estimators[1].n_rows_


def test_another_source_is_learned_on_top_unless_the_first_is_unfinished(tmp_path):
    first, second, model = write(tmp_path / "a.csv", 1500), write(tmp_path / "b.csv", 900, seed=1), tmp_path / "model"
    learned(first, model, every=Interval(rows=500), stop_after=1)
    at_first = model.read_bytes()
    unfinished = r"has learned .*a.csv up to line 1,00\d and not to its end.*leave_rest=True leaves its rest"
    with pytest.raises(ConflictError, match=unfinished):
        learned(second, model)
    assert model.read_bytes() == at_first
    learned(first, model)
    before = nolana.load(model).n_rows_
    learned(second, model)
    assert nolana.load(model).n_rows_ == before + 900 - 3
    learned(second, model)
    assert nolana.load(model).n_rows_ == before + 900 - 3
    learned(second, model, again=True)
    assert nolana.load(model).n_rows_ == before + 2 * (900 - 3)
    model.write_bytes(at_first)
    learned(second, model, leave_rest=True)
    assert Inspection(model).facts()["run"]["source"] == str(second)


def test_tables_of_the_same_shape_are_distinguished(tmp_path):
    model = tmp_path / "model"
    for seed in (0, 1):
        source = write(tmp_path / f"{seed}.parquet", 500, seed=seed)
        learned(source, model)
    assert nolana.load(model).n_rows_ == 1000
    with pytest.raises(OtherSourceError, match="is it another file"):
        nolana.sources.open(tmp_path / "0.parquet", resume=modelfile.read(model)["run"]["stream"])


@pytest.mark.parametrize(
    ("options", "recipe", "scoring", "message"),
    [
        (SourceOptions(target="a"), Recipe(), Scoring(), "target='a'.*target='kind'"),
        (SourceOptions(ignore=("b",)), Recipe(), Scoring(), r"ignore=\['b'\]"),
        (SourceOptions(missing="mean"), Recipe(), Scoring(), "missing='mean'.*missing='indicator'"),
        (SourceOptions(), Recipe(parameters={"n_landmarks": 5}), Scoring(), "n_landmarks=5 .*n_landmarks=12"),
        (SourceOptions(), Recipe(parameters={"scale": False}), Scoring(), "scale=False.*scale=True"),
        (SourceOptions(), Recipe("regression"), Scoring(), "task='regression'.*task='classification'"),
        (SourceOptions(), Recipe(method="fogd"), Scoring(), "method='fogd'.*method='nolana'"),
        (
            SourceOptions(),
            Recipe(parameters={"memory": "2MB"}),
            Scoring(),
            "memory='2MB' does not fit .*method='nolana'",
        ),
        (SourceOptions(), Recipe(), Scoring(window=7), "window=7.*window=200"),
        (SourceOptions(), Recipe(), Scoring(("auc",)), "metrics=.*auc.*accuracy"),
    ],
)
def test_what_contradicts_the_file_is_refused_and_names_both(tmp_path, options, recipe, scoring, message):
    source, model = write(tmp_path / "s.csv", 300), tmp_path / "model"
    learned(source, model)
    with pytest.raises(ConflictError, match=message + ".*; leave it out"):
        resume(model, str(source), options, recipe, scoring)
    assert resume(model, str(source), MIXED, SMALL, Scoring(window=200))
    assert resume(model, str(source), SourceOptions(on_bad_row="skip"), Recipe("classification"), Scoring())


def test_a_file_knows_its_memory(tmp_path):
    source, model = write(tmp_path / "s.csv", 300), tmp_path / "model"
    learned(source, model, recipe=Recipe(parameters={"memory": "64KB"}))
    for same in ("65536", "64kb", "0.0625MB"):
        assert resume(model, str(source), SourceOptions(), Recipe(parameters={"memory": same}), Scoring())
    with pytest.raises(ConflictError, match=r"memory='2MB'.*memory='64KB'; leave it out"):
        resume(model, str(source), SourceOptions(), Recipe(parameters={"memory": "2MB"}), Scoring())
    with pytest.raises(ConflictError, match=r"method='nolana'.*method='stream'; leave it out"):
        resume(model, str(source), SourceOptions(), Recipe(method="nolana"), Scoring())
    facts = Inspection(model).facts()
    assert facts["bytes"] <= facts["memory"] == 65536
    assert facts["sizes"].keys() == {"landmarks", "grids", "slots", "recent rows"}
    assert {record["name"] for record in facts["experts"]} >= {"landmarks", "bins, fast"}
    assert facts["drift"] == []


def test_a_parameter_of_another_method_is_refused_before_the_source_is_opened(tmp_path):
    nowhere = str(tmp_path / "none.csv")
    for recipe, message in (
        (Recipe(parameters={"n_landmarks": 5}), "n_landmarks=5 .*method='stream', the default; method='nolana' has it"),
        (Recipe(parameters={"memory": "1MB"}, method="FOGD"), "memory='1MB' .*method='FOGD'; leave it out.*stream"),
        (Recipe("regression", {"class_weight": "balanced"}), "class_weight='balanced' is not a .*task='regression'"),
    ):
        with pytest.raises(ValueError, match=message):
            start(nowhere, SourceOptions(), recipe, Scoring())
    with pytest.raises(ValueError, match="no form for regression; choose from stream, nolana"):
        Recipe(method="bsgd").build("regression")
    with pytest.raises(ValueError, match="method='magic' is unknown; choose from stream, nolana, PA"):
        Recipe(method="magic")


def test_a_model_saved_without_a_run_learns_and_predicts(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    nolana.NolanaClassifier(n_landmarks=10).fit(X, X[:, 0] > 0).save(tmp_path / "model")
    source = tmp_path / "s.csv"
    source.write_text("".join(f"{a},{b}\n" for a, b in X))
    with Predictor(tmp_path / "model", str(source), SourceOptions()) as predictor:
        assert np.array_equal(np.concatenate([p.labels for p in predictor]), nolana.load(tmp_path / "model").predict(X))
    labelled = tmp_path / "t.csv"
    labelled.write_text("".join(f"{a},{b},{int(a > 0)}\n" for a, b in X))
    run, saved = resume(tmp_path / "model", str(labelled), SourceOptions(), Recipe(), Scoring())
    assert saved is None
    run.process()
    assert run.rows == 300
    assert run.estimator.n_rows_ == 600
    with pytest.raises(ConflictError, match="has 3 features, the model 2"):
        Predictor(tmp_path / "model", str(labelled), SourceOptions())
    assert Inspection(tmp_path / "model").facts()["run"] is None


def test_an_invalid_state_is_an_error_of_the_file(tmp_path):
    source, model = write(tmp_path / "s.csv", 300), tmp_path / "model"
    learned(source, model)
    sections = modelfile.read(model)

    def spoilt(change):
        tree = modelfile.read(model)
        change(tree["run"])
        modelfile.write(tmp_path / "spoilt", tree)
        return tmp_path / "spoilt"

    changes = [
        lambda run: run.pop("stream"),
        lambda run: run.update(finished=3),
        lambda run: run.update(more=1),
        lambda run: run["stream"].pop("plan"),
        lambda run: run["stream"].update(plan=7),
        lambda run: run["stream"]["plan"]["options"].update(max_categories=10**9),
        lambda run: run["stream"]["plan"]["columns"].pop(),
        lambda run: run["stream"].update(encoder=None),
        lambda run: run["stream"].update(position={"rows": 1}),
        lambda run: run.update(evaluation={}),
        lambda run: run["evaluation"].update(rows="many"),
        lambda run: run["evaluation"].update(metrics=["magic"]),
        lambda run: run["evaluation"].update(metrics=3),
    ]
    for change in changes:
        path = spoilt(change)
        with pytest.raises(ModelFileError):
            resume(path, str(source), SourceOptions(on_bad_row="skip"), Recipe(), Scoring())
    assert modelfile.read(model).keys() == sections.keys()


def test_a_bad_row_ends_the_run_and_what_was_learned_before_it_can_be_saved(tmp_path):
    source, model = write(tmp_path / "s.csv", 2300), tmp_path / "model"
    strict = SourceOptions(target="kind", categories="onehot", max_categories=3, missing="indicator")
    text = source.read_text().splitlines(keepends=True)
    right = [line for line in text if "sense" not in line]
    source.write_text("".join([*right[:1500], "1,x,red,2024-01-01,warm\n", *right[1500:]]))
    run = start(str(source), strict, SMALL, Scoring(window=200))
    with pytest.raises(StreamError, match=r"s.csv, line 1501, column 2 \(\"b\"\): 'x' is not a number"):
        run.process()
    assert run.can_be_saved
    run.save(model)
    source.write_text("".join(right))
    assert learned(source, model, strict) == learned(source, tmp_path / "whole", strict)


def test_rows_that_the_learner_refuses_name_their_lines(tmp_path):
    source = tmp_path / "s.csv"
    lines = [f"{x:.3f},{int(x > 0)}" for x in np.random.default_rng(0).normal(size=2500)]
    lines[1700] = "1e300,1"
    source.write_text("\n".join(lines))
    run = start(str(source), SourceOptions(), SMALL, Scoring())
    with pytest.raises(StreamError, match=r"s\.csv, lines 1,001 to 2,000: "):
        run.process()
    assert run.can_be_saved
    assert run.rows == 1000


def test_the_label_of_a_row_that_is_left_out_leaves_no_trace(tmp_path):
    """Where blocks are cut, and so which rows are read together, must not show in the file."""
    source = tmp_path / "s.csv"
    source.write_text(
        "x,y\n" + "1,a\n2,b\n" * 600 + "oops,a label that is longer than the others\n3,c\n" + "1,a\n" * 600
    )
    options = SourceOptions(on_bad_row="skip")
    whole = learned(source, tmp_path / "whole", options)
    assert nolana.load(tmp_path / "whole").classes_.dtype == "<U1"
    assert learned(source, tmp_path / "cut", options, every=Interval(rows=200)) == whole


# kill -9

LEARN = ("--target", "kind", "--categories", "onehot", "--missing", "mean")
METHODS = [
    ("--method", "nolana", "--landmarks", "40"),
    ("--memory", "100KB"),
    ("--method", "FOGD"),
]


def arguments(folder, model, method=METHODS[0]):
    bad = f"quarantine={folder / (model + '.bad')}"
    return ("learn", folder / "s.jsonl", "--model", folder / model, *LEARN, *method, "--on-bad-row", bad)


def disturbed(folder, kills, rows, seed, method=METHODS[0]):
    """Kill a run again and again at random moments, then let it end; both files must be those of an undisturbed one."""
    write(folder / "s.jsonl", rows)
    chance = random.Random(seed)
    assert call(*arguments(folder, "undisturbed", method), folder=folder).code == 0
    model, bad = folder / "model", folder / "model.bad"
    words = (*arguments(folder, "model", method), "--checkpoint-every", "100")
    inside = 0
    while inside < kills:
        killed = kill_after(chance.randrange(3), chance.uniform(0, 0.02), model, *words, folder=folder)
        assert killed.code in (0, -signal.SIGKILL), killed
        if model.exists():
            inside += killed.code != 0
            if killed.code == 0 or modelfile.read(model)["run"]["finished"]:
                assert_same(folder)
                model.unlink()
                bad.unlink()
    assert call(*words, folder=folder).code == 0
    assert_same(folder)


def assert_same(folder):
    assert (folder / "model").read_bytes() == (folder / "undisturbed").read_bytes()
    assert (folder / "model.bad").read_bytes() == (folder / "undisturbed.bad").read_bytes()


@pytest.mark.parametrize("method", METHODS, ids=" ".join)
def test_a_run_that_is_killed_again_and_again_ends_in_the_same_bytes(tmp_path, method):
    disturbed(tmp_path, 8, 3000, 1, method)
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", METHODS[:2], ids=" ".join)
def test_many_kills(tmp_path, seed, method):
    disturbed(tmp_path, effort(thorough=8, endurance=50), 6000, seed, method)


@pytest.mark.parametrize("at", ["before fsync", "before rename", "after rename"])
@pytest.mark.parametrize("method", METHODS[:2], ids=" ".join)
def test_killed_while_the_file_is_written(tmp_path, at, method):
    write(tmp_path / "s.jsonl", 2500)
    assert call(*arguments(tmp_path, "undisturbed", method), folder=tmp_path).code == 0
    words = (*arguments(tmp_path, "model", method), "--checkpoint-every", "200")
    assert call(*words, folder=tmp_path, before=partial(die_in_third_write, at)).code == -signal.SIGKILL
    rows = modelfile.read(tmp_path / "model")["run"]["evaluation"]["rows"]
    assert rows == (1400 if at == "after rename" else 1200)  # the first block has 1,000
    assert call(*words, folder=tmp_path).code == 0
    assert (tmp_path / "model").read_bytes() == (tmp_path / "undisturbed").read_bytes()
    assert not list(tmp_path.glob(".*.tmp"))


# Disks


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path):
    source, model = write(tmp_path / "s.csv", 3000), tmp_path / "model"
    learned(source, model, every=Interval(rows=500), stop_after=1)
    good = model.read_bytes()
    done = call("learn", source, "--model", model, "--on-bad-row", "skip", folder=tmp_path, before=fill_disk)
    assert done.code == 1
    assert f"cannot write {model}" in done.err
    assert "a file that was there before is as it was" in done.err
    assert model.read_bytes() == good
    assert not list(tmp_path.glob(".*.tmp"))
    assert learned(source, model) == learned(source, tmp_path / "whole")


def test_a_directory_that_may_not_be_written_is_refused_before_the_first_row():
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        source, closed = write(folder / "s.csv", 300), folder / "closed"
        source.chmod(0o644)
        closed.mkdir(mode=0o555)

        done = call("learn", source, "--model", closed / "model", folder=folder, before=become_nobody)
        assert done.code == 2
        assert f"'{closed}' may not be written to" in done.err
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("text", ["", "0", "3x", "-5", "s", "1.5"])
def test_every_what(text):
    with pytest.raises(ValueError, match="neither a number of rows"):
        Interval.of_text(text)


def test_map_alone_is_neither_resumed_nor_predicted(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 2))
    nolana.OnlineNystroem(n_landmarks=5).partial_fit(X).save(tmp_path / "m")
    np.savetxt(tmp_path / "s.csv", np.c_[X, X[:, 0] > 0], delimiter=",")
    before = (tmp_path / "m").read_bytes()
    with pytest.raises(ConflictError, match="OnlineNystroem has no predictions"):
        resume(tmp_path / "m", str(tmp_path / "s.csv"), SourceOptions(), Recipe(), Scoring())
    with pytest.raises(ConflictError, match="OnlineNystroem has no predictions"):
        Predictor(tmp_path / "m", str(tmp_path / "s.csv"), SourceOptions())
    assert (tmp_path / "m").read_bytes() == before


@pytest.mark.parametrize(
    ("labels", "written"),
    [
        ([False, True], ["False", "True"]),
        ([False, True], ["0", "1"]),
        ([0, 1], ["false", "true"]),
        ([3, 7], ["3", "7"]),
        (["3", "7"], ["3", "7"]),
        (["no", "yes"], ["no", "yes"]),
    ],
)
def test_run_of_a_model_of_python_reads_labels_as_its_classes(labels, written, tmp_path):
    X, which = np.random.default_rng(0).normal(size=(60, 2)).round(3), np.arange(60) % 2
    model = nolana.StreamClassifier(random_state=0, memory="64KB").partial_fit(X, np.array(labels)[which])
    model.save(tmp_path / "m")
    (tmp_path / "s.csv").write_text("".join(f"{a},{b},{written[k]}\n" for (a, b), k in zip(X, which, strict=True)))
    run, _ = resume(tmp_path / "m", str(tmp_path / "s.csv"), SourceOptions(), Recipe(), Scoring())
    run.process()
    assert run.estimator.classes_.tolist() == labels
    assert np.array_equal(
        run.estimator.predict_proba(X), model.partial_fit(X, np.array(labels)[which]).predict_proba(X)
    )
    Checkpoints(tmp_path / "m").write(run)
    again, saved = resume(tmp_path / "m", str(tmp_path / "s.csv"), SourceOptions(), Recipe(), Scoring(), again=True)
    again.process()
    assert saved is not None
    assert again.estimator.classes_.tolist() == labels


def test_run_of_a_model_of_python_names_labels_of_another_type(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2)).round(3)
    nolana.StreamClassifier(memory="64KB").partial_fit(X, np.arange(20) % 2 == 0).save(tmp_path / "m")
    (tmp_path / "s.csv").write_text("".join(f"{a},{b},maybe\n" for a, b in X))
    run, _ = resume(tmp_path / "m", str(tmp_path / "s.csv"), SourceOptions(), Recipe(), Scoring())
    with pytest.raises(StreamError, match="label 'maybe' is not true or false"):
        run.process()


def spell(path, first, others=(), n=400):
    """Rows whose labels are first[0] and first[1], from the third on now and then of the others."""
    rng, both = np.random.default_rng(0), [*others, *first]
    lines = []
    for i, (a, b) in enumerate(rng.normal(size=(n, 2)).round(4).tolist()):
        pair = first if i < 2 or not others or i % 5 else both[:2]
        lines.append((a, b, pair[a + b > 0]))
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"a": a, "b": b, "y": y}) + "\n" for a, b, y in lines))
    else:
        path.write_text("a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in lines))
    return path


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("s.csv", ["False", "True"]), ("t.jsonl", [False, True])),
        (("s.csv", ["False", "True"]), ("t.csv", ["FALSE", "TRUE"])),
        (("s.jsonl", ["false", "true"]), ("t.csv", ["False", "True"])),
    ],
)
def test_booleans_in_other_letters_are_classes_of_the_model(first, second, tmp_path):
    options, small = SourceOptions(target="y"), Recipe(parameters={"memory": "64KB"})
    learned(spell(tmp_path / first[0], first[1]), tmp_path / "m", options, small)
    learned(spell(tmp_path / second[0], second[1]), tmp_path / "m", options, small)
    model = nolana.load(tmp_path / "m")
    assert (model.classes_.tolist(), model.n_rows_) == (first[1], 800)


class Killed(Exception):
    pass


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("delay", [0, 150])
def test_booleans_in_two_spellings_interrupted_at_any_block_end_in_the_same_bytes(delay, tmp_path):
    source = spell(tmp_path / "s.csv", ["False", "True"], ["FALSE", "true"], n=1400)
    lines = source.read_text().splitlines()  # True comes first in row 900, and waits when the first block of 1000 ends
    lines[:901] = [line.replace("True", "maybe").replace("true", "maybe") for line in lines[:901]]
    lines[901:1001] = [line.replace("true", "True") for line in lines[901:1001]]
    source.write_text("\n".join(lines) + "\n")
    options, recipe = SourceOptions(target="y", labels="text"), Recipe(parameters={"memory": "64KB"})

    def learn(model, *, interrupted):
        scoring = Scoring(delay=delay)
        if model.exists():
            run, _ = resume(model, str(source), options, recipe, scoring)
        else:
            run = start(str(source), options, recipe, scoring)
        checkpoints = Checkpoints(model, Interval(rows=70))

        def kill(_):
            if interrupted and checkpoints.written:
                raise Killed

        run.process(checkpoints=checkpoints, on_block=kill)
        checkpoints.write(run)
        return model.read_bytes()

    whole = learn(tmp_path / "whole", interrupted=False)
    parts, interruptions = b"", 0
    while not parts and interruptions < 20:
        try:
            parts = learn(tmp_path / "parts", interrupted=True)
        except Killed:
            interruptions += 1
    assert interruptions > 3
    assert parts == whole
    assert nolana.load(tmp_path / "whole").classes_.tolist() == ["False", "True", "maybe"]
