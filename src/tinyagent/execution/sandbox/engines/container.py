"""Podman and Docker: the template in a container without network, root or files of the host."""

from __future__ import annotations

import functools
import os
import secrets
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tinyagent.core.errors import SandboxUnavailable
from tinyagent.execution.sandbox.engines.base import (
    BOOT,
    ENVIRONMENT,
    WORKER_FOLDER,
    Group,
    Started,
    last_words,
)

IMAGE_VARIABLE = "TINYAGENT_SANDBOX_IMAGE"
_ASK_SECONDS = 10.0
_START_SECONDS = 60.0
_PLACE = "/tinyagent"
_SOCKET = "control"
_VERSION = sys.version_info[:2]
_LIMITS = (
    *("--network", "none", "--read-only", "--tmpfs", "/tmp:mode=1777,size=8g"),  # noqa: S108 - inside
    *("--user", "65534:65534", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
    *("--pids-limit", "8192"),  # of all sessions; each has its own limits
    # SELinux forbids what it labels as a container to use a socket of the host.
    *("--security-opt", "label=disable"),
)
# It restarts Python, because engines add environment variables, such as proxies with passwords.
_DIAL = f"""
import os, socket, sys
if sys.version_info[:2] != {_VERSION}:
    sys.exit("the image has Python " + sys.version + "; this one is {_VERSION[0]}.{_VERSION[1]}")
control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
control.connect("{_PLACE}/shared/{_SOCKET}")
control.set_inheritable(True)
line = [sys.executable, "-I", "-c", {BOOT!r}, "{_PLACE}", str(control.fileno())]
os.execve(sys.executable, line, {ENVIRONMENT!r})
"""


@dataclass(frozen=True, slots=True)
class ContainerEngine:
    """The kernel's locks inside a container.

    Args:
        name: `"podman"` or `"docker"`, which is also the program.
        options: More arguments that this program needs.
    """

    name: str
    options: tuple[str, ...] = ()
    locks: bool = True

    def missing(self) -> str:
        """What is missing: the program, a running engine, or the image."""
        if sys.platform != "linux":
            return "it needs Linux: elsewhere, containers are in a virtual machine"
        if shutil.which(self.name) is None:
            return f"install {self.name}"
        try:
            _check(self.name, _image())
        except SandboxUnavailable as error:
            return str(error)
        return ""

    def start(self, packages: str) -> Started:
        """Run the image's Python.

        Args:
            packages: A folder that the container sees as well; "" for none.

        Raises:
            SandboxUnavailable: The container does not start.
        """
        with _listening() as (listener, folder):
            process = _Container(self.name, self._arguments(folder, packages))
            control = _accept(listener, process)
        if control is None:
            reason = last_words(process)
            raise SandboxUnavailable(f"the {self.name} container does not start: {reason}")
        return Started(process, control)

    def _arguments(self, folder: Path, packages: str) -> list[str]:
        mounts: list[str] = []
        # Not --volume: Docker would create a folder that does not exist any more.
        for outside, inside in ((folder, "shared"), (WORKER_FOLDER / "worker", "worker")):
            mounts += ["--mount", f"type=bind,source={outside},target={_PLACE}/{inside},readonly"]
        if packages:
            mounts += ["--mount", f"type=bind,source={packages},target={packages},readonly"]
        python = ["--entrypoint", "python3", _image(), "-I", "-c", _DIAL]
        return ["--pull=never", *_LIMITS, *self.options, *mounts, *python]


class _Container(Group):
    """A container, removed when it ends; the process is the program's, which waits for it."""

    def __init__(self, program: str, arguments: list[str]) -> None:
        self._program = program
        self._name = f"tinyagent-{secrets.token_hex(8)}"
        super().__init__(
            [program, "run", "--rm", "--stop-timeout", "0", "--name", self._name, *arguments]
        )

    def kill(self) -> None:
        """Remove the container, and wait until the program has noticed."""
        with suppress(SandboxUnavailable):  # it has ended, or has not begun and will find no socket
            _ask(self._program, "rm", "--force", self._name)
        try:
            self.wait(_ASK_SECONDS)
        except subprocess.TimeoutExpired:
            super().kill()


@contextmanager
def _listening() -> Generator[tuple[socket.socket, Path]]:
    """A socket for the container to connect to, and its folder; both exist only until then.

    The container's user is not a user of the host. It can reach the inner folder, which is mounted,
    while other users of the host cannot get through the outer one.
    """
    with tempfile.TemporaryDirectory(prefix="tinyagent-") as outer:
        folder = Path(outer, "shared")
        folder.mkdir()
        folder.chmod(0o755)
        held = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(f"/proc/self/fd/{held}/{_SOCKET}")  # its own path may be too long
            os.close(held)
            (folder / _SOCKET).chmod(0o666)
            listener.listen(1)
            yield listener, folder


def _accept(listener: socket.socket, process: subprocess.Popen[bytes]) -> socket.socket | None:
    """The container's connection; None if it ends first or does not connect in time."""
    ended = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        for descriptor in (listener.fileno(), ended):
            poll.register(descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(_START_SECONDS * 1000)}
    finally:
        os.close(ended)
    return listener.accept()[0] if listener.fileno() in ready else None


def _image() -> str:
    """The image to run; it must have this version of Python."""
    return os.environ.get(IMAGE_VARIABLE) or f"python:{_VERSION[0]}.{_VERSION[1]}-slim"


@functools.cache
def _check(program: str, image: str) -> None:
    """Check that the image exists; an image that does is not checked again.

    Raises:
        SandboxUnavailable: It does not exist, or the engine does not answer.
    """
    try:
        _ask(program, "image", "inspect", image)
    except SandboxUnavailable:
        _ask(program, "info")
        raise SandboxUnavailable(
            f"there is no image {image}: {program} pull {image} (or name another one in"
            f" {IMAGE_VARIABLE})"
        ) from None


def _ask(*command: str) -> None:
    """Run a command that answers at once.

    Raises:
        SandboxUnavailable: It fails, or takes too long.
    """
    try:
        answer = subprocess.run(  # noqa: S603 - a container engine, with our own arguments
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxUnavailable(f"it does not answer: {error}") from error
    if answer.returncode:
        reason = answer.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise SandboxUnavailable(f"it does not answer: {reason[-1]}")
