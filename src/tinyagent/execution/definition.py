"""Sandbox: what code may use where it runs, and what it is promised, as one value.

An executor is made of it, the prompt of an agent describes it, the command line builds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.packages.wanted import WantedPackages, wanted_packages
from tinyagent.execution.trust import (
    NETWORK_IMPORTS,
    ExecutionLimits,
    TrustLevel,
    imports_at,
    needed_promises,
)
from tinyagent.options import checks_options, require_least

if TYPE_CHECKING:
    from tinyagent.execution.network.rules import Allow
    from tinyagent.execution.network.secrets import ApiKey, Bearer
    from tinyagent.execution.workspace.workspace import Workspace

_OF_LOCKS = ("engine", "without", "require", "packages", "lock", "network", "secrets")
_LISTS = ("imports", "files", "without", "require", "packages", "network")


@checks_options()
@dataclass(frozen=True, slots=True)
class Sandbox:
    """What code may use where it runs, and what it is promised.

    Args:
        level: `"local"` uses no lock; `"isolated"` uses each lock that this kernel has, and refuses
            to run where code could reach the host's files; at `"sandboxed"` each promise that is
            not enforced refuses the run.
        limits: Time, memory, processes, files and output that the code may use; None for the
            usual ones.
        imports: Modules that it may import besides the usual ones; `"*"` allows all, except at
            LOCAL.
        files: Copied into its working folder.
        workspace: A folder that the code sees a copy of, as its working folder; an executor's
            `commit` writes what the code has changed there.
        packages: Packages of an index that the code may import, such as `"polars>=2"`, in place of
            those installed here: wheels only, fetched once, checked by hashes.
        lock: A requirements file with the versions and hashes of all packages; written if it does
            not exist.
        network: Hosts that the code may reach, such as `"api.example.com"`, or `Allow`; not at
            LOCAL, whose code reaches every host.
        secrets: Keys that the host adds to requests, by the names of their hosts.
        checkpoints: How many earlier states to keep for `rewind`: 8 of an executor, 1 of an agent.
            Each step then runs in a fork, and one whose process is lost loses only itself; while
            a library keeps a pool of threads, as Polars does, no state is kept. 0: steps run in
            the session itself.
        engine: What SANDBOXED uses (`"kernel"`, `"bubblewrap"`, `"podman"`, `"docker"`); by default
            the first of these that is available.
        without: Promises that may be missing, by their ids or names as in `guarantees`, such as
            `"S1"`.
        require: Promises that must be enforced in addition to those of the level.

    Raises:
        ConfigurationError: An option is wrong, or there is no such file or folder.
    """

    level: TrustLevel | str = TrustLevel.ISOLATED
    limits: ExecutionLimits | None = None
    imports: str | Iterable[str] = ()
    files: Iterable[str | Path] = ()
    workspace: str | Path | Workspace | None = None
    packages: Iterable[str] = ()
    lock: str | Path | None = None
    network: Iterable[str | Allow] = ()
    secrets: Mapping[str, Bearer | ApiKey] = field(default_factory=dict[str, Any])
    checkpoints: int | None = None
    engine: str | None = None
    without: Iterable[str] = ()
    require: Iterable[str] = ()

    def __post_init__(self) -> None:
        set_value = object.__setattr__
        set_value(self, "level", _read_level(self.level))
        for name in _LISTS:
            value = getattr(self, name)
            set_value(self, name, (value,) if isinstance(value, str) else tuple(value))
        set_value(self, "files", tuple(map(_existing_file, self.files)))
        require_least(0, checkpoints=self.checkpoints)
        for name in _OF_LOCKS if self.level is TrustLevel.LOCAL else ():
            if getattr(self, name):
                raise ConfigurationError(
                    f"trust level 'local' has no locks, so it has no option {name}"
                )
        if self.secrets and not self.network:
            raise ConfigurationError("secrets are for hosts of `network`, which lists none")
        if self.files and self.workspace is not None:
            raise ConfigurationError(
                "files and workspace are both given: put the files into the folder"
            )
        self.allowed_imports()
        self.needed()

    def with_defaults(self, limits: ExecutionLimits, checkpoints: int) -> Self:
        """The same, with these limits and checkpoints where it names none."""
        return replace(
            self,
            limits=limits if self.limits is None else self.limits,
            checkpoints=checkpoints if self.checkpoints is None else self.checkpoints,
        )

    def bare(self) -> Self:
        """The same without anything to read: no files, no workspace, no network."""
        return replace(self, files=(), workspace=None, network=(), secrets={}, checkpoints=0)

    @property
    def wanted(self) -> WantedPackages | None:
        """Packages of its own, which are not fetched yet; None if it has none.

        Raises:
            ConfigurationError: A requirement is not a name with versions, or the extra is missing.
        """
        return wanted_packages(self.packages, self.lock)

    def allowed_imports(self, modules: frozenset[str] = frozenset()) -> frozenset[str]:
        """The modules that the code may import.

        Args:
            modules: Those of its own packages, once they are fetched.
        """
        level, has_packages = TrustLevel(self.level), bool(self.packages) or self.lock is not None
        imports = imports_at(level, self.imports, modules if has_packages else None)
        return imports | NETWORK_IMPORTS if self.network else imports

    def needed(self) -> frozenset[str]:
        """The ids of the promises that must be enforced for code to run."""
        keeps_states = self.checkpoints != 0
        return needed_promises(
            TrustLevel(self.level), self.without, self.require, keeps_states=keeps_states
        )

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names that its files have in the working folder."""
        return tuple(Path(file).name for file in self.files)

    @property
    def material(self) -> frozenset[str]:
        """The sources of what the code can read without a tool, for labels."""
        kinds = {name for name in ("workspace", "network") if getattr(self, name)}
        kinds |= {"host"} if self.level == TrustLevel.LOCAL else set()
        return frozenset({f"file:{name}" for name in self.file_names} | kinds)


def _read_level(name: TrustLevel | str) -> TrustLevel:
    try:
        return TrustLevel(name)
    except ValueError:
        levels = ", ".join(TrustLevel)
        raise ConfigurationError(f"there is no trust level {name!r}; use {levels}") from None


def _existing_file(path: str | Path) -> Path:
    if not Path(path).is_file():
        raise ConfigurationError(f"files: there is no file {str(path)!r}")
    return Path(path).absolute()  # it stays the same if the process changes its own folder
