"""Maps that need more than NumPy: the paper's decomposition, its stage two, and changes of a whole map at once."""
