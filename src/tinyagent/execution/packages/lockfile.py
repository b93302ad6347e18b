"""Requirements and locks: what the caller asks for, and the versions and hashes it stands for."""

from __future__ import annotations

import hashlib
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tinyagent.core.errors import ConfigurationError

MAX_LOCK_BYTES = 4 << 20
_MAX_PACKAGES = 1000
_MAX_SHOWN = 200
_FORMAT = 2
"""Of the unpacked folder: another number unpacks every set again."""
_ENTRY = re.compile(
    r"(?P<name>[A-Za-z0-9]++(?:[._-]++[A-Za-z0-9]++)*+)(?:\[[A-Za-z0-9,._ -]*+\])?+"
    r" *+== *+(?P<version>[A-Za-z0-9.!+_-]++)"
    r"(?: *+; *+(?P<marker>[^#\\\s]++(?:\s++(?!--hash=)[^#\\\s]++)*+))?+"
    r"(?P<hashes>(?:\s++--hash=sha256:[0-9a-f]{64})++)"
)
_COMMENT = re.compile(r"(?<!\S)#.*$")


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """A package of a lock.

    Args:
        name: In its canonical spelling.
        version: As the lock has it.
        hashes: The SHA-256 digests of its files, any of which may be installed.
    """

    name: str
    version: str
    hashes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PackageLock:
    """The versions and hashes of all packages of a set, dependencies included."""

    packages: tuple[LockedPackage, ...]

    @property
    def text(self) -> str:
        """The lock as a requirements file."""
        lines: list[str] = []
        for package in self.packages:
            hashes = " \\\n".join(f"    --hash=sha256:{each}" for each in package.hashes)
            lines.append(f"{package.name}=={package.version} \\\n{hashes}\n")
        return "".join(lines)

    @property
    def digest(self) -> str:
        """A name for the set, as this Python on this machine unpacks it."""
        here = [_FORMAT, sys.implementation.cache_tag, sysconfig.get_config_var("EXT_SUFFIX")]
        return hashlib.sha256(f"{here}\n{self.text}".encode()).hexdigest()[:40]

    def check_covers(self, requirements: Iterable[Requirement], where: str) -> None:
        """Check that each requirement is met.

        Raises:
            ConfigurationError: A package is missing, or has another version.
        """
        versions = {package.name: package.version for package in self.packages}
        for requirement in requirements:
            version = versions.get(canonicalize_name(requirement.name))
            if version is None:
                raise ConfigurationError(
                    f"{where} does not hold {requirement.name}: delete the file, and the next start"
                    " makes it again"
                )
            if not requirement.specifier.contains(version, prereleases=True):
                raise ConfigurationError(
                    f"{where} holds {requirement.name} {version}, but {str(requirement)!r} is asked"
                    " for: delete the file, and the next start makes it again"
                )


def read_requirements(names: Iterable[str]) -> tuple[Requirement, ...]:
    """The caller's requirements, without those that do not hold for this Python.

    Raises:
        ConfigurationError: One is not a name with versions, or names an address or a file.
    """
    requirements: list[Requirement] = []
    if isinstance(names, str):
        raise ConfigurationError(f"packages is a list of names, such as [{names[:_MAX_SHOWN]!r}]")
    for name in names:
        shown = str(name)[:_MAX_SHOWN]
        try:
            requirement = Requirement(name)
        except (InvalidRequirement, TypeError) as error:
            reason = str(error).splitlines()[0]
            raise ConfigurationError(
                f"packages: {shown!r} is not a name with versions, such as 'polars>=2': {reason}"
            ) from None
        if requirement.url is not None:
            raise ConfigurationError(
                f"packages: {shown!r} names an address: only packages of an index are installed"
            )
        if requirement.marker is None or requirement.marker.evaluate():
            requirements.append(requirement)
    if len(requirements) > _MAX_PACKAGES:
        raise ConfigurationError(f"packages: {len(requirements)} are more than {_MAX_PACKAGES}")
    return tuple(requirements)


def load_lock(path: Path) -> PackageLock | None:
    """The lock in this file; None if there is no such file.

    Raises:
        ConfigurationError: It cannot be read, or is not a lock.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_LOCK_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigurationError(f"lock: {path} cannot be read: {error.strerror}") from None
    if len(data) > MAX_LOCK_BYTES:
        raise ConfigurationError(f"lock: {path} has more than {MAX_LOCK_BYTES:,} bytes")
    return read_lock(data.decode("utf-8", "replace"), str(path))


def read_lock(text: str, where: str) -> PackageLock:
    """Read a requirements file in which each package has one version and hashes.

    Raises:
        ConfigurationError: It holds anything else, with the line.
    """
    packages: dict[str, LockedPackage] = {}
    for number, line in _entries(text):
        match = _ENTRY.fullmatch(line)
        if match is None:
            raise ConfigurationError(f"{where}, line {number}: {_fault(line)}")
        if not _holds(match["marker"], f"{where}, line {number}"):
            continue
        name: str = canonicalize_name(match["name"])
        if name in packages:
            raise ConfigurationError(
                f"{where}, line {number}: {name} occurs twice; delete one of the lines"
            )
        try:
            Version(match["version"])
        except InvalidVersion:
            raise ConfigurationError(
                f"{where}, line {number}: {match['version']!r} is not a version"
            ) from None
        hashes = sorted(part.partition("sha256:")[2] for part in match["hashes"].split())
        packages[name] = LockedPackage(name, match["version"], tuple(hashes))
    if not packages or len(packages) > _MAX_PACKAGES:
        raise ConfigurationError(
            f"{where} holds {len(packages)} packages; 1 to {_MAX_PACKAGES} can be installed"
        )
    return PackageLock(tuple(packages[name] for name in sorted(packages)))


def _entries(text: str) -> Iterator[tuple[int, str]]:
    """The lines without comments, those that end with a backslash joined, and their numbers."""
    joined, first = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        line = _COMMENT.sub("", raw).strip()
        first = first if joined else number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        joined = (joined + line).strip()
        if joined:
            yield first, joined
        joined = ""
    if joined.strip():
        yield first, joined.strip()


def _fault(line: str) -> str:
    shown = repr(line[:_MAX_SHOWN])
    if line.startswith("-"):
        return f"{shown} is an option; a lock holds packages only"
    if "==" in line and "--hash" not in line:
        return f"{shown} has no hash (pip-compile --generate-hashes writes them)"
    return f"{shown} is not NAME==VERSION --hash=sha256:..."


def _holds(marker: str | None, where: str) -> bool:
    if marker is None:
        return True
    try:
        return Marker(marker.strip()).evaluate()
    except InvalidMarker as error:
        raise ConfigurationError(f"{where}: {str(error).splitlines()[0]}") from None
