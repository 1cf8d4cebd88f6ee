"""Parts that 0.2.0 saved are merged with the base that 0.2.0 saved, whose classes have other names today."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import nolana

sys.path.insert(0, str(Path(__file__).parent / "v02"))
from make_v02_parts import rows

V02 = Path(__file__).parent / "v02"


@pytest.fixture
def base():
    return nolana.load(V02 / "base.safetensors")


@pytest.fixture
def parts():
    return [nolana.load(V02 / f"part{i}.safetensors") for i in range(2)]


def test_merge_of_v02_parts_scores_as_in_0_2_0(base, parts):
    merged = nolana.merge(parts, base=base)
    assert merged.n_rows_ == 700
    x, _ = rows()
    assert np.allclose(merged.decision_function(x[900:920]), json.loads((V02 / "expected.json").read_text()), atol=1e-9)


@pytest.mark.parametrize("change", ["learn", "fit"])
def test_merge_of_v02_parts_refuses_a_base_that_learned_since(base, parts, change):
    x, y = rows()
    if change == "learn":
        base.learn(x[300:301], y[300:301])
    else:
        base.set_params(shuffle=False).fit(x[100:400], y[100:400])  # as many rows as before
    with pytest.raises(ValueError, match="not the model that these parts were split from"):
        nolana.merge(parts, base=base)
