"""Large files through a real server: its memory stays flat, and others are answered."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

import pytest
import requests
import xlsxwriter
from tests.support.processes import descendants
from tests.support.serving import UNCOUNTED, Serving, serving
from tests.support.waits import until
from tests.support.watching import watched

from skillian.demo.ledger import write_demo

pytestmark = pytest.mark.timeout(900)

SECONDS = 600
GROWN_BYTES = 100 * 1024 * 1024
READER_BYTES = 1024 * 1024 * 1024
PAGE = os.sysconf("SC_PAGESIZE")
STALL_SECONDS = 0.25
ROWS, COLUMNS = 100_000, 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the server runs in."""
    return tmp_path_factory.mktemp("large-uploads")


@pytest.fixture(scope="module")
def server(folder: Path) -> Generator[Serving]:
    """A server over the demo's sources."""
    with serving(write_demo(folder), **UNCOUNTED) as running:
        yield running


def csv_file(folder: Path) -> tuple[Path, int]:
    """A CSV file of 1 GB, and its rows."""
    file, rows = folder / "large.csv", 0
    with file.open("w", encoding="utf-8") as target:
        target.write("id,company,amount,text\n")
        while target.tell() < 1_000_000_000:
            target.writelines(
                f"{row},{row % 97},{row % 1000}.25,a text that fills the line of row {row}\n"
                for row in range(rows, rows + 100_000)
            )
            rows += 100_000
    return file, rows


def workbook_file(folder: Path) -> tuple[Path, int]:
    """A workbook with 100,000 rows, and their number."""
    file = folder / "large.xlsx"
    book = xlsxwriter.Workbook(str(file), {"constant_memory": True})
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, [f"c{column}" for column in range(COLUMNS)])
    for row in range(1, ROWS + 1):
        sheet.write_row(row, 0, [row + column / 4 for column in range(COLUMNS)])
    book.close()
    return file, ROWS


def endless_file(folder: Path) -> tuple[Path, int]:
    """A CSV file of 1 GB whose second line does not end, and its rows: none can be read."""
    file = folder / "endless.csv"
    with file.open("wb") as target:
        target.write(b"id,text\n1,")
        for _ in range(1000):
            target.write(b"x" * 1_000_000)
    return file, 0


@contextmanager
def reading(server: Serving) -> Generator[list[int]]:
    """Collect the memory in bytes of the process that reads the file."""
    sizes, is_over = [0], threading.Event()

    def poll() -> None:
        while not is_over.wait(0.05):
            sizes.extend(size_of(pid) for pid in readers(server))

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield sizes
    finally:
        is_over.set()
        thread.join()


def readers(server: Serving) -> list[int]:
    """The processes that read a file for the server."""
    return [pid for pid in descendants(server.process.pid) if b"uploads.worker" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # just ended
        return b""


def size_of(pid: int) -> int:
    """The memory of a process in bytes."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except OSError:  # just ended
        return 0


def stored(folder: Path) -> list[Path]:
    """The files that the server keeps."""
    return [path for path in (folder / "uploads").rglob("*") if path.is_file()]


def send(server: Serving, file: Path, content: object) -> requests.Response:
    return requests.post(
        f"{server.url}/uploads",
        params={"name": file.name},
        data=content,  # type: ignore[arg-type] # a file, or parts
        headers={"Content-Type": "application/octet-stream"},
        timeout=SECONDS,
    )


@pytest.mark.parametrize("make", [workbook_file, csv_file], ids=["xlsx", "csv"])
def test_memory_stays_flat(
    server: Serving, tmp_path: Path, make: Callable[[Path], tuple[Path, int]]
) -> None:
    file, rows = make(tmp_path)
    started = monotonic()
    with reading(server) as sizes, watched(server) as watch, file.open("rb") as content:
        answer = send(server, file, content)
    assert (answer.status_code, answer.json()["rows"]) == (201, rows)
    sys.stdout.write(
        f"{file.name}: {file.stat().st_size / 1e6:.0f} MB, {rows:,} rows in"
        f" {monotonic() - started:.0f} s; the server grew by {watch.grown / 1e6:.0f} MB, the reader"
        f" had {max(sizes) / 1e6:.0f} MB; longest stall {max(watch.stalls) * 1000:.0f} ms\n"
    )
    requests.delete(f"{server.url}/uploads/{answer.json()['id']}", timeout=SECONDS)
    assert watch.grown < GROWN_BYTES
    assert 0 < max(sizes) < READER_BYTES
    assert max(watch.stalls) < STALL_SECONDS


def test_a_line_that_does_not_end_is_refused(server: Serving, folder: Path, tmp_path: Path) -> None:
    file, _ = endless_file(tmp_path)
    with reading(server) as sizes, watched(server) as watch, file.open("rb") as content:
        answer = send(server, file, content)
    sys.stdout.write(f"{answer.json()['detail']} The reader had {max(sizes) / 1e6:.0f} MB.\n")
    assert answer.status_code == 422
    assert max(sizes) < READER_BYTES
    assert watch.grown < GROWN_BYTES
    assert not stored(folder)


@pytest.mark.parametrize("is_reading", [False, True], ids=["sending", "reading"])
def test_a_client_that_leaves_leaves_nothing(
    server: Serving, folder: Path, tmp_path: Path, *, is_reading: bool
) -> None:
    file, _ = csv_file(tmp_path)
    place = urlsplit(server.url)
    size = file.stat().st_size
    head = f"POST /uploads?name={file.name} HTTP/1.1\r\nHost: {place.netloc}\r\n"
    head += f"Content-Length: {size}\r\n"
    with socket.create_connection((place.hostname, place.port)) as client, file.open("rb") as sent:
        client.sendall(f"{head}Content-Type: application/octet-stream\r\n\r\n".encode())
        client.sendfile(sent, 0, size if is_reading else size // 2)
        until(lambda: readers(server) if is_reading else stored(folder), SECONDS)
    until(lambda: not readers(server) and not stored(folder))
