"""The command line: `skillian demo`, `ask`, `compare`, `sources`."""

from skillian.cli.app import app, main

__all__ = ["app", "main"]
