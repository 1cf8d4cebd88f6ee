"""Downloads from a real server on this machine, and the commands of ``nolana data``."""

import bz2
import dataclasses
import http.server
import json
import re
import socket
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

from commands import call
from nolana import datasets
from nolana.cli.app import app
from nolana.errors import DataError
from nolana.research.datasets import DataSet, File, collection
from nolana.research.datasets.collection import COLLECTION

ROWS, WIDTH = 400, 5


class Server(http.server.ThreadingHTTPServer):
    """Serves `files` by path and writes down what it was asked; how it behaves is set on it."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {}
        self.asked = []
        self.ranges = True  # whether it knows ranges
        self.described = True  # whether it sends ETag and Content-Length
        self.tag = '"one"'
        self.breaks_after = None  # bytes of an answer after which it hangs up

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        wanted = self.headers.get("Range")
        server.asked.append((self.path, wanted, self.headers.get("If-Range")))
        data = server.files.get(self.path)
        if data is None:
            self.send_error(404)
            return
        begin = 0
        fresh = self.headers.get("If-Range") in (None, server.tag)
        if wanted and server.ranges and fresh:
            begin = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])
        if begin >= len(data):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(data)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        if server.described:
            self.send_header("Content-Length", str(len(data) - begin))
            self.send_header("ETag", server.tag)
        self.end_headers()
        self.wfile.write(data[begin:][: server.breaks_after])
        self.close_connection = True


@pytest.fixture
def server():
    running = Server()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.shutdown()
    thread.join(60)
    running.server_close()


def libsvm(rows=ROWS, width=WIDTH, seed=0):
    X = np.random.default_rng(seed).integers(1, 100, (rows, width))
    lines = [" ".join([str(2 * (i % 2) - 1), *(f"{j}:{v}" for j, v in enumerate(x, 1))]) for i, x in enumerate(X)]
    return "".join(line + "\n" for line in lines).encode(), X


TEXT, X = libsvm()
PACKED = bz2.compress(TEXT)
PATH = "/binary/small.bz2"


@pytest.fixture
def small(server, tmp_path, monkeypatch):
    """A data set of one file that the server has and this machine has not."""
    monkeypatch.delenv("NOLANA_DATA", raising=False)
    monkeypatch.setenv("NOLANA_DATA_URL", server.url)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    server.files[PATH] = PACKED
    record = DataSet(
        name="small",
        title="A small one",
        files=(File("small.bz2", ROWS, "binary"),),
        features=WIDTH,
        task="classification",
        source="https://example.org/small",
        citation="nobody",
        target=collection.whole,
        labels=(-1, 1),
    )
    monkeypatch.setitem(COLLECTION, "small", record)
    return record


@pytest.fixture
def home(tmp_path):
    return tmp_path / "share" / "nolana"


def names(directory):
    return sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []


def broken(server, record, at):
    """The message of a download during which the server hangs up after so many bytes."""
    server.breaks_after = at
    with pytest.raises(DataError) as caught:
        datasets.get(record)
    server.breaks_after = None
    return str(caught.value)


# The transfer


def test_a_download_is_checked_named_and_loaded(small, server, home):
    seen = []
    assert datasets.get(small, progress=lambda *given: seen.append(given)) == [home / "small.bz2"]
    assert names(home) == ["small.bz2"]
    assert (home / "small.bz2").read_bytes() == PACKED
    assert seen[0] == ("small.bz2", 0, len(PACKED))
    assert seen[-1] == ("small.bz2", len(PACKED), len(PACKED))
    assert np.array_equal(datasets.load(small)[0], X)
    assert server.asked == [(PATH, None, None)]


def test_what_is_here_is_not_downloaded_again(small, server, home, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    assert datasets.get(small, elsewhere) == [elsewhere / "small.bz2"]
    monkeypatch.setenv("NOLANA_DATA", str(elsewhere))
    assert datasets.get(small) == datasets.get(small, elsewhere) == [elsewhere / "small.bz2"]
    assert len(server.asked) == 1
    assert names(home) == []


def test_only_the_missing_file_is_downloaded(small, server, home):
    both = dataclasses.replace(small, files=(*small.files, File("small.t", ROWS, "binary")))
    server.files["/binary/small.t"] = TEXT
    datasets.get(small)
    assert datasets.get(both) == [home / "small.bz2", home / "small.t"]
    assert [path for path, *_ in server.asked] == [PATH, "/binary/small.t"]
    assert datasets.load(both)[0].shape == (2 * ROWS, WIDTH)


def test_a_mirror_may_be_given(small, server, home, monkeypatch):
    monkeypatch.setenv("NOLANA_DATA_URL", "http://127.0.0.1:9/wrong")
    server.files["/mirror" + PATH] = PACKED
    assert datasets.get(small, base_url=server.url + "/mirror/") == [home / "small.bz2"]


def test_a_broken_transfer_goes_on_where_it_stopped(small, server, home):
    message = broken(server, small, 1000)
    assert f"{server.url}{PATH} broke off after 1,000 of {len(PACKED):,} bytes" in message
    assert "run it again" in message
    assert names(home) == ["small.bz2.part", "small.bz2.part.json"]
    seen = []
    datasets.get(small, progress=lambda *given: seen.append(given[1]))
    assert server.asked[1] == (PATH, "bytes=1000-", '"one"')
    assert seen[0] == 1000
    assert names(home) == ["small.bz2"]
    assert (home / "small.bz2").read_bytes() == PACKED


def test_it_may_break_off_again_and_again(small, server, home):
    for _ in range(3):
        broken(server, small, 300)
    datasets.get(small)
    assert [wanted for _, wanted, _ in server.asked] == [None, "bytes=300-", "bytes=600-", "bytes=900-"]
    assert (home / "small.bz2").read_bytes() == PACKED


def test_a_server_that_knows_no_ranges_sends_all_again(small, server, home):
    server.ranges = False
    broken(server, small, 1000)
    datasets.get(small)
    assert server.asked[1][1] == "bytes=1000-"
    assert (home / "small.bz2").read_bytes() == PACKED


def test_a_file_that_has_changed_is_downloaded_from_its_beginning(small, server, home):
    broken(server, small, 1000)
    server.files[PATH], server.tag = bz2.compress(libsvm(seed=1)[0]), '"two"'
    datasets.get(small)
    assert server.asked[1] == (PATH, "bytes=1000-", '"one"')
    assert (home / "small.bz2").read_bytes() == server.files[PATH]


def test_a_part_of_another_mirror_is_not_gone_on_with(small, server, home):
    broken(server, small, 1000)
    server.files["/mirror" + PATH] = PACKED
    datasets.get(small, base_url=server.url + "/mirror")
    assert server.asked[1] == ("/mirror" + PATH, None, None)
    assert (home / "small.bz2").read_bytes() == PACKED


@pytest.mark.parametrize("description", ["{", "[]", '{"url": 1}', None])
def test_a_part_that_nobody_knows_is_not_gone_on_with(small, server, home, description):
    broken(server, small, 1000)
    beside = home / "small.bz2.part.json"
    beside.unlink() if description is None else beside.write_text(description)
    datasets.get(small)
    assert server.asked[1] == (PATH, None, None)
    assert (home / "small.bz2").read_bytes() == PACKED


def test_a_part_that_is_complete_needs_no_byte_more(small, server, home):
    broken(server, small, 1000)
    (home / "small.bz2.part").write_bytes(PACKED)
    datasets.get(small)
    assert server.asked[1][1] == f"bytes={len(PACKED)}-"
    assert len(server.asked) == 2
    assert names(home) == ["small.bz2"]


def test_a_part_that_is_too_long_is_downloaded_anew(small, server, home):
    broken(server, small, 1000)
    (home / "small.bz2.part").write_bytes(PACKED + b"more")
    datasets.get(small)
    assert [wanted for _, wanted, _ in server.asked[1:]] == [f"bytes={len(PACKED) + 4}-", None]
    assert (home / "small.bz2").read_bytes() == PACKED


def test_a_server_that_says_nothing_of_its_files(small, server, home):
    server.described = False
    message = broken(server, small, 1000)
    assert "is not small.bz2 of the data set small, and is removed" in message
    assert "cut off" in message
    assert names(home) == []
    seen = []
    datasets.get(small, progress=lambda *given: seen.append(given))
    assert seen[-1] == ("small.bz2", len(PACKED), None)
    assert (home / "small.bz2").read_bytes() == PACKED


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (bz2.compress(libsvm(rows=ROWS - 1)[0]), "expected 400 rows for the data set small, it has 399"),
        (bz2.compress(libsvm(rows=ROWS + 1)[0]), "expected 400 rows for the data set small, it has more"),
        (bz2.compress(libsvm(width=WIDTH - 1)[0]), "expected 5 features for the data set small, it has 4"),
        (bz2.compress(libsvm(width=WIDTH + 1)[0]), "beyond n_features=5"),
        (b"<!DOCTYPE html>\n<title>Please log in</title>\n", "'html>' is not index:value"),
        (b"BZh9 but not really", "bzip2 data is damaged"),
        (PACKED[:-30], "damaged or cut off"),
    ],
)
def test_a_wrong_file_is_refused_and_removed(small, server, home, content, reason):
    server.files[PATH] = content
    with pytest.raises(DataError) as caught:
        datasets.get(small)
    assert reason in str(caught.value)
    assert f"what {server.url}{PATH} sent is not small.bz2 of the data set small, and is removed" in str(caught.value)
    assert names(home) == []
    server.files[PATH] = PACKED
    datasets.get(small)
    assert server.asked[1] == (PATH, None, None)


def test_a_file_that_is_not_there(small, server, home):
    del server.files[PATH]
    with pytest.raises(DataError, match=r"small\.bz2: the server says 404 Not Found; .* NOLANA_DATA_URL"):
        datasets.get(small)
    assert names(home) == []


def test_offline(small, home, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: nobody else can have this port
        monkeypatch.setenv("NOLANA_DATA_URL", f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(DataError, match=r"cannot download http://127.*small\.bz2: .*refused.*online\?"):
            datasets.get(small)
    assert not home.exists()


def test_something_that_is_no_web_server(small, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setenv("NOLANA_DATA_URL", f"http://127.0.0.1:{other.getsockname()[1]}")

        def greet():
            connection, _ = other.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"220 mail.example.org ESMTP\r\n")

        thread = threading.Thread(target=greet)
        thread.start()
        with pytest.raises(DataError, match="cannot download"):
            datasets.get(small)
        thread.join(60)
        assert not thread.is_alive()


@pytest.mark.parametrize("url", ["file:///etc", "ftp://example.org", "example.org"])
def test_only_the_web_is_downloaded_from(small, url):
    with pytest.raises(DataError, match="must begin with http:// or https://"):
        datasets.get(small, base_url=url)


def test_a_place_that_cannot_be_written_is_named(small, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cannot write .*file/small\.bz2\.part: Not a directory"):
        datasets.get(small, tmp_path / "file")


# The commands


def command(*arguments):
    return CliRunner().invoke(app, ["data", *map(str, arguments)])


def only_line(text):
    (line,) = text.splitlines()
    return line


@pytest.mark.usefixtures("small")
def test_list_says_what_is_here(home):
    def rows():
        table = [
            [cell.strip() for cell in re.split("[│|]", line)[1:-1]] for line in command("list").stdout.splitlines()
        ]
        return {cells[0]: cells[1:] for cells in table if len(cells) == 4}

    before = rows()
    assert before["covtype"] == ["581,012 x 54", "classification", "no"]
    assert before["small"] == ["400 x 5", "classification", "no"]
    assert set(before) == set(datasets.catalogue())
    datasets.get("small")
    assert rows() == before | {"small": ["400 x 5", "classification", str(home)]}


@pytest.mark.usefixtures("small")
def test_list_as_json(home):
    datasets.get("small")
    listed = {entry["name"]: entry for entry in json.loads(command("list", "--json").stdout)}
    assert list(listed) == list(datasets.catalogue())
    assert listed["small"]["directory"] == str(home)
    assert listed["webspam"]["directory"] is None
    assert listed["webspam"]["paper"] == {"n_landmarks": 100, "loss": "hinge", "rows": 280_000}
    assert listed["webspam"]["files"] == ["webspam_wc_normalized_unigram.svm.xz"]


@pytest.mark.usefixtures("small")
def test_get_prints_the_files_and_where_finds_them(tmp_path):
    place = tmp_path / "with a very long name that no terminal of ordinary width would ever show on one line"
    got = command("get", "small", "--data", place)
    assert got.exit_code == 0, got.output
    assert only_line(got.stdout) == str(place / "small.bz2")
    assert got.stderr == ""
    assert command("where", "small", "--data", place).stdout == got.stdout
    assert json.loads(command("where", "small", "--json", "--data", place).stdout) == {
        "name": "small",
        "files": [str(place / "small.bz2")],
    }
    assert str(place) in command("list", "--data", place).stdout


@pytest.mark.usefixtures("small")
def test_get_from_a_mirror_as_json(server, home):
    server.files["/mirror" + PATH] = PACKED
    got = command("get", "small", "--url", server.url + "/mirror", "--json")
    assert json.loads(got.stdout) == {"name": "small", "files": [str(home / "small.bz2")]}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["where", "webspam"], "`nolana data get webspam`"),
        (["where", "nothing"], "there is no data set 'nothing'"),
        (["get", "elec2"], "cannot download it"),
        (["get", "webspam"], "cannot download http://127.0.0.1:"),
        (["get"], "NAME"),
        (["burn"], "burn"),
    ],
)
def test_a_mistake_is_one_line_and_a_two(arguments, reason, tmp_path, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("NOLANA_DATA", "")
        monkeypatch.setenv("NOLANA_DATA_URL", f"http://127.0.0.1:{taken.getsockname()[1]}")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        done = call("data", *arguments, folder=tmp_path)
    assert done.code == 2
    assert done.out == ""
    line = only_line(done.err)
    assert line.startswith("nolana: ")
    assert reason in line


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_lists_the_commands(arguments):
    done = command(*arguments)
    assert done.exit_code == 0
    assert all(name in done.stdout for name in ("list", "where", "get"))
