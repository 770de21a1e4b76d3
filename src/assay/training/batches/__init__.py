"""Batches that follow the annotation graph of the training pairs (Waldis, Beck and Gurevych 2022)."""
