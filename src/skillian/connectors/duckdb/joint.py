"""One DuckDB that reads the data of several connectors, so that a single statement can join it.

It is locked down as each of them is: it reads their databases and the files of the named tables,
and nothing else.
"""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol, runtime_checkable
from weakref import WeakValueDictionary

from sqlglot import exp

from skillian.connectors.base import STREAM_TIMEOUT_SECONDS
from skillian.connectors.duckdb.connector import EngineConnector
from skillian.connectors.duckdb.engine import DuckDBEngine, Mount, Setup, Workspace

_UNREADABLE = "their data cannot be read; check that the files are there and are not being written"


MAX_IDLE = 4
"""How many stay open without a statement: each takes megabytes, and comparisons are remembered."""


@runtime_checkable
class Mountable(Protocol):
    """A connector whose data another DuckDB can read where it is."""

    async def mount(self, tables: Collection[str]) -> Mount | None:
        """How to read these tables; None if only the connector itself can."""
        ...


class JointEngine(EngineConnector):
    """Runs statements over the tables of several connectors; its DuckDB follows their changes.

    A table's catalogue in a statement is the alias of its connector.

    Args:
        members: The connectors by alias, each with the names of the tables that are read.
    """

    def __init__(self, members: Mapping[str, tuple[Mountable, Collection[str]]]) -> None:
        self._members = members
        self._mounts: Sequence[Mount] = ()
        self._engine: DuckDBEngine | None = None
        self._users = 0

    @property
    def is_idle(self) -> bool:
        """Whether no statement runs."""
        return not self._users

    async def is_possible(self) -> bool:
        """Whether each connector's tables can be read from outside."""
        return await self._current_mounts() is not None

    @asynccontextmanager
    async def engine_for(self, statement: str) -> AsyncGenerator[DuckDBEngine]:  # noqa: ARG002 - it reads all tables
        """A DuckDB that reads all tables as they are now."""
        mounts = await self._current_mounts()
        if mounts is None:
            raise LookupError("a table can no longer be read from outside its connector")
        if self._engine is None or mounts != self._mounts:
            self._mounts = mounts
            self._engine = _engine(dict(zip(self._members, mounts, strict=True)))
        self._users += 1
        _open.pop(id(self), None)
        _open[id(self)] = self
        try:
            yield self._engine
        finally:
            self._users -= 1
            for other in [each for each in _open.values() if each.is_idle][:-MAX_IDLE]:
                await other.aclose()

    async def aclose(self) -> None:
        """Interrupt running statements and close the DuckDB; the next statement reopens it."""
        _open.pop(id(self), None)
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.aclose()

    async def _current_mounts(self) -> list[Mount] | None:
        mounts: list[Mount] = []
        for connector, tables in self._members.values():
            mount = await connector.mount(tables)
            # One DuckDB cannot attach the same database twice.
            taken = {each.path for each in mounts if each.is_database}
            if mount is None or mount.path in taken:
                return None
            mounts.append(mount)
        return mounts


# The least recently used first.
_open: WeakValueDictionary[int, JointEngine] = WeakValueDictionary()


def _engine(mounts: Mapping[str, Mount]) -> DuckDBEngine:
    files = [exp.Literal.string(path) for mount in mounts.values() for path in mount.files]
    script = [f"SET allowed_paths = {exp.Array(expressions=files).sql('duckdb')}"]
    for alias, mount in mounts.items():
        catalogue = exp.to_identifier(alias, quoted=True).sql("duckdb")
        if mount.is_database:
            file = exp.Literal.string(str(mount.path)).sql("duckdb")
            script.append(f"ATTACH {file} AS {catalogue} (TYPE duckdb, READ_ONLY)")
        else:
            script.append(f"ATTACH ':memory:' AS {catalogue}; USE {catalogue}")
            script += [*mount.views, "USE memory"]
    names = {mount.path: mount.name for mount in mounts.values()}
    listed = " and ".join(repr(name) for name in dict.fromkeys(names.values()))
    setup = Setup(names, _UNREADABLE, ";\n".join(each.rstrip(";") for each in script))
    return Workspace(f"connections {listed}", setup, STREAM_TIMEOUT_SECONDS)
