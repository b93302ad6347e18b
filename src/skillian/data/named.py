"""Tables that a command line or a program names, as sources, and what to compare of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlencode

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from skillian.connectors import PATHS, scheme
from skillian.connectors.base import Table, path_of
from skillian.connectors.files.connector import SUFFIXES, is_table
from skillian.connectors.files.options import split_name
from skillian.data.declare.definitions import Dimension, Measure, Source, keys_at, reason_of
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import SourceRegistry
from skillian.data.query.binding import match_name
from skillian.data.query.relation import (
    SourceOfTable,
    address_of,
    bare_source,
    bare_tables,
    declared_name,
    full_name,
)
from skillian.data.subjects import subject_of
from skillian.errors import InvalidInputError, SourceNotFoundError, UnknownNameError, nearest

_DATABASES = frozenset({".db", ".duckdb", ".sqlite", ".sqlite3"})


def saved_comparison(content: Mapping[str, Any]) -> SavedComparison:
    """The comparison of these fields; raises `InvalidInputError` with what is wrong."""
    try:
        return SavedComparison.model_validate(content)
    except ValidationError as error:
        raise InvalidInputError("; ".join(map(_fault, error.errors()))) from None


def _fault(details: ErrorDetails) -> str:
    """What is wrong with a field, after its place."""
    place, reason = details["loc"], reason_of(details)
    if details["type"] == "extra_forbidden":
        known = nearest(str(place[-1]), keys_at(SavedComparison, place[:-1]))
        reason = f"there is no such option; options, nearest first: {', '.join(known)}"
    return ": ".join(filter(None, (".".join(map(str, place)), reason)))


async def named_tables(
    names: Sequence[str],
    path: Path,
    note: Callable[[str], None],
    as_source: SourceOfTable | None = None,
    *,
    is_stated: bool,
) -> tuple[SourceRegistry, tuple[str, ...]]:
    """The named tables as sources, and the names of these sources.

    Args:
        names: The tables: files, addresses of tables, or declared sources.
        path: The `sources.yaml`.
        note: Gets a remark on how a name is read.
        as_source: Makes a source of a table that nobody has declared.
        is_stated: Whether somebody has named the `sources.yaml`, which then must exist.

    Raises:
        ToolError: A name is wrong, or a table cannot be read.
        ConfigurationError: The `sources.yaml` has faults.
    """
    declared = _declared(names, path, is_stated=is_stated)
    if declared is not None and set(names) <= set(declared.names):
        return declared.only(names), tuple(names)
    for name in names:
        source = None if declared is None else declared_name(name, declared)
        if source is None:
            _check_name(name, declared, path)
        elif source != name:
            note(f"{name} is read as {path} declares it: source {source}")
    return await bare_tables(names, declared, as_source)


def _declared(names: Sequence[str], path: Path, *, is_stated: bool) -> SourceRegistry | None:
    """The sources that are declared; None if there are none, or no name can mean one."""
    needed = is_stated or any(address_of(name) is None for name in names)
    return SourceRegistry.load(path) if needed and (is_stated or path.exists()) else None


def source_of(fields: Mapping[str, Any]) -> SourceOfTable:
    """Makes a source of a table that nobody has declared, for a question with these fields."""
    if not fields.get("measures"):
        return bare_source
    dimensions = (*(fields.get("align_on") or ()), *fields.get("filters", ()))
    return partial(measured_source, measures=fields["measures"], dimensions=dimensions)


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
        table.check_readable(missing[0])
        raise UnknownNameError("column", missing[0], table.columns, table.name)
    if not groups or not sizes:
        for name in table.forbidden:
            table.check_readable(name)
        lacking = "to sum" if groups else "to align on"
        known = ", ".join(table.columns) or "none"
        raise InvalidInputError(f"{table.name}: it has no column {lacking}; its columns: {known}")
    return Source(connection=connection, table=full_name(table), dimensions=groups, measures=sizes)


def with_known_names(fields: Mapping[str, Any], registry: SourceRegistry) -> dict[str, Any]:
    """The fields of a question with declared names as a has them, where only case differs."""
    source = registry.get(fields["a"])
    names = [*source.dimensions, *source.measures]

    def known(name: str) -> str:
        return match_name(name, names) or name

    resolved = dict(fields)
    for field in subject_of(fields.get("measures")).declared:
        stated = fields.get(field)
        if isinstance(stated, Mapping):
            tests = cast("Mapping[str, object]", stated)
            resolved[field] = {known(name): test for name, test in tests.items()}
        elif stated:
            resolved[field] = [known(name) for name in stated]
    return resolved


def is_file(name: str) -> bool:
    """Whether a name is that of a file; `#` separates a workbook from one of its sheets."""
    file = split_name(name)[0]
    return any(is_table(Path(part)) for part in (file, file.partition("#")[0]))


def with_options(name: str, options: Sequence[str] = ()) -> str:
    """The name of a table: a database file by its URL, any other file with its options."""
    file, _, table = name.partition("#")
    kind = database_kind(Path(file))
    if kind and not is_file(name):
        return f"{kind}:///{Path(file).absolute()}" + (f"#{table}" if table else "")
    if not options:
        return name
    path, query = split_name(name)
    pairs = (option.partition("=") for option in options)
    stated = urlencode([(key, value) for key, _, value in pairs], quote_via=quote)
    named = f"files:///{Path(path).absolute()}" if Path(path).is_dir() else path
    return f"{named}?{'&'.join(part for part in (query, stated) if part)}"


def database_kind(path: Path) -> str:
    """The scheme of a database file by how it starts; empty for any other file."""
    if not path.is_file():  # opening a pipe would wait for its writer
        return ""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError:
        return ""
    return (
        "sqlite"
        if start.startswith(b"SQLite format 3")
        else ("duckdb" if start[8:12] == b"DUCK" else "")
    )


def check_file(name: str) -> None:
    """Raise `InvalidInputError` if there is no file of this name."""
    file = split_name(name)[0]
    candidates = [Path(file), Path(file.partition("#")[0])]
    if not any(path.exists() for path in candidates):
        raise InvalidInputError(f"there is no file {name!r} in {Path.cwd()}")
    if all(path.is_dir() for path in candidates):
        raise InvalidInputError(f"{name!r} is a folder; name a file in it")


def _check_name(name: str, declared: SourceRegistry | None, path: Path) -> None:
    """Explain a name that is neither a declared source nor the address of a table that exists.

    Args:
        name: The name on the command line.
        declared: The declared sources; None if the file that declares them does not exist.
        path: The path of that file.

    Raises:
        InvalidInputError: It is not the name of a file that can be compared.
        SourceNotFoundError: No such source is declared.
    """
    address = address_of(name)
    if address is not None:
        _check_path(address.url)
    elif is_file(name):
        check_file(name)
    elif (file := Path(name.partition("#")[0])).suffix.lower() in _DATABASES:
        if not file.exists():
            raise InvalidInputError(f"there is no file {str(file)!r} in {Path.cwd()}")
        raise InvalidInputError(
            f"{str(file)!r} is not a database of SQLite or DuckDB: it is damaged, or its content is"
            " not what its suffix says"
        )
    elif Path(name).exists() or Path(name).suffix:
        raise InvalidInputError(
            f"{name!r} is not a file that can be compared; supported suffixes:"
            f" {', '.join(sorted(SUFFIXES))}; a table of a database is named by its URL, such"
            " as sqlite:///shop.sqlite#orders"
        )
    elif declared is not None:
        raise SourceNotFoundError(name, declared.names)
    else:
        raise InvalidInputError(
            f"{name!r} is not a file or the URL of a table, and there is no {path} that"
            " declares it as a source; write a first one with: skillian sources infer URL"
        )


def _check_path(url: str) -> None:
    """Raise `InvalidInputError` if the path in a URL leads nowhere."""
    kind = scheme(url)
    if kind not in PATHS:
        return
    path = path_of(url, Path())
    plain = path_of(url.partition("?")[0], Path())
    before, mark, table = str(plain).rpartition("#")
    if mark and Path(before).exists():
        raise InvalidInputError(
            f"{table!r} is not the name of a table; write one without slashes and `@` after the"
            f" `#`, such as {kind}:///{before}#orders"
        )
    if not path.exists() and not plain.exists():
        hint = "" if plain.is_absolute() else f"; for /{plain} write {kind}:////{plain}"
        raise InvalidInputError(f"there is no {str(plain)!r} in {Path.cwd()}{hint}")
