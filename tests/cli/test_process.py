"""No tracebacks and no hangs: streams that are closed or full, Ctrl-C, paths that are no files, endless lines."""

import io
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest

import nolana
from commands import call, start, wait
from conftest import effort
from faults import become_nobody, close_streams, fill, lose_reader
from nolana.errors import ModelFileError, StreamError

FAST = ("--method", "FOGD")
COMMAND = """import sys; sys.argv[0] = "nolana"; from nolana.cli import main; main()"""  # as the installed script is


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "s.csv", 60)
    assert call("learn", tmp_path / "s.csv", "--model", tmp_path / "m", *FAST, folder=tmp_path).code == 0
    return tmp_path


def write(path, n, end="\n"):
    rows = [f"{i % 7},{i % 5},{'even' if i % 2 else 'odd'}" for i in range(n)]
    path.write_bytes((end.join(["a,b,kind", *rows]) + end).encode())
    return path


COMMANDS = {
    "learn": ["learn", "{0}/s.csv", "--model", "{0}/new"],
    "each": ["learn", "{0}/s.csv", "--model", "{0}/new", "--each"],
    "predict": ["predict", "{0}/s.csv", "--model", "{0}/m"],
    "inspect": ["inspect", "{0}/m"],
    "json": ["inspect", "{0}/m", "--json"],
    "evaluate": ["evaluate", "{0}/s.csv", *FAST],
    "help": ["--help"],
    "version": ["--version"],
    "data": ["data", "list"],
}
SAVES = ("learn", "each")


@pytest.mark.parametrize("command", COMMANDS)
def test_output_that_cannot_be_written_is_one_line_and_code_1(folder, command):
    words = [word.format(folder) for word in COMMANDS[command]]
    for before, why in (
        (partial(fill, 1), "cannot write to standard output: No space left on device"),
        (partial(close_streams, 1), "cannot write to standard output: Bad file descriptor"),
    ):
        done = call(*words, folder=folder, before=before)
        assert (done.code, done.err) == (1, f"nolana: {why}\n")
        if command in SAVES:  # the rows are not lost
            assert nolana.load(folder / "new").n_rows_ == 60
            (folder / "new").unlink()
    done = call(*words, folder=folder, before=partial(close_streams, 2))
    assert (done.code, done.err) == (0, "")
    (folder / "new").unlink(missing_ok=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_reader_the_command_ends_in_silence(folder, command):
    done = call(*(word.format(folder) for word in COMMANDS[command]), folder=folder, before=lose_reader)
    assert (done.code, done.err) == (141, "")


def test_an_error_message_that_cannot_be_written_keeps_its_code(folder):
    for before in (partial(fill, 2), partial(close_streams, 2), partial(close_streams, 0, 1, 2)):
        assert call("inspect", folder / "none", folder=folder, before=before).code == 2


def test_closed_standard_input_is_named(folder):
    for words in (("predict", "-", "--model", folder / "m"), ("learn", "-", "--model", folder / "m")):
        done = call(*words, folder=folder, before=partial(close_streams, 0))
        assert done.code == 2
        assert done.err == "nolana: Invalid value for SOURCE: -: standard input is closed\n"


AT_ONCE = """
import signal
import sys
sys.argv[0] = "nolana"
import nolana.cli
assert "numpy" not in sys.modules  # Ctrl-C is handled before anything heavy is loaded
assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
prepare = nolana.cli.prepare_process
nolana.cli.prepare_process = lambda: (prepare(), print(flush=True))
nolana.cli.main()
"""


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.1, 0.15, 0.2])
def test_ctrl_c_while_modules_are_loaded_is_code_130_without_a_traceback(folder, seconds):
    words = [sys.executable, "-c", AT_ONCE, "learn", "s.csv", "--model", "new", "--checkpoint-every", "1"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
    process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")
    assert not (folder / ".new.lock").exists()


FIRST = """
import signal
import sys
sys.argv[0] = "nolana"
def hook(event, arguments):
    if event == "import" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        print(arguments[0])
sys.addaudithook(hook)
import nolana.cli
"""


def test_ctrl_c_is_handled_before_any_other_module_is_loaded(tmp_path):
    done = subprocess.run([sys.executable, "-c", FIRST], stdout=subprocess.PIPE, check=True, timeout=60, cwd=tmp_path)
    assert done.stdout.decode().split() == ["nolana.cli", "nolana"]


@pytest.mark.soak
def test_ctrl_c_in_the_first_moments_prints_no_traceback(folder):
    """The interpreter's own start, before nolana is found, is not in our hands: it ends as every Python script does."""
    script = folder / "nolana"
    script.write_text(f"#!{sys.executable}\nfrom nolana.cli import main\nmain()\n")
    script.chmod(0o755)
    codes = set()
    for milliseconds in [*range(0, 301, 10)] * effort(thorough=1, endurance=3):
        process = subprocess.Popen([script, "inspect", "m"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        text = err.decode()
        if "KeyboardInterrupt" in text or process.returncode == -signal.SIGINT:
            assert os.path.dirname(nolana.__file__) not in text  # no file of nolana was running
        else:
            assert (process.returncode, text) in {(130, ""), (0, "")}
            codes.add(process.returncode)
    assert 130 in codes


# Start-up

LOADED = """
import sys
from nolana.cli import main
try:
    main()
finally:
    print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""
LEARNERS = {
    "stream": ("--proba",),
    "stream, regression": ("--task", "regression"),
    "logistic": ("--method", "nolana", "--loss", "logistic", "--proba"),
    "rank 2": ("--method", "nolana", "--set", "solver=rank2", "--set", "optimizer=sgd"),
    "FOGD": ("--method", "FOGD"),
}


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_prediction_is_the_same_without_the_modules_that_it_does_not_load(tmp_path, learner):
    options = [option for option in LEARNERS[learner] if option != "--proba"]
    proba = ["--proba"] if "--proba" in LEARNERS[learner] else []
    source, model = write(tmp_path / "s.csv", 300), tmp_path / "m"
    if "regression" in learner:
        source.write_text(source.read_text().replace("even", "1.5").replace("odd", "-2"))
    assert call("learn", source, "--model", model, *options, folder=tmp_path).code == 0
    words = ["predict", source, "--model", model, *proba]
    expected = call(*words, folder=tmp_path)  # by a process that has loaded scikit-learn
    assert expected.code == 0
    done = subprocess.run([sys.executable, "-c", LOADED, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected.out
    heavy = {"sklearn", "scipy", "pandas", "matplotlib", "rich", "pydantic"}
    assert not heavy & set(done.stderr.split())


def test_a_prediction_without_scikit_learn_reports_the_same_errors(folder):
    (folder / "wide.csv").write_text("x,y\n1,2\n")
    files = ("s.csv", "n.csv", "wide.csv", "m", "n")
    numbers = (folder / "s.csv").read_text().replace("even", "1.5").replace("odd", "-2")
    (folder / "n.csv").write_text(numbers)
    assert call("learn", folder / "n.csv", "--model", folder / "n", "--task", "regression", folder=folder).code == 0
    for words in (["predict", "n.csv", "--model", "n", "--proba"], ["predict", "wide.csv", "--model", "m"]):
        expected = call(*(folder / w if w in files else w for w in words), folder=folder)
        command = [sys.executable, "-c", COMMAND, *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120)
        assert done.returncode == expected.code > 0
        assert done.stderr == expected.err.replace(f"{folder}/", "")


# Paths that are no files


def test_a_quarantine_that_cannot_be_written_ends_the_run_and_the_rows_before_are_saved(tmp_path):
    source, model = write(tmp_path / "s.csv", 1500), tmp_path / "m"
    with source.open("a") as file:
        file.write("1,x,odd\n")
    words = ("learn", source, "--model", model, *FAST, "--on-bad-row", "quarantine=/dev/full")
    done = call(*words, folder=tmp_path)
    assert done.code == 1
    (line,) = done.err.splitlines()
    assert "line 1502" in line
    assert "The row could not be written to /dev/full: No space left on device" in line
    assert "1,000 rows are learned and saved" in line
    assert nolana.load(model).n_rows_ == 1000


def test_a_source_that_can_no_longer_be_read_is_named():
    class Failing(io.BytesIO):
        name = "disk.csv"

        def read1(self, size=-1):
            if self.tell():
                raise OSError(5, "Input/output error")
            return super().read1(12)

    with pytest.raises(StreamError, match=r"disk\.csv: it cannot be read after line \d: Input/output error"):
        nolana.sources.read(Failing(b"a,y\n1,0\n2,1\n3,0\n"), chunk_bytes=8)


def test_a_fifo_or_a_directory_is_no_model_file_and_nobody_waits_for_it(folder):
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    for path, why in ((fifo, "this is a pipe or a device, not a model file"), (folder, "Is a directory")):
        with pytest.raises(ModelFileError, match=why):
            nolana.load(path)
        for words in (("predict", folder / "s.csv", "--model", path), ("inspect", path)):
            done = call(*words, folder=folder)
            assert done.code == 1
            assert why in done.err
    for more in ((), ("--fresh",)):
        done = call("learn", folder / "s.csv", "--model", fifo, *more, folder=folder)
        assert done.code == 1
        assert "this is a pipe or a device, not a model file" in done.err
    assert fifo.is_fifo()
    assert not list(folder.glob(".*lock"))


def test_predictions_go_through_a_fifo_and_do_not_replace_it(folder):
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(fifo.read_text().splitlines()))
    reader.start()
    assert call("predict", folder / "s.csv", "--model", folder / "m", "--out", fifo, folder=folder).code == 0
    reader.join(60)
    assert len(lines) == 61
    assert fifo.is_fifo()


def test_no_permission_is_one_line(folder):
    folder.chmod(0o755)
    for parent in folder.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o055)
    closed = folder / "closed"
    closed.mkdir()
    (closed / "m").write_bytes((folder / "m").read_bytes())
    (folder / "m").chmod(0)
    closed.chmod(0)
    source = folder / "s.csv"
    for words in (
        ("predict", source, "--model", folder / "m"),
        ("predict", source, "--model", closed / "m"),
        ("inspect", closed / "m"),
        ("learn", source, "--model", closed / "m"),
        ("learn", source, "--model", folder / "m"),
        ("predict", closed / "s.csv", "--model", folder / "m"),
    ):
        done = call(*words, folder=folder, before=become_nobody)
        assert done.code in (1, 2)
        (line,) = done.err.splitlines()
        assert any(why in line for why in ("ermission denied", "is not readable", "may not be written to"))
    closed.chmod(0o755)


# Texts


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_a_file_of_an_old_mac_is_read(tmp_path, end):
    source = write(tmp_path / "s.csv", 500, end)
    plain = write(tmp_path / "plain.csv", 500)
    for options in ({}, {"chunk_bytes": 100, "block_rows": 30}):
        (X, y), (X2, y2) = (nolana.sources.read(path, **options) for path in (source, plain))
        assert np.array_equal(X, X2)
        assert np.array_equal(y, y2)
    with nolana.sources.open(source, block_rows=100) as stream:
        next(stream)
        state = stream.state()
    with nolana.sources.open(source, resume=state) as stream:
        assert len(stream.gather()[0]) == 400


def feed(path, parts):
    with open(path, "wb") as file:
        for part in parts:
            file.write(part)


def peak_memory():
    """The memory of this process may grow by so much, and no more."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


ROWS = {"csv": b"%d,%d\n", "jsonl": b'{"a": %d, "y": %d}\n', "libsvm": b"1 1:%d 2:%d\n"}


def with_endless_line(name, first, endless):
    """50 rows, an endless line and 50 rows, or first the line."""
    rows = [ROWS[name] % (i, i % 2) for i in range(50)]
    return [b"a,y\n"] * (name == "csv") + ([] if first else rows) + [*endless, b"\n", *rows]


def test_an_endless_line_in_a_pipe_is_an_invalid_row(tmp_path):
    """100 MB, in linear time and bounded memory."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = ("learn", "-", "--format", "csv", "--model", tmp_path / "m", *FAST, "--on-bad-row", "skip", "--json")
    child = start(*words, folder=tmp_path, stdin=pipe, before=peak_memory)
    feed(pipe, with_endless_line("csv", False, [b"x" * (1 << 20)] * 100))
    done = wait(child, tmp_path)
    assert done.code == 0, done.err
    assert nolana.load(tmp_path / "m").n_rows_ == 100
    assert json.loads(done.out)["bad_rows"] == {"format": 1}


@pytest.mark.parametrize("length", [3 << 16, 1 << 16, (1 << 16) + 1])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("name", ROWS)
def test_an_endless_line_is_left_out_wherever_it_is(tmp_path, monkeypatch, name, first, length):
    monkeypatch.setattr("nolana.sources.text.Text.longest", 1 << 16)
    monkeypatch.setattr("nolana.sources.bytes.LONGEST_ROW", 1 << 16)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=feed, args=(pipe, with_endless_line(name, first, [b"x" * length])))
    writer.start()
    with open(pipe, "rb") as file, nolana.sources.open(file, format=name, on_bad_row="skip", labels="int") as stream:
        assert len(stream.gather()[0]) == (50 if first else 100)
        assert stream.bad_rows == 1
    writer.join(60)


def test_an_endless_line_is_an_error_by_default(tmp_path, monkeypatch):
    monkeypatch.setattr("nolana.sources.text.Text.longest", 1000)
    source = tmp_path / "s.csv"
    source.write_text("a,y\n1,0\n" + "x" * 5000 + "\n2,1\n")
    with pytest.raises(StreamError, match=r"line 3: no row ends within 1,000 bytes"):
        nolana.sources.read(source, chunk_bytes=64)
    with nolana.sources.open(source, on_bad_row="skip", chunk_bytes=64) as stream:
        assert stream.gather()[0].tolist() == [[1.0], [2.0]]
        assert stream.bad_rows == 1


def test_a_header_without_rows_is_predicted_as_a_header(folder):
    """The output is a table in any case, which every reader of CSV accepts."""
    (folder / "none.csv").write_text("a,b\n")
    predict = ("predict", folder / "none.csv", "--model", folder / "m")
    assert call(*predict, folder=folder).out == "prediction\n"
    assert (
        call(*predict, "--proba", "--on-bad-row", "skip", folder=folder).out == "line,prediction,proba_even,proba_odd\n"
    )
    assert call(*predict, "--json", folder=folder).out == ""


def test_the_summary_has_a_line_for_each_fact(folder):
    """Line ends in labels do not break it, and one class is not "1 classes"."""
    (folder / "lines.csv").write_text('a,kind\n1,"two\nlines"\n2,"two\nlines"\n')
    done = call("learn", folder / "lines.csv", "--target", "kind", "--model", folder / "one", *FAST, folder=folder)
    assert "task       classification, 1 class: two lines\n" in done.out


def test_unbuffered_output_to_a_full_disk(folder):
    """With PYTHONUNBUFFERED the error comes from the first write, not at the end."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with open("/dev/full", "w") as full:
        words = ["inspect", str(folder / "m")]
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, *words], stdout=full, stderr=subprocess.PIPE, env=environment, timeout=120
        )
    assert done.returncode == 1
    assert done.stderr == b"nolana: cannot write to standard output: No space left on device\n"


def test_predictions_to_a_full_device_name_it(folder):
    done = call("predict", folder / "s.csv", "--model", folder / "m", "--out", "/dev/full", folder=folder)
    assert (done.code, done.err) == (1, "nolana: cannot write /dev/full: No space left on device\n")


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8:strict", "日本"),
        ("ascii:surrogateescape", "日本"),
        ("latin-1", "\\u65e5\\u672c"),
        ("cp1252", "\\u65e5\\u672c"),
    ],
)
def test_letters_that_the_output_does_not_have_end_no_command(encoding, shown, tmp_path):
    source, model = os.fsencode(tmp_path) + b"/\xe4.csv", os.fsencode(tmp_path) + b"/\xe4"  # no UTF-8
    with open(source, "w", encoding="utf-8") as file:
        file.write("größe,y\n" + "1,日本\n2,ja\n" * 30)
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    for words in (
        ("learn", source, "--model", model),
        ("inspect", model, "--plot", os.fsencode(tmp_path) + b"/\xe4.png"),
        ("predict", source, "--model", model, "--explain"),
        ("compare", source, "--target", "y", "--methods", "stream,PA", "--out", tmp_path / "c.png"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, *words], capture_output=True, env=environment, timeout=120
        )
        assert (done.returncode, done.stderr) == (0, b""), done.stderr.decode(errors="replace")
        if words[0] in ("learn", "predict"):
            assert shown in done.stdout.decode(errors="replace")


def test_a_narrow_terminal_cuts_no_number_of_compare(folder):
    environment = os.environ | {"COLUMNS": "40"}
    words = ["compare", str(folder / "s.csv"), "--methods", "stream,PA", "--out", str(folder / "c.png")]
    done = subprocess.run([sys.executable, "-c", COMMAND, *words], capture_output=True, env=environment, timeout=120)
    assert done.returncode == 0
    assert "…" not in done.stdout.decode()
    assert "us per row" in done.stdout.decode()
