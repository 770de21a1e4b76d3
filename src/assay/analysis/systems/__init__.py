"""Systems that answered the same items, compared by human labels and by each metric."""
