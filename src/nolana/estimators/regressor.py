"""NolanaRegressor: nonlinear regression on a stream in fixed memory."""

from typing import Any, ClassVar

from nolana.engine.learner.losses import REGRESSION
from nolana.estimators.base import parameters
from nolana.estimators.model import NolanaModel
from nolana.estimators.parameters import width_of
from nolana.estimators.regression import Centre, OnlineRegressor, Uncentred


@parameters
class NolanaRegressor(OnlineRegressor, NolanaModel):
    """Predict a number from a stream with a kernel model of fixed size whose landmarks follow the data.

    f(x) = mu + sum_i alpha_i k(x, u_i) over m landmarks u_i, mu the running mean of the targets. Several targets, y of
    shape (n, k), have weights of their own over the same landmarks.

    For text use `StreamRegressor`; the reason is that of `NolanaClassifier`.

    Parameters are those of `NolanaClassifier`, but for

    loss : "squared", "huber" (targets with outliers), or (sgd only) "epsilon_insensitive".
    regularization : None: newton estimates the noise of the targets from the stream.
    epsilon : half the width of the band without loss, in units of y.
    center : predict around the running mean of y; False: around 0, so that ``newton`` with fixed landmarks is
        plain ridge regression on k_x.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana import NolanaRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (2000, 1))
    >>> y = 10 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=2000)
    >>> model = NolanaRegressor(n_landmarks=20)
    >>> scores = model.learn(X, y)
    >>> bool(np.sqrt(np.mean((scores[1000:] - y[1000:]) ** 2)) < 0.12)
    True

    References
    ----------
    Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation".
    """

    epsilon: float = 0.1
    center: bool = True

    _paper_preset: ClassVar[dict[str, Any]] = NolanaModel._paper_preset | {"center": False}

    _task = REGRESSION

    def _make_centre(self) -> Centre:
        spec, options = self._spec(width_of(self.initial_landmarks))
        if options.number:  # the learner standardises the targets
            return Uncentred(linear=False)
        head = spec.arguments["experts"][0].arguments["head"]
        return (Centre if self.center else Uncentred)(linear=head.arguments["loss"].kind.linear)
