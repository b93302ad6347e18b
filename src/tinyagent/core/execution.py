"""The result of a step of a model's code, and the files that it creates."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tinyagent.core.errors import ArtifactError
from tinyagent.core.provenance import Label

_MAX_NAME = 130  # bytes: most file systems take 255, encrypted ones 143
_MAX_ENDING = 20
_MAX_NAMESAKES = 10_000


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file or figure that the code created. `name` is relative to the working folder."""

    name: str
    data: bytes
    media_type: str = "application/octet-stream"

    def save(self, folder: str | Path) -> Path:
        """Write it into `folder` as a new file; a path in its name is made part of the file name.

        The folder is made if it does not exist. An existing file, folder or link with the same
        name stays as it is: the new file is then called `name-1.png` and so on. A name that is too
        long for the file system is cut.

        Raises:
            ArtifactError: It cannot be written there.
        """
        name = re.sub(r"[^\w.-]+", "_", self.name).lstrip(".") or "artifact"
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            return _write_new(Path(folder), _fitting(name), self.data)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ArtifactError(f"artifact {name[:100]!r} cannot be saved: {reason}") from error


def _fitting(name: str) -> tuple[str, str]:
    """Stem and ending of the name, together short enough for any file system."""
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending.encode()) > _MAX_ENDING:
        stem, dot, ending = name, "", ""
    room = _MAX_NAME - len(f"{dot}{ending}".encode())
    return stem.encode()[:room].decode(errors="ignore"), dot + ending


def _write_new(folder: Path, name: tuple[str, str], data: bytes) -> Path:
    """Write a new file under the first name that is free."""
    stem, ending = name
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    flags |= getattr(os, "O_BINARY", 0)
    for number in range(_MAX_NAMESAKES):
        path = folder / f"{stem}{f'-{number}' if number else ''}{ending}"
        try:
            descriptor = os.open(path, flags, 0o666)
        except FileExistsError:
            continue
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path
    raise FileExistsError(errno.EEXIST, f"{_MAX_NAMESAKES:,} files have this name already")


@dataclass(frozen=True, slots=True)
class Change:
    """A difference between a workspace, as the code has left it, and its folder.

    Attributes:
        kind: `"added"`, `"changed"`, `"deleted"` or `"renamed"`.
        path: Relative to the folder; the path of a folder ends in `/`.
        old_path: Where a renamed file was before; otherwise "".
        diff: A unified diff of the lines of a text, in which control characters are escaped; ""
            for folders, for other files, and for texts that are too long.
        size: Bytes of the new content.
        digest: SHA-256 of the new content; "" for what is deleted, and for folders.
        withheld: Why a commit leaves this change out; "" if it does not.
        conflict: Whether the folder has changed in this place since the code saw it.
    """

    kind: str
    path: str
    old_path: str = ""
    diff: str = ""
    size: int = 0
    digest: str = ""
    withheld: str = ""
    conflict: bool = False


@dataclass(frozen=True, slots=True)
class NetworkRequest:
    """A request that code made by way of the host, or one that was refused. It has no content.

    Args:
        method: Such as `"GET"`; `"LOOKUP"` where only a name was asked for.
        target: Scheme, host and port.
        path: Its beginning, without the query.
        allowed: Whether it was passed on.
        status: Of the answer that the code got.
        sent: Bytes of its body.
        received: Bytes of the answer's body.
        reason: Why it was refused or failed.
    """

    method: str
    target: str
    path: str
    allowed: bool
    status: int | None = None
    sent: int = 0
    received: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """The result of one step of code.

    Attributes:
        output: What it printed.
        error: The traceback of its lines, or what ended it; None if it ended normally.
        timed_out: Whether it ran too long.
        out_of_memory: Whether it used too much memory.
        is_final: Whether it called `final_answer`.
        final_value: The answer.
        final_metadata: The keyword arguments of `final_answer`.
        value: The value of the last expression.
        value_text: Its repr.
        artifacts: The files and figures that it created.
        duration_seconds: How long it ran.
        state_lost: Whether the variables of earlier steps are gone.
        undone: Whether the variables are as they were before this step.
        changes: How the workspace differs from its folder after this step, if there is one.
        label: Where all this comes from; None if that is not known.
        requests: What it asked of the network: all that was allowed, and the first 1,000 refusals.
        note: What the model is shown besides, such as a warning of the limits.
    """

    output: str = ""
    error: str | None = None
    timed_out: bool = False
    out_of_memory: bool = False
    is_final: bool = False
    final_value: Any = None
    final_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    value: Any = None
    value_text: str = ""
    artifacts: tuple[Artifact, ...] = ()
    duration_seconds: float = 0.0
    state_lost: bool = False
    undone: bool = False
    changes: tuple[Change, ...] = ()
    label: Label | None = field(default=None, compare=False)
    requests: tuple[NetworkRequest, ...] = ()
    note: str = ""
