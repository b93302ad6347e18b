"""Reports of comparisons, for people and for programs."""
