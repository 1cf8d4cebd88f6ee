"""River's own checks on its two newest minor versions, each installed by name into an empty environment.

The newest is also the one of `make test`, so `make soak` has the other.
"""

from pathlib import Path

import pytest

from conftest import effort
from environments import REPO, environment, output

pytestmark = pytest.mark.soak

CHECK = """
import river, nolana
from river import checks
from nolana.river import NolanaClassifier, NolanaRegressor, StreamClassifier, StreamRegressor
for model in (NolanaClassifier, NolanaRegressor, StreamClassifier, StreamRegressor):
    assert not model()._unit_test_skips()
    checks.check_estimator(model())
print(river.__version__, nolana.backend_name(), nolana.__file__)
"""


@pytest.mark.parametrize("version", ["0.25", "0.26"][: effort(thorough=1, endurance=2)])
def test_the_checks_of_a_version(version, tmp_path):
    python = environment(tmp_path / "env", f"river=={version}.*", "pandas<3")
    number, backend, place = output(python, CHECK).split()
    assert number.startswith(f"{version}.")
    assert backend == "core"
    assert Path(place).is_relative_to(REPO)
