"""Stress: how scores and verdicts move when pairs are changed in ways that must, or must not, matter."""

#: The name of the file in a run folder that holds the result of a stress test.
FILE_NAME = "stress.json"
