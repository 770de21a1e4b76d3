"""A study of hyperparameters as tables, figures and a page."""
