"""Kernel maps to compare the online one with: those of the rivals, and those that use all rows at once.

Each approximates k(x, z) = exp(-gamma |x - z|^2), most of them by phi(x).phi(z). Each has its formula and citation.
"""
