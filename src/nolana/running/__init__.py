"""Runs: a learner, a stream and its running score, kept together in one model file.

A run that stops anywhere, also by ``kill -9``, goes on from its last checkpoint and ends in the same file, byte for
byte, as one that was never disturbed. The file holds no times and no dates.
"""

from nolana.running.beginning import begin, resume
from nolana.running.checkpoints import Checkpoints, Every
from nolana.running.describing import describe
from nolana.running.predicting import Predicting
from nolana.running.reading import Reading
from nolana.running.recipe import Recipe
from nolana.running.resident import resident_bytes
from nolana.running.run import Run, Told
from nolana.running.scoring import Scoring
from nolana.running.stopping import Stop

__all__ = [
    "Checkpoints",
    "Every",
    "Predicting",
    "Reading",
    "Recipe",
    "Run",
    "Scoring",
    "Stop",
    "Told",
    "begin",
    "describe",
    "resident_bytes",
    "resume",
]
