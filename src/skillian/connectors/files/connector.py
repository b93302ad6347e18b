"""A folder of files, or one file: CSV, TSV, Parquet and Excel as tables with the files' names."""

import asyncio
import os
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from types import MappingProxyType
from typing import NamedTuple, Self

from sqlglot import exp

from skillian.connectors.base import (
    STREAM_TIMEOUT_SECONDS,
    TIMEOUT_SECONDS,
    Table,
    UnreadableColumns,
    same_version,
)
from skillian.connectors.duckdb.connector import EngineConnector
from skillian.connectors.duckdb.engine import DuckDBEngine, Mount, Setup, Workspace
from skillian.connectors.duckdb.statement import Cursor
from skillian.connectors.files.delimited import file_pattern
from skillian.connectors.files.lines import line_of
from skillian.connectors.files.options import WORKBOOKS, FileOptions, read_url
from skillian.connectors.files.prepared import (
    JSON,
    PACKED,
    Prepared,
    place_in_json,
    prepared,
    suffix_of,
)
from skillian.connectors.files.views import SCHEMA, create_views, drop_views, relation_of
from skillian.connectors.scratch import folder_of
from skillian.errors import QueryError

_DELIMITED = frozenset({".csv", ".tsv"}) | JSON
SUFFIXES = _DELIMITED | frozenset({".parquet"}) | WORKBOOKS
"""The suffixes of files that are tables; those of text may be followed by `.gz`."""

_UNREADABLE = "its files cannot be read; check that they exist and are readable"
_OWNED_BY_EXCEL = "~$"


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it was last read; a different stamp shows that it has changed.

    `statements` created its tables.
    """

    stamp: tuple[int, int, int]
    tables: tuple[Table, ...]
    statements: tuple[str, ...] = ()
    copy: Prepared | None = None


class NamedOptions(NamedTuple):
    """The name of a file's connection, and the file's options."""

    name: str
    options: FileOptions


class FilesConnector(EngineConnector):
    """A `Connector` to the files of one folder, or to a single file, or to several.

    Each statement reads CSV and Parquet from their files; Excel is read once, until it changes.

    Args:
        root: The folder, or the file.
        name: The connection's name in the configuration; messages use it in place of the path.
        timeout: How many seconds a statement may run.
        options: How the files are written.
        others: The files that it reads besides a single one; no two have the same name.
    """

    keeps_catalog = True

    def __init__(
        self,
        root: Path,
        name: str,
        timeout: float = TIMEOUT_SECONDS,
        options: FileOptions | None = None,
        others: Mapping[Path, NamedOptions] = MappingProxyType({}),
    ) -> None:
        self._root = root.absolute()
        self._name = name
        self._default = NamedOptions(name, options or FileOptions())
        self._others = {path.absolute(): each for path, each in others.items()}
        self._is_file = is_table(root) and not root.is_dir()
        self._copies = folder_of(self)
        paths = [root, *others] if self._is_file else []
        folders = [self._copies, *([] if self._is_file else [root])]
        script = ";".join(
            f"SET {setting} = {_listed(allowed).sql('duckdb')}"
            for setting, allowed in (("allowed_paths", paths), ("allowed_directories", folders))
        )
        names = {self._root: name} | {path: each.name for path, each in self._others.items()}
        listed = " and ".join(map(repr, names.values()))
        self._engine = Workspace(
            f"connection{'s' if others else ''} {listed}",
            Setup(names, _UNREADABLE, script),
            timeout,
        )
        self._files: dict[Path, _File] = {}
        self._looking = asyncio.Lock()

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """The connector for `files:///path?options`; the path may be that of one file.

        Raises `UnavailableError` for an unknown option.
        """
        path, options = read_url(name, url, folder)
        return cls(path, name, options=options)

    @classmethod
    def of_files(cls, urls: Mapping[str, str]) -> Self | None:
        """One connector for several files, by the names of their connections.

        None if it cannot tell them apart, because two have the same name, or if one is a folder.
        Raises as `from_url`.
        """
        read = {name: read_url(name, url, Path()) for name, url in urls.items()}
        paths = [path for path, _ in read.values()]
        alike = len({path.name.casefold() for path in paths}) < len(paths)
        if alike or not all(is_table(path) and not path.is_dir() for path in paths):
            return None
        (name, (path, options)), *others = read.items()
        named = {other: NamedOptions(each, own) for each, (other, own) in others}
        return cls(path, name, options=options, others=named)

    async def catalog(self) -> tuple[Table, ...]:
        """The tables; the columns of one that cannot be read raise `QueryError`."""
        await self._look()
        return tuple(table for file in self._files.values() for table in file.tables)

    @asynccontextmanager
    async def engine_for(self, statement: str) -> AsyncGenerator[DuckDBEngine]:
        """The DuckDB that reads the files, once it knows what has changed."""
        await self._look(statement)
        yield self._engine

    async def mount(self, tables: Collection[str]) -> Mount | None:
        """How another DuckDB reads these tables; None for those of a workbook."""
        await self._look()
        named = {table.casefold() for table in tables}
        files = {
            path: file
            for path, file in self._files.items()
            if any(table.name.casefold() in named for table in file.tables)
        }
        paths = [path if file.copy is None else file.copy.path for path, file in files.items()]
        if any(path.suffix.lower() in WORKBOOKS for path in files):
            return None
        return Mount(
            name=self._name,
            path=self._root,
            is_database=False,
            views=tuple(view for file in files.values() for view in file.statements),
            files=tuple(text for path in paths for text in _allowed(path)),
            stamps=tuple(file.stamp for file in files.values()),
        )

    @asynccontextmanager
    async def unchanged(self, tables: Collection[str], name: str) -> AsyncGenerator[None]:
        """Raise `QueryError` at the end if a file has changed since the tables were last listed."""
        named = {table.casefold() for table in tables}

        def stamps() -> tuple[object, ...]:
            return tuple(
                (path, file.stamp)
                for path, file in self._files.items()
                if any(table.name.casefold() in named for table in file.tables)
            )

        async def now() -> object:
            await self._look()
            return stamps()

        async with same_version(stamps(), now, name):
            yield

    async def locate(self, table: str, column: str, value: str) -> str:
        """Where a column first has this text, such as `line 3`; empty if unknown."""
        for path, file in self._files.items():
            if any(each.name == table for each in file.tables):
                return await asyncio.to_thread(self._located, path, table, column, value)
        return ""

    def _located(self, path: Path, table: str, column: str, value: str) -> str:
        suffix, options = path.suffix.lower(), self._of(path).options
        if suffix == ".parquet":
            return ""
        try:
            if suffix in WORKBOOKS:
                from skillian.connectors.files import excel  # noqa: PLC0415 - loads Arrow

                cell = excel.cell_of(path, table, column, value, options)
                return "" if cell is None else f"cell {cell}"
            if suffix_of(path) in JSON:
                return place_in_json(path, options, column, value)
            line = line_of(path, column, value, self._files[path].copy, options)
        except (OSError, ValueError, QueryError):  # the file has just changed
            return ""
        return "" if line is None else f"line {line}"

    async def aclose(self) -> None:
        """Interrupt running statements and close the files; the next statement reads them again."""
        await self._engine.aclose()
        self._files.clear()

    async def _look(self, statement: str = "") -> None:
        """Reload files that are new, changed or gone; refuse a statement on an unreadable one."""
        async with self._looking:
            try:
                await self._engine.call(self._renew, STREAM_TIMEOUT_SECONDS)
            except OSError:
                raise QueryError(f"{self._engine.name}: {_UNREADABLE}") from None
            # DuckDB itself would search for a file of that name, and guess the types.
            for table in (table for file in self._files.values() for table in file.tables):
                named = relation_of(table.name).sql("duckdb").casefold() in statement.casefold()
                if named and isinstance(table.columns, UnreadableColumns):
                    table.columns.refuse()

    def _renew(self, cursor: Cursor) -> None:
        roots = (self._root, *self._others)
        stamps = (
            {root: _stamp(root) for root in roots} if self._is_file else _table_files(self._root)
        )
        for path, file in tuple(self._files.items()):
            if stamps.get(path) != file.stamp:
                drop_views(cursor, path, self._files.pop(path).tables)
        for path, stamp in stamps.items():
            if path not in self._files:
                self._files[path] = self._load(cursor, path, stamp)

    def _load(self, cursor: Cursor, path: Path, stamp: tuple[int, int, int]) -> _File:
        copy: Prepared | None = None
        own = self._of(path)
        try:
            self._check(path)
            if suffix_of(path) in _DELIMITED:
                copy = prepared(path, own.options, self._copies)
            created = tuple(create_views(cursor, path, copy, own.options, stamp))
            tables = tuple(table for table, _ in created)
            return _File(stamp, tables, tuple(statement for _, statement in created), copy)
        except QueryError as error:
            reason = str(error)
        except OSError:
            reason = f"{path.name}: it cannot be read; check its permissions"
        columns = UnreadableColumns(f"connection {own.name!r}: {reason}")
        return _File(stamp, (Table(SCHEMA, path.name, columns, engine="files"),), copy=copy)

    def _of(self, path: Path) -> NamedOptions:
        return self._others.get(path, self._default)

    def _check(self, path: Path) -> None:
        root = path if path in self._others else self._root
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
            raise QueryError(f"{path.name}: it is a link that leads out of its folder")
        if not S_ISREG(path.stat().st_mode):
            raise QueryError(f"{path.name}: it is not a file")
        alike = [
            file.name
            for file in self._files
            if file != path and file.name.casefold() == path.name.casefold()
        ]
        if alike:
            raise QueryError(
                f"{path.name}: its name differs from {alike[0]} only in case; rename one"
            )


def is_table(path: Path) -> bool:
    """Whether a file's name is that of a table."""
    if path.suffix.lower() == PACKED:
        return suffix_of(path) in _DELIMITED
    return path.suffix.lower() in SUFFIXES


def _listed(paths: list[Path]) -> exp.Array:
    return exp.Array(
        expressions=[exp.Literal.string(text) for path in paths for text in _allowed(path)]
    )


def _allowed(path: Path) -> tuple[str, str]:
    """The path and its pattern, both of which DuckDB checks for what it reads."""
    return os.path.realpath(path), file_pattern(path).name


def _table_files(folder: Path) -> dict[Path, tuple[int, int, int]]:
    """The files that are tables, in the order of their names, with their stamps."""
    stamps: dict[Path, tuple[int, int, int]] = {}
    for path in sorted(folder.iterdir()):
        if _is_named(path) and not _is_hidden(path):
            with suppress(OSError):  # just deleted, or a broken link
                stamps[path] = _stamp(path)
    return stamps


def others_in(folder: Path) -> list[str]:
    """What a folder has that is not read, besides hidden files; a folder ends with a slash."""
    return [
        f"{path.name}/" if path.is_dir() else path.name
        for path in sorted(folder.iterdir())
        if not _is_named(path) and not _is_hidden(path)
    ]


def _is_named(path: Path) -> bool:
    """Whether a file in a folder has a name that a table can have."""
    return is_table(path) and path.name.isprintable()


def _is_hidden(path: Path) -> bool:
    return path.name.startswith((".", _OWNED_BY_EXCEL))


def _stamp(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino
