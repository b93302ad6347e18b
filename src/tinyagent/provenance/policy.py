"""A policy: which sources are trusted, who may read results, and the rules of each sink.

A policy is data, so that it can be checked before a run: an unknown tool, argument, field or word
is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.provenance import (
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
ALWAYS_TRUSTED = frozenset({"user", "operator"})
_KEYS = ("trusted", "private", "free", "sinks", "reveal_bits", "links")
_CHECKS: Mapping[str, Callable[..., Rule]] = {
    "one_of": lambda *values: OneOf(values),
    "between": Between,
    "domains": lambda *hosts: Domains(hosts),
}


@dataclass(frozen=True)
class Policy:
    """What a policy says; `Provenance` describes the parts.

    Raises:
        ConfigurationError: a rule is none, or a tool is both free and a sink.
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
        return f"tool:{tool}" if tool in ALWAYS_TRUSTED | {"unknown"} else tool

    def trusts(self, label: Label, tools: Mapping[str, ToolSpec]) -> bool:
        """Whether all sources of a label are trusted."""
        return all(
            source in ALWAYS_TRUSTED
            or source in self.trusted
            or (source in tools and tools[source].results == "trusted")
            for source in label.sources
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

    def check(self, tools: Mapping[str, ToolSpec]) -> None:
        """Check that all that the policy names exists.

        Raises:
            ConfigurationError: it names what does not.
        """
        named = {name.partition(".")[0] for name in self.trusted if not _is_material(name)}
        for name in sorted(named | self.private.keys() | self.free | self.sinks.keys()):
            _require(name, tools, "the policy")
        for tool in tools.values():
            for sink in self.sinks_of(tool):
                _check_sink(tool, sink, tools)


def names_of(names: Iterable[str], where: str) -> frozenset[str]:
    """The names in a part of a policy.

    Raises:
        ConfigurationError: it is a text.
    """
    if isinstance(names, str):
        raise ConfigurationError(f"{where} is a text; write a list: [{names!r}]")
    return frozenset(names)


def check_rule(rule: object, where: str) -> None:
    """Check one rule.

    Raises:
        ConfigurationError: it is not a rule.
    """
    if isinstance(rule, Form) and rule.name not in FORMS:
        raise ConfigurationError(f"{where}: no form is {rule.name!r}; forms: {', '.join(FORMS)}")
    if isinstance(rule, OneOf | Between | Domains | Form) or (
        isinstance(rule, str) and rule in WORDS
    ):
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
        ConfigurationError: a policy does not have this key or value.
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
        raise ConfigurationError(f"sinks.{name}.readers is {describe(readers)}, not a name")
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
    if sink.readers != "public" and sink.readers not in arguments:
        raise ConfigurationError(f"{where}: readers names no argument: {sink.readers!r}")


def _is_material(name: str) -> bool:
    """Whether a source is something that code reads without a tool."""
    return name.startswith("file:") or name in {"executor", "network"}


def _require(name: str, tools: Mapping[str, ToolSpec], where: str) -> None:
    if name not in tools:
        known = ", ".join(sorted(tools)) or "none"
        raise ConfigurationError(f"{where} names {name!r}, which is not a tool; tools: {known}")


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
