"""scikit-learn estimators on top of the learners."""

from nolana.estimators.classifier import NolanaClassifier
from nolana.estimators.regressor import NolanaRegressor
from nolana.estimators.stream import StreamClassifier, StreamRegressor
from nolana.estimators.transformer import OnlineNystroem

__all__ = ["NolanaClassifier", "NolanaRegressor", "OnlineNystroem", "StreamClassifier", "StreamRegressor"]
