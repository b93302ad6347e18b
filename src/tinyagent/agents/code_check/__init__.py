"""A block of a code agent is checked before it runs; `check.py` says for what."""
