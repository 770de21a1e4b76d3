"""Readers: one a family of files, registered by name (see ``base.py``)."""
