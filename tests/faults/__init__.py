"""What happens to real processes: kills, full disks, damaged stores, clocks that go back.

``python -m tests.faults [--kills N] [--minutes M] [FAULT …]`` prints a table and ends with 1 if anything was lost.
"""
