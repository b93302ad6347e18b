"""Provenance: instructions hidden in data cannot make an agent do what its user did not allow."""

from tinyagent.core.messages import untrusted
from tinyagent.core.provenance import Between, Domains, Form, Label, Mark, OneOf, Sink
from tinyagent.provenance.explain import explain
from tinyagent.provenance.guard import Provenance

__all__ = [
    "Between",
    "Domains",
    "Form",
    "Label",
    "Mark",
    "OneOf",
    "Provenance",
    "Sink",
    "explain",
    "untrusted",
]
