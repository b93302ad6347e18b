"""The rule that a draft gives to an argument: by its type, format, name and description."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tinyagent.core.types import ToolSpec
from tinyagent.core.untrusted import as_array, as_object
from tinyagent.provenance.shapes import resolved

_MAX_DEPTH = 6
SINK_WORDS = frozenset({"control", "readers", "asked"})
"""What a sink has beside rules."""
_PERSON = re.compile(
    r"(^|_)(to|cc|bcc|recipients?|receivers?|e_?mails?|addressees?|attendees?|participants?|"
    r"guests?|invitees?|members?|users?|assignees?|reviewers?|people|person|seller|channel|handle)$"
)
_EMAIL = re.compile(r"(^|_)(to|cc|bcc|e_?mails?|recipients?|attendees?|participants?|invitees?)$")
_URL = re.compile(r"(^|_)(url|uri|link|href|website|page)$")
_PATH = re.compile(r"(^|_)(path|file|filename|folder|directory|destination|target)$")
_DATE = re.compile(
    r"(^|_)(date|day|time|start|end|when|until|from|deadline|due|arrival|departure|check_?in|"
    r"check_?out|starts?|ends?)(_(at|on|date|time|day))?$"
)
_TEXT = re.compile(
    r"(^|_)(body|texts?|message|content|contents|title|subject|description|notes?|comment|reason|"
    r"summary|reply|answer|question|review|caption|details?|purpose|reference|memo|feedback)$"
)
_QUERY = re.compile(r"(^|_)(query|q|search|phrase|keywords?|terms?)$")
_COUNT = re.compile(r"(^|_)(quantity|count|copies|pieces|persons|people|guests|nights|seats|n)$")
_NAME = re.compile(
    r"(^|_)(id|ids|number|numbers|no|sku|code|key|slug|iban|ref|sha|tag|branch|path|name)_?$"
)
_RISKY = re.compile(
    r"admin|owner|maintain(er)?|write|writer|edit(or)?|public|everyone|all|force|delete|permanent|"
    r"root|full|manage|organizer"
)
_FOLDER = re.compile(r"\b(?:under|below|in|inside|within) [`'\"]?(/[\w./-]*\w)")
_PLAIN = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Texts that YAML reads as something else."""


def as_yaml(value: object) -> str:
    """A value as YAML that fits in any list or table."""
    if not isinstance(value, str):
        return "null" if value is None else str(value).lower()
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    escaped = (
        each if each.isprintable() and each not in '"\\' else f"\\U{ord(each):08x}"
        for each in value
    )
    return f'"{"".join(escaped)}"'


@dataclass(frozen=True, slots=True)
class Argument:
    """A value inside the arguments of a tool: its path as in a rule, and its schema."""

    path: str
    schema: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The last name in its path, as words."""
        last = self.path.removesuffix("[]").rpartition(".")[2]
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", last).lower()

    @property
    def about(self) -> str:
        """Its description."""
        return str(self.schema.get("description", ""))

    @property
    def choices(self) -> Sequence[Any]:
        """The values that it may have; empty if there are others."""
        const = [self.schema["const"]] if "const" in self.schema else []
        return as_array(self.schema.get("enum")) or const


class Drafted(NamedTuple):
    """A rule as YAML, its reason, and whether it bounds who decides about the call."""

    rule: str
    reason: str
    is_strict: bool = True


class _Kind(NamedTuple):
    """What a text is: its format, how it is named, its rule."""

    format: str
    named: re.Pattern[str]
    drafted: Drafted


_KINDS = (
    _Kind("date", _DATE, Drafted("{{date: [{known}]}}", "when")),
    _Kind("url", _URL, Drafted("{{link: [user, trusted]}}", "the user's, or read on a known host")),
    _Kind("email", _EMAIL, Drafted("{{email: [user, trusted]}}", "who receives it")),
    _Kind("", _PERSON, Drafted("[{known}]", "whom it concerns")),
    _Kind("", _PATH, Drafted("[{known}]", "which file")),
    _Kind("", _QUERY, Drafted("readable", "words of a search", is_strict=False)),
    _Kind("", _TEXT, Drafted("unmarked", "repeats nothing harmful of others", is_strict=False)),
)
_FORMATS = {"date": "date", "date-time": "date", "time": "date", "uri": "url", "email": "email"}


def arguments_of(tool: ToolSpec) -> Iterator[Argument]:
    """The values inside the arguments, as far as the schema names them."""
    properties = as_object(tool.json_schema.get("properties")) or {}
    for name, schema in properties.items():
        if not _can_be_named(name):
            continue  # then it is only made of the user's own words
        yield from _inside(name, as_object(schema) or {}, tool.json_schema, 0)


def _inside(
    path: str, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int
) -> Iterator[Argument]:
    kept = {key: schema[key] for key in ("description", "default") if key in schema}
    plain = {**resolved(root, schema), **kept}
    properties = as_object(plain.get("properties")) or {}
    items = as_object(plain.get("items"))
    if depth < _MAX_DEPTH and properties:
        for name, inner in properties.items():
            if not _can_be_named(name):
                continue
            yield from _inside(f"{path}.{name}", as_object(inner) or {}, root, depth + 1)
    elif depth < _MAX_DEPTH and items and resolved(root, items).get("properties"):
        yield from _inside(f"{path}[]", items, root, depth + 1)
    else:
        yield Argument(path, plain)


def _can_be_named(name: str) -> bool:
    """Whether a path in a rule can name it."""
    return "." not in name and not name.endswith("[]") and name not in {"", *SINK_WORDS}


def is_receiver(argument: Argument) -> bool:
    """Whether it names who receives the others."""
    of_item = as_object(argument.schema.get("items")) or {}
    is_text = "string" in (argument.schema.get("type"), of_item.get("type"))
    return is_text and bool(_PERSON.search(argument.name))


def is_file(argument: Argument) -> bool:
    """Whether it names a file."""
    return bool(_PATH.search(argument.name))


def is_name(field: str) -> bool:
    """Whether a field of a result names the thing that it is a field of."""
    return bool(_NAME.search(field))


def rule_of(
    argument: Argument, others: Sequence[Argument], tool: ToolSpec, sources: str
) -> Drafted:
    """The rule of an argument.

    Args:
        argument: A value inside the arguments of the tool.
        others: All of them.
        tool: Their tool.
        sources: Those of an argument that names something.
    """
    known, kind = sources, argument.schema.get("type")
    has_default = argument.schema.get("default") is not None
    if has_default and not _RISKY.fullmatch(str(argument.schema["default"]).lower()):
        known += ", default"
    if argument.choices:
        return _of_choices(argument, tool, is_default_safe="default" in known)
    if kind == "boolean":
        return Drafted("any", "a yes or no", is_strict=False)
    if kind in {"integer", "number"}:
        one = "1, " if _COUNT.search(argument.name) else ""
        return Drafted(f"{{number: [{one}{known}]}}", "a number that somebody says, or an id")
    if kind == "object":
        tops = [other.path for other in others if not re.search(r"[.\[]", other.path)]
        address = next((name for name in tops if _URL.search(name.lower())), "")
        rule = f"{{form: {as_yaml(address)}}}" if address else f"[{known}]"
        return Drafted(rule, "what a form asks for" if address else "an object of any shape")
    return _of_text(argument, tool, known)


def _of_choices(argument: Argument, tool: ToolSpec, *, is_default_safe: bool) -> Drafted:
    is_risky = any(_RISKY.fullmatch(str(each).lower()) for each in argument.choices)
    if is_risky or tool.hints.get("destructive"):
        default = ", default" if is_default_safe else ""
        return Drafted(f"{{word: [user, trusted{default}]}}", "somebody must say which")
    values = ", ".join(map(as_yaml, argument.choices))
    return Drafted(f"{{one_of: [{values}]}}", "all that there are", is_strict=False)


def _of_text(argument: Argument, tool: ToolSpec, known: str) -> Drafted:
    if folder := _FOLDER.search(argument.about):
        return Drafted(f"{{under: {as_yaml(folder[1])}}}", "its description says so")
    wanted = _FORMATS.get(str(argument.schema.get("format")), "")
    about = argument.about.lower()
    said = f"{argument.name} {about} {tool.name} {tool.description}".lower()
    is_mailed = "mail" in said and not re.search(r"\b(?:user|login|name|id of)\b", about)
    for kind in _KINDS:
        is_named = bool(kind.named.search(argument.name))
        if kind.format == "email" and not wanted and not is_mailed:
            continue
        if kind.named is _TEXT and re.search(r"\bids?\b", about):
            continue
        if wanted == kind.format if wanted else is_named:
            rule, reason, is_strict = kind.drafted
            return Drafted(rule.format(known=known), reason, is_strict)
    return Drafted(f"[{known}]", "which one")
