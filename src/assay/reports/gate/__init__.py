"""The gate of a project's tests: a run held against a baseline, by the paired difference and its interval."""
