"""A table that another program changes while it is compared: an exact result, or an error.

Before each of the statements in turn, another connection, or a new file, changes b.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.skillian.data.tables.comparing import compare
from tests.skillian.data.tables.conftest import Store
from tests.support.asking import comparing

from skillian.connectors.duckdb.engine import DuckDBEngine
from skillian.connectors.mysql.session import MySQLSession
from skillian.connectors.postgres.session import PostgresSession
from skillian.data.named import measured_source
from skillian.data.query.relation import bare_tables
from skillian.data.services import DataServices
from skillian.data.tables.across import segments
from skillian.errors import QueryError

ROWS = 600
DIFFERENT = 30_000
# One row changes, one moves next to the row that differs already, and one is new.
CHANGES = (
    "UPDATE b SET v = -1 WHERE id = 4000",
    f"UPDATE b SET id = {DIFFERENT + 1} WHERE id = 2000",  # noqa: S608 - ours
    "INSERT INTO b VALUES (200000, 1)",
)
BEFORE = {"b": ROWS, "matched": ROWS - 1, "differing": 1, "only_in_a": 0, "only_in_b": 0}
AFTER = {"b": ROWS + 1, "matched": ROWS - 3, "differing": 2, "only_in_a": 1, "only_in_b": 2}

BOUNDARIES: dict[str, tuple[Any, str]] = {
    "postgres": (PostgresSession, "start"),
    "mysql": (MySQLSession, "start"),
}
READS_STAGED = re.compile('FROM "(staged|kept)_')

Write = Callable[[], object]


class Interruption:
    """Runs `write` before one of the statements, which are counted."""

    def __init__(self, write: Write, at: int) -> None:
        self._write = write
        self._at = at
        self.statements = 0

    def statement(self) -> None:
        self.statements += 1
        if self.statements == self._at:
            self._write()

    def hook(self, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
        """Count at the boundary to the driver of b's database."""
        owner, name = BOUNDARIES.get(kind, (DuckDBEngine, "_cursor"))
        original = getattr(owner, name)

        def counted(*given: Any) -> Any:
            statement = given[1:2] if owner is DuckDBEngine else ("any",)
            if any(each and not READS_STAGED.search(each) for each in statement):
                self.statement()
            return original(*given)

        monkeypatch.setattr(owner, name, counted)


def rows_of(side: str) -> dict[int, int]:
    rows = {100 * number: number % 7 for number in range(1, ROWS + 1)}
    return rows | {DIFFERENT: -5} if side == "b" else rows


def csv(rows: dict[int, int]) -> str:
    return "id,v\n" + "".join(f"{number},{value}\n" for number, value in rows.items())


def changed() -> dict[int, int]:
    """What `CHANGES` make of b."""
    rows = rows_of("b")
    rows[DIFFERENT + 1] = rows.pop(2000)
    return rows | {4000: -1, 200_000: 1}


# The names of both tables, what makes b like a, and changes it.
Case = tuple[list[str], Write, Write]


def made(kind: str, folder: Path, store: Store) -> Case:
    (folder / "a.csv").write_text(csv(rows_of("a")))
    a, path = str(folder / "a.csv"), folder / f"b.{kind}"
    if kind == "csv":
        create, write = (partial(replace, path, csv(rows)) for rows in (rows_of("b"), changed()))
        return [a, str(path)], create, write
    script = (
        "DROP TABLE IF EXISTS b",
        "CREATE TABLE b (id INT PRIMARY KEY, v INT)",
        f"INSERT INTO b VALUES {', '.join(map(str, rows_of('b').items()))}",  # noqa: S608 - ours
    )
    if kind == "duckdb":
        create, write = (partial(in_duckdb, path, (*script, *more)) for more in ((), CHANGES))
        return [a, f"duckdb:///{path}#b"], create, write
    fill, change = partial(store, kind, *script), partial(store, kind, *CHANGES)
    return [a, f"{fill()}#b"], fill, change


def replace(path: Path, content: str) -> None:
    """Write the file as programs do that never leave a half-written one."""
    new = path.with_suffix(".new")
    new.write_text(content)
    new.replace(path)


def in_duckdb(path: Path, script: tuple[str, ...]) -> None:
    """Put a new database in the place of one that may be open."""
    new = path.with_suffix(".new")
    with duckdb.connect(new) as connection:
        for statement in script:
            connection.execute(statement)
    new.replace(path)


async def compared(names: list[str]) -> dict[str, int]:
    rows = (await compare(*names, key=("id",))).rows.to_dict()
    return {name: rows[name] for name in BEFORE}


@pytest.mark.parametrize("kind", ["csv", "postgres", "sqlite", "duckdb", "mysql"])
async def test_rows_are_those_of_one_state_whenever_another_program_writes(
    kind: str, tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, create, write = made(kind, tmp_path, store)
    monkeypatch.setattr(segments, "SMALL", 10)
    monkeypatch.setattr(segments, "FEW_ROWS", 16)
    create()
    with monkeypatch.context() as counting:
        counter = Interruption(write, 0)
        counter.hook(counting, kind)
        assert await compared(names) == BEFORE
    assert counter.statements > 1
    results: list[bool] = []
    for at in range(1, counter.statements + 1):
        create()
        with monkeypatch.context() as interrupted:
            Interruption(write, at).hook(interrupted, kind)
            try:
                rows = await compared(names)
            except QueryError as error:
                said, _, reason = str(error).partition(" changed while it was compared")
                assert "b" in Path(said).name.replace("#", ".").split(".")
                assert reason
                results.append(False)
            else:
                assert rows in (BEFORE, AFTER), f"before statement {at} of {counter.statements}"
                results.append(True)
    assert all(results) == (kind in {"postgres", "mysql"})


async def test_measures_are_not_those_of_two_states_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [str(tmp_path / f"{name}.csv") for name in "ab"]
    for name, path in zip("ab", names, strict=True):
        replace(Path(path), csv(rows_of(name)))
    as_source = partial(measured_source, measures=["v"], dimensions=["id"])
    registry, _ = await bare_tables(names, None, as_source)
    Interruption(partial(replace, tmp_path / "b.csv", csv(changed())), 2).hook(monkeypatch, "csv")
    async with DataServices(registry) as services:
        compare = comparing(services.engine)
        with pytest.raises(QueryError, match=r"b\.csv changed while it was compared"):
            await compare(*names, ["v"], ["id"])
        summary = (await compare(*names, ["v"], ["id"])).summary
    assert (summary.rows_a, summary.rows_b) == (ROWS, ROWS + 1)
