"""Kernel maps to hold the online one against: those of the rivals, and those that see all rows before they choose.

Each approximates k(x, z) = exp(-gamma |x - z|^2) by phi(x).phi(z). One file for each, its formula on top.
"""
