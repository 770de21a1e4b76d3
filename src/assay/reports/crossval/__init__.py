"""Agreement on pairs held out: fold by fold, and source by source."""
