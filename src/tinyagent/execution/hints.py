"""What a block of code that failed can do instead, from what is available to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_WORD = re.compile(r"[a-z]+")
_NETWORK = frozenset(
    """
    aiohttp ftplib http httpx imaplib requests smtplib socket ssl urllib urllib3 websockets
    """.split()  # noqa: SIM905 - a list to read, not a column
)
_UNREACHABLE = ("ConnectionError", "URLError", "gaierror", "ConnectError", "Network is unreachable")
_GENERAL = frozenset(
    """
    a all an and by file find for from get is it list look lookup make name of print read result
    search the to up with
    """.split()  # noqa: SIM905 - as above
)
"""Words that say nothing about what a function is for."""
_FILES = frozenset({"file", "files", "document", "documents"})
_MAX_NAMES = 12
_MAX_CHARS = 20_000


class Available(NamedTuple):
    """The functions, files and hosts that code has.

    Attributes:
        functions: The signatures of the tools by their names.
        files: The names of the files in the working folder; None if they are not known.
        hosts: Whether there is a network; None if that is not known.
    """

    functions: Mapping[str, str]
    files: tuple[str, ...] | None = None
    hosts: bool | None = None


def instead(error: str, code: str, around: Available) -> str:
    """A sentence or two on what to do instead of what failed; empty if nothing is known.

    Args:
        error: The text of the error.
        code: What raised it.
        around: What is available.
    """
    error, code = error[-_MAX_CHARS:], code[:_MAX_CHARS]
    module = _quoted(error, "import of '") or _quoted(error, "No module named '")
    if module:
        return instead_of_import(module, code, around)
    if "FileNotFoundError" in error:
        return _instead_of_file(_quoted(error, "No such file or directory: '"), around)
    if any(word in error for word in _UNREACHABLE):
        return " ".join(_instead_of_network(code, around))
    return ""


def instead_of_import(module: str, code: str, around: Available) -> str:
    """What to do instead of importing a module that is not available; empty if nothing is known."""
    parts = module.split(".")
    same = [part for part in parts if part in around.functions]
    if same:
        return f"{around.functions[same[0]]} is a function here: call it without importing it."
    if parts[0] in _NETWORK:
        return " ".join(_instead_of_network(code, around))
    return _offered(_about(code, around), around)


def _instead_of_network(code: str, around: Available) -> Iterator[str]:
    if around.hosts is False:
        yield "There is no network."
    yield _offered(_about(code, around), around)


def _instead_of_file(name: str, around: Available) -> str:
    readers = [tool for tool in around.functions if _FILES & _words(tool)]
    readers.sort(key=lambda tool: "read" not in _words(tool))
    there = f"There is no file {name!r} in the working folder" if name else "It is not there"
    listed = f"; there are: {', '.join(around.files[:_MAX_NAMES])}" if around.files else ""
    return f"{there}{listed}. {_offered(readers[:2], around)}".rstrip()


def _about(code: str, around: Available) -> list[str]:
    """The functions that have most words in common with the code, at most two."""
    wanted = _words(code) - _GENERAL
    common = {name: len((_words(name) - _GENERAL) & wanted) for name in around.functions}
    near = [name for name, count in common.items() if count]
    return sorted(near, key=lambda name: -common[name])[:2]


def _offered(names: list[str], around: Available) -> str:
    """A sentence that names these functions; all of them if these are none and they are few."""
    if names:
        listed = " and ".join(around.functions[name] for name in names)
        are = "is a function" if len(names) == 1 else "are functions"
        return f"{listed} {are} here: call by name, without importing."
    if 0 < len(around.functions) <= _MAX_NAMES:
        return f"These functions are here, without importing: {', '.join(around.functions)}."
    return ""


def _quoted(text: str, start: str) -> str:
    """The text between `start` and the next quotation mark."""
    _, found, rest = text.rpartition(start)
    return rest.partition("'")[0][:200] if found else ""


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
