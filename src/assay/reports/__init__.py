"""What a reader sees. Reads run folders and nothing else."""
