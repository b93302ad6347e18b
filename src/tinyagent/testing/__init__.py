"""For tests of programs that use tinyagent: a chat completions server on loopback."""

from tinyagent.testing.server import MockServer, Reply, error_reply, json_reply

__all__ = ["MockServer", "Reply", "error_reply", "json_reply"]
