"""Hyperparameters of a training searched by Optuna."""
