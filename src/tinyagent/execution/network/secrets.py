"""Secrets that the host adds to requests, and masks in what comes back."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.network.names import host_name
from tinyagent.execution.network.rules import Rule

PLACEHOLDER = "the-host-adds-the-key"
"""What the code finds in the environment variable."""

_LEAST = 8
_VALUE = re.compile(r"[!-~]+(?: [!-~]+)*")
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,60}")
_NOT_FOR_SECRETS = frozenset({
    "host", "connection", "content-length", "transfer-encoding", "content-type", "expect",
    "upgrade", "te", "trailer", "cookie", "range", "accept-encoding",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bearer:
    """The header `Authorization: Bearer`, with a key from the host's environment variable `env`."""

    env: str


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A header such as `X-API-Key`, with a key from the host's environment variable `env`."""

    header: str
    env: str


class Secret:
    """A header for one host, with its value.

    Args:
        header: In lower case.
        prefix: What comes before the key.
        env: Where the key was read.
        key: Never shown: not in a repr, an error or an event.
    """

    def __init__(self, header: str, prefix: str, env: str, key: str) -> None:
        self.header = header
        self.value = f"{prefix}{key}"
        self.env = env
        self._forms = _forms(key, self.value)
        self._pattern = _pattern(self._forms)
        self._longest = max(map(len, self._forms))

    def __repr__(self) -> str:
        return f"Secret({self.header!r}, env={self.env!r})"

    def mask(self, data: bytes) -> bytes:
        """`data` with each echo of the key replaced by asterisks, as many as it had bytes."""
        return self._pattern.sub(_stars, data)

    def mask_stream(self, tail: bytes, data: bytes) -> tuple[bytes, bytes]:
        """Mask a piece of a stream; returns what can be passed on, and the tail to keep."""
        whole = tail + data
        cut = self._unfinished(whole)
        for match in self._pattern.finditer(whole):
            if match.start() < cut:
                cut = max(cut, match.end())
        return self.mask(whole[:cut]), whole[cut:]

    def _unfinished(self, data: bytes) -> int:
        """The start of an echo that the next bytes may complete; otherwise the end."""
        start = max(0, len(data) - self._longest + 1)
        texts = {False: data[start:], True: data[start:].lower()}
        first = len(data) - start
        for form, is_any_case in self._forms.items():
            text = texts[is_any_case]
            at = text.find(form[:1], 0, first)
            while at >= 0:
                if form.startswith(text[at:]):
                    first = at
                    break
                at = text.find(form[:1], at + 1, first)
        return start + first


def _stars(match: re.Match[bytes]) -> bytes:
    return b"*" * len(match[0])


def _forms(key: str, value: str) -> dict[bytes, bool]:
    """The forms of the key in a text, escaped or encoded, and whether in capitals as well."""
    plain = {key, quote(key, safe=""), quote_plus(key), quote(key), json.dumps(key)[1:-1]}
    plain |= {json.dumps(key)[1:-1].replace("/", "\\/"), key.encode().hex()}
    plain.add("".join(f"%{byte:02x}" for byte in key.encode()))
    plain.add("".join(f"\\u{byte:04x}" for byte in key.encode()))
    plain.add("".join(f"&#{byte};" for byte in key.encode()))
    for old, new in (("&", "&amp;"), ("<", "&lt;"), ("'", "&#39;"), ('"', "&quot;")):
        plain.add(key.replace(old, new))
    exact = {part for text in (key, value) for part in _base64_forms(text.encode())}
    wide = {key.encode(code) for code in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")}
    return dict.fromkeys((*exact, *wide), False) | {text.lower().encode(): True for text in plain}


def _pattern(forms: Mapping[bytes, bool]) -> re.Pattern[bytes]:
    """Matches the longest form at each place."""
    longest_first = sorted(forms, key=len, reverse=True)
    parts = [b"(?i:%b)" if forms[form] else b"%b" for form in longest_first]
    return re.compile(
        b"|".join(part % re.escape(form) for part, form in zip(parts, longest_first, strict=True))
    )


def _base64_forms(data: bytes) -> Iterable[bytes]:
    """The middle of each way in which base64 may encode the data within a longer text."""
    for offset in range(3):
        for code in (base64.b64encode, base64.urlsafe_b64encode):
            text = code(bytes(offset) + data).rstrip(b"=")
            skipped = -(-offset * 8 // 6)
            whole = (offset + len(data)) * 8 // 6
            yield text[skipped:whole]


def read_secrets(
    wanted: Mapping[str, Bearer | ApiKey], rules: tuple[Rule, ...]
) -> dict[str, Secret]:
    """The secrets, by the names of their hosts.

    Raises:
        ConfigurationError: A host is not on the list, a variable is not set or not a key, or a
            header cannot be used for it.
    """
    return {_host(host, rules): _read(host, how) for host, how in wanted.items()}


def _host(text: str, rules: tuple[Rule, ...]) -> str:
    name = host_name(text)
    listed = [rule for rule in rules if name is not None and rule.names(name)]
    if name is None or not any(scheme == "https" for rule in listed for scheme, _ in rule.ports):
        raise ConfigurationError(
            f"secrets: {text!r} is not a host of `network` that is reached by HTTPS"
        )
    return name


def _read(host: str, how: Bearer | ApiKey) -> Secret:
    header, prefix = ("Authorization", "Bearer ") if isinstance(how, Bearer) else (how.header, "")
    if not _HEADER.fullmatch(header) or header.lower() in _NOT_FOR_SECRETS:
        raise ConfigurationError(f"secrets: {host}: {header!r} is not a header for a key")
    key = os.environ.get(how.env, "")
    if len(key) < _LEAST or not _VALUE.fullmatch(key):
        raise ConfigurationError(
            f"secrets: {host}: the environment variable {how.env} holds no key: it needs at least"
            f" {_LEAST} visible ASCII characters"
        )
    return Secret(header.lower(), prefix, how.env, key)
