"""The skills that come with skillian, a folder each."""
