"""Tests of the documentation: links and lengths of pages, and the built site in a browser."""
