"""What is known of words: WordNet, wherever it lies on this machine, and pipelines that read their parts of speech."""
