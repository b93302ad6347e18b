"""`make bench-tables`: payments in two databases by a text key, beside copying all of them.

Two tables of nine columns, without a primary key, in PostgreSQL, MariaDB and CSV. The second is the
first in another order, or has other amounts in a few rows. Each is compared by skillian as it
decides, and by skillian when it copies all rows; the runs alternate. The figures are wall time, CPU
of the client and of the servers, and the bytes that travelled as checksums.
"""

# ruff: noqa: S608 - names of our own

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import psycopg
from comparison_runner import server_seconds
from peer_table import HERE

TARGET = 1.2
MOST_BYTES = 1_000_000
# Of so many rows, one differs; none does if it is 0.
TABLES = {"a": 0, "same": 0, "few": 5000, "more": 500, "lots": 20}
WHAT = {"same": "identical", "few": "0.02 %", "more": "0.2 %", "lots": "5 %"}
PAIRS = (
    ("PostgreSQL and MariaDB", "one", "shop", "payment_ref"),
    ("PostgreSQL and MariaDB, by UUID", "one", "shop", "uid"),
    ("two PostgreSQL databases", "one", "two", "payment_ref"),
    ("two PostgreSQL databases, by UUID", "one", "two", "uid"),
    ("PostgreSQL and CSV", "one", "csv", "payment_ref"),
)
PAYMENTS = """
SELECT 'PAY-' || substr(md5(i::VARCHAR), 1, 12) AS payment_ref,
  (substr(md5('u' || i), 1, 12) || '4' || substr(md5('u' || i), 14, 3) || '8'
    || substr(md5('u' || i), 18))::UUID AS uid, (hash(i, 1) % 100000)::INTEGER AS customer_id,
  ((hash(i, 3) % 10000000) / 100)::DECIMAL(18, 2) AS amount,
  ['EUR', 'USD', 'GBP'][1 + (hash(i, 4) % 3)::INTEGER] AS currency,
  DATE '2024-01-01' + (hash(i, 7) % 700)::INTEGER AS paid_on,
  TIMESTAMP '2024-01-01' + INTERVAL 1 SECOND * (hash(i, 8) % 60000000)::BIGINT AS created_at,
  ['card', 'transfer', 'cash'][1 + (hash(i, 9) % 3)::INTEGER] AS method,
  CASE WHEN i % 4 = 0 THEN NULL ELSE 'invoice ' || (hash(i, 5) % 1000000) END AS note
FROM range({rows}) t (i)
"""
COLUMNS = (
    "payment_ref varchar(20), uid uuid, customer_id integer, amount numeric(18, 2), currency"
    " varchar(3), paid_on date, created_at {moment}, method varchar(10), note varchar(100)"
)
LOAD = (
    "LOAD DATA INFILE '{file}' INTO TABLE {table} FIELDS TERMINATED BY ',' IGNORE 1 LINES"
    " (payment_ref, uid, customer_id, amount, currency, paid_on, created_at, method, @n)"
    " SET note = NULLIF(@n, '')"
)


def make(folder: Path, rows: int) -> None:
    """Write a CSV file for each table."""
    with duckdb.connect() as made:
        made.execute(f"CREATE TABLE a AS {PAYMENTS.format(rows=rows)}")
        for table, every in TABLES.items():
            other = f"amount + (hash(payment_ref) % {every} = 0)::INTEGER" if every else "amount"
            order = "ORDER BY hash(uid)" if table != "a" else ""
            select = f"SELECT * REPLACE (({other})::DECIMAL(18, 2) AS amount) FROM a {order}"
            made.execute(f"COPY ({select}) TO '{folder}/{table}.csv' (HEADER)")


def load_postgres(folder: Path, url: str) -> None:
    """Copy the files into tables of PostgreSQL."""
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"CREATE TABLE {table} ({COLUMNS.format(moment='timestamp')})".encode())
            with cursor.copy(f"COPY {table} FROM STDIN (FORMAT csv, HEADER)".encode()) as target:
                target.write((folder / f"{table}.csv").read_bytes())
            cursor.execute(f"VACUUM ANALYZE {table}".encode())


@contextmanager
def servers(folder: Path) -> Generator[dict[str, str]]:
    """Run both servers, with all tables; yield where each is, and the servers' processes."""
    sys.path.append(str(HERE.parent))
    from tests.support.mysql import running_mariadb  # noqa: PLC0415 - found only from here on
    from tests.support.postgres import running_postgres  # noqa: PLC0415 - likewise

    with ExitStack() as stack:
        postgres = stack.enter_context(running_postgres())
        mariadb = stack.enter_context(running_mariadb())
        with psycopg.connect(postgres.url(), autocommit=True) as connection:
            for name in ("one", "two"):
                connection.execute(f"CREATE DATABASE {name}".encode())
                load_postgres(folder, postgres.url(name))
        # The tests' own buffers are too small for tables of this size.
        mariadb.execute("SET GLOBAL innodb_buffer_pool_size = 512 * 1024 * 1024")
        mariadb.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
        for table in TABLES:
            create = f"CREATE TABLE {table} ({COLUMNS.format(moment='datetime(6)')});"
            load = LOAD.format(file=folder / f"{table}.csv", table=table)
            mariadb.execute(f"{create} {load}", "shop")
        ids = (postgres.folder / "data" / "postmaster.pid", mariadb.folder / "pid")
        yield {
            "one": f"{postgres.url('one')}#{{}}",
            "two": f"{postgres.url('two')}#{{}}",
            "shop": f"{mariadb.url('shop')}#{{}}",
            "csv": f"{folder}/{{}}.csv",
            "processes": " ".join(each.read_text().split()[0] for each in ids),
        }


def run(a: str, b: str, key: str, processes: str, way: str) -> None:
    """Compare in this process, and print the figures as JSON."""
    from skillian.data.comparison.cache import Memory  # noqa: PLC0415 - of a run only
    from skillian.data.declare.saved import SavedComparison  # noqa: PLC0415 - of a run only
    from skillian.data.declare.sources import Connections  # noqa: PLC0415 - of a run only
    from skillian.data.query.binding import Binder  # noqa: PLC0415
    from skillian.data.query.relation import bare_tables  # noqa: PLC0415
    from skillian.data.tables import place  # noqa: PLC0415
    from skillian.data.tables.across import segments  # noqa: PLC0415
    from skillian.data.tables.engine import TableEngine  # noqa: PLC0415

    if way == "copied":
        segments.SMALL = sys.maxsize
    found: list[segments.Segments] = []

    class Noted(segments.SegmentSearch):
        async def run(self) -> segments.Segments:
            found.append(await super().run())
            return found[0]

    vars(place)["SegmentSearch"] = Noted

    async def compared() -> dict[str, float]:
        registry, (one, other) = await bare_tables([a, b])
        async with Connections(registry) as connections:
            memory = Memory()
            engine = TableEngine(Binder(registry, connections), memory)
            before = time.monotonic(), time.process_time(), _seconds(processes)
            # A UUID is a text in CSV, of which no checksums can be alike.
            ignore = ("uid",) if b.endswith(".csv") else ()
            question = SavedComparison(name="rows", a=one, b=other, key=(key,), ignore=ignore)
            result = await engine.compute(question)
            after = time.monotonic(), time.process_time(), _seconds(processes)
            await memory.aclose()
        wall, client, server = (end - start for start, end in zip(before, after, strict=True))
        figures = {"wall": wall, "client": client, "server": server}
        return figures | {"received": found[0].received, "differing": result.rows.differing}

    print(json.dumps(asyncio.run(compared())))


def _seconds(processes: str) -> float:
    return sum(server_seconds(each) for each in processes.split())


def contest(places: Mapping[str, str], pair: tuple[str, ...], rounds: int) -> bool:
    """Print a row for each table; return whether the targets are met."""
    title, one, other, key = pair
    is_met = True
    for table, what in WHAT.items():
        names = places[one].format("a"), places[other].format(table)
        goes: dict[str, list[dict[str, Any]]] = {"copied": [], "decided": []}
        for _ in range(rounds):
            for way, gone in goes.items():
                command = [sys.executable, __file__, "--run", *names, key, places["processes"], way]
                done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
                gone.append(json.loads(done.stdout.splitlines()[-1]))
        # The same rows must differ in all runs.
        exact = len({each["differing"] for gone in goes.values() for each in gone}) == 1
        cells = [title, f"{what}: {goes['copied'][0]['differing']:,}"]
        cpu: list[float] = []
        for gone in goes.values():
            cpu.append(statistics.median(each["client"] + each["server"] for each in gone))
            wall = statistics.median(each["wall"] for each in gone)
            cells.append(f"{wall:.1f} s, {cpu[-1]:.1f} s")
        sums = max(each["received"] for each in goes["decided"])
        ratio = cpu[1] / cpu[0]
        met = exact and ratio <= TARGET and sums < MOST_BYTES
        cells += [f"{ratio:.2f}", f"{sums / 1e6:.2f} MB", "met" if met else "**missed**"]
        print(f"| {' | '.join(cells)} |", flush=True)
        is_met &= met
    return is_met


def main() -> int:
    """Measure, print the table, say whether all targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000, help="rows of each table")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each way")
    parser.add_argument("--only", default="", help="only pairs with this text in their title")
    parser.add_argument("--run", nargs=5, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        run(*asked.run)
        return 0
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # MariaDB reads the files as another user
        make(folder, asked.rows)
        with servers(folder) as places:
            print(f"| {asked.rows:,} rows, 9 columns | rows that differ ", end="")
            print("| all copied: wall, CPU | as decided | ratio of CPU | checksums | <= 1.2 |")
            print("|---|---|--:|--:|--:|--:|---|")
            pairs = [pair for pair in PAIRS if asked.only in pair[0]]
            met = [contest(places, pair, asked.rounds) for pair in pairs]
    print("\nAll targets are met." if all(met) else "\nA target is missed.")
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
