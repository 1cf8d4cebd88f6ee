"""Runs: a learner, a stream and its running score, saved together in one model file.

A run that is stopped at any moment, also by ``kill -9``, resumes from its last checkpoint and ends with the same file,
byte for byte, as one that was never interrupted. The file has no times and no dates.

The modules are loaded when they are first used, so that a prediction does not load what only learning needs.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nolana.runs.checkpoints import Checkpoints, Interval, SavedRun
    from nolana.runs.inspect import Inspection
    from nolana.runs.lock import ModelLock
    from nolana.runs.predict import PredictedBlock, Predictor
    from nolana.runs.process import Stop, exit_on_signals, resident_bytes
    from nolana.runs.recipe import Recipe, Scoring
    from nolana.runs.run import Run, ScoredBlock
    from nolana.runs.source import resume, start
    from nolana.sources import SourceOptions

__all__ = [
    "Checkpoints", "Inspection", "Interval", "ModelLock", "PredictedBlock", "Predictor", "Recipe", "Run", "SavedRun",
    "ScoredBlock", "Scoring", "SourceOptions", "Stop", "exit_on_signals", "resident_bytes", "resume", "start",
]  # fmt: skip

_MODULES = {
    "checkpoints": ("Checkpoints", "Interval", "SavedRun"),
    "inspect": ("Inspection",),
    "lock": ("ModelLock",),
    "predict": ("PredictedBlock", "Predictor"),
    "process": ("Stop", "exit_on_signals", "resident_bytes"),
    "recipe": ("Recipe", "Scoring"),
    "run": ("Run", "ScoredBlock"),
    "source": ("SourceOptions", "resume", "start"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
