"""Stand-ins for ClickHouse servers, each a process of its own with a new data folder."""

import atexit
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

needs_clickhouse = pytest.mark.skipif(
    find_spec("chdb") is None or find_spec("clickhouse_connect") is None,
    reason="there is no ClickHouse; get it with: pip install chdb-core clickhouse-connect",
)

_numbers = count()
_shared: list["Server"] = []


class Server:
    """A server that runs; `database` fills a new database of it."""

    def __init__(self, port: int) -> None:
        self.address = f"127.0.0.1:{port}"

    def run(self, statement: str, database: str = "default") -> str:
        """Run any statement; returns what it answers, as lines of values."""
        body = statement.encode()
        login = "Basic ZGVmYXVsdDo="
        request = Request(
            f"http://{self.address}/?database={database}", body, {"Authorization": login}
        )
        try:
            with urlopen(request) as answer:  # noqa: S310 - our own address
                return str(answer.read().decode())
        except HTTPError as error:
            raise AssertionError(error.read().decode()) from None

    def database(self, statements: Sequence[str]) -> str:
        """Run statements in a new database; returns its URL."""
        name = f"d{next(_numbers)}"
        self.run(f"CREATE DATABASE {name}")
        for statement in statements:
            self.run(statement, name)
        return f"clickhouse://{self.address}/{name}"


@contextmanager
def clickhouse_server(folder: Path) -> Iterator[Server]:
    """A server on a new data folder."""
    arguments = [sys.executable, "-m", "tests.support.clickhouse_server", str(folder)]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdout is not None
        try:
            yield Server(int(process.stdout.readline()))
        finally:
            process.kill()


def in_clickhouse(*statements: str) -> str:
    """Run statements in a new database of a server that all tests share; returns its URL."""
    if not _shared:
        stack = ExitStack()
        atexit.register(stack.close)
        folder = stack.enter_context(TemporaryDirectory())
        _shared.append(stack.enter_context(clickhouse_server(Path(folder) / "data")))
    return _shared[0].database(statements)
