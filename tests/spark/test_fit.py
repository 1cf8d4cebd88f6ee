"""A fit on Spark is that of one process with the same rounds, whatever the partitions."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

import nolana
from nolana.errors import StreamError
from nolana.estimators.rounds import RoundLearner
from nolana.evaluate import Evaluation

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")


class WithoutMerge:
    """A metric that cannot add up what parts have counted."""

    name = "counter"

    def update(self, rows):
        """Nothing is counted."""

    def value(self):
        return 0.0

    def state(self):
        return {}

    def restore(self, state):
        """Nothing was counted."""


def frame(spark, x, y, partitions, kind="double"):
    """The rows in this order, in so many partitions."""
    rows = [(row, label) for row, label in zip(x.tolist(), y.tolist(), strict=True)]
    rdd = spark.sparkContext.parallelize(rows, partitions)
    return spark.createDataFrame(rdd, f"x array<double>, y {kind}")


def one_process(model, x, y, rows_per_round, parts, metrics):
    """The same rounds in this process."""
    evaluation = Evaluation(metrics=metrics)
    blocks = [(x[i : i + rows_per_round], y[i : i + rows_per_round]) for i in range(0, len(x), rows_per_round)]
    evaluation.run(RoundLearner(model, parts), blocks)
    return evaluation.metrics


@pytest.mark.parametrize(
    ("partitions", "parts"),
    [(3, None), (1, None), (5, 20)],
)
def test_squared_loss_is_that_of_one_process_whatever_the_partitions(spark, partitions, parts):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 4))
    y = np.sin(x[:, 0]) * x[:, 1] + 0.1 * rng.normal(size=6000)
    new = rng.normal(size=(200, 4))
    one = nolana.NolanaRegressor(n_landmarks=50, forgetting=1.0)
    expected = one_process(one, x, y, 3000, 1, ["rmse", "r2"])
    model = nolana.NolanaRegressor(n_landmarks=50, forgetting=1.0)
    df = frame(spark, x, y, partitions)
    metrics = ["rmse", "r2"]
    result = nolana.spark.fit(df, model, features="x", label="y", rows_per_round=3000, parts=parts, metrics=metrics)
    assert not hasattr(model, "n_features_in_")
    assert result.rows == result.model.n_rows_ == 6000
    assert np.abs(result.model.predict(new) - one.predict(new)).max() < 1e-8
    assert [r.rows for r in result.rounds] == [3000, 3000]
    assert result.metrics == pytest.approx(expected, rel=0.05)  # parts score rows with what they learned themselves
    got = nolana.spark.predict(df, result.model).limit(3).collect()
    assert [row.prediction for row in got] == result.model.predict(x[:3]).tolist()


def test_the_default_classifier_is_that_of_one_process_with_the_same_parts(spark):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(6000, 3))
    y = np.array(["red", "green", "blue"])[(x[:, 0] * x[:, 1] > 0).astype(int) + (x[:, 2] > 1)]
    one = nolana.StreamClassifier(random_state=0)
    names = ["accuracy", "balanced_accuracy", "f1", "log_loss"]
    expected = one_process(one, x, y, 4000, 4, names)
    result = nolana.spark.fit(
        frame(spark, x, y, 3, "string"),
        nolana.StreamClassifier(random_state=0),
        features="x",
        label="y",
        rows_per_round=4000,
        parts=4,
        metrics=names,
    )
    assert result.metrics == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(result.model.predict_proba(x), one.predict_proba(x))


def test_invalid_rows_are_errors_before_anything_is_learned_or_left_out(spark):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3000, 2))
    rows = [(*row, int(row[0] > 0)) for row in x.tolist()]
    rows[1000], rows[1001], rows[1002] = (None, 0.0, 1), (0.0, float("inf"), 1), (0.0, 0.0, None)
    df = spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), "a double, b double, y int")
    model = nolana.StreamClassifier(random_state=0)
    arguments = {"features": ["a", "b"], "label": "y", "rows_per_round": 2500}
    with pytest.raises(StreamError, match=r'partition 0, row 1002, column 2 \("b"\): \'inf\' is not a finite number'):
        nolana.spark.fit(df, model, **arguments)
    with pytest.raises(StreamError, match=r'partition 0, row 1001, column 1 \("a"\): the value is null'):
        nolana.spark.fit(df, nolana.NolanaClassifier(random_state=0), **arguments)
    result = nolana.spark.fit(df, model, on_bad_row="skip", **arguments)
    assert result.bad_rows == {"number": 1, "label": 1}
    assert result.rows == result.model.n_rows_ == 2998
    assert result.metrics["accuracy"] > 0.9
    with pytest.raises(StreamError, match="there are no rows to learn"):
        nolana.spark.fit(df.limit(0), model, **arguments)
    with pytest.raises(ValueError, match="label='a' is one of the features"):
        nolana.spark.fit(df, model, **arguments | {"label": "a"})
    with pytest.raises(ValueError, match="'counter' has no merge"):
        nolana.spark.fit(df, model, metrics=[WithoutMerge()], **arguments)
    with pytest.raises(ValueError, match="features names 1 columns, but the model has learned 2"):
        nolana.spark.fit(df, result.model, **arguments | {"features": ["a"]})
    uneven = spark.createDataFrame([([1.0, 2.0], 0), ([1.0], 1)], "x array<double>, y int").repartition(2, "y")
    with pytest.raises(StreamError, match="numbers"):
        nolana.spark.fit(uneven, model, features="x", label="y")


def test_strings_booleans_dates_and_nulls_are_learned_as_in_a_frame(spark):
    """One partition and one round: the rows of the leader, in their order, as a frame of pandas has them."""
    rng = np.random.default_rng(3)
    towns = [None, "Bonn", "Köln", "Ulm"]
    start = datetime(2024, 1, 1)
    rows = [
        (towns[t], bool(t % 2), start + timedelta(hours=7 * i), None if i % 9 == 0 else float(x), int(t > 1))
        for i, (t, x) in enumerate(zip(rng.integers(0, 4, 900), rng.normal(size=900), strict=True))
    ]
    names = ["town", "open", "when", "x"]
    df = spark.createDataFrame(rows, "town string, open boolean, when timestamp_ntz, x double, y int").coalesce(1)
    result = nolana.spark.fit(df, nolana.StreamClassifier(random_state=0), features=names, label="y")
    assert result.model.schema_.describe()[:2] == ["town: category", "open: true or false"]
    frame = pd.DataFrame([row[:4] for row in rows], columns=names)
    one = nolana.StreamClassifier(random_state=0)
    one.learn(frame[:100], [row[4] for row in rows[:100]])
    assert result.model.schema_ == one.schema_
    assert (result.model.predict(frame) == [row[4] for row in rows]).mean() > 0.95
    got = nolana.spark.predict(df.select("y", "x", "when", "open", "town"), result.model).collect()
    assert [row.prediction for row in got] == result.model.predict(frame).tolist()
