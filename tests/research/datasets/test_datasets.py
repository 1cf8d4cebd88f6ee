"""Data sets: the catalogue, finding files, reading and caching their rows."""

import bz2
import dataclasses
import os
import stat
import threading
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from nolana import datasets
from nolana.errors import DataError, NolanaError, StreamError
from nolana.research.datasets import DataSet, File, Paper, collection
from nolana.research.datasets import rows as rows_module
from nolana.research.datasets.collection import BASE_URL, COLLECTION

REAL = os.environ.get("NOLANA_DATA")
ROWS = (6, 4)
WIDTH = 3


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    """A machine that has nothing yet."""
    for variable in ("NOLANA_DATA", "NOLANA_DATA_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def tiny():
    """Ten rows in two files, labelled -1 and +1."""
    return DataSet(
        name="tiny",
        title="Ten rows",
        files=(File("tiny.bz2", ROWS[0], "binary"), File("tiny.t.bz2", ROWS[1], "binary", also=("test.bz2",))),
        features=WIDTH,
        task="classification",
        source="https://example.org/tiny",
        citation="nobody",
        target=collection.whole,
        labels=(-1, 1),
        paper=Paper(5, "hinge", 10),
    )


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(sum(ROWS), WIDTH)), np.array([1, -1] * 5)


def write(path, X, y):
    """LIBSVM text; zeros are left out, as in the collection."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        " ".join([f"{label:g}", *(f"{j}:{value!r}" for j, value in enumerate(row, 1) if value)])
        for row, label in zip(np.asarray(X).tolist(), y, strict=True)
    ]
    text = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(bz2.compress(text) if path.suffix == ".bz2" else text)
    return path


def put(directory, rows, names=("tiny.bz2", "tiny.t.bz2")):
    X, y = rows
    cut = ROWS[0]
    return [write(directory / names[0], X[:cut], y[:cut]), write(directory / names[1], X[cut:], y[cut:])]


# The catalogue


def test_the_catalogue_is_that_of_the_paper():
    shapes = {
        name: (r.rows, r.features, r.task, r.paper and (r.paper.n_landmarks, r.paper.loss, r.paper.rows))
        for name, r in datasets.catalogue().items()
    }
    classes = "classification"
    assert shapes == {
        "cpusmall": (8_192, 12, "regression", (20, "squared", 8_192)),
        "usps": (9_298, 256, classes, (100, "hinge", 9_298)),
        "usps_halves": (9_298, 256, classes, (100, "hinge", 9_298)),
        "ijcnn1": (141_691, 22, classes, (100, "hinge", 141_691)),
        "webspam": (350_000, 254, classes, (100, "hinge", 280_000)),
        "covtype": (581_012, 54, classes, (200, "logistic", 581_012)),
        "elec2": (45_312, 8, classes, None),
        "insects": (24_150, 33, classes, None),
        "interchanging_rbf": (200_000, 2, classes, None),
    }
    assert [name for name, record in datasets.catalogue().items() if record.drifts] == [
        "elec2",
        "insects",
        "interchanging_rbf",
    ]


def test_the_catalogue_handed_out_is_a_copy():
    datasets.catalogue().clear()
    assert "usps" in datasets.catalogue()


def test_addresses_are_those_of_the_collection():
    urls = {name: [file.url(BASE_URL) for file in r.files] for name, r in COLLECTION.items()}
    home = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
    assert urls["cpusmall"] == [home + "regression/cpusmall_scale"]
    assert urls["usps_halves"] == [home + "multiclass/usps.bz2", home + "multiclass/usps.t.bz2"]
    assert urls["covtype"] == [home + "binary/covtype.libsvm.binary.scale.bz2"]
    assert urls["elec2"] == [None]


def test_public_names_are_sorted_and_there():
    assert datasets.__all__ == sorted(datasets.__all__)
    assert all(hasattr(datasets, name) for name in datasets.__all__)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(DataError, match=r"no data set 'mnist'; choose one of: cpusmall, usps,"):
        datasets.load("mnist")


# Finding


def test_the_order_is_directory_then_environment_then_home(tiny, rows, machine, monkeypatch):
    one, two = machine / "one", machine / "two"
    monkeypatch.setenv("NOLANA_DATA", os.pathsep.join(["", str(one), str(two)]))
    own = machine / "share" / "nolana"
    assert datasets.places(machine / "given") == [machine / "given", one, two, own]
    for directory in (own, two, one, machine / "given"):
        put(directory, rows)
        assert datasets.find(tiny, machine / "given") == [directory / "tiny.bz2", directory / "tiny.t.bz2"]


def test_directories_may_begin_at_home(machine, monkeypatch):
    monkeypatch.setenv("HOME", str(machine))
    monkeypatch.setenv("XDG_DATA_HOME", "relative/paths/do/not/count")
    assert datasets.places("~/data") == [machine / "data", machine / ".local/share/nolana"]


@pytest.mark.parametrize("names", [("tiny", "tiny.t"), ("tiny.gz", "test.bz2"), ("tiny.bz2", "test")])
def test_files_are_found_under_their_other_names_and_packings(tiny, machine, names):
    for name in names:
        (machine / name).touch()
    assert [path.name for path in datasets.find(tiny, machine)] == list(names)


def test_a_directory_of_that_name_is_not_a_file(tiny, rows, machine):
    (machine / "data" / "tiny.bz2").mkdir(parents=True)
    put(machine / "data", rows, ("tiny", "tiny.t"))
    assert [path.name for path in datasets.find(tiny, machine / "data")] == ["tiny", "tiny.t"]


def test_what_is_missing_is_said_with_places_address_and_command(tiny, rows, machine, monkeypatch):
    monkeypatch.setenv("NOLANA_DATA", str(machine / "some"))
    put(machine / "some", rows)[1].unlink()
    with pytest.raises(DataError) as caught:
        datasets.load(tiny)
    message = str(caught.value)
    assert isinstance(caught.value, NolanaError)
    for part in (
        "data set tiny",
        "tiny.bz2 and tiny.t.bz2",
        f"{machine}/some (which has only tiny.bz2)",
        f"{machine}/share/nolana",
        f"{BASE_URL}/binary/tiny.t.bz2",
        tiny.source,
        "`nolana data get tiny`",
        "NOLANA_DATA",
    ):
        assert part in message


def test_webspam_says_where_to_get_it():
    with pytest.raises(DataError) as caught:
        datasets.load("webspam")
    assert f"{BASE_URL}/binary/webspam_wc_normalized_unigram.svm.xz" in str(caught.value)
    assert "`nolana data get webspam`" in str(caught.value)


def test_what_cannot_be_downloaded_says_so():
    for act in (datasets.load, datasets.get):
        with pytest.raises(DataError, match=r"cannot download it: see https://www\.openml\.org/d/151"):
            act("elec2")


# Reading


def test_files_are_read_one_after_the_other(tiny, rows, machine):
    put(machine, rows)
    X, y = datasets.load(tiny, machine)
    assert np.array_equal(X, rows[0])
    assert np.array_equal(y, rows[1])
    assert (X.dtype, y.dtype) == (np.float64, np.int64)
    assert X.flags.c_contiguous


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda X, y: (X[:-1], y[:-1]), r"tiny.t.bz2: expected 4 rows for the data set tiny, it has 3"),
        (lambda X, y: (np.vstack([X, X]), np.hstack([y, y])), r"expected 4 rows for the data set tiny, it has more"),
        (lambda X, y: (X[:, :2], y), r"tiny.bz2: expected 3 features for the data set tiny, it has 2"),
        (lambda X, y: (X, np.where(y > 0, 7, -1)), r"expected the labels -1, 1 for the data set tiny, got -1, 7"),
        (lambda X, y: (X, y / 2), r"row 1 has the label 0.5, which is not an integer"),
    ],
)
def test_what_is_not_the_data_set_is_refused(tiny, rows, machine, spoil, reason):
    put(machine, spoil(*rows))
    with pytest.raises(DataError, match=reason):
        datasets.load(tiny, machine)
    assert not list((machine / "cache").rglob("*.rows"))


def test_a_wider_file_and_a_cut_one_are_refused_at_their_place(tiny, rows, machine):
    path = put(machine, (np.hstack([rows[0], rows[0]]), rows[1]))[0]
    with pytest.raises(StreamError, match=r"tiny.bz2, line 1.*beyond n_features=3"):
        datasets.load(tiny, machine)
    path.write_bytes(put(machine, rows)[0].read_bytes()[:-20])
    with pytest.raises(StreamError, match="bzip2 data is damaged or cut off"):
        datasets.load(tiny, machine)


def test_csv_of_another_width_is_refused(tiny, machine):
    record = dataclasses.replace(tiny, files=(File("tiny.csv", 2),), format="csv")
    (machine / "tiny.csv").write_text("a,b,c,label\n1,2,3,1\n4,5,0,-1\n")
    X, y = datasets.load(record, machine)
    assert X.tolist() == [[1, 2, 3], [4, 5, 0]]
    assert y.tolist() == [1, -1]
    (machine / "tiny.csv").write_text("a,b,label\n1,2,1\n4,5,-1\n")
    with pytest.raises(DataError, match="expected 3 features for the data set tiny, it has 2"):
        datasets.load(record, machine)


def test_targets_of_a_regression_stay_numbers(tiny, rows, machine):
    record = dataclasses.replace(tiny, task="regression", target=collection.measured, labels=None)
    put(machine, (rows[0], np.arange(10) / 4))
    for _ in range(2):
        assert np.array_equal(datasets.load(record, machine)[1], np.arange(10) / 4)


def test_the_halves_of_usps():
    assert collection.halves(np.arange(1.0, 11.0)).tolist() == [-1] * 5 + [1] * 5


@pytest.mark.parametrize("labels", [(1, 2), (-1, 1), (2, 1)])
def test_cover_type_two_is_known_by_its_rows(labels, monkeypatch):
    monkeypatch.setattr(collection, "LODGEPOLE_PINES", 2)
    rest, two = labels
    assert collection.cover_type_two(np.array([rest, two, rest, two, rest], float)).tolist() == [-1, 1, -1, 1, -1]
    with pytest.raises(ValueError, match=r"one of them on 2 rows; rows by label are"):
        collection.cover_type_two(np.array([rest, two, rest, two, two, rest], float))


def test_covtype_is_read_raw_or_scaled(machine, monkeypatch):
    """Both files of the collection, in small: raw features with labels 1 and 2, and what scaling makes of them."""
    monkeypatch.setattr(collection, "LODGEPOLE_PINES", 2)
    covtype = dataclasses.replace(COLLECTION["covtype"], features=3)
    record = dataclasses.replace(covtype, files=(dataclasses.replace(covtype.files[0], rows=5),))
    raw, y = np.array([[2596, 51, 0], [2590, 56, 1], [2804, 139, 1], [2785, 155, 0], [2595, 45, 1.0]]), [1, 1, 2, 2, 1]
    write(machine / "raw" / "covtype.libsvm.binary.bz2", raw, y)
    scaled = (raw - raw.min(axis=0)) / np.ptp(raw, axis=0)
    write(machine / "scaled" / "covtype.libsvm.binary.scale.bz2", scaled, y)
    write(machine / "signs" / "covtype.binary.scale01.bz2", scaled, [-1, -1, 1, 1, -1])
    for place in ("raw", "scaled", "signs"):
        X, classes = datasets.load(record, machine / place)
        assert np.array_equal(X, scaled)
        assert classes.tolist() == [-1, -1, 1, 1, -1]


def test_a_feature_that_never_changes_is_scaled_to_zero():
    X = np.array([[5.0, 1.0], [5.0, 3.0]])
    collection.unit_range(X)
    assert X.tolist() == [[0, 0], [0, 1]]


# Keeping


@pytest.fixture
def parses(monkeypatch):
    """How often files were parsed."""
    real, count = rows_module._read, []
    monkeypatch.setattr(rows_module, "_read", lambda *given: count.append(1) or real(*given))
    return count


def only_kept(machine):
    (path,) = (machine / "cache" / "nolana" / "datasets").iterdir()
    return path


def same(a, b):
    return np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1]) and a[1].dtype == b[1].dtype


def test_the_second_load_does_not_parse_and_is_the_same(tiny, rows, machine, parses):
    put(machine, rows)
    first, second = datasets.load(tiny, machine), datasets.load(tiny, machine)
    assert len(parses) == 1
    assert same(first, second)
    assert type(second[0]) is np.ndarray


def test_writing_to_the_arrays_changes_nothing_for_others(tiny, rows, machine):
    put(machine, rows)
    datasets.load(tiny, machine)
    mine = datasets.load(tiny, machine)
    mine[0][:], mine[1][:] = 0, 0
    assert same(datasets.load(tiny, machine), rows)


def test_new_files_replace_what_was_kept(tiny, rows, machine, parses):
    put(machine, rows)
    datasets.load(tiny, machine)
    other = rows[0][::-1].copy(), rows[1]
    for path in put(machine, other):
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    assert same(datasets.load(tiny, machine), other)
    assert len(parses) == 2
    only_kept(machine)


def test_two_copies_and_two_records_have_their_own_cache(tiny, rows, machine, parses):
    other = -rows[0], rows[1]
    put(machine / "a", rows)
    put(machine / "b", other)
    turned = dataclasses.replace(tiny, name="turned", target=lambda y: -collection.whole(y))
    for _ in range(2):
        assert same(datasets.load(tiny, machine / "a"), rows)
        assert same(datasets.load(tiny, machine / "b"), other)
        assert same(datasets.load(turned, machine / "a"), (rows[0], -rows[1]))
    assert len(parses) == 3


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"something else altogether",
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:],
        lambda data: data[:-45] + bytes([data[-45] ^ 1]) + data[-44:],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    ],
)
def test_a_damaged_or_foreign_file_is_made_anew(tiny, rows, machine, parses, damage):
    put(machine, rows)
    datasets.load(tiny, machine)
    path = only_kept(machine)
    sound = path.read_bytes()
    path.write_bytes(damage(sound))
    assert same(datasets.load(tiny, machine), rows)
    assert len(parses) == 2
    assert only_kept(machine).read_bytes() == sound


def test_a_flipped_bit_is_noticed_wherever_it_is(tiny, rows, machine, parses):
    put(machine, rows)
    datasets.load(tiny, machine)
    path = only_kept(machine)
    sound = path.read_bytes()
    for place in range(0, len(sound), 3):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 64]) + sound[place + 1 :])
        assert same(datasets.load(tiny, machine), rows)
    assert len(parses) == 1 + len(range(0, len(sound), 3))


@pytest.mark.parametrize("obstacle", ["file", "full"])
def test_without_a_cache_everything_works(tiny, rows, machine, monkeypatch, parses, obstacle):
    put(machine, rows)
    if obstacle == "file":
        (machine / "cache").write_text("not a directory")
    else:

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
    for _ in range(2):
        assert same(datasets.load(tiny, machine), rows)
    assert len(parses) == 2
    if obstacle == "full":
        assert not list((machine / "cache" / "nolana" / "datasets").iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_may_not_be_written_is_no_obstacle(tiny, rows, machine, parses):
    put(machine, rows)
    (machine / "cache").mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    for _ in range(2):
        assert same(datasets.load(tiny, machine), rows)
    assert len(parses) == 2


def test_without_a_home_there_is_no_cache_and_no_place_of_ones_own(tiny, rows, machine, monkeypatch, parses):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    for variable in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable)
    monkeypatch.setattr(Path, "home", homeless)
    put(machine, rows)
    for _ in range(2):
        assert same(datasets.load(tiny, machine), rows)
    assert len(parses) == 2
    with pytest.raises(DataError, match="no directory at all"):
        datasets.load(tiny)
    with pytest.raises(DataError, match="no home directory to download to"):
        datasets.get(tiny)


def test_several_loads_at_once(tiny, rows, machine):
    put(machine, rows)
    results = []
    threads = [threading.Thread(target=lambda: results.append(datasets.load(tiny, machine))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == 8
    assert all(same(result, rows) for result in results)
    only_kept(machine)


# The real files


def real(name):
    if not REAL:
        pytest.skip("needs real data; set NOLANA_DATA")
    try:
        return datasets.find(name, REAL)
    except DataError as missing:
        pytest.skip(f"{missing}; set NOLANA_DATA")


def test_cpusmall_is_what_scikit_learn_reads():
    (path,) = real("cpusmall")
    X, y = datasets.load("cpusmall", REAL)
    theirs, targets = load_svmlight_file(str(path), n_features=12)
    assert np.array_equal(X, theirs.toarray())
    assert np.array_equal(y, targets)


@pytest.mark.parametrize("name", ["elec2", "insects", "interchanging_rbf"])
def test_drifting_streams_are_what_numpy_reads(name):
    (path,) = real(name)
    X, y = datasets.load(name, REAL)
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    assert np.array_equal(np.column_stack([X, y]), table)


@pytest.mark.soak
def test_usps_and_its_halves_are_the_same_digits():
    real("usps")
    X, digits = datasets.load("usps", REAL)
    same_digits, signs = datasets.load("usps_halves", REAL)
    assert np.array_equal(X, same_digits)
    assert np.array_equal(signs, np.where(digits - 1 >= 5, 1, -1))


@pytest.mark.soak
@pytest.mark.parametrize("name", ["ijcnn1", "covtype"])
def test_the_large_ones_load(name):
    real(name)
    X, y = datasets.load(name, REAL)
    record = datasets.catalogue()[name]
    assert X.shape == (record.rows, record.features)
    assert set(np.unique(y)) == {-1, 1}
    assert same(datasets.load(name, REAL), (X, y))
