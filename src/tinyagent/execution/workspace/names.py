"""Which names of a folder code is never shown, and which a commit never writes."""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

HIDDEN = (
    ".env", ".env.*", "*.env",
    "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.kdbx",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
    ".git/config", ".git/config.worktree", ".git/modules/**/config", ".git/worktrees/**/config*",
    ".git-credentials", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd",
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", "gcloud",
    "credentials.json", "service-account*.json", "secrets.toml", "secrets.y*ml",
)  # fmt: skip
"""The names that code is not shown by default: those that usually hold keys and passwords."""

STAGING = b".tinyagent-commit"
"""The folder in which a commit prepares its files; never shown."""

MAX_PATH = 1000
"""Bytes of a path that is shown and committed."""

_INVISIBLE = frozenset(
    map(
        chr,
        (
            0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810),
            *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164,
            *range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0, *range(0xFFF0, 0xFFF9),
            *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000),
        ),
    )
)  # fmt: skip
"""What Unicode calls `Default_Ignorable_Code_Point`: not shown, and of no account in a name."""
_IGNORED = dict.fromkeys(map(ord, _INVISIBLE))
_GIT_SHORT = re.compile(r"git~\d+")
_DEEPER = "**"


class HiddenNames:
    """The names that are hidden from code, on file systems of every kind.

    Args:
        patterns: As in `fnmatch`, without regard to case. A pattern without `/` is for a file or
            folder at any depth; one with `/` is for the end of a path, in which `**` stands for one
            or more folders.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        each = [parts for pattern in patterns if (parts := _parts_of(pattern))]
        self._names = _any_of(parts[0] for parts in each if len(parts) == 1)
        longer = [parts for parts in each if len(parts) > 1]
        self._last_names = _any_of(parts[-1] for parts in longer)
        self._paths = [tuple(map(_compiled, parts)) for parts in longer]

    def hide(self, path: bytes) -> bool:
        """Whether the path itself, or a folder above it, is hidden."""
        parts = list(map(folded, path.split(b"/")))
        if any(map(self._names.match, parts)):
            return True
        if not any(map(self._last_names.match, parts)):
            return False
        return any(any(_ends(parts, pattern)) for pattern in self._paths)

    def hide_last(self, path: bytes) -> bool:
        """Whether the path is hidden, if no folder above it is."""
        name = folded(path.rpartition(b"/")[2])
        if self._names.match(name):
            return True
        if not self._last_names.match(name):
            return False
        parts = list(map(folded, path.split(b"/")))
        return any(_ends(parts, pattern)[-1] for pattern in self._paths)


@lru_cache(maxsize=4096)  # most paths have most of their names in common with others
def folded(name: bytes) -> str:
    """A name as the least exact file systems compare it: case, invisible letters, last dots."""
    if name.isascii():
        return name.decode().lower().partition(":")[0].rstrip(". ")
    text = unicodedata.normalize("NFKC", name.decode(errors="replace"))
    return text.translate(_IGNORED).casefold().partition(":")[0].rstrip(". ")


def is_staging(path: bytes) -> bool:
    """Whether the path is that of a commit's own files."""
    return folded(path.partition(b"/")[0]).startswith(STAGING.decode())


def refusal(path: bytes, hidden: HiddenNames) -> str:
    """Why a commit never writes or removes this path; "" if it may."""
    if not is_utf8(path):
        return "the name is not UTF-8"
    if len(path) > MAX_PATH:
        return f"the path has more than {MAX_PATH:,} bytes"
    parts = path.split(b"/")
    if any(part in {b"", b".", b".."} or b"\0" in part for part in parts):
        return "it is not a plain relative path"
    if any(_is_git(folded(part)) for part in parts):
        return "files of Git are left alone: they can start programs"
    if is_staging(path) or hidden.hide(path):
        return "the name is one of those that are hidden"
    return ""


def is_utf8(path: bytes) -> bool:
    """Whether the name can be shown as text."""
    try:
        path.decode()
    except UnicodeDecodeError:
        return False
    return True


def visible(text: str) -> str:
    """The text with all that is not seen, or changes how others are seen, as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(each if _is_seen(each) else _escape(each) for each in text)


def _is_seen(character: str) -> bool:
    if character in _INVISIBLE:
        return False
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _is_git(name: str) -> bool:
    return name == ".git" or _GIT_SHORT.fullmatch(name) is not None


def _parts_of(pattern: str) -> list[str]:
    return [part for part in pattern.strip("/").casefold().split("/") if part]


def _any_of(parts: Iterable[str]) -> re.Pattern[str]:
    """Matches what one of the patterns matches; with none of them, nothing."""
    return re.compile("|".join(map(fnmatch.translate, parts)) or r"(?!)")


def _compiled(part: str) -> re.Pattern[str] | None:
    return None if part == _DEEPER else re.compile(fnmatch.translate(part))


def _ends(parts: list[str], pattern: tuple[re.Pattern[str] | None, ...]) -> list[bool]:
    """For each part of a path, whether the pattern matches what ends with it."""
    ends: list[bool] = []
    reached = set[int]()  # how much of the pattern matches what ends with the last part
    for part in parts:
        before = reached | {0}
        reached = set[int]()
        for place in before - {len(pattern)}:
            wanted = pattern[place]
            if wanted is None:  # it may go on, or end here
                reached |= {place, place + 1}
            elif wanted.match(part):
                reached.add(place + 1)
        ends.append(len(pattern) in reached)
    return ends
