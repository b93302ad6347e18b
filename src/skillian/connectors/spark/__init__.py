"""Spark, in this process or by Spark Connect."""
