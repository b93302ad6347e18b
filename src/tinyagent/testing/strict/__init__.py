"""Strict servers: providers on loopback that refuse what the real ones refuse."""

from tinyagent.testing.strict.media import Attachment
from tinyagent.testing.strict.script import Call, Output, Received, describe
from tinyagent.testing.strict.server import PROVIDERS, StrictServer

__all__ = ["PROVIDERS", "Attachment", "Call", "Output", "Received", "StrictServer", "describe"]
