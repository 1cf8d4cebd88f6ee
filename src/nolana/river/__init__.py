"""nolana for River: dicts of features that come and go, ``learn_one`` and ``predict_one``.

The estimators work in River's pipelines, evaluations and ensembles. ``learn_many`` equals a loop of ``learn_one``, bit
for bit. How absent and new features are learned: `nolana.river.slots`.
"""

from nolana.errors import MissingExtraError

try:
    import river as _river  # noqa: F401
except ModuleNotFoundError as missing:
    raise MissingExtraError(
        'nolana.river needs the package river; pip install "nolana[river]"', name=missing.name
    ) from missing

from nolana.river.estimators import NolanaClassifier, NolanaRegressor, StreamClassifier, StreamRegressor

__all__ = ["NolanaClassifier", "NolanaRegressor", "StreamClassifier", "StreamRegressor"]
