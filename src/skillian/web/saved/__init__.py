"""Saved comparisons: their trend, their findings, and the recent ones."""
