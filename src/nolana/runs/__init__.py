"""Runs: a learner, a stream and its running score, saved together in one model file.

A run that is stopped at any moment, also by ``kill -9``, resumes from its last checkpoint and ends with the same file,
byte for byte, as one that was never interrupted. The file has no times and no dates.
"""

from nolana.runs.checkpoints import Checkpoints, Interval, SavedRun
from nolana.runs.inspect import Inspection
from nolana.runs.lock import ModelLock
from nolana.runs.predict import PredictedBlock, Predictor
from nolana.runs.recipe import Recipe
from nolana.runs.resident import resident_bytes
from nolana.runs.resume import resume
from nolana.runs.run import Run, ScoredBlock
from nolana.runs.score import Scoring
from nolana.runs.signals import Stop, exit_on_signals
from nolana.runs.start import start
from nolana.streams import SourceOptions

__all__ = [
    "Checkpoints",
    "Inspection",
    "Interval",
    "ModelLock",
    "PredictedBlock",
    "Predictor",
    "Recipe",
    "Run",
    "SavedRun",
    "ScoredBlock",
    "Scoring",
    "SourceOptions",
    "Stop",
    "exit_on_signals",
    "resident_bytes",
    "resume",
    "start",
]
