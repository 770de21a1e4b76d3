"""Bi-encoders and cross-encoders trained on labelled pairs."""
