"""Links in an answer: only those stay that go where the policy or the user says.

A page that shows an answer may fetch the images in it, and people follow links. Both send what is
in the address to whoever serves the host.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

_WORD = r"""[^\s<>"'`()\[\]{}|]+"""
_LINK = re.compile(
    rf"(?:\b[a-z][a-z0-9+.\-]{{1,20}}:)?[/\\]{{2}}(?:\[[^\s\[\]]*\]{_WORD}|{_WORD})|\bwww\.{_WORD}",
    re.IGNORECASE,
)


def without_links(answer: Any, hosts: Collection[str], is_said: Callable[[str], bool]) -> Any:
    """The answer without links to other hosts, also inside lists and objects.

    Args:
        answer: A text, or data.
        hosts: Where links may go; `*.example.com` are all hosts below it.
        is_said: Whether the user's request contains a link.
    """

    def kept(match: re.Match[str]) -> str:
        link = match[0]
        host = _host(link)
        if is_said(link) or any(goes_to(host, allowed) for allowed in hosts):
            return link
        return "(link removed)"

    if isinstance(answer, str):
        return _LINK.sub(kept, answer)
    if isinstance(answer, Mapping):
        entries = cast("Mapping[object, Any]", answer)
        return {
            without_links(key, hosts, is_said): without_links(item, hosts, is_said)
            for key, item in entries.items()
        }
    if isinstance(answer, list | tuple):
        items = [without_links(item, hosts, is_said) for item in cast("Collection[Any]", answer)]
        return tuple(items) if isinstance(answer, tuple) else items
    return answer


def _host(link: str) -> str:
    """The host of a link, empty if it cannot be read the way that a browser reads it."""
    if "\\" in link:  # Markdown leaves it out before a point
        return ""
    try:
        parts = urlsplit(link if "//" in link else f"//{link}")
        host = parts.hostname or ""
    except ValueError:
        return ""
    is_plain = re.fullmatch(r"[a-z0-9.-]+", host) is not None
    return host if is_plain and "@" not in parts.netloc else ""


def goes_to(host: str, allowed: str) -> bool:
    """Whether a host is one that `links` allows."""
    if allowed.startswith("*."):
        return host.endswith(allowed[1:].lower())
    return bool(host) and host == allowed.lower()
