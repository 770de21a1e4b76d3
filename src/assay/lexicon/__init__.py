"""What is known of words: WordNet, pipelines that read their parts of speech, and when two texts have the same ones."""
