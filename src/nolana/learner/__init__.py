"""Online learners: one algorithm, one file."""
