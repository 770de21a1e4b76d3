"""Explanations of scores as sheets and pictures, from the plain values that metrics give."""
