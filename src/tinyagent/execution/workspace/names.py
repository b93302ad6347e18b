"""Which names of a folder code is never shown, and which a commit never writes."""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from collections.abc import Iterable

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

_IGNORED = dict.fromkeys(
    [0xAD, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)]
)
_GIT_SHORT = re.compile(r"git~\d+")
_DEEPER = "**"
_UNSHOWN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)


class HiddenNames:
    """The names that are hidden from code, on file systems of every kind.

    Args:
        patterns: as in `fnmatch`, without regard to case. A pattern without `/` is for a file or
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
        parts = path.split(b"/")
        ends = range(1, len(parts) + 1)
        return any(self.hide_last(b"/".join(parts[:end])) for end in ends)

    def hide_last(self, path: bytes) -> bool:
        """Whether the path is hidden, if no folder above it is."""
        name = folded(path.rpartition(b"/")[2])
        if self._names.match(name):
            return True
        if not self._last_names.match(name):
            return False
        parts = [folded(part) for part in path.split(b"/")]
        return any(_ends(parts, pattern) for pattern in self._paths)


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
    """The text with control, reordering and line-breaking characters as escapes."""
    return _UNSHOWN.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _is_git(name: str) -> bool:
    return name == ".git" or _GIT_SHORT.fullmatch(name) is not None


def _parts_of(pattern: str) -> list[str]:
    return [part for part in pattern.strip("/").casefold().split("/") if part]


def _any_of(parts: Iterable[str]) -> re.Pattern[str]:
    """Matches what one of the patterns matches; with none of them, nothing."""
    return re.compile("|".join(map(fnmatch.translate, parts)) or r"(?!)")


def _compiled(part: str) -> re.Pattern[str] | None:
    return None if part == _DEEPER else re.compile(fnmatch.translate(part))


def _ends(parts: list[str], pattern: tuple[re.Pattern[str] | None, ...]) -> bool:
    """Whether the last parts of a path match the pattern, from its end."""
    if not pattern:
        return True
    if not parts:
        return False
    last = pattern[-1]
    if last is None:
        return any(_ends(parts[:end], pattern[:-1]) for end in range(len(parts)))
    return last.match(parts[-1]) is not None and _ends(parts[:-1], pattern[:-1])
