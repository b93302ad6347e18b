"""`skillian serve` as its own process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

COMMAND = Path(sys.executable).parent / "skillian"
START_SECONDS = 150
UNCOUNTED = {"SKILLIAN_REQUESTS_PER_MINUTE": "0"}
"""The setting for as many requests as a test likes."""


class NotServing(Exception):
    """It ended instead; says why."""


class Serving:
    """A running server; `log` is what it has written to standard error."""

    def __init__(self, command: Sequence[str | Path], folder: Path, **settings: str) -> None:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SKILLIAN_", "OPENAI_"))}
        self.log = ""
        self._is_up = threading.Event()
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**clean, **settings},
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        if not self._is_up.wait(START_SECONDS) or self.process.poll() is not None:
            self.process.kill()
        match = re.search(r"serves on (http://\S+) ", self.log)
        if match is None:
            self.stop(signal.SIGKILL)
            raise NotServing(self.log)
        self.url = match[1]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; gives the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(60)
        self._reader.join()
        return code

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            for line in lines:
                self.log += line
                if "serves on http" in line:
                    self._is_up.set()
        self._is_up.set()


@contextmanager
def serving(sources: Path, *words: str, **settings: str) -> Generator[Serving]:
    """A server over these sources, on a free port; settings are its environment."""
    command: list[str | Path] = [COMMAND, "serve", "--sources", sources, "--port", "0", *words]
    with running(command, sources.parent, **settings) as server:
        yield server


@contextmanager
def running(command: Sequence[str | Path], folder: Path, **settings: str) -> Generator[Serving]:
    """A server by this command, which prints its address as `skillian serve` does."""
    server = Serving(command, folder, **settings)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop(signal.SIGKILL)
