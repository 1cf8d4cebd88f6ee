"""Combiners, one file each."""

from nolana.reference.combiners.combiner import Combiner
from nolana.reference.combiners.mean import Mean
from nolana.reference.combiners.stack import Stack

__all__ = ["Combiner", "Mean", "Stack"]
