"""At LOCAL: no walk gets anywhere, nothing runs on, and the process stays as it was."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.tinyagent.execution.attacks.canaries import Canaries
from tests.tinyagent.execution.attacks.cases import Attack
from tests.tinyagent.execution.attacks.everything import LOCAL
from tests.tinyagent.execution.attacks.outcome import (
    MAX_ERROR_CHARACTERS,
    WON,
    allowance,
)

PROGRAM = Path(__file__).with_name("local_process.py")
_STEP_SECONDS = 0.3
_WHOLE_SECONDS = 15.0


class LocalProcess:
    """A process that runs attacks at LOCAL; a new one where one of them ended it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    def run(self, steps: list[str], folder: Path) -> dict[str, Any]:
        """What came of the steps, as `local_process.py` says it."""
        order = {"steps": steps, "seconds": _STEP_SECONDS, "folder": str(folder)}
        try:
            self._file.write(json.dumps(order).encode() + b"\n")
            self._file.flush()
            ready = select.select([self._socket], [], [], _WHOLE_SECONDS)[0]
            line = self._file.readline() if ready else b""
        except OSError:
            line = b""
        if not line:
            self.close()
            self._start()
            pytest.fail("the process of the executor hangs, or was ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._file.close()
        self._socket.close()

    def _start(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._file = self._socket.makefile("rwb")
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", str(PROGRAM), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=dict(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=None,
            )


@pytest.fixture(scope="module")
def local_process(all_canaries: Canaries) -> Iterator[LocalProcess]:
    process = LocalProcess()
    yield process
    process.close()


@pytest.mark.parametrize("attack", LOCAL, ids=lambda attack: attack.id)
def test_local(
    attack: Attack, local_process: LocalProcess, canaries: Canaries, tmp_path: Path
) -> None:
    began = time.monotonic()
    ran = local_process.run([canaries.preamble() + step for step in attack.steps], tmp_path)
    for step in ran["steps"]:
        assert [text for text in step["shown"] if WON in text or canaries.secret in text] == []
        assert step["seconds"] < _STEP_SECONDS + allowance(began)
        assert max(step["sizes"]) <= MAX_ERROR_CHARACTERS
    assert canaries.harm() == []
    assert ran["changed"] == {}
    output, error = ran["harmless"]
    if any(step["state_lost"] for step in ran["steps"]):  # a busy machine may stop it too late
        assert output == "42\n"
    else:
        assert (output, error) == ("42\n42\n", None)
