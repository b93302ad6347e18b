"""The command line: one file a command; what a command needs is loaded when it runs."""

from skillian.cli.app import app

__all__ = ["app"]
