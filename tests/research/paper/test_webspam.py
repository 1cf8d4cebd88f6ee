"""The webspam row of Table 1 from a file of the user's own, in the format of the LIBSVM collection."""

import lzma
from dataclasses import replace

import numpy as np
import pytest

from nolana import datasets
from nolana.research.datasets.collection import COLLECTION
from nolana.research.paper.experiments.table1 import AT_BUDGET, METHODS, STREAMS, Table1, budget_bytes
from nolana.research.paper.harness import QUICK
from nolana.research.paper.harness.data import Directory
from nolana.research.paper.harness.passes import limit_of, pass_key
from paper_source import TINY, Balanced, in_order

NAME = "webspam_wc_normalized_unigram.svm.xz"


def generate(path, rows, seed=0):
    """Unit rows of a few frequencies of 254 characters; spam prefers the characters up to 100. Written in parts."""
    rng = np.random.default_rng(seed)
    with lzma.open(path, "wt", preset=0) as file:
        for start in range(0, rows, 10_000):
            count = min(10_000, rows - start)
            spam = rng.random(count) < 0.6
            places = np.sort(rng.integers(1, 180, (count, 8)) + np.where(spam, 0, 75)[:, None], axis=1)
            values = rng.random((count, 8))
            values /= np.linalg.norm(values, axis=1)[:, None]
            lines = []
            for label, js, vs in zip(spam, places.tolist(), values.tolist(), strict=True):
                once = dict(zip(js, vs, strict=True))
                lines.append(("1 " if label else "-1 ") + " ".join(f"{j}:{v:.6f}" for j, v in once.items()) + "\n")
            file.write("".join(lines))


def test_table_has_the_row_of_the_users_own_file(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("NOLANA_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "none"))
    record = COLLECTION["webspam"]
    small = replace(record, files=(replace(record.files[0], rows=400),))
    monkeypatch.setitem(COLLECTION, "webspam", small)
    generate(tmp_path / NAME, 400)
    source = Directory(str(tmp_path))
    table = Table1(source, TINY)
    assert table.data == ["webspam"]
    results = in_order(table.plan(), source)
    lines = table.lines(results)
    assert [line["method"] for line in lines] == list(METHODS)
    words = " ".join(Balanced(table.section(results).html()).words)
    assert "webspam: the data was not available" not in words
    assert "cpusmall (RMSE): the data was not available" in words
    assert {line["method"]: line["bytes"] for line in lines}[AT_BUDGET] <= budget_bytes("webspam") == 267_200


@pytest.mark.soak
def test_webspam_at_its_size(tmp_path, monkeypatch):
    """350,000 rows of 254 features: read, sampled to the 280,000 rows of the paper, learned in one pass."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    generate(tmp_path / NAME, 350_000)
    source = Directory(str(tmp_path))
    X, y = source.load("webspam")
    assert X.shape == (350_000, 254)
    assert set(np.unique(y)) == {-1, 1}
    scale = replace(QUICK, rows=None, shuffles=1)
    assert limit_of("webspam", scale) == datasets.catalogue()["webspam"].paper.rows == 280_000
    plan = {cell.key: cell for cell in Table1(source, scale).plan()}
    for method in STREAMS:
        cell = plan[pass_key("webspam", method, 0)]
        result = cell.work(source, {}, **cell.arguments)
        assert result["history"][-1][0] == 280_000
        assert result["held_out"] > 0.75
