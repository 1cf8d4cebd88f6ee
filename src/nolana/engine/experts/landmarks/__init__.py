"""Kernel values with landmarks that policies place and move; second-order and normalised LMS heads."""
