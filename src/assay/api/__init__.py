"""What Python users call, one module a verb; ``assay`` exports the functions."""
