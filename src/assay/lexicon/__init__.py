"""What is known of words: WordNet, wherever it lies on this machine."""
