"""scikit-learn's checks of estimators, without those that one pass over the rows cannot meet."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils.estimator_checks import estimator_checks_generator

# A row of weight 2 is one step of weight 2, not two steps, as in scikit-learn's own SGD classes. How near both are is
# tested by `gap_between_weights_and_repetition`.
ONE_PASS = {
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}


def name_of(check):
    return getattr(check, "func", check).__name__


def checks_of(estimators):
    """Parametrises a test with (estimator, check)."""
    pairs = [pair for estimator in estimators for pair in estimator_checks_generator(estimator)]
    kept = [pair for pair in pairs if name_of(pair[1]) not in ONE_PASS]
    assert len(kept) < len(pairs)  # the names are those of this version of scikit-learn
    ids = [f"{estimator}-{name_of(check)}" for estimator, check in kept]
    return pytest.mark.parametrize(("estimator", "check"), kept, ids=ids)


def gap_between_weights_and_repetition(estimator):
    """Held-out score (accuracy, R2) with weights of 1 to 3, minus that of the same rows repeated."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(1500, 4)), rng.normal(size=(1000, 4))
    count = rng.integers(1, 4, size=1500)

    def target(rows):
        f = rows[:, 0] * rows[:, 1] + rows[:, 2]
        return f > 0 if is_classifier(estimator) else f

    estimator = clone(estimator)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    weighted, repeated = clone(estimator), clone(estimator)
    weighted.learn(X, target(X), sample_weight=count.astype(float))
    repeated.learn(np.repeat(X, count, axis=0), np.repeat(target(X), count))
    return weighted.score(new, target(new)) - repeated.score(new, target(new))
