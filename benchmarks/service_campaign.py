"""The crash campaign of the service: `python benchmarks/service_campaign.py sqlite|postgresql`.

Clients create, rename and delete sessions, let turns pay into a file, upload and delete files, save
comparisons, run them and note findings, while the server is killed at random moments. With SQLite a
second program opens, copies, reads and backs up the database all the while; PostgreSQL is killed
too. In the end everything that the server has acknowledged must be there, and nothing may have been
paid twice, or counted twice in a history.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
from service_campaign_clients import SECONDS, Acknowledged, Client, Judge

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support.ports import own_port

from skillian.demo.ledger import write_demo

PROGRAM = Path(__file__).with_name("service_campaign_server.py")
CLIENTS = 6
OF_SERVER = 5
"""PostgreSQL is killed at each fifth kill of the service."""
TOOL = """
import os
from pydantic import BaseModel
from skillian.skills.skill import SkillTool

class Input(BaseModel):
    number: str

async def pay(asked):
    file = os.open(FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{asked.number}\\n".encode())
    os.close(file)
    return {"paid": asked.number}

def tools(services):
    return [SkillTool("pay", "Pay.", Input, pay, sink="free", results="trusted")]
"""
# What another program may do to a database that is in use.
VISITOR = """
import random, shutil, sqlite3, sys, tempfile
from contextlib import closing
file = sys.argv[1]
while True:
    what = random.randrange(4)
    try:
        with tempfile.TemporaryDirectory() as folder:
            if what == 0:
                with closing(sqlite3.connect(file, timeout=5)) as database:
                    database.execute("SELECT count(*) FROM sessions").fetchall()
            elif what == 1:
                open(file, "rb").read()
            elif what == 2:
                for end in ("", "-wal", "-shm"):
                    shutil.copy(file + end, folder)
            else:
                with closing(sqlite3.connect(file, timeout=5)) as database:
                    with closing(sqlite3.connect(folder + "/backup")) as backup:
                        database.backup(backup)
    except (OSError, sqlite3.Error):
        pass
"""


class Service:
    """The server: started again after each kill, on the same port and files."""

    def __init__(self, folder: Path, database: str) -> None:
        self._command = [sys.executable, str(PROGRAM), str(folder), database]
        self._port = own_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[str] | None = None

    async def start(self) -> None:
        """Start, and return when it answers."""
        command = [*self._command, str(self._port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220 - it only starts
        line = await asyncio.to_thread(self._process.stdout.readline)  # type: ignore[union-attr]
        if line.strip() != "up":
            raise RuntimeError("the server did not start")

    def kill(self, number: int = signal.SIGKILL) -> None:
        """End it."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()
            self._process.stdout.close()  # type: ignore[union-attr]


@contextmanager
def place(kind: str, folder: Path) -> Generator[tuple[str, Any]]:
    """The URL of the database, and its server; beside SQLite, the other program runs."""
    if kind == "sqlite":
        file = folder / "service.db"
        command = [sys.executable, "-c", VISITOR, str(file)]
        with subprocess.Popen(command) as visitor:
            try:
                yield f"sqlite:///{file}", None
            finally:
                visitor.kill()
        return
    from tests.support.postgres import running_postgres  # noqa: PLC0415 - the path is set before

    with running_postgres(max_connections="200", synchronous_commit="on") as server:
        yield server.url(), server


async def campaign(
    kind: str, kills: int, seed: int, folder: Path
) -> tuple[Acknowledged, list[str]]:
    """Run one; gives what was acknowledged, and what is wrong."""
    chance, known = random.Random(seed), Acknowledged()  # noqa: S311 - not a secret
    sources = write_demo(folder)
    skill = folder / "skills" / "paying"
    skill.mkdir(parents=True)
    paid = folder / "paid.txt"
    paid.touch()
    (skill / "SKILL.md").write_text("---\nname: paying\ndescription: Pays.\n---\n\nPay.\n")
    (skill / "tools.py").write_text(TOOL.replace("FILE", repr(str(paid))))
    with place(kind, sources.parent) as (database, server):
        service = Service(sources.parent, database)
        await service.start()
        numbers = iter(range(10**9))
        clients = [Client(service.url, seed + each, known, numbers) for each in range(CLIENTS)]
        tasks = [asyncio.create_task(each.work()) for each in clients]
        try:
            for kill in range(kills):
                enough = known.count + chance.randrange(4, 13)
                while known.count < enough:
                    for task in tasks:
                        if task.done():
                            task.result()
                    await asyncio.sleep(chance.random() * 0.05)
                service.kill()
                if server is not None and kill % OF_SERVER == 0:
                    server.kill()
                    await asyncio.to_thread(server.start)
                await service.start()
                if sys.stderr.isatty() or kill % 20 == 0:
                    print(f"{kill + 1} of {kills} kills, {known.count:,} answers", file=sys.stderr)
        finally:
            for client in clients:
                client.stop()
            await asyncio.gather(*tasks)
        await settled(service.url)
        async with aiohttp.ClientSession(service.url) as http:
            found = await Judge(http, known, Counter(paid.read_text().split())).faults()
        service.kill(signal.SIGTERM)
    return known, found


async def settled(url: str) -> None:
    """Wait until no turn and no comparison is in progress."""
    deadline = time.monotonic() + SECONDS
    async with aiohttp.ClientSession(url) as http:
        while time.monotonic() < deadline:
            async with http.get("/runs?limit=200") as answer:
                runs = (await answer.json())["runs"]
            if not any(run["state"] in ("queued", "running") for run in runs):
                return
            await asyncio.sleep(0.5)
    raise TimeoutError("runs are still in progress")


def main() -> None:
    """Run a campaign and print its figures; exit with 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database", choices=["sqlite", "postgresql"])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        known, found = asyncio.run(
            campaign(arguments.database, arguments.kills, arguments.seed, Path(folder))
        )
    seconds = time.monotonic() - started
    figures = {
        "kills": arguments.kills,
        "requests answered": known.count,
        "sessions": len(known.titles),
        "turns that paid": len(known.turns),
        "uploads": len(known.uploads),
        "runs of saved comparisons": sum(sure for sure, _ in known.saved.values()),
        "notes": len(known.notes),
        "faults": len(found),
    }
    print(f"| {arguments.database}, seed {arguments.seed}, {seconds:,.0f} s | |\n|---|--:|")
    for name, figure in figures.items():
        print(f"| {name} | {figure:,} |")
    for fault in found[:50]:
        print(f"FAULT: {fault}", file=sys.stderr)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
