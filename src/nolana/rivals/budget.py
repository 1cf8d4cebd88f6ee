"""The rivals on a support set: gradient methods and perceptrons on a budget."""

from typing import Any

from sklearn.utils import check_random_state

from nolana.estimators.parameters import choice, integer, number
from nolana.learners.rival import Part
from nolana.rivals.base import RivalClassifier, RivalRegressor, WithoutWeights
from nolana.rivals.expansion import FIRST_CAPACITY, ExpansionParameters
from nolana.schedules import POWERS


class SupportParameters(ExpansionParameters):
    """Parameters that every method on a support set has."""

    def __init__(
        self,
        *,
        budget: int = 100,
        kernel: str = "rbf",
        gamma: float | str = "variance",
        degree: int = 3,
        coef0: float = 1.0,
        max_iter: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.budget = budget
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def _support(self, n_features: int) -> dict[str, Any]:
        """The arguments that all of them take."""
        return {"features": n_features, "budget": integer("budget", self.budget, 1), "kernel": self._kernel()}

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))


class RBPClassifier(WithoutWeights, RivalClassifier, SupportParameters):  # type: ignore[misc]
    """Randomized budget perceptron: over the budget a random old vector goes (Cavallanti et al. 2007).

    Parameters
    ----------
    budget : support vectors at most.
    kernel, degree, coef0 : as in `nolana.NolanaClassifier`.
    gamma : kernel width; "variance": 4 over the mean squared distance of the first rows.
    max_iter, shuffle, random_state : of ``fit``; random_state also chooses who goes.
    """

    _poor_score = True  # a perceptron after one pass

    def _part(self, n_features: int) -> Part:
        return Part("RBP", self._support(n_features) | {"seed": self._seed()})


class ForgetronClassifier(WithoutWeights, RivalClassifier, SupportParameters):  # type: ignore[misc]
    """Self-tuned Forgetron: the oldest vector goes after all have shrunk enough (Dekel et al. 2005).

    Parameters are those of `RBPClassifier`.
    """

    _poor_score = True  # a perceptron after one pass

    def _part(self, n_features: int) -> Part:
        return Part("Forgetron", self._support(n_features))


class GradientSupportParameters(SupportParameters):
    """A support set that learns by gradient steps."""

    def __init__(
        self,
        *,
        budget: int = 100,
        kernel: str = "rbf",
        gamma: float | str = "variance",
        degree: int = 3,
        coef0: float = 1.0,
        loss: str | None = None,
        epsilon: float = 0.1,
        center: bool = True,
        learning_rate: float | None = None,
        regularization: float = 0.01,
        max_iter: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            budget=budget,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            max_iter=max_iter,
            shuffle=shuffle,
            random_state=random_state,
        )
        self.loss = loss
        self.epsilon = epsilon
        self.center = center
        self.learning_rate = learning_rate
        self.regularization = regularization

    def _gradient(self) -> dict[str, Any]:
        default = 0.1 if self._regression else 1.0
        rate = default if self.learning_rate is None else self.learning_rate
        return {
            "loss": self._loss("hinge"),
            "rate": number("learning_rate", rate, 0.0, open_low=True),
            "decay": number("regularization", self.regularization, 0.0),
        }


class BOGDParameters(GradientSupportParameters):
    """Parameters of both forms."""

    def _part(self, n_features: int) -> Part:
        return Part("BOGD", self._support(n_features) | self._gradient() | {"cap": 10.0, "seed": self._seed()})


class BOGDClassifier(RivalClassifier, BOGDParameters):
    """Bounded online gradient descent: a random vector goes, the rest is scaled up (Zhao et al. 2012).

    A sample weight multiplies the row's loss; a row of weight 0 is scored and not learned.

    Parameters
    ----------
    budget, kernel, gamma, degree, coef0, max_iter, shuffle, random_state : as in `RBPClassifier`.
    loss : "hinge" (default), "squared_hinge", "logistic", "squared"; "squared", "epsilon_insensitive" to regress.
    epsilon, center : of the regressor.
    learning_rate, regularization : eta (None: 1, and 0.1 to regress) and lambda.
    """


class BOGDRegressor(RivalRegressor, BOGDParameters):
    """Bounded online gradient descent for a number; parameters as in `BOGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """

    _poor_score = True  # what it learned before goes at random


class KernelOGDParameters(ExpansionParameters):
    """Parameters of both forms."""

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        gamma: float | str = "variance",
        degree: int = 3,
        coef0: float = 1.0,
        loss: str | None = None,
        epsilon: float = 0.1,
        center: bool = True,
        learning_rate: float = 0.2,
        schedule: str = "constant",
        regularization: float = 0.0,
        max_iter: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.epsilon = epsilon
        self.center = center
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.regularization = regularization
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def _part(self, n_features: int) -> Part:
        return Part(
            "KernelOGD",
            {
                "features": n_features,
                "budget": FIRST_CAPACITY,
                "kernel": self._kernel(),
                "loss": self._loss("hinge"),
                "rate": number("learning_rate", self.learning_rate, 0.0, open_low=True),
                "power": POWERS[choice("schedule", self.schedule, POWERS)],
                "decay": number("regularization", self.regularization, 0.0),
            },
        )


class KernelOGDClassifier(RivalClassifier, KernelOGDParameters):
    """Kernel online gradient descent without a budget; with ``regularization`` NORMA (Kivinen et al. 2004).

    It grows with the stream: the reference that the budgeted methods approximate. A sample weight multiplies the
    row's loss; a row of weight 0 is scored and not learned.

    Parameters are those of `BOGDClassifier` without the budget, and ``schedule``.
    """


class KernelOGDRegressor(RivalRegressor, KernelOGDParameters):
    """Kernel online gradient descent for a number; parameters as in `KernelOGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """


class ProjectronParameters(SupportParameters):
    """Parameters of both Projectrons."""

    def __init__(
        self,
        *,
        budget: int = 100,
        eta: float = 0.1,
        kernel: str = "rbf",
        gamma: float | str = "variance",
        degree: int = 3,
        coef0: float = 1.0,
        max_iter: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            budget=budget,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            max_iter=max_iter,
            shuffle=shuffle,
            random_state=random_state,
        )
        self.eta = eta

    def _projectron(self, name: str, n_features: int) -> Part:
        return Part(name, self._support(n_features) | {"eta": number("eta", self.eta, 0.0)})


class ProjectronClassifier(WithoutWeights, RivalClassifier, ProjectronParameters):  # type: ignore[misc]
    """Projectron: what the support set nearly spans is projected on it (Orabona et al. 2008).

    Parameters
    ----------
    eta : the distance from the span below which a row is projected instead of added.
    budget, kernel, gamma, degree, coef0, max_iter, shuffle, random_state : as in `RBPClassifier`.
    """

    def _part(self, n_features: int) -> Part:
        return self._projectron("Projectron", n_features)


class ProjectronPlusPlusClassifier(WithoutWeights, RivalClassifier, ProjectronParameters):  # type: ignore[misc]
    """Projectron++, in its form of 2008: it learns from margin errors too.

    Parameters are those of `ProjectronClassifier`.
    """

    def _part(self, n_features: int) -> Part:
        return self._projectron("ProjectronPlusPlus", n_features)


class BPAClassifier(WithoutWeights, RivalClassifier, SupportParameters):  # type: ignore[misc]
    """Budgeted passive-aggressive: the vector whose removal costs least makes room (Wang & Vucetic 2010).

    Parameters
    ----------
    C : aggressiveness.
    projection : what the removed vector is projected on: "simple" (the new row) or "nearest" (and its neighbour).
    budget, kernel, gamma, degree, coef0, max_iter, shuffle, random_state : as in `RBPClassifier`.
    """

    def __init__(
        self,
        *,
        budget: int = 100,
        C: float = 1.0,
        projection: str = "simple",
        kernel: str = "rbf",
        gamma: float | str = "variance",
        degree: int = 3,
        coef0: float = 1.0,
        max_iter: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            budget=budget,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            max_iter=max_iter,
            shuffle=shuffle,
            random_state=random_state,
        )
        self.C = C
        self.projection = projection

    def _part(self, n_features: int) -> Part:
        names = {"simple": "BPASimple", "nearest": "BPANearest"}
        name = names[choice("projection", self.projection, names)]
        return Part(name, self._support(n_features) | {"c": number("C", self.C, 0.0, open_low=True)})


class BSGDClassifier(RivalClassifier, SupportParameters):
    """Budgeted stochastic gradient descent: Pegasos on a set that removes, projects or merges (Wang et al. 2012).

    A sample weight multiplies the row's loss; a row of weight 0 is scored and not learned.

    Parameters
    ----------
    maintenance : "merge" (RBF kernel only), "project" or "remove".
    regularization : lambda; the step at row t is 1/(lambda t).
    loss : "hinge" by default, or "squared_hinge", "logistic", "squared".
    budget, kernel, gamma, degree, coef0, max_iter, shuffle, random_state : as in `RBPClassifier`.
    """

    def __init__(
        self,
        *,
        budget: int = 100,
        maintenance: str = "merge",
        regularization: float = 1e-4,
        loss: str | None = None,
        kernel: str = "rbf",
        gamma: float | str = "variance",
        degree: int = 3,
        coef0: float = 1.0,
        max_iter: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            budget=budget,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            max_iter=max_iter,
            shuffle=shuffle,
            random_state=random_state,
        )
        self.maintenance = maintenance
        self.regularization = regularization
        self.loss = loss

    def _part(self, n_features: int) -> Part:
        names = {"merge": "BSGDMerge", "project": "BSGDProject", "remove": "BSGDRemove"}
        name = names[choice("maintenance", self.maintenance, names)]
        if self.maintenance == "merge" and self.kernel != "rbf":
            raise ValueError(
                f"maintenance='merge' does not go with kernel={self.kernel!r}: merging needs kernel='rbf'; "
                "use maintenance='project' or 'remove'"
            )
        regularization = number("regularization", self.regularization, 0.0, open_low=True)
        return Part(name, self._support(n_features) | {"loss": self._loss("hinge"), "regularization": regularization})
