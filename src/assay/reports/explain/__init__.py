"""Explanations of scores as tables and pictures, from the plain values that metrics return."""
