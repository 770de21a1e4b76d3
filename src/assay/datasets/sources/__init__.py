"""Where files come from: one module a kind of source (see ``base.py``)."""
