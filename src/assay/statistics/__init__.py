"""Statistics of agreement: pure functions of scores, labels and multiplicities.

A resample of n pairs is a vector of n multiplicities, never a copy of rows. Each score is sorted once
(:mod:`~assay.statistics.cells`); every coefficient of every resample is then a weighted sum over that order.
"""
