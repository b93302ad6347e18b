"""The command line: one file a command. A command imports what it needs when it runs."""

from skillian.cli.app import app

__all__ = ["app"]
