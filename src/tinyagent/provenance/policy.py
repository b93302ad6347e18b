"""A policy: which sources are trusted, who may read results, and the rules of each sink.

A policy is data, so that it can be checked before a run: an unknown tool, argument, field or word
is an error that names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast, get_args

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.provenance import (
    COMMON,
    FORMS,
    UNDECLARED,
    Between,
    Domains,
    Form,
    Label,
    OneOf,
    Rule,
    Sink,
    Word,
)
from tinyagent.core.types import ToolSpec
from tinyagent.core.untrusted import as_array, as_object, describe
from tinyagent.options import refuse_unknown

WORDS = frozenset(get_args(Word))
_KEYS = ("trusted", "private", "free", "sinks", "reveal_bits", "links")
_OTHERS = COMMON | {"unknown"}
"""Sources that are no tools."""
_HOST = re.compile(r"[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*")
_COPIES = ("cc", "bcc")
_CHECKS: Mapping[str, Callable[..., Rule]] = {
    "one_of": lambda *values: OneOf(values),
    "between": Between,
    "domains": lambda *hosts: Domains(hosts),
}


@dataclass(frozen=True)
class Policy:
    """A policy; `Provenance` describes its parts.

    Raises:
        ConfigurationError: A rule is none, or a tool is both free and a sink.
    """

    trusted: frozenset[str] = frozenset()
    private: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    free: frozenset[str] = frozenset()
    sinks: Mapping[str, Sink] = field(default_factory=dict[str, Sink])
    reveal_bits: int = 0
    links: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.reveal_bits < 0:
            raise ConfigurationError(f"reveal_bits must be 0 or more, got {self.reveal_bits}")
        for host in self.links or ():
            if not _HOST.fullmatch(host.lower().removeprefix("*.")):
                raise ConfigurationError(f"links: {host!r} is not a host such as '*.example.com'")
        for name, sink in cast("Mapping[str, object]", self.sinks).items():
            if not isinstance(sink, Sink):
                raise ConfigurationError(
                    f"sinks.{name}: {sink!r} is not a Sink; write Sink(...), or read a policy of"
                    " plain data with Provenance.from_dict"
                )
            for argument, rule in sink.rules.items():
                check_rule(rule, f"sinks.{name}.{argument}")
        both = sorted(self.free & self.sinks.keys())
        if both:
            raise ConfigurationError(f"{both[0]} is both free and a sink; remove one of them")

    def source(self, tool: str) -> str:
        """The name of a tool as a source; those of the user and the operator stay theirs."""
        return f"tool:{tool}" if tool in _OTHERS else tool

    def trusts(self, source: str, tools: Mapping[str, ToolSpec]) -> bool:
        """Whether a source is trusted; `agent/tool` also if the agent is."""
        return (
            source in COMMON
            or source in self.trusted
            or (source in tools and tools[source].results == "trusted")
            or ("/" in source and source.partition("/")[0] in self.trusted)
        )

    def label(self, tool: ToolSpec, value: object) -> Label:
        """The label of a result, without what its arguments were made of."""
        readers = self.private.get(tool.name)
        own = Label(frozenset({self.source(tool.name)}), readers)
        return tool.results(value) | own if callable(tool.results) else own

    def sinks_of(self, tool: ToolSpec) -> tuple[Sink, ...]:
        """The sinks whose rules a call must all satisfy; none if the tool is free."""
        declared = self.sinks.get(tool.name)
        own = tool.sink
        if isinstance(own, Sink):
            return (own,) if declared is None else (own, declared)
        if declared is not None:
            return (declared,)
        return () if own == "free" or tool.name in self.free else (UNDECLARED,)

    def within(self, agent: str, shared: Collection[str]) -> Policy:
        """The policy for the tools of an agent that is a tool.

        Args:
            agent: The name of the tool; rules for what it calls are those of `agent/tool`.
            shared: The names of tools that both agents have, for which the rules hold as well.
        """
        inner = f"{agent}/"

        def own(names: Iterable[str]) -> dict[str, str]:
            held = {name: name for name in names if name.partition(".")[0] in shared}
            named = {name.removeprefix(inner): name for name in names if name.startswith(inner)}
            return held | named

        sinks = {
            new: self.sinks[old] if old.startswith(inner) else _only(self.sinks[old], shared)
            for new, old in own(self.sinks).items()
        }
        return Policy(
            frozenset(own(self.trusted)),
            {new: self.private[old] for new, old in own(self.private).items()},
            frozenset(own(self.free)) - sinks.keys(),
            sinks,
        )

    def check(self, tools: Mapping[str, ToolSpec], *, sealed: bool = False) -> None:
        """Check that all that the policy names exists.

        Args:
            tools: Of the agent.
            sealed: Whether it keeps the fields of untrusted results apart.

        Raises:
            ConfigurationError: It names what does not.
        """
        for name in sorted(self.trusted):
            _check_trusted(name, tools, sealed=sealed)
        for name in sorted(self.private.keys() | self.free | self.sinks.keys()):
            _require(name, tools, "the policy")
        for tool in tools.values():
            for sink in self.sinks_of(tool):
                _check_sink(tool, sink, tools)


def _only(sink: Sink, shared: Collection[str]) -> Sink:
    """A sink whose rules name no sources but the user and the tools that are shared."""
    rules: dict[str, Rule] = {}
    for name, rule in sink.rules.items():
        sources = () if isinstance(rule, str) else sources_of(rule)
        left = [each for each in sources if each == "user" or parse_source(each)[1] in shared]
        if sources and not left:
            return UNDECLARED
        rules[name] = replace(rule, sources=left) if isinstance(rule, Form) else left or rule
    return Sink(rules, control=sink.control, readers=sink.readers)


def names_of(names: Iterable[str], where: str) -> frozenset[str]:
    """The names in a part of a policy.

    Raises:
        ConfigurationError: It is a text.
    """
    if isinstance(names, str):
        raise ConfigurationError(f"{where} is a text; write a list: [{names!r}]")
    return frozenset(names)


def check_rule(rule: object, where: str) -> None:
    """Check one rule.

    Raises:
        ConfigurationError: It is not a rule.
    """
    if isinstance(rule, OneOf | Between | Domains | Form):
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
        f" or one of: {known}, OneOf(...), Between(...), Domains(...), Form(...)"
    )


def _check_check(rule: OneOf | Between | Domains | Form, where: str) -> None:
    """Refuse a narrow check that accepts nothing, or not what it seems to."""
    fault = ""
    match rule:
        case Form(name, sources):
            if name not in FORMS:
                raise ConfigurationError(f"{where}: no form is {name!r}; forms: {', '.join(FORMS)}")
            fault = "its sources are a text" if isinstance(sources, str) else ""
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
    if fault:
        raise ConfigurationError(f"{where}: {type(rule).__name__}: {fault}")


def parse_source(text: str) -> tuple[bool, str, str | None]:
    """A source of a rule: whether a part of a text is enough, the tool, and its field, if any."""
    inside = text.startswith("in:")
    tool, dot, name = text.removeprefix("in:").partition(".")
    return inside, tool, name if dot else None


def sources_of(rule: Rule) -> Sequence[str]:
    """The sources that may vouch for an argument; none if its rule names none."""
    if isinstance(rule, Form):
        return rule.sources
    if isinstance(rule, list | tuple):
        return rule
    return ("user",) if rule == "own_words" else ()


def policy_from_dict(data: Mapping[str, Any]) -> Policy:
    """Read a policy from the contents of a YAML or JSON file.

    Raises:
        ConfigurationError: A policy does not have this key or value.
    """
    refuse_unknown("a policy", map(str, data), _KEYS)
    private = {
        str(name): frozenset(_texts(readers, f"private.{name}"))
        for name, readers in _table(data, "private").items()
    }
    sinks = {str(name): _sink(entry, str(name)) for name, entry in _table(data, "sinks").items()}
    return Policy(
        frozenset(_texts(data.get("trusted", []), "trusted")),
        private,
        frozenset(_texts(data.get("free", []), "free")),
        sinks,
        _number(data.get("reveal_bits", 0), "reveal_bits"),
        frozenset(_texts(data["links"], "links")) if "links" in data else None,
    )


def _sink(data: object, name: str) -> Sink:
    if data == "control":
        return Sink(control="trusted")
    entry = as_object(data)
    if entry is None:
        raise ConfigurationError(f"sinks.{name} is {describe(data)}, not a table of rules")
    rest = dict(entry)
    control = rest.pop("control", "any")
    if control not in ("any", "trusted"):
        raise ConfigurationError(f"sinks.{name}.control is {control!r}, not 'any' or 'trusted'")
    readers = rest.pop("readers", "public")
    if not isinstance(readers, str):
        readers = _texts(readers, f"sinks.{name}.readers")
    rules = {str(key): _rule(rule, f"sinks.{name}.{key}") for key, rule in rest.items()}
    return Sink(rules, control=control, readers=readers)


def _rule(data: object, where: str) -> Rule:
    entry = as_object(data)
    if entry is None:
        check_rule(data, where)
        return cast("Rule", data)
    if len(entry) != 1 or next(iter(entry)) not in _CHECKS.keys() | FORMS.keys():
        known = ", ".join([*_CHECKS, *FORMS])
        raise ConfigurationError(f"{where}: write one of: {known}, each with a list")
    name, values = next(iter(entry.items()))
    if name in FORMS:
        return _form(name, values, where)
    given = as_array(values)
    if given is None:
        raise ConfigurationError(f"{where}.{name} is {describe(values)}, not a list")
    try:
        return _CHECKS[name](*given)
    except TypeError:
        raise ConfigurationError(f"{where}.{name} does not take {len(given)} values") from None


def _form(name: str, sources: object, where: str) -> Form:
    if sources == "any":
        return Form(name)
    given = as_array(sources)
    check_rule(given, f"{where}.{name}")
    return Form(name, tuple(given or ()))


def _check_sink(tool: ToolSpec, sink: Sink, tools: Mapping[str, ToolSpec]) -> None:
    where = f"the sink {tool.name}"
    arguments = set(tool.json_schema.get("properties", ()))
    for argument, rule in sink.rules.items():
        if argument not in arguments:
            known = ", ".join(sorted(arguments)) or "none"
            raise ConfigurationError(f"{where} has no argument {argument!r}; it has: {known}")
        for source in sources_of(rule):
            if source != "user":
                _require(parse_source(source)[1], tools, f"{where}.{argument}")
    missing = [name for name in sink.receivers if name not in arguments]
    if missing or not (sink.receivers or isinstance(sink.readers, str)):
        names = ", ".join(missing)
        raise ConfigurationError(f"{where}: readers names no argument: {names or sink.readers!r}")
    unnamed = [name for name in _COPIES if name in arguments and name not in sink.receivers]
    if sink.receivers and unnamed:
        every = ", ".join([*sink.receivers, *unnamed])
        raise ConfigurationError(f"{where}: {unnamed[0]} names receivers too: readers: [{every}]")


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
    tool, dot, _ = name.partition(".")
    _require(tool, tools, "the policy")
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


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    entry = as_object(data.get(key, {}))
    if entry is None:
        raise ConfigurationError(f"{key} is {describe(data[key])}, not a table")
    return entry


def _number(data: object, where: str) -> int:
    if type(data) is not int:
        raise ConfigurationError(f"{where} is {describe(data)}, not a whole number")
    return data


def _texts(data: object, where: str) -> list[str]:
    names = as_array(data)
    if names is None or not all(isinstance(name, str) for name in names):
        raise ConfigurationError(f"{where} is {describe(data)}, not a list of names")
    return cast("list[str]", names)
