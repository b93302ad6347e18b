"""The engine: declared sources, queries and comparisons, without a model."""
