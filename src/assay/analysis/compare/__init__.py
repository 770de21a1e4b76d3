"""Which of two metrics, or of two runs, agrees better with people, and whether that is more than chance."""
