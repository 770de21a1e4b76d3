"""Whether systems that were each trained with several seeds differ by more than chance."""
