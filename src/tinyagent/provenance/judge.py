"""The verdict on one call: each value of each argument against the rules of its sinks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tinyagent.core.messages import ArgumentOrigin
from tinyagent.core.provenance import Label, Sink
from tinyagent.core.provenance.rules import (
    Between,
    Domains,
    Form,
    FormOf,
    KnownLink,
    OneOf,
    Rule,
    Under,
    host_of,
)
from tinyagent.core.untrusted import as_object, one_line
from tinyagent.provenance.evidence import Evidence
from tinyagent.provenance.marks import opaque_words
from tinyagent.provenance.policies.policy import sources_of
from tinyagent.provenance.shapes import is_declared
from tinyagent.provenance.vault import Opened
from tinyagent.provenance.vouching import Leaf, Scalar, can_be_vouched_for, leaves

PUBLIC = frozenset({"public"})
_NAMED = 5
_SHOWN = 200
MAX_FAULTS = 20
_SOURCES = {
    "default": "its default",
    "seen": "a result",
    "user": "the user's request",
    "trusted": "what is trusted",
    "own": "the user's own",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a call is not allowed (empty if it is), and where each value comes from.

    `vouched` are the paths of the values that the user's request or a result vouches for. Nobody
    is asked about a call with more faults than a person reads.
    """

    reason: str
    origins: tuple[ArgumentOrigin, ...]
    vouched: frozenset[str] = field(default_factory=frozenset[str])
    can_be_asked: bool = True


def judge(
    opened: Opened,
    sinks: Sequence[Sink],
    evidence: Evidence,
    context: Label,
    schema: Mapping[str, Any],
    *,
    is_trusted: Callable[[Label], bool],
) -> Verdict:
    """Check a call against the rules of its sinks.

    Args:
        opened: The arguments as they will be passed, with the labels of those that the model has
            not read.
        sinks: All must allow it; without one it is allowed.
        evidence: What may vouch for its values.
        context: The label of all that the model had read when it wrote the call.
        schema: The JSON Schema of the arguments of the tool.
        is_trusted: Whether all sources of a label are.

    Raises:
        ValueError: An argument is nested too deeply.
    """
    call = _Call(opened, evidence, context, schema, is_trusted, not is_trusted(context))
    reasons = [reason for sink in sinks for reason in _refusals(sink, call)]
    origins = [origin for sink in sinks for origin in _origins(sink, call)]
    reasons += [origin.fault for origin in origins if origin.fault]
    reasons = list(dict.fromkeys([*reasons, *_overused(origins, evidence)]))
    vouched = frozenset(origin.path for origin in origins if origin.vouched_by)
    shown = reasons[:MAX_FAULTS]
    if len(reasons) > MAX_FAULTS:
        shown.append(f"{len(reasons) - MAX_FAULTS} more faults")
    return Verdict("; ".join(shown), tuple(origins), vouched, len(reasons) <= MAX_FAULTS)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call with what may vouch for it; see `judge`."""

    opened: Opened
    evidence: Evidence
    context: Label
    schema: Mapping[str, Any]
    is_trusted: Callable[[Label], bool]
    is_tainted: bool

    def has_readers(self) -> bool:
        """Whether something that it is made of is not for everybody."""
        opened = self.opened.labels.values()
        return self.context.readers is not None or any(one.readers is not None for one in opened)


def _refusals(sink: Sink, call: _Call) -> Iterator[str]:
    """Why a sink refuses a call, whatever its arguments are."""
    if not call.is_tainted:
        return
    if sink.control == "trusted":
        read = ", ".join(sorted(call.context.sources)[:_NAMED])
        yield f"it may only be called before anything untrusted is read ({read})"
    if sink.asked and not call.evidence.asks_for(sink.asked):
        yield f"nobody who is trusted has asked for it (with {' or '.join(sink.asked)})"


def _origins(sink: Sink, call: _Call) -> Iterator[ArgumentOrigin]:
    """Each value of each argument, checked by its rule."""
    opened, evidence, context = call.opened, call.evidence, call.context
    readers = _readers(sink, opened.value) if call.has_readers() else frozenset[str]()
    parameters = as_object(call.schema.get("properties")) or {}
    for name, argument in _passed(opened.value, sink, parameters):
        receives = frozenset[str]() if name in sink.receivers else readers
        default = (as_object(parameters.get(name)) or {}).get("default")
        for leaf in leaves(argument, name):
            if leaf.is_key and is_declared(call.schema, leaf.place):
                continue  # a name that the tool gave
            own, is_tainted, place = context, call.is_tainted, leaf.path
            if opened.labels:
                own, place = context | opened.label_at(leaf.path), name
                is_tainted = not call.is_trusted(own)
            rule = _rule(sink, leaf, opened.value, evidence)
            yield _origin(
                leaf,
                rule,
                evidence,
                own,
                receives,
                place=place,
                tainted=is_tainted,
                default=default,
            )


def _passed(
    arguments: Mapping[str, Any], sink: Sink, parameters: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """The arguments as the tool takes them: one that is empty or left out is its default."""
    for name, argument in arguments.items():
        yield name, _default(parameters, name, argument) if _is_empty(argument) else argument
    for name in sink.arguments - arguments.keys():
        if (default := _default(parameters, name, None)) is not None:
            yield name, default


def _default(parameters: Mapping[str, Any], name: str, argument: object) -> object:
    """The default that an empty argument stands for; None if there is none."""
    schema = as_object(parameters.get(name)) or {}
    default = schema.get("default", argument if name in parameters else None)
    return None if default == argument and "default" in schema else default


def _rule(sink: Sink, leaf: Leaf, arguments: Mapping[str, Any], evidence: Evidence) -> Rule:
    """The rule of a value."""
    rule = sink.rule(leaf.place[:-1] if leaf.is_key else leaf.place)
    if not isinstance(rule, FormOf):
        return rule
    host = host_of(arguments.get(rule.argument), "https")
    is_named = bool(host) and evidence.names_host("user", host)
    if is_named and (leaf.is_key or not evidence.is_copied(leaf.value, host)):
        return "readable"
    return ("user", "own")


def _is_empty(argument: object) -> bool:
    if isinstance(argument, str | int | float):
        return argument == ""
    return all(leaf.value in (None, "") for leaf in leaves(argument, ""))


def _origin(  # noqa: PLR0913 - what a rule may ask about
    leaf: Leaf,
    rule: Rule,
    evidence: Evidence,
    context: Label,
    readers: frozenset[str],
    *,
    place: str,
    tainted: bool,
    default: object,
) -> ArgumentOrigin:
    """The origin of a value, and why it is refused, if it is.

    A fault names the `place`, never the value: a sealed agent's model may read it.
    """
    value = leaf.value
    fault = ""
    if isinstance(rule, OneOf | Between | Domains | Under | Form | KnownLink) and value is not None:
        fault = "" if rule.accepts(value) else f"{_quoted(place)} is not {_described(rule)}"
    if fault or value in (None, "") or rule == "any" or isinstance(rule, OneOf | Between | Under):
        return ArgumentOrigin(leaf.path, value, fault=fault)
    sources = sources_of(rule)
    by = _vouched_by(rule, sources, leaf, evidence, default)
    if not context.allows(readers) and not _says_nothing(by):
        # Then only what the user asked for may go out, and names of the user's own things.
        if not _is_asked_for(rule, by, value, evidence):
            return ArgumentOrigin(leaf.path, value, fault=_unreadable(place, context))
        by = by or ("" if sources else "user")
    if tainted and rule == "unmarked" and isinstance(value, str):
        fault = _marked(place, value, evidence)
        return ArgumentOrigin(leaf.path, value, fault=fault)
    if by or not tainted or not sources:
        return ArgumentOrigin(leaf.path, value, by)
    found = evidence.sources_of(value)
    where = f"comes from {', '.join(found)}" if found else "is not found verbatim"
    may = " or ".join(_SOURCES.get(str(name), str(name)) for name in sources)
    wanted = "its host may be named by" if isinstance(rule, KnownLink) else "it may come from"
    return ArgumentOrigin(leaf.path, value, fault=f"{_quoted(place)} {where}; {wanted} {may}")


def _says_nothing(source: str) -> bool:
    """Whether a value of this source tells the receivers of a call only what its rule allows."""
    return source in {"user", "own", "default"} or "." in source or source.isdigit()


def _is_asked_for(rule: Rule, by: str, value: Scalar | None, evidence: Evidence) -> bool:
    """Whether the user said a value, or named the item of somebody trusted that says it."""
    if value is None:
        return False
    said: list[Scalar] = [value]
    if isinstance(value, str) and not sources_of(rule):
        said.append(value[:1].lower() + value[1:])  # a text begins with a capital
    if any(evidence.vouches("user", one) for one in said):
        return True
    form = rule.name if isinstance(rule, Form) else ""
    return by == "trusted" and evidence.is_asked_openly(value, form)


def _marked(place: str, value: str, evidence: Evidence) -> str:
    """What a text repeats that an untrusted source wrote; empty if nothing."""
    marks = evidence.marks(value, is_strict=True)
    if not marks and evidence.is_only_read(value):
        return f"{_quoted(place)} is a word, or has a sentence, that only others have said"
    if not marks and any(not evidence.vouches("user", word) for word in opaque_words(value)):
        return f"{_quoted(place)} has a word that cannot be read"
    if not marks:
        return ""
    names = ", ".join(sorted({name for mark in marks for name in mark.sources})[:_NAMED])
    return f"{_quoted(place)} repeats an address, a link, a number or words of {names}"


def _vouched_by(
    rule: Rule,
    sources: Sequence[str | float],
    leaf: Leaf,
    evidence: Evidence,
    default: object,
) -> str:
    """The first source that vouches for a value; empty if none does."""
    value = leaf.value
    if "default" in sources and default is not None and value == default:
        return "default"
    if isinstance(rule, KnownLink):
        is_vouched = isinstance(value, str) and evidence.vouches_for_link(rule.sources, value)
        return "a link" if is_vouched else ""
    form = rule.name if isinstance(rule, Form) else ""
    # One whose value says nothing to the receivers, if there are several.
    found = [str(one) for one in sources if evidence.vouches(one, value, form)]
    if not found and not leaf.is_key and isinstance(value, str) and not can_be_vouched_for(value):
        name = next((one[1:] for one in reversed(leaf.place) if one.startswith(".")), "")
        found = [str(one) for one in sources if evidence.names(str(one), name, value)]
    return next(filter(_says_nothing, found), found[0] if found else "")


def _overused(origins: Sequence[ArgumentOrigin], evidence: Evidence) -> Iterator[str]:
    """Words that vouch for more arguments than the request has them."""
    users: dict[str, set[str]] = {}
    said = [one for one in origins if one.vouched_by == "user"]
    for origin in said if len(said) > 1 else ():
        if isinstance(origin.value, str):
            argument = origin.path.partition(".")[0].partition("[")[0]
            users.setdefault(origin.value, set()).add(argument)
    for value, arguments in users.items():
        if len(arguments) > 1 and len(arguments) > evidence.times_said(value):
            names = " and ".join(f"`{name}`" for name in sorted(arguments))
            yield f"{names} have the same words of the user's request"


def _readers(sink: Sink, arguments: Mapping[str, object]) -> frozenset[str]:
    """Who receives what a sink carries out; anybody, if the call does not say who."""
    if sink.readers == "nobody":
        return frozenset()
    named = (leaf for name in sink.receivers for leaf in leaves(arguments.get(name), name))
    return frozenset(str(leaf.value) for leaf in named if leaf.value not in (None, "")) or PUBLIC


def _quoted(place: str) -> str:
    return f"`{one_line(place[:_SHOWN])}`"


def _unreadable(place: str, context: Label) -> str:
    allowed = ", ".join(sorted(context.readers or ())) or "nobody"
    return f"{_quoted(place)} is made of what only {allowed} may read, and others would receive it"


def _described(rule: OneOf | Between | Domains | Under | Form | KnownLink) -> str:
    match rule:
        case OneOf(values):
            return f"one of: {', '.join(map(str, values))}"
        case Between(low, high):
            return f"a number from {low:g} to {high:g}"
        case Form(name):
            return f"of the form of {'an' if name == 'email' else 'a'} {name}"
        case Under(folders):
            return f"a path under {' or '.join(folders)}"
        case KnownLink():
            return "a link"
        case Domains(hosts):
            return f"an https URL on one of: {', '.join(hosts)}"
