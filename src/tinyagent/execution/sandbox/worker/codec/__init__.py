"""Values as frames, and frames as bytes: the same code on both sides."""
