"""Suites, the runner, the score store, buckets and the statistics of agreement."""
