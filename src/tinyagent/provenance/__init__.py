"""Provenance: instructions hidden in data cannot make an agent do what its user did not allow."""

from tinyagent.core.labels import Label
from tinyagent.core.sinks import Between, Domains, OneOf, Sink
from tinyagent.provenance.explain import explain
from tinyagent.provenance.guard import Provenance

__all__ = ["Between", "Domains", "Label", "OneOf", "Provenance", "Sink", "explain"]
