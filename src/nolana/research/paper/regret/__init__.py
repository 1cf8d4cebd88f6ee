"""Regret against the best fixed model in hindsight, and every term of the paper's bound on it."""
