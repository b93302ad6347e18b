"""Queries of one source: declared names become SQL over columns that exist."""
