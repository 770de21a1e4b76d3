"""Rankings of metrics over any number of runs, in which metrics that tests cannot distinguish tie."""
