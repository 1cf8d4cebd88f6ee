"""Maps that need more than NumPy: the paper's decomposition, its stage two, and changes of a whole map at once.

`Policy` is a base for landmark policies of your own; `Proposal` is what their ``propose`` returns.
"""

from nolana.engine.experts.landmarks.policies import DistancePolicy as Policy
from nolana.engine.experts.landmarks.policies import Proposal

__all__ = ["Policy", "Proposal"]
