"""A server under load: how long its event loop stands still, and how much memory it takes."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.serving import Serving

PAUSE_SECONDS = 0.005
GRACE_SECONDS = 120


class Watch:
    """What was seen.

    Attributes:
        stalls: seconds of processor time that the event loop's thread took between a request for
            `/health` and its answer, of each such request: what else runs on the machine is not in
            it.
        grown: bytes by which the largest memory of the process ever has grown meanwhile.
    """

    def __init__(self) -> None:
        self.stalls: list[float] = []
        self.grown = 0


@contextmanager
def watched(server: Serving) -> Generator[Watch]:
    """Poll `/health` during the block, without a pause worth the name."""
    watch, is_over = Watch(), threading.Event()
    folder = Path("/proc") / str(server.process.pid)
    place = urlsplit(server.url)

    def poll() -> None:
        connection = http.client.HTTPConnection(
            place.hostname or "", place.port, timeout=GRACE_SECONDS
        )
        while not is_over.wait(PAUSE_SECONDS):
            before = _loop_seconds(folder)
            connection.request("GET", "/health")
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
            watch.stalls.append(_loop_seconds(folder) - before)
        connection.close()

    with suppress(OSError):
        (folder / "clear_refs").write_text("5")  # the largest memory counts from now on
    before = _largest(folder)
    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield watch
    finally:
        is_over.set()
        thread.join()
        watch.grown = _largest(folder) - before


def _loop_seconds(folder: Path) -> float:
    """The processor time of the main thread, in which the event loop runs."""
    return int((folder / "task" / folder.name / "schedstat").read_text().split()[0]) / 1e9


def _largest(folder: Path) -> int:
    status = (folder / "status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024
