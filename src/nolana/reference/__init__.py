"""The engine in NumPy: every algorithm as its formula, and the oracle of the compiled core.

The names here, in `nolana.reference.rivals` and in ``nolana._core_*`` are the same, one for one, and so are the states
that their learners export. Letters: n rows, d features, m landmarks, r rank, c outputs.
"""

from nolana.reference.calibration import Calibration
from nolana.reference.checks import add_moments, first_beyond
from nolana.reference.combiners import Combiner, Mean, Stack
from nolana.reference.csv import csv_cells, csv_fields
from nolana.reference.drift_alarm import DriftAlarm
from nolana.reference.feature_table import FeatureTable
from nolana.reference.growth import GrowthWatch
from nolana.reference.heads.cells import ConstantCells, DiagonalCells
from nolana.reference.heads.full_linear import FullLinear
from nolana.reference.heads.head import Head
from nolana.reference.heads.linear import DiagonalLinear
from nolana.reference.heads.lms import LMS
from nolana.reference.heads.newton import Newton
from nolana.reference.heads.sgd import SGD
from nolana.reference.heads.vote import Vote
from nolana.reference.interval_width import IntervalWidth
from nolana.reference.json import json_cells
from nolana.reference.kernels import RBF, Cosine, Kernel, Laplacian, Linear, Polynomial
from nolana.reference.learner import Expert, Learner
from nolana.reference.losses import EpsilonInsensitive, Hinge, Logistic, Loss, Squared, SquaredHinge
from nolana.reference.maps.cell_map import CellMap
from nolana.reference.maps.fourier_map import FourierMap
from nolana.reference.maps.identity_map import IdentityMap
from nolana.reference.maps.landmark_map import LandmarkMap
from nolana.reference.maps.linear_map import LinearMap
from nolana.reference.maps.map import Map
from nolana.reference.maps.neighbour_map import NeighbourMap
from nolana.reference.online import Online
from nolana.reference.policies import Expiring, Fixed, KMeans, Policy, Weighted, Window
from nolana.reference.residual_variance import NoiseLevel
from nolana.reference.rivals.rival import Rival
from nolana.reference.robust_scaling import RobustScaling
from nolana.reference.sketch import sketch_rows
from nolana.reference.state import Stateful
from nolana.reference.text import integer_fields, libsvm_extent, libsvm_rows, number_fields

__all__ = [
    "LMS",
    "RBF",
    "SGD",
    "Calibration",
    "CellMap",
    "Combiner",
    "ConstantCells",
    "Cosine",
    "DiagonalCells",
    "DiagonalLinear",
    "DriftAlarm",
    "EpsilonInsensitive",
    "Expert",
    "Expiring",
    "FeatureTable",
    "Fixed",
    "FourierMap",
    "FullLinear",
    "GrowthWatch",
    "Head",
    "Hinge",
    "IdentityMap",
    "IntervalWidth",
    "KMeans",
    "Kernel",
    "LandmarkMap",
    "Laplacian",
    "Learner",
    "Linear",
    "LinearMap",
    "Logistic",
    "Loss",
    "Map",
    "Mean",
    "NeighbourMap",
    "Newton",
    "NoiseLevel",
    "Online",
    "Policy",
    "Polynomial",
    "Rival",
    "RobustScaling",
    "Squared",
    "SquaredHinge",
    "Stack",
    "Stateful",
    "Vote",
    "Weighted",
    "Window",
    "add_moments",
    "csv_cells",
    "csv_fields",
    "first_beyond",
    "integer_fields",
    "json_cells",
    "libsvm_extent",
    "libsvm_rows",
    "number_fields",
    "sketch_rows",
]
