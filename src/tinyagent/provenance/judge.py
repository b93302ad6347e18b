"""The verdict on one call: each value of each argument against the rules of its sinks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tinyagent.core.labels import Label
from tinyagent.core.messages import Origin, ToolCall
from tinyagent.core.sinks import Between, Domains, OneOf, Rule, Sink
from tinyagent.provenance.evidence import Evidence
from tinyagent.provenance.vouching import Leaf, leaves, normal

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a call is not allowed (empty if it is), and where each value comes from.

    `vouched` are the paths of the values that the user's request or a result vouches for.
    """

    reason: str
    origins: tuple[Origin, ...]
    vouched: frozenset[str] = field(default_factory=frozenset[str])


def judge(
    call: ToolCall, sinks: Sequence[Sink], evidence: Evidence, context: Label, *, tainted: bool
) -> Verdict:
    """Check a call against the rules of its sinks.

    Args:
        call: the call as it will be made.
        sinks: all must allow it; without one it is allowed.
        evidence: what may vouch for its values.
        context: the label of all that the model had read when it wrote the call.
        tainted: whether some of that is not trusted.

    Raises:
        ValueError: an argument is nested too deeply.
    """
    origins: list[Origin] = []
    reasons: list[str] = []
    for sink in sinks:
        if sink.control == "trusted" and tainted:
            read = ", ".join(sorted(context.sources)[:_NAMED])
            reasons.append(f"it may only be called before anything untrusted is read ({read})")
        readers = _readers(sink, call.arguments)
        for name, argument in call.arguments.items():
            rule = sink.rule(name)
            for leaf in leaves(argument, name):
                origin = _origin(leaf, rule, evidence, context, readers, tainted=tainted)
                origins.append(origin)
                if origin.fault:
                    reasons.append(origin.fault)
    vouched = frozenset(origin.path for origin in origins if origin.vouched_by)
    return Verdict("; ".join(dict.fromkeys(reasons[:_NAMED])), tuple(origins), vouched)


def _origin(
    leaf: Leaf,
    rule: Rule,
    evidence: Evidence,
    context: Label,
    readers: frozenset[str],
    *,
    tainted: bool,
) -> Origin:
    """Where one value comes from, and what is wrong with that."""
    value = leaf.value
    if value is None or value == "" or rule == "any":
        return Origin(leaf.path, value)
    if isinstance(rule, OneOf | Between | Domains):
        fault = "" if rule.accepts(value) else f"`{leaf.path}` is not {_described(rule)}"
        return Origin(leaf.path, value, fault=fault)
    if rule in ("readable", "own_words") and not context.allows(readers):
        return Origin(leaf.path, value, fault=_unreadable(leaf, context, readers))
    if not tainted or rule == "readable":
        return Origin(leaf.path, value)
    sources = ("user",) if isinstance(rule, str) else tuple(rule)
    by = next((source for source in sources if evidence.vouches(source, value)), "")
    if by:
        return Origin(leaf.path, value, by)
    found = evidence.sources_of(value) if isinstance(value, str) else ()
    where = f"comes from {', '.join(found)}" if found else "is not found verbatim"
    may = " or ".join("the user's request" if name == "user" else name for name in sources)
    return Origin(leaf.path, value, fault=f"`{leaf.path}` {where}; it may come from {may}")


def _readers(sink: Sink, arguments: Mapping[str, object]) -> frozenset[str]:
    """Who receives what a sink carries out."""
    if sink.readers == "public":
        return frozenset({"public"})
    named = leaves(arguments.get(sink.readers), sink.readers)
    return frozenset(normal(str(leaf.value)) for leaf in named if leaf.value not in (None, ""))


def _unreadable(leaf: Leaf, context: Label, readers: frozenset[str]) -> str:
    allowed = ", ".join(sorted(context.readers or ())) or "nobody"
    return (
        f"`{leaf.path}` is made of what only {allowed} may read, and"
        f" {', '.join(sorted(readers)) or 'nobody'} would receive it"
    )


def _described(rule: OneOf | Between | Domains) -> str:
    match rule:
        case OneOf(values):
            return f"one of: {', '.join(map(str, values))}"
        case Between(low, high):
            return f"a number from {low:g} to {high:g}"
        case Domains(hosts):
            return f"an https URL on one of: {', '.join(hosts)}"
