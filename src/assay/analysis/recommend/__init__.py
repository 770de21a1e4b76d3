"""Which metric to recommend: the rule, its evidence as a run folder keeps it, and its words."""
