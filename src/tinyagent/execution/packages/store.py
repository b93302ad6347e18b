"""The cache of unpacked sets of packages, each checked once and never changed."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.packages import uv
from tinyagent.execution.packages.bytecode import compile_modules
from tinyagent.execution.packages.digest import tree_digest, tree_state
from tinyagent.execution.packages.lockfile import (
    PackageLock,
    load_lock,
    read_lock,
    read_requirements,
)
from tinyagent.execution.packages.tree import check_tree

CACHE_VARIABLE = "TINYAGENT_PACKAGES"
_LEFTOVER_SECONDS = 24 * 3600.0
_UNFINISHED = "new-"


@dataclass(frozen=True, slots=True)
class PackageSet:
    """Packages that were fetched, checked and unpacked.

    Args:
        folder: Holds their files.
        modules: The names that code may import.
        lock: Their versions and hashes.
        lock_file: Where the lock is kept.
    """

    folder: Path
    modules: frozenset[str]
    lock: PackageLock
    lock_file: Path


_prepared: dict[tuple[object, ...], PackageSet] = {}


def prepared_packages(requirements: tuple[str, ...], lock_file: Path | None) -> PackageSet | None:
    """The set, if this process has prepared it before and neither lock nor folder has changed."""
    known = _prepared.get(_key(requirements, lock_file))
    return known if known is not None and known.folder.is_dir() else None


def _key(requirements: tuple[str, ...], lock_file: Path | None) -> tuple[object, ...]:
    state = None
    with suppress(OSError):
        status = lock_file.stat() if lock_file is not None else None
        state = status and (status.st_mtime_ns, status.st_size, status.st_ino)
    return requirements, lock_file, state, _default_cache()


def prepare_packages(requirements: tuple[str, ...], lock_file: Path | None) -> PackageSet:
    """The set of packages of a lock, or of requirements; made if it does not exist yet.

    Sets are unpacked in the folder that `TINYAGENT_PACKAGES` names, or else in the user's cache.

    Args:
        requirements: Names with versions.
        lock_file: The lock. If it does not exist, the requirements are resolved and it is written;
            with None, it is kept in the cache.

    Raises:
        ConfigurationError: The lock does not hold what is required, or a package is refused.
    """
    asked = read_requirements(requirements)
    base = _private(_default_cache())
    path = lock_file or base / f"{_name_of(asked)}.lock"
    with _only_one(base):
        lock = _locked(path, asked)
        folder = base / lock.digest
        modules = _unpacked(folder)
        if modules is None:
            _remove_leftovers(base)
            modules = _unpack(lock, folder)
    made = PackageSet(folder, modules, lock, path)
    _prepared[_key(requirements, lock_file)] = made
    return made


def _locked(path: Path, asked: tuple[Requirement, ...]) -> PackageLock:
    """The lock; resolved and written if there is none."""
    lock = load_lock(path)
    if lock is None:
        if not asked:
            raise ConfigurationError(f"lock: there is no file {str(path)!r}")
        lock = read_lock(uv.resolve(asked), "what uv resolved")
        _write(path, lock.text)
    lock.check_covers(asked, str(path))
    return lock


def _unpacked(folder: Path) -> frozenset[str] | None:
    """The modules of a set that is complete, and as it was unpacked; None if there is none."""
    about = folder.with_suffix(".json")
    try:
        known = json.loads(about.read_text("utf-8"))
        modules, digest = frozenset(known["modules"]), known["digest"]
        state = tree_state(folder)
        if known["state"] != state:
            if tree_digest(folder) != digest:
                return None
            with suppress(ConfigurationError):  # a cache that cannot be written
                _write(about, json.dumps({**known, "state": state}))
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return modules


def _unpack(lock: PackageLock, folder: Path) -> frozenset[str]:
    """Unpack beside the final place, check, and rename: a set that can be seen is whole."""
    shutil.rmtree(folder, ignore_errors=True)
    new = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=folder.parent))
    try:
        uv.install(lock.text, new)
        modules = check_tree(new, lock)
        compile_modules(new)
        new.rename(folder)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    about = {"modules": sorted(modules), "digest": tree_digest(folder), "state": tree_state(folder)}
    _write(folder.with_suffix(".json"), json.dumps(about))
    return modules


def _write(path: Path, text: str) -> None:
    """Write a file whole, or leave it as it was."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, new = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(new).chmod(0o644)
            Path(new).rename(path)
        except BaseException:
            Path(new).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None


@contextmanager
def _only_one(base: Path) -> Generator[None]:
    """Wait until no other host fills the cache; the lock of a killed host is released."""
    with (base / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_leftovers(base: Path) -> None:
    """Remove what hosts that were killed have left."""
    for path in base.glob(f"{_UNFINISHED}*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _LEFTOVER_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


def _private(base: Path) -> Path:
    """The folder of the cache, which only this user may write to.

    Raises:
        ConfigurationError: Another user may, or it cannot be made.
    """
    try:
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = base.stat()
    except OSError as error:
        raise ConfigurationError(f"the cache {base} cannot be made: {error.strerror}") from None
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise ConfigurationError(
            f"the cache {base} may be changed by other users: chmod go-w {base}, or name another"
            f" folder in {CACHE_VARIABLE}"
        )
    return base


def _default_cache() -> Path:
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).absolute()
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches, "tinyagent", "packages")


def _name_of(asked: tuple[Requirement, ...]) -> str:
    """A name for the lock of these requirements, on this Python and machine."""
    here = (sys.implementation.cache_tag, sys.platform, os.uname().machine)
    text = f"{here}\n" + "\n".join(sorted(map(str, asked)))
    return hashlib.sha256(text.encode()).hexdigest()[:40]
