"""Verified questions: what the team has checked, and how a model answers it."""
