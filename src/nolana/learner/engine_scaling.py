"""`RobustScaling` of the engine as a part of a driver: its bytes, and its state under a prefix of its own."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from nolana.experts.parts import entries
from nolana.learner.driver import State


class EngineScaling(ABC):
    """`width` columns: features or targets."""

    prefix: ClassVar[str]

    def __init__(self, width: int, module: Any) -> None:
        self._engine: Any = module.RobustScaling(width)

    @property
    def memory_bytes(self) -> int:
        return int(self._engine.memory_bytes)

    def state(self) -> State:
        return {self.prefix + name: value for name, value in self._engine.state().items()}

    def restore(self, state: State) -> None:
        """ValueError for a state that does not fit; then nothing changes."""
        own = entries(state, self.prefix)
        if own.get("rows") != state["rows"]:
            raise ValueError(f"state: {self.prefix}rows differs from rows")
        self._engine.restore(own)
        self._read()

    @abstractmethod
    def _read(self) -> None:
        """Read from the engine what follows from its state."""
