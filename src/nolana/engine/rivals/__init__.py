"""The rivals in NumPy, one file for each algorithm; nolana.research.rivals has their estimators."""
