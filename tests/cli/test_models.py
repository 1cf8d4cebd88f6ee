"""nolana learn, predict, evaluate and inspect, as their users meet them."""

import json
import os
import re
import select
import signal
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.image import imread

import nolana
from commands import call, start, wait, wait_for
from conftest import effort
from nolana import modelfile
from nolana.cli.learner import LONG_NAMES, METHODS, METRICS, LearnerOptions
from nolana.cli.summary import drift
from nolana.estimators.methods import methods
from nolana.metrics import NAMES, OF_NUMBERS
from nolana.sources import SourceOptions
from nolana.sources.declaration import declared

SMALL = ("--method", "nolana", "--landmarks", "5")
MAIN = [sys.executable, "-c", "from nolana.cli import main; main()"]


@pytest.fixture
def mail(tmp_path):
    return write(tmp_path / "mail.csv")


def write(path, n=2500, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).round(4)
    kinds = np.where(x[:, 0] * x[:, 1] > 0, "spam", "ham")
    path.write_text("a,b,c,kind\n" + "".join(f"{a},{b},{c},{kind}\n" for (a, b, c), kind in zip(x, kinds, strict=True)))
    return path


def test_learn_predict_inspect(mail, tmp_path):
    model, learn = (
        tmp_path / "m.nolana",
        ("learn", mail, "--target", "kind", "--method", "nolana", "--loss", "logistic"),
    )
    done = call(*learn, "--model", model, folder=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "learned to the end" in done.out
    assert "2 classes" in done.out
    assert re.search(r"accuracy \d\d\.\d\d % \(last 500 rows: ", done.out)  # 1,500 rows in windows of 1,000
    written = model.read_bytes()
    done = call(*learn, "--model", model, folder=tmp_path)
    assert "nothing new" in done.out
    assert model.read_bytes() == written

    expected = nolana.load(model)
    X, y = nolana.sources.read(mail, target="kind")
    done = call("predict", mail, "--model", model, folder=tmp_path)
    assert done.out.splitlines() == ["prediction", *expected.predict(X)]
    unlabelled = tmp_path / "unlabelled.csv"  # other order, another column, no label
    unlabelled.write_text("c,more,b,a\n" + "".join(f"{c},0,{b},{a}\n" for a, b, c in X.tolist()))
    out = tmp_path / "predictions.csv"
    again = call("predict", unlabelled, "--model", model, "--out", out, folder=tmp_path)
    assert (again.code, again.out) == (0, "")
    assert out.read_text() == done.out
    done = call("predict", mail, "--model", model, "--json", "--proba", folder=tmp_path)
    first = json.loads(done.out.splitlines()[0])
    assert first["line"] == 2
    assert first["prediction"] in y
    assert sum(first["proba"].values()) == pytest.approx(1)
    done = call("predict", mail, "--model", model, "--proba", folder=tmp_path)
    table = np.array([line.split(",")[1:] for line in done.out.splitlines()[1:]], dtype=float)
    assert done.out.startswith("prediction," + ",".join(f"proba_{label}" for label in expected.classes_))
    assert np.array_equal(table, expected.predict_proba(X))

    picture = tmp_path / "model.png"
    done = call("inspect", model, "--plot", picture, "--json", folder=tmp_path)
    facts = json.loads(done.out)
    assert facts["rows"] == facts["run"]["rows_scored"] == len(y)
    assert facts["moves"] == expected.n_moves_
    assert facts["landmarks"] == len(expected.landmarks_)
    assert facts["bytes"] == expected.memory_bytes_
    assert facts["file_bytes"] == len(written)
    assert facts["run"]["score"]["accuracy"] > 0.85
    assert np.ptp(imread(picture)[:, :, :3], axis=2).max() > 0.5
    done = call("inspect", model, folder=tmp_path)
    for shown in ("ham", "spam", "a  number", f"moved {expected.n_moves_:,} times", "mail.csv, finished"):
        assert shown in done.out


def test_the_default_method_and_its_memory(mail, tmp_path):
    model, learn = tmp_path / "m.nolana", ("learn", mail, "--target", "kind", "--memory", "100KB")
    done = call(*learn, "--model", model, folder=tmp_path)
    assert (done.code, done.err) == (0, "")
    for shown in (r"method     stream\n", r"experts    linear +weight +-?\d", r"drift      no alarm"):
        assert re.search(shown, done.out), shown
    assert re.search(r"memory     [\d,]+ bytes of at most 102,400\n", done.out)
    assert all(len(line) <= 80 for line in done.out.splitlines()[1:])

    expected = nolana.load(model)
    assert type(expected).__name__ == "StreamClassifier"
    done = call("predict", mail, "--model", model, "--proba", folder=tmp_path)
    assert done.out.startswith("prediction,proba_ham,proba_spam\n")
    done = call("inspect", model, folder=tmp_path)
    bought = ", ".join(f"{size:,} {name}" for name, size in expected.sizes_.items())
    assert f"\n           {bought}\n" in done.out
    picture = tmp_path / "score.png"
    facts = json.loads(call("inspect", model, "--json", "--plot", picture, folder=tmp_path).out)
    assert facts["experts"] == expected.experts_
    assert (facts["sizes"], facts["memory"], facts["method"]) == (expected.sizes_, 102_400, "stream")
    assert facts["bytes"] == expected.memory_bytes_ <= 102_400
    assert np.ptp(imread(picture)[:, :, :3], axis=2).max() > 0.5
    for option, value, message in (
        ("--memory", "1MB", "--memory 1MB differs from the model, which was made with --memory 100KB"),
        ("--method", "FOGD", "--method FOGD differs from the model, which was made with --method stream"),
    ):
        done = call("learn", mail, "--model", model, option, value, folder=tmp_path)
        assert done.code == 2
        assert message in done.err


def test_drift_alarms_are_shown(tmp_path):
    source = write(tmp_path / "s.csv", 4000)
    lines = source.read_text().splitlines()
    other = {"spam": "ham", "ham": "spam"}
    lines[2001:] = [line.replace(line.split(",")[3], other[line.split(",")[3]]) for line in lines[2001:]]
    source.write_text("\n".join(lines))
    done = call("learn", source, "--model", tmp_path / "m", "--target", "kind", "--json", folder=tmp_path)
    summary = json.loads(done.out)
    assert summary["drift"]
    assert 2000 <= summary["drift"][0] < 2100
    assert summary["experts"][0].keys() == {"name", "weight", "score", "bytes"}
    done = call("inspect", tmp_path / "m", folder=tmp_path)
    assert re.search(rf"drift      \d+ alarms?, (the last )?at rows? .*{summary['drift'][-1]:,}", done.out)


def test_drift_in_words():
    assert drift([]) == "no alarm"
    assert drift([4000]) == "1 alarm, at row 4,000"
    assert drift([3, 4000]) == "2 alarms, at rows 3, 4,000"
    assert drift(list(range(7))) == "7 alarms, the last at rows 2, 3, 4, 5, 6"
    assert drift(list(range(100))).startswith("at least 100 alarms, the last at rows 95, ")


@pytest.mark.parametrize("method", ["fogd", "NOGD", "rbp"])
def test_a_rival_has_scaled_rows(tmp_path, method):
    """One feature in large units and one wild value: without scaling its accuracy is near chance."""
    source, model = write(tmp_path / "s.csv"), tmp_path / "m"
    rows = [line.split(",") for line in source.read_text().splitlines()]
    rows[20][2] = "-9999"
    text = "\n".join(f"{a}e4,{b},{c},{kind}" for a, b, c, kind in rows[1:])
    source.write_text("a,b,c,kind\n" + text)
    words = ("learn", source, "--target", "kind", "--model", model, "--method", method, "--json")
    scaled = json.loads(call(*words, folder=tmp_path).out)
    assert scaled["method"] == {"fogd": "FOGD", "NOGD": "NOGD", "rbp": "RBP"}[method]
    assert scaled["experts"] is None
    estimator = nolana.load(model)
    assert estimator.scale
    X, _ = nolana.sources.read(source, target="kind")
    assert call("predict", source, "--model", model, folder=tmp_path).out.split()[1:] == estimator.predict(X).tolist()
    plain = json.loads(call(*words, "--fresh", "--no-scale", folder=tmp_path).out)
    assert scaled["recent"]["accuracy"] > plain["recent"]["accuracy"] + 0.1


def test_the_help_names_every_method():
    assert [method.short_name for method in methods()] == METHODS.split(", ")
    long = [method.name.lower() for method in methods() if method.name != method.short_name]
    assert tuple(long) == LONG_NAMES


def test_the_help_names_every_metric():
    classes, numbers = METRICS.split("; for regression ")
    assert numbers.split(", ") == list(OF_NUMBERS)
    assert classes.split(", ") == [name for name in NAMES if name not in OF_NUMBERS]


@pytest.mark.parametrize(
    ("kind", "labels"),
    [("int", [3, 7, 3, 7]), ("bool", [True, False, True, False]), ("text", ["x", "y,z", "x", "y,z"])],
)
def test_labels_come_back_as_they_came(tmp_path, kind, labels):
    source, model = tmp_path / "s.jsonl", tmp_path / "model"
    source.write_text(
        "".join(json.dumps({"x": i % 2 * 2.0 - 1, "y": label}) + "\n" for i, label in enumerate(labels * 9))
    )
    assert call("learn", source, "--target", "y", "--model", model, folder=tmp_path).code == 0
    said = [
        json.loads(line)["prediction"]
        for line in call("predict", source, "--model", model, "--json", folder=tmp_path).out.splitlines()
    ]
    assert said == labels * 9, kind
    assert type(said[0]) is type(labels[0])


@pytest.mark.parametrize("target", ["", "7 "])
def test_libsvm_is_predicted_with_and_without_labels(tmp_path, target):
    source, model = tmp_path / "s.svm", tmp_path / "model"
    source.write_text("".join(f"{i % 2} 1:{i % 2} 2:0.5\n" for i in range(60)))
    assert call("learn", source, "--model", model, folder=tmp_path).code == 0
    other = tmp_path / "other.svm"
    other.write_text("".join(f"{target}1:{i % 2} 2:0.5\n" for i in range(6)))
    done = call("predict", other, "--model", model, folder=tmp_path)
    assert done.out.splitlines() == ["prediction", "0", "1", "0", "1", "0", "1"], done.err


def test_evaluate_scores_as_learn_does_and_saves_nothing(mail, tmp_path):
    before = set(tmp_path.iterdir())
    picture = tmp_path / "score.svg"
    words = ("evaluate", mail, "--metrics", "accuracy,auc", "--window", "500", "--json", "--out", picture)
    facts = json.loads(call(*words, folder=tmp_path).out)
    assert {p.name for p in set(tmp_path.iterdir()) - before} == {"score.svg", ".out", ".err"}
    assert [point["rows"] for point in facts["history"]] == [500, 1000, 1500, 2000, 2500]
    learned = json.loads(call("learn", mail, "--model", tmp_path / "m", "--json", folder=tmp_path).out)
    assert learned["metrics"]["accuracy"] == facts["metrics"]["accuracy"]
    late = json.loads(call("evaluate", mail, "--delay", "200", "--json", folder=tmp_path).out)
    assert late["rows"] == 2500
    assert late["metrics"]["accuracy"] < facts["metrics"]["accuracy"]
    assert "auc" in call(*words[:-3], folder=tmp_path).out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["learn", "{mail}", "--model", "{folder}/m", "--target", "colour"], 1, "no column is named 'colour'"),
        (["learn", "{folder}/none.csv", "--model", "{folder}/m"], 2, "none.csv: No such file"),
        (["learn", "{mail}"], 2, "--model"),
        (["learn", "{mail}", "--model", "{folder}"], 2, "is a directory"),
        (["learn", "{mail}", "--model", "{folder}/no/m"], 2, "there is no directory"),
        (["learn", "{mail}", "--model", "{mail}"], 1, "not a safetensors file"),
        (["learn", "{mail}", "--model", "{mail}", "--fresh"], 1, "not a safetensors file"),
        (
            ["learn", "{mail}", "--model", "{folder}/m", "--target", "a", "--categories", "error"],
            1,
            "--categories hash or --categories onehot",
        ),
        (
            ["learn", "{mail}", "--model", "{folder}/m", "--set", "colour=3"],
            2,
            "--set colour=3 is no parameter; those of stream are",
        ),
        (["learn", "{mail}", "--model", "{folder}/m", "--set", "colour"], 2, "not name=value"),
        (
            ["learn", "{mail}", "--model", "{folder}/m", "--method", "nolana", "--set", "rank=3"],
            2,
            "--set rank=3 cannot be combined with --set solver=inverse",
        ),
        (["learn", "{mail}", "--model", "{folder}/m", "--metrics", "rmse"], 2, "'rmse' is for numbers"),
        (
            ["learn", "{mail}", "--model", "{folder}/m", "--method", "nolana", "--metrics", "log_loss,r2"],
            2,
            "'r2' is for numbers",
        ),
        (
            ["learn", "{mail}", "--model", "{folder}/m", "--task", "clustering"],
            2,
            "--task clustering is not one of: classification, regression",
        ),
        (["learn", "{mail}", "--model", "{folder}/m", "--missing", "guess"], 2, "--missing guess is not one of"),
        (["learn", "{mail}", "--model", "{folder}/m", "--on-bad-row", "cry"], 2, "--on-bad-row cry"),
        (["learn", "{mail}", "--model", "{folder}/m", "--checkpoint-every", "often"], 2, "such as 10000"),
        (
            ["learn", "{folder}/nan.csv", "--model", "{folder}/m", "--missing", "error"],
            1,
            "nan.csv, line 3, column 1 (\"a\"): 'nan' is not",
        ),
        (["learn", "{folder}/empty.csv", "--model", "{folder}/m"], 1, "the source is empty"),
        (["learn", "{folder}/header.csv", "--model", "{folder}/m"], 1, "there are no rows to learn"),
        (
            ["learn", "{mail}", "--model", "{folder}/m", "--landmarks", "5"],
            2,
            "--landmarks 5 cannot be combined with --method stream, the default; --method nolana has it",
        ),
        (
            ["evaluate", "{mail}", "--method", "FOGD", "--memory", "64KB"],
            2,
            "--memory 64KB cannot be combined with --method FOGD; leave it out, or choose a method that has it: stream",
        ),
        (["evaluate", "{mail}", "--no-scale"], 2, "--no-scale cannot be combined with --method stream, the default"),
        (["evaluate", "{mail}", "--method", "magic"], 2, "--method magic is unknown; choose from stream, nolana, PA"),
        (
            ["evaluate", "{mail}", "--memory", "big"],
            2,
            "--memory big is not a size; write bytes, or for example 512KB",
        ),
        (["evaluate", "{mail}", "--memory", "9KB"], 2, "--memory 9KB is out of range: at least 32KB and at most 1GB"),
        (["predict", "{mail}", "--model", "{folder}/none"], 2, "there is no file"),
        (["predict", "{mail}", "--model", "{mail}"], 1, "not a safetensors file"),
        (
            ["learn", "{mail}", "--model", "{folder}/m", "--target", "a,b"],
            2,
            "--target a,b names several columns; learn a model",
        ),
        (
            ["learn", "{mail}", "--model", "{folder}/m", "--target", "a", "--target", "b"],
            2,
            "it is given 2 times (a, b)",
        ),
        (["predict", "{folder}/nan.csv", "--model", "{folder}/made"], 1, "no column is named 'b', 'c'"),
        (["predict", "{mail}", "--model", "{folder}/made", "--out", "{folder}/no/p"], 2, "there is no directory"),
        (["evaluate", "{mail}", "--out", "{folder}/p.doc"], 2, "must end in"),
        (["evaluate", "{mail}", "--metrics", "magic"], 2, "'magic' is unknown"),
        (["inspect", "{folder}/none"], 2, "there is no file"),
        (["inspect", "{mail}"], 1, "not a safetensors file"),
    ],
)
def test_what_is_wrong_is_one_line_and_a_code(mail, tmp_path, words, code, message):
    (tmp_path / "nan.csv").write_text("a,y\n1,0\nnan,1\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("a,y\n")
    if "{folder}/made" in words:
        X = np.eye(3)
        assert call("learn", mail, "--model", tmp_path / "made", *SMALL, folder=tmp_path).code == 0
        assert nolana.load(tmp_path / "made").n_features_in_ == len(X)
    data = mail.read_bytes()
    done = call(*(word.format(mail=mail, folder=tmp_path) for word in words), folder=tmp_path)
    assert (done.code, done.out) == (code, "")
    (line,) = done.err.splitlines()
    assert line.startswith("nolana: ")
    assert message in line
    assert mail.read_bytes() == data
    assert not (tmp_path / "m").exists()


def test_probabilities_of_every_classifier_and_of_no_regressor(mail, tmp_path):
    learned = call("learn", mail, "--model", tmp_path / "rival", "--method", "RBP", folder=tmp_path)
    assert learned.code == 0
    done = call("predict", mail, "--model", tmp_path / "rival", "--proba", folder=tmp_path)
    assert done.out.startswith("prediction,proba_ham,proba_spam\n")
    assert (
        call("learn", mail, "--model", tmp_path / "m", "--target", "a", "--ignore", "kind", folder=tmp_path).code == 0
    )
    done = call("predict", mail, "--model", tmp_path / "m", "--proba", folder=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "a StreamRegressor predicts numbers, which have no probabilities; leave out --proba" in done.err


def test_log_loss_of_a_learner_whose_loss_makes_no_probabilities(mail, tmp_path):
    words = (mail, "--method", "nolana", "--metrics", "accuracy,log_loss", "--json")
    scored = json.loads(call("evaluate", *words, folder=tmp_path).out)["metrics"]
    assert 0 < scored["log_loss"] < 0.7
    done = call("learn", *words, "--each", "--model", tmp_path / "m", folder=tmp_path)
    assert json.loads(done.out.splitlines()[-1])["summary"]["metrics"] == scored
    assert len(done.out.splitlines()) == 2501


def test_labels_of_one_value_are_one_class(tmp_path):
    """1 and then 1.0 are one class, as for the estimators; integers have any size."""
    large = 2**64
    rows = "".join(f"{i % 2},{(i // 3) % 2},{i % 2 if i < 2000 else float(i % 2)}\n" for i in range(4000))
    (tmp_path / "a.csv").write_text("a,b,y\n" + rows)
    (tmp_path / "b.csv").write_text(f"a,b,y\n1,0,{large}\n")
    learned = call("learn", tmp_path / "a.csv", "--model", tmp_path / "m", folder=tmp_path)
    assert learned.code == 0, learned.err
    done = call("predict", tmp_path / "a.csv", "--model", tmp_path / "m", folder=tmp_path)
    assert done.out.startswith("prediction\n0\n1\n0\n")
    learned = call("learn", tmp_path / "b.csv", "--model", tmp_path / "m", folder=tmp_path)
    assert learned.code == 0, learned.err
    assert nolana.load(tmp_path / "m").classes_.tolist() == [0, 1, large]


def test_bad_rows_are_counted_and_put_aside(mail, tmp_path):
    mail.write_text(mail.read_text() + "1,x,2,ham\n1,2\n")
    words = ("learn", mail, "--model", tmp_path / "m")
    done = call(*words, folder=tmp_path)
    assert done.code == 1
    assert "line 2502, column 2 (\"b\"): 'x' is not a number" in done.err
    assert "2,000 rows are learned and saved" in done.err
    aside = tmp_path / "aside.jsonl"
    done = call(*words, "--on-bad-row", f"quarantine={aside}", "--json", folder=tmp_path)
    facts = json.loads(done.out)
    assert (facts["rows"], facts["new_rows"], facts["bad_rows"]) == (2500, 500, {"number": 1, "format": 1})
    assert [json.loads(line)["line"] for line in aside.read_text().splitlines()] == [2502, 2503]
    done = call("predict", mail, "--model", tmp_path / "m", "--on-bad-row", "skip", folder=tmp_path)
    assert done.out.splitlines()[0] == "line,prediction"
    assert done.out.splitlines()[-1].startswith("2501,")
    assert "bad rows: 2 left out (1 number, 1 format)" in done.err


def test_each_row_of_a_pipe_is_printed_at_once_and_ctrl_c_saves(tmp_path):
    model = tmp_path / "m"
    words = [*MAIN, "learn", "-", "--target", "y", "--model", str(model), "--each", "--json"]
    words += ["--method", "nolana"]  # it has learned two rows after two rows
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        for i in range(20):
            process.stdin.write(json.dumps({"x": i % 2, "y": "odd" if i % 2 else "even"}).encode() + b"\n")
            process.stdin.flush()
            assert select.select([process.stdout], [], [], 60)[0], "no word about the row"
            printed = json.loads(process.stdout.readline())
            assert printed["line"] == i + 1
            assert printed["label"] == ("odd" if i % 2 else "even")
            assert printed["prediction"] == (None if i == 0 else "even" if i < 2 else printed["label"])
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert err == b""
    summary = json.loads(out)["summary"]
    assert (summary["rows"], summary["interrupted"], summary["finished"]) == (20, "SIGINT", False)
    assert nolana.load(model).n_rows_ == 20
    more = subprocess.run(words, input=b'{"x": 1, "y": "odd"}\n', stdout=subprocess.PIPE, check=True, timeout=60)
    assert json.loads(more.stdout.splitlines()[-1])["summary"]["rows"] == 21


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_in_a_file_the_model_is_saved_and_resumed(tmp_path, number):
    source, model = write(tmp_path / "s.csv", 30_000), tmp_path / "m"
    words = ("learn", source, "--model", model, "--checkpoint-every", "100", "--target", "kind")
    child = start(*words, folder=tmp_path)
    wait_for(model)
    os.kill(child.pid, number)
    done = wait(child, tmp_path)
    assert done.code == 128 + number
    assert f"interrupted by {number.name}; the same command resumes at line" in done.out
    rows = nolana.load(model).n_rows_
    assert 0 < rows < 30_000
    done = call(*words[:4], "--target", "kind", "--json", folder=tmp_path)
    assert json.loads(done.out)["new_rows"] == 30_000 - rows
    call("learn", source, "--model", tmp_path / "whole", "--target", "kind", folder=tmp_path)
    assert model.read_bytes() == (tmp_path / "whole").read_bytes()


def test_when_nobody_reads_the_command_ends_in_silence(mail, tmp_path):
    model = tmp_path / "m"
    for words in (["learn", mail, "--model", model, "--each"], ["predict", mail, "--model", model]):
        process = subprocess.Popen([*MAIN, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        err = process.stderr.read()
        assert (process.wait(60), err) == (141, b"")
    assert nolana.load(model).n_rows_ == 1000


def test_standard_input_that_is_a_file_is_resumed(mail, tmp_path):
    model, text = tmp_path / "m", mail.read_text().splitlines(keepends=True)
    mail.write_text("".join(text[:1501]))
    for rows in (1500, 2500):
        done = call("learn", "-", "--model", model, "--json", folder=tmp_path, stdin=mail)
        assert json.loads(done.out)["rows"] == rows
        mail.write_text("".join(text))
    other = write(tmp_path / "other.csv", 700, seed=5)
    done = call("learn", "-", "--model", model, "--json", folder=tmp_path, stdin=other)
    assert json.loads(done.out)["new_rows"] == 700


def test_fresh_starts_anew(mail, tmp_path):
    words = ("learn", mail, "--model", tmp_path / "m")
    call(*words, folder=tmp_path)
    assert call(*words, "--method", "nolana", "--landmarks", "7", folder=tmp_path).code == 2
    assert call(*words, "--method", "nolana", "--landmarks", "7", "--fresh", folder=tmp_path).code == 0
    assert len(nolana.load(tmp_path / "m").landmarks_) == 7
    assert nolana.load(tmp_path / "m").scale
    assert call(*words, "--method", "nolana", "--no-scale", "--fresh", folder=tmp_path).code == 0
    assert not nolana.load(tmp_path / "m").scale


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (["--method", "nolana"], [r"[\d,]+ moves, model [\d,]+ bytes"]),
        ([], [r"model [\d,]+ bytes", r"experts +linear +weight +-?\d", r"bins, fast +weight", r"drift +no alarm"]),
    ],
)
def test_a_terminal_sees_the_run(tmp_path, method, expected):
    pty = pytest.importorskip("pty")
    source = write(tmp_path / "s.csv", 60_000)
    main, side = pty.openpty()
    words = [*MAIN, "learn", str(source), "--model", str(tmp_path / "m"), "--checkpoint-every", "1000", *method]
    process = subprocess.Popen(words, stdout=side, stderr=side, env=os.environ | {"TERM": "xterm", "COLUMNS": "100"})
    os.close(side)
    shown = b""
    try:
        while part := os.read(main, 1 << 16):
            shown += part
    except OSError:  # the other side is closed
        pass
    assert process.wait(60) == 0
    os.close(main)
    text = shown.decode()
    for said in (r"\d+ %", r"[\d,]+ rows, [\d,]+ rows/s", r"accuracy \d\d", *expected):
        assert re.search(said, text), said


def memory_over(folder, rows, chunk, settled):
    """Resident bytes of `nolana learn -` while it is fed, from the row on from which it must be flat."""
    rng = np.random.default_rng(0)
    words = [*MAIN, "learn", "-", "--model", str(folder / "m"), "--target", "y", "--format", "csv", "--no-header"]
    words[words.index("y")] = "5"
    words += ["--checkpoint-every", "20000"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pages = []
    for at in range(0, rows, chunk):
        x = rng.integers(-999, 999, (chunk, 5))
        y = (x[:, 0] * x[:, 1] > 0).astype(int)
        process.stdin.write(
            b"".join(b"%d,%d,%d,%d,%d,%d\n" % (*row, label) for row, label in zip(x.tolist(), y.tolist(), strict=True))
        )
        process.stdin.flush()
        if at + chunk > settled:
            with open(f"/proc/{process.pid}/statm") as file:
                pages.append(int(file.read().split()[1]))
    process.stdin.close()
    process.stdout.read()
    assert process.wait(60) == 0
    assert nolana.load(folder / "m").n_rows_ == rows
    return np.array(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not say what is resident")
def test_memory_is_flat(tmp_path):
    resident = memory_over(tmp_path, 200_000, 10_000, 50_000)
    assert np.ptp(resident) < 2 << 20, resident


@pytest.mark.soak
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not say what is resident")
def test_memory_is_flat_over_millions_of_rows(tmp_path):
    resident = memory_over(tmp_path, effort(thorough=1_000_000, endurance=5_000_000), 10_000, 50_000)
    print(f"resident {resident[0]:,} bytes after 50,000 rows, at most {resident.max():,} after")
    assert resident.max() - resident[0] < 2 << 20


@pytest.mark.parametrize("command", ["learn", "predict", "evaluate", "compare", "inspect", "demo"])
def test_the_help_names_the_values_of_options_in_plain_words(tmp_path, command):
    out = call(command, "--help", folder=tmp_path).out
    assert "list[" not in out
    assert "<bool>" not in out  # a flag takes no value


def test_help_tells_the_exit_codes(tmp_path):
    out = " ".join(call("--help", folder=tmp_path).out.split())
    assert "130" in out
    commands = [out.index(f"│ {name} ") for name in ("learn", "predict", "evaluate", "inspect", "serve", "compare")]
    assert commands == sorted(commands)


def test_every_declared_option_is_in_the_help(tmp_path):
    options = declared(SourceOptions) | declared(LearnerOptions)
    flags = {
        option.flag or "--" + name.rstrip("_").replace("_", "-")
        for name, option in options.items()
        if option.flag != ""
    }
    assert len(flags) == len(options) - 4  # block_rows, chunk_bytes, growing and only_numbers
    for command in ("learn", "evaluate"):
        words = set(call(command, "--help", folder=tmp_path).out.split())
        assert {part for flag in flags for part in flag.split("/")} <= words


def test_the_file_of_a_run_holds_no_times(mail, tmp_path):
    for name in ("one", "two"):
        call("learn", mail, "--model", tmp_path / name, "--checkpoint-every", "1ms", folder=tmp_path)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert modelfile.read(tmp_path / "one")["run"]["evaluation"]["seconds"] == 0


def test_inspect_counts_labels_of_a_multi_label_model(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    nolana.StreamClassifier(memory="256KB").partial_fit(X, (X > 0).astype(int)).save(tmp_path / "m")
    assert "task       classification, 3 labels: 0, 1, 2\n" in call("inspect", tmp_path / "m", folder=tmp_path).out
    assert json.loads(call("inspect", tmp_path / "m", "--json", folder=tmp_path).out)["multilabel"]
