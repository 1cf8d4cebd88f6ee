"""Random binning features: random grids whose bins share a hash table."""
