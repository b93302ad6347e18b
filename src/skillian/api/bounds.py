"""How much a request may hold, before anything of it is understood."""

from __future__ import annotations

import re
from collections import Counter

from starlette.types import Scope

from skillian.api.problems import ProblemError

MAX_HEADERS = 100
MAX_HEAD = 32 * 1024
"""Bytes of a request's headers; the server itself reads no more before it has all of them."""
MAX_TARGET = 16 * 1024
"""Bytes of a request's path and query."""
MAX_VALUES = 10_000
"""How many values a JSON text may hold: members, items and what they are in."""
MAX_DEPTH = 50

# These decide who asks and from where: two of one kind would be read differently by two readers.
_SINGLE = ("host", "origin", "authorization", "content-type", "content-length", "sec-fetch-site")

# Possessive, and a text without an end reaches to the end: linear whatever is sent.
_TEXTS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKETS = re.compile(rb"[^\[\]{}]++")


def check_head(scope: Scope) -> None:
    """Return where a request's target and headers are within their bounds.

    Raises:
        ProblemError: they are too long (414, 431), or a header is given twice (400).
    """
    path = scope.get("raw_path") or scope["path"].encode()
    if len(path) + len(scope.get("query_string", b"")) > MAX_TARGET:
        detail = f"The address has more than {MAX_TARGET} bytes; send less in the query."
        raise ProblemError(414, "address_too_long", detail)
    headers = scope["headers"]
    if len(headers) > MAX_HEADERS or sum(len(k) + len(v) for k, v in headers) > MAX_HEAD:
        detail = f"A request has at most {MAX_HEADERS} headers of {MAX_HEAD} bytes together."
        raise ProblemError(431, "headers_too_large", detail)
    counts = Counter(name for name, _ in headers)
    for name in _SINGLE:
        if counts[name.encode()] > 1:
            raise ProblemError(400, "duplicate_header", f"The header {name} is given twice.")


def check_json(body: bytes) -> None:
    """Return where a JSON text is within its bounds; it may be no JSON at all.

    Raises:
        ProblemError: it holds too many values, or too deep ones (422), or is not in UTF-8 (400).
    """
    if b"\x00" in body:  # UTF-16 and -32, in which these bytes mean something else
        raise ProblemError(400, "invalid_json", "The body is no JSON in UTF-8.")
    bare = _TEXTS.sub(b"", body)
    if bare.count(b",") + bare.count(b"[") + bare.count(b"{") > MAX_VALUES:
        raise ProblemError(422, "too_many_values", f"The body has more than {MAX_VALUES} values.")
    depth = 0
    for bracket in _BRACKETS.sub(b"", bare).decode():
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            detail = f"The body is nested more than {MAX_DEPTH} levels deep."
            raise ProblemError(422, "too_deep", detail)
