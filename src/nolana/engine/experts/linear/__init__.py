"""A linear model with the full covariance of its weights."""
