"""For tests of programs that use tinyagent: mock servers of model providers on loopback."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
else:
    # pytest loads this package at every start, for the plugin: everything else is loaded on use.
    _SERVER, _STRICT = "tinyagent.testing.server", "tinyagent.testing.strict"
    _LATER = {
        "FAULTS": "tinyagent.testing.faults",
        "fault": "tinyagent.testing.faults",
        "MockServer": _SERVER,
        "Reply": _SERVER,
        "error_reply": _SERVER,
        "json_reply": _SERVER,
        "PROVIDERS": _STRICT,
        "Attachment": _STRICT,
        "Call": _STRICT,
        "Output": _STRICT,
        "Received": _STRICT,
        "StrictServer": _STRICT,
        "describe": _STRICT,
    }

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module 'tinyagent.testing' has no attribute {name!r}")
        item = globals()[name] = getattr(import_module(_LATER[name]), name)
        return item


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
