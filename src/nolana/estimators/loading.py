"""Estimators back from their files."""

import functools
import os
from collections.abc import Mapping
from typing import Any

from nolana import estimators, modelfile
from nolana.errors import ModelFileError
from nolana.estimators.base import OnlineEstimator
from nolana.estimators.methods import methods
from nolana.estimators.records import estimator_of
from nolana.learner.driver import Driver
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

__all__ = ["load", "load_with_extra"]

SECTION = "estimator"


@functools.cache
def classes() -> dict[str, type[OnlineEstimator]]:
    """Every class that a file may name."""
    kinds = [kind for method in methods() for kind in (method.classifier, method.regressor) if kind is not None]
    return own_classes() | {kind.__name__: kind for kind in kinds}


def own_classes() -> dict[str, type[OnlineEstimator]]:
    """The estimators of nolana itself."""
    return {name: getattr(estimators, name) for name in estimators.__all__}


def load(path: str | os.PathLike[str], **objects: object) -> Any:
    """The estimator that ``save`` wrote to this file; it continues bit for bit where that one was.

    Parameters
    ----------
    path : the file.
    objects : what a file cannot hold, by the name of its parameter: ``kernel=my_kernel``, ``landmarks=my_policy``;
        classes of your own experts by their names.

    Raises `nolana.errors.ModelFileError`, which says what is wrong with the file. No file, whoever made it, can run
    code, crash the process or take more memory than its own size accounts for.

    Examples
    --------
    >>> import os, tempfile, numpy as np, nolana
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = nolana.NolanaClassifier(n_landmarks=20).fit(X, X[:, 0] > 0)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> model.save(path)
    >>> bool((nolana.load(path).decision_function(X) == model.decision_function(X)).all())
    True
    """
    return load_with_extra(path, **objects)[0]


def load_with_extra(path: str | os.PathLike[str], **objects: object) -> tuple[OnlineEstimator, dict[str, Tree]]:
    """The estimator, and the other sections that ``save(path, extra=...)`` put beside it."""
    sections = modelfile.read(path)
    try:
        estimator = _estimator(sections, objects)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error
    return estimator, {name: tree for name, tree in sections.items() if name != SECTION}


def _estimator(sections: dict[str, Tree], objects: Mapping[str, object]) -> OnlineEstimator:
    if SECTION not in sections:
        raise ModelFileError(f"there is no estimator in it, only {', '.join(sections) or 'nothing'}")
    node = Node(sections[SECTION], SECTION)
    name, known = node["class"].text(), own_classes()
    if name not in known:
        known = classes()
    estimator = estimator_of(known[node["class"].text(known)], node, objects)
    learner = estimator.__dict__.get("_learner")
    if isinstance(learner, Driver) and learner.origin is None:
        parts = {name: node[name].value for name in ("fitted", "learner")}
        learner.loaded = modelfile.fingerprint(parts), learner.rows
    return estimator
