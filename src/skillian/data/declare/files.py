"""Files named on the command line: their tables, and the sources that declare them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from skillian.connectors import Connector, scheme
from skillian.connectors.base import Table, path_of
from skillian.connectors.files.options import split_name
from skillian.data.declare.definitions import Dimension, Measure, Source
from skillian.data.declare.sources import Connections, SourceRegistry, registry_of
from skillian.errors import InvalidInputError, QueryError, UnknownNameError


class _NamedFile(NamedTuple):
    """The file and the options that a name states."""

    path: Path
    options: tuple[str, ...]


def _named(name: str) -> _NamedFile:
    """The file of `old.csv?decimal=,` or, for one of its sheets, `book.xlsx#Sheet`."""
    file, query = split_name(name)
    path = Path(file)
    options = (query,) if query else ()
    book, _, sheet = path.name.partition("#")
    if not sheet or not book or path.exists():
        return _NamedFile(path, options)
    return _NamedFile(path.with_name(book), (*options, f"sheet={quote(sheet)}"))


def file_url(name: str) -> str:
    """The URL of a file, or of the workbook that a sheet is in, with its options."""
    path, options = _named(name)
    return f"files:///{path.absolute()}" + (f"?{'&'.join(options)}" if options else "")


def titles_of(names: Sequence[str]) -> dict[str, str]:
    """What these files are called: without their options, if that tells them apart."""
    plain = {name: split_name(name)[0] for name in names}
    counts = Counter([*plain.values(), *(name for name in plain if plain[name] != name)])
    return {name: title if counts[title] == 1 else name for name, title in plain.items()}


async def tables_of(names: Sequence[str]) -> tuple[dict[str, Table], dict[str, Connector]]:
    """The table of each of these files, and the connectors that read them, by their titles.

    A sheet of a workbook is named `book.xlsx#Sheet`. Raises `QueryError` for an unreadable file or
    a sheet or rows that do not exist, and `UnknownNameError` for an empty one of several sheets.
    """
    by_name: dict[str, Table] = {}
    titles = titles_of(names)
    urls = {title: file_url(name) for name, title in titles.items()}
    async with Connections(registry_of(urls, {}, Path()), _together(urls)) as opened:
        for name, title in titles.items():
            tables = {table.name: table for table in await opened.get(title).catalog()}
            wanted = _named(name).path.name
            if not tables:
                raise QueryError(f"{title}: its sheets are empty; write names and rows into one")
            if wanted not in tables:
                raise UnknownNameError("sheet", name, tables)
            by_name[name] = tables[wanted]
        return by_name, opened.handed_on()


def _together(urls: Mapping[str, str]) -> dict[str, Connector]:
    """One connector for several files, so that a statement can read all of them."""
    from skillian.connectors.files.connector import FilesConnector  # noqa: PLC0415 - loads its libraries

    connector = FilesConnector.of_files(urls) if len(urls) > 1 else None
    return {} if connector is None else dict.fromkeys(urls, connector)


def declared_file(name: str, declared: SourceRegistry) -> str | None:
    """The source that is declared for a file; options after its name have precedence."""
    path, options = _named(name)
    if options:
        return None
    for each in declared.names:
        source = declared.get(each)
        url = declared.declared_url(source.connection)
        if scheme(url) == "files" and source.table is not None:
            url = declared.url(source.connection)
            root = path_of(split_name(url)[0], declared.folder)
            if path.resolve() in {root.resolve(), (root / source.table).resolve()}:
                return each
    return None


def measured_source(
    connection: str, table: Table, measures: Collection[str], dimensions: Collection[str]
) -> Source:
    """A table that nobody has declared as a source to sum.

    Columns named in `measures`, and those with fractions that are not named in `dimensions`, are
    summed; all others are dimensions. A column that is named has the name as it is stated, even if
    its own differs in case, so that two tables whose names differ in case can be compared.

    Raises:
        UnknownNameError: The table has no column of the name of a measure.
        InvalidInputError: It has no column to sum, or none to align on.
    """
    from skillian.data.declare.infer import is_whole, usable_columns  # noqa: PLC0415 - for sums only

    sums = {measure.casefold(): measure for measure in measures}
    keys = {dimension.casefold(): dimension for dimension in dimensions}
    stated = keys | sums
    spellings = Counter(column.casefold() for column in table.columns)
    groups: dict[str, Dimension] = {}
    sizes: dict[str, Measure] = {}
    for column, kind in usable_columns(table):
        folded = column.casefold()
        name = column if spellings[folded] > 1 else stated.get(folded, column)
        amount = kind.kind in {"decimal", "float"} and not is_whole(kind)
        if folded in sums or (amount and folded not in keys):
            sizes[name] = Measure(column=column, aggregation="sum")
        else:
            as_text = "text" if kind.kind == "other" else None
            groups[name] = Dimension(column=column, type=as_text)
    missing = sorted(sums.keys() - spellings.keys())
    if missing:
        raise UnknownNameError("column", missing[0], table.columns, table.name)
    if not groups or not sizes:
        lacking = "to sum" if groups else "to align on"
        known = ", ".join(table.columns) or "none"
        raise InvalidInputError(f"{table.name}: it has no column {lacking}; its columns: {known}")
    name = f"{table.schema}.{table.name}" if table.schema else table.name
    return Source(connection=connection, table=name, dimensions=groups, measures=sizes)
