"""A real MariaDB (Debian's mariadb-server): own folder, Unix socket, no network.

Fixtures: `mysql_server`, one for the whole test session, and `mysql_database`, an empty database
of the test's own. `running_mariadb()` gives a server that a test may kill. `MYSQL_URL` names
another server for the fixtures, by a user who may create databases.

Run as a program it is the guard: when its standard input ends, because the server's owner has
stopped it or has died, it stops what is left of the server and removes the folder.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

DIGITS = "CREATE TABLE digits (d INT); INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7)"
# More rows than anybody waits for, which the server makes one by one.
MANY = f"SELECT d0.d FROM {', '.join(f'digits AS d{n}' for n in range(12))}"  # noqa: S608
_PROGRAM = shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
_MISSING = "there is no MariaDB; get it with: apt-get install mariadb-server, or name MYSQL_URL"
# A test needs no durability; and what a session has to set for itself is set otherwise here.
_SETTINGS = (
    "--skip-networking",
    "--skip-name-resolve",
    "--innodb-buffer-pool-size=16M",
    "--innodb-log-file-size=8M",
    "--innodb-flush-log-at-trx-commit=0",
    "--character-set-server=latin1",
    "--default-time-zone=+09:00",
    "--lc-time-names=de_DE",
    "--max-sort-length=64",
    "--sql-mode=ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES",
)
# MariaDB refuses to run as root; its package brings this user.
_UNPRIVILEGED = "mysql"
_CONNECTED = "SELECT id FROM information_schema.processlist"


@dataclass(frozen=True)
class Database:
    """One database of a server."""

    server: Server
    name: str

    @property
    def url(self) -> str:
        """Its URL for the administrator."""
        return self.server.url(self.name)

    def url_for(self, user: str, password: str) -> str:
        """Its URL for another user."""
        return self.server.url(self.name, f"{quote(user, safe='')}:{quote(password, safe='')}")

    def execute(self, script: str) -> tuple[tuple[Any, ...], ...]:
        """Run SQL statements as the administrator; return the rows of the first."""
        return self.server.execute(script, self.name)


class Server:
    """A server, by the URL of a user who may create databases."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._names = (f"test_{os.getpid()}_{number}" for number in itertools.count())

    def url(self, database: str = "", login: str | None = None) -> str:
        """Return the URL of a database; `login` is a user, with a password perhaps."""
        own, _, host = self._parts.netloc.rpartition("@")
        netloc = f"{own if login is None else login}@{host}"
        return self._parts._replace(netloc=netloc, path=f"/{database}").geturl()

    def execute(self, script: str, database: str = "") -> tuple[tuple[Any, ...], ...]:
        """Run SQL statements as the administrator; return the rows of the first."""
        import pymysql
        from pymysql.constants import CLIENT

        from skillian.connectors.mysql.connector import MySQLConnector

        url = self.url(database or "information_schema")
        login = MySQLConnector.login_of("x", url, Path.cwd())
        mode = "SET sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00'"
        connection = pymysql.connect(
            **login, autocommit=True, client_flag=CLIENT.MULTI_STATEMENTS, init_command=mode
        )
        with connection, connection.cursor() as cursor:
            cursor.execute(script)
            rows: tuple[tuple[Any, ...], ...] = cursor.fetchall()
            while cursor.nextset():
                pass
            return rows

    @contextmanager
    def database(self) -> Generator[Database]:
        """Make an empty database and drop it in the end, whoever is connected."""
        import pymysql

        name = next(self._names)
        self.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
        try:
            yield Database(self, name)
        finally:
            for (connection,) in self.execute(f"{_CONNECTED} WHERE db = '{name}'"):
                with suppress(pymysql.OperationalError):  # it has just gone
                    self.execute(f"KILL {connection}")
            self.execute(f"DROP DATABASE {name}")


class OwnServer(Server):
    """A server in its own folder; started and stopped by `running_mariadb`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"mysql://root@localhost/?unix_socket={quote(str(folder / 'socket'))}")
        self.folder = folder
        self._user = [f"--user={_UNPRIVILEGED}"] if os.geteuid() == 0 else []
        self._process: subprocess.Popen[bytes] | None = None

    def create(self) -> None:
        """Lay out the folder and start for the first time."""
        (self.folder / "tmp").mkdir()
        if self._user:
            shutil.chown(self.folder, _UNPRIVILEGED)
            shutil.chown(self.folder / "tmp", _UNPRIVILEGED)
        options = ["--skip-test-db", "--auth-root-authentication-method=normal"]
        self._popen("mariadb-install-db", *options).wait()
        self.start()

    def start(self, *settings: str) -> None:
        """Start with further options, and return when it accepts connections."""
        (self.folder / "socket").unlink(missing_ok=True)
        own = [f"--socket={self.folder / 'socket'}", f"--pid-file={self.folder / 'pid'}"]
        self._process = self._popen(_PROGRAM or "mariadbd", *own, *settings)
        deadline = time.monotonic() + 60
        while not self._answers():
            assert self._process.poll() is None, f"the server did not start:\n{self.log()}"
            assert time.monotonic() < deadline, f"the server does not answer:\n{self.log()}"

    def kill(self) -> None:
        """End it at once, as a crash of the machine would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End it for good; its data is not needed any more."""
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def log(self) -> str:
        """Return what it has written."""
        return (self.folder / "log").read_text(errors="replace")

    def _popen(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        # A server that starts removes what looks left behind in its tmpdir: not that of another.
        places = [f"--datadir={self.folder / 'data'}", f"--tmpdir={self.folder / 'tmp'}"]
        common = ["--no-defaults", *self._user, *places, *_SETTINGS]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [program, *common, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,  # out of reach of Ctrl-C
            )

    def _answers(self) -> bool:
        import pymysql

        # The driver leaves a socket open where nobody listens.
        if (self.folder / "socket").exists():
            with suppress(pymysql.OperationalError):
                self.execute("SELECT 1")
                return True
        time.sleep(0.02)
        return False


@contextmanager
def running_mariadb() -> Generator[OwnServer]:
    """A server that ends with the block, or with this process."""
    if _PROGRAM is None:
        pytest.fail(_MISSING)
    folder = Path(tempfile.mkdtemp(prefix="mariadb-"))
    command = [sys.executable, __file__, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as guard:
        server = OwnServer(folder)
        try:
            server.create()
            yield server
        finally:
            server.stop()
            guard.communicate()


@pytest.fixture(scope="session")
def mysql_server() -> Generator[Server]:
    """One server for all tests: that of `MYSQL_URL`, else our own."""
    if url := os.environ.get("MYSQL_URL"):
        yield Server(url)
        return
    with running_mariadb() as server:
        yield server


@pytest.fixture
def mysql_database(mysql_server: Server) -> Generator[Database]:
    """An empty database of the test's own."""
    with mysql_server.database() as database:
        yield database


def _guard(folder: Path) -> None:
    sys.stdin.read()
    with suppress(OSError, ValueError):
        pid = int((folder / "pid").read_text())
        if str(folder) in Path(f"/proc/{pid}/cmdline").read_text():
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _guard(Path(sys.argv[1]))
