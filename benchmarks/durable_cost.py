"""The cost of the journal, and how workers scale: `python benchmarks/durable_cost.py`.

A record of the journal beside a bare INSERT of as many bytes with the same durability, each in a
separate commit on the same disk, in turns; and runs a second with one to four workers, whose
model takes 200 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString

import psycopg
from durable_effects import Effects
from durable_fleet import Fleet, Orders
from durable_model import CampaignModel, task_of

from tinyagent import ReactAgent, ScriptedModel, scripted_call, tool
from tinyagent.core import ModelRequest
from tinyagent.core.types import RawToolCall
from tinyagent.durable import DurableRuns

sys.path.insert(0, str(Path(__file__).parents[1]))

ROUNDS = 7
CALLS = 50
RUNS_A_WORKER = 16
RUNS_LEFT = 40
IDLE_WORKERS = 2
IDLE_SECONDS = 20.0
SETTLE_SECONDS = 5.0
MODEL_SECONDS = 0.2
LINEAR_TARGET = 0.9
"""Of as many times the runs of one worker."""
RECORD = "x" * 300
"""About as long as the record of a short answer."""


@contextmanager
def place(kind: str) -> Generator[str]:
    """The URL of a database whose commits reach the disk."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{folder}/runs.sqlite"
        return
    from tests.support.postgres import running_postgres  # noqa: PLC0415 - the path is set before

    durable = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
    with running_postgres(max_connections="100", **durable) as server:
        yield server.url()


@tool(idempotent=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def pay(a: int, b: int) -> int:
    """Pay two numbers."""
    return a + b


def _script(name: str) -> ScriptedModel:
    def answer(request: ModelRequest) -> RawToolCall | str:
        turn = sum(message.role == "assistant" for message in request.messages)
        return scripted_call(name, a=turn, b=1) if turn < CALLS else "done"

    return ScriptedModel(answer)


async def records(database: str) -> dict[str, list[float]]:
    """Milliseconds in each round: an INSERT, a record, a step of two records, one of three."""
    agents = {
        one.name: ReactAgent(_script(one.name), [one], max_steps=CALLS + 1) for one in (add, pay)
    }
    figures: dict[str, list[float]] = {"insert": [], "record": [], "add": [], "pay": []}
    async with DurableRuns(database, agents) as runs:
        for number in range(-1, ROUNDS):
            bare = await asyncio.to_thread(bare_insert, database)
            spent = {name: await _journal_seconds(runs, agents[name], name) for name in agents}
            if number < 0:  # the first round fills caches and pools
                continue
            figures["insert"].append(bare * 1e3)
            figures["record"].append((spent["add"] + spent["pay"]) / (5 * CALLS) * 1e3)
            for name in agents:
                figures[name].append(spent[name] / CALLS * 1e3)
    return figures


async def _journal_seconds(runs: DurableRuns, agent: ReactAgent[str], name: str) -> float:
    """How much longer a run takes than without a journal, from its first record to its last."""
    started = time.perf_counter()
    await agent.run("go")
    plain = time.perf_counter() - started
    run_id = uuid.uuid4().hex
    await runs.run(name, "go", run_id=run_id)
    steps = await runs.steps(run_id)
    return (steps[-1].recorded - steps[0].recorded).total_seconds() - plain


def bare_insert(database: str) -> float:
    """Seconds of an INSERT in its own transaction, on one connection."""
    create = "CREATE TABLE IF NOT EXISTS bare (n INTEGER, step TEXT, value TEXT)"
    if database.startswith("sqlite"):
        connection = sqlite3.connect(database.removeprefix("sqlite:///"), isolation_level=None)
        statement = "INSERT INTO bare VALUES (?, ?, ?)"
        connection.execute(create)
        started = time.perf_counter()
        for number in range(2 * CALLS):
            connection.execute(statement, (number, "2.1 model", RECORD))
        seconds = time.perf_counter() - started
        connection.close()
        return seconds / (2 * CALLS)
    with psycopg.connect(database, autocommit=True) as server:
        server.execute(create)
        started = time.perf_counter()
        for number in range(2 * CALLS):
            server.execute("INSERT INTO bare VALUES (%s, %s, %s)", (number, "2.1 model", RECORD))
        return (time.perf_counter() - started) / (2 * CALLS)


async def throughput(workers: int, database: str, folder: Path) -> float:
    """Runs a second: ten steps, a tool call in each but the last."""
    effects = f"sqlite:///{folder}/effects-{uuid.uuid4().hex}.sqlite"
    tables = Effects(effects)
    tables.create()
    tables.close()
    async with CampaignModel(MODEL_SECONDS, spread=0.0) as model, DurableRuns(database) as runs:
        places = {"CAMPAIGN_EFFECTS": effects, "CAMPAIGN_MODEL": model.base_url}
        fleet = Fleet(Orders(database, {**places, "CAMPAIGN_PAUSE": "0"}, per_worker=2))
        for _ in range(workers):
            fleet.start()
        try:
            names = [uuid.uuid4().hex for _ in range(RUNS_A_WORKER * workers)]
            for name in names:
                await runs.start("react", task_of(name), run_id=name)
            for name in names:
                await runs.wait(name, timeout=600)
        finally:
            await asyncio.to_thread(fleet.stop)
    # Of all requests, those in the middle half of the time: before it workers may still start,
    # after it some have no work left.
    began = [asked.began for asked in model.asked]
    first, last = min(began), max(began)
    quarter = (last - first) / 4
    middle = sum(first + quarter <= each < last - quarter for each in began)
    return middle / (2 * quarter) * len(names) / len(began)


async def footprint(database: str, folder: Path) -> dict[str, float]:
    """The load of idle workers on PostgreSQL, and the size of a run of ten steps in its tables."""
    effects = f"sqlite:///{folder}/effects-{uuid.uuid4().hex}.sqlite"
    tables = Effects(effects)
    tables.create()
    tables.close()
    async with CampaignModel(0.01) as model:
        places = {"CAMPAIGN_EFFECTS": effects, "CAMPAIGN_MODEL": model.base_url}
        fleet = Fleet(Orders(database, {**places, "CAMPAIGN_PAUSE": "0"}, poll_seconds=0.5))
        for _ in range(IDLE_WORKERS):
            fleet.start()
        try:
            await fleet.ready()
            async with DurableRuns(database) as runs:
                for kind in ("react", "code"):
                    for number in range(RUNS_LEFT // 2):
                        name = f"{kind}-{number}"
                        await runs.start(kind, task_of(name), run_id=name)
                for kind in ("react", "code"):
                    for number in range(RUNS_LEFT // 2):
                        await runs.wait(f"{kind}-{number}", timeout=300)
            await asyncio.sleep(SETTLE_SECONDS)  # the server counts a little late
            before = _asked(database)
            await asyncio.sleep(IDLE_SECONDS)
            idle = _asked(database) - before
            connections = _value(database, _CONNECTIONS)
        finally:
            await asyncio.to_thread(fleet.stop)
    return {
        "transactions a second of an idle worker": idle / IDLE_SECONDS / IDLE_WORKERS,
        "connections of a worker": connections / IDLE_WORKERS,
        "records of a run": _value(database, "SELECT count(*) FROM dbos.operation_outputs")
        / RUNS_LEFT,
        "KB that a run leaves": _value(database, _BYTES) / RUNS_LEFT / 1024,
    }


_CONNECTIONS = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_BYTES = """
SELECT pg_total_relation_size('dbos.workflow_status')
    + pg_total_relation_size('dbos.operation_outputs')
"""


def _asked(database: str) -> float:
    return _value(
        database,
        "SELECT xact_commit + xact_rollback FROM pg_stat_database"
        " WHERE datname = current_database()",
    )


def _value(database: str, query: LiteralString) -> float:
    with psycopg.connect(database) as connection:
        row = connection.execute(query).fetchone()
    return float(row[0]) if row else 0.0


def print_records(kind: str, figures: dict[str, list[float]]) -> None:
    """A row of the first table."""
    cells = [f"{statistics.median(values):.2f} ms" for values in figures.values()]
    pairs = zip(figures["record"], figures["insert"], strict=True)
    ratios = sorted(record / insert for record, insert in pairs)
    ratio = f"{statistics.median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})"
    print("|", " | ".join([kind, *cells[:2], ratio, *cells[2:]]), "|")


def main() -> None:
    """Print the tables; exit with 1 if workers do not scale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["records", "throughput", "footprint"])
    given = parser.parse_args()
    missed = False
    if given.only in {None, "records"}:
        print("| | bare INSERT | record | ratio | step, idempotent tool | step, other tool |")
        print("|---|--:|--:|--:|--:|--:|")
        for kind in ("sqlite", "postgresql"):
            with place(kind) as database:
                print_records(kind, asyncio.run(records(database)))
    with place("postgresql") as database, tempfile.TemporaryDirectory() as folder:
        if given.only in {None, "footprint"}:
            print("\n| PostgreSQL | |\n|---|--:|")
            for name, value in asyncio.run(footprint(database, Path(folder))).items():
                print(f"| {name} | {value:.1f} |")
        if given.only in {None, "throughput"}:
            missed = _print_throughput(database, Path(folder))
    sys.exit(missed)


def _print_throughput(database: str, folder: Path) -> bool:
    """The last table; whether the target was missed."""
    print("\n| workers | runs a second | of linear |\n|--:|--:|--:|")
    one, missed = 0.0, False
    for workers in (1, 2, 3, 4):
        rate = asyncio.run(throughput(workers, database, folder))
        one = one or rate
        print(f"| {workers} | {rate:.2f} | {rate / one / workers:.2f} |")
        missed = missed or rate / one / workers < LINEAR_TARGET
    return missed


if __name__ == "__main__":
    main()
