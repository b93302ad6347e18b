"""Running an attack by plain `exec`, and seeing that it does what it is said to do."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.tinyagent.execution.attacks.canaries import Canaries
from tests.tinyagent.execution.attacks.cases import Attack, Proof
from tests.tinyagent.execution.attacks.outcome import WON

PLAIN = Path(__file__).with_name("plain.py")
_HANG_SECONDS = 0.2
_WHOLE_SECONDS = 20.0
_FLOOD_BYTES = 1 << 20
_MISTAKES = re.compile(r"^(NameError|AttributeError|ImportError|ModuleNotFoundError)", re.MULTILINE)
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")


@dataclass(slots=True)
class Ran:
    """What an attack did in plain Python. `code` is None if it was still running when ended."""

    code: int | None
    output: str
    errors: str
    forged: bytes
    harm: list[str]


def proves(ran: Ran, proof: Proof) -> bool:
    """Whether the attack did what its proof says."""
    return _PROOFS[proof](ran)


_PROOFS: dict[Proof, Callable[[Ran], bool]] = {
    Proof.ESCAPES: lambda ran: WON in ran.output or bool(ran.harm),
    Proof.HANGS: lambda ran: ran.code is None,
    Proof.RUNS_OUT: lambda ran: re.search("MemoryError|RecursionError", ran.errors) is not None,
    Proof.CRASHES: lambda ran: ran.code is not None and ran.code < 0,
    Proof.FLOODS: lambda ran: len(ran.output) + len(ran.errors) > _FLOOD_BYTES,
    Proof.WRITES: lambda ran: bool(ran.forged),
    Proof.RUNS: lambda ran: ran.code == 0 and not ran.errors,
    Proof.RAISES: lambda ran: "Traceback" in ran.errors and not _MISTAKES.search(ran.errors),
}


class PlainPython:
    """A process that runs attacks as ordinary programs, each in a fork of itself with limits."""

    def __init__(self, canaries: Canaries, preload: tuple[str, ...] = ()) -> None:
        self._canaries = canaries
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            number = str(theirs.fileno())
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", str(PLAIN), number, *preload],
                pass_fds=(canaries.descriptor, theirs.fileno()),
                env={**os.environ, **_ONE_THREAD, "MPLBACKEND": "Agg"},
                stdin=subprocess.DEVNULL,
            )

    def run(self, attack: Attack, folder: Path) -> Ran:
        """Run it; its working folder is one in `folder`."""
        (folder / "work").mkdir()
        errors = folder / "errors"
        steps = [f"{self._canaries.preamble()}{step}" for step in attack.steps]
        order = folder / "order.json"
        order.write_text(json.dumps({"steps": steps, "folder": str(folder / "work")}))
        output, output_end = os.pipe()
        ours, theirs = socket.socketpair()
        with ours, errors.open("wb") as target, os.fdopen(output, "rb", 0) as reader:
            with theirs, os.fdopen(output_end, "wb", 0):
                descriptors = [output_end, target.fileno(), theirs.fileno()]
                socket.send_fds(self._control, [str(order).encode()], descriptors)
                pid = int(self._control.recv(100))
            code, printed = self._watch(reader.fileno(), ours.fileno(), attack)
            self._end(pid, wait=code is None)
            ours.setblocking(False)  # noqa: FBT003 - the socket module's own signature
            forged = b""
            with suppress(BlockingIOError):
                forged = ours.recv(1 << 16)
        with errors.open(encoding="utf-8", errors="replace") as file:
            content = file.read(2 * _FLOOD_BYTES)
        harm = self._canaries.harm()
        if self._canaries.secret in content:
            harm.append("the secret is in an error")
        return Ran(code, printed.decode(errors="replace"), content, forged, harm)

    def close(self) -> None:
        """End it."""
        self._control.close()
        self._process.wait(10)

    def _watch(self, output: int, frames: int, attack: Attack) -> tuple[int | None, bytes]:
        """Read what it prints until it has ended, or shown that it does not or is too much.

        What is to write frames may take its time; it is awaited a little longer once it has.
        """
        printed = b""
        deadline = time.monotonic() + _WHOLE_SECONDS
        last_step = b"STEP\n" * len(attack.steps)
        open_ends = [self._control.fileno(), output]
        if attack.proof is Proof.WRITES:
            open_ends.append(frames)
        while len(printed) <= _FLOOD_BYTES:
            if attack.proof is Proof.HANGS and printed.startswith(last_step):
                deadline = min(deadline, time.monotonic() + _HANG_SECONDS)
            ready = select.select(open_ends, [], [], max(0, deadline - time.monotonic()))[0]
            if output in ready:
                data = os.read(output, 1 << 16)
                printed += data
                if not data:
                    open_ends.remove(output)
            elif frames in ready:
                open_ends.remove(frames)
                deadline = min(deadline, time.monotonic() + _HANG_SECONDS)
            elif ready:
                return int(self._control.recv(100)), printed
            else:
                return None, printed
        return None, printed

    def _end(self, pid: int, *, wait: bool) -> None:
        """Kill it, unless it has ended, and all that it left behind under the attacks' name."""
        if wait:
            with suppress(ProcessLookupError):  # it ended this very moment
                os.kill(pid, signal.SIGKILL)
            self._control.recv(100)
        for number in self._canaries.processes():
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
