"""The page for a decision: which metric, which threshold, and which errors to expect, in sentences."""
