"""Tools: typed functions that a model may call."""
