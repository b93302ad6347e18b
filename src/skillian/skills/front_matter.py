"""Reads `SKILL.md`: the front matter, checked against the Agent Skills format, and the text.

The rules are those of the format's reference checker, which reports neither lines nor all faults.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

from skillian.errors import ConfigurationError, Fault

FILE = "SKILL.md"
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
LONGEST_COMPATIBILITY = 500

_FIRST = 2  # the line below the first `---`


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The front matter of a skill, without the keys that skillian checks but does not use."""

    name: str
    description: str
    license: str | None
    compatibility: str | None


def read_skill_file(path: Path) -> tuple[FrontMatter, str]:
    """Read a `SKILL.md`.

    Returns:
        The front matter, and the instructions below it.

    Raises:
        ConfigurationError: All faults, with their lines.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise _fault(path, 1, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _fault(path, 1, "cannot be read: it is not UTF-8") from None
    front, lines, instructions = _split(text.removeprefix("\ufeff"), path)
    faults = [
        Fault(str(path), lines.get(key, 1), message, fix)
        for key, message, fix in _faults(front, path.resolve().parent.name)
    ]
    if faults:
        raise ConfigurationError(faults)
    description = front["description"].strip()
    matter = FrontMatter(
        _normal(front["name"]), description, front.get("license"), front.get("compatibility")
    )
    return matter, instructions.strip()


def name_faults(name: str) -> list[str]:
    """What is wrong with the name of a skill; empty if it is valid."""
    name = _normal(name)
    faults: list[str] = []
    if not name:
        faults.append("it is empty")
    if len(name) > LONGEST_NAME:
        faults.append(f"it has {len(name)} characters, more than {LONGEST_NAME}")
    if name != name.lower():
        faults.append("it is not in lower case")
    if name.startswith("-") or name.endswith("-") or "--" in name:
        faults.append("a hyphen must be between letters or digits")
    if not all(letter.isalnum() or letter == "-" for letter in name):
        faults.append("it has characters other than letters, digits and hyphens")
    return faults


def _split(text: str, path: Path) -> tuple[dict[str, Any], dict[str, int], str]:
    """The front matter, the line of each of its keys, and what follows it."""
    opening, *rest = text.splitlines(keepends=True) or [""]
    end = next((index for index, line in enumerate(rest) if line.rstrip() == "---"), None)
    if opening.rstrip() != "---" or end is None:
        raise _fault(path, 1, "it does not start with front matter between two `---` lines")
    head = "".join(rest[:end])
    try:
        node = yaml.compose(head, yaml.SafeLoader)
        has_alias = any(isinstance(token, yaml.AliasToken) for token in yaml.scan(head))
    except yaml.MarkedYAMLError as error:
        line = _FIRST + (error.problem_mark.line if error.problem_mark else 0)
        raise _fault(path, line, f"its front matter is not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise _fault(path, _FIRST, f"its front matter is not YAML: {error}") from None
    if not isinstance(node, yaml.MappingNode) or has_alias:
        raise _fault(path, _FIRST, "its front matter is not a mapping, or it has an alias")
    pairs = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)
    lines = {str(key.value): _FIRST + key.start_mark.line for key, _ in pairs}
    if len(lines) < len(pairs):
        raise _fault(path, _FIRST, "its front matter has a key twice")
    return {str(key.value): _plain(value) for key, value in pairs}, lines, "".join(rest[end + 1 :])


def _plain(node: yaml.Node) -> Any:
    """A node with all scalars as text, as in the reference checker."""
    if isinstance(node, yaml.MappingNode):
        pairs = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)
        return {str(key.value): _plain(value) for key, value in pairs}
    if isinstance(node, yaml.SequenceNode):
        return [_plain(each) for each in cast("list[yaml.Node]", node.value)]
    return str(node.value)


def _faults(front: Mapping[Any, Any], folder: str) -> Iterator[tuple[str, str, str]]:
    """Each key with a fault, what is wrong, and how to fix it."""
    for key in front:
        if key not in _CHECKS:
            known = ", ".join(_CHECKS)
            yield (
                str(key),
                f"the format has no {key!r}",
                f"use {known}, or metadata for anything else",
            )
    for key in ("name", "description"):
        if key not in front:
            yield key, f"its front matter has no {key!r}", f"write `{key}: …`"
    for key, check in _CHECKS.items():
        if key in front:
            for message in check(front[key]):
                yield key, f"{key}: {message}", ""
    name = front.get("name")
    if isinstance(name, str) and name.strip() and _normal(name) != _normal(folder):
        yield "name", f"its name is {name!r}, its folder {folder!r}", "use the same name for both"


def _name(value: object) -> list[str]:
    return name_faults(value) if isinstance(value, str) else ["it is not text"]


def _text(longest: int | None) -> Callable[[object], list[str]]:
    def check(value: object) -> list[str]:
        if not isinstance(value, str) or not value.strip():
            return ["it is not text, or it is empty"]
        if longest is not None and len(value) > longest:
            return [f"it has {len(value)} characters, more than {longest}"]
        return []

    return check


def _metadata(value: object) -> list[str]:
    return [] if isinstance(value, Mapping) else ["it is not a mapping"]


def _allowed_tools(value: object) -> list[str]:
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    if all(isinstance(item, str) for item in items):
        return []
    return ["it is neither text nor a list of texts"]


_CHECKS: Mapping[str, Callable[[object], list[str]]] = {
    "name": _name,
    "description": _text(LONGEST_DESCRIPTION),
    "license": _text(None),
    "compatibility": _text(LONGEST_COMPATIBILITY),
    "metadata": _metadata,
    "allowed-tools": _allowed_tools,
}


def _normal(name: str) -> str:
    return unicodedata.normalize("NFKC", name.strip())


def _fault(path: Path, line: int, message: str) -> ConfigurationError:
    return ConfigurationError([Fault(str(path), line, message, "see the Agent Skills format")])
