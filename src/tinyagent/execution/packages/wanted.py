"""What a caller asks for with `packages=` and `lock=`: checked at once, prepared at first use."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tinyagent.core.errors import ConfigurationError, missing_extra

if TYPE_CHECKING:
    from tinyagent.execution.packages.store import PackageSet


class WantedPackages:
    """A set of packages that an executor's code may import.

    Args:
        requirements: Names with versions; dependencies are added.
        lock: A requirements file with hashes; written if it does not exist.

    Raises:
        ConfigurationError: A requirement is not a name with versions, or nothing is asked for.
    """

    def __init__(self, requirements: Iterable[str], lock: str | Path | None) -> None:
        try:
            # Sessions without packages need neither.
            from tinyagent.execution.packages.lockfile import (  # noqa: PLC0415
                read_requirements,
            )
        except ImportError:
            raise ConfigurationError(missing_extra("a sandbox with packages", "packages")) from None
        if isinstance(requirements, str):
            read_requirements(requirements)  # which refuses one text
        self._requirements = tuple(requirements)
        read_requirements(self._requirements)
        self._lock = None if lock is None else Path(lock).absolute()
        self._preparing = threading.Lock()
        self._made: PackageSet | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the packages that are asked for; without any, of all in the lock.

        Raises:
            ConfigurationError: The lock cannot be read.
        """
        from tinyagent.execution.packages import lockfile  # noqa: PLC0415 - as above

        if self._requirements or self._lock is None:
            asked = lockfile.read_requirements(self._requirements)
            return tuple(requirement.name for requirement in asked)
        lock = lockfile.load_lock(self._lock)
        return () if lock is None else tuple(package.name for package in lock.packages)

    @property
    def prepared(self) -> PackageSet | None:
        """The set, if it exists and this process knows it; takes no time."""
        from tinyagent.execution.packages.store import prepared_packages  # noqa: PLC0415 - as above

        if self._made is None:
            self._made = prepared_packages(self._requirements, self._lock)
        return self._made

    def prepare(self) -> PackageSet:
        """The set, fetched and unpacked if it does not exist yet; may take minutes.

        Raises:
            ConfigurationError: A package is refused, or there is no uv.
        """
        from tinyagent.execution.packages.store import prepare_packages  # noqa: PLC0415 - as above

        with self._preparing:
            made = self.prepared or prepare_packages(self._requirements, self._lock)
            self._made = made
            return made


def wanted_packages(requirements: Iterable[str], lock: str | Path | None) -> WantedPackages | None:
    """The set that is asked for; None if it is empty.

    Raises:
        ConfigurationError: As `WantedPackages` raises it.
    """
    return WantedPackages(requirements, lock) if requirements or lock is not None else None
