"""A session without any lock, in a child, and the host's end of its socket."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

from tinyagent.execution.sandbox.worker.codec.values import decode, encode
from tinyagent.execution.sandbox.worker.codec.wire import Frame, Kind
from tinyagent.execution.sandbox.worker.kernel import linux
from tinyagent.execution.sandbox.worker.session.link import Link

WORKERS = str(Path(linux.__file__).parents[2])
_SERVE = """
import json, os, socket, sys
order = json.loads(sys.argv[1])
sys.path.insert(0, order["workers"])
from worker.session.link import Link
from worker.session.session import SessionProcess
from worker.session.step import Rules
os.chdir(order["folder"])
link = Link(socket.socket(fileno=order["descriptor"]))
rules = Rules(order["folder"], frozenset(order["imports"]), order["max_output_bytes"])
SessionProcess(link, rules, lambda warden: os.putenv("HARDENED", "1"), None).serve()
"""


class Served(NamedTuple):
    """A running session."""

    link: Link
    process: subprocess.Popen[bytes]

    def order(self, code: str, *tools: str, number: int = 1, **values: Any) -> None:
        """Have it run the code in itself."""
        blobs = bytearray()
        encoded = {name: encode(value, blobs) for name, value in values.items()}
        body = {
            "step": number,
            "code": code,
            "tools": tools,
            "values": encoded,
            "fork": False,
            "token": "",
        }
        self.link.send(Kind.RUN, body, bytes(blobs))

    def until(self, kind: Kind) -> list[Frame]:
        """The frames up to the first of this kind."""
        return until(self.link, kind)

    def run(self, code: str, *tools: str, number: int = 1, **values: Any) -> list[Frame]:
        """Have it run the code; gives all its frames."""
        self.order(code, *tools, number=number, **values)
        return self.until(Kind.DONE)

    def value(self, code: str, **values: Any) -> Any:
        """The value of the last expression."""
        return value_of(self.run(code, **values))


def until(link: Link, kind: Kind) -> list[Frame]:
    """The frames that come, up to the first of this kind."""
    frames = [link.receive()]
    while frames[-1].kind is not kind:
        frames.append(link.receive())
    return frames


def value_of(frames: list[Frame]) -> Any:
    """What the last of them, DONE, has as the value; it must tell of no error."""
    done = frames[-1]
    assert done.body["error"] is None, done.body["error"]
    return decode(done.body["value"], done.blob)


@contextmanager
def serving(folder: Path, *imports: str, max_output_bytes: int = 1000) -> Generator[Served]:
    """A session whose working folder is `folder`."""
    ours, theirs = socket.socketpair()
    ours.settimeout(20)
    order = {
        "workers": WORKERS,
        "folder": str(folder),
        "descriptor": theirs.fileno(),
        "imports": imports or ["*"],
        "max_output_bytes": max_output_bytes,
    }
    command = [sys.executable, "-I", "-c", _SERVE, json.dumps(order)]
    with theirs:
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
    link = Link(ours)
    with process:
        try:
            assert link.receive().kind is Kind.READY
            yield Served(link, process)
        finally:
            link.close()
            process.kill()


def output_of(code: str, *, seconds: float = 30.0) -> str:
    """What a program prints that finds the package `worker`; it must end well."""
    program = f"import sys\nsys.path.insert(0, {WORKERS!r})\n{dedent(code)}"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stderr or done.returncode
    return done.stdout.strip()
