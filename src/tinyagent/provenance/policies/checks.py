"""The checks of a policy before a run: what it names exists, and each rule accepts something."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.provenance import Place, Sink, place_of
from tinyagent.core.provenance.rules import (
    FORMS,
    Between,
    Domains,
    Form,
    FormOf,
    Items,
    KnownLink,
    OneOf,
    Under,
    Word,
)
from tinyagent.core.types import ToolSpec
from tinyagent.core.untrusted import as_object
from tinyagent.provenance.policies.policy import SOURCE_WORDS, Policy, parse_source, sources_of
from tinyagent.provenance.shapes import all_fields, is_declared

WORDS = frozenset(get_args(Word))
_HOST = re.compile(r"[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*")
_MIN_WORD = 2
_COPIES = ("cc", "bcc")
_CHECKS = OneOf | Between | Domains | Under | Form | KnownLink | FormOf


def check_rules(policy: Policy) -> None:
    """Check the rules of a policy by themselves.

    Raises:
        ConfigurationError: A rule is none.
    """
    if policy.reveal_bits < 0:
        raise ConfigurationError(f"reveal_bits must be 0 or more, got {policy.reveal_bits}")
    for host in policy.links or ():
        if not _HOST.fullmatch(host.lower().removeprefix("*.")):
            raise ConfigurationError(f"links: {host!r} is not a host such as '*.example.com'")
    for name, sink in cast("Mapping[str, object]", policy.sinks).items():
        if not isinstance(sink, Sink):
            raise ConfigurationError(
                f"sinks.{name}: {sink!r} is not a Sink; write Sink(...), or read a policy of"
                " plain data with Provenance.from_dict"
            )
        if any(len(word.strip()) < _MIN_WORD for word in sink.asked):
            raise ConfigurationError(f"sinks.{name}.asked: write a list of words, not of letters")
        for argument, rule in sink.rules.items():
            check_rule(rule, f"sinks.{name}.{argument}")
    for name, sources in policy.from_.items():
        if not sources or "" in sources:
            raise ConfigurationError(
                f"from.{name}: write a list such as [contacts, '@corp.example']"
            )


def check_names(policy: Policy, tools: Mapping[str, ToolSpec], *, sealed: bool = False) -> None:
    """Check that all that a policy names exists.

    Args:
        policy: Of a run.
        tools: Of its agent.
        sealed: Whether it keeps the fields of untrusted results apart.

    Raises:
        ConfigurationError: It names what does not.
    """
    for name in sorted(policy.trusted):
        _check_trusted(name, tools, sealed=sealed)
    for name in sorted(policy.private.keys() | policy.free | policy.sinks.keys()):
        _require(name, tools, "the policy")
    for name in sorted(policy.own):
        _check_source(name, tools, "own")
    _check_writers(policy, tools)
    for tool in tools.values():
        for sink in policy.sinks_of(tool):
            _check_sink(tool, sink, policy, tools)


def check_rule(rule: object, where: str) -> None:
    """Check one rule.

    Raises:
        ConfigurationError: It is not a rule.
    """
    if isinstance(rule, _CHECKS):
        _check_check(rule, where)
        return
    if isinstance(rule, str) and rule in WORDS:
        return
    if isinstance(rule, list | tuple):
        names = list(cast("Iterable[object]", rule))
        if names and all(isinstance(name, str) and name for name in names):
            return
    known = ", ".join(sorted(WORDS))
    raise ConfigurationError(
        f"{where}: {rule!r} is not a rule; write a list of sources such as ['user', 'contacts'],"
        f" or one of: {known}, OneOf(...), Between(...), Domains(...), Under(...), Form(...),"
        " KnownLink(...), FormOf(...)"
    )


def _check_check(rule: _CHECKS, where: str) -> None:
    """Refuse a narrow check that accepts nothing, or not what it seems to."""
    fault = ""
    match rule:
        case Form(name, sources):
            if name not in FORMS:
                raise ConfigurationError(f"{where}: no form is {name!r}; forms: {', '.join(FORMS)}")
            numbers = name == "number" or all(isinstance(each, str) for each in sources)
            fault = "" if numbers else "its sources have a number"
            fault = "its sources are a text" if isinstance(sources, str) else fault
        case Between(low, high):
            numbers = all(type(each) in (int, float) for each in (low, high))
            fault = "" if numbers and low <= high else f"{low!r} to {high!r} is not a range"
        case OneOf(values):
            fault = "write a list of values" if isinstance(values, str) or not values else ""
        case Domains(hosts):
            names = [] if isinstance(hosts, str) else list(hosts)
            bad = [host for host in names if not _HOST.fullmatch(host)]
            fault = "" if names and not bad else "write a list of hosts"
            fault += f" such as 'www.example.com', not {bad[0]!r}" if bad else ""
        case Under(folders):
            roots = [] if isinstance(folders, str) else list(folders)
            is_folder = bool(roots) and all(
                each and Under([each]).accepts(each + "/x") for each in roots
            )
            fault = "" if is_folder else "write a list of folders such as '/downloads'"
        case KnownLink(sources):
            fault = "write a list of sources" if isinstance(sources, str) or not sources else ""
        case FormOf(argument):
            fault = "" if argument else "name the argument that has the address of the form"
    if fault:
        raise ConfigurationError(f"{where}: {type(rule).__name__}: {fault}")


def _check_sink(tool: ToolSpec, sink: Sink, policy: Policy, tools: Mapping[str, ToolSpec]) -> None:
    where = f"the sink {tool.name}"
    arguments = set(tool.json_schema.get("properties", ()))
    for path, rule in sink.rules.items():
        _check_place(tool.json_schema, place_of(path), f"{where} has no argument {path!r}")
        for source in sources_of(rule):
            if isinstance(source, str) and source not in SOURCE_WORDS:
                _check_source(source, tools, f"{where}.{path}")
            elif source == "own" and not policy.own:
                raise ConfigurationError(f"{where}.{path}: 'own' needs a list own: of tools")
        if isinstance(rule, FormOf) and rule.argument not in arguments:
            raise ConfigurationError(f"{where}.{path}: it has no argument {rule.argument!r}")
    missing = [name for name in sink.receivers if name not in arguments]
    if missing or not (sink.receivers or isinstance(sink.readers, str)):
        names = ", ".join(missing)
        raise ConfigurationError(f"{where}: readers names no argument: {names or sink.readers!r}")
    unnamed = [name for name in _COPIES if name in arguments and name not in sink.receivers]
    if sink.receivers and unnamed:
        every = ", ".join([*sink.receivers, *unnamed])
        raise ConfigurationError(f"{where}: {unnamed[0]} names receivers too: readers: [{every}]")


def _check_place(schema: Mapping[str, Any], place: Place, fault: str) -> None:
    if is_declared(schema, place) is False:
        end = next(end for end in range(1, len(place) + 1) if not is_declared(schema, place[:end]))
        known = sorted(as_object(schema.get("properties")) or {}) if end == 1 else []
        have = f"; it has: {', '.join(known) or 'none'}" if end == 1 else ""
        raise ConfigurationError(fault + have)


def _check_source(source: str, tools: Mapping[str, ToolSpec], where: str) -> None:
    """Check a tool, or a field of its results."""
    _, tool, name = parse_source(source)
    _require(tool, tools, where)
    _check_field(tools.get(tool), name, where)


def _check_field(tool: ToolSpec | None, name: str | None, where: str) -> None:
    known = None if tool is None or not name else all_fields(tool.returns)
    if tool is not None and known is not None and name not in known:
        raise ConfigurationError(
            f"{where} names {tool.name}.{name}; the results of {tool.name} have:"
            f" {', '.join(sorted(known)) or 'no fields'}"
        )


def _check_writers(policy: Policy, tools: Mapping[str, ToolSpec]) -> None:
    """Check `from`: its tools tell who wrote their items, and those whom it trusts."""
    attested = {name: tool.results for name, tool in tools.items()}
    for name, sources in policy.from_.items():
        tool, _, by = name.partition(".")
        if name:
            _require(tool, tools, "from")
        results = attested.get(tool)
        by = by or (results.by if isinstance(results, Items) else "")
        if name and not by:
            raise ConfigurationError(
                f"from.{name}: {tool} does not say who wrote an item; name the field that does,"
                f" such as from: {{{tool}.sender: [...]}}"
            )
        _check_field(tools.get(tool), by, f"from.{name}")
        for source in sources:
            if source != "user" and "@" not in source:
                _check_source(source, tools, f"from.{name or tool}")
    if "" in policy.from_ and not any(isinstance(each, Items) for each in attested.values()):
        raise ConfigurationError(
            "from: no tool says who wrote its items; declare one with results=Items(by=...), or"
            " name its field: from: {read_mail.sender: [...]}"
        )


def _check_trusted(name: str, tools: Mapping[str, ToolSpec], *, sealed: bool) -> None:
    """Check a trusted source: a tool, its field, an agent's tool, or what is read without one."""
    if name.startswith("file:") or name in {"executor", "host", "network"}:
        return
    if name.startswith("mcp:"):
        servers = sorted({tool.described_by for tool in tools.values() if tool.described_by})
        if name not in servers:
            known = ", ".join(servers) or "none"
            raise ConfigurationError(f"the policy trusts {name!r}; servers of tools: {known}")
        return
    tool, dot, inner = name.partition(".")
    _require(tool, tools, "the policy")
    _check_field(tools.get(tool), inner, "the policy")
    if dot and not sealed:
        raise ConfigurationError(
            f"the policy trusts {name!r}: only TinyCodeAgent(sealed=True) keeps fields apart; trust"
            f" {tool!r}, or none of it"
        )


def _require(name: str, tools: Mapping[str, ToolSpec], where: str) -> None:
    agent, inner, _ = name.partition("/")
    if agent not in tools:
        known = ", ".join(sorted(tools)) or "none"
        raise ConfigurationError(f"{where} names {name!r}, which is not a tool; tools: {known}")
    if inner and not tools[agent].is_agent:
        raise ConfigurationError(f"{where} names {name!r}, but {agent!r} is not an agent")
