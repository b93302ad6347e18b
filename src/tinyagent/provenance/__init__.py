"""Provenance: instructions hidden in data cannot make an agent do what its user did not allow."""

from tinyagent.core.messages import untrusted
from tinyagent.core.provenance import Label, Mark, Sink
from tinyagent.core.provenance.rules import (
    Between,
    Domains,
    Form,
    FormOf,
    Items,
    KnownLink,
    OneOf,
    Under,
)
from tinyagent.provenance.explain import explain
from tinyagent.provenance.guard import Provenance

__all__ = [
    "Between",
    "Domains",
    "Form",
    "FormOf",
    "Items",
    "KnownLink",
    "Label",
    "Mark",
    "OneOf",
    "Provenance",
    "Sink",
    "Under",
    "explain",
    "untrusted",
]
