"""The NumPy engine and the core as type checkers see them: both offer what `nolana.engine.protocol` declares."""

from nolana import _core, engine
from nolana.engine.protocol import Engine, EngineLearner, TextParsers

engines: list[Engine] = [engine, _core]
parsers: TextParsers = _core


def both_are_learners(in_numpy: engine.Learner, compiled: _core.Learner) -> list[EngineLearner]:
    return [in_numpy, compiled]
