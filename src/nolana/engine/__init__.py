"""The engine in NumPy: every algorithm as its formula, and the oracle of the compiled core.

The names here, in `nolana.engine.rivals` and in ``nolana._core_*`` are the same, one for one, and so are the states
that their learners export; only the parsers of text are in the core alone. Letters: n rows, d features, m landmarks,
r rank, c outputs.
"""

from nolana.engine.base.checks import add_moments, first_beyond
from nolana.engine.base.state import Stateful
from nolana.engine.experts.bins.bin_map import BinMap
from nolana.engine.experts.bins.grids import draw_grids
from nolana.engine.experts.bins.heads import ConstantBins, DiagonalBins
from nolana.engine.experts.effects.effect_map import EffectMap
from nolana.engine.experts.effects.effects import Effects
from nolana.engine.experts.fourier_map import FourierMap
from nolana.engine.experts.head import Head
from nolana.engine.experts.landmarks import kernels, policies
from nolana.engine.experts.landmarks.kernels import *  # noqa: F403
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap
from nolana.engine.experts.landmarks.lms import LMS
from nolana.engine.experts.landmarks.newton import Newton
from nolana.engine.experts.landmarks.policies import *  # noqa: F403
from nolana.engine.experts.linear.full_linear import FullLinear
from nolana.engine.experts.linear.identity_map import IdentityMap
from nolana.engine.experts.map import Map
from nolana.engine.experts.neighbours.neighbour_map import NeighbourMap, draw_sketch
from nolana.engine.experts.neighbours.vote import Vote
from nolana.engine.experts.sgd import SGD
from nolana.engine.experts.sparse_linear.diagonal_linear import DiagonalLinear
from nolana.engine.experts.sparse_linear.feature_table import FeatureTable
from nolana.engine.experts.sparse_linear.linear_map import LinearMap
from nolana.engine.experts.sparse_linear.sketch import sketch_rows
from nolana.engine.experts.trees.leaves import ConstantLeaves, DiagonalLeaves
from nolana.engine.experts.trees.tree_map import TreeMap
from nolana.engine.learner import losses
from nolana.engine.learner.calibration import Calibration
from nolana.engine.learner.combiner import Combiner
from nolana.engine.learner.drift_alarm import DriftAlarm
from nolana.engine.learner.growth import GrowthWatch
from nolana.engine.learner.interval_width import IntervalWidth
from nolana.engine.learner.label_sets import LabelSets
from nolana.engine.learner.lags import Lags
from nolana.engine.learner.learner import Expert, Learner
from nolana.engine.learner.losses import *  # noqa: F403
from nolana.engine.learner.mean import Mean
from nolana.engine.learner.online import Online
from nolana.engine.learner.residual_variance import NoiseLevel
from nolana.engine.learner.robust_scaling import RobustScaling
from nolana.engine.learner.stack import Stack
from nolana.engine.rivals.rival import Rival

__all__ = [
    *kernels.__all__,
    *losses.__all__,
    *policies.__all__,
    "LMS",
    "SGD",
    "BinMap",
    "Calibration",
    "Combiner",
    "ConstantBins",
    "ConstantLeaves",
    "DiagonalBins",
    "DiagonalLeaves",
    "DiagonalLinear",
    "DriftAlarm",
    "EffectMap",
    "Effects",
    "Expert",
    "FeatureTable",
    "FourierMap",
    "FullLinear",
    "GrowthWatch",
    "Head",
    "IdentityMap",
    "IntervalWidth",
    "LabelSets",
    "Lags",
    "LandmarkMap",
    "Learner",
    "LinearMap",
    "Map",
    "Mean",
    "NeighbourMap",
    "Newton",
    "NoiseLevel",
    "Online",
    "Rival",
    "RobustScaling",
    "Stack",
    "Stateful",
    "TreeMap",
    "Vote",
    "add_moments",
    "draw_grids",
    "draw_sketch",
    "first_beyond",
    "sketch_rows",
]
