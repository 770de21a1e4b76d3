"""Figures of a run for a paper, drawn by matplotlib as PDF, SVG or PNG."""
