"""Split a learner into parts that learn apart, and merge them into the learner that saw all their rows.

A part records the fingerprint of its base: a checksum of all that the base had learned. The base itself stays in
memory, as long as nobody saves, copies or pickles the part.
"""

import copy
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any, TypeVar

import numpy as np

from nolana import modelfile
from nolana.estimators._sklearn import NotFittedError
from nolana.estimators.base import OnlineEstimator, OnlinePredictor
from nolana.estimators.model import NolanaModel
from nolana.estimators.parameters import integer
from nolana.estimators.stream import StreamModel
from nolana.learner import records
from nolana.learner.driver import Origin
from nolana.learner.landmark import mergeable_experts
from nolana.learner.merge import frozen_copy, mergeable, merged_learner

T = TypeVar("T")
E = TypeVar("E", bound=OnlineEstimator)

MOST_PARTS = 1 << 16
PLAIN = (type(None), bool, int, float, str, list, tuple, dict)  # parameters that can be compared in any process
WHO = (
    "StreamClassifier, StreamRegressor, and NolanaClassifier and NolanaRegressor with optimizer='newton' and "
    "solver='inverse' can be merged"
)


def split_estimator(model: E, k: int) -> list[E]:
    """k frozen copies of a fitted model that record it as their base; the model does not change."""
    count = integer("k", k, 1, MOST_PARTS)
    base = settled(model)
    learner = base._learner
    origin = Origin(fingerprint(base), int(learner.rows), base=base)
    parts = []
    for _ in range(count):
        part = copy.copy(base)
        part._learner = frozen_copy(learner, origin)
        parts.append(part)
    return parts


def settled(model: E) -> E:
    """A copy of a model that can be split; a merge of parts is made ready to learn."""
    if not model.__sklearn_is_fitted__():
        raise NotFittedError(f"this {type(model).__name__} has learned nothing yet: there is nothing to split")
    check_mergeable(model)
    if model._learner.origin is not None and model._learner.origin.frozen:
        raise ValueError(
            "this is a part already; split its base, or merge it with the other parts and split the result"
        )
    base = copy.copy(model)
    base.__dict__.pop("_on_drift", None)
    if base._learner.origin is not None:
        base._learner.thaw()
    return base


def check_mergeable(model: OnlineEstimator) -> None:
    """ValueError for a model, fitted or not, whose parts could not be merged."""
    if getattr(model, "lag", None) is not None:
        raise ValueError(
            "a model with a lag cannot be split or merged: the last targets that a part knows would be those of its "
            "own rows, not those of the stream"
        )
    learner = model.__dict__.get("_learner")
    if learner is not None:
        can = mergeable(learner)
    else:
        can = isinstance(model, StreamModel) or bool(
            isinstance(model, NolanaModel) and mergeable_experts(model._spec(1)[0])
        )
    if not can:
        raise ValueError(f"parts of this {type(model).__name__} could not be merged; {WHO}")


def fingerprint(base: OnlineEstimator) -> str:
    """A checksum of everything that a model has learned."""
    return modelfile.fingerprint({"fitted": base._fitted_record(), "learner": records.record_of(base._learner)})


def merge(learners: Iterable[T], base: T | None = None) -> T:
    """The learner that saw the rows of all parts.

    Parts are what ``split`` of one model returned, after each has learned rows of its own; a merge of some of them can
    be merged with the others. For the squared loss (`NolanaRegressor`) the result is that of one process; for other
    losses it is close to it.

    Parameters
    ----------
    learners : the parts, or merges of them, of one base.
    base : the model that was split; needed where parts were saved, copied or pickled.

    Raises ValueError for learners that are not parts of this base, with other parameters, landmarks, width or grids;
    then nothing has changed.

    Examples
    --------
    >>> import numpy as np, nolana
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (3000, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = nolana.NolanaRegressor(n_landmarks=20).fit(X[:1000], y[:1000])
    >>> first, second = model.split(2)
    >>> first.partial_fit(X[1000:2000], y[1000:2000]), second.partial_fit(X[2000:], y[2000:])  # doctest: +ELLIPSIS
    (NolanaRegressor(...), NolanaRegressor(...))
    >>> nolana.merge([first, second]).n_rows_
    3000
    """
    parts: list[Any] = list(learners)
    origin, settled_base = _common_base(parts, base)
    with ExitStack() as locks:
        for part in sorted(parts, key=id):  # one order for all threads
            locks.enter_context(part._learner.lock)
        merged: T = _merged(settled_base, parts, origin)
        return merged


def _common_base(parts: list[Any], base: Any) -> tuple[Origin, Any]:
    """The base of all parts; ValueError where they have none in common."""
    if not parts:
        raise ValueError("merge needs at least one part, got none")
    for i, part in enumerate(parts):
        learner = getattr(part, "__dict__", {}).get("_learner")
        if learner is None or learner.origin is None:
            raise ValueError(
                f"learner {i} is no part: it was not made by split, or it learned after it was merged. "
                "Use parts = model.split(k), and let the parts learn"
            )
        if type(part) is not type(parts[0]):
            raise ValueError(f"parts of one model are of one class, got {_name(parts[0])} and {_name(part)}")
    if len({id(part) for part in parts}) < len(parts):
        raise ValueError("a part is there twice; its rows would count twice")
    origins = [part._learner.origin for part in parts]
    if len({(origin.fingerprint, origin.rows) for origin in origins}) > 1:
        raise ValueError("the parts come from different bases; merge only parts of one split")
    if base is None:
        base = next((origin.base for origin in origins if origin.base is not None), None)
        if base is None:
            raise ValueError(
                "these parts do not have their base with them, because they were saved, copied or pickled; pass "
                "base=, the model that was split"
            )
    else:
        if type(base) is not type(parts[0]):
            raise ValueError(f"base is of class {_name(base)}, the parts of class {_name(parts[0])}")
        # Parts of an earlier version know their base as its file has it.
        loaded = getattr(base.__dict__.get("_learner"), "loaded", None)
        base = settled(base)
        if loaded != (origins[0].fingerprint, base._learner.rows) and fingerprint(base) != origins[0].fingerprint:
            raise ValueError(
                "base is not the model that these parts were split from, or it has learned since; pass that model as "
                "it was, for example loaded from its file"
            )
    for part in parts:
        _check_parameters(base, part)
    return Origin(origins[0].fingerprint, origins[0].rows, frozen=False, base=base), base


def _name(estimator: object) -> str:
    return type(estimator).__name__


def _check_parameters(base: OnlineEstimator, part: OnlineEstimator) -> None:
    """ValueError where a part has other parameters than its base."""
    theirs = part.get_params(deep=False)
    for name, value in base.get_params(deep=False).items():
        other = theirs[name]
        if isinstance(value, np.ndarray):
            same = np.array_equal(value, other)
        elif isinstance(value, dict):  # weights of classes; files have them as floats
            same = value == other
        else:  # objects of the user's own are copies after pickling
            same = repr(value) == repr(other) if isinstance(value, PLAIN) else type(value) is type(other)
        if name not in ("max_iter", "shuffle", "random_state") and not same:
            raise ValueError(
                f"a part has {name}={other!r}, its base {name}={value!r}; parts keep the parameters of their base"
            )
    first, second = base._learner, part._learner
    if first.n_features != second.n_features:
        raise ValueError(f"a part has {second.n_features} features, its base {first.n_features}")


def _merged(base: OnlinePredictor, parts: list[OnlinePredictor], origin: Origin) -> OnlinePredictor:
    result = copy.copy(base)
    learner, learners = base._learner, [part._learner for part in parts]
    rows = [int(each.rows - learner.rows) for each in learners]
    result._targets, alignments = base._targets.merged(learner, [part._targets for part in parts], rows)
    result._learner = merged_learner(learner, learners, origin, alignments)
    return result
