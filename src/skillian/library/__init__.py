"""Comparisons in a program, a test or a notebook; `skillian` itself has the public names."""
