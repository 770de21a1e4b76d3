"""Where a metric and people diverge, and why."""
