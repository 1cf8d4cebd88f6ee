"""Stub of ``nolana._core.rivals``: a compiled module is one file, so its submodule's stub stands beside it."""

from typing import Any

from nolana._core import Array, Kernel, Loss

class Rival:
    gamma: float
    @property
    def rows(self) -> int: ...
    @property
    def outputs(self) -> int: ...
    @property
    def memory_bytes(self) -> int: ...
    def learn(self, x: Array, y: Array, weight: Array | None = None) -> Array: ...
    def scores(self, x: Array) -> Array: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...
    def clear(self, outputs: int) -> None: ...

class Aggressiveness: ...

class Unbounded(Aggressiveness):
    def __init__(self) -> None: ...

class Capped(Aggressiveness):
    def __init__(self, c: float) -> None: ...

class Softened(Aggressiveness):
    def __init__(self, c: float) -> None: ...

class Demand: ...

class Margin(Demand):
    def __init__(self) -> None: ...

class Band(Demand):
    def __init__(self, epsilon: float) -> None: ...

class PassiveAggressive(Rival):
    def __init__(self, features: int, demand: Demand, how: Aggressiveness) -> None: ...

class KernelPassiveAggressive(Rival):
    def __init__(self, features: int, budget: int, kernel: Kernel, demand: Demand, how: Aggressiveness) -> None: ...

class FOGD(Rival):
    def __init__(
        self, features: int, projections: Array, loss: Loss, rate: float, power: float, decay: float
    ) -> None: ...
    def map(self, x: Array) -> Array: ...

class RRF(Rival):
    def __init__(
        self,
        features: int,
        projections: Array,
        loss: Loss,
        rate: float,
        width_rate: float,
        decay: float,
        start: Array,
    ) -> None: ...

class DualSGD(Rival):
    def __init__(
        self,
        features: int,
        budget: int,
        merged: int,
        projections: Array,
        kernel: Kernel,
        loss: Loss,
        regularization: float,
    ) -> None: ...

class DoublySGD(Rival):
    def __init__(self, features: int, budget: int, loss: Loss, rate: float, decay: float, seed: int) -> None: ...

class KernelOGD(Rival):
    def __init__(
        self, features: int, budget: int, kernel: Kernel, loss: Loss, rate: float, power: float, decay: float
    ) -> None: ...

class BOGD(Rival):
    def __init__(
        self,
        features: int,
        budget: int,
        kernel: Kernel,
        loss: Loss,
        rate: float,
        decay: float,
        cap: float,
        seed: int,
    ) -> None: ...

class RBP(Rival):
    def __init__(self, features: int, budget: int, kernel: Kernel, seed: int) -> None: ...

class Forgetron(Rival):
    def __init__(self, features: int, budget: int, kernel: Kernel) -> None: ...

class BSGDRemove(Rival):
    def __init__(self, features: int, budget: int, kernel: Kernel, loss: Loss, regularization: float) -> None: ...

class BSGDProject(Rival):
    def __init__(self, features: int, budget: int, kernel: Kernel, loss: Loss, regularization: float) -> None: ...

class BSGDMerge(Rival):
    def __init__(self, features: int, budget: int, kernel: Kernel, loss: Loss, regularization: float) -> None: ...

class Projectron(Rival):
    def __init__(self, features: int, budget: int, kernel: Kernel, eta: float) -> None: ...

class ProjectronPlusPlus(Rival):
    def __init__(self, features: int, budget: int, kernel: Kernel, eta: float) -> None: ...

class BPASimple(Rival):
    def __init__(self, features: int, budget: int, kernel: Kernel, c: float) -> None: ...

class BPANearest(Rival):
    def __init__(self, features: int, budget: int, kernel: Kernel, c: float) -> None: ...

def sincos(x: Array) -> tuple[Array, Array]: ...
