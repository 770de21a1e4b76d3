"""Stress: how scores and verdicts move when pairs are changed in ways that must, or must not, matter."""
