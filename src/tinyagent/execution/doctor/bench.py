"""What probes use: canaries, which code must not reach, and fresh sessions to run it in."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tinyagent.execution.definition import Sandbox
from tinyagent.execution.protocol import ExecutionResult, Executor
from tinyagent.execution.trust import ExecutionLimits, TrustLevel

_VICTIM = "import sys; print(flush=True); sys.stdin.read()"


class Canaries:
    """A secret file, listeners, a process, a variable: made on entering, removed on leaving."""

    def __init__(self) -> None:
        self.secret = f"canary-{secrets.token_hex(8)}"
        self.name = f"TINYAGENT_CANARY_{secrets.token_hex(4)}"
        self.mark = f"ta{secrets.token_hex(5)}"
        """The name that a probe gives its process, 15 characters at most."""
        self._listeners: dict[str, socket.socket] = {}

    def __enter__(self) -> Self:
        # Any user may do anything with these files: their rights are not what is tested.
        self._base = Path(tempfile.mkdtemp(prefix="tinyagent-doctor-"))
        self._base.chmod(0o755)
        self.folder = self._base / "host"
        self.file = self.folder / "secret.txt"
        self._before = self._lay_out()
        os.environ[self.name] = self.secret
        self._listen()
        self._victim = subprocess.Popen(  # noqa: S603 - this interpreter, with our own program
            [sys.executable, "-I", "-c", _VICTIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        if self._victim.stdout is not None:
            self._victim.stdout.readline()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.environ.pop(self.name, None)
        for listener in self._listeners.values():
            listener.close()
        self._victim.kill()
        self._victim.communicate()
        shutil.rmtree(self._base, ignore_errors=True)

    def facts(self) -> dict[str, Any]:
        """Facts for the probes: where everything is, without the secret."""
        return {
            "FILE": str(self.file),
            "FOLDER": str(self.folder),
            "NAME": self.name,
            "HOST": os.getpid(),
            "HOSTNAME": socket.gethostname(),
            "VICTIM": self._victim.pid,
            "TCP": self._listeners["TCP"].getsockname()[1],
            "UDP": self._listeners["UDP"].getsockname()[1],
            "UNIX": str(self._base / "socket"),
            "ABSTRACT": f"\0{self.mark}",
            "LIBRARY": str(Path(os.__file__).parent),
        }

    def harm(self) -> list[str]:
        """The changes to the host since the last call; files are then restored."""
        harm = [f"{name} was reached" for name, sock in self._listeners.items() if _came(sock)]
        if self._victim.poll() is not None:
            harm.append("a process was ended")
        stamp = self._stamp()
        if stamp != self._before:
            harm.append("files were changed")
            self._before = self._lay_out()
        return harm

    def _lay_out(self) -> dict[str, tuple[int, int, bytes]]:
        """Make the folder again; returns its state."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.folder.chmod(0o777)
        self.file.write_text(self.secret, encoding="utf-8")
        self.file.chmod(0o666)
        return self._stamp()

    def _listen(self) -> None:
        kinds: dict[str, tuple[int, int, Any]] = {
            "TCP": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            "UDP": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        }
        if sys.platform != "win32":
            path = str(self._base / "socket")
            kinds["Unix socket"] = (socket.AF_UNIX, socket.SOCK_STREAM, path)
        if sys.platform == "linux":
            kinds["abstract socket"] = (socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.mark}")
        for name, (family, kind, address) in kinds.items():
            listener = self._listeners[name] = socket.socket(family, kind)
            listener.bind(address)
            if kind == socket.SOCK_STREAM:
                listener.listen()
            listener.setblocking(False)  # noqa: FBT003 - the socket module's own signature
            if isinstance(address, str) and address.startswith("/"):
                Path(address).chmod(0o777)

    def _stamp(self) -> dict[str, tuple[int, int, bytes]]:
        """The folder's files with their rights, times and content."""
        stamp: dict[str, tuple[int, int, bytes]] = {}
        for path in self.folder.iterdir():
            status = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            stamp[path.name] = status.st_mode, status.st_mtime_ns, content
        return stamp


def _came(listener: socket.socket) -> bool:
    """Whether anything has reached it since the last call."""
    with suppress(BlockingIOError):
        if listener.type == socket.SOCK_DGRAM:
            return bool(listener.recv(64))
        listener.accept()[0].close()
        return True
    return False


def processes_called(mark: str) -> list[int]:
    """The running processes of this name, of whatever user and namespace."""
    pids: list[int] = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            name = (path / "comm").read_text(encoding="utf-8", errors="replace").strip()
            state = (path / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
            if name == mark and state.split()[0] != "Z":
                pids.append(int(path.name))
    return pids


LIMITS = ExecutionLimits(timeout_seconds=5, max_memory_bytes=2**26, max_file_bytes=2**20)
_TRYING = """
outcomes = {}

def fail():
    raise LookupError("not there")

def attempt(name, act):
    try:
        act()
    except Exception as error:
        outcomes[name] = type(error).__name__
    else:
        outcomes[name] = ""

"""


class ProbeResult(NamedTuple):
    """The result of a probe: whether the promise held, and what was tried, in words."""

    held: bool
    tried: str


class ProbeFailed(Exception):
    """A probe did not finish, so it shows nothing; the message says what ended it."""


Open = Callable[[Sandbox], Executor]


@dataclass(frozen=True, slots=True)
class Bench:
    """The surroundings of a probe.

    Args:
        trust_level: The level under test.
        engine: Its engine; None for the level's default.
        canaries: What must stay untouched.
        open: Makes an executor of this level.
    """

    trust_level: TrustLevel
    engine: str | None
    canaries: Canaries
    open: Open

    async def steps(
        self,
        *codes: str,
        limits: ExecutionLimits = LIMITS,
        sandbox: Sandbox = Sandbox(),  # noqa: B008 - it is frozen
    ) -> list[ExecutionResult]:
        """Run the steps in one fresh session, with the canaries' facts injected."""
        async with self.open(replace(sandbox, limits=limits)) as executor:
            for name, value in self.canaries.facts().items():
                executor.inject(name, value)
            return [await executor.run(code) for code in codes]

    async def attempts(
        self,
        acts: Mapping[str, str],
        setup: str = "",
        sandbox: Sandbox = Sandbox(),  # noqa: B008 - it is frozen
    ) -> ProbeResult:
        """Whether all of these are refused.

        Args:
            acts: Expressions by what they try; each raises if it is refused.
            setup: Statements before them.
            sandbox: Where they are tried, except for its level.

        Raises:
            ProbeFailed: The code ended before it had tried all of them.
        """
        lines = [f"attempt({name!r}, lambda: {act})" for name, act in acts.items()]
        code = "\n".join([setup, _TRYING, *lines, "outcomes"])
        (result,) = await self.steps(code, sandbox=sandbox)
        if result.error is not None:
            raise ProbeFailed(result.error.strip().splitlines()[-1])
        outcomes: dict[str, str] = result.value
        harm = self.canaries.harm()
        succeeded = [name for name in acts if not outcomes.get(name)]
        if succeeded or harm:
            return ProbeResult(held=False, tried=f"went through: {', '.join([*succeeded, *harm])}")
        return ProbeResult(held=True, tried=f"{', '.join(acts)}: refused")


Probe = Callable[[Bench], Awaitable[ProbeResult]]
