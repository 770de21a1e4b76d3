"""What a score comes from: one family of metrics a file, each giving plain values."""
