"""What StreamClassifier and StreamRegressor say about themselves: experts, sizes, relevance, drift alarms."""

import copy
import threading

import numpy as np
import pytest

import nolana
from nolana import StreamClassifier, StreamRegressor
from stream_cases import stream


def test_experts_sizes_and_repr():
    x, y, _, model = stream("redraw")
    assert "rows learned" not in repr(model)
    model.learn(x, y)
    records = model.experts_
    names = [record["name"] for record in records]
    assert names[:5] == ["linear", "landmarks", "landmarks, fast", "bins", "bins, fast"]
    assert all(name.startswith("neighbours, last ") for name in names[5:-2])
    assert names[-2:] == ["trees", "trees, fast"]
    assert all(record.keys() == {"name", "weight", "score", "bytes"} for record in records)
    assert all(0 <= record["score"] <= 1 for record in records)
    assert 0.7 * model.memory_bytes_ < sum(record["bytes"] for record in records) <= model.memory_bytes_
    assert model.sizes_.keys() == {"landmarks", "slots", "grids", "recent rows", "trees"}
    text = repr(model)
    assert "3,000 rows learned" in text
    assert f"{model.memory_bytes_:,} bytes" in text
    assert f"{model.sizes_['slots']:,} slots" in text


def test_relevance_finds_the_features_that_matter():
    x, y, _, model = stream("redraw")
    assert np.array_equal(model.partial_fit(x[:10], y[:10]).relevance_, np.ones(12))
    model.learn(x[10:], y[10:])
    relevance = model.relevance_
    assert relevance.mean() == pytest.approx(1, abs=0.05)
    assert set(np.argsort(relevance)[-2:]) == {0, 1}
    assert relevance[:2].min() > 2
    assert relevance[2:].max() < 1


def test_on_drift_is_called_once_for_each_alarm():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4000, 3))
    y = (x[:, 0] > 0) ^ (np.arange(4000) >= 2000)
    seen = []
    model = StreamClassifier(random_state=0)
    model.on_drift = seen.append
    for i in range(0, 4000, 7):
        model.learn(x[i : i + 7], y[i : i + 7])
    assert seen == model.drift_
    assert len(seen) == 1
    assert 2000 <= seen[0] < 2050
    one = StreamClassifier(random_state=0).partial_fit(x, y)
    assert one.drift_ == seen
    with pytest.raises(ValueError, match="on_drift=3 is not callable"):
        model.on_drift = 3


@pytest.mark.parametrize("kind", [StreamClassifier, StreamRegressor])
@pytest.mark.parametrize("verb", ["learn", "one row", "partial_fit", "fit", "learn_late"])
def test_every_verb_that_learns_calls_on_drift(kind, verb):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3000, 3))
    y = np.where((x[:, 0] > 0) ^ (np.arange(3000) >= 1500), 1.0, -1.0)
    model, seen = kind(shuffle=False, random_state=0), []  # fit takes the rows in order
    model.on_drift = seen.append
    if verb == "one row":
        model.learn(x[:1400], y[:1400])
        for i in range(1400, 1600):
            model.learn(x[i : i + 1], y[i : i + 1])
    elif verb == "learn_late":
        model.learn_late(x, x, y)
    else:
        getattr(model, verb)(x, y)
    assert seen == model.drift_
    assert any(1500 <= row < 1550 for row in seen)


def test_an_error_of_on_drift_leaves_what_was_learned():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3000, 3))
    y = (x[:, 0] > 0) ^ (np.arange(3000) >= 1500)
    for verb in ("learn", "fit"):
        model = StreamClassifier(shuffle=False, random_state=0)
        model.on_drift = lambda row: 1 // (row - row)
        with pytest.raises(ZeroDivisionError):
            getattr(model, verb)(x, y)
        assert model.n_rows_ == 3000


def test_on_drift_is_not_called_for_earlier_alarms():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3000, 3))
    y = (x[:, 0] > 0) ^ (np.arange(3000) >= 1500)
    model, seen = StreamClassifier(random_state=0).partial_fit(x[:2000], y[:2000]), []
    model.on_drift = seen.append
    model.learn(x[2000:], y[2000:])
    assert model.drift_
    assert not seen


def test_on_drift_may_ask_the_model():
    """Outside the lock: the function can predict, copy and save."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3000, 3))
    y = (x[:, 0] > 0) ^ (np.arange(3000) >= 1500)
    model, seen = StreamClassifier(random_state=0), []
    model.on_drift = lambda row: seen.append((row, model.predict(x[:3]), copy.copy(model).n_rows_))
    done = threading.Thread(target=lambda: model.learn(x, y), daemon=True)
    done.start()
    done.join(60)
    assert not done.is_alive()
    assert len(seen) == 1


def test_a_loaded_model_reports_no_alarm_twice(tmp_path):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3000, 3))
    y = (x[:, 0] > 0) ^ (np.arange(3000) >= 1500)
    model = StreamClassifier(random_state=0).partial_fit(x[:2000], y[:2000])
    model.save(tmp_path / "model.safetensors")
    loaded, seen = nolana.load(tmp_path / "model.safetensors"), []
    loaded.on_drift = seen.append
    loaded.learn(x[2000:], y[2000:])
    assert loaded.drift_ == model.drift_
    assert not seen
