"""An example of a package that adds a metric to assay."""
