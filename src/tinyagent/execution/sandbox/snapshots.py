"""Files of sessions: the host writes and checks a manifest, and passes the rest on as bytes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tinyagent.core.errors import ExecutionError
from tinyagent.execution.protocol import ExecutionResult
from tinyagent.execution.sandbox.worker.codec.wire import MAX_BLOB

_MAGIC = b"tinyagent session 1\n"
_FIELDS = ("python", "packages", "sha256")
_MAX_MANIFEST = 1000
_MAX_DATA = MAX_BLOB
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A variable that is not in a snapshot.

    Args:
        name: Of the variable.
        kind: Of the value that cannot be kept.
        reason: Why, and what to keep instead.
    """

    name: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The contents of a snapshot.

    Args:
        kept: The names of the variables in it.
        refused: Those that are not.
    """

    kept: tuple[str, ...]
    refused: tuple[Refusal, ...]


def write_snapshot(result: ExecutionResult, path: str | Path, packages: str) -> Snapshot:
    """Write what a session has handed over, whole or not at all.

    Raises:
        ExecutionError: It has handed over no snapshot, or the file cannot be written.
    """
    value: Any = result.value
    if result.error is not None or not isinstance(value, dict):
        reason = result.error or "the session returned no snapshot"
        raise ExecutionError(f"dump: {reason}")
    try:
        fields = cast("dict[str, Any]", value)
        data: bytes = fields["data"]
        kept = tuple(map(str, fields["kept"]))
        reasons: dict[str, Any] = fields["refused"]
        refused = tuple(
            Refusal(str(name), str(kind), str(reason)) for name, (kind, reason) in reasons.items()
        )
        digest = hashlib.sha256(data).hexdigest()
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ExecutionError("dump: the session returned no snapshot") from None
    manifest = {"python": _PYTHON, "packages": packages, "sha256": digest}
    target = Path(path)
    try:
        descriptor, new = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_MAGIC + json.dumps(manifest).encode() + b"\n" + data)
            Path(new).rename(target)
        except BaseException:
            Path(new).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ExecutionError(f"dump: {target} cannot be written: {error.strerror}") from None
    return Snapshot(kept, refused)


def read_snapshot(path: str | Path, packages: str | None) -> bytes:
    """The data that a session reads, after a check of the manifest.

    Args:
        path: Of the file.
        packages: The lock digest that it must have; None: it may be of other packages, and of
            another minor version of Python.

    Raises:
        ExecutionError: The file is not a whole snapshot, or is of another Python or other packages.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_MANIFEST + _MAX_DATA + 1)
    except OSError as error:
        raise ExecutionError(f"load: {path} cannot be read: {error.strerror}") from None
    magic, (line, _, rest) = data[: len(_MAGIC)], data[len(_MAGIC) :].partition(b"\n")
    if magic != _MAGIC or len(data) > _MAX_MANIFEST + _MAX_DATA or len(line) > _MAX_MANIFEST:
        raise ExecutionError(f"load: {path} is not a snapshot of a session")
    manifest: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        manifest = json.loads(line)
    if not _is_manifest(manifest):
        raise ExecutionError(f"load: {path} has a damaged manifest")
    python, lock, digest = (manifest[name] for name in _FIELDS)
    if digest != hashlib.sha256(rest).hexdigest():
        raise ExecutionError(f"load: {path} is damaged: its content has another hash")
    if packages is None:
        return rest
    if python != _PYTHON:
        raise ExecutionError(
            f"load: {path} is of Python {python[:20]}, this is {_PYTHON}; allow_other=True tries it"
        )
    if lock != packages:
        raise ExecutionError(
            f"load: {path} was made with other packages than this executor has;"
            " allow_other=True tries it"
        )
    return rest


def _is_manifest(manifest: Any) -> bool:
    """Whether it has the fields of a manifest, and no other."""
    if not isinstance(manifest, dict):
        return False
    fields = cast("dict[str, Any]", manifest)
    return set(fields) == set(_FIELDS) and all(isinstance(each, str) for each in fields.values())


def names_of(result: ExecutionResult, path: str | Path) -> tuple[str, ...]:
    """The names of the variables that a session has read.

    Raises:
        ExecutionError: It could not.
    """
    kind = cast("type[object]", type(result.value))
    if result.error is not None or kind is not list:
        raise ExecutionError(f"load: {path} cannot be read: {result.error}")
    return tuple(map(str, result.value))
