"""What texts consist of: words in WordNet, spaCy pipelines, keys and properties of texts, graphs of meaning (AMR)."""
