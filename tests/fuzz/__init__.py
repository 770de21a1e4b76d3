"""Hostile input, made at random: short in the suite, long by ``python -m tests.fuzz``."""
