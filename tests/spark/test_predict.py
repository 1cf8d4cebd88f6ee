"""Predictions on Spark are those of the estimator, row by row."""

import numpy as np
import pytest

import nolana

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")


def stream(rows=600, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    return x, (x[:, 0] * x[:, 1] > 0).astype(int) + (x[:, 2] > 1)


def table(spark, x, y=None, names=("a", "b", "c")):
    columns = [*names, *([] if y is None else ["y"])]
    rows = [
        (*row, *([] if y is None else [label]))
        for row, label in zip(x.tolist(), y if y is not None else x, strict=True)
    ]
    return spark.createDataFrame(rows, columns).repartition(3)


def test_columns_arrays_and_vectors_have_the_predictions_of_the_estimator(spark):
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import functions

    x, y = stream()
    model = nolana.StreamClassifier(random_state=0)
    model.learn(x, np.array(["red", "green", "blue"])[y])
    df = table(spark, x)
    vectors = VectorAssembler(inputCols=["a", "b", "c"], outputCol="v").transform(df)
    arrays = df.select("a", "b", "c", functions.array("a", "b", "c").alias("v"))
    for rows, features in ((df, None), (df, ["a", "b", "c"]), (vectors, "v"), (arrays, None)):
        got = nolana.spark.predict(rows, model, features=features).collect()
        back = np.array([(row.a, row.b, row.c) for row in got])
        assert sorted(back.tolist()) == sorted(x.tolist())
        assert [row.prediction for row in got] == model.predict(back).tolist()
        assert np.array_equal([row.probability for row in got], model.predict_proba(back))


def test_a_model_finds_its_columns_by_name_in_any_order(spark):
    import pandas as pd

    x, y = stream()
    model = nolana.NolanaRegressor(n_landmarks=20)
    model.learn(pd.DataFrame(x, columns=["a", "b", "c"]), y + 0.5)
    got = nolana.spark.predict(table(spark, x).select("c", "a", "b"), model).collect()
    back = pd.DataFrame([(row.a, row.b, row.c) for row in got], columns=["a", "b", "c"])
    assert [row.prediction for row in got] == model.predict(back).tolist()
    assert "probability" not in got[0].asDict()


def test_invalid_rows_are_errors_or_left_out(spark):
    from pyspark.errors import PythonException

    x, y = stream(60)
    model = nolana.StreamClassifier().partial_fit(x, y)
    rows = [(0.0, 1.0, 2.0), (1.0, None, 0.0), (float("nan"), 0.0, 0.0), (0.0, 0.0, float("inf")), (1.0, 2.0, 3.0)]
    df = spark.createDataFrame(rows, ["a", "b", "c"]).coalesce(1)
    numeric = nolana.NolanaClassifier().partial_fit(x, y)
    with pytest.raises(PythonException, match=r'partition 0, row 2, column 2 \("b"\): the value is null; df\.na\.fill'):
        nolana.spark.predict(df, numeric).collect()
    got = nolana.spark.predict(df, numeric, on_bad_row="skip").collect()
    assert [(row.a, row.b, row.c) for row in got] == [rows[0], rows[4]]
    assert [row.prediction for row in got] == numeric.predict([rows[0], rows[4]]).tolist()
    with pytest.raises(PythonException, match=r'partition 0, row 4, column 3 \("c"\): \'inf\' is not a finite number'):
        nolana.spark.predict(df, model).collect()
    got = nolana.spark.predict(df, model, on_bad_row="skip").collect()  # what is missing is learned and predicted
    kept = np.array([rows[0], rows[1], rows[2], rows[4]], dtype=np.float64)
    assert [row.prediction for row in got] == model.predict(kept).tolist()
    arrays = spark.createDataFrame([([0.0, 1.0, 2.0],), ([1.0, 2.0],), (None,), ([1.0, 2.0, 3.0],)], "v array<double>")
    with pytest.raises(PythonException, match='row 2, column 1 \\("v\\[0\\]"\\): the row has 2 numbers, expected 3'):
        nolana.spark.predict(arrays.coalesce(1), model).collect()
    assert nolana.spark.predict(arrays, model, on_bad_row="skip").count() == 2


def test_what_cannot_be_learned_is_refused_before_any_job_runs(spark):
    x, y = stream(60)
    model = nolana.StreamClassifier().partial_fit(x, y)
    df = spark.createDataFrame([(1.0, 2.0, "red", 0)], ["a", "b", "colour", "y"])
    for features, message in (
        (["a", "b", "colour"], "column 'colour' has type string; expected a number.*StringIndexer"),
        (["a", "b", "d"], "there is no column 'd'; the DataFrame has 'a', 'b', 'colour', 'y'"),
        (["a", "a", "b"], "names a column twice"),
        (["a", "b"], "features names 2 columns, but the model has learned 3"),
        (None, "the model has learned 3 features without names"),
    ):
        with pytest.raises(ValueError, match=message):
            nolana.spark.predict(df, model, features=features)
    with pytest.raises(ValueError, match="already has a column 'prediction'"):
        nolana.spark.predict(df.selectExpr("a", "b", "y as prediction"), model, features=["a", "b", "prediction"])
    with pytest.raises(ValueError, match="on_bad_row='quarantine' is not"):
        nolana.spark.predict(df, model, on_bad_row="quarantine")
