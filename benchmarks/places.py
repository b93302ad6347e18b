"""Where two tables are compared: a folder with files and a PostgreSQL server, gone in the end."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pyarrow.parquet as pq
from peer_table import HERE
from pyarrow import csv

FOLDER = HERE.parent / ".cache" / "bench"


class Place(NamedTuple):
    """Where the tables are, and the process number of the PostgreSQL server."""

    folder: Path
    url: str
    postmaster: int


@contextmanager
def place(
    name: str, make: Callable[[Path], None], load: Callable[[Path, str], None]
) -> Generator[Place]:
    """Make tables in a folder with this name, and load them into a server of their own."""
    sys.path.append(str(HERE.parent))
    from tests.support.postgres import running_postgres  # noqa: PLC0415 - found only from here on

    folder = FOLDER / name
    print(f"making {name} ...", file=sys.stderr, flush=True)
    try:
        make(folder)
        with running_postgres() as server:
            load(folder, server.url())
            postmaster = (server.folder / "data" / "postmaster.pid").read_text().split()[0]
            yield Place(folder, server.url(), int(postmaster))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def copy_parquet(connection: psycopg.Connection, file: Path, table: str) -> None:
    """Copy the rows of a Parquet file into a table of PostgreSQL."""
    rows: Any = pq.ParquetFile(file)
    with connection.cursor() as cursor:
        copy = f"COPY {table} FROM STDIN (FORMAT csv)"
        with cursor.copy(copy.encode()) as target:
            for batch in rows.iter_batches():
                text = BytesIO()
                csv.write_csv(batch, text, csv.WriteOptions(include_header=False))
                target.write(text.getbuffer())
