"""What attacks are after: secrets, listeners and a process that notice whoever reaches them."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.support.ports import own_port
from tests.tinyagent.execution.attacks.outcome import WON

ENVIRONMENT_NAME = "SANDBOX_CANARY"
PROJECT = Path(__file__).parents[4]
_VICTIM = """
import json, signal, sys
seen = []
for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    try:
        signal.signal(number, lambda number, frame: seen.append(number))
    except (OSError, ValueError):
        pass
print("ready", flush=True)
for line in sys.stdin:
    print(json.dumps(seen), flush=True)
"""


class Victim:
    """A process of the host that notes each signal it gets."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _VICTIM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read()
        self.pid = self._process.pid

    def harm(self) -> list[str]:
        """What was done to it."""
        if self._process.poll() is not None:
            return [f"the victim was ended: {self._process.returncode}"]
        state = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").split()[2]
        if state in {"T", "t"}:
            os.kill(self.pid, signal.SIGCONT)
            return [f"the victim was stopped: {state}"]
        assert self._process.stdin is not None
        print(file=self._process.stdin, flush=True)
        seen = json.loads(self._read())
        return [f"the victim got signals: {seen}"] if seen else []

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


class Listeners:
    """Sockets that keep note of who comes: the kernel does, until it is asked."""

    def __init__(self, folder: Path) -> None:
        self.unix = str(folder / "socket")
        self.abstract = f"\0canary-{secrets.token_hex(8)}"
        self._sockets = {
            # At ports that no server of another test had, whose clients may still try to connect.
            "tcp": _bound(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", own_port())),
            "tcp6": _bound(socket.AF_INET6, socket.SOCK_STREAM, ("::1", own_port())),
            "udp": _bound(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", own_port())),
            "unix": _bound(socket.AF_UNIX, socket.SOCK_STREAM, self.unix),
            "abstract": _bound(socket.AF_UNIX, socket.SOCK_STREAM, self.abstract),
        }
        Path(self.unix).chmod(0o777)

    def port(self, name: str) -> int:
        """Of the listener, 0 where this machine has none of that kind."""
        sock = self._sockets[name]
        return int(sock.getsockname()[1]) if sock is not None else 0

    def harm(self) -> list[str]:
        """Who came since the last time."""
        return [f"{name} was reached" for name, sock in self._sockets.items() if _came(sock)]

    def close(self) -> None:
        """Close them."""
        for sock in self._sockets.values():
            if sock is not None:
                sock.close()


def _bound(family: int, kind: int, address: tuple[str, int] | str) -> socket.socket | None:
    sock = socket.socket(family, kind)
    sock.setblocking(False)  # noqa: FBT003 - the socket module's own signature
    try:
        sock.bind(address)
    except OSError as error:
        sock.close()
        if error.errno != errno.EADDRNOTAVAIL:
            raise
        return None
    if kind == socket.SOCK_STREAM:
        sock.listen(64)
    return sock


def _came(sock: socket.socket | None) -> bool:
    came = False
    with suppress(BlockingIOError):
        while sock is not None:
            if sock.type == socket.SOCK_DGRAM:
                sock.recv(1 << 16)
            else:
                sock.accept()[0].close()
            came = True
    return came


class Canaries:
    """All of them, on this host. What they hold is a secret of this run of the tests."""

    def __init__(self) -> None:
        self.secret = f"SECRET-{secrets.token_hex(8)}"
        self._hostname = socket.gethostname()
        self.mark = f"escapee{secrets.token_hex(4)}"
        """How attacks call the files and processes that they leave behind."""
        self._root = Path(tempfile.mkdtemp(prefix="canaries-"))
        self._root.chmod(0o755)
        self.folder = self._root / "host"
        self.file = self.folder / "secret.txt"
        self.listeners = Listeners(self._root)
        self._victim = Victim()
        self.restore()
        self.descriptor = os.open(self.file, os.O_RDONLY)
        os.set_inheritable(self.descriptor, True)  # noqa: FBT003 - as os has it
        os.environ[ENVIRONMENT_NAME] = self.secret

    @property
    def victim(self) -> int:
        """The pid of a process that nobody may touch."""
        return self._victim.pid

    def preamble(self) -> str:
        """Python statements that tell an attack where everything is, but no secret."""
        names = {
            "FILE": str(self.file),
            "FOLDER": str(self.folder),
            "SIZE": self.file.stat().st_size,
            "SOURCE": str(PROJECT / "pyproject.toml"),
            "PORT": self.listeners.port("tcp"),
            "PORT6": self.listeners.port("tcp6"),
            "UDP": self.listeners.port("udp"),
            "UNIX": self.listeners.unix,
            "ABSTRACT": self.listeners.abstract,
            "HOST": os.getpid(),
            "HOSTNAME": self._hostname,
            "VICTIM": self.victim,
            "KINDS": frame_kinds(),
            "MARK": self.mark,
        }
        half = len(WON) // 2  # in two parts: a traceback's line of source is not a success
        return f"WON = {WON[:half]!r} {WON[half:]!r}\n" + "".join(
            f"{name} = {value!r}\n" for name, value in names.items()
        )

    def harm(self) -> list[str]:
        """What was done to the host since `restore`."""
        found = self._victim.harm() + self.listeners.harm()
        if self._stamp() != self._before:
            found.append(f"files changed: {self._before} -> {self._stamp()}")
        if os.environ.get(ENVIRONMENT_NAME) != self.secret:
            found.append("the environment changed")
        if socket.gethostname() != self._hostname:
            found.append(f"the host is called {socket.gethostname()}")
        found += [f"left behind: {path}" for path in self._left_behind()]
        return found

    def restore(self) -> None:
        """Make everything as it was, whatever has been done to it."""
        if self.folder.exists():
            shutil.rmtree(self.folder)
        self.folder.mkdir(mode=0o777)
        self.folder.chmod(0o777)
        self.file.write_text(f"{self.secret}\n", encoding="utf-8")
        self.file.chmod(0o666)
        planted = self.folder / "planted.py"
        planted.write_text(f"LOOT = {self.secret!r}\n", encoding="utf-8")
        for path in self._left_behind():
            path.unlink()
        self.listeners.harm()
        if self._victim.harm():
            self._victim.close()
            self._victim = Victim()
        self._before = self._stamp()

    def close(self) -> None:
        """Give everything back."""
        os.environ.pop(ENVIRONMENT_NAME, None)
        os.close(self.descriptor)
        self.listeners.close()
        self._victim.close()
        shutil.rmtree(self._root)

    def _stamp(self) -> dict[str, tuple[int, ...] | bytes]:
        """All that can be seen of the folder's files, their times and owners included."""
        stamp: dict[str, tuple[int, ...] | bytes] = {}
        for path in sorted(self.folder.rglob("*")):
            status = path.lstat()
            stamp[path.name] = status.st_mode, status.st_uid, status.st_nlink, status.st_mtime_ns
            if path.is_file() and not path.is_symlink():
                stamp[f"{path.name}: content"] = path.read_bytes()
        return stamp

    def _left_behind(self) -> list[Path]:
        """Files of attacks in places that anything may write to, or that Python is in."""
        places: list[str | Path]
        places = ["/tmp", "/var/tmp", "/dev/shm", "/etc", "/"]  # noqa: S108 - searched only
        places += [Path.home(), Path(os.__file__).parent, Path(json.__file__).parent]
        places += [sys.prefix, sysconfig.get_path("purelib")]
        paths = [Path(place) / self.mark for place in places]
        return [path for path in paths if path.exists()]

    def processes(self) -> list[int]:
        """The processes that attacks left behind and that still run."""
        pids: list[int] = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                name = (path / "comm").read_text(encoding="utf-8", errors="replace").strip()
                status = (path / "stat").read_text(encoding="utf-8", errors="replace")
                if name == self.mark and status.rsplit(")", 1)[-1].split()[0] != "Z":
                    pids.append(int(path.name))
        return pids


def frame_kinds() -> dict[str, int]:
    """The numbers of the kinds of frames, by name."""
    from tinyagent.execution.sandbox.worker.codec.wire import Kind

    return {kind.name: int(kind) for kind in Kind}


def is_root() -> bool:
    """Whether these tests run as root."""
    return os.geteuid() == 0
