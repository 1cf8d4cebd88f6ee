"""The rivals in NumPy, one file for each algorithm; nolana.rivals has their estimators."""
