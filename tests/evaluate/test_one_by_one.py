"""Models of River in nolana's evaluation: the same numbers as in River's own."""

import numpy as np
import pytest

pytest.importorskip("river", reason="River is not installed")

from river import evaluate as river_evaluate
from river import forest, linear_model, metrics, naive_bayes, neighbors, preprocessing, rules, stream, tree

import nolana.river as nr
from nolana import evaluate


def rows(rng, n=400, classes=2):
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int) if classes == 2 else rng.integers(0, 3, n) + (X[:, 0] > 0)


def blocks(X, y, size=70):
    return [(X[i : i + size], y[i : i + size]) for i in range(0, len(y), size)]


CLASSIFIERS = [
    preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    tree.HoeffdingTreeClassifier(grace_period=20),
    forest.ARFClassifier(n_models=3, seed=1),
    neighbors.KNNClassifier(),
    linear_model.Perceptron(),
    naive_bayes.GaussianNB(),
    nr.StreamClassifier(memory="32KB", seed=0),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_accuracy_is_that_of_river(model, rng):
    """But for rows before the first prediction, which count as errors here and not at all in River."""
    X, y = rows(rng)
    y = y.astype(bool)
    mine, theirs = model.clone(), model.clone()
    result = evaluate.progressive(mine, blocks(X, y))
    counted = right = 0
    for x, label in stream.iter_array(X, y):
        predicted = theirs.predict_one(x)
        counted, right = counted + 1, right + (predicted == label)
        theirs.learn_one(x, label)
    assert result.rows == counted
    assert result.metrics["accuracy"] == pytest.approx(right / counted)


def test_log_loss_is_that_of_river(rng):
    """Of a model that predicts from the first row on."""
    X, y = rows(rng)
    model = CLASSIFIERS[0]
    result = evaluate.progressive(model.clone(), blocks(X, y.astype(bool)), metrics=["log_loss", "auc"])
    loss = river_evaluate.progressive_val_score(
        stream.iter_array(X, y.astype(bool)), model.clone(), metrics.LogLoss()
    ).get()
    assert result.metrics["log_loss"] == pytest.approx(loss, rel=1e-9)
    assert 0.3 < result.metrics["auc"] <= 1


def test_a_regressor_and_a_pipeline(rng):
    X, _ = rows(rng)
    y = X[:, 0] + 0.1 * rng.normal(size=len(X))
    for model in (preprocessing.StandardScaler() | linear_model.LinearRegression(), rules.AMRules()):
        result = evaluate.progressive(model.clone(), blocks(X, y))
        rmse = river_evaluate.progressive_val_score(stream.iter_array(X, y), model.clone(), metrics.RMSE()).get()
        assert result.metrics["rmse"] == pytest.approx(rmse)


def test_blocks_may_be_cut_anywhere_and_classes_appear(rng):
    X, y = rows(rng, classes=3)
    labels = np.array(["a", "b", "c", "d"])[y]
    results = [
        evaluate.progressive(tree.HoeffdingTreeClassifier(grace_period=20), blocks(X, labels, size))
        for size in (1, 70, 400)
    ]
    assert len({result.metrics["accuracy"] for result in results}) == 1


def test_frames_give_the_features_their_names(rng):
    pandas = pytest.importorskip("pandas")
    X, y = rows(rng, 100)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = preprocessing.StandardScaler()
    pipeline = model | linear_model.LogisticRegression()
    evaluate.progressive(pipeline, [(frame, y.astype(bool))])
    assert set(model.means) == set("abcd")


def test_labels_that_come_late(rng):
    X, y = rows(rng)
    model = linear_model.LogisticRegression()
    result = evaluate.progressive(model.clone(), blocks(X, y.astype(bool)), delay=50)
    waiting, right = [], []
    for x, label in stream.iter_array(X, y.astype(bool)):
        right.append(model.predict_one(x) == label)
        waiting.append((x, label))
        if len(waiting) > 50:
            model.learn_one(*waiting.pop(0))
    assert result.metrics["accuracy"] == pytest.approx(np.mean(right))


def test_weights_reach_a_model_that_takes_them(rng):
    X, y = rows(rng, 200)
    weights = rng.integers(1, 4, 200).astype(float)
    taken = evaluate.progressive(linear_model.LinearRegression(), [(X, X[:, 0], weights)])
    equal = evaluate.progressive(linear_model.LinearRegression(), [(X, X[:, 0])])
    assert taken.metrics["rmse"] != equal.metrics["rmse"]
    with pytest.raises(ValueError, match="has no argument w"):
        evaluate.progressive(neighbors.KNNClassifier(), [(X, y, weights)])
