"""Training of models that assay's metrics read: data, output folder, card, curves, resuming; one package a recipe."""
