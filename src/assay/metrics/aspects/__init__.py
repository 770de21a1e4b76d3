"""Sentence embeddings cut into aspects: which dimensions are whose, and the reference set kept with a model."""
