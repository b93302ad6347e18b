"""Hostile frames, heads, names, paths and file trees by the thousand, sent by real sessions.

Each kind is a program that makes its items from a seed, inside the session. What is measured is
what the host promises whatever a session sends.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.support.waits import soon
from tests.tinyagent.execution.attacks.canaries import frame_kinds
from tests.tinyagent.execution.attacks.corpus.frames import SEND
from tests.tinyagent.execution.network.origin import served_locally

from tinyagent import Sandbox
from tinyagent.execution import Allow, get_executor
from tinyagent.execution.trust import ExecutionLimits

SECONDS = 2.0
"""The limit of each step."""

_FRAMES = f"""
KINDS = {frame_kinds()!r}
{SEND}
odd = [None, True, -1, 2**63, 1.5, "", "x" * 9_000, "\\ud800", [], {{}}, [[]] * 900,
       {{"$": "set"}}, {{"$": "bytes", "at": 0, "n": 1 << 40}}, {{"$": "decimal", "v": "1E+99999"}}]
good = [frame("OUTPUT", {{"text": "y" * 99}}), frame("READY", {{}}), frame("FORKED", {{"pid": 7}})]
names = ["text", "pid", "status", "id", "name", "args", "kwargs", "value", "metadata", "error",
         "token", "remarks", "killed", "memory", "pool", "kind", "last", "known", "media_type"]
def forged():
    body = {{random.choice(names): random.choice(odd) for _ in range(random.randrange(6))}}
    body = body if random.random() < 0.7 else {{**done, **body}}
    kind = random.choice(list(KINDS.values()) + [0, 99, 255])
    data = frame(kind, body, bytes(random.choice([0, 0, 1, 4_000])))
    damage = random.random()
    if damage < 0.2:
        data = data[: random.randrange(len(data))]
    elif damage < 0.4:
        sizes = random.choice([0, 7, 1 << 20, 1 << 31]), 1 << 16
        data = struct.pack(">BII", kind, *sizes) + data[9:]
    return data
for _ in range(COUNT):
    send(random.choice(good) + forged())
"""
_CONNECTED = """
import socket
kept = []
sent = 0
def talk(address, port, data, slowly=False):
    global sent
    sock = socket.socket()
    sock.settimeout(0.01)
    try:
        sock.connect((address, port))
        for at in range(0, len(data), 7 if slowly else 1 << 16):
            sock.sendall(data[at : at + (7 if slowly else 1 << 16)])
        sent += len(data)
        sock.recv(1 << 16)
    except OSError:
        pass
    kept.append(sock) if random.random() < 0.1 else sock.close()
    del kept[:-20]
"""
_HEADS = f"""{_CONNECTED}
fillers = [b" ", b"\\t", b"\\t ", b"a ", b"-", b":", b"\\x80", b"%", b"/", b"/.", b"..;", b","]
ends = [b"", b"\\x01", b"\\x7f", b"\\n", b"\\r", b" x", b"\\xff", b"\\0"]
def header():
    filler = random.choice(fillers) * random.choice([1, 50, 3_000, 15_000])
    name = random.choice([b"X", b"Connection", b"Expect", b"Content-Length", b"Host", b"Upgrade"])
    return name + b":" + filler[: random.choice([40, 30_000])] + random.choice(ends)
def head():
    target = b"/" + random.choice(fillers) * random.choice([0, 3, 900, 16_000])
    lines = [random.choice([b"GET", b"POST", b"get", b"X" * 40]) + b" " + target + b" HTTP/1.1",
             b"Host: localhost:%d" % PORT]
    lines += [header() for _ in range(random.choice([0, 1, 3, 120]))]
    body = b""
    if random.random() < 0.4:
        lines.append(b"Transfer-Encoding: chunked")
        body = random.choice([b"1\\r\\nx\\r\\n", b"0" * 9 + b"\\r\\n", b"1\\nx\\n", b"1"]) * 5_000
    return b"\\r\\n".join(lines) + random.choice([b"\\r\\n\\r\\n", b"\\n\\n", b""]) + body
for _ in range(COUNT):
    talk("localhost", PORT, head(), slowly=random.random() < 0.02)
sent
"""
_NAMES = f"""{_CONNECTED}
parts = ["a", "-", "_", ".", "*", "xn--", "0x", "127", "\\x1b[31m", "\\0", "é", "ß", " ", "@"]
def name():
    text = "".join(random.choice(parts) for _ in range(random.choice([1, 5, 60, 400])))
    return text + random.choice(["", ".", ".example.net", ".localhost", "." * 300])
for number in range(COUNT):
    if random.random() < 0.5:
        talk("127.1.0.1", PORT, name().encode("utf-8", "replace") + b"\\n")
        continue
    try:
        socket.getaddrinfo(random.choice([name(), f"n{{number}}.example.net"]), PORT)
    except (OSError, ValueError):
        pass
sent
"""
_PATHS = f"""{_CONNECTED}
parts = ["-", "a", "/", "/a", "*", "%2f", ".", "/..", ";", "-a-", "//", "%"]
for _ in range(COUNT):
    path = "/" + "".join(random.choice(parts) for _ in range(3)) * random.choice([1, 90, 4_000])
    head = f"GET {{path[:16_000]}} HTTP/1.1\\r\\nHost: listed.example.org:{{PORT}}\\r\\n\\r\\n"
    talk("listed.example.org", PORT, head.encode())
sent
"""
_TREES = """
import os
letters = ["a", "é", "\\n", "\\u202e", " ", "~", "."]
here = os.getcwd()
sent = 0
for number in range(COUNT):
    name = "".join(random.choice(letters) for _ in range(random.choice([1, 9, 80])))
    name = name.encode()[:200].decode(errors="ignore").strip(". ") + str(number)
    try:
        kind = random.random()
        if kind < 0.2:
            os.mkdir(name)
            if random.random() < 0.5:
                os.chdir(name)
        elif kind < 0.3:
            os.chdir(here)
        elif kind < 0.4:
            os.symlink(random.choice(["/etc/passwd", "..", name]), name)
        else:
            with open(name, "wb") as file:
                sent += file.write(bytes(random.choice([0, 0, 1, 9_000])))
    except OSError:
        pass
os.chdir(here)
sent
"""
KINDS = {"frames": _FRAMES, "heads": _HEADS, "names": _NAMES, "paths": _PATHS, "trees": _TREES}
PER_STEP = {"frames": 20, "heads": 60, "names": 100, "paths": 60, "trees": 200}
"""How many items a step sends."""
PATTERNS = ("/*-*-*-*x", "/*/*/*/*x", "/*a*-*a*-*b", "/**/-*")


@contextmanager
def pauses() -> Generator[list[float]]:
    """How long the loop's thread computes in each turn of the loop, meanwhile: the longest."""
    longest = [0.0]
    run: Any = vars(asyncio.Handle)["_run"]

    def timed(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        longest[0] = max(longest[0], time.thread_time() - began)

    with patch.object(asyncio.Handle, "_run", timed):
        yield longest


@dataclass
class Figures:
    """What was measured of one kind.

    Args:
        kind: of what was sent.
        items: how many.
        pause: seconds of processor time.
        overrun: seconds beyond the limit of a step.
        growth: bytes of the host's memory, at most.
        received: bytes that its programs say they have sent.
        descriptors: left a second after the last step.
    """

    kind: str
    items: int = 0
    pause: float = 0.0
    overrun: float = -SECONDS
    growth: int = 0
    received: int = 0
    descriptors: int = 0
    errors: list[str] = field(default_factory=list[str])


async def measured(kind: str, count: int, seed: int, port: int) -> Figures:
    """Let sessions send `count` hostile items of a kind."""
    figures = Figures(kind)
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {
            "limits": ExecutionLimits(timeout_seconds=SECONDS),
            "checkpoints": 8 * (seed % 2),
            "imports": ("*",),
            "network": [
                *(f"localhost:{port}", "*.example.net"),
                *(Allow("GET", f"http://listed.example.org:{port}{each}") for each in PATTERNS),
            ],
        }
        if kind == "trees":
            options["workspace"] = folder
        async with get_executor(Sandbox("isolated", **options)) as executor:
            await executor.run("1")
            before, peak = _descriptors(), _reset_peak()
            with pauses() as longest:
                while figures.items < count:
                    step = f"import random\nrandom.seed({seed + figures.items})\n"
                    step += f"COUNT, PORT = {PER_STEP[kind]}, {port}\n{KINDS[kind]}"
                    began = time.monotonic()
                    result = await executor.run(step)
                    figures.overrun = max(figures.overrun, time.monotonic() - began - SECONDS)
                    figures.received += result.value if isinstance(result.value, int) else 0
                    figures.items += PER_STEP[kind]
                    if result.error:
                        figures.errors.append(result.error)
                    if kind == "trees":
                        await executor.reset()
                        await executor.run("1")
            figures.pause = longest[0]
            figures.growth = _peak() - peak
            await executor.reset()
            await executor.run("1")
            try:
                await soon(lambda: _descriptors() <= before, seconds=1)
            except AssertionError:
                figures.descriptors = _descriptors() - before
    return figures


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _reset_peak() -> int:
    """Count the peak of this process's memory from here; returns what it has now."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak()


def _peak() -> int:
    text = Path("/proc/self/status").read_text(encoding="ascii")
    [line] = [line for line in text.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) << 10


@contextmanager
def origin() -> Generator[int]:
    """Serve HTTP on a free port, in another process."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,))
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        process.join()


def _serve(pipe: Connection) -> None:
    with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere), served_locally() as port:
        pipe.send(port)
        pipe.recv()
