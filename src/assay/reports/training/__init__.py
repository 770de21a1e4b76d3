"""Results of trainings as tables, from the plain values of ``results.json``; a kind of training a file."""
