"""One table for a paper: metrics by datasets or buckets, the best of each column and what the tests leave beside it."""
