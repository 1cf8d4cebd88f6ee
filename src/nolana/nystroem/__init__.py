"""The adaptive Nyström map: landmarks that move, and the decomposition of their kernel matrix kept current."""
