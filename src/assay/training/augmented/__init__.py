"""Augmented SBERT: pairs that nobody wrote down, labelled by a cross-encoder and by rules, to train a bi-encoder on."""
