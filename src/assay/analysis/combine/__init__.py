"""One score learned from the metrics of a run, and its comparison with each of them on held-out pairs."""
