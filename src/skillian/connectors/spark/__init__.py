"""Spark, by Spark Connect."""
