"""For tests of programs that use tinyagent: a chat completions server on loopback."""

from tinyagent.testing.faults import FAULTS, fault
from tinyagent.testing.server import MockServer, Reply, error_reply, json_reply

__all__ = ["FAULTS", "MockServer", "Reply", "error_reply", "fault", "json_reply"]
