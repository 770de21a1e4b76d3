"""Metrics ranked over any number of runs, with ties where they cannot be told apart."""
