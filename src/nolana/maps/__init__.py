"""Maps that need more than NumPy: the paper's decomposition, its stage two, and changes of a whole map at once.

`Proposal` is what the ``propose`` of a user's landmark policy returns.
"""

from nolana.reference.policies import Policy, Proposal

__all__ = ["Policy", "Proposal"]
