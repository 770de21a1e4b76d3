"""What the page for a decision says, as values: evidence, limits and examples."""
