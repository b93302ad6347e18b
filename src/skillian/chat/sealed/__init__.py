"""Texts of sources, of which a language model reads stand-ins."""
