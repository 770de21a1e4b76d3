"""The functions for Python users, one module per verb; ``assay`` exports them."""
