"""Facts about words: WordNet, spaCy pipelines, and when two texts have the same words."""
