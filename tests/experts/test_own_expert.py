"""The expert of docs/extend.md, written outside nolana: it learns, splits, merges, and is saved and loaded."""

import re
from pathlib import Path

import numpy as np
import pytest

import nolana
from nolana import StreamClassifier, StreamRegressor, experts
from nolana.errors import ModelFileError

PAGE = (Path(__file__).parents[2] / "docs" / "extend.md").read_text()


@pytest.fixture(scope="module")
def names():
    page = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/extend.md", "exec"), page)
    return page


def rows(n, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, 4))
    return x, x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3]


def test_own_expert_on_products_has_the_largest_weight_and_lowers_the_error(names):
    weights = {record["name"]: record["weight"] for record in names["model"].experts_}
    assert max(weights, key=weights.get) == "products"
    alone = StreamRegressor(random_state=0).learn(names["X"], names["y"])
    assert np.mean((names["scores"] - names["y"])[600:] ** 2) < 0.8 * np.mean((alone - names["y"])[600:] ** 2)


def test_own_expert_split_block_changes_no_bit(names):
    x, y = rows(600)
    whole, parts = (StreamRegressor(experts=[experts.Bins(), names["Products"]()], random_state=0) for _ in range(2))
    scores = whole.learn(x, y)
    assert np.array_equal(
        scores, np.concatenate([parts.learn(x[i : i + 97], y[i : i + 97]) for i in range(0, 600, 97)])
    )


def test_own_expert_late_class_is_learned(names):
    x, y = rows(600)
    labels = np.where(np.arange(600) < 300, 0, 1 + (y > 1)) * (np.arange(600) >= 300) + (y > 0) * (np.arange(600) < 300)
    model = StreamClassifier(experts=[experts.Bins(), names["Products"]()], random_state=0).partial_fit(x, labels)
    assert model.predict_proba(x).shape == (600, 3)


def test_own_expert_parts_merge(names):
    x, y = rows(900)
    model = StreamRegressor(experts=[names["Products"]()], random_state=0).partial_fit(x[:300], y[:300])
    parts = model.split(2)
    parts[0].learn(x[300:600], y[300:600])
    parts[1].learn(x[600:], y[600:])
    merged = nolana.merge(parts)
    assert np.mean((merged.predict(x) - y) ** 2) < 0.1 * y.var()


def test_own_expert_saved_file_needs_its_classes(names, tmp_path):
    x, y = rows(300)
    model = StreamRegressor(experts=[names["Products"]()], random_state=0).partial_fit(x, y)
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=r"nolana.load\(path, Product\w*=...\)"):
        nolana.load(tmp_path / "m")
    again = nolana.load(tmp_path / "m", Products=names["Products"], ProductMap=names["ProductMap"])
    assert np.array_equal(again.predict(x), model.predict(x))


def test_expert_without_an_abstract_method_cannot_be_made():
    class Unfinished(experts.Expert):
        pass

    with pytest.raises(TypeError, match="abstract method"):
        Unfinished()
