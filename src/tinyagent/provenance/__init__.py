"""Provenance: instructions hidden in data cannot make an agent do what its user did not allow."""

from tinyagent.core.messages import untrusted
from tinyagent.core.provenance import Label, Mark, Sink
from tinyagent.core.rules import Between, Domains, Form, FormOf, Items, Link, OneOf, Under
from tinyagent.provenance.explain import explain
from tinyagent.provenance.guard import Provenance

__all__ = [
    "Between",
    "Domains",
    "Form",
    "FormOf",
    "Items",
    "Label",
    "Link",
    "Mark",
    "OneOf",
    "Provenance",
    "Sink",
    "Under",
    "explain",
    "untrusted",
]
