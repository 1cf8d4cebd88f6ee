"""A metric is found by its name, without a list of metrics."""

import sys

import nolana.metrics
from nolana.metrics import IN_PER_CENT, NAMES, OF_NUMBERS, SMALLER_IS_BETTER, registry

BIAS = """
from nolana.metrics.means import Mean


class Bias(Mean):
    name = "bias"
    task = "regression"

    def losses(self, rows):
        return rows.errors
"""


def test_metric_in_a_new_file_is_found_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "bias.py").write_text(BIAS)
    monkeypatch.setattr(nolana.metrics, "__path__", [*nolana.metrics.__path__, str(tmp_path)])
    try:
        found = {metric.name: metric for metric in registry._metrics()}
    finally:
        sys.modules.pop("nolana.metrics.bias", None)
        vars(nolana.metrics).pop("bias", None)
    assert found.keys() == {*NAMES, "bias"}
    assert found["bias"].task == "regression"


def test_attributes_of_metrics_make_the_groups():
    assert OF_NUMBERS == ("mae", "mase", "r2", "rmse")
    assert SMALLER_IS_BETTER == ("brier", "log_loss", "mae", "mase", "rmse")
    assert set(NAMES) - set(IN_PER_CENT) == {"brier", "log_loss", "mae", "mase", "r2", "rmse"}
