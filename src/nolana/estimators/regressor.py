"""NolanaRegressor: nonlinear regression on a stream in fixed memory."""

from typing import Any, ClassVar

from nolana.estimators.model import NolanaModel
from nolana.estimators.parameters import spec_of, width_of
from nolana.estimators.regression import Centre, OnlineRegressor, Uncentred
from nolana.reference.losses import REGRESSION


class NolanaRegressor(OnlineRegressor, NolanaModel):
    """Predict a number from a stream with a kernel model of fixed size whose landmarks follow the data.

    f(x) = mu + sum_i alpha_i k(x, u_i) over m landmarks u_i, mu the running mean of the targets.

    Parameters are those of `NolanaClassifier`, but for

    loss : "squared", or (sgd only) "epsilon_insensitive".
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

    def __init__(
        self,
        *,
        n_landmarks: int = 100,
        kernel: Any = "rbf",
        gamma: float | str = "median",
        degree: int = 3,
        coef0: float = 1.0,
        threshold: float | str = "median",
        landmarks: Any = "kmeans",
        initial_landmarks: Any = None,
        novelty: float = 0.03,
        loss: str | None = None,
        epsilon: float = 0.1,
        center: bool = True,
        optimizer: str = "newton",
        solver: str = "inverse",
        rank: float | None = None,
        power_iterations: int = 2,
        refit: str = "carry",
        refit_penalty: float | None = None,
        learning_rate: float | None = None,
        schedule: str = "constant",
        regularization: float | None = None,
        move_noise: float = 1e-3,
        ridge: float | None = None,
        scale: bool = False,
        max_iter: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_landmarks=n_landmarks,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            threshold=threshold,
            landmarks=landmarks,
            initial_landmarks=initial_landmarks,
            novelty=novelty,
            loss=loss,
            optimizer=optimizer,
            solver=solver,
            rank=rank,
            power_iterations=power_iterations,
            refit=refit,
            refit_penalty=refit_penalty,
            learning_rate=learning_rate,
            schedule=schedule,
            regularization=regularization,
            move_noise=move_noise,
            ridge=ridge,
            scale=scale,
            max_iter=max_iter,
            shuffle=shuffle,
            random_state=random_state,
        )
        self.epsilon = epsilon
        self.center = center

    _paper_preset: ClassVar[dict[str, Any]] = NolanaModel._paper_preset | {"center": False}

    _task = REGRESSION

    def _make_centre(self) -> Centre:
        spec, _ = spec_of(self, width_of(self.initial_landmarks), self._task)
        head = spec.arguments["experts"][0].arguments["head"]
        return (Centre if self.center else Uncentred)(linear=head.arguments["loss"].kind.linear)
