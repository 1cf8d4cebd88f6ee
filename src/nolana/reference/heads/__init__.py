"""Heads: what is learned on the features of a map."""
