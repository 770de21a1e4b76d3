"""Metrics of AMR graphs: alignments of two graphs, kernels, and what the fifteen aspects compare."""
