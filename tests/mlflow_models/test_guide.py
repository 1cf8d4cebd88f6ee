"""The examples of the guide run; as ``py`` they are left out by the test of all pages, which has no MLflow."""

import re
from pathlib import Path

import pytest

from tracking_server import program

pytestmark = pytest.mark.soak
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "mlflow.md"
CHECKS = """
assert result.rows == model.n_rows_ == 5000
assert result.metrics["accuracy"] > 0.95
assert np.array_equal(labels, model.predict(X))
assert np.array_equal(probabilities, model.predict_proba(X))
row = pd.DataFrame([{"pages": 3, "seconds": 40.5, "country": "uk"}])
assert served.predict(row).tolist() == ["yes"]
"""


def test_examples_of_the_guide_run(tmp_path):
    pytest.importorskip("mlflow")
    blocks = re.findall(r"^```py\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    program("".join(blocks) + CHECKS, tmp_path, "unused")
