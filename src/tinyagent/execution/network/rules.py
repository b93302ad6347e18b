"""The list of what code may reach, and the decision about each request."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.network.names import host_name, ip_address

_SCHEMES = {"http": 80, "https": 443}
_MAX_PORT = 0xFFFF
_MAX_RULES = 200
_MAX_PORTS = 16
_METHOD = re.compile(r"[A-Z]{1,20}")
_NEVER = frozenset({"CONNECT", "TRACE"})
_RULE = re.compile(r"(\*\.)?([^/:@?#\s]+)(?::([0-9]{1,5}))?")
_URL = re.compile(r"(https?)://([^/@?#\s]+)(/[^?#\s]*)")
# In a path that is compared with a rule: what a server might read as another path.
_AMBIGUOUS = re.compile(
    r"//|\\|;|/(?:\.|%20)+(?=/|$)|%(?:2[ef]|3b|5c|25|7f|[01cdef])|%(?![0-9a-f]{2})",
    re.IGNORECASE,
)
_PLAIN_PATH = re.compile(r"/[!-~]*")


@dataclass(frozen=True, slots=True)
class Allow:
    """A rule for some requests of one host.

    Args:
        method: Such as `"GET"`, which does not include HEAD; `"*"` for every method.
        url: Scheme, host, perhaps a port, and path; `*` stands for anything at the end of the
            path, and for anything but a slash elsewhere. Queries are not compared.
        private: Whether the host's name may stand for an address that is not public.

    Raises:
        ConfigurationError: The method or the URL cannot be read.
    """

    method: str
    url: str
    private: bool = False

    def __post_init__(self) -> None:
        if self.method != "*" and (not _METHOD.fullmatch(self.method) or self.method in _NEVER):
            raise ConfigurationError(
                f"network: {self.method!r} is not a method such as 'GET', nor '*'"
            )
        url = _URL.fullmatch(self.url)
        if not url or _AMBIGUOUS.search(url[3]) or not _PLAIN_PATH.fullmatch(url[3]):
            raise ConfigurationError(
                f"network: {self.url!r} is not a URL such as 'https://api.example.com/v1/*':"
                " scheme, host and plain path, without user and query"
            )


class PathPattern:
    """The path of a rule: `*` stands for anything at its end, and for no slash elsewhere.

    Args:
        text: As the operator wrote it.
    """

    def __init__(self, text: str) -> None:
        self._is_open = text.endswith("*")
        self._segments = [segment.split("*") for segment in text.split("/")]

    def matches(self, path: str) -> bool:
        """Whether a path is like it, at a cost that grows with the path's length only."""
        segments = path.split("/")
        count = len(self._segments)
        if len(segments) < count or (len(segments) > count and not self._is_open):
            return False
        return all(map(_is_like, segments, self._segments))


def _is_like(text: str, parts: list[str]) -> bool:
    """Whether the text consists of the parts, in their order, with anything between them."""
    first, *others = parts
    if not others:
        return text == first
    *middle, last = others
    at = len(first)
    end = len(text) - len(last)
    if end < at or not text.startswith(first) or not text.endswith(last):
        return False
    for part in middle:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


class Target(NamedTuple):
    """The destination of a request: `scheme`, host and port."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        usual = self.port == _SCHEMES[self.scheme]
        return f"{self.scheme}://{self.host}{'' if usual else f':{self.port}'}"


@dataclass(frozen=True, slots=True)
class Rule:
    """An entry of the list, as it is compared.

    Args:
        text: As the operator wrote it.
        host: A name in lower case, or an address; without `*.`.
        is_wildcard: Whether it stands for the names below `host`.
        ports: Schemes and ports.
        method: `"*"` for every method.
        path: None for every path.
        private: Whether the addresses need not be public.
    """

    text: str
    host: str
    is_wildcard: bool
    ports: frozenset[tuple[str, int]]
    method: str = "*"
    path: PathPattern | None = None
    private: bool = False

    def names(self, host: str) -> bool:
        """Whether it is about this host."""
        return host.endswith(f".{self.host}") if self.is_wildcard else host == self.host


def read_rules(items: Iterable[str | Allow]) -> tuple[Rule, ...]:
    """The rules of a list.

    Raises:
        ConfigurationError: An item cannot be read, or there are too many.
    """
    if isinstance(items, str | Allow):
        items = [items]
    rules = tuple(
        _from_url(item) if isinstance(item, Allow) else _from_text(item) for item in items
    )
    ports = {port for rule in rules for _, port in rule.ports}
    if len(rules) > _MAX_RULES or len(ports) > _MAX_PORTS:
        raise ConfigurationError(
            f"network: at most {_MAX_RULES} rules with {_MAX_PORTS} different ports"
        )
    return rules


def _from_text(text: str) -> Rule:
    if "://" in text:
        return _from_url(Allow("*", text if text.count("/") > 2 else f"{text}/*"))  # noqa: PLR2004 - the slashes of scheme and path
    match = _RULE.fullmatch(text)
    if not match:
        raise ConfigurationError(
            f"network: {text!r} is not a host such as 'api.example.com', '*.example.org:443', or a"
            " URL"
        )
    host, is_private = _host(match[2], text)
    is_wildcard = bool(match[1])
    if is_wildcard and (is_private or "." not in host):
        raise ConfigurationError(
            f"network: {text!r} would allow too much: name a domain after '*.'"
        )
    ports = frozenset(_SCHEMES.items())
    if match[3]:
        port = _port(match[3], text)
        usual = frozenset(item for item in _SCHEMES.items() if item[1] == port)
        ports = usual or frozenset((scheme, port) for scheme in _SCHEMES)
    return Rule(text, host, is_wildcard, ports, private=is_private)


def _from_url(allow: Allow) -> Rule:
    url = _URL.fullmatch(allow.url)
    scheme, place, path = url.groups() if url else ("", "", "")
    match = _RULE.fullmatch(place)
    if not match:
        raise ConfigurationError(f"network: {allow.url!r} names no host")
    host, is_private = _host(match[2], allow.url)
    is_wildcard = bool(match[1])
    if is_wildcard and (is_private or "." not in host):
        raise ConfigurationError(f"network: {allow.url!r} would allow too much")
    port = _port(match[3], allow.url) if match[3] else _SCHEMES[scheme]
    return Rule(
        f"{allow.method} {allow.url}",
        host,
        is_wildcard,
        frozenset({(scheme, port)}),
        allow.method,
        None if path == "/*" else PathPattern(path),
        is_private or allow.private,
    )


def _host(text: str, item: str) -> tuple[str, bool]:
    """The host of a rule, and whether it is itself not public."""
    address = ip_address(text)
    if address is not None:
        return address, True
    try:
        name = host_name(_in_ascii(text))
    except UnicodeError:
        name = None
    if name is None:
        raise ConfigurationError(f"network: {text!r} in {item!r} is not the name of a host")
    return name, name == "localhost"


def _in_ascii(text: str) -> str:
    """The name as the protocols write it.

    Raises:
        UnicodeError: It is not one that all programs write in the same way.
    """
    if text.isascii():
        return text
    plain = text.encode("idna")
    if plain.decode("idna") != unicodedata.normalize("NFC", text).lower():
        raise UnicodeError("two standards write this name differently")
    return plain.decode("ascii")


def _port(text: str, item: str) -> int:
    if not 0 < int(text) <= _MAX_PORT:
        raise ConfigurationError(f"network: {item!r} has no port between 1 and {_MAX_PORT}")
    return int(text)


class HostPolicy:
    """Decides about names and requests.

    Args:
        rules: The list.
    """

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._listed = ", ".join(dict.fromkeys(rule.text for rule in rules))

    def refuse_name(self, name: str) -> str:
        """Why a host cannot be reached at all; "" if a rule names it."""
        if any(rule.names(name) for rule in self.rules):
            return ""
        return f"{name} is not on this sandbox's network list. Listed: {self._listed}"

    def is_private(self, target: Target) -> bool:
        """Whether this host may have an address that is not public."""
        place = (target.scheme, target.port)
        return any(
            rule.private for rule in self.rules if rule.names(target.host) and place in rule.ports
        )

    def refuse(self, target: Target, method: str, path: str) -> str:
        """Why a request is refused, in words for who wrote the code; "" if it is allowed.

        Args:
            target: Where it would go.
            method: As sent.
            path: As sent, without the query.
        """
        rules = [rule for rule in self.rules if rule.names(target.host)]
        if not rules:
            return self.refuse_name(target.host)
        listed = ", ".join(rule.text for rule in rules)
        rules = [rule for rule in rules if (target.scheme, target.port) in rule.ports]
        if not rules:
            return f"{target} is not on this sandbox's network list. Of this host: {listed}"
        rules = [rule for rule in rules if rule.method in {"*", method} and method not in _NEVER]
        if not rules:
            return f"the method {method} is not allowed for {target}. Allowed: {listed}"
        return "" if any(rule.path is None for rule in rules) else _refuse_path(rules, path, listed)

    def is_narrow(self, target: Target) -> bool:
        """Whether the rules of this host name methods or paths."""
        return any(
            rule.path is not None or rule.method != "*"
            for rule in self.rules
            if rule.names(target.host)
        )


def _refuse_path(rules: list[Rule], path: str, listed: str) -> str:
    if _AMBIGUOUS.search(path):
        return (
            "paths are compared with rules here: write this one without dot segments, '//', ';',"
            " '\\' and percent-encoded separators"
        )
    if any(rule.path is not None and rule.path.matches(path) for rule in rules):
        return ""
    return f"this path is not allowed. Allowed: {listed}"
