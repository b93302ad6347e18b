"""For tests of programs that use tinyagent: mock servers of model providers on loopback."""

from tinyagent.testing.faults import FAULTS, fault
from tinyagent.testing.server import MockServer, Reply, error_reply, json_reply
from tinyagent.testing.strict import (
    PROVIDERS,
    Attachment,
    Call,
    Output,
    Received,
    StrictServer,
    describe,
)

__all__ = [
    "FAULTS",
    "PROVIDERS",
    "Attachment",
    "Call",
    "MockServer",
    "Output",
    "Received",
    "Reply",
    "StrictServer",
    "describe",
    "error_reply",
    "fault",
    "json_reply",
]
