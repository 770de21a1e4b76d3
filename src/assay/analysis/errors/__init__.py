"""Where a metric fails: pairs on which it departs from people, and what they have in common."""
