"""The experiments of the paper, re-run: every table and figure beside the published numbers.

An experiment is a plan of cells and a section of the report. A cell is one piece of work, a pure function of its
arguments, whose result is plain data; results are kept as they come, so a run that was interrupted continues.
"""
