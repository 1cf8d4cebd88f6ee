"""pyspark is loaded when it is needed, and its extra is named where it is missing. No Java is needed here."""

import json
import subprocess
import sys

import numpy as np
import pytest

import nolana
from nolana.errors import MissingExtraError


def test_the_package_loads_without_pyspark():
    code = "import json, sys, nolana.spark; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert not set(json.loads(done.stdout)) & {"pyspark", "py4j"}


def test_the_extra_is_named_where_pyspark_is_missing(monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    model = nolana.StreamClassifier().partial_fit(np.eye(2), [0, 1])
    for call in (
        lambda: nolana.spark.predict(None, model),
        lambda: nolana.spark.fit(None, model, features=["a"], label="y"),
        lambda: nolana.spark.StreamingLearner(tmp_path / "model").process(None, 0),
    ):
        with pytest.raises(MissingExtraError, match=r'pip install "nolana\[spark\]"'):
            call()


@pytest.mark.soak  # needs pyspark, not Java
def test_what_is_no_data_frame_of_spark_is_refused():
    model = nolana.StreamClassifier().partial_fit(np.eye(2), [0, 1])
    with pytest.raises(TypeError, match="expected a DataFrame of Spark, got ndarray"):
        nolana.spark.predict(np.eye(2), model)
