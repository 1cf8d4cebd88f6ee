"""nolana for MLflow: the model file as an artifact, a pyfunc flavour that serves it, and a logger of running scores.

The extra ``mlflow`` brings the package: ``pip install "nolana[mlflow]"``. Nothing is pickled: a model that is logged is
the file of ``estimator.save`` or `nolana learn`, and no file, whoever made it, can run code.
"""

from nolana.mlflow.logger import Logger
from nolana.mlflow.models import FLAVOR_NAME, load_model, log_model, save_model, signature_of
from nolana.mlflow.models import _load_pyfunc as _load_pyfunc  # MLflow calls it

__all__ = ["FLAVOR_NAME", "Logger", "load_model", "log_model", "save_model", "signature_of"]
