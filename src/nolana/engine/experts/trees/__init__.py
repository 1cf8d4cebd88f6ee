"""Regression trees that are refitted one at a time from the most recent rows."""
