"""Trying on this machine what the trust levels promise."""
