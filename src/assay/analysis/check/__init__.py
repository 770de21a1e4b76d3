"""The gate of a project's tests: a run compared with a baseline by the paired difference and its interval."""
