"""The check of an unpacked set: each file is in the record of one wheel, with its hash.

The installer checks the hash of each wheel, but not what is in it: it unpacks files that no record
lists, start-up files, modules that hide the standard library's, and two wheels with the same file.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from email.parser import HeaderParser
from pathlib import Path
from typing import NamedTuple

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.packages.lockfile import PackageLock

_MAX_FILES = 300_000
_MAX_BYTES = 12 << 30
_MAX_RECORD = 64 << 20
_PROGRAMS = "bin"
_INFO = ".dist-info"
_AT_START = frozenset({"sitecustomize", "usercustomize"})
_START_FILES = (".pth", ".start", ".egg-link")
_TAKEN = frozenset({"__main__", "worker"})
"""Names of modules that a session has already."""
_ALGORITHMS = frozenset({"sha256", "sha384", "sha512"})
_OWN = frozenset({"RECORD", "RECORD.jws", "RECORD.p7s"})
_CHUNK = 1 << 20


class RecordedFile(NamedTuple):
    """A file's entry in a wheel's record: the wheel, and the hash; None for the record itself."""

    wheel: str
    algorithm: str | None
    digest: str


def check_tree(folder: Path, lock: PackageLock) -> frozenset[str]:
    """Check an unpacked set, remove its programs, and make it readable for all; gives its modules.

    Returns:
        The names of its top-level modules.

    Raises:
        ConfigurationError: A file is not one that a wheel records, or may not be there.
    """
    shutil.rmtree(folder / _PROGRAMS, ignore_errors=True)
    (folder / ".lock").unlink(missing_ok=True)  # of the installer
    files = frozenset(_files(folder))
    wheels = _wheels(folder, lock)
    recorded: dict[str, RecordedFile] = {}
    for wheel in wheels:
        for path, entry in _record(folder, wheel):
            other = recorded.setdefault(path, entry)
            if other.wheel != wheel:
                raise _refused(f"{path} is in two wheels, {other.wheel} and {wheel}")
            if other != entry:
                raise _refused(f"{path} is in the record of {wheel} twice, with two hashes")
    for path in sorted(recorded.keys() - files):
        raise _refused(f"{path} is in the record of {recorded[path].wheel}, but not unpacked")
    for path in sorted(files):
        if path not in recorded:
            raise _refused(f"{path} is in no wheel's record")
        _check_hash(folder / path, path, recorded[path])
    return _modules(files, recorded)


def _files(folder: Path) -> Iterator[str]:
    """The paths of all files; folders and files are made readable for all, and for all alike."""
    count = size = 0
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        place.chmod(0o755)
        for entry in list(os.scandir(place)):
            path = Path(entry.path).relative_to(folder).as_posix()
            if not path.isprintable():
                raise _refused(f"{path!r} has characters that cannot be shown")
            status = entry.stat(follow_symlinks=False)
            count, size = count + 1, size + status.st_size
            if count > _MAX_FILES or size > _MAX_BYTES:
                raise _refused(
                    f"the set has more than {_MAX_FILES:,} files or {_MAX_BYTES:,} bytes"
                )
            if stat.S_ISDIR(status.st_mode):
                waiting.append(Path(entry.path))
            elif stat.S_ISREG(status.st_mode):
                Path(entry.path).chmod(0o644)
                yield path
            else:
                raise _refused(f"{path} is a link or a special file")


def _wheels(folder: Path, lock: PackageLock) -> list[str]:
    """The names of the folders of metadata, one for each package of the lock.

    Raises:
        ConfigurationError: There is another package, another version, or one is missing.
    """
    locked = {package.name: package.version for package in lock.packages}
    wheels: dict[str, str] = {}
    for entry in sorted(folder.iterdir()):
        if not entry.name.endswith(_INFO):
            continue
        head = HeaderParser().parsestr(_metadata(entry))
        name, version = str(canonicalize_name(str(head["Name"]))), str(head["Version"])
        stem = entry.name.removesuffix(_INFO).rpartition("-")
        if canonicalize_name(stem[0]) != name or not _same(stem[2], version):
            raise _refused(f"{entry.name} says that it is {name} {version}")
        if name not in locked or not _same(locked[name], version):
            raise _refused(f"{name} {version} is not in the lock")
        if name in wheels:
            raise _refused(f"{name} occurs twice")
        wheels[name] = entry.name
    for name in sorted(locked.keys() - wheels.keys()):
        raise _refused(f"{name} {locked[name]} was not unpacked")
    return list(wheels.values())


def _metadata(entry: Path) -> str:
    try:
        with (entry / "METADATA").open(encoding="utf-8", errors="replace") as file:
            return file.read(_CHUNK).partition("\n\n")[0]
    except OSError:
        raise _refused(f"{entry.name} has no METADATA") from None


def _same(one: str, other: str) -> bool:
    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return False


def _record(folder: Path, wheel: str) -> Iterator[tuple[str, RecordedFile]]:
    """The files that a wheel records, without programs."""
    path = folder / wheel / "RECORD"
    try:
        if path.stat().st_size > _MAX_RECORD:
            raise _refused(f"the record of {wheel} has more than {_MAX_RECORD:,} bytes")
        rows = list(csv.reader(path.read_text("utf-8").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _refused(f"the record of {wheel} cannot be read: {error}") from None
    for row in rows:
        name, kind = (row[0], row[1]) if len(row) == 3 else ("", "")  # noqa: PLR2004 - path, hash, size
        parts = name.split("/")
        if not name or "\\" in name or name.startswith("/") or {"", ".", ".."} & set(parts):
            raise _refused(f"the record of {wheel} has the line {','.join(row)[:200]!r}")
        if parts[0] == _PROGRAMS:
            continue
        algorithm, _, digest = kind.partition("=")
        own = name.startswith(f"{wheel}/") and parts[-1] in _OWN
        if not own and algorithm not in _ALGORITHMS:
            raise _refused(f"{name} has no strong hash in the record of {wheel}")
        yield name, RecordedFile(wheel, None if own else algorithm, digest)


def _check_hash(file: Path, path: str, entry: RecordedFile) -> None:
    if entry.algorithm is None:
        return
    state = hashlib.new(entry.algorithm)
    with file.open("rb") as opened:
        while piece := opened.read(_CHUNK):
            state.update(piece)
    digest = base64.urlsafe_b64encode(state.digest()).decode().rstrip("=")
    if digest != entry.digest.rstrip("="):
        raise _refused(f"{path} is not the file that {entry.wheel} records: its hash is another")


def _modules(files: frozenset[str], recorded: Mapping[str, RecordedFile]) -> frozenset[str]:
    """The names of top-level modules.

    Raises:
        ConfigurationError: One would run at the start of Python, or hide another module.
    """
    modules: set[str] = set()
    for path in sorted(files):
        top, _, below = path.partition("/")
        name = top if below else top.partition(".")[0]
        wheel = recorded[path].wheel
        if not below and top.endswith(_START_FILES):
            raise _refused(f"{path} of {wheel} would run at the start of Python")
        if name in _AT_START:
            raise _refused(f"{path} of {wheel} would run at the start of Python")
        if name in sys.stdlib_module_names:
            raise _refused(f"{path} of {wheel} would hide the module {name} of Python")
        if name in _TAKEN:
            raise _refused(f"{path} of {wheel} would hide the sandbox's own module {name}")
        if name.isidentifier() and name != "__pycache__":
            modules.add(name)
    return frozenset(modules)


def _refused(reason: str) -> ConfigurationError:
    return ConfigurationError(f"packages: {reason}; nothing of this set is used")
