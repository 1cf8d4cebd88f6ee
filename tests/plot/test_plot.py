"""Each plot shows what its name says, returns a figure, and writes it where it is asked to."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from nolana import NolanaClassifier, NolanaRegressor, StreamClassifier, StreamRegressor, evaluate, plot

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (1500, 2))
Y = X[:, 0] * X[:, 1] > 0


def blocks(x, y, size=50):
    return [(x[i : i + size], y[i : i + size]) for i in range(0, len(x), size)]


@pytest.fixture(scope="module")
def run():
    """A model on a stream whose labels swap at row 1,000, and the history of its experts."""
    y = Y ^ (np.arange(len(Y)) >= 1000)
    model = StreamClassifier(random_state=0)
    history = plot.ExpertHistory(model)
    return model, history, evaluate.progressive(model, blocks(X, y), callback=history)


def curves_of(figure):
    return {line.get_label(): line for line in figure.axes[0].lines}


def test_running_scores(run):
    _, _, result = run
    figure = plot.running_scores({"a": result.history, "b": result.history})
    lines = figure.axes[0].lines
    assert lines[0].get_xdata()[-1] == 1500
    assert lines[0].get_ydata()[-1] == pytest.approx(100 * result.metrics["accuracy"])
    assert lines[0].get_color() != lines[1].get_color()
    assert lines[0].get_linestyle() != lines[1].get_linestyle()


def test_experts(run):
    model, history, _ = run
    lines = curves_of(plot.experts(history))
    for record in model.experts_:
        assert lines[record["name"]].get_ydata()[-1] == record["weight"]
    assert model.drift_
    assert lines["drift alarm"].get_xdata()[0] == model.drift_[0]


def test_the_history_of_experts_is_bounded():
    model = StreamClassifier(memory="32KB", random_state=0)
    history = plot.ExpertHistory(model)
    model.partial_fit(X[:10], Y[:10])
    for i in range(10, 1500):
        model.partial_fit(X[i : i + 1], Y[i : i + 1])
        history()
    assert len(history.rows) < 1024
    assert history.rows == sorted(history.rows)
    assert {len(weights) for weights in history.weights.values()} == {len(history.rows)}


@pytest.mark.parametrize("features", [1, 2, 5])
def test_landmarks(features):
    x = np.random.default_rng(1).normal(size=(300, features))
    for model in (
        NolanaClassifier(n_landmarks=20).fit(x, x[:, 0] > 0),
        NolanaRegressor(n_landmarks=20).fit(x, x[:, 0]),
    ):
        figure = plot.landmarks(model)
        points = np.concatenate([np.asarray(group.get_offsets()) for group in figure.axes[0].collections])
        assert len(points) == len(model.landmarks_)
        if features == 2:
            assert np.allclose(np.sort(points, axis=0), np.sort(model.landmarks_, axis=0))


def test_regions_have_the_colours_of_the_classes():
    model = StreamClassifier(random_state=0).fit(X, Y)
    image = np.asarray(plot.regions(model, X, Y).axes[0].images[0].get_array())
    n = len(image)
    corner, beside = image[n // 4, n // 4], image[n // 4, 3 * n // 4]  # class True, class False
    orange, blue = np.array([0xD5, 0x5E, 0]) / 255, np.array([0, 0x72, 0xB2]) / 255
    assert np.abs(corner - orange).sum() < np.abs(corner - blue).sum()
    assert np.abs(beside - blue).sum() < np.abs(beside - orange).sum()


def test_regions_of_a_regressor_in_more_features():
    x = np.random.default_rng(1).normal(size=(500, 4))
    figure = plot.regions(StreamRegressor(random_state=0).fit(x, x[:, 3]), x, features=(1, 3))
    shown = np.asarray(figure.axes[0].images[0].get_array())
    assert shown[-1].mean() > shown[0].mean() + 1
    assert figure.axes[0].get_ylabel() == "feature 4"


def test_calibration():
    """Of 100 rows predicted with 80 %, 60 are right: the error is 20 %."""
    p = np.tile([0.2, 0.8], (100, 1))
    figure = plot.calibration(p, np.arange(100) < 60, [False, True])
    assert "expected error 20.0 %" in figure.axes[0].get_title(loc="left")
    assert np.allclose(figure.axes[0].collections[0].get_offsets(), [[80, 60]])


@pytest.mark.parametrize("end", [".png", ".svg", ".pdf"])
def test_a_plot_is_written(run, tmp_path, end):
    path = tmp_path / f"a{end}"
    assert isinstance(plot.experts(run[1], path), Figure)
    assert path.stat().st_size > 1000
    if end == ".png":
        assert imread(path).std() > 0.01


def test_wrong_arguments():
    model = StreamClassifier().fit(X, Y)
    with pytest.raises(ValueError, match=r"must end in \.pdf, \.png or \.svg"):
        plot.regions(model, X, Y, "a.gif")
    with pytest.raises(ValueError, match="columns 0 and 2"):
        plot.regions(model, X, Y, features=(0, 2))
    with pytest.raises(ValueError, match="2 classes; got shape"):
        plot.calibration(np.ones((5, 3)), np.ones(5), [0, 1])
    with pytest.raises(ValueError, match="history is empty"):
        plot.experts(plot.ExpertHistory(model))


def test_panel_with_a_mark_has_a_line_and_a_word_there():
    curves = {"one": ([0, 10], [1.0, 2.0])}
    assert ">change<" in plot.svg([plot.Panel("marked", curves, "rows", "score", mark=5)])
    assert ">change<" not in plot.svg([plot.Panel("plain", curves, "rows", "score")])
