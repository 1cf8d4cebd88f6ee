"""The experiments of the paper, re-run: every table and figure beside the published numbers.

An experiment is a plan of cells and a section of the report. A cell is one call of a pure function, whose result is
plain data; every result is stored as soon as it is computed, so an interrupted run can be resumed.
"""
