"""Random binning features: grids hashed into a table."""
