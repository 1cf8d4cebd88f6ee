"""The engine in NumPy: every algorithm as its formula, and the oracle of the compiled core.

The names here and in ``nolana._core`` are the same, one for one, and so are the states their learners
export. Letters: n rows, d features, m landmarks, r rank, c outputs.
"""

from nolana.reference.checks import add_moments, first_beyond
from nolana.reference.csv import csv_cells, csv_fields
from nolana.reference.heads import SGD, Newton
from nolana.reference.json import json_cells
from nolana.reference.kernels import RBF, Cosine, Kernel, Laplacian, Linear, Polynomial
from nolana.reference.landmarks import Fixed, KMeans
from nolana.reference.learner import Learner
from nolana.reference.losses import EpsilonInsensitive, Hinge, Logistic, Loss, Squared, SquaredHinge
from nolana.reference.text import integer_fields, libsvm_extent, libsvm_rows, number_fields

__all__ = [
    "RBF",
    "SGD",
    "Cosine",
    "EpsilonInsensitive",
    "Fixed",
    "Hinge",
    "KMeans",
    "Kernel",
    "Laplacian",
    "Learner",
    "Linear",
    "Logistic",
    "Loss",
    "Newton",
    "Polynomial",
    "Squared",
    "SquaredHinge",
    "add_moments",
    "csv_cells",
    "csv_fields",
    "first_beyond",
    "integer_fields",
    "json_cells",
    "libsvm_extent",
    "libsvm_rows",
    "number_fields",
]
