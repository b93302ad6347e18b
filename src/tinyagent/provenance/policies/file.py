"""A policy as plain data, from YAML or JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.provenance import Sink
from tinyagent.core.provenance.rules import (
    FORMS,
    Between,
    Domains,
    Form,
    FormOf,
    KnownLink,
    OneOf,
    Rule,
    Under,
)
from tinyagent.core.untrusted import as_array, as_object, describe
from tinyagent.options import refuse_unknown
from tinyagent.provenance.policies.checks import check_rule
from tinyagent.provenance.policies.policy import Policy

_KEYS = ("trusted", "own", "from", "private", "free", "sinks", "reveal_bits", "links")
_CHECKS: Mapping[str, Callable[..., Rule]] = {
    "one_of": lambda *values: OneOf(values),
    "between": Between,
    "domains": lambda *hosts: Domains(hosts),
    "under": lambda *folders: Under(folders),
    "link": lambda *sources: KnownLink(sources),
    "form": FormOf,
}


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
        frozenset(_texts(data.get("own", []), "own")),
        writers_of(data.get("from", {})),
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
    asked = _texts(rest.pop("asked", []), f"sinks.{name}.asked")
    rules = {str(key): _rule(rule, f"sinks.{name}.{key}") for key, rule in rest.items()}
    return Sink(rules, control=control, readers=readers, asked=asked)


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
    given = [values] if isinstance(values, str) else as_array(values)
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
    words = [each for each in given or () if name != "number" or isinstance(each, str)]
    check_rule(words or given, f"{where}.{name}")
    return Form(name, tuple(given or ()))


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    entry = as_object(data.get(key, {}))
    if entry is None:
        raise ConfigurationError(f"{key} is {describe(data[key])}, not a table")
    return entry


def writers_of(data: object) -> dict[str, tuple[str, ...]]:
    """Whose items are trusted, by tool; for all tools by the empty name.

    Raises:
        ConfigurationError: It is neither a list nor a table of lists.
    """
    if (names := as_array(data)) is not None:
        return {"": tuple(_texts(names, "from"))}
    entry = as_object(data)
    if entry is None:
        raise ConfigurationError(f"from is {describe(data)}, not a list or a table of lists")
    return {str(name): tuple(_texts(who, f"from.{name}")) for name, who in entry.items()}


def _number(data: object, where: str) -> int:
    if type(data) is not int:
        raise ConfigurationError(f"{where} is {describe(data)}, not a whole number")
    return data


def _texts(data: object, where: str) -> list[str]:
    names = as_array(data)
    if names is None or not all(isinstance(name, str) for name in names):
        raise ConfigurationError(f"{where} is {describe(data)}, not a list of names")
    return cast("list[str]", names)


def names_of(names: Iterable[str], where: str) -> frozenset[str]:
    """The names in a part of a policy.

    Raises:
        ConfigurationError: It is a text.
    """
    if isinstance(names, str):
        raise ConfigurationError(f"{where} is a text; write a list: [{names!r}]")
    return frozenset(names)
