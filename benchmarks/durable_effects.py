"""The effects of the campaign's tools: rows in a separate database or schema.

`calls` holds each time that a tool was begun, and by which worker; `paid` its effect, once for each
run and step.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from typing import NamedTuple

from sqlalchemy import Engine, create_engine, text

_TABLES = """
CREATE TABLE IF NOT EXISTS calls (
    tool TEXT NOT NULL, run TEXT NOT NULL, step INTEGER NOT NULL, worker TEXT NOT NULL,
    began DOUBLE PRECISION NOT NULL, ended DOUBLE PRECISION);
CREATE TABLE IF NOT EXISTS paid (
    run TEXT NOT NULL, step INTEGER NOT NULL, amount INTEGER NOT NULL, PRIMARY KEY (run, step))
"""


class Call(NamedTuple):
    """One start of a tool."""

    tool: str
    run: str
    step: int
    worker: str
    began: float
    ended: float | None


class Effects:
    """The two tables."""

    def __init__(self, url: str) -> None:
        self._url = url

    @cached_property
    def _engine(self) -> Engine:
        url = self._url.replace("postgresql://", "postgresql+psycopg://")
        engine = create_engine(url, pool_size=4, pool_pre_ping=True)
        if engine.dialect.name == "sqlite":
            with engine.connect() as connection:
                connection.execute(text("PRAGMA journal_mode=WAL"))
        return engine

    def create(self) -> None:
        """Create the tables."""
        with self._engine.begin() as connection:
            for statement in _TABLES.split(";"):
                connection.execute(text(statement))

    @contextmanager
    def call(self, tool: str, run: str, step: int, worker: str) -> Generator[None]:
        """Note that a call begins, and that it ends."""
        began = time.time()
        named = {"tool": tool, "run": run, "step": step, "worker": worker, "began": began}
        self._do("INSERT INTO calls VALUES (:tool, :run, :step, :worker, :began, NULL)", named)
        yield
        self._do(
            "UPDATE calls SET ended = :ended WHERE tool = :tool AND run = :run AND step = :step"
            " AND worker = :worker AND began = :began",
            {**named, "ended": time.time()},
        )

    def pay(self, run: str, step: int) -> int:
        """Pay the amount of a step; a second time fails."""
        amount = amount_of(run, step)
        self._do(
            "INSERT INTO paid VALUES (:run, :step, :amount)",
            {"run": run, "step": step, "amount": amount},
        )
        return amount

    def was_paid(self, run: str, step: int) -> bool:
        """Whether a step has been paid."""
        statement = text("SELECT 1 FROM paid WHERE run = :run AND step = :step")
        with self._engine.connect() as connection:
            return connection.execute(statement, {"run": run, "step": step}).first() is not None

    def calls(self) -> list[Call]:
        """All calls, in the order of their beginning."""
        with self._engine.connect() as connection:
            rows = connection.execute(text("SELECT * FROM calls ORDER BY began"))
            return [Call(*row) for row in rows]

    def paid(self) -> set[tuple[str, int]]:
        """The steps that were paid."""
        with self._engine.connect() as connection:
            rows = connection.execute(text("SELECT run, step FROM paid"))
            return {(run, step) for run, step in rows}

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def _do(self, statement: str, values: dict[str, object]) -> None:
        with self._engine.begin() as connection:
            connection.execute(text(statement), values)


def amount_of(run: str, step: int) -> int:
    """What a step of a run pays: anyone can work it out."""
    return zlib.crc32(f"{run}/{step}".encode()) % 1000
